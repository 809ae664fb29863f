import { type ClientRequest, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print, RawJson } from '../../src/base/json.ts'
import { season } from '../harness/definitions.ts'
import { type Answer, type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { checkAnswer } from '../harness/openapi.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'

const MIB = 1_048_576

let game: Game
let player: TestPlayer
let valid: Record<string, Record<string, Json>>
let before: Record<string, string>

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
  player = await game.player({ wallet: { gems: 950n } })
  const runId = await player.start('season')
  const place = { scenarioId: 'season', nodeId: 'pass' }
  valid = {
    '/sdk/v1/battlepass/progress': place,
    '/sdk/v1/battlepass/xp': { ...place, runId, amount: 100, source: 'test' },
    '/sdk/v1/battlepass/claim': { ...place, runId, level: 1, track: 'free' },
    '/sdk/v1/battlepass/premium': { ...place, runId, idempotencyKey: 'key' },
    '/sdk/v1/scenarios/start': { scenarioId: 'season' },
    '/sdk/v1/scenarios/cross': { ...place, runId, handle: 'onComplete' },
    '/sdk/v1/scenarios/run': { runId },
  }
  before = await countRows()
})
afterAll(async () => {
  await game.stop()
})

/** The rows of each table. `call_minutes` is left out: it counts refused calls, too, and is written each minute. */
async function countRows(): Promise<Record<string, string>> {
  const { pool } = game.app
  await settled(pool)
  const tables = await pool.query(
    "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'call_minutes'",
  )
  const counts = tables.rows.map(({ tablename }) => `SELECT '${tablename}' AS name, count(*)::text FROM "${tablename}"`)
  const { rows } = await pool.query(counts.join(' UNION ALL '))
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

type Kind = 'text' | 'int64' | 'int32' | 'track'
interface Field {
  readonly kind: Kind
  readonly optional?: boolean
  /** The most characters of a text. */
  readonly max?: number
  readonly mayBeEmpty?: boolean
}

const id: Field = { kind: 'text', max: 128 }
const inRun = { scenarioId: id, nodeId: id, runId: id }
/** Every field of every request of a player (contract 2.1). */
const REQUESTS: Record<string, Record<string, Field>> = {
  '/sdk/v1/battlepass/progress': { scenarioId: id, nodeId: id },
  '/sdk/v1/battlepass/xp': {
    ...inRun,
    amount: { kind: 'int64' },
    source: { kind: 'text', max: 64, mayBeEmpty: true, optional: true },
  },
  '/sdk/v1/battlepass/claim': { ...inRun, level: { kind: 'int32', optional: true }, track: { kind: 'track' } },
  '/sdk/v1/battlepass/premium': { ...inRun, idempotencyKey: { kind: 'text', max: 255, optional: true } },
  '/sdk/v1/scenarios/start': { scenarioId: id },
  '/sdk/v1/scenarios/cross': { ...inRun, handle: { kind: 'text', max: 64 } },
  '/sdk/v1/scenarios/run': { runId: id },
}
const ENDPOINTS = Object.keys(REQUESTS)

/** Values that no field accepts, by name, as JSON text. */
const NEVER: Record<string, string> = {
  'an array': '["season"]',
  'an empty array': '[]',
  'an object': '{"a":1}',
  true: 'true',
  false: 'false',
  '1.0': '1.0',
  '1e3': '1e3',
  '-0.5': '-0.5',
  '1e400': '1e400',
  NUL: '"a\\u0000b"',
  'a lone high surrogate': '"\\ud83d"',
  'a lone low surrogate': '"a\\udc00b"',
}
const FAULTS: Record<Kind, Record<string, string>> = {
  text: { ...NEVER, 'a number': '7', zero: '0' },
  int64: {
    ...NEVER,
    'a string': '"10"',
    'an empty string': '""',
    zero: '0',
    'minus zero': '-0',
    '-1': '-1',
    '2^63': '9223372036854775808',
    '-2^63-1': '-9223372036854775809',
    'a thousand digits': '9'.repeat(1000),
  },
  int32: {
    ...NEVER,
    'a string': '"1"',
    '-1': '-1',
    '2^31': '2147483648',
    '2^63': '9223372036854775808',
    'a thousand digits': '9'.repeat(1000),
  },
  track: {
    ...NEVER,
    'a number': '1',
    'an empty string': '""',
    'another case': '"Free"',
    'another word': '"gold"',
    'a name of Object.prototype': '"constructor"',
  },
}

function faultsOf({ kind, optional, max = 0, mayBeEmpty }: Field): [what: string, text: string | null][] {
  return [
    ...(optional ? [] : ([['null', 'null'] as const, ['missing', null] as const] satisfies [string, string | null][])),
    ...Object.entries(FAULTS[kind]),
    ...(kind === 'text' ? ([[`${max + 1} characters`, `"${'x'.repeat(max + 1)}"`]] satisfies [string, string][]) : []),
    ...(kind === 'text' && !mayBeEmpty ? ([['an empty string', '""']] satisfies [string, string][]) : []),
  ]
}

const TABLE = Object.entries(REQUESTS).flatMap(([path, fields]) =>
  Object.entries(fields).flatMap(([name, field]) =>
    faultsOf(field).map(([what, text]) => ({ path, name, what, text })),
  ),
)

/** The paths in the details of a 400; fails for any other answer. */
function faultyPaths({ status, body, text }: Answer): string[] {
  expect([status, body?.error, body?.code], text).toEqual([400, 'invalid request', 'invalid_request'])
  for (const { message } of body.details) expect(message).not.toBe('')
  return body.details.map(({ path }: { path: string }) => path).sort()
}

function withField(path: string, name: string, text: string | null): Record<string, Json> {
  const { [name]: _, ...others } = valid[path] ?? {}
  return text === null ? others : { ...others, [name]: new RawJson(text) }
}

describe('every field of every request (contract 2.1)', () => {
  it.each(TABLE)('$path refuses $name: $what', async ({ path, name, text }) => {
    expect(faultyPaths(await player.post(path, withField(path, name, text)))).toEqual([name])
  })

  it.each(ENDPOINTS)('is named together with all other faulty fields: %s', async (path) => {
    const names = Object.keys(REQUESTS[path] ?? {})
    const broken = Object.fromEntries(names.map((name) => [name, [name]]))
    expect(faultyPaths(await player.post(path, broken))).toEqual(names.sort())
    const required = names.filter((name) => !REQUESTS[path]?.[name]?.optional)
    expect(faultyPaths(await player.post(path, {}))).toEqual(required.sort())
  })

  it.each(ENDPOINTS)('takes the last of duplicate members, as JSON.parse does: %s', async (path) => {
    const [name = ''] = Object.keys(REQUESTS[path] ?? {})
    const body = print(valid[path] ?? {}).replace(/}$/, `,${JSON.stringify(name)}:7}`)
    expect(faultyPaths(await player.post(path, body))).toEqual([name])
  })

  it.each(ENDPOINTS)('is not read from __proto__ or constructor: %s', async (path) => {
    const body = `{"__proto__":${print(valid[path] ?? {})},"constructor":{"prototype":{"scenarioId":"season"}}}`
    expect(faultyPaths(await player.post(path, body))).not.toEqual([])
  })
})

