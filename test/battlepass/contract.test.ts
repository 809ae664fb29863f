import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { createPlatformKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { gold, passNode, scenario, season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import {
  at,
  CLAIM,
  CLAIMS_ONLY,
  enter,
  everything,
  FUTURE,
  game,
  handles,
  MAX_INT64,
  PAST,
  PREMIUM,
  PROGRESS,
  premiumRefused,
  startPassGame,
  stopPassGame,
  XP,
} from './pass-game.ts'

beforeAll(startPassGame)
afterAll(stopPassGame)

describe('progress (contract 4.1)', () => {
  it.each([
    ['0 when no level is reached by 0 xp', [10, 20], 0],
    ['1 when the first level needs 0 xp', [0, 20], 1],
  ])('before any xp has the level of the definition: %s', async (_, levels, level) => {
    await game.publish(`fresh-${level}`, season({ levels }))
    const player = await game.player()
    const answer = await player.post(PROGRESS, { scenarioId: `fresh-${level}`, nodeId: 'pass' })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ level, xp: 0, premiumOwned: false, claimedTiers: [] })
  })

  it('needs no run and starts none', async () => {
    const player = await game.player()
    await player.post(PROGRESS, { scenarioId: 'season', nodeId: 'pass' })
    expect((await everything(player)).runs).toEqual([])
  })

  it('lists the claimed tiers by level, the free track first', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    await pass.xp(400)
    await pass.premium()
    for (const [level, track] of [
      [3, 'premium'],
      [3, 'free'],
      [1, 'premium'],
      [2, 'free'],
    ] as const)
      await pass.claim(level, track)
    expect(await pass.progress()).toEqual({
      level: 5,
      xp: 400,
      premiumOwned: true,
      claimedTiers: [
        { level: 1, track: 'premium' },
        { level: 2, track: 'free' },
        { level: 3, track: 'free' },
        { level: 3, track: 'premium' },
      ],
    })
  })

  it('is available outside the season', async () => {
    await game.publish('over', season({ more: PAST }))
    const player = await game.player()
    expect((await player.post(PROGRESS, { scenarioId: 'over', nodeId: 'pass' })).body.level).toBe(1)
  })
})

