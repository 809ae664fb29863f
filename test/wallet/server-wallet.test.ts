import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { auditBooks } from '../harness/audit.ts'
import { passNode, scenario, season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'

// What game servers do to wallets and in runs: /server/v1/wallet and /server/v1/scenarios.

let game: Game
let key: string

beforeAll(async () => {
  game = await startGame()
  key = (await createServerKey(game.app.pool, game.environmentId)).key
  await game.publish('season', season())
  const { errors } = await game.graphql(
    game.platformKey,
    'mutation { setCreditLimit(input: { environment: "production", currency: "gold", limit: "500", reason: "test" }) { currency { name } } }',
  )
  expect(errors).toBeUndefined()
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const send = async (path: string, body: Json) => {
  const answer = await game.request('POST', `/server/v1/${path}`, {
    body: print(body),
    headers: { authorization: `Bearer ${key}` },
  })
  return { status: answer.status, ...answer.body }
}

const by = ({ playerId }: TestPlayer) => ({ player: { playerId }, currency: 'gold', amount: 40 })
const ledgerOf = async ({ playerId }: TestPlayer) =>
  (
    await game.app.pool.query(
      'SELECT currency, amount, balance, reason, reference FROM wallet_ledger WHERE player_id = $1 ORDER BY id',
      [playerId],
    )
  ).rows

describe('a wallet that a game server changes', () => {
  it('grows by a grant and shrinks by what is spent, once for each key, with the reference in the ledger', async () => {
    const player = await game.player()
    const grant = { ...by(player), reference: 'cup-1', idempotencyKey: 'a' }
    const answers = await Promise.all(times(10, () => send('wallet/grant', grant)))
    for (const answer of answers)
      expect(answer).toEqual({ status: 200, playerId: player.playerId, currency: 'gold', balance: 40 })
    const spend = { ...by(player), amount: 15, idempotencyKey: 'a' }
    for (const answer of await Promise.all(times(10, () => send('wallet/spend', spend))))
      expect(answer).toEqual({ status: 200, playerId: player.playerId, currency: 'gold', balance: 25 })
    expect(await ledgerOf(player)).toEqual([
      { currency: 'gold', amount: '40', balance: '40', reason: 'server_grant', reference: 'cup-1' },
      { currency: 'gold', amount: '-15', balance: '25', reason: 'server_spend', reference: '' },
    ])
  })

  it.each<[string, string, Json, number, string]>([
    ['more than the credit limit', 'grant', { amount: 501 }, 409, 'credit limit exceeded'],
    ['an unknown currency', 'grant', { currency: 'golf' }, 409, 'unknown currency'],
    ['more than the balance', 'spend', { amount: 1 }, 409, 'insufficient funds'],
    [
      'a player that does not exist',
      'grant',
      { player: { provider: 'custom', subject: 'no' } },
      404,
      'player not found',
    ],
    ['an amount of 0', 'spend', { amount: 0 }, 400, 'invalid request'],
    ['no key', 'grant', { idempotencyKey: null }, 400, 'invalid request'],
  ])('refuses %s', async (_what, call, more, status, error) => {
    const player = await game.player()
    const answer = await send(`wallet/${call}`, { ...by(player), idempotencyKey: 'b', ...(more as object) })
    expect([answer.status, answer.error]).toEqual([status, error])
    if (error === 'insufficient funds')
      expect(answer.details).toEqual([{ path: '', message: 'The balance of "gold" is 0.' }])
    expect(await ledgerOf(player)).toEqual([])
  })

  it('grants an unknown currency with `allowNew`', async () => {
    const player = await game.player()
    const grant = { ...by(player), currency: 'pearls', allowNew: true, idempotencyKey: 'n' }
    expect(await send('wallet/grant', grant)).toMatchObject({ status: 200, balance: 40 })
    expect(await send('wallet/spend', { ...by(player), currency: 'pearls', idempotencyKey: 'n' })).toMatchObject({
      status: 200,
      balance: 0,
    })
  })

  it('refuses a key that was used for another amount', async () => {
    const player = await game.player()
    await send('wallet/grant', { ...by(player), idempotencyKey: 'c' })
    const answer = await send('wallet/grant', { ...by(player), amount: 41, idempotencyKey: 'c' })
    expect([answer.status, answer.error]).toEqual([422, 'idempotency key reused'])
  })
})

describe('a handle that a game server crosses', () => {
  it('may be one that only servers cross, once for each key, in the active run; a reward behind it pays each time', async () => {
    const nodes: Json[] = [
      { id: 'boss', type: 'fight', handles: { onWin: { from: 'server' } } },
      { id: 'gift', type: 'reward', data: { rewards: [{ currency: 'gold', amount: 5 }] } },
      passNode('pass'),
    ]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'boss' },
      { from: 'boss', handle: 'onWin', to: 'gift' },
      { from: 'boss', handle: 'onWin', to: 'boss' },
    ]
    expect((await game.publish('fights', scenario(nodes, edges))).status).toBe(200)
    const player = await game.player()
    const target = { player: { playerId: player.playerId }, scenarioId: 'fights', nodeId: 'boss', handle: 'onWin' }
    const none = await send('scenarios/cross', { ...target, idempotencyKey: 'x' })
    expect([none.status, none.error]).toEqual([404, 'run not found'])
    const runId = await player.start('fights')
    const own = { scenarioId: 'fights', runId, nodeId: 'boss', handle: 'onWin' }
    expect((await player.post('/sdk/v1/scenarios/cross', own)).body.error).toBe('handle is server-owned')
    for (const idempotencyKey of ['x', 'x', 'y']) {
      const { status, plan } = await send('scenarios/cross', { ...target, idempotencyKey })
      expect([status, plan.runId, plan.granted]).toEqual([200, runId, [{ amount: 5, currency: 'gold', itemId: null }]])
    }
    expect((await ledgerOf(player)).map(({ balance }) => balance)).toEqual(['5', '10'])
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query(
      `SELECT by_client FROM events WHERE player_id = $1 AND handle = 'onWin'`,
      [player.playerId],
    )
    expect(rows).toEqual([{ by_client: false }, { by_client: false }])
  })
})
