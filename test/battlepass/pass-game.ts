import { expect } from 'vitest'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { type Mutation, support } from '../support/desk.ts'

// A game with one season, and a player's calls on its pass. Each file starts it once, by `beforeAll(startPassGame)`.

export const MAX_INT64 = 2n ** 63n - 1n
export const PROGRESS = '/sdk/v1/battlepass/progress'
export const XP = '/sdk/v1/battlepass/xp'
export const CLAIM = '/sdk/v1/battlepass/claim'
export const PREMIUM = '/sdk/v1/battlepass/premium'

export const PAST = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z' }
export const FUTURE = { startsAt: '2099-01-01T00:00:00Z', endsAt: '2099-02-01T00:00:00Z' }
export const CLAIMS_ONLY = { ...PAST, claimUntil: '2099-02-01T00:00:00Z' }

export let game: Game

export async function startPassGame(): Promise<void> {
  game = await startGame()
  await game.publish('season', season())
}

export async function stopPassGame(): Promise<void> {
  await auditBooks(game.app.pool)
  await game.stop()
}

/** An action of support, which must succeed. */
export async function supported(mutation: Mutation, input: object): Promise<void> {
  expect(await support(game, game.platformKey, mutation, { reason: 'test', ...input })).toHaveProperty('ok')
}

/** A player in a run, with the four calls bound to a pass. */
export async function enter(
  scenarioId: string,
  { wallet, nodeId = 'pass' }: { wallet?: Wallet; nodeId?: string } = {},
) {
  const player = await game.player({ wallet })
  return at(player, scenarioId, await player.start(scenarioId), nodeId)
}
type Wallet = Record<string, bigint>

export function at(player: TestPlayer, scenarioId: string, runId: string, nodeId = 'pass') {
  const place = { scenarioId, nodeId }
  return {
    player,
    runId,
    place,
    on: (otherNodeId: string) => at(player, scenarioId, runId, otherNodeId),
    progress: async () => (await player.post(PROGRESS, place)).body,
    xp: (amount: number | bigint, headers = {}, source = 'test') =>
      player.post(XP, { ...place, runId, amount, source }, headers),
    claim: (level: number | null, track: string, headers = {}) =>
      player.post(CLAIM, { ...place, runId, level, track }, headers),
    premium: (idempotencyKey?: string) => player.post(PREMIUM, { ...place, runId, idempotencyKey }),
    crossings: () => crossings(player),
    holdings: () => holdings(player),
    ledger: () => ledger(player),
  }
}

async function crossings({ playerId }: TestPlayer) {
  await settled(game.app.pool)
  const { rows } = await game.app.pool.query(
    `SELECT node_id, handle, data FROM events WHERE player_id = $1 AND type = 'crossing' AND handle <> 'onStart' ORDER BY position`,
    [playerId],
  )
  return rows.map(({ node_id, handle, data }) => ({ nodeId: node_id, handle, data: JSON.parse(data) }))
}

export async function handles(player: TestPlayer): Promise<string[]> {
  return (await crossings(player)).map(({ nodeId, handle }) => `${nodeId} ${handle}`)
}

async function holdings({ playerId }: TestPlayer) {
  const wallet = await game.app.pool.query(
    'SELECT currency, balance::text FROM wallets WHERE player_id = $1 ORDER BY currency',
    [playerId],
  )
  const inventory = await game.app.pool.query(
    'SELECT item_id, amount::text FROM inventory WHERE player_id = $1 ORDER BY item_id',
    [playerId],
  )
  return {
    wallet: Object.fromEntries(wallet.rows.map(({ currency, balance }) => [currency, balance])),
    items: Object.fromEntries(inventory.rows.map(({ item_id, amount }) => [item_id, amount])),
  }
}

async function ledger({ playerId }: TestPlayer) {
  const { rows } = await game.app.pool.query(
    `SELECT currency, amount::text, balance::text, reason, reference FROM wallet_ledger
     WHERE player_id = $1 AND reason <> 'adjustment' ORDER BY id`,
    [playerId],
  )
  return rows
}

/** All rows of a player, to show that a call wrote nothing. */
export async function everything({ playerId }: TestPlayer) {
  const tables = [
    'runs',
    'passes',
    'tier_claims',
    'xp_ledger',
    'wallets',
    'wallet_ledger',
    'inventory',
    'idempotency_keys',
    'events',
  ]
  await settled(game.app.pool)
  const rows = tables.map(async (table) => {
    const result = await game.app.pool.query(`SELECT * FROM ${table} WHERE player_id = $1 ORDER BY 1, 2, 3`, [playerId])
    return [table, result.rows]
  })
  return Object.fromEntries(await Promise.all(rows))
}

export const claimRefused = (error: string) => ({ success: false, alreadyClaimed: false, error, granted: [] })
export const premiumRefused = (error: string) => ({ success: false, error, plan: null })
