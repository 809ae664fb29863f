import { isPlayerId } from '../players/names.ts'
import { PlayerName } from '../players/player-name.tsx'
import { shortActor } from './keys.ts'

const PLAYER = 'player:'

/** The person behind a change, else the key or the player. A name that the call itself gave is marked. */
export function Who(entry: {
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  readonly actor: string
  readonly actorLabel: string | null
  readonly environment: string | null
}) {
  const { operator, operatorIsClaimed, actor, actorLabel, environment } = entry
  const playerId = actor.startsWith(PLAYER) ? actor.slice(PLAYER.length) : ''
  if (isPlayerId(playerId) && environment !== null) return <PlayerName of={playerId} environment={environment} />
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
