import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { scenario, season, tier } from '../harness/definitions.ts'
import { type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { ADD_XP, outcomeOfGraphql, outcomeOfRest, plain } from '../harness/surfaces.ts'
import { codeOf, type Input, type Mutation, payload } from './desk.ts'
import {
  act,
  balances,
  bonus,
  boss,
  CLAIM,
  closeDesk,
  everything,
  game,
  key,
  MAX_INT64,
  NOBODY,
  openDesk,
  PREMIUM,
  PROGRESS,
  pass,
  rowsOf,
  seasoned,
  XP,
} from './support-desk.ts'

beforeAll(openDesk)
afterAll(closeDesk)

const progress = async (player: TestPlayer, at = pass) => (await player.post(PROGRESS, at)).body

async function events({ playerId }: { playerId: string }) {
  await settled(game.app.pool)
  const { rows } = await game.app.pool.query(
    `SELECT handle, node_id AS "nodeId", data FROM events
     WHERE player_id = $1 AND type = 'crossing' ORDER BY position`,
    [playerId],
  )
  return rows.map((row) => ({ ...row, data: JSON.parse(row.data) }))
}

async function xpLedger({ playerId }: { playerId: string }) {
  const { rows } = await game.app.pool.query<{ amount: string; source: string }>(
    'SELECT amount, source FROM xp_ledger WHERE player_id = $1 ORDER BY id',
    [playerId],
  )
  return rows.map(({ amount, source }) => [amount, source])
}

describe('grantXp', () => {
  const grant = (player: TestPlayer, amount: bigint | number, more: Input = {}) =>
    act('grantXp', player, { ...pass, amount, idempotencyKey: key(), ...more })

  it("has the same effects as the player's own call: levels, plan, events, rewards and ledger", async () => {
    const [own, granted] = [await game.player(), await game.player()]
    const [runId] = [await own.start('season'), await granted.start('season')]
    for (const amount of [1, 99, 1, 150, 1000, 5]) {
      const expected = outcomeOfGraphql(
        await own.graphql(ADD_XP, { input: { ...pass, runId, amount: String(amount), source: 'quest' } }),
      )
      const { result } = payload(await grant(granted, amount, { source: 'quest' }))
      expect({ ok: plain(result) }).toEqual(expected)
    }
    expect(await progress(granted)).toEqual(await progress(own))
    expect(await events(granted)).toEqual(await events(own))
    expect(await xpLedger(granted)).toEqual(await xpLedger(own))
    expect(await balances(granted)).toEqual(await balances(own))
  })

  it('is refused without an active run, outside the season and past int64, and then writes nothing', async () => {
    const player = await game.player()
    expect(codeOf(await grant(player, 1))).toBe('RUN_NOT_ACTIVE')
    await player.start('season')
    await player.start('over')
    expect(codeOf(await grant(player, 1, { scenarioId: 'over' }))).toBe('SEASON_CLOSED')
    payload(await grant(player, MAX_INT64))
    const state = await everything(player)
    expect(codeOf(await grant(player, 1))).toBe('XP_LIMIT_EXCEEDED')
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toHaveLength(1)
  })

  it('checks the player first, then the scenario, the run and the node', async () => {
    const player = await game.player()
    const nothing = { scenarioId: 'nowhere', nodeId: 'nowhere' }
    expect(codeOf(await grant(player, 1, nothing))).toBe('SCENARIO_NOT_FOUND')
    expect(codeOf(await grant(player, 1, { nodeId: 'nowhere' }))).toBe('RUN_NOT_ACTIVE')
    await player.start('season')
    for (const nodeId of ['nowhere', 'gift']) expect(codeOf(await grant(player, 1, { nodeId }))).toBe('NODE_NOT_FOUND')
    const left = await game.player()
    for (const [action, who, code] of [
      ['banPlayer', player, 'PLAYER_BANNED'],
      ['deletePlayer', left, 'PLAYER_DELETED'],
    ] as const) {
      payload(await act(action, who))
      for (const at of [nothing, { nodeId: 'nowhere' }, {}]) expect(codeOf(await grant(who, 1, at))).toBe(code)
      expect(await rowsOf(who)).toHaveLength(1)
    }
    expect(codeOf(await act('grantXp', { playerId: NOBODY }, { ...nothing, amount: 1, idempotencyKey: key() }))).toBe(
      'PLAYER_NOT_FOUND',
    )
  })

  it('adds xp to the pass when it names a level node of the pass', async () => {
    const player = await game.player()
    await player.start('season')
    expect(payload(await grant(player, 120, { nodeId: 'third' })).result).toMatchObject({ level: 2, xp: '120' })
    expect((await progress(player)).xp).toBe(120)
  })

  it('sums exactly and crosses each level once when fifty grants race fifty xp calls of the player', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const outcomes = await Promise.all(
      times(50, () => [
        grant(player, 5).then(codeOf),
        player.post(XP, { ...pass, runId, amount: 5, source: 'match' }).then(({ status }) => status),
      ]).flat(),
    )
    expect(outcomes.filter((outcome) => outcome !== 'ok' && outcome !== 200)).toEqual([])
    expect((await progress(player)).xp).toBe(500)
    const crossed = (await events(player)).filter(({ handle }) => handle === 'onLevelUp')
    expect(crossed.map(({ data }) => data.toLevel)).toEqual([2, 3, 4, 5])
  })
})

