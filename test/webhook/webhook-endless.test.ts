import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWebhook } from '../../src/accounts/webhook/webhook.ts'
import { type Json, print } from '../../src/base/json.ts'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { approve, startOperator } from '../harness/operator.ts'
import { flood, httpHead, startRawOperator } from '../harness/raw-operator.ts'
import { atScale } from '../harness/scale.ts'
import { type Service, type ServiceAnswer, startService, stopService, type World } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'
import {
  errorsOf,
  expectTokens,
  game,
  INVALID_RESPONSE,
  MIB,
  playersOf,
  provide,
  refusalOf,
  startWebhookGame,
  stopWebhookGame,
  storageOf,
  target,
  UNAVAILABLE,
} from './webhook-game.ts'

/** Between the calls of a neighbour: without it, they would keep a core busy for as long as the attempts last. */
const PACE_MS = 150

beforeAll(startWebhookGame)
afterAll(stopWebhookGame)

describe('an endpoint with a large answer', () => {
  const approval = '{"subject":"large"}'
  const LIMIT = 16 * MIB
  /** Fifty megabytes of spaces, compressed to about 48 KB. */
  const BOMB = gzipSync(Buffer.alloc(50_000_000, ' '), { level: 9 })
  const PIECE = Buffer.alloc(65_536, ' ')

  it('is refused at once when it announces more than 16 MiB', async () => {
    const operator = await startRawOperator((socket) =>
      socket.write(httpHead('200 OK', [`content-length: ${LIMIT + 1}`])),
    )
    await provide('large', operator.url)
    expect(refusalOf(await game.login({}, { provider: 'large' }))).toEqual(INVALID_RESPONSE)
    // The body never arrives: a service that waited for it would log `timeout`.
    expect(await errorsOf('large')).toEqual(['too_large'])
    expect(operator.hits).toHaveLength(1)
    await until('its connection is closed', () => operator.open === 0)
    await operator.close()
  })

  it('is accepted up to 16 MiB and refused with one byte more, compressed or not', async () => {
    const whole = Buffer.alloc(LIMIT, ' ')
    whole.write(approval)
    const tooMuch = Buffer.concat([whole, Buffer.from(' ')])
    const packed = new Map([whole, tooMuch].map((plain) => [plain, gzipSync(plain, { level: 1 })]))
    const operator = await startOperator(({ customData }, response) => {
      const { isWhole, isPacked, isChunked } = JSON.parse(customData)
      const plain = isWhole ? whole : tooMuch
      const body = (isPacked && packed.get(plain)) || plain
      response.writeHead(200, {
        ...(isPacked && { 'content-encoding': 'gzip' }),
        ...(!isChunked && { 'content-length': body.length }),
      })
      response.end(body)
    })
    await provide('large', operator.url)
    for (const isPacked of [false, true]) {
      for (const isChunked of [false, true]) {
        expectTokens(await game.login({ isWhole: true, isPacked, isChunked }, { provider: 'large' }))
        const refused = await game.login({ isWhole: false, isPacked, isChunked }, { provider: 'large' })
        expect(refusalOf(refused)).toEqual(INVALID_RESPONSE)
      }
    }
    // A busy machine may not read an answer within three seconds, and then requests it again.
    expect(operator.hits.length).toBeGreaterThanOrEqual(8)
    await operator.close()
  })

  describe('the memory of the service', () => {
    let world: World
    let service: Service
    let credentials: { sdkKey: string; platformKey: string; projectId: string }
    const METRICS_TOKEN = 'token of the metrics'

    beforeAll(async () => {
      world = await openWorld()
      const { rows } = await world.pool.query('SELECT project_id FROM environments WHERE id = $1', [
        world.environmentId,
      ])
      const projectId = rows[0].project_id
      credentials = {
        projectId,
        sdkKey: (await createSdkKey(world.pool, world.environmentId)).key,
        platformKey: (await createPlatformKey(world.pool, projectId, 'admin')).key,
      }
      service = await startService({ ...world.env, METRICS_TOKEN, WEBHOOK_PRIVATE_ADDRESSES: 'allow' })
    })
    afterAll(async () => {
      await stopService(service)
      await world?.close()
    })

    async function send(
      method: string,
      path: string,
      headers: Record<string, string>,
      body: Json,
    ): Promise<ServiceAnswer> {
      const response = await fetch(`${service.baseUrl}${path}`, { method, headers, body: print(body) })
      return { status: response.status, headers: response.headers, body: await response.json() }
    }

    async function setProvider(url: string): Promise<void> {
      const { platformKey, projectId } = credentials
      const body = {
        environment: 'production',
        authProviders: { custom: { default: { enabled: true, url, secret: 's' } } },
      }
      const headers = { authorization: `Bearer ${platformKey}` }
      const { status } = await send('PUT', `/platform/v1/projects/${projectId}/auth-providers`, headers, body)
      expect(status).toBe(200)
    }

    const login = (customData: Json) =>
      send('POST', '/sdk/v1/authorization/custom', { 'x-sdk-key': credentials.sdkKey }, { customData })

    async function residentBytes(): Promise<number> {
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` }
      const text = await (await fetch(`${service.baseUrl}/metrics`, { headers })).text()
      return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1])
    }

    it.each([1, atScale(20, 8)])(
      'stays bounded when %i concurrent answers are 100 MB, or 48 KB that inflate to 50 MB',
      async (count) => {
        const operator = await startOperator(({ customData }, response) => {
          const { kind } = JSON.parse(customData)
          if (kind === 'plain') return void response.end(approval)
          if (kind === 'bomb') return void response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB)
          let left = 100_000_000
          const pour = () => {
            while (left > 0 && !response.destroyed) {
              left -= PIECE.length
              if (!response.write(PIECE)) return
            }
            response.end()
          }
          response.on('drain', pour)
          pour()
        })
        await setProvider(operator.url)
        // A new process grows with its first work, whatever that is.
        for (const _ of times(10, () => 0)) await Promise.all(times(20, () => login({ kind: 'plain' })))
        const before = await residentBytes()
        const peaks: number[] = []
        for (const kind of ['flood', 'bomb', 'flood', 'bomb']) {
          const hits = operator.hits.length
          let peak = before
          let answers: ServiceAnswer[] | undefined
          void Promise.all(times(count, (index) => login({ index, kind }))).then((all) => {
            answers = all
          })
          await until('all are answered', async () => {
            peak = Math.max(peak, await residentBytes())
            return answers !== undefined
          })
          // A busy machine may not read an answer within three seconds, and then requests it again.
          for (const { status, body } of answers ?? [])
            expect([INVALID_RESPONSE, UNAVAILABLE]).toContainEqual([status, body.error, body.code])
          expect(operator.hits.length - hits).toBeGreaterThanOrEqual(count)
          peaks.push(peak)
        }
        // One whole body in any form would exceed the first bound, and many at a time the second.
        const [first = 0, second = 0, ...again] = peaks
        expect((Math.max(first, second) - before) / MIB).toBeLessThan(count === 1 ? 96 : 256)
        expect((Math.max(...again) - Math.max(first, second)) / MIB).toBeLessThan(64)
        await operator.close()
      },
    )

    it('stays bounded, and other calls are answered, during floods of one-byte chunks', async () => {
      const chunks = '1\r\n \r\n'.repeat(20_000)
      // Millions of chunks and then silence. They stay below 16 MiB, which would be another error.
      const pieces = atScale(600, 50)
      const operator = await startRawOperator((socket) => {
        socket.write(httpHead('200 OK', ['transfer-encoding: chunked']))
        flood(socket, chunks, pieces)
      })
      await setProvider(operator.url)
      const before = await residentBytes()
      let answers: ServiceAnswer[] | undefined
      void Promise.all(times(4, (index) => login({ index }))).then((all) => {
        answers = all
      })
      let [peak, others] = [before, 0]
      await until('all are answered', async () => {
        peak = Math.max(peak, await residentBytes())
        others += 1
        return answers !== undefined
      })
      for (const { status, body } of answers ?? []) expect([status, body.error, body.code]).toEqual(UNAVAILABLE)
      expect((peak - before) / MIB).toBeLessThan(256)
      // A service that is busy with the chunks alone answers once, at the end.
      expect(others).toBeGreaterThan(3)
      await operator.close()
    })
  })
})

describe('a hanging endpoint', () => {
  it('does not delay three hundred calls of players while three hundred logins wait for it', async () => {
    await game.publish('season', season())
    const players = await Promise.all(times(20, () => game.player()))
    for (const player of players) await player.start('season')
    const place = { scenarioId: 'season', nodeId: 'pass' }

    /** How long calls take, fifty at a time. The logins wait for three seconds at most. */
    async function playOn(count: number): Promise<{ median: number; longest: number }> {
      const calls: number[] = []
      let left = count
      const workers = times(50, async (worker) => {
        while (left > 0) {
          left -= 1
          const elapsed = startStopwatch()
          const { status } = await (players[worker % 20] ?? expect.fail()).post('/sdk/v1/battlepass/progress', place)
          calls.push(elapsed())
          expect(status).toBe(200)
        }
      })
      await Promise.all(workers)
      calls.sort((a, b) => a - b)
      return { median: calls[calls.length >> 1] ?? 0, longest: calls.at(-1) ?? 0 }
    }

    const operator = await startOperator(approve({ subject: 'patient' }))
    const other = await startOperator(approve({ subject: 'other' }))
    await provide('hanging', operator.url)
    await provide('other', other.url)
    const idle = await playOn(100)

    const waiting: (() => void)[] = []
    operator.answer((hit, response) => void waiting.push(() => approve({ subject: 'patient' })(hit, response)))
    const logins = Promise.all(times(300, (index) => game.login({ index }, { provider: 'hanging' })))
    await until('three hundred logins wait', () => waiting.length >= 300)

    // Other work uses connections now and then. A login that held a connection would hold it at every check.
    await until('nothing of the database is held', async () => {
      const { rows } = await game.app.pool.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend' AND state <> 'idle'`,
      )
      return rows.length === 0
    })
    const busy = await playOn(300)
    expect(busy.median).toBeLessThan(Math.max(250, 4 * idle.median))
    // A call that waited for the webhook would take three seconds.
    expect(busy.longest).toBeLessThan(Math.max(2_000, 4 * idle.longest))
    expectTokens(await game.login({}, { provider: 'other' }))

    operator.answer(approve({ subject: 'patient' }))
    for (const release of waiting) release()
    // On a busy machine the attempts of a login can be over by now.
    for (const { status } of await logins) expect([200, 503]).toContain(status)
    expectTokens(await game.login({}, { provider: 'hanging' }))
    expect(await playersOf('patient')).toHaveLength(1)
    await operator.close()
    await other.close()
  })

  it('does not delay other endpoints while forty of its answers, each one byte short, are in memory', async () => {
    const almostAll = Buffer.alloc(16 * MIB - 1, ' ')
    let begun = 0
    const operator = await startRawOperator((socket) => {
      begun += 1
      socket.write(httpHead('200 OK', [`content-length: ${16 * MIB}`]))
      socket.write(almostAll)
    })
    const other = await startOperator(approve({ subject: 'other' }))
    await provide('hoarder', operator.url)
    await provide('neighbour', other.url)
    const logins = Promise.all(times(40, (index) => game.login({ index }, { provider: 'hoarder' })))
    await until('all have begun', () => begun >= 40)

    // For as long as the first attempts last.
    const end = performance.now() + 3_000
    let count = 0
    for (; performance.now() < end; count += 1) {
      expectTokens(await game.login({}, { provider: 'neighbour' }))
      await pause(PACE_MS)
    }
    expect(other.hits).toHaveLength(count)
    await operator.close()
    for (const answer of await logins) expect(refusalOf(answer)).toEqual(UNAVAILABLE)
    await other.close()
  })

  it('does not affect other projects while sixteen providers of its project hold memory', async () => {
    const almostAll = Buffer.alloc(16 * MIB - 1, ' ')
    const hoarder = await startRawOperator((socket) => {
      socket.write(httpHead('200 OK', [`content-length: ${16 * MIB}`]))
      socket.write(almostAll)
    })
    const long = `{"subject":"other","data":{}${' '.repeat(MIB)}}`
    const other = await startOperator((_, response) => void response.end(long))
    const webhook = createWebhook({ allowPrivateAddresses: true })
    const call = (projectId: string, name: string, url: string) =>
      webhook.call(target(url, { key: `${projectId}/${name}`, projectId }), '{}')
    // Two whole answers for each provider would take all the memory for answers.
    const hoards = Promise.all(times(32, (index) => call('hoarder', String(index % 16), hoarder.url)))
    await until('all have begun', () => hoarder.hits.length >= 32)

    // For as long as the first attempts last.
    const end = performance.now() + 3_000
    let count = 0
    for (; performance.now() < end; count += 1) {
      const result = await call('neighbour', 'default', other.url)
      expect(result.kind === 'answered' && result.text === long).toBe(true)
      await pause(PACE_MS)
    }
    expect(other.hits).toHaveLength(count)
    await hoarder.close()
    for (const { kind, attempts } of await hoards) {
      expect(kind).toBe('unavailable')
      expect(['timeout', 'overloaded']).toContain(attempts[0]?.error)
    }
    await other.close()
    await webhook.close()
  })

  it('gets at most five hundred concurrent calls, and another endpoint is still called meanwhile', async () => {
    const waiting: (() => void)[] = []
    const crowded = await startOperator(
      (hit, response) => void waiting.push(() => approve({ subject: 'crowd' })(hit, response)),
    )
    const other = await startOperator(approve({ subject: 'other' }))
    const webhook = createWebhook({ allowPrivateAddresses: true })
    const call = (key: string, url: string, customData = '{}') => webhook.call(target(url, { key }), customData)
    // All at once: on a slow machine, the first of them would end before the last one begins.
    const calls = times(500, () => call('crowd', crowded.url))
    const oneMore = await call('crowd', crowded.url, '"one more"')
    expect(oneMore).toMatchObject({ kind: 'unavailable', attempts: [{ status: null, error: 'overloaded' }] })
    expect(await call('other', other.url)).toMatchObject({ kind: 'answered' })

    await until('an endpoint is asked', () => waiting.length > 0)
    crowded.answer(approve({ subject: 'crowd' }))
    for (const release of waiting) release()
    await Promise.all(calls)
    expect(crowded.hits.some(({ customData }) => customData.includes('one more'))).toBe(false)
    // Completed calls make room.
    expect(await call('crowd', crowded.url)).toMatchObject({ kind: 'answered' })
    await crowded.close()
    await other.close()
    await webhook.close()
  })
})

