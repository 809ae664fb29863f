import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Game, startGame } from '../support/game.ts'
import { approve, type Operator, signatureOf, startOperator, status } from '../support/operator.ts'

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())
beforeEach(async () => {
  operator = await startOperator()
  await game.setProviders({
    default: { enabled: true, url: operator.url, secret: operator.secret },
    off: { enabled: false, url: operator.url, secret: operator.secret },
  })
})
afterEach(() => operator?.close())

const TEST = `mutation ($input: TestAuthProviderInput!) {
  testAuthProvider(input: $input) { status outcome subject attempts { status milliseconds error excerpt hint } } }`
async function rehearse(input: object, credentials = game.platformKey) {
  return game.graphql(credentials, TEST, {
    input: { environment: 'production', customData: '{"player":"ada"}', ...input },
  })
}

describe('a dry run of a login', () => {
  it('sends customData unchanged and signed, answers the subject and writes nothing (spec 4.4)', async () => {
    const { data } = await rehearse({ customData: '{"n": 12345678901234567890, "player": "ada"}' })
    expect(data.testAuthProvider).toMatchObject({
      status: 200,
      outcome: 'OK',
      subject: 'ada',
      attempts: [{ status: 200 }],
    })
    const [hit, ...others] = operator.hits
    if (!hit) throw new Error('no request arrived')
    expect(others).toEqual([])
    expect(hit.body.toString()).toBe('{"customData":{"n": 12345678901234567890, "player": "ada"}}')
    expect(hit.headers['x-signature']).toBe(signatureOf(operator.secret, hit.body))
    expect(hit.headers['content-type']).toBe('application/json')
    for (const table of ['players', 'identities', 'login_log', 'events', 'refresh_tokens']) {
      expect((await game.app.pool.query(`SELECT FROM ${table}`)).rowCount, table).toBe(0)
    }
  })

  it('answers what a login would store, byte for byte, and notes what it would ignore', async () => {
    const STORED =
      'mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { nickname avatarUrl data dataText notes } }'
    const stored = async () => {
      const input = { environment: 'production', customData: '{}' }
      return (await game.graphql(game.platformKey, STORED, { input })).data.testAuthProvider
    }
    operator.answer(
      approve(
        '{"subject":"ada","nickname":"Ada","avatarUrl":"https://a.example/ada.png","data":{"n":12345678901234567890, "x":1.0}}',
      ),
    )
    expect(await stored()).toEqual({
      nickname: 'Ada',
      avatarUrl: 'https://a.example/ada.png',
      data: { n: '12345678901234567890', x: 1 },
      dataText: '{"n":12345678901234567890,"x":1.0}',
      notes: [],
    })
    const nothing = { nickname: null, avatarUrl: null, data: null, dataText: null }
    operator.answer(approve({ subject: 'ada', nickname: 'a'.repeat(1_025), data: {} }))
    expect(await stored()).toEqual({ ...nothing, notes: ['NICKNAME_IGNORED'] })
    operator.answer(approve({ subject: 'ada', nickname: 'Ada', data: { '': 1 } }))
    expect(await stored()).toEqual({ ...nothing, notes: [] })
  })

  it.each([
    ['a denial', status(403), 401, 'CUSTOM_AUTH_REJECTED', [403]],
    ['three failures', status(500), 503, 'CUSTOM_AUTH_UNAVAILABLE', [500, 500, 500]],
    ['a redirect', status(302), 502, 'CUSTOM_AUTH_INVALID_RESPONSE', [302]],
    ['an invalid answer', approve('[]'), 502, 'CUSTOM_AUTH_INVALID_RESPONSE', [200]],
    ['data over the limits', approve({ subject: 'a', data: { '': 1 } }), 401, 'CUSTOM_AUTH_INVALID_DATA', [200]],
  ])('answers what a client would get after %s (spec 7.1)', async (_what, respond, code, outcome, attempts) => {
    operator.answer(respond)
    const { data } = await rehearse({})
    expect(data.testAuthProvider).toMatchObject({ status: code, outcome, subject: null })
    expect(data.testAuthProvider.attempts.map((attempt: { status: number }) => attempt.status)).toEqual(attempts)
  })

  it('shows the start of a refusal, without customData and secrets, and a hint', async () => {
    const token = 'a-token-of-the-player'
    const say = (code: number, body: string | Buffer, type = 'text/plain') =>
      operator.answer((_hit, response) => void response.writeHead(code, { 'content-type': type }).end(body))
    const attempt = async () => {
      const { data } = await rehearse({ customData: JSON.stringify({ player: 'ada', token }) })
      return data.testAuthProvider.attempts[0]
    }
    say(403, `unknown\r\n\ttoken ${token}, key ${operator.secret} \u0000 ${'é😀'.repeat(200)}`)
    const refused = await attempt()
    expect(refused).toMatchObject({ status: 403, hint: 'signature refused by the receiver?' })
    expect(refused.excerpt).toBe([...`unknown token …, key … ${'é😀'.repeat(200)}`].slice(0, 200).join(''))
    operator.answer((hit, response) => void response.writeHead(401).end(`bad ${hit.headers['x-signature']}`))
    expect(await attempt()).toMatchObject({ excerpt: 'bad …', hint: 'signature refused by the receiver?' })
    say(404, '{"error":"no such player"}', 'application/json')
    expect(await attempt()).toMatchObject({ status: 404, excerpt: '{"error":"no such player"}', hint: null })
    for (const body of ['', ' \n', Buffer.from([0xff, 0xfe, 0x00])]) {
      say(400, body)
      expect(await attempt()).toMatchObject({ status: 400, excerpt: null })
    }
    // As PHP writes JSON, in a URL, and as a part of the value.
    const escaped = JSON.stringify({ error: 'ab/cdefgh"ij' }).replaceAll('/', '\\/')
    for (const [sent, body, excerpt] of [
      ['ab/cdefgh"ij', escaped, '{"error":"…"}'],
      ['a b&c=d e f g h', `at ${encodeURIComponent('a b&c=d e f g h')} end`, 'at … end'],
      ['eyJhbGciOiJFZERTQSJ9', 'bad token eyJhbGciOi, sorry', 'bad token …, sorry'],
    ]) {
      say(403, body ?? '')
      const { data } = await rehearse({ customData: JSON.stringify({ player: 'ada', sent }) })
      expect(data.testAuthProvider.attempts[0].excerpt).toBe(excerpt)
    }
    say(403, 'no such pin: 123456789')
    expect((await rehearse({ customData: '{"pin":123456789}' })).data.testAuthProvider.attempts[0].excerpt).toBe(
      'no such pin: …',
    )
    say(500, 'a stack trace')
    expect(await attempt()).toMatchObject({ status: 500, excerpt: null, hint: null })
  })

  it('does not wait for the end of a refusal that never ends', async () => {
    operator.answer((_hit, response) => void response.writeHead(403).write('not today'))
    const { data } = await rehearse({})
    const { attempts } = data.testAuthProvider
    expect(attempts).toMatchObject([{ status: 403, excerpt: 'not today' }])
    expect(attempts[0].milliseconds).toBeLessThan(2_500)
  })

  it('answers CUSTOM_AUTH_DISABLED for a disabled or unknown provider (spec 5)', async () => {
    for (const provider of ['off', 'nobody', 'google']) {
      const { data } = await rehearse({ provider })
      expect(data.testAuthProvider).toEqual({
        status: 401,
        outcome: 'CUSTOM_AUTH_DISABLED',
        subject: null,
        attempts: [],
      })
    }
  })

  it('needs the admin role, and a refused attempt is audited', async () => {
    const { errors } = await rehearse({}, await game.key('operator'))
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    expect(operator.hits).toEqual([])
    const { rows } = await game.app.pool.query("SELECT FROM audit_log WHERE action = 'auth_providers.test.denied'")
    expect(rows).toHaveLength(1)
  })
})