describe('grantTier', () => {
  const give = (player: TestPlayer, level: number, track: 'free' | 'premium', more: Input = {}) =>
    act('grantTier', player, { ...pass, level, track, idempotencyKey: key(), ...more })

  it('grants a tier that is not reached, and a tier whose season is closed', async () => {
    const player = await game.player()
    await player.start('season')
    await player.start('over')
    const given = payload(await give(player, 5, 'free')).result
    expect(given).toMatchObject({ success: true, alreadyClaimed: false, granted: [{ amount: '50', currency: 'gold' }] })
    expect(payload(await give(player, 4, 'free', { scenarioId: 'over' })).result.success).toBe(true)
    expect((await progress(player)).claimedTiers).toEqual([{ level: 5, track: 'free' }])
    expect(await balances(player)).toEqual({ gold: '90' })
  })

  it('refuses a premium tier without premium and an unknown tier with the errors of a claim', async () => {
    const player = await game.player()
    await player.start('season')
    const state = await everything(player)
    expect(await give(player, 1, 'premium')).toEqual({ code: 'PREMIUM_REQUIRED', message: 'premium required' })
    expect(await give(player, 9, 'free')).toEqual({ code: 'TIER_NOT_FOUND', message: 'tier not found' })
    expect([await everything(player), await rowsOf(player)]).toEqual([state, []])
    payload(await act('grantPremium', player, pass))
    expect(payload(await give(player, 1, 'premium')).result).toMatchObject({
      success: true,
      granted: [{ itemId: 'skin-1', amount: '1' }],
    })
  })

  it('can be retried with the key of a refusal once the player has premium', async () => {
    const player = await game.player()
    await player.start('season')
    const idempotencyKey = key()
    expect(codeOf(await give(player, 1, 'premium', { idempotencyKey }))).toBe('PREMIUM_REQUIRED')
    payload(await act('grantPremium', player, pass))
    expect(payload(await give(player, 1, 'premium', { idempotencyKey })).result).toMatchObject({ success: true })
  })

  it('answers with the original grant after a claim, as a claim does after it, and grants nothing twice', async () => {
    const player = await seasoned()
    const { runId } = player
    const own = (await player.post(CLAIM, { ...pass, runId, level: 3, track: 'free' })).body
    const again = payload(await give(player, 3, 'free')).result
    expect(again).toEqual({
      success: true,
      alreadyClaimed: true,
      error: null,
      granted: [{ amount: '30', currency: 'gold', itemId: null }],
    })
    expect(own).toMatchObject({ success: true, alreadyClaimed: false })
    const given = payload(await give(player, 5, 'free')).result
    const late = (await player.post(CLAIM, { ...pass, runId, level: 5, track: 'free' })).body
    expect([given.alreadyClaimed, late]).toEqual([
      false,
      { success: true, alreadyClaimed: true, error: null, granted: [{ amount: 50, currency: 'gold', itemId: null }] },
    ])
    expect((await balances(player)).gold).toBe(String(35 + 30 + 50))
  })

  it('through a level node is the same claim, and is refused for another level', async () => {
    const player = await game.player()
    await player.start('season')
    const third = { nodeId: 'third' }
    expect(codeOf(await give(player, 2, 'free', third))).toBe('INVALID_REQUEST')
    expect(payload(await give(player, 3, 'free', third)).result).toMatchObject({ success: true, alreadyClaimed: false })
    expect(payload(await give(player, 3, 'free')).result).toMatchObject({ success: true, alreadyClaimed: true })
    expect((await events(player)).filter(({ nodeId }) => nodeId === 'third')).toHaveLength(1)
  })

  it('pays a player without an active run, and the next run crosses what is completed', async () => {
    const player = await game.player()
    const third = { nodeId: 'third' }
    for (const alreadyClaimed of [false, true]) {
      const { result } = payload(await give(player, 3, 'free', third))
      expect(result).toEqual({
        ...{ success: true, alreadyClaimed, error: null },
        granted: [{ amount: '30', currency: 'gold', itemId: null }],
      })
    }
    expect([await balances(player), (await progress(player)).claimedTiers]).toEqual([
      { gold: '30' },
      [{ level: 3, track: 'free' }],
    ])
    expect((await events(player)).filter(({ nodeId }) => nodeId === 'third')).toEqual([])
    const runId = await player.start('season')
    const claim = { ...pass, ...third, runId, track: 'free' }
    expect((await player.post(CLAIM, claim)).body).toMatchObject({ success: true, alreadyClaimed: true })
    expect((await events(player)).filter(({ nodeId }) => nodeId === 'third')).toHaveLength(1)
  })

  it('grants once when twenty-five calls race twenty-five claims of the player', async () => {
    const player = await seasoned()
    const { runId } = player
    const claims = await Promise.all(
      times(50, (index) =>
        index % 2 === 0
          ? give(player, 3, 'free').then((outcome) => payload(outcome).result)
          : player.post(CLAIM, { ...pass, runId, level: 3, track: 'free' }).then(({ body }) => body),
      ),
    )
    expect(claims.every(({ success }) => success)).toBe(true)
    expect(claims.filter(({ alreadyClaimed }) => !alreadyClaimed)).toHaveLength(1)
    expect((await balances(player)).gold).toBe('65')
  })
})

