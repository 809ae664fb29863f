import { useCallback, useMemo, useState } from 'react'
import { Provider } from 'urql'
import { Router } from 'wouter'
import { PlayerNamesProvider } from './players/player-name.tsx'
import { createClient } from './session/client.ts'
import { OtherSession } from './session/other-session.tsx'
import { Renewal } from './session/renewal.tsx'
import { type Session, useIsAsking, useOffer, useSession } from './session/session.ts'
import { SignIn } from './session/sign-in.tsx'
import { isEnd, isRenewal } from './session/sign-on.ts'
import { SignedOn } from './session/signed-on.tsx'
import { SignedOnAgain } from './session/signed-on-again.tsx'
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
      ) : isRenewal() ? (
        <SignedOnAgain isOver={offer === null} />
      ) : (
        <SignedIn key={session.projectId} session={session} />
      )}
      {session !== null && offer !== null && <OtherSession session={session} offer={offer} />}
      <Toasts />
    </Router>
  )
}

/** The console of a signed-in person. Another sign-in in the same project keeps the page, and what was typed in it. */
function SignedIn({ session }: { session: Session }) {
  const client = useMemo(() => createClient(), [])
  return (
    <Provider value={client}>
      <SocketProvider>
        <PlayerNamesProvider>
          <Shell session={session} />
          <Renewal session={session} />
        </PlayerNamesProvider>
      </SocketProvider>
    </Provider>
  )
}
