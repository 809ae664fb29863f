import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import { passNode, scenario, season } from '../harness/definitions.ts'
import {
  type Game,
  generateKeys,
  type Instance,
  startGame,
  startInstance,
  type TestPlayer,
  times,
} from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { XP } from './pass-game.ts'

// Xp by the rules of a pass, through the calls of clients. test/battlepass/xp-limits.test.ts has the rules themselves.

let game: Game
let other: Instance

beforeAll(async () => {
  const keys = await generateKeys()
  game = await startGame(keys)
  other = await startInstance(game.databaseUrl, keys)
})

afterAll(async () => {
  await other.stop()
  await auditBooks(game.app.pool)
  await game.stop()
})

let scenarios = 0

/** A player in a run of a new season with these rules. */
async function enter(xp: Json) {
  const scenarioId = `rules-${++scenarios}`
  await publish(scenarioId, xp)
  const player = await game.player()
  const runId = await player.start(scenarioId)
  const place = { scenarioId, nodeId: 'pass', runId }
  return {
    player,
    scenarioId,
    place,
    xp: (amount: number, source = 'match', more: Record<string, unknown> = {}) =>
      player.post(XP, { ...place, amount, source, ...more }),
  }
}

async function publish(scenarioId: string, xp: Json): Promise<void> {
  const { status } = await game.publish(scenarioId, season({ more: { xp } }))
  expect(status).toBe(200)
}

const rowsOf = async (text: string, { playerId }: TestPlayer) => (await game.app.pool.query(text, [playerId])).rows
const xpOf = async (player: TestPlayer) => (await rowsOf('SELECT xp FROM passes WHERE player_id = $1', player))[0]?.xp
const ledgerOf = (player: TestPlayer) =>
  rowsOf('SELECT amount, asked, limited_by, source, origin FROM xp_ledger WHERE player_id = $1 ORDER BY id', player)
const limitedOf = (player: TestPlayer) =>
  settled(game.app.pool).then(() =>
    rowsOf(
      `SELECT node_id, run_id, data::jsonb AS data FROM events WHERE player_id = $1 AND type = 'xp.limited'`,
      player,
    ),
  )