describe('xp (contract 4.1)', () => {
  it('crosses onLevelUp when a level is gained, and answers with the plan', async () => {
    const pass = await enter('season')
    const { body } = await pass.xp(100, {}, 'quest')
    const plan = {
      runId: pass.runId,
      status: 'active',
      crossed: [{ nodeId: 'pass', handle: 'onLevelUp' }],
      entered: [],
      granted: [],
    }
    expect(body).toEqual({ level: 2, xp: 100, leveledUp: true, maxLevel: false, plan })
    expect(await pass.crossings()).toEqual([
      { nodeId: 'pass', handle: 'onLevelUp', data: { fromLevel: 1, toLevel: 2, xp: 100, source: 'quest' } },
    ])
  })

  it('crosses onLevelUp once for a jump over several levels (contract 6)', async () => {
    const pass = await enter('season')
    expect((await pass.xp(350)).body).toMatchObject({ level: 4, xp: 350, leveledUp: true, maxLevel: false })
    expect(await pass.crossings()).toEqual([
      { nodeId: 'pass', handle: 'onLevelUp', data: { fromLevel: 1, toLevel: 4, xp: 350, source: 'test' } },
    ])
  })

  it('crosses onMaxLevel once, when the top level is first reached (contract 6)', async () => {
    const pass = await enter('season')
    const first = await pass.xp(400)
    expect(first.body).toMatchObject({ level: 5, leveledUp: true, maxLevel: true })
    expect(first.body.plan.crossed).toEqual([
      { nodeId: 'pass', handle: 'onLevelUp' },
      { nodeId: 'pass', handle: 'onMaxLevel' },
    ])
    expect((await pass.xp(1)).body).toEqual({ level: 5, xp: 401, leveledUp: false, maxLevel: true, plan: null })
    expect(await handles(pass.player)).toEqual(['pass onLevelUp', 'pass onMaxLevel'])
  })

  it('writes each grant as one row of the ledger', async () => {
    const pass = await enter('season')
    await pass.xp(7, {}, 'quest')
    await pass.xp(8, {}, '')
    const { rows } = await game.app.pool.query(
      'SELECT scenario_id, node_id, run_id, amount::text, source FROM xp_ledger WHERE player_id = $1 ORDER BY id',
      [pass.player.playerId],
    )
    const where = { scenario_id: 'season', node_id: 'pass', run_id: pass.runId }
    expect(rows).toEqual([
      { ...where, amount: '7', source: 'quest' },
      { ...where, amount: '8', source: '' },
    ])
  })

  it.each([
    ['null', { source: null }],
    ['absent', {}],
  ])('records a source that is %s as empty (contract 2.1)', async (_, sent) => {
    const { player, place, runId } = await enter('season')
    expect((await player.post(XP, { ...place, runId, amount: 7, ...sent })).status).toBe(200)
    const { rows } = await game.app.pool.query('SELECT source FROM xp_ledger WHERE player_id = $1', [player.playerId])
    expect(rows).toEqual([{ source: '' }])
  })

  it.each([
    ['after it', PAST],
    ['before it', FUTURE],
    ['when only claims are open', CLAIMS_ONLY],
  ])('is refused outside the season, and writes nothing: %s', async (name, more) => {
    const scenarioId = `window ${name}`
    await game.publish(scenarioId, season({ more }))
    const pass = await enter(scenarioId)
    const before = await everything(pass.player)
    const { status, body } = await pass.xp(100)
    expect([status, body.error, body.code]).toEqual([409, 'season closed', 'season_closed'])
    expect(await everything(pass.player)).toEqual(before)
  })

  it('reaches 2^63-1 exactly, refuses one more and writes nothing then', async () => {
    const pass = await enter('season')
    expect((await pass.xp(MAX_INT64 - 1n)).text).toContain('"xp":9223372036854775806,')
    expect((await pass.xp(1)).text).toContain('"xp":9223372036854775807,')
    const before = await everything(pass.player)
    for (const amount of [1n, MAX_INT64]) {
      const { status, body } = await pass.xp(amount)
      expect([status, body.error, body.code]).toEqual([409, 'xp limit exceeded', 'xp_limit_exceeded'])
    }
    expect(await everything(pass.player)).toEqual(before)
    expect((await pass.player.post(PROGRESS, pass.place)).text).toContain('"xp":9223372036854775807,')
  })

  it('names the faults of the header and of the body at once', async () => {
    const pass = await enter('season')
    const { status, body } = await pass.xp(0, { 'idempotency-key': 'k'.repeat(256) })
    expect(status).toBe(400)
    expect(body.details.map(({ path }: { path: string }) => path).sort()).toEqual(['amount', 'idempotencyKey'])
  })
})

describe('a pass that the run has not entered', () => {
  it('takes xp, claims and premium in an active run of its scenario, and its crossings are followed there', async () => {
    const nodes = [{ id: 'shop', type: 'shop' }, passNode('later'), { id: 'party', type: 'party' }]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'shop' },
      { from: 'shop', handle: 'onBuy', to: 'later' },
      { from: 'later', handle: 'onLevelUp', to: 'party' },
    ]
    await game.publish('unentered', scenario(nodes, edges))
    const pass = await enter('unentered', { nodeId: 'later', wallet: { gems: 950n } })
    const active = async () => {
      const { body } = await pass.player.post('/sdk/v1/scenarios/run', { runId: pass.runId })
      return body.active.map(({ nodeId }: { nodeId: string }) => nodeId).sort()
    }
    expect(await active()).toEqual(['shop'])
    const { status, body } = await pass.xp(150)
    expect([status, body.level, body.plan.entered]).toMatchObject([200, 2, [{ nodeId: 'party' }]])
    expect((await pass.claim(2, 'free')).body.success).toBe(true)
    expect((await pass.premium()).body.success).toBe(true)
    expect(await active()).toEqual(['party', 'shop'])
    // Entering the pass changes nothing of it.
    const cross = { scenarioId: 'unentered', runId: pass.runId, nodeId: 'shop', handle: 'onBuy' }
    expect((await pass.player.post('/sdk/v1/scenarios/cross', cross)).status).toBe(200)
    expect(await pass.progress()).toMatchObject({ level: 2, xp: 150, premiumOwned: true, claimedTiers: [{ level: 2 }] })
  })
})

