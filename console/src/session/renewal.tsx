import { useEffect, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { countText } from '../ui/count-text.ts'
import { Dialog } from '../ui/dialog.tsx'
import { useNow } from '../ui/now.ts'
import { EXPIRED, endSession, type Session, suspendSession, useSuspension } from './session.ts'
import { SignInForms } from './sign-in.tsx'

const WARN_MS = 5 * 60_000

/** Says in advance that the session ends, and signs in again over the page, where what was typed stays. */
export function Renewal({ session }: { session: Session }) {
  const suspension = useSuspension()
  const leftMs = session.expiresAt - useNow()
  const [isAsked, setAsked] = useState(false)
  useEffect(() => {
    if (leftMs <= 0) suspendSession(session, EXPIRED)
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the next session has begun
  useEffect(() => setAsked(false), [session])
  const isDue = leftMs <= WARN_MS
  if (suspension !== null)
    return (
      <Dialog title="Sign in again">
        <p>{suspension} What you have typed is kept.</p>
        <SignInForms renewed={session} />
        <div className="actions">
          <Button onClick={() => endSession()}>Sign out, and lose what is typed</Button>
        </div>
      </Dialog>
    )
  if (!isDue) return null
  return (
    <>
      <div className="renewal notice warning" role="status">
        Your session ends in {countText(Math.max(1, Math.ceil(leftMs / 60_000)), 'minute')}.{' '}
        <Button onClick={() => setAsked(true)}>Sign in again</Button>
      </div>
      {isAsked && (
        <Dialog title="Sign in again" onClose={() => setAsked(false)}>
          <p>The page stays as it is.</p>
          <SignInForms renewed={session} />
        </Dialog>
      )}
    </>
  )
}