describe('resetTier', () => {
  const reset = (player: TestPlayer, level: number, track: string, more: Input = {}) =>
    act('resetTier', player, { ...pass, level, track, ...more })

  it('makes only that tier claimable again, and a new claim grants again', async () => {
    const player = await seasoned()
    const { runId } = player
    await player.post(CLAIM, { ...pass, runId, level: 2, track: 'premium' })
    expect(payload(await reset(player, 2, 'free')).changed).toBe(true)
    expect((await progress(player)).claimedTiers).toEqual([
      { level: 1, track: 'free' },
      { level: 2, track: 'premium' },
    ])
    expect((await balances(player)).gold).toBe('35')
    const again = (await player.post(CLAIM, { ...pass, runId, level: 2, track: 'free' })).body
    expect(again).toMatchObject({ success: true, alreadyClaimed: false, granted: [{ amount: 20, currency: 'gold' }] })
    expect((await balances(player)).gold).toBe('55')
  })

  it('changes nothing for a tier that is not claimed, and still adds an audit entry', async () => {
    const player = await seasoned()
    const state = await everything(player)
    expect(payload(await reset(player, 5, 'free')).changed).toBe(false)
    expect(payload(await reset(player, 2, 'premium')).changed).toBe(false)
    expect(await everything(player)).toEqual(state)
    expect((await rowsOf(player)).map(({ before }) => before.claimed)).toEqual([false, false])
  })

  it('through a level node resets the tier of that node, and is refused for another level', async () => {
    const player = await seasoned()
    await player.post(CLAIM, { ...pass, runId: player.runId, level: 3, track: 'free' })
    expect(codeOf(await reset(player, 2, 'free', { nodeId: 'third' }))).toBe('INVALID_REQUEST')
    expect(payload(await reset(player, 3, 'free', { nodeId: 'third' })).changed).toBe(true)
    expect((await progress(player)).claimedTiers).toEqual([
      { level: 1, track: 'free' },
      { level: 2, track: 'free' },
    ])
  })

  it('is SCENARIO_NOT_FOUND or NODE_NOT_FOUND for an unknown pass', async () => {
    const player = await seasoned()
    expect(codeOf(await reset(player, 2, 'free', { scenarioId: 'nowhere' }))).toBe('SCENARIO_NOT_FOUND')
    expect(codeOf(await reset(player, 2, 'free', { nodeId: 'gift' }))).toBe('NODE_NOT_FOUND')
    expect(await rowsOf(player)).toEqual([])
  })

  it('allows one more grant for each effective reset when ten resets race forty claims', async () => {
    const player = await seasoned()
    const { runId } = player
    const [claims, resets] = await Promise.all([
      Promise.all(times(40, () => player.post(CLAIM, { ...pass, runId, level: 3, track: 'free' }))),
      Promise.all(times(10, () => reset(player, 3, 'free'))),
    ])
    const granted = claims.filter(({ body }) => body.success && !body.alreadyClaimed).length
    const changed = resets.filter((outcome) => payload(outcome).changed).length
    const isClaimed = (await progress(player)).claimedTiers.some(({ level }: { level: number }) => level === 3)
    expect(granted).toBe(changed + (isClaimed ? 1 : 0))
    expect((await balances(player)).gold).toBe(String(35 + 30 * granted))
    for (const { body } of claims) expect(body.granted).toEqual([{ amount: 30, currency: 'gold', itemId: null }])
  })
})

