import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { auditBooks } from '../harness/audit.ts'
import { season } from '../harness/definitions.ts'
import {
  type Game,
  generateKeys,
  type Instance,
  startGame,
  startInstance,
  type TestPlayer,
  times,
} from '../harness/game.ts'

// Xp that game servers give: /server/v1/battlepass/xp.

const NOBODY = '01900000-0000-7000-8000-000000000000'
const NOTHING = { level: null, xp: null, leveledUp: null, maxLevel: null, plan: null }
const PASS = { scenarioId: 'season', nodeId: 'pass' }

let game: Game
let other: Instance
let key: string

beforeAll(async () => {
  const keys = await generateKeys()
  game = await startGame(keys)
  other = await startInstance(game.databaseUrl, keys)
  key = (await createServerKey(game.app.pool, game.environmentId)).key
  await game.publish('season', season())
  await game.publish(
    'ruled',
    season({ more: { xp: { others: false, sources: { match: { from: 'server', perDay: 250 } } } } }),
  )
})
afterAll(async () => {
  await other.stop()
  await auditBooks(game.app.pool)
  await game.stop()
})

let calls = 0
const newKey = () => `call-${++calls}`

const grantOf = (player: Json, more: object = {}) => ({ player, ...PASS, amount: 100, source: 'match', ...more })

