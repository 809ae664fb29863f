import { settleDue } from '../../src/game/seasons/settle-seasons.ts'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import { until } from '../harness/until.ts'
import { game } from './pass-game.ts'

// The job at the end of a season, run beside the service so that tests need not wait for it.

const SETTLEMENTS = `query ($id: String) { seasonSettlements(environment: "production", scenarioId: $id) {
  scenarioId nodeId dueAt startedAt finishedAt players tiers failed } }`

export const readSettlement = async (id: string) =>
  (await game.graphql(game.platformKey, SETTLEMENTS, { id })).data.seasonSettlements[0]

export const job = (run: Parameters<typeof settleDue>[0]['run'] = game.app.service.run) => ({
  ...{ pool: game.app.pool, run, onDone: () => {} },
  signal: new AbortController().signal,
})

/** Settles what is due until a season is settled. */
export async function settle(id: string) {
  // An edit has moved levels: the service waits until calls under the previous version have ended.
  await storeLevels(game.app.pool, { settledMs: 0 })
  await until(`${id} is settled`, async () => {
    await settleDue(job())
    return (await readSettlement(id))?.finishedAt !== null
  })
  return readSettlement(id)
}
