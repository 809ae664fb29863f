import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditBooks } from '../support/audit.ts'
import { gold, item, passNode, scenario, season, tier } from '../support/definitions.ts'
import { type Game, startGame, times } from '../support/game.ts'

let game: Game

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

const place = { scenarioId: 'season', nodeId: 'pass' }

describe('racing claims (spec 4.1: idempotent on the server)', () => {
  it('grant the tier once when two hundred arrive at once', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    await player.post('/sdk/v1/battlepass/xp', { ...place, runId, amount: 100, source: 'test' })
    const answers = await Promise.all(
      times(200, () => player.post('/sdk/v1/battlepass/claim', { ...place, runId, level: 2, track: 'free' })),
    )
    expect(answers.filter(({ body }) => body.success && !body.alreadyClaimed)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.success && body.alreadyClaimed)).toHaveLength(199)
    for (const { body } of answers) expect(body.granted).toEqual([{ amount: 20, currency: 'gold', itemId: null }])
    const { data } = await player.graphql(
      '{ me { wallet { currency balance } walletLedger { edges { node { cause } } } } }',
    )
    expect(data.me.wallet).toEqual([{ currency: 'gold', balance: '20' }])
    expect(data.me.walletLedger.edges).toHaveLength(1)
  })

  it('show no deadlock when forty workers claim all tiers in opposite orders', async () => {
    const players = await Promise.all(times(4, () => game.player({ wallet: { gems: 950n } })))
    const runs = await Promise.all(players.map((player) => player.start('season')))
    await Promise.all(
      players.map((player, index) =>
        player.post('/sdk/v1/battlepass/xp', { ...place, runId: runs[index], amount: 400, source: 'test' }),
      ),
    )
    await Promise.all(
      players.map((player, index) => player.post('/sdk/v1/battlepass/premium', { ...place, runId: runs[index] })),
    )
    const tiers = [1, 2, 3, 4, 5].flatMap((level) => [
      { level, track: 'free' },
      { level, track: 'premium' },
    ])
    const workers = times(40, async (worker) => {
      const order = worker % 2 === 0 ? tiers : tiers.toReversed()
      for (const claim of order) {
        for (const [index, player] of worker % 4 < 2 ? [...players.entries()] : [...players.entries()].reverse()) {
          const { status, body } = await player.post('/sdk/v1/battlepass/claim', {
            ...place,
            runId: runs[index],
            ...claim,
          })
          expect([status, body.success]).toEqual([200, true])
        }
      }
    })
    await Promise.all(workers)
    for (const player of players) {
      const { body } = await player.post('/sdk/v1/battlepass/progress', place)
      expect(body.claimedTiers).toHaveLength(10)
    }
  })

  it('never grant a tier before the xp that unlocks it counts, in a hundred rounds', async () => {
    for (const _ of times(100, () => 0)) {
      const player = await game.player()
      const runId = await player.start('season')
      const [xp, claim] = await Promise.all([
        player.post('/sdk/v1/battlepass/xp', { ...place, runId, amount: 100, source: 'test' }),
        player.post('/sdk/v1/battlepass/claim', { ...place, runId, level: 2, track: 'free' }),
      ])
      expect(xp.body.level).toBe(2)
      const { body } = await player.post('/sdk/v1/battlepass/progress', place)
      if (claim.body.success) expect(body.claimedTiers).toEqual([{ level: 2, track: 'free' }])
      else expect([claim.body.error, body.claimedTiers]).toEqual(['level not reached', []])
    }
  })

  it('never grant a premium tier before the purchase of premium counts, in a hundred rounds', async () => {
    for (const _ of times(100, () => 0)) {
      const player = await game.player({ wallet: { gems: 950n } })
      const runId = await player.start('season')
      const [purchase, claim] = await Promise.all([
        player.post('/sdk/v1/battlepass/premium', { ...place, runId }),
        player.post('/sdk/v1/battlepass/claim', { ...place, runId, level: 1, track: 'premium' }),
      ])
      expect(purchase.body.success).toBe(true)
      const { body } = await player.post('/sdk/v1/battlepass/progress', place)
      if (claim.body.success) expect(body.claimedTiers).toEqual([{ level: 1, track: 'premium' }])
      else expect([claim.body.error, body.claimedTiers]).toEqual(['premium required', []])
    }
  })
})

