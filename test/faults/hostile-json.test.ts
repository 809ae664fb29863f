import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServerKey } from '../../src/callers/keys.ts'
import { routes } from '../../src/routes.ts'
import { auditBooks } from '../harness/audit.ts'
import { call } from '../harness/call.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { approve, type Operator, startOperator } from '../harness/operator.ts'
import type { Values } from '../serve/graphql/documents.ts'
import { requestOf } from './requests.ts'

// Sends hostile texts as the body of every route and of GraphQL, and as each member of a request.

/** Far more than a request takes, and far less than a parser of quadratic time takes. */
const MOST_CPU_MS = 1_500
const MOST_REPEATS = 4

const MEMBERS: Readonly<Record<string, string>> = {
  null: 'null',
  'an empty text': '""',
  NUL: '"a\\u0000b"',
  'a lone surrogate': '"\\ud800"',
  'a text of 64 KiB and a byte': `"${'x'.repeat(65_535)}"`,
  'a thousand digits': '9'.repeat(1_000),
  '1e400': '1e400',
  '-0': '-0',
  '2^63': '9223372036854775808',
  'a list': '[1,[2,[3]]]',
  'an empty object': '{}',
  'an object with members of Object.prototype':
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
  'duplicate members': '{"a":1,"a":2,"\\u0061":3}',
  '63 levels': `${'['.repeat(63)}${']'.repeat(63)}`,
}
const BODIES: Readonly<Record<string, string | Uint8Array>> = {
  nothing: '',
  'an array of 100,000 levels': '['.repeat(100_000),
  'an object of 100,000 levels': '{"a":'.repeat(100_000),
  'closed objects of 100,000 levels': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  'a megabyte of members': `{${times(60_000, (index) => `"k${index}":${index}`).join(',')}}`,
  'a megabyte of white space': ' '.repeat(1_000_000),
  'a megabyte of one text': `{"a":"${'\\u0061'.repeat(160_000)}"}`,
  'a megabyte of digits': `{"amount":${'1'.repeat(1_000_000)}}`,
  'a polluting member': '{"__proto__":{"polluted":1}}',
  'a byte order mark': '\uFEFF{}',
  'invalid UTF-8': new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  'a surrogate in UTF-8': new Uint8Array([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
}

let game: Game
let studio: Operator
let player: TestPlayer
let serverKey: string
let headers: Readonly<Record<string, string>>
let values: Values

beforeAll(async () => {
  game = await startGame()
  studio = await startOperator(approve({ subject: 'hostile' }))
  await game.setProviders({ default: { enabled: true, url: studio.url, secret: studio.secret } })
  await game.publish('season', season())
  player = await game.player()
  serverKey = (await createServerKey(game.app.pool, game.environmentId)).key
  values = {
    projectId: game.projectId,
    environment: 'production',
    scenarioId: 'season',
    nodeId: 'pass',
    runId: await player.start('season'),
    provider: 'default',
    keys: 'a',
    values: '{"a":1}',
    customData: '{"player":"hostile"}',
  }
  headers = { 'x-sdk-key': game.sdkKey, 'content-type': 'application/json' }
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await studio.close()
  await game.stop()
})

interface Sent {
  readonly status: number
  readonly text: string
  /** Seconds. */
  readonly retryAfter: string | null
  readonly cpuMs: number
}

async function send(method: string, path: string, body: string | Uint8Array): Promise<Sent> {
  const credential = path.startsWith('/platform')
    ? game.platformKey
    : path.startsWith('/server')
      ? serverKey
      : player.token
  const before = process.cpuUsage()
  const {
    status,
    headers: answered,
    text,
  } = await call(`${game.baseUrl}${path}`, {
    method,
    headers: { ...headers, authorization: `Bearer ${credential}` },
    body,
  })
  const { user, system } = process.cpuUsage(before)
  return { status, text, retryAfter: answered.get('retry-after'), cpuMs: (user + system) / 1_000 }
}

/** What is wrong with an answer to a hostile request. */
function faultOf({ status, text, cpuMs }: Sent): string | undefined {
  if (status >= 500 || text.includes('INTERNAL_ERROR')) return `${status} ${text.slice(0, 300)}`
  if (cpuMs > MOST_CPU_MS) return `${Math.round(cpuMs)} ms of the processor`
  return 'polluted' in {} ? 'Object.prototype is polluted' : undefined
}

/** On a busy machine a call may be late: it is repeated after the time that its 503 names. */
async function faultIn(...request: Parameters<typeof send>): Promise<string | undefined> {
  let sent = await send(...request)
  for (let times = 0; times < MOST_REPEATS && sent.status === 503; times += 1) {
    await setTimeout(Number(sent.retryAfter) * 1_000)
    sent = await send(...request)
  }
  return faultOf(sent)
}

const posts = routes.filter(({ method }) => method !== 'GET')

describe('hostile JSON', () => {
  it.each(Object.keys(BODIES))('as the body of a route or of GraphQL never leads to a 500: %s', async (what) => {
    const faults: string[] = []
    const places = [
      ...posts.map(({ method, path }) => ({ method, path: requestOf(method, path, values).path })),
      { method: 'POST', path: '/graphql' },
    ]
    for (const { method, path } of places) {
      const fault = await faultIn(method, path, BODIES[what] ?? '')
      if (fault !== undefined) faults.push(`${method} ${path}: ${fault}`)
    }
    expect(faults).toEqual([])
  })

  it.each(Object.keys(MEMBERS))('as a member of a request never leads to a 500: %s', async (what) => {
    const faults: string[] = []
    for (const { method, path } of posts) {
      const request = requestOf(method, path, values)
      // A body of lines has no members.
      if (request.body === undefined || request.body === null) continue
      const members = request.body as Readonly<Record<string, unknown>>
      for (const name of Object.keys(members)) {
        const texts = Object.entries(members).map(
          ([member, value]) => `${JSON.stringify(member)}:${member === name ? MEMBERS[what] : JSON.stringify(value)}`,
        )
        const fault = await faultIn(method, request.path, `{${texts.join(',')}}`)
        if (fault !== undefined) faults.push(`${method} ${path}, ${name}: ${fault}`)
      }
    }
    expect(faults).toEqual([])
  })
})
