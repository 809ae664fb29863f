import { useCallback, useEffect, useMemo, useState } from 'react'
import { Provider } from 'urql'
import { Router } from 'wouter'
import { PlayerNamesProvider } from './players/player-name.tsx'
import { createClient } from './session/client.ts'
import { OtherSession } from './session/other-session.tsx'
import { endSession, type Session, useIsAsking, useOffer, useSession } from './session/session.ts'
import { SignIn } from './session/sign-in.tsx'
import { isEnd } from './session/sign-on.ts'
import { SignedOn } from './session/signed-on.tsx'
import { SocketProvider } from './session/socket.tsx'
import { Shell } from './shell/shell.tsx'
import { encodedLocation } from './ui/address.ts'
import { Loading } from './ui/states.tsx'
import { Toasts } from './ui/toast.tsx'

export function App() {
  const session = useSession()
  const offer = useOffer()
  const isAsking = useIsAsking()
  const [isFinishing, setFinishing] = useState(isEnd)
  const endFinishing = useCallback(() => setFinishing(false), [])
  return (
    <Router base="/console" {...encodedLocation}>
      {isFinishing ? (
        <SignedOn onEnd={endFinishing} />
      ) : session === null ? (
        isAsking ? (
          <Loading />
        ) : (
          <SignIn />
        )
      ) : (
        <SignedIn key={session.token} session={session} />
      )}
      {session !== null && offer !== null && <OtherSession session={session} offer={offer} />}
      <Toasts />
    </Router>
  )
}

/** The console of a signed-in person. A new session begins with empty caches. */
function SignedIn({ session }: { session: Session }) {
  const client = useMemo(() => createClient(session.token), [session.token])
  useEffect(() => {
    const left = Math.max(0, session.expiresAt - Date.now())
    const timer = setTimeout(() => endSession('Your session has expired. Sign in to continue where you were.'), left)
    return () => clearTimeout(timer)
  }, [session])
  return (
    <Provider value={client}>
      <SocketProvider token={session.token}>
        <PlayerNamesProvider token={session.token}>
          <Shell session={session} />
        </PlayerNamesProvider>
      </SocketProvider>
    </Provider>
  )
}