describe('premium (contract 4.1: charges the wallet)', () => {
  it('charges the price, records ownership, writes the ledger and crosses onPremiumPurchase', async () => {
    const pass = await enter('season', { wallet: { gems: 1000n } })
    const { status, body } = await pass.premium()
    const plan = {
      runId: pass.runId,
      status: 'active',
      crossed: [{ nodeId: 'pass', handle: 'onPremiumPurchase' }],
      entered: [],
      granted: [],
    }
    expect([status, body]).toEqual([200, { success: true, error: null, plan }])
    expect((await pass.holdings()).wallet).toEqual({ gems: '50' })
    expect(await pass.ledger()).toEqual([
      { currency: 'gems', amount: '-950', balance: '50', reason: 'premium_purchase', reference: 'season/pass' },
    ])
    const price = { currency: 'gems', amount: 950 }
    expect(await pass.crossings()).toEqual([{ nodeId: 'pass', handle: 'onPremiumPurchase', data: { price } }])
    expect((await pass.progress()).premiumOwned).toBe(true)
  })

  it('is refused with the business errors in the documented order, and then writes nothing', async () => {
    await game.publish('order', season())
    const pass = await enter('order', { wallet: { gems: 950n } })
    expect((await pass.premium('used')).body.success).toBe(true)

    const refusals = async (key?: string) => {
      const before = await everything(pass.player)
      const { status, body } = await pass.premium(key)
      expect(status).toBe(200)
      expect(await everything(pass.player)).toEqual(before)
      return body
    }
    // Each step adds a fault: owned and out of funds, out of season, without premium, with a key of another request.
    expect(await refusals()).toEqual(premiumRefused('premium already owned'))
    await game.publish('order', season({ more: PAST }))
    expect(await refusals()).toEqual(premiumRefused('season closed'))
    await game.publish('order', season({ price: null, tiers: [], more: PAST }))
    expect(await refusals()).toEqual(premiumRefused('premium not available'))
    await game.publish('order', scenario([passNode('other', { price: null, tiers: [] })], []))
    const other = await pass.player.post(PREMIUM, {
      scenarioId: 'order',
      nodeId: 'other',
      runId: pass.runId,
      idempotencyKey: 'used',
    })
    expect([other.status, other.body]).toEqual([200, premiumRefused('idempotency key reused')])
  })

  it.each([
    ['none at all', {}],
    ['one too few', { gems: 949n }],
    ['enough of another currency', { gold: 5000n }],
  ])('is refused when funds are insufficient, and writes nothing: %s', async (_, wallet) => {
    const pass = await enter('season', { wallet })
    const before = await everything(pass.player)
    expect((await pass.premium()).body).toEqual(premiumRefused('insufficient funds'))
    expect(await everything(pass.player)).toEqual(before)
  })

  it.each([
    ['before it', FUTURE],
    ['after it', PAST],
    ['when only claims are open', CLAIMS_ONLY],
  ])('is refused outside the season: %s', async (name, more) => {
    const scenarioId = `sale ${name}`
    await game.publish(scenarioId, season({ more }))
    const pass = await enter(scenarioId, { wallet: { gems: 950n } })
    expect((await pass.premium()).body).toEqual(premiumRefused('season closed'))
    expect((await pass.holdings()).wallet).toEqual({ gems: '950' })
  })

  it('does not store a refusal: the same key succeeds once the funds are there', async () => {
    const pass = await enter('season')
    expect((await pass.premium('again')).body).toEqual(premiumRefused('insufficient funds'))
    await game.app.service.run(adjustWallet(pass.player, { currency: 'gems', amount: 950n, reference: 'test' }))
    expect((await pass.premium('again')).body).toMatchObject({ success: true, error: null })
  })

  it('scopes a key to its player and to premium', async () => {
    const [first, second] = [
      await enter('season', { wallet: { gems: 950n } }),
      await enter('season', { wallet: { gems: 950n } }),
    ]
    const answers = [await first.premium('shared'), await second.premium('shared')]
    expect(answers.map(({ body }) => [body.success, body.plan.runId])).toEqual([
      [true, first.runId],
      [true, second.runId],
    ])
    expect((await first.xp(1, { 'idempotency-key': 'shared' })).status).toBe(200)
  })

  it('is refused when a reward node behind it overflows the wallet, and writes nothing', async () => {
    const thanks = { id: 'thanks', type: 'reward', data: { rewards: [gold(1)] } }
    const edges = [{ from: 'pass', handle: 'onPremiumPurchase', to: 'thanks' }]
    await game.publish('thankful', scenario([passNode(), thanks], edges))
    const pass = await enter('thankful', { wallet: { gems: 950n, gold: MAX_INT64 } })
    const before = await everything(pass.player)
    expect((await pass.premium('k')).body).toEqual(premiumRefused('balance limit exceeded'))
    expect(await everything(pass.player)).toEqual(before)
  })
})

