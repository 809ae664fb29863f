import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import { passNode, scenario, season, tier } from '../harness/definitions.ts'
import type { TestPlayer } from '../harness/game.ts'
import { at, CLAIMS_ONLY, enter, FUTURE, game, MAX_INT64, PAST, startPassGame, stopPassGame } from './pass-game.ts'

// The list of a player's seasons: one for each battle pass that it has begun, also those that are over.

const LIST = '/sdk/v1/seasons/list'
const QUERY = `{ seasons {
  scenarioId nodeId phase startsAt endsAt claimUntil level topLevel xp premiumOwned claimed } }`
const OPEN = { startsAt: '2020-03-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }
const GONE = { phase: null, startsAt: null, endsAt: null, claimUntil: null, topLevel: null }

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
const newId = (): string => {
  count += 1
  return `list-${count}`
}

async function publish(id: string, definition: Parameters<typeof game.publish>[1]): Promise<void> {
  const { status, text } = await game.publish(id, definition)
  expect(status, text).toBe(200)
}

async function list(player: TestPlayer) {
  const { status, body } = await player.post(LIST, {})
  expect([status, Object.keys(body)]).toEqual([200, ['seasons']])
  return body.seasons
}

/** Publishes an open season, and lets a player add xp to it. */
async function begin(player: TestPlayer, id: string, xp: number, definition = season()) {
  await publish(id, definition)
  const pass = at(player, id, await player.start(id))
  expect((await pass.xp(xp)).status).toBe(200)
  return pass
}

describe('the list of seasons', () => {
  it('has nothing of a player who has begun no pass, also when it has entered one', async () => {
    const { player, progress } = await enter('season')
    await progress()
    expect(await list(player)).toEqual([])
    expect((await player.graphql(QUERY)).data).toEqual({ seasons: [] })
  })

  it('has what the player has reached in seasons that run, have ended, are closed, or are planned again', async () => {
    const player = await game.player({ wallet: { gems: 950n } })
    const [running, ended, closed, planned] = [newId(), newId(), newId(), newId()]
    const pass = await begin(player, running, 150, season({ more: OPEN }))
    await pass.claim(1, 'free')
    const over = await begin(player, ended, 230)
    await over.premium()
    for (const level of [1, 2, 3]) for (const track of ['free', 'premium']) await over.claim(level, track)
    await begin(player, closed, 1000)
    await begin(player, planned, 1)
    await publish(ended, season({ more: CLAIMS_ONLY }))
    await publish(closed, season({ more: { ...PAST, startsAt: '2019-12-31T23:00:00-02:00' } }))
    await publish(planned, season({ more: FUTURE }))

    const expected = [
      {
        scenarioId: planned,
        nodeId: 'pass',
        phase: 'planned',
        startsAt: '2099-01-01T00:00:00.000Z',
        endsAt: '2099-02-01T00:00:00.000Z',
        claimUntil: '2099-02-01T00:00:00.000Z',
        level: 1,
        topLevel: 5,
        xp: 1,
        premiumOwned: false,
        claimed: 0,
      },
      {
        scenarioId: running,
        nodeId: 'pass',
        phase: 'running',
        startsAt: '2020-03-01T00:00:00.000Z',
        endsAt: '2099-01-01T00:00:00.000Z',
        claimUntil: '2099-01-01T00:00:00.000Z',
        level: 2,
        topLevel: 5,
        xp: 150,
        premiumOwned: false,
        claimed: 1,
      },
      {
        scenarioId: closed,
        nodeId: 'pass',
        phase: 'closed',
        startsAt: '2020-01-01T01:00:00.000Z',
        endsAt: '2020-02-01T00:00:00.000Z',
        claimUntil: '2020-02-01T00:00:00.000Z',
        level: 5,
        topLevel: 5,
        xp: 1000,
        premiumOwned: false,
        claimed: 0,
      },
      {
        scenarioId: ended,
        nodeId: 'pass',
        phase: 'ended',
        startsAt: '2020-01-01T00:00:00.000Z',
        endsAt: '2020-02-01T00:00:00.000Z',
        claimUntil: '2099-02-01T00:00:00.000Z',
        level: 3,
        topLevel: 5,
        xp: 230,
        premiumOwned: true,
        claimed: 6,
      },
    ]
    expect(await list(player)).toEqual(expected)
    const { data } = await player.graphql(QUERY)
    expect(data.seasons).toEqual(
      expected.map((one) => ({ ...one, phase: one.phase.toUpperCase(), xp: String(one.xp) })),
    )
  })

  it('has the last started season first, then those without a start, each by scenario and node in code units', async () => {
    const player = await game.player()
    const two = (more: object) => ({ more: more as never, levels: [0, 100], tiers: [tier(1, 'free')] })
    const nodes = [
      ...['b', 'a', 'Z', 'ä', 'a.b'].map((id) => passNode(id, two(OPEN))),
      passNode('newer', two({ ...OPEN, startsAt: '2020-03-01T00:00:00.001Z' })),
      passNode('open', two({})),
    ]
    const id = newId()
    const [first, second] = [`${id}-A`, `${id}-a`]
    for (const scenarioId of [second, first]) {
      await publish(scenarioId, scenario(nodes, []))
      const runId = await player.start(scenarioId)
      for (const nodeId of ['open', 'b', 'a', 'Z', 'ä', 'newer', 'a.b'])
        expect((await at(player, scenarioId, runId, nodeId).xp(1)).status).toBe(200)
    }
    const seasons = (await list(player)).map(({ scenarioId, nodeId }: Record<string, string>) => [scenarioId, nodeId])
    expect(seasons).toEqual([
      [first, 'newer'],
      [second, 'newer'],
      ...[first, second].flatMap((one) => ['Z', 'a', 'a.b', 'b', 'ä'].map((nodeId) => [one, nodeId])),
      [first, 'open'],
      [second, 'open'],
    ])
  })

  it('follows each call and each edit at once', async () => {
    const player = await game.player()
    const id = newId()
    const pass = await begin(player, id, 150)
    expect(await list(player)).toMatchObject([{ level: 2, topLevel: 5, xp: 150, claimed: 0 }])
    await pass.claim(2, 'free')
    await pass.xp(100)
    expect(await list(player)).toMatchObject([{ level: 3, xp: 250, claimed: 1 }])
    await publish(id, season({ levels: [0, 10, 20, 30], more: PAST }))
    expect(await list(player)).toMatchObject([{ phase: 'closed', level: 4, topLevel: 4, xp: 250, claimed: 1 }])
    await publish(id, season({ levels: [500, 600] }))
    expect(await list(player)).toMatchObject([{ phase: 'running', level: 0, topLevel: 2, claimed: 1 }])
  })

  it('keeps a pass that the current version no longer has, at its last level', async () => {
    const player = await game.player()
    const id = newId()
    const pass = await begin(player, id, 150)
    await pass.claim(1, 'free')
    const kept = { scenarioId: id, nodeId: 'pass', xp: 150, premiumOwned: false, claimed: 1 }
    await publish(id, scenario([passNode('other')], []))
    expect(await list(player)).toEqual([{ ...kept, ...GONE, level: 2 }])

    // A job stores the levels of players whom an edit moves.
    await publish(id, season({ levels: [0, 10, 20, 30, 1000] }))
    await storeLevels(game.app.pool, { settledMs: 0 })
    await publish(id, scenario([passNode('other')], []))
    expect(await list(player)).toEqual([{ ...kept, ...GONE, level: 4 }])
    const { data } = await player.graphql(QUERY)
    expect(data.seasons).toEqual([{ ...kept, ...GONE, level: 4, xp: '150' }])

    // A view on another pass is not the pass.
    const view = { id: 'pass', type: 'battle-pass-level', data: { levelNumber: '1', passNodeId: 'other' } }
    await publish(id, scenario([passNode('other'), view], []))
    expect(await list(player)).toEqual([{ ...kept, ...GONE, level: 4 }])

    await publish(id, season())
    expect(await list(player)).toMatchObject([{ ...kept, phase: 'running', level: 2, topLevel: 5 }])
  })

  it('has xp up to the largest 64-bit integer, exactly', async () => {
    const { player, xp } = await enter('season')
    await xp(MAX_INT64)
    const { text } = await player.post(LIST, {})
    expect(text).toContain(`"xp":${MAX_INT64}`)
    expect((await player.graphql('{ seasons { xp } }')).data.seasons).toEqual([{ xp: String(MAX_INT64) }])
  })

  it('is of the calling player alone, also in one group of many players', async () => {
    const passes = await Promise.all([1, 2, 3, 4, 5].map(() => enter('season')))
    await Promise.all(passes.map((pass, index) => pass.xp(100 * index + 1)))
    await Promise.all(passes.slice(1).map((pass) => pass.claim(1, 'free')))
    const lists = await Promise.all(passes.map(({ player }) => list(player)))
    expect(lists.map((seasons) => seasons.map(({ xp, claimed }: Record<string, number>) => [xp, claimed]))).toEqual(
      passes.map((_, index) => [[100 * index + 1, index === 0 ? 0 : 1]]),
    )
  })

  it('is not kept in memory, however many passes it has', async () => {
    const player = await game.player()
    const id = newId()
    const nodes = Array.from({ length: 20 }, (_, index) => passNode(`pass-${index}`, { price: null, tiers: [] }))
    await publish(id, scenario(nodes, []))
    const runId = await player.start(id)
    for (const index of nodes.keys()) await at(player, id, runId, `pass-${index}`).xp(1)
    const remembered = async () => {
      const text = await (await fetch(`${game.baseUrl}/metrics`)).text()
      return Number(/^tierway_remembered_bytes (\d+)/m.exec(text)?.[1])
    }
    const before = await remembered()
    expect(before).toBeGreaterThan(0)
    expect(await list(player)).toHaveLength(20)
    expect(await remembered()).toBe(before)
  })

  it('is refused to banned and deleted players, and without a token', async () => {
    const players = await Promise.all([enter('season'), enter('season')])
    const change = (field: string, playerId: string) =>
      game.graphql(
        game.platformKey,
        `mutation ($input: ${field[0]?.toUpperCase()}${field.slice(1)}Input!) { ${field}(input: $input) { player { playerId } } }`,
        { input: { playerId, reason: 'test' } },
      )
    const [banned, deleted] = players.map(({ player }) => player) as [TestPlayer, TestPlayer]
    expect((await change('banPlayer', banned.playerId)).errors).toBeUndefined()
    expect((await change('deletePlayer', deleted.playerId)).errors).toBeUndefined()
    const answers = await Promise.all(
      [banned, deleted, { ...banned, post: () => game.request('POST', LIST, { body: '{}' }) }].map((player) =>
        player.post(LIST, {}),
      ),
    )
    expect(answers.map(({ status, body }) => [status, body.code])).toEqual([
      [403, 'player_banned'],
      [403, 'player_deleted'],
      [401, 'invalid_token'],
    ])
  })
})
