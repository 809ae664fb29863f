import { afterAll, beforeAll, expect, it } from 'vitest'
import { gold, item, passNode, scenario, tier } from '../support/definitions.ts'
import { type Game, startGame } from '../support/game.ts'
import { approve, startOperator } from '../support/operator.ts'

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

it('shows a player itself, with what it holds, in order and exactly (decisions 7)', async () => {
  const operator = await startOperator(
    approve({ subject: 'ada-1', nickname: 'Ada', avatarUrl: 'https://a.example/a.png' }),
  )
  await game.setProviders({
    default: { enabled: true, url: operator.url, secret: operator.secret },
    studio: { enabled: true, url: operator.url, secret: operator.secret },
  })
  const { body } = await game.login({}, { region: 'eu-west', language: 'pt-BR', nickname: 'Ignored' })
  const headers = { authorization: `Bearer ${body.accessToken}` }
  operator.answer(approve({ subject: 'b', nickname: 'Not on links' }))
  await game.link(body.accessToken, {}, { provider: 'studio' })
  operator.answer(approve({ subject: 'a' }))
  await game.link(body.accessToken, {})
  const rewards = [gold(9_007_199_254_740_993n), item('hat', 2), item('Banner'), { currency: 'Gems', amount: 1 }]
  await game.publish(
    'gift',
    scenario(
      [passNode('pass', { tiers: [tier(1, 'free', rewards)] })],
      [{ from: 'start', handle: 'onStart', to: 'pass' }],
    ),
  )
  const start = await game.request('POST', '/sdk/v1/scenarios/start', { body: '{"scenarioId":"gift"}', headers })
  const claim = { scenarioId: 'gift', nodeId: 'pass', runId: start.body.runId, level: 1, track: 'free' }
  await game.request('POST', '/sdk/v1/battlepass/claim', { body: JSON.stringify(claim), headers })

  const { status, text, body: seen } = await game.request('POST', '/sdk/v1/player/get', { body: '{}', headers })
  expect(status).toBe(200)
  const { playerId, createdAt } = seen
  expect(new Date(createdAt).toISOString()).toBe(createdAt)
  expect(text).toBe(
    `{"playerId":"${playerId}","nickname":"Ada","avatarUrl":"https://a.example/a.png","region":"eu-west",` +
      `"language":"pt-BR","createdAt":"${createdAt}",` +
      '"wallet":[{"currency":"Gems","balance":1},{"currency":"gold","balance":9007199254740993}],' +
      '"inventory":[{"itemId":"Banner","amount":1},{"itemId":"hat","amount":2}],' +
      '"identities":[{"provider":"custom","subject":"a"},{"provider":"custom","subject":"ada-1"},' +
      '{"provider":"custom:studio","subject":"b"}]}',
  )
  const { data } = await game.graphql(
    body.accessToken,
    `{ me { id nickname avatarUrl region language createdAt wallet { currency balance } inventory { itemId amount }
      identities { provider subject } } }`,
  )
  expect(data.me).toMatchObject({ id: playerId, nickname: 'Ada', region: 'eu-west', language: 'pt-BR', createdAt })
  expect(data.me.identities).toEqual(seen.identities)
  expect(data.me.wallet).toContainEqual({ currency: 'gold', balance: '9007199254740993' })
  expect(data.me.inventory).toHaveLength(2)
  await operator.close()
})

it('shows a fresh player with nothing, and nobody a banned or deleted one', async () => {
  const player = await game.player()
  const { body } = await player.post('/sdk/v1/player/get', { anything: 'is ignored' })
  expect(body).toEqual({
    playerId: player.playerId,
    nickname: null,
    avatarUrl: null,
    region: null,
    language: null,
    createdAt: expect.any(String),
    wallet: [],
    inventory: [],
    identities: [],
  })
  for (const status of ['banned', 'deleted']) {
    await game.app.pool.query('UPDATE players SET status = $1 WHERE id = $2', [status, player.playerId])
    const answer = await player.post('/sdk/v1/player/get', {})
    expect([answer.status, answer.body.error]).toEqual([403, `player ${status}`])
    expect((await player.graphql('{ me { id } }')).errors?.[0]?.extensions.code).toBe(`PLAYER_${status.toUpperCase()}`)
  }
})
