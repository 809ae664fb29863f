import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { causeText } from '../../src/base/log.ts'
import { type Service, spawnService, startService, stopService, type World } from '../harness/service.ts'
import { execute } from '../harness/sql.ts'
import { until } from '../harness/until.ts'
import { startUntrusted } from '../harness/untrusted.ts'
import { openWorld } from '../harness/world.ts'

const SECRET = 'secret-of-postgres'
const ROLE = `tierway_test_${randomBytes(6).toString('hex')}`

let world: World
let service: Service | undefined
let untrusted: Awaited<ReturnType<typeof startUntrusted>> | undefined

function urlWith(change: (url: URL) => void): string {
  const url = new URL(world.env.DATABASE_URL)
  change(url)
  return url.href
}

async function asSuperuser(...statements: string[]): Promise<void> {
  for (const sql of statements) await execute(world.env.DATABASE_URL, sql)
}

beforeAll(async () => {
  world = await openWorld()
  const name = new URL(world.env.DATABASE_URL).pathname.slice(1)
  await asSuperuser(`CREATE ROLE ${ROLE} LOGIN PASSWORD '${SECRET}'`, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`)
  untrusted = await startUntrusted({ isPostgres: true })
})
afterEach(async () => {
  await stopService(service)
  service = undefined
})
afterAll(async () => {
  untrusted?.close()
  if (world) await asSuperuser(`DROP ROLE IF EXISTS ${ROLE}`)
  await world?.close()
})

const causes: readonly (readonly [title: string, url: () => string, cause: RegExp])[] = [
  [
    'nothing listens',
    () =>
      urlWith((url) => {
        url.port = '1'
        url.password = SECRET
      }),
    /ECONNREFUSED/,
  ],
  [
    'the password is wrong',
    () =>
      urlWith((url) => {
        url.username = ROLE
        url.password = `not-${SECRET}`
      }),
    /password authentication failed/,
  ],
  [
    'the role is not allowed to connect',
    () =>
      urlWith((url) => {
        url.username = ROLE
        url.password = SECRET
      }),
    /permission denied for database/,
  ],
  [
    'the database does not exist',
    () =>
      urlWith((url) => {
        url.pathname = '/tierway_nowhere'
      }),
    /does not exist/,
  ],
  [
    'its certificate is not trusted',
    () => `postgres://tierway:${SECRET}@${untrusted?.host}/tierway?sslmode=verify-full`,
    /self-signed certificate/,
  ],
]

describe('a Postgres that cannot be used', () => {
  it.each(causes)('is logged once with its cause, and calls get 503: %s', async (_title, urlOf, cause) => {
    service = await startService({ ...world.env, DATABASE_URL: urlOf(), MIGRATE_ON_START: 'false' })
    const { baseUrl } = service
    const lines = () =>
      (service?.output ?? '')
        .split('\n')
        .filter((line) => line.includes('Postgres does not answer'))
        .map((line) => JSON.parse(line).err as string)
    await until('the cause is logged', () => lines().length > 0)
    const answers = await Promise.all([
      fetch(`${baseUrl}/readyz`),
      fetch(`${baseUrl}/sdk/v1/authorization/custom`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-sdk-key': `twsdk_${'a'.repeat(43)}` },
        body: '{"customData":{}}',
      }),
    ])
    expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.json()]))).toMatchObject([
      [503, { status: 'unavailable' }],
      [503, { error: 'unavailable' }],
    ])
    expect(lines()).toEqual([expect.stringMatching(cause)])
    expect(service.output).not.toContain(SECRET)
    expect(service.output).not.toContain('"level":50')
  })

  // A start waits for a Postgres that may come: `db/until-reachable.test.ts`.
  it.each(causes.filter(([title]) => title !== 'nothing listens'))(
    'ends the start with one line that has the cause: %s',
    async (_title, urlOf, cause) => {
      const started = spawnService({ ...world.env, DATABASE_URL: urlOf() })
      service = started
      expect(await started.exited).toEqual({ code: 1, signal: null })
      const [line = '', ...others] = started.output.trim().split('\n')
      expect(others).toEqual([])
      expect(JSON.parse(line)).toMatchObject({
        err: expect.stringMatching(cause),
        msg: expect.stringMatching(
          /^Tierway could not start: (Postgres cannot be used$|the certificate of Postgres is not from)/,
        ),
      })
      expect(line).not.toContain(SECRET)
    },
  )
})

it('a role that must not make tables is told to own its database, in one line', async () => {
  const name = `${ROLE}_empty`
  await asSuperuser(`CREATE DATABASE ${name}`)
  const own = urlWith((url) => {
    url.pathname = `/${name}`
    url.username = ROLE
    url.password = SECRET
  })
  const started = spawnService({ ...world.env, DATABASE_URL: own, DATABASE_CONECTIONS: '5' })
  service = started
  expect(await started.exited).toEqual({ code: 1, signal: null })
  const lines = started.output.trim().split('\n')
  const sentences = lines.map((line) => JSON.parse(line).msg).filter((msg) => !msg.startsWith('Postgres runs with'))
  expect(sentences).toEqual([
    'the variable DATABASE_CONECTIONS has no effect: did you mean DATABASE_CONNECTIONS?',
    'Tierway could not start: the role of DATABASE_URL must not make tables (permission denied for schema public): ' +
      'make it the owner of the database, with ALTER DATABASE … OWNER TO …',
  ])
  expect(started.output).not.toContain(SECRET)
  await asSuperuser(`DROP DATABASE ${name}`)
})

it('the cause of a refused connection names every address of the host', async () => {
  const lookup = (_host: string, _options: unknown, found: (error: null, addresses: object[]) => void) =>
    found(null, [
      { address: '127.0.0.1', family: 4 },
      { address: '127.0.0.2', family: 4 },
    ])
  const error = await new Promise((resolve) => {
    connect({ host: 'two.invalid', port: 1, lookup: lookup as never, autoSelectFamily: true }).once('error', resolve)
  })
  expect(causeText(error)).toBe('Error: connect ECONNREFUSED 127.0.0.1:1; Error: connect ECONNREFUSED 127.0.0.2:1')
})
