import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../src/auth/keys.ts'
import { type Json, print } from '../../src/json.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { createProject } from '../../src/projects/projects.ts'
import { adjustWallet } from '../../src/wallet/adjust.ts'
import { auditBooks } from '../support/audit.ts'
import { gold, item, passNode, scenario, season, tier } from '../support/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../support/game.ts'

const MAX_INT64 = 2n ** 63n - 1n
const PROGRESS = '/sdk/v1/battlepass/progress'
const XP = '/sdk/v1/battlepass/xp'
const CLAIM = '/sdk/v1/battlepass/claim'
const PREMIUM = '/sdk/v1/battlepass/premium'

const PAST = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-02-01T00:00:00Z' }
const FUTURE = { startsAt: '2099-01-01T00:00:00Z', endsAt: '2099-02-01T00:00:00Z' }
const CLAIMS_ONLY = { ...PAST, claimUntil: '2099-02-01T00:00:00Z' }

let game: Game

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

/** A player in a run, with the four calls bound to a pass. */
async function enter(scenarioId: string, { wallet, nodeId = 'pass' }: { wallet?: Wallet; nodeId?: string } = {}) {
  const player = await game.player({ wallet })
  return at(player, scenarioId, await player.start(scenarioId), nodeId)
}
type Wallet = Record<string, bigint>

function at(player: TestPlayer, scenarioId: string, runId: string, nodeId = 'pass') {
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
  const { rows } = await game.app.pool.query(
    `SELECT node_id, handle, data FROM events WHERE player_id = $1 AND type = 'crossing' AND handle <> 'onStart' ORDER BY position`,
    [playerId],
  )
  return rows.map(({ node_id, handle, data }) => ({ nodeId: node_id, handle, data: JSON.parse(data) }))
}

