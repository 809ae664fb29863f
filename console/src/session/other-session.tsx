import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { beginSession, declineOffer, type Session } from './session.ts'

/** Asks whether the session of a link replaces the one of this browser. */
export function OtherSession({ session, offer }: { session: Session; offer: Session }) {
  return (
    <Dialog title="Sign in as another person?" onClose={declineOffer}>
      <p>
        You are signed in as <Person of={session} />. The link that you followed signs in as <Person of={offer} />
        {offer.projectId === session.projectId ? '' : ', in another project'}.
      </p>
      <p>
        The audit log names the person who is signed in with each change. The sender of the link chose the name. All
        tabs of this browser have the same person.
      </p>
      <div className="actions">
        <Button tone="primary" onClick={declineOffer}>
          Stay signed in as {session.actor}
        </Button>
        <Button tone="danger" onClick={() => beginSession(offer.token)}>
          Sign in as {offer.actor}
        </Button>
      </div>
    </Dialog>
  )
}

const Person = ({ of: { actor, role } }: { of: Session }) => (
  <>
    <strong>{actor}</strong> <span className="badge">{role.toLowerCase()}</span>
  </>
)
