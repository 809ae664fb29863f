import { shortActor } from './keys.ts'

/** The person behind a change, else the key. A name that the call itself gave is marked. */
export function Who(entry: {
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  readonly actor: string
  readonly actorLabel: string | null
}) {
  const { operator, operatorIsClaimed, actor, actorLabel } = entry
  if (operator === null) return <span title={actor}>{actorLabel ?? shortActor(actor)}</span>
  return (
    <span title={actor}>
      {operator}{' '}
      {operatorIsClaimed && (
        <span className="badge warn" title="The call itself gave this name. It is not verified.">
          claimed
        </span>
      )}
    </span>
  )
}
