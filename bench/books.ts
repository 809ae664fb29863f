import type pg from 'pg'
import type { Call, LoadPlayer, Tally } from './load.ts'

// The books: acknowledged work that is not stored does not count as speed, for any contestant.

/** The gains of a set of players. */
export interface Gains {
  xp: bigint
  levelUps: bigint
  claims: bigint
  purchases: bigint
}

/** A set of players, and the prefix of the names of its tables. */
export interface Owner {
  readonly players: readonly LoadPlayer[]
  readonly tables: '' | 'bench_peer_'
}

export class Books {
  private readonly owners: ReadonlyMap<string, Owner>
  private readonly before = new Map<string, Gains>()
  private readonly acknowledged = new Map<string, Gains>()

  constructor(owners: ReadonlyMap<string, Owner>) {
    this.owners = owners
  }

  /** Records what the players have before the measurements. */
  async open(client: pg.ClientBase): Promise<void> {
    for (const [name, owner] of this.owners) this.before.set(name, await stored(client, owner))
  }

  /** Adds the acknowledged calls of a load. */
  add(call: Call, set: string, { xp, levelUps, calls }: Tally): void {
    const sum = this.acknowledged.get(set) ?? nothing()
    sum.xp += BigInt(xp)
    sum.levelUps += BigInt(levelUps)
    if (call === 'claim') sum.claims += BigInt(calls)
    if (call === 'premium') sum.purchases += BigInt(calls)
    this.acknowledged.set(set, sum)
  }

  /** Fails unless the database holds exactly the acknowledged calls. Returns its findings. */
  async check(client: pg.ClientBase): Promise<string> {
    const faults: string[] = []
    const total = nothing()
    for (const [name, owner] of this.owners) {
      const before = this.before.get(name) ?? nothing()
      const after = await stored(client, owner)
      const acknowledged = this.acknowledged.get(name) ?? nothing()
      for (const what of ['xp', 'levelUps', 'claims', 'purchases'] as const) {
        total[what] += acknowledged[what]
        const gained = after[what] - before[what]
        if (gained !== acknowledged[what])
          faults.push(`${name}: ${acknowledged[what]} ${what} acknowledged, ${gained} in the database`)
      }
      faults.push(...(await unbalanced(client, owner)).map((fault) => `${name}: ${fault}`))
    }
    if (faults.length > 0) throw new Error(`What was acknowledged is not what is stored:\n  ${faults.join('\n  ')}`)
    const { xp, levelUps, claims, purchases } = total
    return `Checked: ${xp} xp, ${levelUps} level-ups, ${claims} claims and ${purchases} purchases acknowledged, the same in the database.`
  }
}

const nothing = (): Gains => ({ xp: 0n, levelUps: 0n, claims: 0n, purchases: 0n })
const ids = ({ players }: Owner): string[] => players.map(({ playerId }) => playerId)

async function stored(client: pg.ClientBase, owner: Owner): Promise<Gains> {
  const of = (table: string) => `FROM ${owner.tables}${table} WHERE player_id = ANY ($1::uuid[])`
  const { rows } = await client.query(
    `SELECT (SELECT coalesce(sum(xp), 0) ${of('passes')}) AS xp,
      (SELECT count(*) ${of('events')} AND handle = 'onLevelUp') AS level_ups,
      (SELECT count(*) ${of('tier_claims')}) AS claims,
      (SELECT count(*) ${of('passes')} AND premium_owned) AS purchases`,
    [ids(owner)],
  )
  const [{ xp, level_ups: levelUps, claims, purchases }] = rows
  return { xp: BigInt(xp), levelUps: BigInt(levelUps), claims: BigInt(claims), purchases: BigInt(purchases) }
}

/** Passes and wallets that are not the sums of their ledgers. */
async function unbalanced(client: pg.ClientBase, owner: Owner): Promise<string[]> {
  const of = (table: string) => `${owner.tables}${table} WHERE player_id = ANY ($1::uuid[])`
  const differing = async (held: string, entered: string) => {
    const { rows } = await client.query(
      `SELECT count(*)::int AS faults FROM (${held} GROUP BY owner) AS held
       FULL JOIN (${entered} GROUP BY owner) AS entered USING (owner) WHERE held.sum IS DISTINCT FROM entered.sum`,
      [ids(owner)],
    )
    return Number(rows[0].faults)
  }
  const faults: string[] = []
  const passes = await differing(
    `SELECT player_id AS owner, sum(xp) FROM ${of('passes')} AND xp <> 0`,
    `SELECT player_id AS owner, sum(amount) FROM ${of('xp_ledger')}`,
  )
  if (passes > 0) faults.push(`${passes} passes are not the sum of their ledger`)
  const wallets = await differing(
    `SELECT (player_id, currency) AS owner, sum(balance) FROM ${of('wallets')} AND balance <> 0`,
    `SELECT (player_id, currency) AS owner, sum(amount) FROM ${of('wallet_ledger')}`,
  )
  if (wallets > 0) faults.push(`${wallets} wallets are not the sum of their ledger`)
  return faults
}
