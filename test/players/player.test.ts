import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { MAX_INT64 } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { migrate } from '../../src/db/migrate.ts'
import { gold, item, passNode, scenario, tier } from '../harness/definitions.ts'
import { type Answer, type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { approve, type Operator, startOperator } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'
import { execute } from '../harness/sql.ts'

const PATH = '/sdk/v1/player/get'
const ME = `{ me { playerId nickname avatarUrl region language createdAt wallet { currency balance }
  inventory { itemId amount } identities { provider subject } } }`

let game: Game
let operator: Operator
beforeAll(async () => {
  game = await startGame()
  operator = await startOperator()
  const provider = { enabled: true, url: operator.url, secret: operator.secret }
  for (const environment of ['production', 'staging'])
    await game.setProviders({ default: provider, studio: provider }, environment)
})
afterAll(async () => {
  await game?.stop()
  await operator?.close()
})

const seen = (token: string): Promise<Answer> =>
  game.request('POST', PATH, { body: '{}', headers: { authorization: `Bearer ${token}` } })

/** Logs in as a subject and gives the access token. */
async function login(subject: string, options: Parameters<Game['login']>[1] & { answer?: object } = {}) {
  const { answer = {}, ...more } = options
  operator.answer(approve(JSON.stringify({ subject, ...answer })))
  const { status, body } = await game.login({}, more)
  expect(status).toBe(200)
  return body.accessToken as string
}

/** The answer of `me`, with the form of dates in REST. */
async function me(token: string): Promise<unknown> {
  const { data } = await game.graphql(token, ME)
  const { playerId: id, createdAt, ...others } = data.me
  return { playerId: id, createdAt: new Date(createdAt).toISOString(), ...others }
}
/** The answer of REST, with int64 as strings, as in GraphQL. Replaces them in the text, since a double would round. */
const asMe = ({ text }: Answer): unknown => JSON.parse(text.replaceAll(/"(balance|amount)":(\d+)/g, '"$1":"$2"'))

describe('a player (contract 13)', () => {
  it('reads its profile, wallet, inventory and identities, sorted and exact, and the same in GraphQL', async () => {
    const answer = { nickname: 'Ada', avatarUrl: 'https://a.example/a.png' }
    const token = await login('ada-1', { answer, region: 'eu-west', language: 'pt-BR', nickname: 'Ignored' })
    const headers = { authorization: `Bearer ${token}` }
    operator.answer(approve({ subject: 'b', nickname: 'Not on links' }))
    expect((await game.link(token, {}, { provider: 'studio' })).status).toBe(204)
    operator.answer(approve({ subject: 'a' }))
    expect((await game.link(token, {})).status).toBe(204)
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

    const rest = await seen(token)
    expect(rest.status).toBe(200)
    const { playerId, createdAt } = rest.body
    expect(new Date(createdAt).toISOString()).toBe(createdAt)
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000)
    expect(rest.text).toBe(
      `{"playerId":"${playerId}","nickname":"Ada","avatarUrl":"https://a.example/a.png","region":"eu-west",` +
        `"language":"pt-BR","createdAt":"${createdAt}",` +
        '"wallet":[{"currency":"Gems","balance":1},{"currency":"gold","balance":9007199254740993}],' +
        '"inventory":[{"itemId":"Banner","amount":1},{"itemId":"hat","amount":2}],' +
        '"identities":[{"provider":"custom","subject":"a"},{"provider":"custom","subject":"ada-1"},' +
        '{"provider":"custom:studio","subject":"b"}]}',
    )
    expect(await me(token)).toEqual(asMe(rest))
  })

  it('reads null and empty fields when new, and unknown members of the request are ignored', async () => {
    const player = await game.player()
    const expected = {
      playerId: player.playerId,
      nickname: null,
      avatarUrl: null,
      region: null,
      language: null,
      createdAt: expect.any(String),
      wallet: [],
      inventory: [],
      identities: [],
    }
    for (const body of ['{}', '{"anything":"is ignored"}', `{"playerId":"${(await game.player()).playerId}"}`]) {
      const answer = await player.post(PATH, body)
      expect([answer.status, answer.body]).toEqual([200, expected])
    }
    expect(await me(player.token)).toEqual(expected)
  })

  it('reads balances exactly over the int64 range', async () => {
    const player = await game.player({ wallet: { most: MAX_INT64, odd: 2n ** 53n + 1n, one: 1n } })
    const rest = await seen(player.token)
    expect(rest.text).toContain(
      '"wallet":[{"currency":"most","balance":9223372036854775807},{"currency":"odd","balance":9007199254740993},' +
        '{"currency":"one","balance":1}]',
    )
    expect(await me(player.token)).toEqual(asMe(rest))
  })

  it('reads its texts as they were sent, with any characters', async () => {
    const subjects = ['"', '\\', '</script>', "'; --", '\n', '😀'.repeat(255), '\u2028', ' ', '{"a":1}', 'null', 'é']
    const [first = '', ...others] = subjects
    const nickname = '\\"😀\u0001\u2028</x>'
    const token = await login(first, { answer: { nickname, avatarUrl: "javascript:'" }, region: '"', language: '\\' })
    for (const subject of others) {
      operator.answer(approve({ subject }))
      expect((await game.link(token, {})).status, subject).toBe(204)
    }
    const rest = await seen(token)
    const { identities, ...shown } = rest.body
    expect(shown).toMatchObject({ nickname, avatarUrl: "javascript:'", region: '"', language: '\\' })
    const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
    expect(identities).toEqual(subjects.sort(byBytes).map((subject) => ({ provider: 'custom', subject })))
    expect(await me(token)).toEqual(asMe(rest))
  })

  it('reads the changes of its latest login (contract 3)', async () => {
    const token = await login('grace', { nickname: 'Grace', region: 'eu' })
    expect((await seen(token)).body).toMatchObject({ nickname: 'Grace', avatarUrl: null, region: 'eu' })
    const again = await login('grace', { answer: { nickname: 'Amazing Grace', avatarUrl: 'https://a.example/g' } })
    for (const one of [token, again]) {
      const rest = await seen(one)
      expect(rest.body).toMatchObject({ nickname: 'Amazing Grace', avatarUrl: 'https://a.example/g', region: 'eu' })
      expect(await me(one)).toEqual(asMe(rest))
    }
  })

  it('is another player in another environment for the same subject (contract 2.3)', async () => {
    const token = await login('alan', { nickname: 'Here' })
    const staging = await login('alan', { nickname: 'There', sdkKey: game.stagingSdkKey })
    const [here, there] = [await seen(token), await seen(staging)]
    expect([here.body.nickname, there.body.nickname]).toEqual(['Here', 'There'])
    expect(here.body.playerId).not.toBe(there.body.playerId)
    for (const { body } of [here, there]) expect(body.identities).toEqual([{ provider: 'custom', subject: 'alan' }])
    expect([await me(token), await me(staging)]).toEqual([asMe(here), asMe(there)])
  })

  it('reads all rewards of a claim or none while claims run', async () => {
    const levels = times(40, (index) => index)
    const tiers = levels.map((level) => tier(level + 1, 'free', [{ currency: 'coin', amount: 1 }, item('coin', 1)]))
    const graph = scenario([passNode('pass', { levels, tiers })], [{ from: 'start', handle: 'onStart', to: 'pass' }])
    expect((await game.publish('coins', graph)).status).toBe(200)
    const player = await game.player()
    const place = { scenarioId: 'coins', nodeId: 'pass', runId: await player.start('coins') }
    await player.post('/sdk/v1/battlepass/xp', { ...place, amount: 40, source: 'test' })
    const counts = await Promise.all(
      levels.map(async (level) => {
        const claiming = player.post('/sdk/v1/battlepass/claim', { ...place, level: level + 1, track: 'free' })
        const { body } = await seen(player.token)
        expect((await claiming).body.success).toBe(true)
        return [body.wallet[0]?.balance ?? 0, body.inventory[0]?.amount ?? 0]
      }),
    )
    for (const [currency, items] of counts) expect(currency).toBe(items)
    const { body } = await seen(player.token)
    expect([body.wallet, body.inventory]).toEqual([
      [{ currency: 'coin', balance: 40 }],
      [{ itemId: 'coin', amount: 40 }],
    ])
  })
})

