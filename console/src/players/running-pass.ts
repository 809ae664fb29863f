import { useQuery } from 'urql'
import { definitionQuery } from '../scenario/operations.ts'
import { type PassView, readDefinition } from '../scenario/read-definition.ts'
import { useGameNow } from '../shell/clock.tsx'
import type { PassRef, PlayerData } from './actions/support-action.ts'
import { runsQuery } from './operations.ts'

/** A pass of a player. One that is not begun has no id. */
export type Pass = Omit<PlayerData['passes'][number], 'id'> & { readonly id: string | null }

/** A pass before its first xp. It has no id, and no ledger. */
export const notBegun = (scenarioId: string, { id }: PassView): Pass => ({
  id: null,
  scenarioId,
  nodeId: id,
  xp: '0',
  level: 0,
  premiumOwned: false,
  completed: false,
  claims: [],
})

/** The pass of the player's newest active run, of those with a begun pass if there are any. Undefined without a run. */
export function useRunningPass({ environment, playerId, passes }: PlayerData): (Pass & PassRef) | undefined {
  const now = useGameNow()
  const [{ data }] = useQuery({
    query: runsQuery,
    variables: { id: playerId },
    requestPolicy: 'cache-and-network',
  })
  const active = data?.player?.runs.nodes.filter(({ status }) => status === 'ACTIVE') ?? []
  const begunIn = (scenarioId: string) => passes.filter((pass) => pass.scenarioId === scenarioId)
  const run = active.find(({ scenarioId }) => begunIn(scenarioId).length > 0) ?? active[0]
  const [scenario] = useQuery({
    query: definitionQuery,
    variables: { environment, scenarioId: run?.scenarioId ?? '' },
    pause: run === undefined,
  })
  if (run === undefined) return undefined
  const views = readDefinition(scenario.data?.scenario?.definition).passes
  const begun = begunIn(run.scenarioId)
  const pass: Pass | undefined =
    begun.find(({ nodeId }) => run.activeNodes.includes(nodeId)) ??
    begun[0] ??
    (views[0] && notBegun(run.scenarioId, views[0]))
  return pass && { ...pass, view: views.find(({ id }) => id === pass.nodeId), hasRun: true, now }
}
