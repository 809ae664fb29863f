import { Link } from 'wouter'
import { PlayerName, WholePlayer } from '../players/player-name.tsx'
import { Id } from '../ui/text.tsx'
import { targetHref, targetPlayer } from './actions.ts'

export function Target(props: {
  readonly of: { readonly action: string; readonly target: string; readonly environment: string | null }
  /** Long ids are cut. */
  readonly isClipped?: boolean
}) {
  const { of, isClipped } = props
  const { target, environment } = of
  const playerId = targetPlayer(of)
  const href = targetHref(of)
  if (target === '') return '–'
  if (playerId !== undefined && environment !== null) {
    const Player = isClipped ? PlayerName : WholePlayer
    return <Player of={playerId} environment={environment} />
  }
  const text = isClipped ? (
    <code className="clip" title={target}>
      {target}
    </code>
  ) : (
    <code>{target}</code>
  )
  if (href !== undefined) return <Link href={href}>{text}</Link>
  return isClipped ? text : <Id of={target} />
}
