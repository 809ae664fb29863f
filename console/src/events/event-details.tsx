import { Link } from 'wouter'
import { WholePlayer } from '../players/player-name.tsx'
import { useEnvironment } from '../shell/environment.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Facts } from '../ui/page.tsx'
import { copy, Id } from '../ui/text.tsx'
import { Moment } from '../ui/time.tsx'
import { describeEvent } from './describe.ts'
import css from './event-list.module.css'
import type { GameEvent } from './feed.ts'

/** All data of one event, with links to its player and its scenario. */
export function EventDetails({ event, onClose }: { event: GameEvent; onClose: () => void }) {
  const { occurredAt, playerId, runId, scenarioId, nodeId, handle, byClient } = event
  const environment = useEnvironment()
  const json = JSON.stringify(withoutTypename(event), null, 2)
  return (
    <Dialog title={describeEvent(event)} onClose={onClose}>
      <Facts
        of={{
          'Time of the call': <Moment at={occurredAt} />,
          Player: playerId !== null && <WholePlayer of={playerId} />,
          Scenario: scenarioId !== null && (
            <Link href={`/env/${environment}/scenarios/${scenarioId}`}>{scenarioId}</Link>
          ),
          Run: scenarioId !== null && playerId !== null && (runId === null ? '–' : <Id of={runId} />),
          'Node and handle':
            handle !== null &&
            `${nodeId} · ${handle}${byClient ? ', by the game client: the service has not verified it' : ''}`,
        }}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className={css.json}>
        {json}
      </pre>
      <div className="actions">
        {playerId !== null && (
          <Link href={`/env/${environment}/live?player=${playerId}`} className="button">
            Only this player
          </Link>
        )}
        <Button onClick={() => void copy(json)}>Copy JSON</Button>
      </div>
    </Dialog>
  )
}

/** Queries add `__typename` to an event; subscriptions do not. */
function withoutTypename(event: GameEvent): GameEvent {
  const { __typename, ...rest } = event as GameEvent & { readonly __typename?: string }
  return rest
}
