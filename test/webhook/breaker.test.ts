import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  BREAKER_PAUSE_MS,
  BREAKER_WINDOW_MS,
  Breaker,
  type BreakerCall,
  type BreakerOutcome,
} from '../../src/accounts/webhook/breaker.ts'
import { times } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { game, startWebhookGame, stopWebhookGame, UNAVAILABLE } from './webhook-game.ts'

// The breaker of a provider: its rules with a clock of the test, and logins against an endpoint that fails.

describe('a breaker', () => {
  /** Ends calls, one after the other. */
  const failing = (breaker: Breaker, count: number, at: number) => {
    for (const _ of times(count, String)) breaker.admit(at)?.end('failed', at)
  }

  it('opens after so many failures in a row within a minute, and admits one probe after five seconds', () => {
    const breaker = new Breaker(3)
    failing(breaker, 2, 0)
    breaker.admit(1)?.end('answered', 1)
    failing(breaker, 2, 2)
    expect(breaker.state).toBe('closed')
    failing(breaker, 1, 2 + BREAKER_WINDOW_MS)
    expect(breaker.state, 'the first two are too old').toBe('closed')
    const opened = 3 + BREAKER_WINDOW_MS
    failing(breaker, 2, opened)
    expect([breaker.state, breaker.admit(opened + BREAKER_PAUSE_MS - 1)]).toEqual(['open', null])

    const probe = breaker.admit(opened + BREAKER_PAUSE_MS)
    expect([breaker.state, breaker.admit(opened + 100 * BREAKER_PAUSE_MS)]).toEqual(['half_open', null])
    const failed = opened + 200 * BREAKER_PAUSE_MS
    probe?.end('failed', failed)
    expect([breaker.state, breaker.admit(failed + BREAKER_PAUSE_MS - 1)]).toEqual(['open', null])
    breaker.admit(failed + BREAKER_PAUSE_MS)?.end('answered', failed + BREAKER_PAUSE_MS)
    expect(breaker.state).toBe('closed')
  })

  it('is closed by a call from before it opened that is answered, also while a probe is under way', () => {
    const breaker = new Breaker(1)
    const early = breaker.admit(0)
    failing(breaker, 1, 1)
    const probe = breaker.admit(1 + BREAKER_PAUSE_MS)
    early?.end('answered', 2 + BREAKER_PAUSE_MS)
    expect(breaker.state).toBe('closed')
    probe?.end('failed', 3 + BREAKER_PAUSE_MS)
    expect(breaker.state, 'the probe is a failure like any other').toBe('open')
  })

  it('tells each opening and each closing once, also with many calls under way', () => {
    const told: boolean[] = []
    const breaker = new Breaker(3, (isOpen) => told.push(isOpen))
    const calls = times(50, () => breaker.admit(0))
    for (const call of calls.slice(0, 48)) call?.end('failed', 1)
    expect([breaker.state, told]).toEqual(['open', [true]])
    for (const call of calls.slice(48)) call?.end('answered', 2)
    expect([breaker.state, told]).toEqual(['closed', [true, false]])
  })

  it('stays as it is after a call that says nothing of the endpoint, and admits another probe', () => {
    const breaker = new Breaker(2)
    failing(breaker, 1, 0)
    breaker.admit(0)?.end('neither', 0)
    failing(breaker, 1, 0)
    expect(breaker.state, 'the failures are still two in a row').toBe('open')
    breaker.admit(BREAKER_PAUSE_MS)?.end('neither', BREAKER_PAUSE_MS)
    expect(breaker.state).toBe('open')
    expect(breaker.admit(BREAKER_PAUSE_MS)).not.toBeNull()
  })

  it('never refuses while calls are answered, never admits two probes, and always admits one in the end', () => {
    const outcome = fc.constantFrom<BreakerOutcome>('answered', 'failed', 'neither')
    const step = fc.oneof(
      fc.record({ kind: fc.constant('begin' as const) }),
      fc.record({ kind: fc.constant('end' as const), which: fc.nat(), outcome }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 2 * BREAKER_PAUSE_MS }) }),
    )
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 60 }), (after, steps) => {
        const told: boolean[] = []
        const breaker = new Breaker(after, (isOpen) => told.push(isOpen))
        const running: BreakerCall[] = []
        let now = 0
        let inRow = 0
        for (const one of steps) {
          if (one.kind === 'wait') now += one.ms
          else if (one.kind === 'begin') {
            const { state } = breaker
            const call = breaker.admit(now)
            if (state === 'closed') expect(call).not.toBeNull()
            if (state === 'half_open') expect(call).toBeNull()
            if (call) running.push(call)
          } else if (running.length > 0) {
            const [call] = running.splice(one.which % running.length, 1)
            call?.end(one.outcome, now)
            if (one.outcome !== 'neither') inRow = one.outcome === 'failed' ? inRow + 1 : 0
            if (inRow === 0) expect(breaker.state).toBe('closed')
          }
          if (breaker.state !== 'closed') expect(inRow).toBeGreaterThanOrEqual(after)
          expect(told).toEqual(times(told.length, (index) => index % 2 === 0))
          expect(told.at(-1) ?? false).toBe(breaker.state !== 'closed')
        }
        for (const call of running) call.end('failed', now)
        expect(breaker.admit(now + BREAKER_PAUSE_MS)).not.toBeNull()
      }),
    )
  })
})