describe('reading a player (contract 5)', () => {
  async function expectRefused(player: TestPlayer, status: number, error: string): Promise<void> {
    const answer = await player.post(PATH, {})
    expect([answer.status, answer.body.error]).toEqual([status, error])
    expect(answer.text).not.toContain('Somebody')
    const { data, errors } = await player.graphql(ME)
    expect([data, errors?.[0]?.extensions.code]).toEqual([null, answer.body.code.toUpperCase()])
  }

  it.each(['banned', 'deleted'])('is refused to a %s player from the next call on', async (status) => {
    const player = await game.player({ wallet: { gold: 1n } })
    await game.app.pool.query("UPDATE players SET nickname = 'Somebody' WHERE id = $1", [player.playerId])
    expect((await player.post(PATH, {})).body.nickname).toBe('Somebody')
    await game.app.pool.query('UPDATE players SET status = $1 WHERE id = $2', [status, player.playerId])
    await expectRefused(player, 403, `player ${status}`)
    if (status === 'deleted') return
    await game.app.pool.query("UPDATE players SET status = 'active' WHERE id = $1", [player.playerId])
    const rest = await seen(player.token)
    expect(rest.body).toMatchObject({ nickname: 'Somebody', wallet: [{ currency: 'gold', balance: 1 }] })
    expect(await me(player.token)).toEqual(asMe(rest))
  })

  it('is 401 with the token of a player whose row is missing', async () => {
    const player = await game.player()
    await settled(game.app.pool)
    await game.app.pool.query('DELETE FROM events WHERE player_id = $1', [player.playerId])
    await game.app.pool.query('DELETE FROM players WHERE id = $1', [player.playerId])
    await expectRefused(player, 401, 'invalid token')
  })

  it('is 401 without a valid token of a player', async () => {
    const { token } = await game.player()
    for (const headers of [
      {},
      { 'x-sdk-key': game.sdkKey },
      { authorization: `Bearer ${game.sdkKey}` },
      { authorization: `Bearer ${game.platformKey}` },
      { authorization: `Bearer ${token.slice(0, -2)}` },
      { authorization: token },
    ]) {
      const answer = await game.request('POST', PATH, { body: '{}', headers: headers as Record<string, string> })
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid token'])
      const { data, errors } = await game.graphql(headers as Record<string, string>, ME)
      expect(data).toBeNull()
      expect(errors).toHaveLength(1)
    }
  })

  it.each(['', '[]', 'null', '{', '"x"', '\ufeff{}'])('is 400 with the body %j', async (body) => {
    const player = await game.player()
    const answer = await player.post(PATH, body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
  })
})

/** Runs a statement on the server of the tests. */
const onServer = (sql: string) => execute(inject('postgres').url, sql)

// Postgres has ICU as the locale provider of a database since version 15.
const withIcu = `SELECT FROM pg_collation
  WHERE collprovider = 'i' AND current_setting('server_version_num')::int >= 150000 LIMIT 1`
const hasIcu = (await onServer(withIcu)).rowCount === 1

describe('finding a player by an identity, for game servers', () => {
  const found = async (body: unknown) => {
    const { key } = await createServerKey(game.app.pool, game.environmentId)
    return game.request('POST', '/server/v1/players/find', {
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${key}` },
    })
  }

  it('answers what the player itself reads', async () => {
    const token = await login('find-me', { nickname: 'Ada' })
    operator.answer(approve({ subject: 'found by studio' }))
    expect((await game.link(token, {}, { provider: 'studio' })).status).toBe(204)
    const own = (await seen(token)).text
    for (const identity of [
      { provider: 'custom', subject: 'find-me' },
      { provider: 'custom:studio', subject: 'found by studio' },
    ])
      expect((await found(identity)).text).toBe(own)
  })

  it('is 404 for an unknown identity, and compares exactly', async () => {
    await login('Exact')
    for (const identity of [
      { provider: 'custom', subject: 'exact' },
      { provider: 'custom', subject: 'Exact ' },
      { provider: 'Custom', subject: 'Exact' },
      { provider: 'custom:studio', subject: 'Exact' },
      { provider: 'Default', subject: 'Exact' },
    ])
      expect([identity, (await found(identity)).body]).toMatchObject([identity, { error: 'player not found' }])
  })

  it('is 403 for a banned player', async () => {
    await login('banned-one')
    await game.app.pool.query(
      "UPDATE players SET status = 'banned' FROM identities i WHERE i.player_id = players.id AND i.subject = 'banned-one'",
    )
    const { status, body } = await found({ provider: 'custom', subject: 'banned-one' })
    expect([status, body.error]).toEqual([403, 'player banned'])
  })

  it('is 400 with every fault at once', async () => {
    expect((await found({ provider: 1, subject: '' })).body).toMatchObject({
      error: 'invalid request',
      details: [
        { path: 'provider', message: 'must be a string' },
        { path: 'subject', message: 'must be 1 to 255 characters' },
      ],
    })
    expect((await found({})).body.details).toHaveLength(2)
  })
})

describe('the lists of a player on a database with an ICU locale', () => {
  it.skipIf(!hasIcu)(
    `${hasIcu ? '' : 'SKIPPED, Postgres has no ICU: '}are sorted by bytes on both surfaces`,
    async () => {
      const name = `tierway_test_${randomBytes(8).toString('hex')}`
      await onServer(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING UTF8 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`)
      try {
        const url = new URL(inject('postgres').url)
        url.pathname = `/${name}`
        await migrate(url.href)
        const other = await startGame({ DATABASE_URL: url.href })
        try {
          const names = ['apple', 'Banner', 'Zinc', 'gold', 'a-b', 'ab', 'é', '10', '9', '_']
          const player = await other.player({ wallet: Object.fromEntries(names.map((currency) => [currency, 1n])) })
          for (const subject of names) {
            await other.app.pool.query(
              'INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, $2, $3, $4)',
              [player.environmentId, 'custom', subject, player.playerId],
            )
            await other.app.pool.query(
              'INSERT INTO inventory (environment_id, player_id, item_id, amount) VALUES ($1, $2, $3, 1)',
              [player.environmentId, player.playerId, subject],
            )
          }
          const { body } = await player.post(PATH, {})
          const { data } = await player.graphql(ME)
          const orders = [body, data.me].map(({ wallet, inventory, identities }) => [
            wallet.map(({ currency }: { currency: string }) => currency),
            inventory.map(({ itemId }: { itemId: string }) => itemId),
            identities.map(({ subject }: { subject: string }) => subject),
          ])
          const byBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
          expect(orders[0]).toEqual([byBytes, byBytes, byBytes])
          expect(orders[1]).toEqual(orders[0])
        } finally {
          await other.stop()
        }
      } finally {
        await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      }
    },
  )
})
