import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { makeAuthority } from '../harness/certificates.ts'
import { createDatabase, setOnDatabase } from '../harness/database.ts'
import { freePort } from '../harness/free-port.ts'
import { type RedisServer, startRedis, withoutRedis } from '../harness/redis.ts'
import { createWorld, type Service, spawnService, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { startUntrusted } from '../harness/untrusted.ts'
import { openWorld } from '../harness/world.ts'

let world: World
let service: Service | undefined

beforeAll(async () => {
  world = await openWorld()
})
afterEach(async () => {
  await stopService(service)
  service = undefined
})
afterAll(async () => {
  await world?.close()
})

const ready = async (): Promise<{ status: number; body: unknown }> => {
  const response = await fetch(`${service?.baseUrl}/readyz`)
  return { status: response.status, body: await response.json() }
}

describe('a Postgres with unsuitable settings', () => {
  it('is refused at the start when it runs with fsync=off and REQUIRE_FSYNC is true', async () => {
    const started = spawnService({ ...world.env, REQUIRE_FSYNC: 'true' })
    service = started
    expect(await started.exited).toEqual({ code: 1, signal: null })
    expect(started.errors + started.output).toContain(
      '  - Postgres runs with fsync=off: a crash of its machine can lose acknowledged calls. Turn fsync on, or set REQUIRE_FSYNC=false',
    )
    expect(started.errors + started.output).not.toContain('    at ')
  })

  it('is reported in the log when REQUIRE_FSYNC is false', async () => {
    service = await startService(world.env)
    for (const name of ['fsync', 'full_page_writes']) {
      expect(service.output).toContain(
        `"msg":"Postgres runs with ${name}=off: a crash of its machine can lose acknowledged calls"`,
      )
    }
  })

  it('leaves the service ready and is reported in /readyz while it refuses writes', async () => {
    service = await startService(world.env)
    expect(await ready()).toEqual({ status: 200, body: { status: 'ready' } })
    await stopService(service)
    const standby = await createDatabase()
    const copy = await createWorld(standby.url)
    try {
      await setOnDatabase(standby.url, 'default_transaction_read_only', 'on')
      service = await startService({ ...copy.env, MIGRATE_ON_START: 'false' })
      // On a busy machine, Postgres may be late to answer.
      await expect
        .poll(ready, { timeout: 60_000 })
        .toEqual({ status: 200, body: { status: 'ready', writes: 'refused', reason: 'Postgres is read-only' } })
    } finally {
      await stopService(service)
      service = undefined
      await copy.close()
      await standby.drop()
    }
  })
})

describe.skipIf(withoutRedis !== '')(`${withoutRedis}a Redis that cannot be used`, () => {
  let redis: RedisServer
  let untrusted: Awaited<ReturnType<typeof startUntrusted>>
  beforeAll(async () => {
    redis = await startRedis()
    untrusted = await startUntrusted()
  })
  afterAll(async () => {
    untrusted?.close()
    await redis?.remove()
  })

  it.each([
    ['nothing listens', 'redis://127.0.0.1:1', 'ECONNREFUSED'],
    ['the password is wrong', 'redis://tierway:wrong@HOST', 'WRONGPASS'],
    ['the user is not allowed to publish', 'redis://reader:secret-of-redis@HOST', 'NOPERM'],
    ['its certificate is not trusted', 'rediss://TLS', 'self-signed certificate'],
  ])('is logged in one line with its cause, without its password: %s', async (_title, url, cause) => {
    await redis.ask('ACL', 'SETUSER', 'reader', 'on', '>secret-of-redis', '+@connection', '+info', '+ping')
    service = await startService({
      ...world.env,
      REDIS_URL: url.replace('HOST', new URL(redis.url).host).replace('TLS', untrusted.host),
    })
    const lines = () =>
      (service?.output ?? '')
        .split('\n')
        .filter((line) => line.includes('Redis cannot be used'))
        .map((line) => JSON.parse(line).err as string)
    await until('the cause is logged', () => lines().length > 0)
    // On a busy machine Postgres can be late, too, which is another status for a moment.
    const degraded = JSON.stringify({ status: 200, body: { status: 'degraded' } })
    await until('/readyz says it', async () => JSON.stringify(await ready()) === degraded)
    expect(lines()).toEqual([expect.stringMatching(new RegExp(cause))])
    expect(service.output).not.toContain('secret-of-redis')
    expect(service.output).not.toContain('wrong@')
  })

  it.each([
    ['it has as many clients as it may', ['--maxclients', '1'], 'redis:', 'ERR max number of clients reached'],
    ['it offers no TLS', [], 'rediss:', 'Redis offers no TLS there: write redis:// in REDIS_URL'],
  ])('is logged with what Redis says to whoever connects: %s', async (_title, args, protocol, cause) => {
    const full = await startRedis(...args)
    const { hostname, port } = new URL(full.url)
    // It has connected before the service does.
    const first = connect(Number(port), hostname)
    await once(first, 'connect')
    try {
      service = await startService({ ...world.env, REDIS_URL: full.url.replace('redis:', protocol) })
      await until('the cause is logged', () => service?.output.includes(`"err":"Error: ${cause}`) ?? false)
    } finally {
      first.destroy()
      await full.remove()
    }
  })

  it('with TLS can be used, where NODE_EXTRA_CA_CERTS has the authority of its certificate', async () => {
    const authority = makeAuthority('the authority of Redis')
    const own = authority.issue('redis', { names: ['127.0.0.1'] })
    const folder = await mkdtemp(join(tmpdir(), 'tierway-redis-tls-'))
    const files = { ca: authority.cert, cert: own.cert, key: own.key }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, `${name}.pem`), text)
    const port = await freePort()
    const option = (name: string) => [`--tls-${name === 'ca' ? 'ca-cert' : name}-file`, join(folder, `${name}.pem`)]
    const secure = await startRedis(
      ...['--tls-port', String(port), '--tls-auth-clients', 'no', ...Object.keys(files).flatMap(option)],
    )
    try {
      const env = { ...world.env, REDIS_URL: `rediss://127.0.0.1:${port}` }
      service = await startService({ ...env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') })
      await until('Redis is used', () => service?.output.includes('Redis carries the live signal') ?? false)
      expect(await ready()).toEqual({ status: 200, body: { status: 'ready' } })
      await stopService(service)
      service = await startService(env)
      await until('the cause is logged', () => /"err":"Error: [^"]*certificate/.test(service?.output ?? ''))
    } finally {
      await secure.remove()
      await rm(folder, { recursive: true })
    }
  })
})
