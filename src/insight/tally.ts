import type { Group, Part } from '../commit/group.ts'
import type { Player } from '../commit/player.ts'
import type { Insertion } from '../commit/statement.ts'
import { arrayOf, bigint, int, nextInsertion, rowsOf, text, uuid } from '../commit/table.ts'

/**
 * The measures, with the meaning of their level and detail. `standing` moves with a player: its old level is counted
 * down and its new one up, so that the sum up to a day gives the players at each level on that day. Days and hours are
 * in UTC.
 *
 * - `standing`, by day: players at the level of their xp by the definition of that day; detail `free` or `premium`.
 * - `joined`, `active`, `completed`, by day: players who began, played or completed the pass that day.
 * - `premium`, by day: premium bought or granted, at the level that the player had. A revocation counts down.
 * - `claimed`, by day: tiers claimed, by level; the detail is the track. A reset counts down.
 * - `xp`, by hour, after a quarter of a year by day: grants; the amount is their xp, the detail is the source.
 * - `login`, by hour, for a quarter of a year: custom logins; the node is the provider, the detail the outcome, the level
 *   a step of latency, the amount their milliseconds. `login_day` is the same by day, and is never removed: a month by
 *   hours would be too many rows.
 * - `attempts`, by hour, after a quarter of a year by day: the same logins; the level is the number of webhook calls.
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
  /** Empty for counts that belong to no scenario. */
  readonly scenarioId: string
  readonly nodeId: string
  readonly measure: Measure
  readonly level?: number
  readonly detail?: string
}

/** The change of one total, if all of its players are proven. */
interface Total extends Required<Count> {
  count: number
  amount: bigint
}

interface Change {
  /** The player of the counted rows; null for logins, which belong to an environment. */
  readonly player: Player | null
  /** The number of its total, from 1. */
  readonly place: number
  readonly count: number
  readonly amount: bigint
}

const TOTAL = [
  ['environment_id', 'uuid'],
  ['scenario_id', 'text'],
  ['node_id', 'text'],
  ['measure', 'text'],
  ['bucket', 'text'],
  ['level', 'int'],
  ['detail', 'text'],
] as const
const CHANGE = [
  ['count', 'int'],
  ['amount', 'numeric'],
] as const

const index = nextInsertion()

/**
 * The changes of a group to the figures of dashboards. They are written with the rows that they count, so that figures
 * and books agree, and they are appended, so that no two transactions wait for the same total. A player's changes count
 * only if the player is proven, so the database adds them up.
 */
export class Tally implements Part {
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
    // None of these texts contains NUL, so keys are unambiguous.
    const key = `${environmentId}\0${scenarioId}\0${nodeId}\0${measure}\0${level}\0${detail}`
    let place = this.places.get(key)
    if (place === undefined) {
      place = this.totals.push({ environmentId, scenarioId, nodeId, measure, level, detail, count: 0, amount: 0n })
      this.places.set(key, place)
    }
    const total = this.totals[place - 1] as Total
    total.count += count
    total.amount += amount
    if (player) this.group.change(player)
    this.changes.push({ player, place, count, amount })
  }

  get insertion(): Insertion {
    const { totals, changes } = this
    return {
      index,
      isEmpty: changes.length === 0,
      insert: (parameter, isLone) => `INSERT INTO insight_changes
          (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
        SELECT t.environment_id, t.scenario_id, t.node_id, t.measure, date_trunc(t.bucket, now(), 'UTC'), t.level,
          t.detail, count, amount
        FROM ${isLone ? lone(parameter) : several(parameter)}`,
      values: (isLone) => {
        // A player who rose from 3 to 5 within the group was never counted at 4.
        const rows = isLone ? totals.filter(({ count, amount }) => count !== 0 || amount !== 0n) : totals
        return [
          arrayOf(rows, (row) => uuid.encode(row.environmentId)),
          arrayOf(rows, (row) => text.encode(row.scenarioId)),
          arrayOf(rows, (row) => text.encode(row.nodeId)),
          arrayOf(rows, (row) => text.encode(row.measure)),
          arrayOf(rows, (row) => BUCKETS[row.measure]),
          arrayOf(rows, (row) => int.encode(row.level)),
          arrayOf(rows, (row) => text.encode(row.detail)),
          ...(isLone
            ? changed(rows)
            : [
                arrayOf(rows, (_, at) => int.encode(at + 1)),
                ...changed(changes),
                arrayOf(changes, ({ player }) => int.encode(player?.n ?? 0)),
                arrayOf(changes, ({ place }) => int.encode(place)),
              ]),
        ]
      },
    }
  }
}

const changed = (of: readonly { readonly count: number; readonly amount: bigint }[]): string[] => [
  arrayOf(of, ({ count }) => int.encode(count)),
  arrayOf(of, ({ amount }) => bigint.encode(amount)),
]

/** The totals, if the player is proven. */
const lone = (parameter: () => number): string => `${rowsOf(parameter, [...TOTAL, ...CHANGE])} AS t CROSS JOIN proven`

/** The totals of the players who are proven. */
const several = (parameter: () => number): string => `${rowsOf(parameter, [...TOTAL, ['place', 'int']])} AS t JOIN (
      SELECT c.place, sum(c.count) AS count, sum(c.amount) AS amount
      FROM ${rowsOf(parameter, [...CHANGE, ['n', 'int'], ['place', 'int']])} AS c
      LEFT JOIN proven o ON o.n = c.n WHERE c.n = 0 OR o.n IS NOT NULL
      GROUP BY c.place HAVING sum(c.count) <> 0 OR sum(c.amount) <> 0
    ) AS c ON c.place = t.place`
