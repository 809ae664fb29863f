import { PART_ORDER, type Part, type Row, type Statement } from '../commit/group.ts'
import { columns } from '../commit/idempotency.ts'
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
  /** The plan of the last call that crossed something. */
  readonly plan: ExecutionPlan | null
}

const runKey = (player: PlayerRef, runId: string): string => `${playerKey(player)}/${runId.toLowerCase()}`
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const activeKey = (player: PlayerRef, scenarioId: string): string => `${playerKey(player)}/active/${scenarioId}`

/** The runs of a group, by id or as the active one of a scenario. */
export class Runs implements Part {
  static readonly order = PART_ORDER.runs
  private readonly wanted = new Map<string, PlayerRef & { runId: string }>()
  private readonly wantedActive = new Map<string, PlayerRef & { scenarioId: string }>()
  private readonly asked = new Set<string>()
  private readonly runs = new Map<string, Run>()
  private readonly activeRuns = new Map<string, string>()
  private readonly changed = new Map<string, Run>()

  want(player: PlayerRef, runId: string): void {
    const key = runKey(player, runId)
    // Any other text names no run, and the database would refuse it for the whole group.
    if (UUID.test(runId) && !this.asked.has(key)) this.wanted.set(key, { ...player, runId })
  }

  wantActive(player: PlayerRef, scenarioId: string): void {
    const key = activeKey(player, scenarioId)
    if (!this.asked.has(key)) this.wantedActive.set(key, { ...player, scenarioId })
  }

  get(player: PlayerRef, runId: string): Run | undefined {
    return this.runs.get(runKey(player, runId))
  }

  active(player: PlayerRef, scenarioId: string): Run | undefined {
    const runId = this.activeRuns.get(activeKey(player, scenarioId))
    return runId === undefined ? undefined : this.get(player, runId)
  }

  set(run: Run): void {
    this.hold(run)
    this.changed.set(runKey(run, run.runId), run)
  }

  private hold(run: Run): void {
    this.runs.set(runKey(run, run.runId), run)
    const key = activeKey(run, run.scenarioId)
    if (run.status === 'active') this.activeRuns.set(key, run.runId)
    else if (this.activeRuns.get(key) === run.runId) this.activeRuns.delete(key)
  }

  load(): Statement[] {
    const statements: Statement[] = []
    if (this.wanted.size > 0) {
      const refs = [...this.wanted.values()]
      for (const key of this.wanted.keys()) this.asked.add(key)
      this.wanted.clear()
      statements.push({
        name: 'runs-load',
        text: `SELECT r.environment_id, r.player_id, r.id, r.scenario_id, r.status, r.active, r.plan
          FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) AS k(environment_id, player_id, id)
          JOIN runs r USING (environment_id, player_id, id)`,
        values: columns(refs, ['environmentId', 'playerId', 'runId']),
        take: (rows) => this.take(rows),
      })
    }
    if (this.wantedActive.size > 0) {
      const refs = [...this.wantedActive.values()]
      for (const key of this.wantedActive.keys()) this.asked.add(key)
      this.wantedActive.clear()
      statements.push({
        name: 'runs-load-active',
        text: `SELECT r.environment_id, r.player_id, r.id, r.scenario_id, r.status, r.active, r.plan
          FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS k(environment_id, player_id, scenario_id)
          JOIN runs r USING (environment_id, player_id, scenario_id) WHERE r.status = 'active'`,
        values: columns(refs, ['environmentId', 'playerId', 'scenarioId']),
        take: (rows) => this.take(rows),
      })
    }
    return statements
  }

  private take(rows: Row[]): void {
    for (const [environmentId, playerId, runId, scenarioId, status, active, plan] of rows) {
      this.hold({
        environmentId,
        playerId,
        runId,
        scenarioId,
        status,
        active: JSON.parse(active),
        plan: plan === null ? null : (thaw(plan) as unknown as ExecutionPlan),
      })
    }
  }

  save(): Statement[] {
    if (this.changed.size === 0) return []
    const rows = [...this.changed.values()].map((run) => ({
      ...run,
      active: JSON.stringify(run.active),
      plan: run.plan && freeze(run.plan),
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
