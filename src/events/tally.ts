import { HOURS_KEPT_DAYS, RECENT_HOURS_DAYS, type Step } from '../declare/range.ts'
import { arrayOf, bigint, int, rowsOf, text, uuid } from '../transactions/columns.ts'
import type { Extension, Group, NumberOf } from '../transactions/group.ts'
import type { Player } from '../transactions/player.ts'
import { type Sql, sql } from '../transactions/sql.ts'

/**
 * The measures, with the meaning of their level and detail. `standing` moves with a player: its old level is counted
 * down and its new one up, so that the sum up to a day gives the players at each level on that day. Days and hours are
 * in UTC.
 *
 * - `standing`: players at the level of their xp by the definition of that day; detail `free` or `premium`.
 * - `joined`, `active`, `completed`: players who began, played or completed the pass. A player is active in the hour of
 *   the first call of a day, so that the hours of a day add up to its players.
 * - `premium`: premium bought or granted, at the level that the player had. A revocation counts down.
 * - `sold`: premium bought; the amount is the price, the detail its currency.
 * - `claimed`: tiers claimed, by level; the detail is the track. A reset counts down.
 * - `xp`: grants; the amount is their xp, the detail is the source.
 * - `xp_origin`: the same by origin in place of the source, for origins other than clients.
 * - `xp_clipped`: the same for sent xp that a limit held back: the amount is what was not granted.
 * - `login`: custom logins; the node is the provider, the detail the outcome, the level a step of latency, the amount
 *   their milliseconds. Their hours are removed, since `login_day` has the same by day: a month by hours would be too
 *   many rows.
 * - `attempts`: the same logins; the level is the number of webhook calls.
 *
 * A measure has the number of days for which its hours are kept; older hours become days. Null for a measure by day.
 */
export const MEASURES = {
  standing: null,
  joined: RECENT_HOURS_DAYS,
  active: RECENT_HOURS_DAYS,
  completed: RECENT_HOURS_DAYS,
  premium: RECENT_HOURS_DAYS,
  sold: RECENT_HOURS_DAYS,
  claimed: RECENT_HOURS_DAYS,
  xp: HOURS_KEPT_DAYS,
  xp_origin: HOURS_KEPT_DAYS,
  xp_clipped: HOURS_KEPT_DAYS,
  login: HOURS_KEPT_DAYS,
  login_day: null,
  attempts: HOURS_KEPT_DAYS,
} as const

export type Measure = keyof typeof MEASURES

export const bucketOf = (measure: Measure): Step => (MEASURES[measure] === null ? 'day' : 'hour')

export interface Count {
  readonly environmentId: string
  /** Empty for counts that belong to no scenario. */
  readonly scenarioId: string
  readonly nodeId: string
  readonly measure: Measure
  readonly level?: number
  readonly detail?: string
}

type Total = Required<Count>

interface Change {
  /** The player of the counted rows; null for logins, which belong to an environment. */
  readonly player: Player | null
  /** The number of its total, from 1. */
  readonly place: number
  readonly count: number
  readonly amount: bigint
}

const totalRows = rowsOf([
  ['environment_id', 'uuid'],
  ['scenario_id', 'text'],
  ['node_id', 'text'],
  ['measure', 'text'],
  ['bucket', 'text'],
  ['level', 'int'],
  ['detail', 'text'],
  ['place', 'int'],
])
const changeRows = rowsOf([
  ['count', 'int'],
  ['amount', 'numeric'],
  ['n', 'int'],
  ['place', 'int'],
])

const areSame = (one: Total, other: Total): boolean =>
  one.measure === other.measure &&
  one.level === other.level &&
  one.detail === other.detail &&
  one.nodeId === other.nodeId &&
  one.scenarioId === other.scenarioId &&
  one.environmentId === other.environmentId

/**
 * The changes of a group to the figures of dashboards. They are written with the rows that they count, so that figures
 * and books agree, and they are appended, so that no two transactions wait for the same total. A player's changes count
 * only if the player is proven, so the database adds them up.
 */
export class Tally implements Extension {
  static readonly stage = 'changes'
  static readonly isProvable = true
  private readonly totals: Total[] = []
  private readonly places = new Map<string, number>()
  private readonly changes: Change[] = []
  private readonly group: Group

  constructor(group: Group) {
    this.group = group
  }

  add(player: Player | null, of: Count, count = 1, amount = 0n): void {
    const { environmentId, scenarioId, nodeId, measure, level = 0, detail = '' } = of
    const total = { environmentId, scenarioId, nodeId, measure, level, detail }
    // Most calls of a group count the same as the one before.
    const last = this.changes.at(-1)?.place ?? 0
    const place = last > 0 && areSame(this.totals[last - 1] as Total, total) ? last : this.placeOf(total)
    if (player) this.group.change(player)
    else this.group.note()
    this.changes.push({ player, place, count, amount })
  }

  private placeOf(total: Total): number {
    const { environmentId, scenarioId, nodeId, measure, level, detail } = total
    // None of these texts contains NUL, so keys are unambiguous.
    const key = `${environmentId}\0${scenarioId}\0${nodeId}\0${measure}\0${level}\0${detail}`
    const known = this.places.get(key)
    if (known !== undefined) return known
    const place = this.totals.push(total)
    this.places.set(key, place)
    return place
  }

  insert(numberOf: NumberOf): Sql | undefined {
    const { totals, changes } = this
    if (changes.length === 0) return undefined
    const total = totalRows([
      arrayOf(totals, (row) => uuid.encode(row.environmentId)),
      arrayOf(totals, (row) => text.encode(row.scenarioId)),
      arrayOf(totals, (row) => text.encode(row.nodeId)),
      arrayOf(totals, (row) => text.encode(row.measure)),
      arrayOf(totals, (row) => bucketOf(row.measure)),
      arrayOf(totals, (row) => int.encode(row.level)),
      arrayOf(totals, (row) => text.encode(row.detail)),
      arrayOf(totals, (_, index) => int.encode(index + 1)),
    ])
    const change = changeRows([
      arrayOf(changes, ({ count }) => int.encode(count)),
      arrayOf(changes, ({ amount }) => bigint.encode(amount)),
      arrayOf(changes, ({ player }) => int.encode(player ? numberOf(player) : 0)),
      arrayOf(changes, ({ place }) => int.encode(place)),
    ])
    return sql`INSERT INTO insight_changes
        (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
      SELECT t.environment_id, t.scenario_id, t.node_id, t.measure, date_trunc(t.bucket, now(), 'UTC'), t.level,
        t.detail, count, amount
      FROM ${total} AS t JOIN (
        SELECT c.place, sum(c.count) AS count, sum(c.amount) AS amount
        FROM ${change} AS c LEFT JOIN proven o ON o.n = c.n WHERE c.n = 0 OR o.n IS NOT NULL
        GROUP BY c.place HAVING sum(c.count) <> 0 OR sum(c.amount) <> 0
      ) AS c ON c.place = t.place`
  }
}
