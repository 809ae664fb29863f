import type { Group } from '../commit/group.ts'
import type { One, Player } from '../commit/player.ts'
import { type Column, exactJson, json, named, nullable, table, text, uuid, writeOnly } from '../commit/table.ts'
import { Stream } from '../events/append.ts'
import { isUuid } from '../request/shape.ts'
import type { ExecutionPlan } from './plan.ts'

/** Why a run was cancelled. */
export const RUN_CAUSES = ['cancelled by support', 'definition changed'] as const
export type RunCause = (typeof RUN_CAUSES)[number]

export const RUN_STATUSES = ['active', 'completed', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]

export const runs = table('runs', {
  key: { runId: named('id', uuid) },
  columns: {
    scenarioId: text,
    status: text as Column<RunStatus>,
    /** Ids of the nodes that were entered and not left. */
    active: json<readonly string[]>(),
    // Contains the data of the entered nodes, so it is large, and read only when it is asked for.
    plan: writeOnly(nullable(exactJson<ExecutionPlan>())),
    cause: nullable(text) as Column<RunCause | null>,
  },
  kind: 'state',
  // Only one run of a player and scenario can be active: the ending one is written before the beginning one.
  order: `r.status = 'active'`,
  computed: { completed_at: `CASE WHEN r.status = 'active' THEN NULL ELSE now() END` },
})
const byId = runs.one({ columns: ['runId', 'scenarioId', 'status', 'active', 'cause'] })
const activeOf = runs.one({ by: ['scenarioId'], where: `t.status = 'active'`, columns: ['runId'] })
const planOf = runs.one({ columns: ['plan'], isKept: false })

/** A player's walk through a scenario. */
export interface Run {
  readonly runId: string
  readonly scenarioId: string
  readonly status: RunStatus
  readonly active: readonly string[]
  /** Null unless the run is cancelled, and for runs that were cancelled before causes were recorded. */
  readonly cause: RunCause | null
}

/**
 * A run of the player, by its id. Text that is no id matches none; the database would refuse it for the whole group.
 */
export function askRun(player: Player, runId: string): One<Run> | null {
  return isUuid(runId) ? player.one(byId, runId.toLowerCase()) : null
}

/** The player's active run of a scenario. There is at most one. */
export function askActiveRun(player: Player, scenarioId: string): One<{ readonly runId: string }> {
  return player.one(activeOf, scenarioId)
}

/** The plan of the last call that crossed something in a run. */
export function askPlan(player: Player, runId: string): One<{ readonly plan: ExecutionPlan | null }> {
  return player.one(planOf, runId)
}

/** Writes a run after a call, with the plan of the call's answer. */
export function setRun(player: Player, run: Run, plan: ExecutionPlan | null): void {
  const written = { ...run, plan }
  player.slot(byId, run.runId).set(written)
  player.slot(planOf, run.runId).note({ plan })
  const active = player.slot(activeOf, run.scenarioId)
  if (run.status === 'active') active.note({ runId: run.runId })
  else active.note(null)
}

/** Cancels a run and appends the event. `askPlan` must have been called for the run, since its last plan is kept. */
export function cancel(group: Group, player: Player, run: Run, cause: RunCause): void {
  const { runId, scenarioId } = run
  const { environmentId, playerId } = player
  setRun(player, { ...run, status: 'cancelled', active: [], cause }, askPlan(player, runId).value?.plan ?? null)
  const at = { environmentId, playerId, scenarioId, runId }
  group
    .of(Stream)
    .append({ ...at, type: 'run.cancelled', handle: null, nodeId: null, byClient: false, data: { cause } })
}
