import { isPlayerId } from './names.ts'
import { PlayerName } from './player-name.tsx'

const SHOWN = 5

/** The first players of a list of ids, with their nicknames, so that a person sees whether these are the right ones. */
export function FirstPlayers({ ids }: { readonly ids: readonly string[] }) {
  const first = ids.filter(isPlayerId).slice(0, SHOWN)
  if (first.length === 0) return null
  return (
    <ul aria-label="The first players">
      {first.map((playerId) => (
        <li key={playerId}>
          <PlayerName of={playerId} />
        </li>
      ))}
    </ul>
  )
}