describe('grantPremium and revokePremium', () => {
  it('give premium without a price or a purchase event, and make premium tiers claimable', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    expect(payload(await act('grantPremium', player, pass)).changed).toBe(true)
    expect(payload(await act('grantPremium', player, pass)).changed).toBe(false)
    expect((await progress(player)).premiumOwned).toBe(true)
    expect([await balances(player), (await events(player)).map(({ handle }) => handle)]).toEqual([{}, ['onStart']])
    expect((await player.post(CLAIM, { ...pass, runId, level: 1, track: 'premium' })).body.success).toBe(true)
    expect((await player.post(PREMIUM, { ...pass, runId })).body.error).toBe('premium already owned')
  })

  it('cannot grant premium that the pass does not sell, but can revoke premium of an earlier version', async () => {
    const free = { scenarioId: 'unsold', nodeId: 'pass' }
    expect((await game.publish('unsold', season())).status).toBe(200)
    const [player, owner] = [await game.player(), await game.player()]
    payload(await act('grantPremium', owner, free))
    expect((await game.publish('unsold', season({ price: null, tiers: [tier(1, 'free')] }))).status).toBe(200)
    expect(await act('grantPremium', player, free)).toEqual({
      code: 'PREMIUM_NOT_AVAILABLE',
      message: 'premium not available',
    })
    const runId = await player.start('unsold')
    expect((await player.post(PREMIUM, { ...free, runId })).body.error).toBe('premium not available')
    expect(await rowsOf(player)).toEqual([])
    expect((await progress(player, free)).premiumOwned).toBe(false)
    expect(payload(await act('revokePremium', owner, free)).changed).toBe(true)
  })

  it('need no run', async () => {
    const player = await game.player()
    expect(payload(await act('grantPremium', player, pass)).changed).toBe(true)
    expect(payload(await act('revokePremium', player, pass)).changed).toBe(true)
    expect(payload(await act('revokePremium', player, pass)).changed).toBe(false)
    expect(await progress(player)).toEqual({ level: 1, xp: 0, premiumOwned: false, claimedTiers: [] })
  })

  it('cannot revoke premium before claimed premium tiers are reset, after which it can be bought again', async () => {
    const player = await seasoned()
    const { runId } = player
    await player.post(CLAIM, { ...pass, runId, level: 3, track: 'premium' })
    const state = await everything(player)
    expect(await act('revokePremium', player, pass)).toEqual({
      code: 'PREMIUM_TIERS_CLAIMED',
      message: 'premium tiers claimed',
    })
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toEqual([])
    payload(await act('resetTier', player, { ...pass, level: 3, track: 'premium' }))
    expect(payload(await act('revokePremium', player, pass)).changed).toBe(true)
    expect((await player.post(CLAIM, { ...pass, runId, level: 3, track: 'premium' })).body.error).toBe(
      'premium required',
    )
    payload(await act('creditWallet', player, { currency: 'gems', amount: 900, idempotencyKey: key() }))
    expect((await player.post(PREMIUM, { ...pass, runId })).body).toMatchObject({ success: true, error: null })
    expect((await balances(player)).gems).toBe('0')
  })

  it('revoke premium with its claimed tiers in one action, which keeps rewards and free tiers', async () => {
    const player = await seasoned()
    const { runId } = player
    for (const level of [1, 3]) await player.post(CLAIM, { ...pass, runId, level, track: 'premium' })
    const money = await balances(player)
    const calls = times(3, () => act('revokePremium', player, { ...pass, withTiers: true }))
    const changed = (await Promise.all(calls)).map((one) => payload(one).changed)
    expect(changed.sort()).toEqual([false, false, true])
    expect(await balances(player)).toEqual(money)
    expect(await progress(player)).toMatchObject({
      xp: 250,
      premiumOwned: false,
      claimedTiers: [
        { level: 1, track: 'free' },
        { level: 2, track: 'free' },
      ],
    })
    expect((await rowsOf(player)).find(({ before }) => before.premiumOwned)).toMatchObject({
      action: 'player.revoke_premium',
      before: { ...pass, premiumOwned: true, claimedTiers: ['premium:1', 'premium:3'] },
      after: { ...pass, premiumOwned: false, claimedTiers: [] },
    })
    payload(await act('grantPremium', player, pass))
    expect((await player.post(CLAIM, { ...pass, runId, level: 3, track: 'premium' })).body).toMatchObject({
      success: true,
      alreadyClaimed: false,
    })
  })

  it('keep the xp and claims of the pass', async () => {
    const player = await seasoned()
    payload(await act('revokePremium', player, pass))
    expect(await progress(player)).toMatchObject({
      xp: 250,
      level: 3,
      premiumOwned: false,
      claimedTiers: [{ level: 1 }, { level: 2 }],
    })
  })

  it('leave no premium claim without premium when a revocation races a claim, in twelve rounds', async () => {
    for (const _ of times(12, () => 0)) {
      const player = await game.player()
      const runId = await player.start('season')
      payload(await act('grantPremium', player, pass))
      const [revoked, claimed] = await Promise.all([
        act('revokePremium', player, pass),
        player.post(CLAIM, { ...pass, runId, level: 1, track: 'premium' }),
      ])
      const both = [codeOf(revoked), claimed.body.error]
      expect([
        ['ok', 'premium required'],
        ['PREMIUM_TIERS_CLAIMED', null],
      ]).toContainEqual(both)
    }
  })
})

