import { columns, PART_ORDER, type Part, type Statement } from '../commit/group.ts'

/**
 * What is counted, and what its level and detail say. `standing` moves with a player: where it was is counted down, where
 * it is now up, so that the sum up to any day is how players stood then. Days and hours are those of UTC.
 *
 * - `standing`, by day: players at the level of their xp by the definition of that day; detail `free` or `premium`.
 * - `joined`, `active`, `completed`, by day: players on their first day, on each day that they played, and at the end.
 * - `premium`, by day: premium bought or given, at the level that the player had; taken back counts down.
 * - `claimed`, by day: tiers claimed, by level; the detail is the track. A reset counts down.
 * - `xp`, by hour, after a quarter of a year by day: grants, and in the amount their xp; the detail is the source.
 * - `login`, by hour, for a quarter of a year: custom logins; the node is the provider, the detail the outcome, the level
 *   a step of latency, the amount their milliseconds. `login_day` is the same by day, for ever: a month by hours would be
 *   too many rows.
 * - `attempts`, by hour, after a quarter of a year by day: the same logins; the level is how many times the webhook was asked.
 */
export const BUCKETS = {
  standing: 'day',
  joined: 'day',
  active: 'day',
  completed: 'day',
  premium: 'day',
  claimed: 'day',
  xp: 'hour',
  login: 'hour',
  login_day: 'day',
  attempts: 'hour',
} as const

export type Measure = keyof typeof BUCKETS

export interface Count {
  readonly environmentId: string
  /** Empty for what belongs to no scenario. */
  readonly scenarioId: string
  readonly nodeId: string
  readonly measure: Measure
  readonly level?: number
  readonly detail?: string
}

interface Row extends Required<Count> {
  readonly bucket: 'day' | 'hour'
  count: number
  amount: bigint
}

/**
 * What a group changes of the figures on dashboards. It is written with what it counts, so that figures and books never
 * part; appended, so that no two transactions wait for the same total.
 */
export class Tally implements Part {
  static readonly order = PART_ORDER.tally
  private readonly rows = new Map<string, Row>()

  add({ environmentId, scenarioId, nodeId, measure, level = 0, detail = '' }: Count, count = 1, amount = 0n): void {
    // None of them holds a NUL, so no two rows share a key.
    const key = [environmentId, scenarioId, nodeId, measure, level, detail].join('\0')
    const row = this.rows.get(key)
    if (row) {
      row.count += count
      row.amount += amount
      return
    }
    const bucket = BUCKETS[measure]
    this.rows.set(key, { environmentId, scenarioId, nodeId, measure, bucket, level, detail, count, amount })
  }

  load(): Statement[] {
    return []
  }

  save(): Statement[] {
    // Whoever rose within the group from 3 to 5 was at 4 for nobody.
    const rows = [...this.rows.values()].filter(({ count, amount }) => count !== 0 || amount !== 0n)
    if (rows.length === 0) return []
    return [
      {
        name: 'tally-save',
        text: `INSERT INTO insight_changes (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
          SELECT c.environment_id, c.scenario_id, c.node_id, c.measure, date_trunc(c.bucket, now(), 'UTC'),
            c.level, c.detail, c.count, c.amount
          FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int[], $7::text[], $8::bigint[],
            $9::numeric[]) AS c(environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)`,
        values: columns(rows, [
          'environmentId',
          'scenarioId',
          'nodeId',
          'measure',
          'bucket',
          'level',
          'detail',
          'count',
          'amount',
        ]),
      },
    ]
  }
}