describe('xp whose crossing overflows a wallet', () => {
  it('is 409 balance limit exceeded and writes nothing (contract 4.1)', async () => {
    const bonus = { id: 'bonus', type: 'reward', data: { rewards: [gold(1)] } }
    await game.publish('bonus', scenario([passNode(), bonus], [{ from: 'pass', handle: 'onLevelUp', to: 'bonus' }]))
    const pass = await enter('bonus', { wallet: { gold: MAX_INT64 } })
    const before = await everything(pass.player)
    const { status, body } = await pass.xp(100, { 'idempotency-key': 'k' })
    expect([status, body.error]).toEqual([409, 'balance limit exceeded'])
    expect(body.details).toEqual([{ path: '', message: 'The balance of "gold" would pass 9223372036854775807.' }])
    expect(await everything(pass.player)).toEqual(before)
  })
})

describe('the scenario, node and run of a call (contract 1: every call carries them)', () => {
  const UNKNOWN_RUN = '00000000-0000-7000-8000-000000000000'
  const requests = (place: Record<string, Json>): [path: string, body: Record<string, Json>][] => [
    [XP, { ...place, amount: 1, source: 'test' }],
    [CLAIM, { ...place, level: 1, track: 'free' }],
    [PREMIUM, { ...place, idempotencyKey: 'k' }],
  ]

  beforeAll(async () => {
    const nodes = [
      passNode(),
      { id: 'popup', type: 'popup' },
      { id: 'gift', type: 'reward', data: { rewards: [gold(1)] } },
    ]
    await game.publish('mixed', scenario(nodes, []))
    await game.publish('other', season())
  })

  it.each([
    ['an unknown scenario', { scenarioId: 'nowhere' }, 'scenario not found'],
    ['an unknown node', { nodeId: 'nowhere' }, 'node not found'],
    ['a node of the client', { nodeId: 'popup' }, 'node not found'],
    ['a reward node', { nodeId: 'gift' }, 'node not found'],
    ['the start', { nodeId: 'start' }, 'node not found'],
  ])('lead to 404 on every endpoint for %s', async (_, change, error) => {
    const { player, place, runId } = await enter('mixed', { wallet: { gems: 950n } })
    const before = await everything(player)
    for (const [path, body] of [
      ...requests({ ...place, runId, ...change }),
      [PROGRESS, { ...place, ...change }] as const,
    ]) {
      const answer = await player.post(path, body)
      expect([path, answer.status, answer.body.error]).toEqual([path, 404, error])
    }
    expect(await everything(player)).toEqual(before)
  })

  it('lead to 404 for runs of other players, runs of other scenarios and unknown runs', async () => {
    const { player, place } = await enter('mixed', { wallet: { gems: 950n } })
    const stranger = await enter('mixed')
    const runIds = [stranger.runId, await player.start('other'), UNKNOWN_RUN, 'no uuid', "' OR 1=1 --"]
    const before = await everything(player)
    for (const runId of runIds) {
      for (const [path, body] of requests({ ...place, runId })) {
        const answer = await player.post(path, body)
        expect([path, answer.status, answer.body.error]).toEqual([path, 404, 'run not found'])
      }
    }
    const read = await player.post('/sdk/v1/scenarios/run', { runId: stranger.runId })
    expect([read.status, read.body.error]).toEqual([404, 'run not found'])
    expect(await everything(player)).toEqual(before)
    expect(await stranger.progress()).toMatchObject({ xp: 0, premiumOwned: false, claimedTiers: [] })
  })

  it('lead to 404 for scenarios of other projects and environments', async () => {
    const { pool, service } = game.app
    const other = await createProject(pool, { name: 'Other', environments: ['production'] })
    const { key } = await createPlatformKey(pool, other.projectId, 'admin')
    for (const [projectId, environment, token] of [
      [other.projectId, 'production', key],
      [game.projectId, 'staging', game.platformKey],
    ] as const) {
      const path = `/platform/v1/projects/${projectId}/scenarios/secret?environment=${environment}`
      const headers = { authorization: `Bearer ${token}` }
      expect((await game.request('PUT', path, { body: print(season()), headers })).status).toBe(200)
    }
    const { player, runId } = await enter('mixed')
    const place = { scenarioId: 'secret', nodeId: 'pass' }
    for (const [path, body] of [...requests({ ...place, runId }), [PROGRESS, place] as const]) {
      const answer = await player.post(path, body)
      expect([path, answer.status, answer.body.error]).toEqual([path, 404, 'scenario not found'])
    }
    expect((await player.post('/sdk/v1/scenarios/start', { scenarioId: 'secret' })).status).toBe(404)
    // The same ids in two projects are two passes.
    const ref = await service.run(createPlayer(other.environments.get('production') ?? '', null))
    const token = await game.app.tokens.issueAccessToken({ ...ref, projectId: other.projectId })
    const answer = await game.request('POST', PROGRESS, {
      body: print(place),
      headers: { authorization: `Bearer ${token}` },
    })
    expect(answer.body.xp).toBe(0)
  })

  it('lead to 409 for a run that is no longer active', async () => {
    const { player, place, runId } = await enter('mixed')
    await game.app.pool.query("UPDATE runs SET status = 'cancelled' WHERE id = $1", [runId])
    for (const [path, body] of requests({ ...place, runId })) {
      const answer = await player.post(path, body)
      expect([path, answer.status, answer.body.error]).toEqual([path, 409, 'run not active'])
    }
  })

  it('have separate state for each node, scenario and player', async () => {
    await game.publish('two-passes', scenario([passNode('a'), passNode('b')], []))
    const a = await enter('two-passes', { nodeId: 'a' })
    await a.xp(100)
    expect((await a.on('b').progress()).xp).toBe(0)
    expect((await (await enter('two-passes', { nodeId: 'a' })).progress()).xp).toBe(0)
    expect((await at(a.player, 'season', '').progress()).xp).toBe(0)
  })

  it('have the same state of a pass in each run', async () => {
    const pass = await enter('season')
    await pass.xp(100)
    await game.app.pool.query("UPDATE runs SET status = 'cancelled' WHERE id = $1", [pass.runId])
    const next = at(pass.player, 'season', await pass.player.start('season'))
    expect(next.runId).not.toBe(pass.runId)
    expect((await next.xp(1)).body).toMatchObject({ xp: 101, leveledUp: false })
  })
})