describe('every body', () => {
  const utf8 = (text: string) => new TextEncoder().encode(text)
  const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
  const BODIES: Record<string, string | Uint8Array> = {
    empty: '',
    'white space': ' \n',
    'not JSON': 'scenarioId=season',
    'cut off': '{"scenarioId":"season"',
    'two documents': '{} {}',
    'with a comment': '{} // comment',
    'with a trailing comma': '{"scenarioId":"season",}',
    'a list': '[]',
    'a list of objects': '[{}]',
    null: 'null',
    'a string': '"{}"',
    'a number': '1',
    'invalid UTF-8': new Uint8Array([...utf8('{"scenarioId":"'), 0xff, 0xfe, ...utf8('"}')]),
    'an overlong encoding': new Uint8Array([...utf8('{"scenarioId":"'), 0xc0, 0x80, ...utf8('"}')]),
    'a surrogate encoded': new Uint8Array([...utf8('{"scenarioId":"'), 0xed, 0xa0, 0x80, ...utf8('"}')]),
    'UTF-16': new Uint8Array(Buffer.from('{"scenarioId":"season"}', 'utf16le')),
    'a byte order mark': '\uFEFF{"scenarioId":"season"}',
    'a no-break space': '\u00a0{"scenarioId":"season"}',
    '65 levels': nested(65),
    '100,000 levels': nested(100_000),
    '100,000 levels, never closed': `{"a":${'['.repeat(100_000)}`,
    'a raw control character': '{"scenarioId":"a\u0001"}',
  }
  const table = ENDPOINTS.flatMap((path) => Object.entries(BODIES).map(([what, body]) => ({ path, what, body })))

  it.each(table)('$path refuses a body that is $what', async ({ path, body }) => {
    expect(faultyPaths(await player.post(path, body))).toEqual([''])
  })

  it.each(ENDPOINTS)('may nest 64 levels: %s', async (path) => {
    const paths = faultyPaths(await player.post(path, nested(64)))
    expect(paths).not.toContain('')
  })

  it.each(ENDPOINTS)('is 413 above 1 MiB with a content length: %s', async (path) => {
    const { status, body } = await player.post(path, padded(path, MIB + 1))
    expect([status, body.error, body.code]).toEqual([413, 'payload too large', 'payload_too_large'])
  })

  it('that is refused leaves its connection usable for a client that sends the rest slowly', async () => {
    const path = '/sdk/v1/battlepass/progress'
    const { hostname, port } = new URL(game.baseUrl)
    const socket = connect({ host: hostname, port: Number(port) })
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    const begin = (length: number) =>
      `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${player.token}\r\ncontent-length: ${length}\r\n\r\n`
    socket.write(`${begin(MIB + 4)}{`)
    await until('it is refused', () => received.includes('"payload_too_large"'))
    for (let part = 0; part < 4; part += 1) {
      await pause(200)
      socket.write(' '.repeat(MIB / 4))
    }
    const text = JSON.stringify(valid[path])
    socket.write(`   ${begin(text.length)}${text}`)
    await until('the next call is answered', () => received.includes('HTTP/1.1 200 '))
    socket.destroy()
  })

  it.each(ENDPOINTS)('is 413 above 1 MiB when chunked: %s', async (path) => {
    const { status, body } = await postChunked(path, padded(path, MIB + 1))
    expect([status, body.error]).toEqual([413, 'payload too large'])
  })

  it.each(ENDPOINTS)('is 413 by its declared length alone: %s', async (path) => {
    const answer = await send(path, { 'content-length': String(2 ** 40) }, (call) => call.flushHeaders())
    expect([answer.status, answer.body.error]).toEqual([413, 'payload too large'])
  })

  it('counts as a bad request when the client disconnects before its end', async () => {
    const path = '/sdk/v1/battlepass/xp'
    const refused = async () => {
      const { values } = await game.app.metrics.requests.get()
      return values.find(({ labels }) => labels.route === path && labels.status === 400)?.value ?? 0
    }
    const before = await refused()
    const call = request(`${game.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${player.token}`, 'content-length': '100' },
    })
    call.on('error', () => undefined)
    call.write('{"scenarioId":', () => call.destroy())
    await until('it is counted', async () => (await refused()) === before + 1)
  })

  it('may be 1 MiB exactly, with a content length and chunked', async () => {
    const path = '/sdk/v1/battlepass/progress'
    expect((await player.post(path, padded(path, MIB))).status).toBe(200)
    expect((await postChunked(path, padded(path, MIB))).status).toBe(200)
  })

  it('is not checked without a token', async () => {
    for (const path of ENDPOINTS)
      expect((await game.request('POST', path, { body: '[' })).body.error).toBe('invalid token')
  })
})

