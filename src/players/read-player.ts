import type { Pool } from 'pg'
import { Refusal } from '../errors.ts'
import type { PlayerRef, Status } from './player-status.ts'

/** A player as it sees itself. Lists are sorted by name. */
export type PlayerView = {
  readonly playerId: string
  readonly nickname: string | null
  readonly avatarUrl: string | null
  readonly region: string | null
  readonly language: string | null
  /** RFC 3339, in UTC. */
  readonly createdAt: string
  readonly wallet: readonly { readonly currency: string; readonly balance: bigint }[]
  readonly inventory: readonly { readonly itemId: string; readonly amount: bigint }[]
  readonly identities: readonly { readonly provider: string; readonly subject: string }[]
}

/** The row of a player, with its identities sorted by name. */
export interface ProfileRow {
  readonly status: Status
  readonly nickname: string | null
  readonly avatar_url: string | null
  readonly region: string | null
  readonly language: string | null
  readonly created_at: Date
  readonly identities: [provider: string, subject: string][]
}

interface PlayerRow extends ProfileRow {
  readonly wallet: [currency: string, balance: string][]
  readonly inventory: [itemId: string, amount: string][]
}

/** Reads a player with everything that it owns, on one snapshot. Refuses a banned, deleted or unknown player. */
export async function readPlayer(pool: Pool, { environmentId, playerId }: PlayerRef): Promise<PlayerView> {
  const { rows } = await pool.query<PlayerRow>({
    name: 'player-view',
    text: `SELECT p.status, p.nickname, p.avatar_url, p.region, p.language, p.created_at,
        (SELECT coalesce(json_agg(json_build_array(w.currency, w.balance::text) ORDER BY w.currency COLLATE "C"), '[]')
         FROM wallets w WHERE w.environment_id = p.environment_id AND w.player_id = p.id) AS wallet,
        (SELECT coalesce(json_agg(json_build_array(i.item_id, i.amount::text) ORDER BY i.item_id COLLATE "C"), '[]')
         FROM inventory i WHERE i.environment_id = p.environment_id AND i.player_id = p.id) AS inventory,
        (SELECT coalesce(json_agg(json_build_array(d.provider, d.subject)
           ORDER BY d.provider COLLATE "C", d.subject COLLATE "C"), '[]')
         FROM identities d WHERE d.environment_id = p.environment_id AND d.player_id = p.id) AS identities
      FROM players p WHERE p.environment_id = $1 AND p.id = $2`,
    values: [environmentId, playerId],
  })
  const [row] = rows
  if (!row) throw new Refusal('invalidToken')
  if (row.status !== 'active') throw new Refusal(row.status === 'banned' ? 'playerBanned' : 'playerDeleted')
  return {
    playerId,
    nickname: row.nickname,
    avatarUrl: row.avatar_url,
    region: row.region,
    language: row.language,
    createdAt: row.created_at.toISOString(),
    wallet: row.wallet.map(([currency, balance]) => ({ currency, balance: BigInt(balance) })),
    inventory: row.inventory.map(([itemId, amount]) => ({ itemId, amount: BigInt(amount) })),
    identities: row.identities.map(([provider, subject]) => ({ provider, subject })),
  }
}
