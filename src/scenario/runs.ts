import { columns, PART_ORDER, type Part, type Row, type Statement, Wanted } from '../commit/group.ts'
import { freeze, thaw } from '../json.ts'
import { type PlayerRef, playerKey } from '../players/standing.ts'
import type { ExecutionPlan } from './plan.ts'

export type RunStatus = 'active' | 'completed' | 'cancelled'

/** A player's walk through a scenario. */
export interface Run extends PlayerRef {
  readonly runId: string
  readonly scenarioId: string
  readonly status: RunStatus
  /** Ids of the nodes that were entered and not left. */
  readonly active: readonly string[]
}

const runKey = (player: PlayerRef, runId: string): string => `${playerKey(player)}/${runId.toLowerCase()}`
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const activeKey = (player: PlayerRef, scenarioId: string): string => `${playerKey(player)}/active/${scenarioId}`

/**
 * The runs of a group, by id or as the active one of a scenario. A run's last plan can be large, as it carries the data
 * of the nodes that were entered, so it is read only where it is asked for.
 */
export class Runs implements Part {
  static readonly order = PART_ORDER.runs
  private readonly wanted = new Wanted<PlayerRef & { runId: string }>()
  private readonly wantedActive = new Wanted<PlayerRef & { scenarioId: string }>()
  private readonly wantedPlans = new Wanted<PlayerRef & { runId: string }>()
  private readonly runs = new Map<string, Run>()
  private readonly activeRuns = new Map<string, string>()
  private readonly plans = new Map<string, ExecutionPlan>()
  private readonly changed = new Map<string, Run>()

  want(player: PlayerRef, runId: string): void {
    // Any other text names no run, and the database would refuse it for the whole group.
    if (UUID.test(runId)) this.wanted.want(runKey(player, runId), { ...player, runId })
  }

  wantActive(player: PlayerRef, scenarioId: string): void {
    this.wantedActive.want(activeKey(player, scenarioId), { ...player, scenarioId })
  }

  /** Also names the plan of the last call that crossed something in a run. */
  wantPlan(player: PlayerRef, runId: string): void {
    if (UUID.test(runId)) this.wantedPlans.want(runKey(player, runId), { ...player, runId })
  }

  get(player: PlayerRef, runId: string): Run | undefined {
    return this.runs.get(runKey(player, runId))
  }

  active(player: PlayerRef, scenarioId: string): Run | undefined {
    const runId = this.activeRuns.get(activeKey(player, scenarioId))
    return runId === undefined ? undefined : this.get(player, runId)
  }

  plan(player: PlayerRef, runId: string): ExecutionPlan | null {
    return this.plans.get(runKey(player, runId)) ?? null
  }

  /** A run as a call leaves it, with the plan that the call answers. */
  set(run: Run, plan: ExecutionPlan | null): void {
    this.hold(run)
    if (plan) this.plans.set(runKey(run, run.runId), plan)
    this.changed.set(runKey(run, run.runId), run)
  }

  private hold(run: Run): void {
    this.runs.set(runKey(run, run.runId), run)
    const key = activeKey(run, run.scenarioId)
    if (run.status === 'active') this.activeRuns.set(key, run.runId)
    else if (this.activeRuns.get(key) === run.runId) this.activeRuns.delete(key)
  }

  load(): Statement[] {
    const byId = this.wanted.read({
      name: 'runs-load',
      text: `SELECT k.n::int, r.id, r.scenario_id, r.status, r.active
        FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, id, n)
        CROSS JOIN LATERAL (
          SELECT * FROM runs r
          WHERE r.environment_id = k.environment_id AND r.player_id = k.player_id AND r.id = k.id LIMIT 1
        ) r`,
      columns: ['environmentId', 'playerId', 'runId'],
      take: (_key, row, player) => this.take(player, row),
    })
    const active = this.wantedActive.read({
      name: 'runs-load-active',
      text: `SELECT k.n::int, r.id, r.scenario_id, r.status, r.active
        FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS k(environment_id, player_id, scenario_id, n)
        CROSS JOIN LATERAL (
          SELECT * FROM runs r WHERE r.environment_id = k.environment_id AND r.player_id = k.player_id
            AND r.scenario_id = k.scenario_id AND r.status = 'active' LIMIT 1
        ) r`,
      columns: ['environmentId', 'playerId', 'scenarioId'],
      take: (_key, row, player) => this.take(player, row),
    })
    const plans = this.wantedPlans.read({
      name: 'runs-load-plans',
      text: `SELECT k.n::int, r.plan
        FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, id, n)
        CROSS JOIN LATERAL (
          SELECT plan FROM runs r WHERE r.environment_id = k.environment_id AND r.player_id = k.player_id
            AND r.id = k.id AND r.plan IS NOT NULL LIMIT 1
        ) r`,
      columns: ['environmentId', 'playerId', 'runId'],
      take: (key, [, plan]) => this.plans.set(key, thaw(plan) as unknown as ExecutionPlan),
    })
    return [...byId, ...active, ...plans]
  }

  private take({ environmentId, playerId }: PlayerRef, [, runId, scenarioId, status, active]: Row): void {
    this.hold({ environmentId, playerId, runId, scenarioId, status, active: JSON.parse(active) })
  }

  save(): Statement[] {
    if (this.changed.size === 0) return []
    const rows = [...this.changed].map(([key, run]) => ({
      ...run,
      active: JSON.stringify(run.active),
      plan: freeze(this.plans.get(key) ?? null),
    }))
    return [
      {
        name: 'runs-save',
        text: `INSERT INTO runs (environment_id, player_id, id, scenario_id, status, active, plan, completed_at)
          SELECT k.*, CASE WHEN k.status = 'active' THEN NULL ELSE now() END
          FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])
            AS k(environment_id, player_id, id, scenario_id, status, active, plan)
          ON CONFLICT (environment_id, player_id, id)
          DO UPDATE SET status = excluded.status, active = excluded.active, plan = excluded.plan, completed_at = excluded.completed_at`,
        values: columns(rows, ['environmentId', 'playerId', 'runId', 'scenarioId', 'status', 'active', 'plan']),
      },
    ]
  }
}