async function give(grants: readonly object[], idempotencyKey: Json = newKey(), baseUrl = game.baseUrl) {
  const answer = await fetch(`${baseUrl}/server/v1/battlepass/xp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: print({ grants, idempotencyKey } as never),
  })
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  return { status: answer.status, body: (await answer.json()) as any }
}

const by = ({ playerId }: TestPlayer): Json => ({ playerId })
const xpOf = async ({ playerId }: TestPlayer): Promise<unknown> =>
  (await game.app.pool.query('SELECT xp FROM passes WHERE player_id = $1', [playerId])).rows[0]?.xp
const ledgerOf = async ({ playerId }: TestPlayer) =>
  (
    await game.app.pool.query(
      'SELECT amount, origin, reference, limited_by FROM xp_ledger WHERE player_id = $1 ORDER BY id',
      [playerId],
    )
  ).rows

describe('xp that a game server gives', () => {
  it('reaches players by id and identity, in their active runs, with a result for each in order', async () => {
    const [one, two] = [await game.player(), await game.player()]
    const runId = await one.start('season')
    await game.app.pool.query(
      `INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, 'custom', 'two', $2)`,
      [game.environmentId, two.playerId],
    )
    const { status, body } = await give([
      grantOf({ provider: 'custom', subject: 'two' }, { reference: 'match-1' }),
      grantOf(by(one), { amount: 450 }),
      grantOf(by(one), { runId, amount: 1 }),
    ])
    expect(status).toBe(200)
    expect(body.results).toMatchObject([
      { playerId: two.playerId, level: 2, xp: 100, leveledUp: true, maxLevel: false, error: null },
      { playerId: one.playerId, level: 5, xp: 450, leveledUp: true, maxLevel: true, error: null },
      { playerId: one.playerId, level: 5, xp: 451, leveledUp: false, maxLevel: true, plan: null, error: null },
    ])
    expect(body.results[1].plan).toMatchObject({
      runId,
      crossed: [
        { nodeId: 'pass', handle: 'onLevelUp' },
        { nodeId: 'pass', handle: 'onMaxLevel' },
      ],
    })
    expect(await ledgerOf(two)).toEqual([{ amount: '100', origin: 'server', reference: 'match-1', limited_by: null }])
  })

  it('starts a run for a player without one, unless `start` is false, and never with `runId`', async () => {
    const player = await game.player()
    const missing = { playerId: player.playerId, ...NOTHING, error: 'run not found' }
    expect((await give([grantOf(by(player), { start: false })])).body.results).toEqual([missing])
    expect((await give([grantOf(by(player), { runId: NOBODY })])).body.results).toEqual([missing])
    const { body } = await give([grantOf(by(player)), grantOf(by(player))])
    expect(body.results.map(({ xp }: { xp: number }) => xp)).toEqual([100, 200])
    const { rows } = await game.app.pool.query('SELECT status FROM runs WHERE player_id = $1', [player.playerId])
    expect(rows).toEqual([{ status: 'active' }])
  })

  it('has an error for each grant that the game refuses, and makes all others', async () => {
    const [fine, banned] = [await game.player(), await game.player()]
    await game.graphql(
      game.platformKey,
      `mutation { banPlayer(input: { playerId: "${banned.playerId}", reason: "test" }) { player { id } } }`,
    )
    const { status, body } = await give([
      grantOf({ playerId: NOBODY }),
      grantOf(by(banned)),
      grantOf(by(fine), { scenarioId: 'nowhere' }),
      grantOf(by(fine), { nodeId: 'nothing' }),
      grantOf(by(fine), { amount: 2n ** 63n - 1n, source: 'all' }),
      grantOf(by(fine)),
      grantOf(by(fine), { scenarioId: 'ruled', source: 'cheat' }),
      grantOf(by(fine), { scenarioId: 'ruled' }),
    ])
    expect(status).toBe(200)
    expect(body.results.map(({ error }: { error: unknown }) => error)).toEqual([
      'player not found',
      'player banned',
      'scenario not found',
      'node not found',
      null,
      'xp limit exceeded',
      'xp not allowed',
      null,
    ])
    expect(body.results[0]).toEqual({ playerId: null, ...NOTHING, error: 'player not found' })
    expect(body.results[1]).toEqual({ playerId: banned.playerId, ...NOTHING, error: 'player banned' })
    expect(body.results[6].details).toEqual([
      { path: 'source', message: 'is no source of this pass; servers may send `match`' },
    ])
  })

  it('names every fault of a request at once, with its place, and gives nothing', async () => {
    const player = await game.player()
    const { status, body } = await give(
      [
        grantOf(by(player)),
        grantOf({ subject: 'x' }, { amount: 0 }),
        { ...grantOf({}), source: '', runId: 7, start: 'no', reference: 'x'.repeat(129) },
      ],
      null,
    )
    expect(status).toBe(400)
    expect(body.details.map(({ path }: { path: string }) => path).sort()).toEqual([
      'grants[1].amount',
      'grants[1].player.provider',
      'grants[2].player',
      'grants[2].reference',
      'grants[2].runId',
      'grants[2].source',
      'grants[2].start',
      'idempotencyKey',
    ])
    expect(await xpOf(player)).toBeUndefined()
    for (const count of [0, 201]) {
      const answer = await give(times(count, () => grantOf(by(player))))
      expect([answer.status, answer.body.details[0].path]).toEqual([400, 'grants'])
    }
  })
})

describe('a call that is repeated with its key', () => {
  it('refuses members that it does not know, at any depth, and gives nothing', async () => {
    const player = await game.player()
    const response = await fetch(`${game.baseUrl}/server/v1/battlepass/xp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: print({ grants: [grantOf(by(player), { sorce: 'x' })], atomic: true, idempotencyKey: newKey() } as never),
    })
    expect(response.status).toBe(400)
    const { details } = (await response.json()) as { details: readonly { path: string }[] }
    expect(details.map(({ path }) => path).sort()).toEqual(['atomic', 'grants[0].sorce'])
    expect(await xpOf(player)).toBeUndefined()
  })

  it('answers the same and makes only the grants that are missing', async () => {
    const players = [await game.player(), await game.player(), await game.player()]
    const grants = players.map((player) => grantOf(by(player)))
    const key = newKey()
    // As after a death in the middle: the first grant of the call was made, and no answer arrived.
    const first = await give(grants.slice(0, 1), key)
    const [second, third] = [await give(grants, key), await give(grants, key, other.baseUrl)]
    expect(second.body.results[0]).toEqual(first.body.results[0])
    expect(third.body).toEqual(second.body)
    expect(await Promise.all(players.map(xpOf))).toEqual(['100', '100', '100'])
  })

  it('takes effect once when twenty copies race on two instances, also with new runs', async () => {
    const players = await Promise.all(times(10, () => game.player()))
    const grants = [...players, ...players].map((player) => grantOf(by(player)))
    const key = newKey()
    const answers = await Promise.all(times(20, (n) => give(grants, key, n % 2 ? game.baseUrl : other.baseUrl)))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(await Promise.all(players.map(xpOf))).toEqual(players.map(() => '200'))
    for (const player of players) expect(await ledgerOf(player)).toHaveLength(2)
  })

  it('has an error for a grant that is another one than before', async () => {
    const player = await game.player()
    const key = newKey()
    await give([grantOf(by(player))], key)
    const { body } = await give([grantOf(by(player), { amount: 5 }), grantOf(by(player))], key)
    expect(body.results.map(({ error, xp }: { error: unknown; xp: unknown }) => [error, xp])).toEqual([
      ['idempotency key reused', null],
      [null, 200],
    ])
  })
})

