import { randomBytes } from 'node:crypto'
import type { ClientBase } from 'pg'
import { identities } from '../accounts/login/identities.ts'
import { lastLogins } from '../accounts/login/last-logins.ts'
import { loginLog } from '../accounts/login/log/login-log.ts'
import { hoursKeptFrom, LENGTH_MS } from '../declare/range.ts'
import { MEASURES, type Measure } from '../events/tally.ts'
import { passes, tierClaims, xpLedger } from '../game/battlepass/passes.ts'
import { playerBoosts } from '../game/boosts/player-boosts.ts'
import { rewardPayments } from '../game/runs/reward-payments.ts'
import { runs } from '../game/runs/runs.ts'
import { inventory, walletLedger, wallets } from '../game/wallet/holdings.ts'
import { FOLDING_LOCK } from '../operations/figures/fold.ts'
import { profiles } from '../players/create-player.ts'
import { storage } from '../players/storage.ts'
import { type CopyValue, copyInto, copyLine } from './copy.ts'

/** The rows of a batch of seeded players, by table, in the order of writing. */
const COLUMNS = {
  players: profiles.names('status', 'created_at'),
  identities: identities.names('created_at'),
  last_logins: lastLogins.names('logged_in_at'),
  player_storage: storage.names('updated_at'),
  runs: runs.names('started_at'),
  passes: passes.names(),
  xp_ledger: xpLedger.names('created_at'),
  tier_claims: tierClaims.names('claimed_at'),
  reward_payments: rewardPayments.names('paid_at'),
  wallets: wallets.names(),
  wallet_ledger: walletLedger.names('created_at'),
  inventory: inventory.names(),
  player_boosts: playerBoosts.names(),
  login_log: loginLog.names('created_at'),
  // A temporary table until all players are written: a stream is in the order of time.
  seeded_events: 'environment_id, at, type, handle, player_id, scenario_id, node_id, run_id, data',
} as const

export type SeededTable = keyof typeof COLUMNS
const TABLES = Object.keys(COLUMNS) as SeededTable[]

export class SeededBooks {
  private readonly environmentId: string
  private readonly lines: Record<SeededTable, string[]>

  constructor(environmentId: string) {
    this.environmentId = environmentId
    this.lines = Object.fromEntries(TABLES.map((table) => [table, []])) as never
  }

  /** Adds a row: its values in the order of the table's columns, after the environment. */
  add(table: SeededTable, values: readonly CopyValue[]): void {
    this.lines[table].push(`${this.environmentId}\t${copyLine(values)}`)
  }

  count(table: SeededTable): number {
    return this.lines[table].length
  }

  async write(client: ClientBase): Promise<void> {
    for (const table of TABLES) await copyInto(client, table, COLUMNS[table], this.lines[table])
  }
}

/** The place of a count: a node of a scenario, or a provider. */
export interface SeededScope {
  readonly scenarioId: string
  readonly nodeId: string
}

interface Total {
  readonly key: readonly CopyValue[]
  count: number
  amount: bigint
}

/** Totals of one detail of a measure, by bucket and level. */
type Totals = Map<number, Total>

const MAX_LEVELS = 2 ** 16

/** The first time whose hours are kept, by measure. */
const HOURS_FROM_MS = Object.fromEntries(
  Object.entries(MEASURES).map(([measure, days]) => [
    measure,
    days === null ? Number.POSITIVE_INFINITY : hoursKeptFrom(days).getTime(),
  ]),
) as Readonly<Record<Measure, number>>

/** Figures of seeded players for dashboards, as the service would have counted them at the time. */
export class SeededTotals {
  private readonly environmentId: string
  /** Keyed by the place object: there are many millions of counts, and building strings is slow. */
  private readonly scopes = new Map<SeededScope, Map<Measure, Map<string, Totals>>>()

  constructor(environmentId: string) {
    this.environmentId = environmentId
  }

  add(
    scope: SeededScope,
    measure: Measure,
    atMs: number,
    { level = 0, detail = '', count = 1, amount = 0n } = {},
  ): void {
    const length = LENGTH_MS[atMs < HOURS_FROM_MS[measure] ? 'day' : 'hour']
    const bucket = Math.floor(atMs / length)
    const key = bucket * MAX_LEVELS + level
    const totals = this.totalsOf(scope, measure, detail)
    const total = totals.get(key)
    if (total) {
      total.count += count
      total.amount += amount
      return
    }
    const at = new Date(bucket * length).toISOString()
    totals.set(key, { key: [scope.scenarioId, scope.nodeId, measure, at, level, detail], count, amount })
  }

  private totalsOf(scope: SeededScope, measure: Measure, detail: string): Totals {
    const known = this.scopes.get(scope)?.get(measure)?.get(detail)
    if (known) return known
    const measures = this.scopes.get(scope) ?? new Map<Measure, Map<string, Totals>>()
    const details = measures.get(measure) ?? new Map<string, Totals>()
    const totals: Totals = new Map()
    this.scopes.set(scope, measures.set(measure, details.set(detail, totals)))
    return totals
  }

  private all(): Total[] {
    const measures = [...this.scopes.values()].flatMap((scope) => [...scope.values()])
    return measures.flatMap((details) => [...details.values()]).flatMap((totals) => [...totals.values()])
  }

  /** Moves all figures to the totals of the database. The transaction must end soon: it locks the totals. */
  async write(client: ClientBase): Promise<void> {
    const changed = this.all().filter(({ count, amount }) => count !== 0 || amount !== 0n)
    this.scopes.clear()
    const lines = changed.map((total) => copyLine([this.environmentId, ...total.key, total.count, total.amount]))
    const key = 'environment_id, scenario_id, node_id, measure, bucket, level, detail'
    await client.query('CREATE TEMPORARY TABLE IF NOT EXISTS seeded_totals (LIKE insight_totals) ON COMMIT DELETE ROWS')
    await copyInto(client, 'seeded_totals', `${key}, count, amount`, lines)
    // One process locks totals at a time, so that none waits for a row while it holds another.
    await client.query(`SELECT pg_advisory_xact_lock(${FOLDING_LOCK})`)
    await client.query(
      `INSERT INTO insight_totals AS t SELECT * FROM seeded_totals
       ON CONFLICT (${key})
       DO UPDATE SET count = t.count + excluded.count, amount = t.amount + excluded.amount`,
    )
  }
}

const RANDOM_BYTES = 8
const POOL_BYTES = RANDOM_BYTES * 4_096
let pool = ''
let used = 0

/** A UUIDv7 of a moment. At the same moment, a higher order sorts later. */
export function idAt(atMs: number, order: number): string {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES).toString('hex')
    used = 0
  }
  const random = pool.slice(used, used + 2 * RANDOM_BYTES)
  used += 2 * RANDOM_BYTES
  const time = atMs.toString(16).padStart(12, '0')
  const variant = '89ab'[Number.parseInt(random[0] ?? '0', 16) & 3]
  const sequence = order.toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence}-${variant}${random.slice(1, 4)}-${random.slice(4)}`
}
