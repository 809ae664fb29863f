import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { times } from '../harness/game.ts'
import {
  CLAIM,
  claimRefused,
  enter,
  everything,
  game,
  MAX_INT64,
  PREMIUM,
  premiumRefused,
  startPassGame,
  stopPassGame,
  XP,
} from './pass-game.ts'

beforeAll(startPassGame)
afterAll(stopPassGame)

/** The bytes of a text in UTF-8, each as one character, as a header carries them. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')

/** An xp call with these headers `Idempotency-Key`, each as its bytes: status and body of the answer. */
function sendKeys(token: string, body: object, keys: readonly string[]): Promise<[status: number, text: string]> {
  // As bytes: Node would encode a text together with the headers.
  const sent = Buffer.from(JSON.stringify(body))
  const length = ['Content-Length', String(sent.length)]
  const headers = ['Host', 'a', 'Authorization', `Bearer ${token}`, ...length]
  for (const key of keys) headers.push('Idempotency-Key', key)
  return new Promise((resolve, reject) => {
    const call = request(`${game.baseUrl}${XP}`, { method: 'POST', headers }, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      resolve([response.statusCode ?? 0, text])
    })
    call.on('error', reject).end(sent)
  })
}

describe('Idempotency-Key of xp and claim', () => {
  it('gives a repeated xp call the first answer, and adds the xp once (contract 4.1)', async () => {
    const pass = await enter('season')
    const first = await pass.xp(100, { 'idempotency-key': 'quest 1' })
    await pass.xp(5)
    const again = await pass.xp(100, { 'idempotency-key': 'quest 1' })
    expect(again.text).toBe(first.text)
    expect((await pass.progress()).xp).toBe(105)
  })

  it('is taken from the header or the body, and is 400 when the two differ', async () => {
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

  it('gives a repeated claim the first answer, without alreadyClaimed', async () => {
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

  it.each<[what: string, headers: string[], key: string]>([
    ['once', ['abc'], 'abc'],
    ['twice with the same value', ['quest 1', 'quest 1'], 'quest 1'],
    ['in quotation marks', ['"abc"'], 'abc'],
    ['with and without quotation marks', ['abc', '"abc"'], 'abc'],
    ['in quotation marks, with escapes', ['"a\\"b\\\\c"'], 'a"b\\c'],
    ['with a single quotation mark', ['"abc'], '"abc'],
    ['with a comma', ['a, b'], 'a, b'],
    ['in UTF-8', [bytesOf('ключ 🎮')], 'ключ 🎮'],
    ['in UTF-8 and quotation marks', [bytesOf('"ключ"')], 'ключ'],
    ['with 255 characters in UTF-8', [bytesOf('🎮'.repeat(255))], '🎮'.repeat(255)],
  ])('that is sent %s is the same key as in the body', async (_, headers, key) => {
    const pass = await enter('season')
    const call = { ...pass.place, runId: pass.runId, amount: 10 }
    const first = await pass.player.post(XP, { ...call, idempotencyKey: key })
    expect([first.status, first.body.xp]).toEqual([200, 10])
    expect(await sendKeys(pass.player.token, call, headers)).toEqual([200, first.text])
    expect((await pass.progress()).xp).toBe(10)
  })

  it.each<[what: string, headers: string[], message: string]>([
    ['twice with different values', ['a', 'b'], 'must be the same in each header Idempotency-Key'],
    ['in Latin-1', ['\xe9'], 'must be UTF-8 in the header Idempotency-Key'],
    ['in UTF-8 and in Latin-1', ['a', '\xe9'], 'must be UTF-8 in the header Idempotency-Key'],
    ['as an empty text in quotation marks', ['""'], 'must be 1 to 255 characters'],
    ['as 256 characters in UTF-8', [bytesOf('🎮'.repeat(256))], 'must be 1 to 255 characters'],
    ['with a space at its end', ['"a "'], 'must not begin or end with a space'],
    ['as a space in quotation marks', ['" "'], 'must not begin or end with a space'],
  ])('that is sent %s is refused, and nothing happens', async (_, headers, message) => {
    const pass = await enter('season')
    const call = { ...pass.place, runId: pass.runId, amount: 10 }
    const [status, text] = await sendKeys(pass.player.token, call, headers)
    expect([status, JSON.parse(text).details]).toEqual([400, [{ path: 'idempotencyKey', message }]])
    expect((await pass.progress()).xp).toBe(0)
  })

  it.each([
    ['a blank', ' '],
    ['spaces around it', ' a '],
    ['a line end', 'a\nb'],
    ['a NUL', 'a\0'],
    ['256 characters', '🎮'.repeat(256)],
    ['no characters', ''],
  ])('is 400 in the body and in GraphQL with %s', async (_, key) => {
    const pass = await enter('season')
    const input = { ...pass.place, runId: pass.runId, amount: '10', idempotencyKey: key }
    const rest = await pass.player.post(XP, { ...input, amount: 10 })
    const query = 'mutation ($input: AddXpInput!) { addXp(input: $input) { xp } }'
    const graphql = await pass.player.graphql(query, { input })
    expect([rest.status, rest.body.details]).toEqual([400, [{ path: 'idempotencyKey', message: expect.any(String) }]])
    expect(graphql.errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', details: rest.body.details })
  })

  it('lets one of fifty different concurrent requests through, and the others are 422', async () => {
    const pass = await enter('season')
    const answers = await Promise.all(times(50, (index) => pass.xp(index + 1, { 'idempotency-key': 'one' })))
    const [done, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(49)
    expect((await pass.progress()).xp).toBe(done?.body.xp)
  })

  it('expires after seven days, for xp and for premium', async () => {
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
})