async function handles(player: TestPlayer): Promise<string[]> {
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

/** Everything that a player has, to show that a call wrote nothing. */
async function everything({ playerId }: TestPlayer) {
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
  const rows = tables.map(async (table) => {
    const result = await game.app.pool.query(`SELECT * FROM ${table} WHERE player_id = $1 ORDER BY 1, 2, 3`, [playerId])
    return [table, result.rows]
  })
  return Object.fromEntries(await Promise.all(rows))
}

const claimRefused = (error: string) => ({ success: false, alreadyClaimed: false, error, granted: [] })
const premiumRefused = (error: string) => ({ success: false, error, plan: null })
const goldReward = (amount: number) => ({ amount, currency: 'gold', itemId: null })
const itemReward = (itemId: string, amount = 1) => ({ amount, currency: null, itemId })

describe('progress (spec 4.1)', () => {
  it.each([
    ['0 when no level is reached by 0 xp', [10, 20], 0],
    ['1 when the first level needs nothing', [0, 20], 1],
  ])('before any xp answers the level as the definition gives it: %s', async (_, levels, level) => {
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

  it('is also answered out of season', async () => {
    await game.publish('over', season({ more: PAST }))
    const player = await game.player()
    expect((await player.post(PROGRESS, { scenarioId: 'over', nodeId: 'pass' })).body.level).toBe(1)
  })
})

describe('xp (spec 4.1)', () => {
  it('answers every field, the plan null when nothing is crossed', async () => {
    const pass = await enter('season')
    const { status, body } = await pass.xp(1)
    expect([status, body]).toEqual([200, { level: 1, xp: 1, leveledUp: false, maxLevel: false, plan: null }])
    expect(await pass.crossings()).toEqual([])
  })

  it('crosses onLevelUp when a level is gained, with the plan of the crossing', async () => {
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

  it('crosses onLevelUp once for a jump over several levels (spec 6)', async () => {
    const pass = await enter('season')
    expect((await pass.xp(350)).body).toMatchObject({ level: 4, xp: 350, leveledUp: true, maxLevel: false })
    expect(await pass.crossings()).toEqual([
      { nodeId: 'pass', handle: 'onLevelUp', data: { fromLevel: 1, toLevel: 4, xp: 350, source: 'test' } },
    ])
  })

  it('crosses onMaxLevel once, when the top level is first reached (spec 6)', async () => {
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
  ])('records a source that is %s as empty (spec 2.1)', async (_, sent) => {
    const { player, place, runId } = await enter('season')
    expect((await player.post(XP, { ...place, runId, amount: 7, ...sent })).status).toBe(200)
    const { rows } = await game.app.pool.query('SELECT source FROM xp_ledger WHERE player_id = $1', [player.playerId])
    expect(rows).toEqual([{ source: '' }])
  })

  it('takes a source of exactly 64 characters, however many UTF-16 units those are', async () => {
    const pass = await enter('season')
    expect((await pass.xp(1, {}, '🏆'.repeat(64))).status).toBe(200)
    expect((await pass.xp(1, {}, '🏆'.repeat(65))).status).toBe(400)
  })

  it.each([
    ['after it', PAST],
    ['before it', FUTURE],
    ['when only claims are open', CLAIMS_ONLY],
  ])('refuses xp outside the season and writes nothing: %s', async (name, more) => {
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

  it('takes 2^63-1 in one call', async () => {
    const pass = await enter('season')
    expect((await pass.xp(MAX_INT64)).text).toContain('"xp":9223372036854775807,')
  })

  it('names the fault of the header and those of the body at once', async () => {
    const pass = await enter('season')
    const { status, body } = await pass.xp(0, { 'idempotency-key': 'k'.repeat(256) })
    expect(status).toBe(400)
    expect(body.details.map(({ path }: { path: string }) => path).sort()).toEqual(['amount', 'idempotencyKey'])
  })
})

describe('premium (spec 4.1: charges the wallet)', () => {
  it('charges the price, owns the track, writes the ledger and crosses onPremiumPurchase', async () => {
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

  it('refuses with each business error in the documented order, and writes nothing', async () => {
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
    // Owned and out of funds; then out of season too; then without premium too; then with a key used elsewhere too.
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
  ])('refuses a player whose funds are insufficient and writes nothing: %s', async (_, wallet) => {
    const pass = await enter('season', { wallet })
    const before = await everything(pass.player)
    expect((await pass.premium()).body).toEqual(premiumRefused('insufficient funds'))
    expect(await everything(pass.player)).toEqual(before)
  })

  it.each([
    ['before it', FUTURE],
    ['after it', PAST],
    ['when only claims are open', CLAIMS_ONLY],
  ])('sells nothing outside the season: %s', async (name, more) => {
    const scenarioId = `sale ${name}`
    await game.publish(scenarioId, season({ more }))
    const pass = await enter(scenarioId, { wallet: { gems: 950n } })
    expect((await pass.premium()).body).toEqual(premiumRefused('season closed'))
    expect((await pass.holdings()).wallet).toEqual({ gems: '950' })
  })

  it('answers the very same to the same key, and charges once', async () => {
    const pass = await enter('season', { wallet: { gems: 5000n } })
    const first = await pass.premium('one')
    const again = await pass.premium('one')
    expect(again.text).toBe(first.text)
    expect((await pass.holdings()).wallet).toEqual({ gems: '4050' })
    expect((await pass.premium('two')).body).toEqual(premiumRefused('premium already owned'))
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

  it('takes a key of 255 characters and refuses one of 256', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    expect((await pass.premium('k'.repeat(256))).status).toBe(400)
    expect((await pass.premium('k'.repeat(255))).body.success).toBe(true)
  })

  it('refuses a purchase whose crossing leads to rewards that overflow the wallet, and writes nothing', async () => {
    const thanks = { id: 'thanks', type: 'reward', data: { rewards: [gold(1)] } }
    const edges = [{ from: 'pass', handle: 'onPremiumPurchase', to: 'thanks' }]
    await game.publish('thankful', scenario([passNode(), thanks], edges))
    const pass = await enter('thankful', { wallet: { gems: 950n, gold: MAX_INT64 } })
    const before = await everything(pass.player)
    expect((await pass.premium('k')).body).toEqual(premiumRefused('balance limit exceeded'))
    expect(await everything(pass.player)).toEqual(before)
  })
})

describe('claims (spec 4.1: idempotent on the server)', () => {
  it('grants into wallet and inventory with a ledger row for each balance', async () => {
    await game.publish(
      'bundle',
      season({ tiers: [tier(1, 'free', [gold(5), item('hat', 2), gold(7), item('hat', 3)])] }),
    )
    const pass = await enter('bundle')
    const { status, body } = await pass.claim(1, 'free')
    const granted = [goldReward(5), itemReward('hat', 2), goldReward(7), itemReward('hat', 3)]
    expect([status, body]).toEqual([200, { success: true, alreadyClaimed: false, error: null, granted }])
    expect(await pass.holdings()).toEqual({ wallet: { gold: '12' }, items: { hat: '5' } })
    const cause = { currency: 'gold', reason: 'tier_claim', reference: 'bundle/pass/free/1' }
    expect(await pass.ledger()).toEqual([
      { ...cause, amount: '5', balance: '5' },
      { ...cause, amount: '7', balance: '12' },
    ])
  })

  it('refuses with each business error in the documented order, and writes nothing', async () => {
    const tiers = [1, 5].flatMap((level) => [tier(level, 'free'), tier(level, 'premium')])
    await game.publish('claim-order', season({ tiers }))
    const pass = await enter('claim-order')
    const refusal = async (level: number, track: string) => {
      const before = await everything(pass.player)
      const { status, body } = await pass.claim(level, track, { 'idempotency-key': 'again' })
      expect(status).toBe(200)
      expect(await everything(pass.player)).toEqual(before)
      return body
    }
    expect(await refusal(1, 'premium')).toEqual(claimRefused('premium required'))
    expect(await refusal(5, 'premium')).toEqual(claimRefused('level not reached'))
    await game.publish('claim-order', season({ tiers, more: PAST }))
    expect(await refusal(5, 'premium')).toEqual(claimRefused('season closed'))
    expect(await refusal(3, 'premium')).toEqual(claimRefused('tier not found'))
    expect(await refusal(0, 'free')).toEqual(claimRefused('tier not found'))
    expect(await refusal(2 ** 31 - 1, 'free')).toEqual(claimRefused('tier not found'))
  })

  it.each([
    ['before the season', FUTURE, 'season closed'],
    ['after endsAt, which claimUntil defaults to', PAST, 'season closed'],
    ['after claimUntil', { ...PAST, claimUntil: '2020-03-01T00:00:00Z' }, 'season closed'],
    ['between endsAt and claimUntil', CLAIMS_ONLY, null],
    ['before a claimUntil without endsAt', { claimUntil: '2099-01-01T00:00:00Z' }, null],
    ['after a claimUntil without endsAt', { claimUntil: '2020-01-01T00:00:00Z' }, 'season closed'],
  ])('is open up to claimUntil: %s', async (name, more, error) => {
    const scenarioId = `claims ${name}`
    await game.publish(scenarioId, season({ more }))
    const pass = await enter(scenarioId)
    expect((await pass.claim(1, 'free')).body).toMatchObject({ success: error === null, error })
  })

  it('refuses a premium tier until premium is bought, then grants the past ones too', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    await pass.xp(200)
    expect((await pass.claim(2, 'premium')).body).toEqual(claimRefused('premium required'))
    await pass.premium()
    expect((await pass.claim(2, 'premium')).body).toMatchObject({ success: true, granted: [itemReward('skin-2')] })
  })

  it('answers a repeat with the original grant, also after the definition changed and the season closed', async () => {
    await game.publish('history', season())
    const pass = await enter('history')
    await pass.xp(100)
    await pass.claim(2, 'free')
    const repeated = { success: true, alreadyClaimed: true, error: null, granted: [goldReward(20)] }
    const changes: Json[] = [
      season(),
      season({ tiers: [tier(2, 'free', [gold(9999)])] }),
      season({ levels: [0, 5000] }),
      season({ tiers: [] }),
      season({ more: PAST }),
      season({ levels: [0], tiers: [], more: FUTURE }),
    ]
    for (const definition of changes) {
      await game.publish('history', definition)
      expect((await pass.claim(2, 'free')).body).toEqual(repeated)
    }
    expect((await pass.holdings()).wallet).toEqual({ gold: '20' })
    expect(await pass.ledger()).toHaveLength(1)
  })

  it.each([
    ['a balance', [gold(1)], { wallet: { gold: MAX_INT64 } }],
    ['a balance, by two rewards together', [gold(MAX_INT64), gold(1)], {}],
    ['an item, by two rewards together', [item('hat', MAX_INT64), item('hat')], {}],
  ])('refuses rewards that overflow %s and writes nothing', async (name, rewards, options) => {
    const scenarioId = `full ${name}`
    await game.publish(scenarioId, season({ tiers: [tier(1, 'free', rewards)] }))
    const pass = await enter(scenarioId, options)
    const before = await everything(pass.player)
    expect((await pass.claim(1, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
    expect(await everything(pass.player)).toEqual(before)
  })

  it('refuses rewards that overflow an item held, and fills it to 2^63-1 exactly', async () => {
    const tiers = [
      tier(1, 'free', [item('hat', MAX_INT64 - 1n)]),
      tier(2, 'free', [item('hat', 2)]),
      tier(3, 'free', [item('hat')]),
    ]
    await game.publish('hats', season({ tiers }))
    const pass = await enter('hats')
    await pass.xp(400)
    expect((await pass.claim(1, 'free')).text).toContain('"amount":9223372036854775806,')
    expect((await pass.claim(2, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
    expect((await pass.claim(3, 'free')).body.success).toBe(true)
    expect((await pass.holdings()).items).toEqual({ hat: MAX_INT64.toString() })
  })

  it('counts what the crossing leads to when it looks for room, and writes nothing', async () => {
    const nodes = [
      passNode('pass', { levels: [0], tiers: [tier(1, 'free', [gold(1)])] }),
      { id: 'trophy', type: 'reward', data: { rewards: [gold(1)] } },
    ]
    await game.publish('room', scenario(nodes, [{ from: 'pass', handle: 'onComplete', to: 'trophy' }]))
    const pass = await enter('room', { wallet: { gold: MAX_INT64 - 1n } })
    const before = await everything(pass.player)
    expect((await pass.claim(1, 'free')).body).toEqual(claimRefused('balance limit exceeded'))
    expect(await everything(pass.player)).toEqual(before)
  })
})

describe('xp whose crossing overflows a wallet', () => {
  it('is 409 balance limit exceeded and writes nothing (spec 4.1)', async () => {
    const bonus = { id: 'bonus', type: 'reward', data: { rewards: [gold(1)] } }
    await game.publish('bonus', scenario([passNode(), bonus], [{ from: 'pass', handle: 'onLevelUp', to: 'bonus' }]))
    const pass = await enter('bonus', { wallet: { gold: MAX_INT64 } })
    const before = await everything(pass.player)
    const { status, body } = await pass.xp(100, { 'idempotency-key': 'k' })
    expect([status, body.error]).toEqual([409, 'balance limit exceeded'])
    expect(await everything(pass.player)).toEqual(before)
  })
})

describe('onComplete of a pass (spec 6)', () => {
  const onComplete = { nodeId: 'pass', handle: 'onComplete', data: {} }

  it('crosses once, when the last free tier is claimed at top level, and not again with premium', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    await pass.xp(400)
    for (const level of [1, 2, 3, 4]) await pass.claim(level, 'free')
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    await pass.claim(5, 'free')
    expect((await pass.crossings()).at(-1)).toEqual(onComplete)
    await pass.premium()
    for (const level of [1, 2, 3, 4, 5]) await pass.claim(level, 'premium')
    await pass.claim(5, 'free')
    await pass.xp(1)
    expect((await handles(pass.player)).filter((handle) => handle === 'pass onComplete')).toHaveLength(1)
  })

  it('waits for the premium tiers when premium is owned', async () => {
    const pass = await enter('season', { wallet: { gems: 950n } })
    await pass.premium()
    await pass.xp(400)
    for (const level of [1, 2, 3, 4, 5]) await pass.claim(level, 'free')
    for (const level of [1, 2, 3, 4]) await pass.claim(level, 'premium')
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    await pass.claim(5, 'premium')
    expect((await pass.crossings()).at(-1)).toEqual(onComplete)
  })

  it('crosses with the xp that reaches the top level when all tiers are claimed before', async () => {
    await game.publish('early', season({ tiers: [tier(1, 'free'), tier(2, 'free')] }))
    const pass = await enter('early')
    await pass.xp(100)
    await pass.claim(1, 'free')
    await pass.claim(2, 'free')
    const { body } = await pass.xp(300)
    expect(body.plan.crossed.map(({ handle }: { handle: string }) => handle)).toEqual([
      'onLevelUp',
      'onMaxLevel',
      'onComplete',
    ])
  })

  it('crosses at the new top level when the season was extended after the old one was reached', async () => {
    const tiers = [tier(1, 'free'), tier(2, 'free')]
    await game.publish('extended', season({ levels: [0, 100], tiers }))
    const pass = await enter('extended')
    await pass.xp(100)
    await pass.claim(1, 'free')
    await game.publish('extended', season({ levels: [0, 100, 200], tiers }))
    await pass.claim(2, 'free')
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    await pass.xp(100)
    expect(await handles(pass.player)).toEqual([
      'pass onLevelUp',
      'pass onMaxLevel',
      'pass onLevelUp',
      'pass onComplete',
    ])
  })

  it('crosses with the next xp when the only tier that was left is taken out of the definition', async () => {
    await game.publish('shortened', season({ levels: [0, 100], tiers: [tier(1, 'free'), tier(2, 'free')] }))
    const pass = await enter('shortened')
    await pass.xp(100)
    await pass.claim(1, 'free')
    await game.publish('shortened', season({ levels: [0, 100], tiers: [tier(1, 'free')] }))
    await pass.xp(1)
    expect((await handles(pass.player)).at(-1)).toBe('pass onComplete')
  })
})

describe('level nodes (spec 3: a claim is accepted once the level is reached)', () => {
  const levelNode = (id: string, levelNumber: Json, more: Record<string, Json> = {}): Json => ({
    id,
    type: 'battle-pass-level',
    data: { levelNumber, passNodeId: 'pass', ...more },
  })

  beforeAll(async () => {
    const nodes = [
      passNode(),
      levelNode('two', 2),
      levelNode('three', '3'),
      levelNode('four', 4, { rewards: { free: [item('banner')], premium: [gold(44)] } }),
      levelNode('half', 4, { rewards: { free: [item('banner')] } }),
      { id: 'party', type: 'popup', data: {} },
    ]
    const edges = [{ from: 'two', handle: 'onComplete', to: 'party' }]
    const { status } = await game.publish('levels', scenario(nodes, edges))
    expect(status).toBe(200)
  })

  it.each([
    ['two', 2],
    ['three', 3],
  ])('answers the progress and takes the xp of its pass: %s', async (nodeId, level) => {
    const pass = await enter('levels')
    const node = pass.on(nodeId)
    expect((await node.claim(null, 'free')).body).toEqual(claimRefused('level not reached'))
    expect((await node.xp((level - 1) * 100)).body).toMatchObject({ level, leveledUp: true })
    expect(await node.progress()).toEqual(await pass.progress())
    expect((await node.claim(null, 'free')).body).toMatchObject({ success: true, granted: [goldReward(level * 10)] })
    expect(await pass.progress()).toMatchObject({ level, claimedTiers: [{ level, track: 'free' }] })
  })

  it.each([
    ['two', 1],
    ['two', 3],
    ['three', 2],
  ])('refuses a level that is not its own: %s, %i', async (nodeId, level) => {
    const { status, body } = await (await enter('levels')).on(nodeId).claim(level, 'free')
    expect([status, body.error]).toEqual([400, 'invalid request'])
    expect(body.details.map(({ path }: { path: string }) => path)).toEqual(['level'])
  })

  it('takes its own level, null, or none', async () => {
    const pass = await enter('levels')
    await pass.xp(400)
    const { place, runId, player } = pass.on('two')
    const bodies = [{ level: 2 }, { level: null }, {}].map((more) => ({ ...place, runId, track: 'free', ...more }))
    for (const [index, body] of bodies.entries()) {
      const answer = await player.post(CLAIM, body)
      expect(answer.body).toMatchObject({ success: true, alreadyClaimed: index > 0, granted: [goldReward(20)] })
    }
  })

  it('needs the level on the pass itself', async () => {
    const pass = await enter('levels')
    const { status, body } = await pass.claim(null, 'free')
    expect([status, body.details]).toEqual([400, [{ path: 'level', message: 'is required' }]])
  })

  it.each(['pass', 'half', 'four'])(
    'brings rewards that are the tier’s, whichever way it is claimed: %s',
    async (nodeId) => {
      const pass = await enter('levels', { wallet: { gems: 950n } })
      await pass.xp(400)
      await pass.premium()
      expect((await pass.on(nodeId).claim(4, 'free')).body.granted).toEqual([itemReward('banner')])
      expect((await pass.on(nodeId).claim(4, 'premium')).body.granted).toEqual([goldReward(44)])
      expect((await pass.on(nodeId).claim(3, 'free')).body).toMatchObject(
        nodeId === 'pass' ? { granted: [goldReward(30)] } : { error: 'invalid request' },
      )
    },
  )

  it('is the same claim as on the pass, both ways round', async () => {
    const pass = await enter('levels')
    await pass.xp(400)
    await pass.on('two').claim(2, 'free')
    expect((await pass.claim(2, 'free')).body).toMatchObject({ alreadyClaimed: true, granted: [goldReward(20)] })
    await pass.claim(4, 'free')
    expect((await pass.on('four').claim(4, 'free')).body).toMatchObject({
      alreadyClaimed: true,
      granted: [itemReward('banner')],
    })
    expect(await pass.holdings()).toEqual({ wallet: { gold: '20' }, items: { banner: '1' } })
  })

  it('crosses onComplete at the first claim that succeeds on it, and enters what follows once (spec 6)', async () => {
    const pass = await enter('levels', { wallet: { gems: 950n } })
    const node = pass.on('two')
    await node.claim(2, 'free')
    expect(await pass.crossings()).toEqual([])
    await pass.xp(100)
    await node.claim(2, 'free')
    await node.claim(2, 'free')
    await pass.premium()
    await node.claim(2, 'premium')
    const completed = (await pass.crossings()).filter(({ nodeId }) => nodeId === 'two')
    expect(completed).toEqual([{ nodeId: 'two', handle: 'onComplete', data: { level: 2, track: 'free' } }])
    const { body } = await pass.player.post('/sdk/v1/scenarios/run', { runId: pass.runId })
    expect(body.active.map(({ nodeId }: { nodeId: string }) => nodeId)).toContain('party')
  })

  it('crosses onComplete also when the tier was claimed on the pass before', async () => {
    const pass = await enter('levels')
    await pass.xp(100)
    await pass.claim(2, 'free')
    expect(await handles(pass.player)).toEqual(['pass onLevelUp'])
    expect((await pass.on('two').claim(2, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
    expect(await handles(pass.player)).toEqual(['pass onLevelUp', 'two onComplete'])
  })

  it('refuses a track that neither its pass nor a level node has', async () => {
    const nodes = [passNode('pass', { tiers: [tier(1, 'free')] }), levelNode('own', 1), levelNode('again', '1')]
    await game.publish('sparse', scenario(nodes, []))
    const pass = await enter('sparse', { nodeId: 'own' })
    expect((await pass.claim(1, 'premium')).body).toEqual(claimRefused('tier not found'))
    expect((await pass.on('again').claim(1, 'premium')).body).toEqual(claimRefused('tier not found'))
    expect((await pass.claim(1, 'free')).body.success).toBe(true)
    expect((await pass.on('pass').claim(1, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
  })

  it('brings a tier that the pass does not list: claim, claim-all and onComplete count it (decisions 11.2)', async () => {
    const nodes = [
      passNode('pass', { levels: [0, 100], tiers: [tier(2, 'free')] }),
      levelNode('one', 1, { rewards: { free: [gold(1)], premium: [gold(2)] } }),
      levelNode('gift', 2, { rewards: { premium: [] } }),
    ]
    await game.publish('union', scenario(nodes, []))
    const pass = await enter('union', { wallet: { gems: 950n } })
    await pass.xp(100)
    expect((await pass.claim(1, 'premium')).body).toEqual(claimRefused('premium required'))
    expect((await pass.claim(2, 'free')).body.success).toBe(true)
    expect(await handles(pass.player)).not.toContain('pass onComplete')
    expect((await pass.claim(1, 'free')).body).toMatchObject({ success: true, granted: [goldReward(1)] })
    expect((await handles(pass.player)).at(-1)).toBe('pass onComplete')

    const other = await enter('union', { wallet: { gems: 950n } })
    await other.xp(100)
    await other.premium()
    const { data } = await other.player.graphql(
      `mutation ($input: ClaimAllInput!) {
        claimAll(input: $input) { claimed { level track granted { currency amount } } error }
      }`,
      { input: { ...other.place, runId: other.runId } },
    )
    const granted = (amount: number) => [{ currency: 'gold', amount: String(amount) }]
    expect(data.claimAll).toEqual({
      claimed: [
        { level: 1, track: 'FREE', granted: granted(1) },
        { level: 1, track: 'PREMIUM', granted: granted(2) },
        { level: 2, track: 'FREE', granted: granted(20) },
        { level: 2, track: 'PREMIUM', granted: [] },
      ],
      error: null,
    })
    expect((await handles(other.player)).at(-1)).toBe('pass onComplete')
  })
})

describe('an edit of the definition counts on the next call (spec 2.1: state is per node)', () => {
  it('raises the level with lower thresholds; the next xp crosses what was gained, once', async () => {
    await game.publish('easier', season())
    const pass = await enter('easier')
    await pass.xp(100)
    await game.publish('easier', season({ levels: [0, 10, 20, 30, 1000] }))
    expect(await pass.progress()).toMatchObject({ level: 4, xp: 100 })
    expect((await pass.claim(4, 'free')).body.success).toBe(true)
    expect((await pass.xp(1)).body).toMatchObject({ level: 4, leveledUp: true })
    expect((await pass.xp(1)).body).toMatchObject({ level: 4, leveledUp: false, plan: null })
    const levels = (await pass.crossings()).map(({ data }) => [data.fromLevel, data.toLevel])
    expect(levels).toEqual([
      [1, 2],
      [2, 4],
    ])
  })

  it('lowers the level with higher thresholds, keeps claimed tiers, and crosses no level a second time', async () => {
    await game.publish('harder', season())
    const pass = await enter('harder')
    await pass.xp(300)
    await pass.claim(3, 'free')
    await game.publish('harder', season({ levels: [0, 1000, 2000, 3000, 4000] }))
    expect(await pass.progress()).toEqual({
      level: 1,
      xp: 300,
      premiumOwned: false,
      claimedTiers: [{ level: 3, track: 'free' }],
    })
    expect((await pass.claim(2, 'free')).body).toEqual(claimRefused('level not reached'))
    expect((await pass.claim(3, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
    expect((await pass.xp(2000)).body).toEqual({ level: 3, xp: 2300, leveledUp: false, maxLevel: false, plan: null })
    expect((await pass.xp(1700)).body).toMatchObject({ level: 5, leveledUp: true, maxLevel: true })
    const levels = (await pass.crossings()).filter(({ handle }) => handle === 'onLevelUp')
    expect(levels.map(({ data }) => [data.fromLevel, data.toLevel])).toEqual([
      [1, 4],
      [4, 5],
    ])
  })

  it('crosses onMaxLevel once although the top level moves', async () => {
    await game.publish('taller', season({ levels: [0, 100] }))
    const pass = await enter('taller')
    await pass.xp(100)
    await game.publish('taller', season({ levels: [0, 100, 200] }))
    expect((await pass.xp(1)).body).toMatchObject({ level: 2, maxLevel: false })
    expect((await pass.xp(99)).body).toMatchObject({ level: 3, maxLevel: true, leveledUp: true })
    expect((await handles(pass.player)).filter((handle) => handle === 'pass onMaxLevel')).toHaveLength(1)
  })

  it('takes a price and new rewards at once', async () => {
    await game.publish('sale', season({ price: null, tiers: [tier(1, 'free')] }))
    const pass = await enter('sale', { wallet: { gold: 5n } })
    expect((await pass.premium()).body.error).toBe('premium not available')
    const tiers = [tier(1, 'free', [gold(77)])]
    await game.publish('sale', season({ price: { currency: 'gold', amount: 5 }, tiers }))
    expect((await pass.premium()).body.success).toBe(true)
    expect((await pass.claim(1, 'free')).body.granted).toEqual([goldReward(77)])
  })
})

describe('Idempotency-Key of xp and claim', () => {
  it('answers the same xp call alike and adds once (spec 4.1)', async () => {
    const pass = await enter('season')
    const first = await pass.xp(100, { 'idempotency-key': 'quest 1' })
    await pass.xp(5)
    const again = await pass.xp(100, { 'idempotency-key': 'quest 1' })
    expect(again.text).toBe(first.text)
    expect((await pass.progress()).xp).toBe(105)
  })

  it('takes the key from the header or from the body, and is 400 with two that differ', async () => {
    const { player, place, runId, ...pass } = await enter('season', { wallet: { gems: 950n } })
    const xp = { ...place, runId, amount: 100, source: 'test' }
    const claim = { ...place, runId, level: 1, track: 'free' }
    const inRun = { ...place, runId }
    for (const [path, body] of Object.entries({ [XP]: xp, [CLAIM]: claim, [PREMIUM]: inRun })) {
      const keyed = { ...body, idempotencyKey: `${path} key` }
      const first = await player.post(path, body, { 'idempotency-key': `${path} key` })
      expect((await player.post(path, keyed)).text).toBe(first.text)
      expect((await player.post(path, keyed, { 'idempotency-key': `${path} key` })).text).toBe(first.text)
      const answer = await player.post(path, keyed, { 'idempotency-key': 'another' })
      expect([answer.status, answer.body.details]).toEqual([
        400,
        [{ path: 'idempotencyKey', message: expect.stringContaining('Idempotency-Key') }],
      ])
    }
    expect((await pass.progress()).xp).toBe(100)
  })

  it('keeps int64 exact in a stored answer', async () => {
    const pass = await enter('season')
    const first = await pass.xp(MAX_INT64, { 'idempotency-key': 'all' })
    expect((await pass.xp(MAX_INT64, { 'idempotency-key': 'all' })).text).toBe(first.text)
    expect(first.text).toContain('9223372036854775807')
  })

  it('answers the same claim alike: not as a repeat', async () => {
    const pass = await enter('season')
    const first = await pass.claim(1, 'free', { 'idempotency-key': 'claim 1' })
    expect(first.body.alreadyClaimed).toBe(false)
    expect((await pass.claim(1, 'free', { 'idempotency-key': 'claim 1' })).text).toBe(first.text)
    expect((await pass.claim(1, 'free')).body.alreadyClaimed).toBe(true)
  })

  it.each([
    ['amount', { amount: 2 }],
    ['source', { source: 'other' }],
    ['nodeId', { nodeId: 'unknown' }],
    ['runId', { runId: '00000000-0000-7000-8000-000000000000' }],
    ['scenarioId', { scenarioId: 'unknown' }],
  ])('is 422 with another %s of xp', async (_, change) => {
    const { player, place, runId } = await enter('season')
    const body = { ...place, runId, amount: 1, source: 'test' }
    await player.post(XP, body, { 'idempotency-key': 'k' })
    const before = await everything(player)
    const answer = await player.post(XP, { ...body, ...change }, { 'idempotency-key': 'k' })
    expect([answer.status, answer.body.error]).toEqual([422, 'idempotency key reused'])
    expect(await everything(player)).toEqual(before)
  })

  it('is 422 with another track or level of a claim', async () => {
    const pass = await enter('season')
    await pass.xp(400)
    await pass.claim(1, 'free', { 'idempotency-key': 'k' })
    for (const [level, track] of [
      [2, 'free'],
      [1, 'premium'],
    ] as const) {
      const { status, body } = await pass.claim(level, track, { 'idempotency-key': 'k' })
      expect([status, body.code]).toEqual([422, 'idempotency_key_reused'])
    }
  })

  it('is scoped by operation and by player', async () => {
    const [first, second] = [await enter('season'), await enter('season')]
    for (const pass of [first, second]) {
      expect((await pass.xp(1, { 'idempotency-key': 'shared' })).body.xp).toBe(1)
      expect((await pass.claim(1, 'free', { 'idempotency-key': 'shared' })).body.alreadyClaimed).toBe(false)
    }
  })

  it('does not store refusals', async () => {
    const pass = await enter('season')
    const key = { 'idempotency-key': 'later' }
    expect((await pass.claim(2, 'free', key)).body).toEqual(claimRefused('level not reached'))
    await pass.xp(MAX_INT64 - 1n)
    expect((await pass.claim(2, 'free', key)).body.success).toBe(true)
    expect((await pass.xp(2, key)).status).toBe(409)
    expect((await pass.xp(1, key)).status).toBe(200)
  })

  it.each([
    ['256 characters', 'k'.repeat(256)],
    ['none', ''],
  ])('is 400 with a key of %s', async (_, key) => {
    const pass = await enter('season')
    const before = await everything(pass.player)
    for (const answer of [
      await pass.xp(1, { 'idempotency-key': key }),
      await pass.claim(1, 'free', { 'idempotency-key': key }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
      expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual(['idempotencyKey'])
    }
    expect(await everything(pass.player)).toEqual(before)
  })

  it('gives fifty concurrent duplicates the one answer', async () => {
    const pass = await enter('season')
    const answers = await Promise.all(times(50, () => pass.xp(100, { 'idempotency-key': 'burst' })))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(await pass.progress()).toMatchObject({ level: 2, xp: 100 })
    const claims = await Promise.all(times(50, () => pass.claim(2, 'free', { 'idempotency-key': 'burst' })))
    expect(new Set(claims.map(({ text }) => text)).size).toBe(1)
    expect(claims[0]?.body.alreadyClaimed).toBe(false)
  })

  it('lets one of fifty different requests with one key through at once; the others are 422', async () => {
    const pass = await enter('season')
    const answers = await Promise.all(times(50, (index) => pass.xp(index + 1, { 'idempotency-key': 'one' })))
    const [done, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(49)
    expect((await pass.progress()).xp).toBe(done?.body.xp)
  })

  it('ends after seven days: the same key is a new one then, for xp and for premium', async () => {
    const pass = await enter('season', { wallet: { gems: 5000n } })
    const key = { 'idempotency-key': 'weekly' }
    const age = (days: number) =>
      game.app.pool.query(
        'UPDATE idempotency_keys SET created_at = now() - make_interval(days => $2) WHERE player_id = $1',
        [pass.player.playerId, days],
      )
    await pass.xp(1, key)
    await pass.premium('weekly')
    await age(6)
    expect((await pass.xp(1, key)).body.xp).toBe(1)
    expect((await pass.xp(2, key)).status).toBe(422)
    expect((await pass.premium('weekly')).body.success).toBe(true)
    await age(8)
    expect((await pass.xp(2, key)).body.xp).toBe(3)
    expect((await pass.xp(2, key)).body.xp).toBe(3)
    expect((await pass.premium('weekly')).body).toEqual(premiumRefused('premium already owned'))
  })

  it('takes a key of 255 characters', async () => {
    expect((await (await enter('season')).xp(1, { 'idempotency-key': 'k'.repeat(255) })).status).toBe(200)
  })
})

describe('what a call names must be there and be its own (spec 1: every call carries its scenario, node and run)', () => {
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
  ])('answers 404 on every endpoint: %s', async (_, change, error) => {
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

  it("answers 404 to another player's run, another scenario's run, and what is no run at all", async () => {
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

  it("answers 404 to another project's and another environment's scenario", async () => {
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

  it('answers 409 in a run that is not active any more', async () => {
    const { player, place, runId } = await enter('mixed')
    await game.app.pool.query("UPDATE runs SET status = 'cancelled' WHERE id = $1", [runId])
    for (const [path, body] of requests({ ...place, runId })) {
      const answer = await player.post(path, body)
      expect([path, answer.status, answer.body.error]).toEqual([path, 409, 'run not active'])
    }
  })

  it('keeps the state of two nodes, two scenarios and two players apart', async () => {
    await game.publish('two-passes', scenario([passNode('a'), passNode('b')], []))
    const a = await enter('two-passes', { nodeId: 'a' })
    await a.xp(100)
    expect((await a.on('b').progress()).xp).toBe(0)
    expect((await (await enter('two-passes', { nodeId: 'a' })).progress()).xp).toBe(0)
    expect((await at(a.player, 'season', '').progress()).xp).toBe(0)
  })

  it('keeps the state of a pass over its runs', async () => {
    const pass = await enter('season')
    await pass.xp(100)
    await game.app.pool.query("UPDATE runs SET status = 'cancelled' WHERE id = $1", [pass.runId])
    const next = at(pass.player, 'season', await pass.player.start('season'))
    expect(next.runId).not.toBe(pass.runId)
    expect((await next.xp(1)).body).toMatchObject({ xp: 101, leveledUp: false })
  })
})

describe('a player that is banned or deleted (spec 7.1)', () => {
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
  it('carries its request id, taken over from the caller when it is sane', async () => {
    const player = await game.player()
    const place = { scenarioId: 'season', nodeId: 'pass' }
    const named = await player.post(PROGRESS, place, { 'x-request-id': 'client-1:a.b_c' })
    expect(named.headers.get('x-request-id')).toBe('client-1:a.b_c')
    const refused = await player.post(PROGRESS, {}, { 'x-request-id': 'client-2' })
    expect([refused.body.requestId, refused.headers.get('x-request-id')]).toEqual(['client-2', 'client-2'])
    for (const insane of ['has space', 'x'.repeat(129), '<script>']) {
      const { body, headers } = await player.post(PROGRESS, {}, { 'x-request-id': insane })
      expect(body.requestId).toMatch(/^[0-9a-f-]{36}$/)
      expect(headers.get('x-request-id')).toBe(body.requestId)
    }
  })

  it('names the run as it was made, in whatever case it was sent', async () => {
    const { player, place, runId } = await enter('season')
    const body = { ...place, runId: runId.toUpperCase(), amount: 100, source: 'test' }
    expect((await player.post(XP, body)).body.plan.runId).toBe(runId)
    expect((await player.post(XP, { ...body, runId })).body.xp).toBe(200)
  })

  it('does not depend on the content type that was sent', async () => {
    const player = await game.player()
    const answers = await Promise.all(
      ['text/plain', 'application/json; charset=utf-8', 'nonsense'].map((type) =>
        player.post(PROGRESS, { scenarioId: 'season', nodeId: 'pass' }, { 'content-type': type }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  it('ignores members that it does not know and takes null as absent', async () => {
    const { player, place, runId } = await enter('season', { wallet: { gems: 950n } })
    const more = { unknown: [{ deep: times(3, String) }], level: 'x' }
    expect((await player.post(PREMIUM, { ...place, runId, idempotencyKey: null, ...more })).body.success).toBe(true)
  })

  it('to another method or path is 405 or 404', async () => {
    const wrong = await game.request('GET', XP)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await game.request('POST', '/sdk/v1/battlepass/nothing')).status).toBe(404)
    expect((await game.request('POST', `${XP}/`)).status).toBe(404)
  })
})
