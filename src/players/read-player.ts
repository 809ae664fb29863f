import type { Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import { IDENTITY_PROVIDER } from '../declare/common.ts'
import { type PlayerRef, refuseStanding, STANDING, type Standing } from './player-status.ts'

/** Members of every answer about a player. */
export const profile = {
  nickname: out.orNull(out.text("The player's name.")),
  avatarUrl: out.orNull(out.text("The URL of the player's picture, from the webhook.")),
  region: out.orNull(out.text('The region that the client gave at the first login, such as `eu-west`.')),
  language: out.orNull(out.text('The language that the client gave at the first login, such as `pt-BR`.')),
  createdAt: out.time('The time of its creation, in UTC.'),
}

export const identity = answer('An identity.', {
  provider: out.text(IDENTITY_PROVIDER),
  subject: out.text("The provider's own id of the player. Of a device, a hash of its id."),
})

export const balance = answer('A balance.', {
  currency: out.text('The currency, as the scenario and its prices name it.'),
  balance: out.int64('The balance, in whole units.', { minimum: 0 }),
})

export const heldItem = answer('A held item.', {
  itemId: out.text("The item's id in scenarios."),
  amount: out.int64('The number of units.', { minimum: 0 }),
})

/** A player as it sees itself. Lists are sorted by name. */
export const playerAnswer = answer(
  'A player with everything that it owns.',
  {
    playerId: out.text('Id of the player.'),
    ...profile,
    wallet: out.list(balance, 'By currency.'),
    inventory: out.list(heldItem, 'By item.'),
    identities: out.list(identity, 'By provider and subject.'),
  },
  {
    name: 'Player',
    example: {
      playerId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21',
      nickname: 'Ada',
      avatarUrl: null,
      region: 'eu-west',
      language: 'en',
      createdAt: '2026-11-20T09:30:00.000Z',
      wallet: [{ currency: 'gold', balance: 100 }],
      inventory: [{ itemId: 'hat', amount: 1 }],
      identities: [{ provider: 'custom', subject: 'player-1' }],
    },
  },
)
export type PlayerView = AnswerOf<typeof playerAnswer>

/** The row of a player, with its identities sorted by name. */
export interface ProfileRow extends Standing {
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
    text: `SELECT ${STANDING}, p.nickname, p.avatar_url, p.region, p.language, p.created_at,
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
  refuseStanding(row)
  if (!row) throw new Refusal('invalidToken')
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