describe('racing purchases (spec 4.1: charges the wallet)', () => {
  it('debit once and get one answer when two hundred have one key', async () => {
    const player = await game.player({ wallet: { gems: 5000n } })
    const runId = await player.start('season')
    const answers = await Promise.all(
      times(200, () => player.post('/sdk/v1/battlepass/premium', { ...place, runId, idempotencyKey: 'one' })),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.body.success).toBe(true)
    const { data } = await player.graphql('{ me { wallet { currency balance } } }')
    expect(data.me.wallet).toEqual([{ currency: 'gems', balance: '4050' }])
  })

  it('debit once when two hundred have different keys', async () => {
    const player = await game.player({ wallet: { gems: 5000n } })
    const runId = await player.start('season')
    const answers = await Promise.all(
      times(200, (index) =>
        player.post('/sdk/v1/battlepass/premium', { ...place, runId, idempotencyKey: `key ${index}` }),
      ),
    )
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error === 'premium already owned')).toHaveLength(199)
    const { data } = await player.graphql('{ me { wallet { balance } } }')
    expect(data.me.wallet).toEqual([{ balance: '4050' }])
  })

  it('succeed once when fifty passes are bought and the balance is one price', async () => {
    const nodes = times(50, (index) => passNode(`pass-${index}`))
    await game.publish('many', scenario(nodes, []))
    const player = await game.player({ wallet: { gems: 950n } })
    const runId = await player.start('many')
    const answers = await Promise.all(
      times(50, (index) =>
        player.post('/sdk/v1/battlepass/premium', { scenarioId: 'many', nodeId: `pass-${index}`, runId }),
      ),
    )
    expect(answers.filter(({ body }) => body.success)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.error === 'insufficient funds')).toHaveLength(49)
    const { data } = await player.graphql('{ me { wallet { balance } } }')
    expect(data.me.wallet).toEqual([{ balance: '0' }])
  })
})

describe('racing xp calls (spec 4.1)', () => {
  it('sum five hundred additions exactly and cross each level once', async () => {
    await game.publish(
      'steps',
      scenario(
        [
          passNode('pass', {
            levels: times(10, (index) => index * 50),
            tiers: [tier(10, 'free', [gold(1), item('cup')])],
          }),
        ],
        [],
      ),
    )
    const player = await game.player()
    const runId = await player.start('steps')
    const answers = await Promise.all(
      times(500, () =>
        player.post('/sdk/v1/battlepass/xp', { scenarioId: 'steps', nodeId: 'pass', runId, amount: 1, source: 'tick' }),
      ),
    )
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    expect(answers.map(({ body }) => body.xp).sort((a, b) => a - b)).toEqual(times(500, (index) => index + 1))
    expect(answers.filter(({ body }) => body.leveledUp)).toHaveLength(9)
    const { rows } = await game.app.pool.query<{ handle: string; data: string }>(
      'SELECT handle, data FROM events WHERE player_id = $1 AND node_id = $2 ORDER BY position',
      [player.playerId, 'pass'],
    )
    const levels = rows.filter(({ handle }) => handle === 'onLevelUp').map(({ data }) => JSON.parse(data).toLevel)
    expect(levels).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(rows.filter(({ handle }) => handle === 'onMaxLevel')).toHaveLength(1)
  })
})

describe('racing starts', () => {
  it('begin one run when fifty arrive at once', async () => {
    const player = await game.player()
    const answers = await Promise.all(times(50, () => player.post('/sdk/v1/scenarios/start', { scenarioId: 'season' })))
    expect(new Set(answers.map(({ body }) => body.runId)).size).toBe(1)
    expect(answers.filter(({ body }) => !body.resumed)).toHaveLength(1)
  })
})
