import { useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { Notice } from '../ui/states.tsx'
import { Time } from '../ui/time.tsx'
import { number } from '../ui/words.ts'
import { settlementsQuery } from './operations.ts'

/** What happens to the players of a pass once claims have closed, where there is something to do. */
export function Settlement({ scenarioId, nodeId }: { readonly scenarioId: string; readonly nodeId: string }) {
  const environment = useEnvironment()
  const [{ data, error }] = useQuery({
    query: settlementsQuery,
    variables: { environment, scenarioId },
    requestPolicy: 'cache-and-network',
  })
  if (error) return <Notice tone="warning">What happens at the end of the season could not be read.</Notice>
  const found = data?.seasonSettlements.find((one) => one.nodeId === nodeId)
  if (!found) return null
  const { dueAt, startedAt, finishedAt, players, tiers, failed } = found
  const done = `${count(Number(players), 'player')}, ${count(Number(tiers), 'unclaimed tier')} granted`
  return (
    <p className="muted">
      {finishedAt !== null ? (
        <>
          The end was settled until <Time at={finishedAt} parts="minute" />: {done}
        </>
      ) : startedAt !== null ? (
        <>The end is being settled: {done} so far</>
      ) : (
        <>
          The end is settled for each player <Time at={dueAt} parts="minute" />
        </>
      )}
      {Number(failed) > 0 && `; ${number(Number(failed))} did not fit into a balance or an amount`}.
    </p>
  )
}

const count = (of: number, what: string): string => `${number(of)} ${what}${of === 1 ? '' : 's'}`