describe('a player that is banned or deleted (contract 7.1)', () => {
  it.each(['banned', 'deleted'])('is refused on every endpoint from the next call on: %s', async (status) => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    const { player, place, runId } = pass
    await pass.xp(1, { 'idempotency-key': 'stored' })
    await game.app.pool.query('UPDATE players SET status = $2 WHERE id = $1', [player.playerId, status])
    const before = await everything(player)
    const calls: [string, Json, Record<string, string>?][] = [
      [PROGRESS, place],
      [XP, { ...place, runId, amount: 1, source: 'test' }],
      [XP, { ...place, runId, amount: 1, source: 'test' }, { 'idempotency-key': 'stored' }],
      [CLAIM, { ...place, runId, level: 1, track: 'free' }],
      [PREMIUM, { ...place, runId }],
      [PREMIUM, { ...place, runId, idempotencyKey: 'k' }],
      ['/sdk/v1/scenarios/start', { scenarioId: 'season' }],
      ['/sdk/v1/scenarios/cross', { ...place, runId, handle: 'onComplete' }],
      ['/sdk/v1/scenarios/run', { runId }],
      [PROGRESS, { scenarioId: 'nowhere', nodeId: 'pass' }],
    ]
    for (const [path, body, headers] of calls) {
      const answer = await player.post(path, body, headers)
      expect([path, answer.status, answer.body.error]).toEqual([path, 403, `player ${status}`])
    }
    expect(await everything(player)).toEqual(before)
    await game.app.pool.query("UPDATE players SET status = 'active' WHERE id = $1", [player.playerId])
    expect((await pass.xp(1)).status).toBe(200)
  })
})

describe('every answer', () => {
  it('has the run id in lower case when it is sent in upper case', async () => {
    const { player, place, runId } = await enter('season')
    const body = { ...place, runId: runId.toUpperCase(), amount: 100, source: 'test' }
    expect((await player.post(XP, body)).body.plan.runId).toBe(runId)
    expect((await player.post(XP, { ...body, runId })).body.xp).toBe(200)
  })

  it('ignores unknown members, and takes null as absent', async () => {
    const { player, place, runId } = await enter('season', { wallet: { gems: 950n } })
    const more = { unknown: [{ deep: times(3, String) }], level: 'x' }
    expect((await player.post(PREMIUM, { ...place, runId, idempotencyKey: null, ...more })).body.success).toBe(true)
  })
})