describe('an undo forgets the stored answers of what it undid, and of nothing else', () => {
  const CROSS = '/sdk/v1/scenarios/cross'
  const START = '/sdk/v1/scenarios/start'
  const shop = { scenarioId: 'shop', nodeId: 'shop', handle: 'onClick' }
  type Call = readonly [path: string, body: Input]

  beforeAll(async () => {
    const nodes = [{ id: 'shop', type: 'shop', data: {} }]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'shop' },
      { from: 'shop', handle: 'onClick', to: 'shop' },
    ]
    expect((await game.publish('shop', scenario(nodes, edges))).status).toBe(200)
  })

  const tierOf = (level: number, track = 'free') => ({ ...pass, level, track })
  const calls = ({ runId, shopRunId }: { runId: string; shopRunId: string }): Readonly<Record<string, Call>> => ({
    xp: [XP, { ...pass, runId, amount: 40 }],
    'xp of a level node': [XP, { ...pass, nodeId: 'third', runId, amount: 1 }],
    'xp of another pass': [XP, { ...bonus, runId, amount: 40 }],
    claim: [CLAIM, { ...tierOf(3), runId }],
    'claim of a level node': [CLAIM, { ...tierOf(3), nodeId: 'third', runId }],
    'claim of another tier': [CLAIM, { ...tierOf(1), runId }],
    premium: [PREMIUM, { ...bonus, runId }],
    start: [START, { scenarioId: 'shop' }],
    cross: [CROSS, { ...shop, runId: shopRunId }],
  })

  it.each<[undo: Mutation, input: (player: { shopRunId: string }) => Input, forgotten: readonly string[]]>([
    ['resetTier', () => tierOf(3), ['claim', 'claim of a level node']],
    ['resetTier', () => ({ ...tierOf(3), nodeId: 'third' }), ['claim', 'claim of a level node']],
    ['resetPass', () => pass, ['xp', 'xp of a level node', 'claim', 'claim of a level node', 'claim of another tier']],
    ['resetPass', () => bonus, ['xp of another pass', 'premium']],
    ['revokePremium', () => bonus, ['premium']],
    ['revokePremium', () => ({ ...bonus, withTiers: true }), ['premium']],
    ['cancelRun', ({ shopRunId }) => ({ runId: shopRunId }), ['start', 'cross']],
    ['resetReward', () => ({ ...pass, nodeId: 'gift' }), []],
    ['grantPremium', () => bonus, []],
    ['debitWallet', () => ({ currency: 'gold', amount: 1, idempotencyKey: key() }), []],
  ])('%s', async (undo, input, forgotten) => {
    const player = await seasoned()
    payload(await act('creditWallet', player, { currency: 'gems', amount: 5000, idempotencyKey: key() }))
    const { body: started } = await player.post(START, { scenarioId: 'shop', idempotencyKey: 'start' })
    const at = { runId: player.runId, shopRunId: started.runId as string }
    const send = ([name, [path, body]]: [string, Call]) => player.post(path, { ...body, idempotencyKey: name })
    const all = Object.entries(calls(at))
    const first = new Map<string, string>()
    for (const call of all) first.set(call[0], (await send(call)).text)

    payload(await act(undo, player, input(at)))

    const { rows } = await game.app.pool.query<{ key: string }>(
      `SELECT key FROM idempotency_keys WHERE player_id = $1 AND operation NOT LIKE 'support.%'`,
      [player.playerId],
    )
    const kept = new Set(rows.map(({ key: stored }) => stored))
    expect(all.map(([name]) => name).filter((name) => !kept.has(name))).toEqual(forgotten)
    for (const call of all) if (kept.has(call[0])) expect((await send(call)).text).toBe(first.get(call[0]))
  })

  it('so that the old key of a purchase buys premium again, and that of a claim pays again', async () => {
    const player = await seasoned()
    payload(await act('creditWallet', player, { currency: 'gems', amount: 5000, idempotencyKey: key() }))
    const { runId } = player
    const buy = () => player.post(PREMIUM, { ...bonus, runId, idempotencyKey: 'buy' })
    expect([(await buy()).body.success, (await buy()).body.success]).toEqual([true, true])
    const { gems } = await balances(player)
    payload(await act('revokePremium', player, bonus))
    expect((await buy()).body.success).toBe(true)
    expect((await progress(player, bonus)).premiumOwned).toBe(true)
    expect(Number(gems) - Number((await balances(player)).gems)).toBe(950)

    const claim = () => player.post(CLAIM, { ...tierOf(3), runId, idempotencyKey: 'claim' })
    const one = await claim()
    payload(await act('resetTier', player, tierOf(3)))
    const two = await claim()
    expect([two.text, two.text]).toEqual([one.text, (await claim()).text])
    expect((await balances(player)).gold).toBe(String(35 + 30 + 30))
  })

  it('also those of claimAll, and of grants of support', async () => {
    const player = await seasoned()
    const { runId } = player
    const claimAll = async () => {
      const document = 'mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level track } } }'
      const { data } = await player.graphql(document, { input: { ...pass, runId, idempotencyKey: 'all' } })
      return data.claimAll.claimed.length
    }
    expect([await claimAll(), await claimAll()]).toEqual([4, 4])
    payload(await act('resetTier', player, tierOf(3)))
    expect([await claimAll(), await claimAll()]).toEqual([1, 1])

    const grant = { ...pass, amount: 10, idempotencyKey: 'grant' }
    payload(await act('grantXp', player, grant))
    payload(await act('resetPass', player, pass))
    expect(payload(await act('grantXp', player, grant)).result.xp).toBe('10')
    expect(payload(await act('grantXp', player, grant)).result.xp).toBe('10')
    expect((await progress(player)).xp).toBe(10)
  })
})

