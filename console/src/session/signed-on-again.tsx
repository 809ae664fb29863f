import { useEffect } from 'react'

/** The end of a sign-in that renews the session of other tabs, which have it by now. `isOver`: nothing is asked any more. */
export function SignedOnAgain({ isOver }: { readonly isOver: boolean }) {
  useEffect(() => {
    if (isOver) window.close()
  }, [isOver])
  return (
    <main className="sign-in">
      <h1>Tierway console</h1>
      <p>You are signed in again. Close this tab, and go on in the one before.</p>
      <p>
        <a href="/console">Go on here</a>
      </p>
    </main>
  )
}
