import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Game, startGame } from '../support/game.ts'
import { approve, type Operator, startOperator, status } from '../support/operator.ts'

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
  testAuthProvider(input: $input) { status error subject attempts { status milliseconds error } } }`
async function rehearse(input: object, credentials = game.platformKey) {
  return game.graphql(credentials, TEST, {
    input: { environment: 'production', customData: '{"player":"ada"}', ...input },
  })
}

describe('a dry run of a login', () => {
  it('sends the very customData, signed, tells the subject, and makes nobody', async () => {
    const { data } = await rehearse({ customData: '{"n": 12345678901234567890, "player": "ada"}' })
    expect(data.testAuthProvider).toMatchObject({
      status: 200,
      error: null,
      subject: 'ada',
      attempts: [{ status: 200 }],
    })
    expect(operator.hits[0]?.customData).toBe('{"n": 12345678901234567890, "player": "ada"}')
    for (const table of ['players', 'identities', 'login_log', 'events', 'refresh_tokens']) {
      expect((await game.app.pool.query(`SELECT FROM ${table}`)).rowCount, table).toBe(0)
    }
  })

  it.each([
    ['a denial', status(403), 401, 'custom auth rejected', [403]],
    ['a failure, three times', status(500), 503, 'custom auth unavailable', [500, 500, 500]],
    ['a redirect', status(302), 502, 'custom auth invalid response', [302]],
    ['an answer that is none', approve('[]'), 502, 'custom auth invalid response', [200]],
    ['data over the limits', approve({ subject: 'a', data: { '': 1 } }), 401, 'custom auth invalid data', [200]],
  ])('tells what a client would get after %s (spec 7.1)', async (_what, respond, code, error, attempts) => {
    operator.answer(respond)
    const { data } = await rehearse({})
    expect(data.testAuthProvider).toMatchObject({ status: code, error, subject: null })
    expect(data.testAuthProvider.attempts.map((attempt: { status: number }) => attempt.status)).toEqual(attempts)
  })

  it('tells of a provider that is disabled or not there (spec 5)', async () => {
    for (const provider of ['off', 'nobody', 'google']) {
      const { data } = await rehearse({ provider })
      expect(data.testAuthProvider).toEqual({ status: 401, error: 'custom auth disabled', subject: null, attempts: [] })
    }
  })

  it('is for admins; who tries is in the audit log', async () => {
    const { errors } = await rehearse({}, await game.key('operator'))
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    expect(operator.hits).toEqual([])
    const { rows } = await game.app.pool.query("SELECT FROM audit_log WHERE action = 'auth_providers.test.denied'")
    expect(rows).toHaveLength(1)
  })
})