describe('logins through a provider with a breaker', () => {
  let operator: Operator
  let status = 200

  beforeAll(async () => {
    await startWebhookGame()
    operator = await startOperator((_hit, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"subject":"of a breaker"}')
    })
  })
  afterAll(async () => {
    await operator.close()
    await stopWebhookGame()
  })

  const set = async (breakerAfter: number | null, url = operator.url) =>
    expect(
      (await game.setProviders({ default: { enabled: true, url, secret: 's', attempts: 1, breakerAfter } })).status,
    ).toBe(200)

  /** The answer's status, and how often the webhook was called. */
  async function login(): Promise<[status: number, calls: number]> {
    const before = operator.hits.length
    const answer = await game.login({})
    if (answer.status !== 200) expect([answer.status, answer.body.error, answer.body.code]).toEqual(UNAVAILABLE)
    return [answer.status, operator.hits.length - before]
  }
  const open = async () =>
    (await game.graphql(game.platformKey, '{ authProviders(environment: "production") { openBreakers } }')).data
      .authProviders[0].openBreakers
  const gauge = async () =>
    /^tierway_webhook_breakers_open (\d+)$/m.exec(await game.app.metrics.registry.metrics())?.[1]

  it('fail at once after so many failures in a row, and are logged; a refusal is no failure', async () => {
    await set(3)
    status = 403
    for (const _ of times(4, String)) expect((await game.login({})).status).toBe(401)
    status = 500
    expect([await login(), await login(), await login()]).toEqual(times(3, () => [503, 1]))
    expect([await login(), await login()]).toEqual(times(2, () => [503, 0]))
    expect(await open()).toEqual(['default'])
    const { rows } = await game.app.pool.query('SELECT attempts FROM login_log ORDER BY id DESC LIMIT 1')
    expect(JSON.parse(rows[0].attempts)).toMatchObject([{ status: null, error: 'breaker_open' }])
    expect(await gauge()).toBe('1')
  })

  it('are not refused by a rehearsal that fails, and a rehearsal always calls', async () => {
    const before = operator.hits.length
    const rehearsal = `mutation { testAuthProvider(input: { environment: "production", customData: "{}" }) { outcome } }`
    const { data } = await game.graphql(game.platformKey, rehearsal)
    expect([data.testAuthProvider.outcome, operator.hits.length - before]).toEqual(['CUSTOM_AUTH_UNAVAILABLE', 1])
    expect(await login()).toEqual([503, 0])
  })

  it('call again with another limit, with another address, and without one', async () => {
    await set(4)
    expect(await open(), 'before any call').toEqual([])
    expect([await login(), await gauge()]).toEqual([[503, 1], '0'])
    await set(1)
    expect([await login(), await login()]).toEqual([
      [503, 1],
      [503, 0],
    ])
    await set(1, `${operator.url}?moved`)
    expect(await login()).toEqual([503, 1])
    await set(null)
    expect([await login(), await login()]).toEqual(times(2, () => [503, 1]))
    expect(await open()).toEqual([])
  })
})