describe('resetPass', () => {
  it('resets xp, premium and claims, balances the xp ledger, and keeps granted rewards', async () => {
    const player = await seasoned()
    const money = await balances(player)
    expect(payload(await act('resetPass', player, pass)).changed).toBe(true)
    expect(await progress(player)).toEqual({ level: 1, xp: 0, premiumOwned: false, claimedTiers: [] })
    expect(await xpLedger(player)).toEqual([
      ['250', 'match'],
      ['-250', 'support:reset'],
    ])
    expect(await balances(player)).toEqual(money)
  })

  it('lets levels be crossed, premium bought, tiers claimed and the pass completed once more', async () => {
    const player = await game.player({ wallet: { gems: 1900n } })
    const runId = await player.start('season')
    const play = async () => {
      const { body: added } = await player.post(XP, { ...pass, runId, amount: 400, source: 'match' })
      const { body: bought } = await player.post(PREMIUM, { ...pass, runId })
      const document = `mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level track } } }`
      const { data } = await player.graphql(document, { input: { ...pass, runId } })
      return [added.level, added.maxLevel, bought.success, data.claimAll.claimed.length]
    }
    expect(await play()).toEqual([5, true, true, 10])
    const first = (await events(player)).slice(1)
    expect(first.map(({ handle }) => handle)).toEqual([
      'onLevelUp',
      'onComplete',
      'onMaxLevel',
      'onPremiumPurchase',
      'onComplete',
    ])
    payload(await act('resetPass', player, pass))
    expect(await play()).toEqual([5, true, true, 10])
    expect((await events(player)).slice(1)).toEqual([...first, ...first])
    expect(await balances(player)).toEqual({ gems: '0', gold: '310' })
  })

  it('changes nothing of a pass without progress, and nothing of other passes', async () => {
    const player = await seasoned()
    await player.post(XP, { ...bonus, runId: player.runId, amount: 120, source: 'match' })
    payload(await act('resetPass', player, pass))
    expect(await progress(player, bonus)).toMatchObject({ xp: 120, level: 2 })
    const untouched = await game.player()
    expect(payload(await act('resetPass', untouched, pass)).changed).toBe(false)
    expect(await xpLedger(untouched)).toEqual([])
  })

  it('through a level node resets the pass of that node', async () => {
    const player = await seasoned()
    expect(payload(await act('resetPass', player, { ...pass, nodeId: 'third' })).changed).toBe(true)
    expect(await progress(player)).toMatchObject({ xp: 0, claimedTiers: [] })
    expect(await rowsOf(player)).toMatchObject([{ before: { nodeId: 'pass' } }])
  })

  it('changes nothing when it is repeated', async () => {
    const player = await seasoned()
    expect(payload(await act('resetPass', player, pass)).changed).toBe(true)
    expect(payload(await act('resetPass', player, pass)).changed).toBe(false)
    expect(await xpLedger(player)).toHaveLength(2)
  })

  it('removes earlier xp and keeps later xp when it races fifty xp calls', async () => {
    const player = await seasoned()
    const { runId } = player
    const calls = await Promise.all([
      ...times(25, () => player.post(XP, { ...pass, runId, amount: 10, source: 'match' }).then(({ status }) => status)),
      act('resetPass', player, pass).then((outcome) => (payload(outcome).changed ? 200 : 0)),
      ...times(25, () => player.post(XP, { ...pass, runId, amount: 10, source: 'match' }).then(({ status }) => status)),
    ])
    expect(new Set(calls)).toEqual(new Set([200]))
    const taken = (await xpLedger(player)).filter(([, source]) => source === 'support:reset')
    expect(taken).toHaveLength(1)
    expect((await progress(player)).xp).toBe(250 + 500 + Number(taken[0]?.[0]))
  })
})

