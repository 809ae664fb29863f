import { useQuery } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import { Notice } from '../ui/states.tsx'
import { number } from '../ui/text.tsx'
import { Time } from '../ui/time.tsx'
import { settlementsQuery } from './operations.ts'

/** What becomes of tiers that were earned and not claimed, for a pass that grants them at its end. */
export function Settlement({ scenarioId, nodeId }: { readonly scenarioId: string; readonly nodeId: string }) {
  const environment = useEnvironment()
  const [{ data, error }] = useQuery({
    query: settlementsQuery,
    variables: { environment, scenarioId },
    requestPolicy: 'cache-and-network',
  })
  if (error) return <Notice tone="warning">What is granted at the end of the season could not be read.</Notice>
  const found = data?.seasonSettlements.find((one) => one.nodeId === nodeId)
  if (!found) return null
  const { dueAt, startedAt, finishedAt, players, tiers, failed } = found
  const granted = `${count(Number(tiers), 'tier')} to ${count(Number(players), 'player')}`
  return (
    <p className="muted">
      {finishedAt !== null ? (
        <>
          Earned tiers that were not claimed were granted until <Time at={finishedAt} parts="minute" />: {granted}
        </>
      ) : startedAt !== null ? (
        <>Earned tiers that were not claimed are being granted: {granted} so far</>
      ) : (
        <>
          Earned tiers that are not claimed are granted <Time at={dueAt} parts="minute" />
        </>
      )}
      {Number(failed) > 0 && `; ${count(Number(failed), 'tier')} did not fit into a balance or an amount`}.
    </p>
  )
}

const count = (of: number, what: string): string => `${number(of)} ${what}${of === 1 ? '' : 's'}`