describe('the key of a call', () => {
  const amounts = (...sent: readonly (readonly [TestPlayer, number])[]) =>
    sent.map(([player, amount]) => grantOf(by(player), { amount, reference: 'match-1' }))

  it.each([
    ['in another order', [2, 0, 1]],
    ['in part', [2, 1]],
    ['backwards', [2, 1, 0]],
  ])('makes each grant once when they are sent again %s', async (_, order) => {
    const players = [await game.player(), await game.player(), await game.player()]
    const grants = amounts(...players.map((player, n): [TestPlayer, number] => [player, 10 * (n + 1)]))
    const key = newKey()
    const first = (await give(grants, key)).body.results
    const again = order.map((n) => grants[n] as object)
    expect((await give(again, key, other.baseUrl)).body.results).toEqual(order.map((n) => first[n]))
    expect(await Promise.all(players.map(xpOf))).toEqual(['10', '20', '30'])
  })

  it('makes each grant once when orders race on two instances', async () => {
    const players = await Promise.all(times(12, () => game.player()))
    const grants = players.flatMap((player) => times(3, (n) => grantOf(by(player), { amount: n + 1, source: 'loot' })))
    const key = newKey()
    const orders = times(12, (n) => [...grants.slice(n), ...grants.slice(0, n)])
    const answers = await Promise.all(
      orders.map((order, n) => give(n % 3 ? order : order.reverse(), key, n % 2 ? game.baseUrl : other.baseUrl)),
    )
    for (const { status, body } of answers)
      expect([status, body.results.filter(({ error }: { error: unknown }) => error)]).toEqual([200, []])
    expect(await Promise.all(players.map(xpOf))).toEqual(players.map(() => '6'))
  })

  it('refuses only the grant whose content differs', async () => {
    const [a, b] = [await game.player(), await game.player()]
    const key = newKey()
    await give(amounts([a, 10], [b, 20]), key)
    const { body } = await give(amounts([b, 20], [a, 11]), key)
    expect(body.results.map(({ error }: { error: unknown }) => error)).toEqual([null, 'idempotency key reused'])
    expect([await xpOf(a), await xpOf(b)]).toEqual(['10', '20'])
  })

  it('can be 255 characters long, with 200 grants', async () => {
    const players = await Promise.all(times(200, () => game.player()))
    const grants = players.map((player) => grantOf(by(player)))
    const key = 'k'.repeat(255)
    const [first, again] = [await give(grants, key), await give(grants.toReversed(), key)]
    expect([first.status, again.body.results]).toEqual([200, first.body.results.toReversed()])
    expect(new Set(await Promise.all(players.map(xpOf)))).toEqual(new Set(['100']))
  })

  describe('of a player who has the identity of another one by now', () => {
    const SUBJECT = { provider: 'custom', subject: 'anew' }
    const bind = ({ playerId }: TestPlayer, { subject } = SUBJECT) =>
      game.app.pool.query(
        `INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, 'custom', $2, $3)`,
        [game.environmentId, subject, playerId],
      )
    const free = ({ playerId }: TestPlayer) =>
      game.app.pool.query('DELETE FROM identities WHERE player_id = $1', [playerId])
    const call = async (path: string, input: object) => {
      const answer = await fetch(`${game.baseUrl}/server/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: JSON.stringify({ player: SUBJECT, ...input }),
      })
      return [answer.status, (await answer.json()).error]
    }

    it('gives nothing again, on each call of servers, and says why', async () => {
      const former = await game.player()
      await bind(former)
      const money = { currency: 'gold', amount: 5, idempotencyKey: newKey() }
      const match = newKey()
      expect(await call('wallet/grant', { ...money, allowNew: true })).toEqual([200, undefined])
      expect((await give([grantOf(SUBJECT)], match)).body.results).toMatchObject([{ error: null, xp: 100 }])
      await free(former)
      const anew = await game.player()
      await bind(anew)

      expect(await call('wallet/grant', { ...money, allowNew: true })).toEqual([422, 'idempotency key reused'])
      const { body } = await give([grantOf(SUBJECT), grantOf(SUBJECT, { reference: 'new' })], match)
      expect(body.results).toMatchObject([
        { playerId: anew.playerId, error: 'idempotency key reused' },
        { playerId: anew.playerId, error: null, xp: 100 },
      ])
      expect((await give([grantOf(SUBJECT)])).body.results).toMatchObject([{ error: null, xp: 200 }])
    })

    it('is used up for the former player, too, whose call is still on its way', async () => {
      const [former, anew] = [await game.player(), await game.player()]
      const target = { provider: 'custom', subject: 'late' }
      await bind(former, target)
      await free(former)
      await bind(anew, target)
      const match = newKey()
      expect((await give([grantOf(target)], match)).body.results).toMatchObject([{ error: null }])
      // As the call that found the former player by the identity before.
      expect((await give([grantOf(by(former))], match)).body.results).toMatchObject([
        { playerId: former.playerId, error: 'idempotency key reused' },
      ])
    })
  })
})

describe('the limits of a pass', () => {
  it('are exact for 200 grants for one player in one call, and for two calls at once', async () => {
    const player = await game.player()
    const grants = times(200, () => grantOf(by(player), { scenarioId: 'ruled', amount: 3 }))
    const answers = await Promise.all([give(grants), give(grants, newKey(), other.baseUrl)])
    for (const { body } of answers)
      for (const { error, xp } of body.results) expect([error, xp <= 250]).toEqual([null, true])
    expect(await xpOf(player)).toBe('250')
    const ledger = await ledgerOf(player)
    expect(ledger.reduce((sum, { amount }) => sum + Number(amount), 0)).toBe(250)
    expect(ledger).toHaveLength(400)
  })
})
