import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { item } from '../harness/definitions.ts'
import { type TestPlayer, times } from '../harness/game.ts'
import { codeOf, payload } from './desk.ts'
import {
  act,
  balances,
  bonus,
  CLAIM,
  closeDesk,
  everything,
  game,
  key,
  MAX_INT64,
  openDesk,
  PREMIUM,
  pass,
  rowsOf,
  seasoned,
} from './support-desk.ts'

beforeAll(openDesk)
afterAll(closeDesk)

describe('creditWallet and debitWallet', () => {
  const credit = (player: TestPlayer, amount: bigint | number, currency = 'gems') =>
    act('creditWallet', player, { currency, amount, idempotencyKey: key() })
  const debit = (player: TestPlayer, amount: bigint | number, currency = 'gems') =>
    act('debitWallet', player, { currency, amount, idempotencyKey: key() })

  it('appear at once in the wallet of the player, and in its ledger without the reason', async () => {
    const player = await game.player()
    payload(
      await act('creditWallet', player, {
        currency: 'gems',
        amount: 7,
        reason: 'a-secret-matter',
        idempotencyKey: key(),
      }),
    )
    payload(await debit(player, 3))
    expect((await player.post('/sdk/v1/player/get', {})).body.wallet).toEqual([{ currency: 'gems', balance: 4 }])
    const { data } = await player.graphql(
      '{ me { wallet { currency balance } walletLedger { edges { node { amount balance cause reference } } } } }',
    )
    const entry = { cause: 'ADJUSTMENT', reference: expect.stringMatching(/^support\/[0-9a-f-]{36}$/) }
    expect(data.me).toEqual({
      wallet: [{ currency: 'gems', balance: '4' }],
      walletLedger: {
        edges: [{ node: { amount: '-3', balance: '4', ...entry } }, { node: { amount: '7', balance: '7', ...entry } }],
      },
    })
    expect(JSON.stringify(data)).not.toContain('a-secret-matter')
  })

  it('are exact over the int64 range, and refuse amounts above the limit or the balance', async () => {
    const player = await game.player()
    expect(payload(await credit(player, MAX_INT64)).balance).toBe(String(MAX_INT64))
    expect(codeOf(await credit(player, 1))).toBe('BALANCE_LIMIT_EXCEEDED')
    expect(await balances(player)).toEqual({ gems: String(MAX_INT64) })
    expect(payload(await debit(player, MAX_INT64)).balance).toBe('0')
    expect(codeOf(await debit(player, 1))).toBe('INSUFFICIENT_FUNDS')
    expect(codeOf(await debit(player, 1, 'never had'))).toBe('INSUFFICIENT_FUNDS')
    expect(await balances(player)).toEqual({ gems: '0' })
    expect(await rowsOf(player)).toHaveLength(2)
  })

  it('let a refused debit be retried with the same key once there are funds', async () => {
    const player = await game.player()
    const request = { currency: 'gems', amount: 5, idempotencyKey: key() }
    expect(codeOf(await act('debitWallet', player, request))).toBe('INSUFFICIENT_FUNDS')
    payload(await credit(player, 5))
    expect(payload(await act('debitWallet', player, request)).balance).toBe('0')
  })

  it('count separately under the same idempotency key', async () => {
    const player = await game.player()
    const request = { currency: 'gems', amount: 5, idempotencyKey: key() }
    expect(payload(await act('creditWallet', player, request)).balance).toBe('5')
    expect(payload(await act('debitWallet', player, request)).balance).toBe('0')
    expect(payload(await act('creditWallet', player, request)).balance).toBe('5')
    expect(await balances(player)).toEqual({ gems: '0' })
  })

  it('accept any name of a currency', async () => {
    const player = await game.player()
    for (const currency of ['NULL', '{a,"b"}', "o'gold\\", '💎'.repeat(64), ' '])
      expect(payload(await credit(player, 2, currency)).balance).toBe('2')
    expect(Object.keys(await balances(player))).toHaveLength(5)
  })

  it('count each change once when they race claims and purchases on one wallet', async () => {
    const player = await seasoned()
    const { runId } = player
    const moves = [
      ...times(25, () => credit(player, 100)),
      ...times(40, () => debit(player, 40)),
      ...times(10, () => debit(player, 5, 'gold')),
    ]
    const claims = times(25, (index) => player.post(CLAIM, { ...pass, runId, level: 3 + (index % 3), track: 'free' }))
    const purchases = times(25, () => player.post(PREMIUM, { ...bonus, runId }))
    const codes = (await Promise.all(moves)).map(codeOf)
    const bought = (await Promise.all(purchases)).filter(({ body }) => body.success).length
    // The third tier is the only one that is reached and not claimed.
    expect((await Promise.all(claims)).filter(({ body }) => body.success && !body.alreadyClaimed)).toHaveLength(1)
    expect(bought).toBeLessThanOrEqual(1)
    const rows = await rowsOf(player)
    expect(rows).toHaveLength(codes.filter((code) => code === 'ok').length)
    expect(codes.filter((code) => code !== 'ok' && code !== 'INSUFFICIENT_FUNDS')).toEqual([])
    const moved = (currency: string) =>
      rows.reduce(
        (sum, { before, after }) => sum + (after.currency === currency ? after.balance - before.balance : 0),
        0,
      )
    expect(await balances(player)).toEqual({
      gems: String(50 + moved('gems') - 950 * bought),
      gold: String(35 + 30 + moved('gold')),
    })
  })
})