describe('xp of a source that servers give', () => {
  it('is refused to clients with 403 and the reason, and changes nothing', async () => {
    const { player, xp } = await enter({ sources: { match: { from: 'server' } } })
    const { status, body } = await xp(10)
    expect([status, body.error, body.code, body.details]).toEqual([
      403,
      'xp not allowed',
      'xp_not_allowed',
      [{ path: 'source', message: 'is a source whose xp only servers of the game give' }],
    ])
    expect(await xpOf(player)).toBeUndefined()
    expect((await xp(10, 'quest')).body.xp).toBe(10)
  })

  it.each([
    ['cheat', { others: false, sources: { match: {} } }, 'is no source of this pass; clients may send `match`'],
    ['', { others: false, sources: { match: {} } }, 'is required by this pass; clients may send `match`'],
    ['cheat', { from: 'server' }, 'is a source that only servers of the game may send'],
    [
      'cheat',
      {
        others: false,
        sources: { won: { from: 'server' }, ...Object.fromEntries(times(12, (n) => [`quest-${n}`, {}])) },
      },
      `is no source of this pass; clients may send ${times(10, (n) => `\`quest-${n}\``).join(', ')} and 2 more`,
    ],
  ])('of the source "%s" is refused by %j with what the pass takes', async (source, rules, message) => {
    const { xp } = await enter(rules)
    const { status, body } = await xp(10, source)
    expect([status, body.details]).toEqual([403, [{ path: 'source', message }]])
  })
})

describe('xp over a limit', () => {
  it('is clipped with an answer of the usual shape; 0 is a success that changes nothing but the ledger', async () => {
    const { player, place, xp } = await enter({ sources: { match: { perSeason: 150 } } })
    const answers = [await xp(100), await xp(100), await xp(100)]
    expect(answers.map(({ status, body: { plan: _, ...body } }) => [status, body])).toEqual([
      [200, { level: 2, xp: 100, leveledUp: true, maxLevel: false }],
      [200, { level: 2, xp: 150, leveledUp: false, maxLevel: false }],
      [200, { level: 2, xp: 150, leveledUp: false, maxLevel: false }],
    ])
    expect(answers[2]?.body.plan).toBeNull()
    const row = { source: 'match', origin: null }
    expect(await ledgerOf(player)).toEqual([
      { ...row, amount: '100', asked: null, limited_by: null },
      { ...row, amount: '50', asked: '100', limited_by: 'source.perSeason' },
      { ...row, amount: '0', asked: '100', limited_by: 'source.perSeason' },
    ])
    expect(await limitedOf(player)).toEqual([
      {
        node_id: 'pass',
        run_id: place.runId,
        data: {
          source: 'match',
          limitedBy: 'source.perSeason',
          limit: 150,
          asked: 100,
          granted: 50,
          day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
        },
      },
    ])
  })

  it('is refused with 409 and the limit, told of once, and tried again with its key after an edit', async () => {
    const { player, scenarioId, xp } = await enter({ over: 'refuse', sources: { match: { max: 50 } } })
    for (const idempotencyKey of ['one', 'two', 'one']) {
      const { status, body } = await xp(60, 'match', { idempotencyKey })
      expect([status, body.error, body.details]).toEqual([
        409,
        'xp limit reached',
        [{ path: 'amount', message: 'is over the limit of 50 xp of the source `match` in a call' }],
      ])
    }
    expect([await xpOf(player), await ledgerOf(player)]).toEqual(['0', []])
    expect(await limitedOf(player)).toMatchObject([{ data: { asked: 60, granted: 0, limitedBy: 'source.max' } }])
    await publish(scenarioId, { over: 'refuse', sources: { match: { max: 60 } } })
    expect((await xp(60, 'match', { idempotencyKey: 'one' })).body.xp).toBe(60)
    expect((await xp(60, 'match', { idempotencyKey: 'one' })).body.xp).toBe(60)
    expect(await xpOf(player)).toBe('60')
  })

  it('is exact when clients race on two instances', async () => {
    const { player, place } = await enter({ perDay: 205, sources: { match: { perDay: 155 } } })
    const send = async (baseUrl: string, source: string) => {
      const headers = { authorization: `Bearer ${player.token}` }
      const body = JSON.stringify({ ...place, amount: 10, source })
      const answer = await fetch(`${baseUrl}${XP}`, { method: 'POST', headers, body })
      expect(answer.status).toBe(200)
    }
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => send(n % 2 ? game.baseUrl : other.baseUrl, n % 3 === 0 ? 'quest' : 'match')),
    )
    const ledger = await ledgerOf(player)
    const sum = (of: (row: { source: string }) => boolean) =>
      ledger.filter(of).reduce((total, row) => total + Number(row.amount), 0)
    expect([ledger.length, await xpOf(player), sum(() => true)]).toEqual([60, '205', 205])
    expect(sum(({ source }) => source === 'match')).toBeLessThanOrEqual(155)
    const told = (await limitedOf(player)).map(({ data }) => data.source)
    expect(told.sort()).toEqual([...new Set(told)].sort())
  })

  it('begins again after a reset of the pass by support, and does not bind operators', async () => {
    const { player, scenarioId, xp } = await enter({ perSeason: 50 })
    await xp(60)
    const at = { playerId: player.playerId, scenarioId, nodeId: 'pass', reason: 'test' }
    const grant = await game.graphql(
      game.platformKey,
      'mutation ($input: GrantXpInput!) { grantXp(input: $input) { error result { xp } } }',
      { input: { ...at, amount: 500, source: 'sorry', idempotencyKey: 'g' } },
    )
    expect(grant.data.grantXp).toEqual({ error: null, result: { xp: '550' } })
    await game.graphql(
      game.platformKey,
      'mutation ($input: ResetPassInput!) { resetPass(input: $input) { changed } }',
      {
        input: at,
      },
    )
    expect((await xp(60)).body.xp).toBe(50)
    expect((await ledgerOf(player)).map(({ amount, origin }) => [amount, origin])).toEqual([
      ['50', null],
      ['500', 'operator'],
      ['-550', 'operator'],
      ['50', null],
    ])
  })
})

describe('a handle that servers cross', () => {
  it('is refused to clients, also when it is onComplete', async () => {
    const node: Json = { id: 'boss', type: 'fight', handles: { onComplete: { from: 'server' } } }
    const nodes = [node, passNode('pass')]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'boss' },
      { from: 'boss', handle: 'onFlee', to: 'pass' },
    ]
    await game.publish('boss', scenario(nodes, edges))
    const player = await game.player()
    const runId = await player.start('boss')
    const cross = (handle: string) =>
      player.post('/sdk/v1/scenarios/cross', { scenarioId: 'boss', runId, nodeId: 'boss', handle })
    expect((await cross('onComplete')).body.error).toBe('handle is server-owned')
    expect((await cross('onFlee')).status).toBe(200)
  })
})