describe('the refused requests of this file', () => {
  it('write nothing', async () => {
    expect(await countRows()).toEqual(before)
    const { body } = await player.post('/sdk/v1/battlepass/progress', valid['/sdk/v1/battlepass/progress'])
    expect(body).toEqual({ level: 1, xp: 0, premiumOwned: false, claimedTiers: [] })
  })

  it('succeed without their fault, except a crossing of the pass, which is 403', async () => {
    for (const path of ENDPOINTS) {
      const { status } = await player.post(path, valid[path])
      // The pass is not a client node, so a valid crossing of it is 403.
      expect([path, status]).toEqual([path, path.endsWith('/cross') ? 403 : 200])
    }
  })
})

/** The valid body of an endpoint, padded with white space to a size. */
function padded(path: string, bytes: number): string {
  const text = print(valid[path] ?? {})
  return text + ' '.repeat(bytes - text.length)
}

function postChunked(path: string, text: string): Promise<Answer> {
  return send(path, { 'transfer-encoding': 'chunked' }, (call) => {
    for (let at = 0; at < text.length; at += 65_536) call.write(text.slice(at, at + 65_536))
    call.end()
  })
}

/** Sends a request with framing that fetch cannot send. */
function send(path: string, headers: Record<string, string>, write: (call: ClientRequest) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { authorization: `Bearer ${player.token}`, ...headers } }
    const call = request(`${game.baseUrl}${path}`, options, async (response) => {
      let text = ''
      for await (const chunk of response.setEncoding('utf8')) text += chunk
      const answer = {
        status: response.statusCode ?? 0,
        headers: new Headers(response.headers as Record<string, string>),
        text,
        body: JSON.parse(text),
      }
      call.destroy()
      try {
        checkAnswer('POST', path, answer)
        resolve(answer)
      } catch (error) {
        reject(error)
      }
    })
    call.on('error', reject)
    write(call)
  })
}
