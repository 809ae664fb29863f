import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { enter, game, PROGRESS, startPassGame, stopPassGame } from './pass-game.ts'

const PASS = { scenarioId: 'season', nodeId: 'pass' }
const NOTHING = { level: null, xp: null, premiumOwned: null, claimedTiers: null }
const NOBODY = '01900000-0000-7000-8000-000000000000'

let key: string

beforeAll(async () => {
  await startPassGame()
  key = (await createServerKey(game.app.pool, game.environmentId)).key
})
afterAll(stopPassGame)

const read = (players: unknown, more: object = {}) =>
  game.request('POST', '/server/v1/players/progress', {
    body: print({ ...PASS, ...more, players } as never),
    headers: { authorization: `Bearer ${key}` },
  })

const bind = (subject: string, playerId: string, environmentId = game.environmentId) =>
  game.app.pool.query('INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, $2, $3, $4)', [
    environmentId,
    ...['custom', subject, playerId],
  ])

describe('the progress of several players, for game servers', () => {
  it('is what each player reads itself, in the order of the request, by id or identity', async () => {
    const one = await enter('season', { wallet: { gems: 950n } })
    await one.xp(400)
    await one.premium()
    await one.claim(3, 'premium')
    const two = await game.player()
    await bind('two', two.playerId)
    const { status, body } = await read([
      { provider: 'custom', subject: 'two' },
      { playerId: one.player.playerId.toUpperCase() },
      { provider: 'custom', subject: 'two', playerId: null },
    ])
    const own = async (player: typeof two) => ({
      playerId: player.playerId,
      ...(await player.post(PROGRESS, PASS)).body,
      error: null,
    })
    expect([status, body.results]).toEqual([200, [await own(two), await own(one.player), await own(two)]])
    expect(body.results[1]).toMatchObject({ xp: 400, premiumOwned: true, claimedTiers: [{ level: 3 }] })
  })

  it('has an error for each player that the service refuses, and the progress of all others', async () => {
    const [fine, banned, deleted] = [await game.player(), await game.player(), await game.player()]
    for (const [field, { playerId }] of [
      ['banPlayer', banned],
      ['deletePlayer', deleted],
    ] as const) {
      const document = `mutation { ${field}(input: { playerId: "${playerId}", reason: "test" }) { player { id } } }`
      expect((await game.graphql(game.platformKey, document)).errors).toBeUndefined()
    }
    const staging = await game.app.service.run(createPlayer(game.stagingId, null))
    await bind('elsewhere', staging.playerId, game.stagingId)
    const { status, body } = await read([
      { playerId: banned.playerId },
      { playerId: NOBODY },
      { playerId: fine.playerId },
      { playerId: staging.playerId },
      { provider: 'custom', subject: 'elsewhere' },
      { playerId: deleted.playerId },
    ])
    expect(status).toBe(200)
    expect(body.results).toEqual([
      { playerId: banned.playerId, ...NOTHING, error: 'player banned' },
      { playerId: null, ...NOTHING, error: 'player not found' },
      { playerId: fine.playerId, level: 1, xp: 0, premiumOwned: false, claimedTiers: [], error: null },
      { playerId: null, ...NOTHING, error: 'player not found' },
      { playerId: null, ...NOTHING, error: 'player not found' },
      { playerId: deleted.playerId, ...NOTHING, error: 'player deleted' },
    ])
  })

  it('reads 200 players in one call', async () => {
    const players = await Promise.all(times(200, () => game.app.service.run(createPlayer(game.environmentId, null))))
    const { body } = await read(players.map(({ playerId }) => ({ playerId })))
    expect(body.results.map(({ playerId, level }: { playerId: string; level: number }) => [playerId, level])).toEqual(
      players.map(({ playerId }) => [playerId, 1]),
    )
  })

  it('is refused as a whole for an unknown scenario or node', async () => {
    await game.publish('other', season())
    const { playerId } = await game.player()
    for (const [more, error] of [
      [{ scenarioId: 'nowhere' }, 'scenario not found'],
      [{ scenarioId: 'other', nodeId: 'nowhere' }, 'node not found'],
    ] as const) {
      const { status, body } = await read([{ playerId: NOBODY }, { playerId }], more)
      expect([status, body.error]).toEqual([404, error])
    }
  })

  it('names every fault at its place, at once', async () => {
    const both = 'must have either playerId, or provider and subject'
    const { status, body } = await read(
      [
        { playerId: 'x' },
        { playerId: NOBODY, subject: 'a' },
        {},
        { provider: 'custom', subject: '' },
        { provider: 'custom' },
        { subject: 'a' },
        'a',
        { provider: 'x'.repeat(65), subject: 7 },
      ],
      { nodeId: 1 },
    )
    expect([status, body.details]).toEqual([
      400,
      [
        { path: 'players[0].playerId', message: 'must be an id' },
        { path: 'players[1]', message: both },
        { path: 'players[2]', message: 'must have playerId, or provider and subject' },
        { path: 'players[3].subject', message: 'must be 1 to 255 characters' },
        { path: 'players[4].subject', message: 'is required with provider' },
        { path: 'players[5].provider', message: 'is required with subject' },
        { path: 'players[6]', message: 'must be an object' },
        { path: 'players[7].provider', message: 'must be 1 to 64 characters' },
        { path: 'players[7].subject', message: 'must be a string' },
        { path: 'nodeId', message: 'must be a string' },
      ],
    ])
    for (const players of [[], times(201, () => ({ playerId: NOBODY }))])
      expect((await read(players)).body.details).toEqual([{ path: 'players', message: 'must have 1 to 200 elements' }])
  })
})