describe('setPlayerStorage and deletePlayerStorage', () => {
  const read = async (player: TestPlayer) => (await player.post('/sdk/v1/storage/get', {})).text

  it('write values that the player reads byte for byte, and leave other keys alone', async () => {
    const player = await seasoned()
    payload(await act('setPlayerStorage', player, { values: '{"big":18446744073709551616,"exact":1.0}' }))
    expect(await read(player)).toBe('{"values":{"big":18446744073709551616,"color":"red","exact":1.0}}')
    payload(await act('deletePlayerStorage', player, { keys: ['big', 'nothing'] }))
    expect(await read(player)).toBe('{"values":{"color":"red","exact":1.0}}')
    const { data } = await player.graphql('{ me { storage { key value } } }')
    expect(data.me.storage).toEqual([
      { key: 'color', value: '"red"' },
      { key: 'exact', value: '1.0' },
    ])
  })

  it('refuse to exceed the limits of contract 8, and then write nothing', async () => {
    const player = await seasoned()
    const state = await everything(player)
    const tooMany = print(Object.fromEntries(times(1000, (index) => [`key ${index}`, 1])))
    for (const values of [tooMany, print({ a: 1, ['k'.repeat(129)]: 1 }), print({ a: 1, b: 'x'.repeat(65_535) })]) {
      const outcome = await act('setPlayerStorage', player, { values })
      expect([codeOf(outcome), outcome]).toEqual([
        'STORAGE_LIMIT_EXCEEDED',
        expect.objectContaining({ details: [expect.anything()] }),
      ])
    }
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toEqual([])
  })

  it('have no value in the audit log', async () => {
    const player = await seasoned()
    payload(await act('setPlayerStorage', player, { values: '{"note":"zz-private"}' }))
    payload(await act('deletePlayerStorage', player, { keys: ['note'] }))
    expect(JSON.stringify(await rowsOf(player))).not.toContain('zz-private')
  })

  it('never exceed 1000 keys when they race writes of the player', async () => {
    const player = await game.player()
    const values = (from: number, size: number) => Object.fromEntries(times(size, (index) => [`k${from + index}`, 1]))
    await player.post('/sdk/v1/storage/set', { values: values(0, 990) })
    const outcomes = await Promise.all(
      times(20, (index) =>
        index % 2 === 0
          ? act('setPlayerStorage', player, { values: print(values(1000 + 10 * index, 10)) }).then(codeOf)
          : player
              .post('/sdk/v1/storage/set', { values: values(1000 + 10 * index, 10) })
              .then(({ status }) => (status === 204 ? 'ok' : 'STORAGE_LIMIT_EXCEEDED')),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    const { rows } = await game.app.pool.query('SELECT count(*) FROM player_storage WHERE player_id = $1', [
      player.playerId,
    ])
    expect(rows).toEqual([{ count: '1000' }])
  })
})

describe('item rewards', () => {
  it('of a granted tier are in the inventory of the player', async () => {
    const player = await seasoned()
    payload(await act('grantTier', player, { ...pass, level: 5, track: 'premium', idempotencyKey: key() }))
    const { inventory } = (await player.post('/sdk/v1/player/get', {})).body
    expect(inventory).toEqual([item('skin-5')])
  })
})