describe('cancelRun', () => {
  it('ends the run, and lets the player start another with the same progress of the pass', async () => {
    const player = await seasoned()
    const { runId } = player
    payload(await act('cancelRun', player, { runId }))
    const run = (await player.post('/sdk/v1/scenarios/run', { runId })).body
    expect(run).toMatchObject({ runId, status: 'cancelled', active: [], cause: 'cancelled by support' })
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query(
      `SELECT run_id, data FROM events WHERE player_id = $1 AND type = 'run.cancelled'`,
      [player.playerId],
    )
    expect(rows).toEqual([{ run_id: runId, data: '{"cause":"cancelled by support"}' }])
    const refused = await player.post(XP, { ...pass, runId, amount: 1, source: 'match' })
    expect([refused.status, refused.body.error]).toEqual([409, 'run not active'])
    const next = (await player.post('/sdk/v1/scenarios/start', { scenarioId: 'season' })).body
    expect([next.resumed, next.runId === runId, next.plan.crossed]).toEqual([
      false,
      false,
      [{ nodeId: 'start', handle: 'onStart' }],
    ])
    const { body } = await player.post(XP, { ...pass, runId: next.runId, amount: 50, source: 'match' })
    expect(body).toMatchObject({ xp: 300, level: 4 })
  })

  it('keeps the last plan of the run', async () => {
    const player = await seasoned()
    const { runId } = player
    const { plan } = (await player.post('/sdk/v1/scenarios/run', { runId })).body
    payload(await act('cancelRun', player, { runId }))
    expect((await player.post('/sdk/v1/scenarios/run', { runId })).body.plan).toEqual(plan)
  })

  it('is RUN_NOT_FOUND for unknown runs and runs of other players, and RUN_NOT_ACTIVE for an ended run', async () => {
    const [player, bystander] = [await seasoned(), await seasoned()]
    for (const runId of [bystander.runId, NOBODY, 'no id'])
      expect(codeOf(await act('cancelRun', player, { runId }))).toBe('RUN_NOT_FOUND')
    payload(await act('cancelRun', player, { runId: player.runId.toUpperCase() }))
    expect(codeOf(await act('cancelRun', player, { runId: player.runId }))).toBe('RUN_NOT_ACTIVE')
    expect(await rowsOf(player)).toMatchObject([{ before: { runId: player.runId } }])
    expect((await bystander.post(XP, { ...pass, runId: bystander.runId, amount: 1, source: 'match' })).status).toBe(200)
  })

  it('lets at most one new run begin when it races twenty starts', async () => {
    const player = await seasoned()
    const [done, ...starts] = await Promise.all([
      act('cancelRun', player, { runId: player.runId }),
      ...times(20, () => player.post('/sdk/v1/scenarios/start', { scenarioId: 'season' })),
    ])
    payload(done)
    const started = new Set(starts.map(({ body }) => body.runId))
    started.delete(player.runId)
    expect(started.size).toBeLessThanOrEqual(1)
    expect(starts.filter(({ body }) => !body.resumed)).toHaveLength(started.size)
  })
})

