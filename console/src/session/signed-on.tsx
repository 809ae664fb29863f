import { useEffect } from 'react'
import { Loading } from '../ui/states.tsx'
import { failSignIn, receiveSession, validSession } from './session.ts'
import { finishSignOn } from './sign-on.ts'

/** The token can be fetched once, however often the page is rendered. */
let finishing: ReturnType<typeof finishSignOn> | undefined

/** The page on which a sign-in with the studio's accounts ends. It continues with the page where the sign-in began. */
export function SignedOn({ onEnd }: { onEnd: () => void }) {
  useEffect(() => {
    let isOver = false
    const fail = (why: string) => {
      history.replaceState(null, '', '/console')
      failSignIn(why)
    }
    finishing ??= finishSignOn()
    finishing
      .then(
        (end) => {
          if (isOver) return
          if (typeof end === 'string') return fail(end)
          history.replaceState(null, '', end.returnTo)
          receiveSession(validSession(end.token))
        },
        () => isOver || fail('The service did not answer. Try to sign in again.'),
      )
      .finally(() => isOver || onEnd())
    return () => {
      isOver = true
    }
  }, [onEnd])
  return <Loading />
}