describe('a client that disconnects during a login', () => {
  it('leaves no partial writes and can log in later', async () => {
    const waiting: (() => void)[] = []
    const approval = { subject: 'gone', nickname: 'Gone', data: { a: 1, b: 2 } }
    const operator = await startOperator((hit, response) => void waiting.push(() => approve(approval)(hit, response)))
    await provide('gone', operator.url)
    for (const round of times(8, (index) => index)) {
      const body = print({ customData: { round }, provider: 'gone' })
      const client = request(`${game.baseUrl}/sdk/v1/authorization/custom`, {
        method: 'POST',
        headers: { 'x-sdk-key': game.sdkKey, 'content-length': Buffer.byteLength(body) },
      })
      client.on('error', () => undefined).end(body)
      await until('the endpoint is asked', () => waiting.length > 0)
      if (round % 2 === 0) client.destroy()
      waiting.shift()?.()
      client.destroy()
    }
    operator.answer(approve(approval))
    const { body } = await game.login({}, { provider: 'gone' })
    const { data } = await game.graphql(body.accessToken, '{ me { playerId nickname } }')
    const [player, ...others] = await playersOf('gone')
    expect([others, data.me]).toEqual([[], { playerId: player?.id, nickname: 'Gone' }])
    expect(await storageOf('gone')).toEqual({ a: '1', b: '2' })
    await settled(game.app.pool)
    const { rows } = await game.app.pool.query(
      "SELECT * FROM events WHERE type = 'player.created' AND player_id = $1",
      [player?.id],
    )
    expect(rows).toHaveLength(1)
    await operator.close()
  })
})
