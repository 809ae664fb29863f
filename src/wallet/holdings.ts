import { uuidv7 } from 'uuidv7'
import { columns, PART_ORDER, type Part, type Statement, Wanted } from '../commit/group.ts'
import { MAX_INT64 } from '../json.ts'
import { type PlayerRef, playerKey } from '../players/standing.ts'
import type { Reward } from '../scenario/definition.ts'

/** Why a balance changed: what the ledger and the books can be audited by. */
export interface Cause {
  readonly reason: 'tier_claim' | 'premium_purchase' | 'reward_node' | 'adjustment'
  /** What it was for, such as `season-1/pass/free/5`. */
  readonly reference: string
}

interface LedgerEntry extends Cause {
  readonly environmentId: string
  readonly playerId: string
  readonly id: string
  readonly currency: string
  readonly amount: bigint
  readonly balance: bigint
}

type Kind = 'currency' | 'item'

interface Holding {
  readonly environmentId: string
  readonly playerId: string
  readonly kind: Kind
  readonly name: string
  amount: bigint
  changed: boolean
}

const holdingKey = (player: PlayerRef, kind: Kind, name: string): string => `${playerKey(player)}/${kind}/${name}`

/** Balances and items of the players of a group. Every change of a balance has its row in the ledger. */
export class Holdings implements Part {
  static readonly order = PART_ORDER.holdings
  private readonly wantedWallets = new Wanted<PlayerRef>()
  private readonly wantedItems = new Wanted<PlayerRef & { itemId: string }>()
  private readonly holdings = new Map<string, Holding>()
  private readonly ledger: LedgerEntry[] = []

  /** Names what rewards may change: all balances of the player, and these items. */
  want(player: PlayerRef, rewards: readonly Reward[] = []): void {
    this.wantedWallets.want(playerKey(player), player)
    for (const { itemId } of rewards) {
      if (itemId !== null) this.wantedItems.want(holdingKey(player, 'item', itemId), { ...player, itemId })
    }
  }

  balance(player: PlayerRef, currency: string): bigint {
    return this.holdings.get(holdingKey(player, 'currency', currency))?.amount ?? 0n
  }

  /** Whether every balance and amount stays within int64 when all of these are granted. */
  canGrant(player: PlayerRef, rewards: readonly Reward[]): boolean {
    // Which rewards a walk leads to is known late, so what they change is loaded for the call that gets there.
    this.want(player, rewards)
    this.wantedWallets.need(playerKey(player), player)
    for (const { itemId } of rewards) {
      if (itemId !== null) this.wantedItems.need(holdingKey(player, 'item', itemId), { ...player, itemId })
    }
    const totals = new Map<string, bigint>()
    for (const reward of rewards) {
      const key = holdingKey(player, ...kindAndName(reward))
      const total = (totals.get(key) ?? this.holdings.get(key)?.amount ?? 0n) + reward.amount
      if (total > MAX_INT64) return false
      totals.set(key, total)
    }
    return true
  }

  /** Adds rewards. Ask `canGrant` first. */
  grant(player: PlayerRef, rewards: readonly Reward[], cause: Cause): void {
    for (const reward of rewards) {
      const [kind, name] = kindAndName(reward)
      if (kind === 'currency') this.move(player, name, reward.amount, cause)
      else this.change(player, kind, name, reward.amount)
    }
  }

  /** Changes one balance, up or down, and writes its ledger row. The balance must stay within 0 and int64. */
  move(player: PlayerRef, currency: string, amount: bigint, cause: Cause): bigint {
    const { environmentId, playerId } = player
    const balance = this.change(player, 'currency', currency, amount)
    this.ledger.push({
      environmentId,
      playerId,
      id: uuidv7(),
      currency,
      amount,
      balance,
      reason: cause.reason,
      reference: cause.reference,
    })
    return balance
  }

  private change(player: PlayerRef, kind: Kind, name: string, amount: bigint): bigint {
    const { environmentId, playerId } = player
    const key = holdingKey(player, kind, name)
    const holding = this.holdings.get(key) ?? { environmentId, playerId, kind, name, amount: 0n, changed: false }
    holding.amount += amount
    holding.changed = true
    this.holdings.set(key, holding)
    return holding.amount
  }

  load(): Statement[] {
    const wallets = this.wantedWallets.read({
      name: 'wallets-load',
      text: `SELECT k.n::int, w.currency, w.balance
        FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, n) CROSS JOIN LATERAL (
          SELECT * FROM wallets w WHERE w.environment_id = k.environment_id AND w.player_id = k.player_id OFFSET 0
        ) w`,
      columns: ['environmentId', 'playerId'],
      take: (_key, [, currency, balance], player) => this.hold(player, 'currency', currency, balance),
    })
    const items = this.wantedItems.read({
      name: 'inventory-load',
      text: `SELECT k.n::int, i.amount
        FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS k(environment_id, player_id, item_id, n)
        CROSS JOIN LATERAL (
          SELECT amount FROM inventory i
          WHERE i.environment_id = k.environment_id AND i.player_id = k.player_id AND i.item_id = k.item_id LIMIT 1
        ) i`,
      columns: ['environmentId', 'playerId', 'itemId'],
      take: (_key, [, amount], { itemId, ...player }) => this.hold(player, 'item', itemId, amount),
    })
    return [...wallets, ...items]
  }

  private hold({ environmentId, playerId }: PlayerRef, kind: Kind, name: string, amount: string): void {
    const player = { environmentId, playerId }
    this.holdings.set(holdingKey(player, kind, name), { ...player, kind, name, amount: BigInt(amount), changed: false })
  }

  save(): Statement[] {
    const statements: Statement[] = []
    const changed = [...this.holdings.values()].filter((holding) => holding.changed)
    const balances = changed.filter((holding) => holding.kind === 'currency')
    const items = changed.filter((holding) => holding.kind === 'item')
    if (balances.length > 0) {
      statements.push({
        name: 'wallets-save',
        text: `INSERT INTO wallets (environment_id, player_id, currency, balance)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[])
          ON CONFLICT (environment_id, player_id, currency) DO UPDATE SET balance = excluded.balance`,
        values: columns(balances, ['environmentId', 'playerId', 'name', 'amount']),
      })
    }
    if (this.ledger.length > 0) {
      statements.push({
        name: 'wallet-ledger-save',
        text: `INSERT INTO wallet_ledger (environment_id, player_id, id, currency, amount, balance, reason, reference)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[])`,
        values: columns(this.ledger, [
          'environmentId',
          'playerId',
          'id',
          'currency',
          'amount',
          'balance',
          'reason',
          'reference',
        ]),
      })
    }
    if (items.length > 0) {
      statements.push({
        name: 'inventory-save',
        text: `INSERT INTO inventory (environment_id, player_id, item_id, amount)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[])
          ON CONFLICT (environment_id, player_id, item_id) DO UPDATE SET amount = excluded.amount`,
        values: columns(items, ['environmentId', 'playerId', 'name', 'amount']),
      })
    }
    return statements
  }
}

function kindAndName({ currency, itemId }: Reward): [Kind, string] {
  return currency === null ? ['item', itemId ?? ''] : ['currency', currency]
}