describe('crossHandleForPlayer', () => {
  const cross = (player: TestPlayer, more: Input = {}) =>
    act('crossHandleForPlayer', player, { ...boss, idempotencyKey: key(), ...more })
  const crossings = async ({ playerId }: TestPlayer) => {
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query(
      'SELECT node_id, handle, by_client, data FROM events WHERE player_id = $1 ORDER BY position',
      [playerId],
    )
    return rows
  }

  it("has the same effects as a game server's call", async () => {
    const [served, helped] = [await game.player(), await game.player()]
    const runs = [await served.start('season'), await helped.start('season')]
    const { key: serverKey } = await createServerKey(game.app.pool, game.environmentId)
    const answer = await game.request('POST', '/server/v1/scenarios/cross', {
      body: print({ player: { playerId: served.playerId }, ...boss, idempotencyKey: 'won' }),
      headers: { authorization: `Bearer ${serverKey}` },
    })
    const { result } = payload(await cross(helped))
    expect([answer.body.plan.runId, result.plan.runId]).toEqual(runs)
    expect({ ok: plain(result) }).toEqual(outcomeOfRest(answer))
    expect(await crossings(helped)).toEqual(await crossings(served))
    expect(await balances(helped)).toEqual(await balances(served))
  })

  it('is refused without an active run, for a node that is not active, and for a handle of the service, and then writes nothing', async () => {
    const player = await game.player()
    expect(codeOf(await cross(player))).toBe('RUN_NOT_ACTIVE')
    await player.start('season')
    payload(await cross(player, { handle: 'onComplete' }))
    const state = await everything(player)
    expect(codeOf(await cross(player))).toBe('NODE_NOT_ACTIVE')
    expect(codeOf(await cross(player, { nodeId: 'pass', handle: 'onLevelUp' }))).toBe('HANDLE_IS_SERVER_OWNED')
    expect(codeOf(await cross(player, { handle: 'onElse' }))).toBe('INVALID_REQUEST')
    expect(codeOf(await cross(player, { nodeId: 'nowhere' }))).toBe('NODE_NOT_FOUND')
    expect(codeOf(await cross(player, { scenarioId: 'nowhere' }))).toBe('SCENARIO_NOT_FOUND')
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toHaveLength(1)
  })

  it('frees its key when its run is cancelled', async () => {
    const player = await seasoned()
    const once = { idempotencyKey: 'the boss' }
    const first = payload(await cross(player, once))
    payload(await act('cancelRun', player, { runId: player.runId }))
    const runId = await player.start('season')
    expect(payload(await cross(player, once)).result.plan).toEqual({ ...first.result.plan, runId })
  })
})
