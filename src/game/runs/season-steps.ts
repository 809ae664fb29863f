import { type Column, text } from '../../transactions/columns.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf, type One, type Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'

// What has happened to a player at the end of a season, each once: a row of `season_steps`.

/** The crossing of `onSeasonEnd`, and what the player took along to the next season. */
export type SeasonStep = 'ended' | 'carried'

export const seasonSteps = table('season_steps', {
  key: { scenarioId: text, nodeId: text, step: text as Column<SeasonStep> },
  columns: {},
  kind: 'append',
})
const stepOf = seasonSteps.one({ columns: ['step'] })

interface Place {
  readonly scenarioId: string
  readonly nodeId: string
}

const slotOf = (player: Player, { scenarioId, nodeId }: Place, step: SeasonStep): One<{ readonly step: SeasonStep }> =>
  player.one(stepOf, keyOf(scenarioId, nodeId, step))

/** Asks whether it has happened. While the group waits, the result is meaningless. */
export function askStep(player: Player, place: Place, step: SeasonStep): boolean {
  const found = slotOf(player, place, step)
  return found.isKnown && found.value !== null
}

/** Notes that it has happened. Ask first. */
export function addStep(group: Group, player: Player, { scenarioId, nodeId }: Place, step: SeasonStep): void {
  group.append(seasonSteps, player, { scenarioId, nodeId, step })
  player.slot(stepOf, keyOf(scenarioId, nodeId, step)).note({ step })
}
