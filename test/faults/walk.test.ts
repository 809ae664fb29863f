import {
  type GraphQLArgument,
  type GraphQLInputField,
  getNamedType,
  isInputObjectType,
  isNonNullType,
  isScalarType,
  Lexer,
  Source,
  TokenKind,
} from 'graphql'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { hasRight } from '../../src/callers/roles.ts'
import { STREAM_TYPE } from '../../src/declare/media-types.ts'
import { kebabOf } from '../../src/operations/calls/rest.ts'
import { operatorCalls, operatorReads } from '../../src/operator-calls.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { routes } from '../../src/routes.ts'
import { auditBooks } from '../harness/audit.ts'
import { call } from '../harness/call.ts'
import { until } from '../harness/until.ts'
import { documentOf, KINDS, type Kind, type RootField, rootFields, type Values } from '../serve/graphql/documents.ts'
import { requestOf } from './requests.ts'
import { CANARIES, digest, PERSONAL, SECRETS, startWorld, type Walker, type World } from './walkers.ts'

// Calls every field of the schema and every route, as every caller that must not see the victim. New fields and routes
// are included automatically. An argument without a value fails the first test below.

/** Types whose values follow from the schema. */
const PLAIN = ['Boolean', 'DateTime', 'Float', 'Int', 'Int64']
/** What a walker says of itself: it must not look as if it were the victim's. */
const OWN = { region: 'walked', language: 'walked' }
/** Arguments that are positions or versions. The walk leaves them out. */
const LEFT_OUT = ['after', 'before', 'expectedVersion']
const DEPTHS = [5, 4, 3, 2, 1]
/** The walk makes thousands of calls. The limit is for a walk that hangs. */
const TIMEOUT_MS = 600_000
/** Below the limit of a document. */
const MAX_TOKENS = 900

interface Called {
  readonly kind: Kind
  readonly field: RootField
}

const fields: readonly Called[] = KINDS.flatMap((kind) => rootFields(kind).map((field) => ({ kind, field })))

let world: World
let calls = 0

beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => {
  console.log(`The walk made ${calls} calls`)
  await auditBooks(world.game.app.pool)
  await world.close()
})

const texts = (canaries: Readonly<Record<string, string>>, text: string): string[] =>
  Object.values(canaries).filter((canary) => text.includes(canary))

/** The texts in an answer that this caller must not see. Operators of the project may see what the table allows. */
const leaks = (walker: Walker, text: string, isAllowed: boolean): string[] => [
  ...texts(SECRETS, text),
  ...texts(walker.role && isAllowed ? (walker.role === 'analyst' ? PERSONAL : {}) : CANARIES, text),
]

const codesOf = (text: string): string[] =>
  [...text.matchAll(/"code":"(\w+)"/g)].map(([, code = '']) => code.toUpperCase())

/** Fields that read any object, by its global id. */
const BY_GLOBAL_ID = ['node', 'nodes']

/** With all values of the victim, and with the required ones alone. */
function variantsOf({ kind, field }: Called, id = world.ids[field.name]): Values[] {
  const values: Values = {
    ...world.values,
    id,
    ...(field.name === 'nodes' && id !== undefined && { ids: id }),
    ...(field.name.startsWith('create') && { name: `walked-${calls}` }),
    ...(['updateProfile', 'createSegment'].includes(field.name) && OWN),
  }
  const required = new Set<string>()
  const look = (inputs: readonly (GraphQLArgument | GraphQLInputField)[]) => {
    for (const { name, type } of inputs) {
      const named = getNamedType(type)
      if (isNonNullType(type)) required.add(name)
      if (isInputObjectType(named)) look(Object.values(named.getFields()))
    }
  }
  look(field.args)
  const bare = Object.fromEntries(Object.entries(values).filter(([name]) => required.has(name)))
  const hasOptional = field.args.some(({ name }) => name in values && !required.has(name))
  return kind === 'Query' && hasOptional ? [values, bare] : [values]
}

const depths = new Map<string, number>()

/** The deepest document within the limits. */
function documentWithin({ kind, field }: Called, values: Values) {
  // The values of the variants take the same few tokens.
  const key = `${kind}.${field.name} ${Object.keys(values).length}`
  const fits = (depth: number) => countTokens(documentOf(kind, field, values, depth).query) <= MAX_TOKENS
  const depth = depths.get(key) ?? DEPTHS.find(fits)
  if (depth === undefined) throw new Error(`${kind}.${field.name} has no document within the limits`)
  depths.set(key, depth)
  return documentOf(kind, field, values, depth)
}

function countTokens(query: string): number {
  const lexer = new Lexer(new Source(query))
  let count = 0
  while (lexer.advance().kind !== TokenKind.EOF) count += 1
  return count
}

const ask = (walker: Walker, called: Called, values: Values): Promise<string> =>
  send(walker, documentWithin(called, values))

async function send(walker: Walker, document: { query: string; variables: Values }): Promise<string> {
  calls += 1
  const { text } = await call(`${world.game.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...walker.headers },
    body: JSON.stringify(document),
  })
  return text.replace(/"requestId":"[^"]*"/g, '')
}

/** Fields of a player for platform keys, which the documents above leave out. */
const recordsOf = (id: string) => ({
  query: `query ($id: ID!) { player(id: $id) { notes { nodes { text } } timeline { nodes { note { text } } }
    loginLog { nodes { subject } } auditLog { nodes { reason } } } }`,
  variables: { id },
})

let asked: Promise<string[]> | undefined

/** The answers of all queries to an admin of the victim's project, asked once. */
function adminAnswers(): Promise<string[]> {
  asked ??= (async () => {
    const answers: string[] = []
    for (const called of fields.filter(({ kind }) => kind === 'Query'))
      for (const values of variantsOf(called)) answers.push(await ask(world.admin, called, values))
    answers.push(await send(world.admin, recordsOf(world.victim.playerId)))
    return answers
  })()
  return asked
}

/** The id of one node of each type that the admin can see: where there is one of the victim, that one. */
async function nodeIds(): Promise<string[]> {
  const ids = new Map<string, string>()
  for (const text of await adminAnswers()) {
    for (const [, id = '', type = ''] of text.matchAll(/"id":"((\w+):[^"]+)"/g))
      if (!ids.has(type) || id.includes(world.victim.playerId)) ids.set(type, id)
  }
  return [...ids.values()]
}

/**
 * Whether a caller makes every call. Whoever presents something worthless must be refused everything, which one call of
 * each field shows.
 */
const deservesAll = ({ refusals, headers }: Walker): boolean => !refusals || Object.keys(headers).length === 0

/** The text of an answer; of a stream, which does not end by itself, all that is told at first. */
async function answerOf(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== STREAM_TYPE) return response.text()
  let text = ''
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk
    if (text.includes('event: current')) break
  }
  return text
}

describe('the walk over all fields and routes', () => {
  it('has a value for every argument and input of the schema', () => {
    const missing: string[] = []
    const look = (inputs: readonly (GraphQLArgument | GraphQLInputField)[], path: string) => {
      for (const { name, type } of inputs) {
        const named = getNamedType(type)
        if (isInputObjectType(named)) look(Object.values(named.getFields()), `${path}.${name}`)
        else if (!isScalarType(named) || PLAIN.includes(named.name) || LEFT_OUT.includes(name)) continue
        else if (!(name in world.values) && !(name === 'id' && (path.split('.')[1] as string) in world.ids))
          missing.push(`${path}.${name}: ${type}`)
      }
    }
    for (const { kind, field } of fields) look(field.args, `${kind}.${field.name}`)
    expect(missing, 'give it what is the victim’s, in `values` or `ids` of test/faults/walkers.ts').toEqual([])
  })

  it('shows an admin of the project every canary and no secret', async () => {
    const seen = new Set<string>()
    for (const text of await adminAnswers()) {
      for (const canary of texts(CANARIES, text)) seen.add(canary)
      expect(texts(SECRETS, text)).toEqual([])
    }
    expect([...seen].sort()).toEqual(Object.values(CANARIES).sort())
  })

  it('shows the records of operators about the victim to no stranger and no player', async () => {
    for (const walker of world.walkers.filter(({ role }) => role === undefined))
      expect([walker.name, texts(CANARIES, await send(walker, recordsOf(world.victim.playerId)))]).toEqual([
        walker.name,
        [],
      ])
  })

  it('finds no GraphQL field that shows or changes data of the victim', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const before = await digest(world)
    const ids = await nodeIds()
    expect(ids.length).toBeGreaterThan(10)
    const wrong: string[] = []
    const walk = async (walker: Walker) => {
      const isThorough = deservesAll(walker)
      for (const called of fields.filter(({ kind }) => kind !== 'Subscription')) {
        const { kind, field } = called
        const isAllowed = walker.role !== undefined && (await isFor(walker, called))
        // A mutation that an operator may call is no fault.
        if (isAllowed && kind === 'Mutation') continue
        const variants =
          BY_GLOBAL_ID.includes(field.name) && isThorough
            ? ids.flatMap((id) => variantsOf(called, id))
            : variantsOf(called)
        for (const values of isThorough ? variants : variants.slice(0, 1)) {
          const text = await ask(walker, called, values)
          const codes = codesOf(text)
          const found = leaks(walker, text, isAllowed)
          if (found.length > 0) wrong.push(`${walker.name}, ${kind}.${field.name}: ${found} in ${text}`)
          if (codes.includes('INTERNAL_ERROR')) wrong.push(`${walker.name}, ${kind}.${field.name}: ${text}`)
          const { refusals } = walker
          if (refusals && (codes.length === 0 || codes.some((code) => !refusals.includes(code))))
            wrong.push(`${walker.name}, ${kind}.${field.name}: ${text} and not ${refusals}`)
        }
      }
    }
    await Promise.all(world.walkers.map(walk))
    expect(wrong).toEqual([])
    expect(await digest(world)).toEqual(before)
  })

  it('finds no subscription that shows data of the victim, over WebSocket or server-sent events', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { game, victim, other, values } = world
    const subscriptions = fields.filter(({ kind }) => kind === 'Subscription')
    const { playerId, environment, scenarioId } = values
    const wrong: string[] = []

    for (const walker of world.walkers) {
      const { refusals } = walker
      if (!refusals) continue
      const variants = deservesAll(walker) ? [values, {}] : [values]
      const opened = subscriptions.flatMap((called) => variants.flatMap((given) => open(walker, called, given)))
      await Promise.all(opened.map(({ ended }) => ended))
      for (const { where, text } of opened) {
        const isRefused = codesOf(text).some((code) => refusals.includes(code)) || /closed with 440[0-9]/.test(text)
        if (!isRefused || leaks(walker, text, false).length > 0) wrong.push(`${where}: ${text} and not ${refusals}`)
      }
    }

    const { data } = await game.graphql(
      game.platformKey,
      '{ events(environment: "production", first: 1) { edges { cursor } } }',
    )
    const after = data.events.edges[0].cursor
    const heard: Opened[] = []
    try {
      for (const walker of [...world.walkers.filter(({ refusals }) => !refusals), world.admin]) {
        for (const called of subscriptions) {
          // Live, and replayed and then live; for all, for the environment and for the victim.
          for (const given of [values, { environment, playerId }, {}, { environment, after }]) {
            heard.push(...open(walker, called, given))
          }
        }
      }
      await until(
        'all are refused or followed',
        async () => {
          const metrics = await game.app.metrics.registry.metrics()
          const following = Number(/^tierway_subscriptions (\d+)$/m.exec(metrics)?.[1])
          return (
            following + heard.filter(({ isOver, text }) => isOver || text.includes('"code"')).length >= heard.length
          )
        },
        { deadlineMs: 60_000 },
      )
      const play = async (player: typeof other) => {
        const place = { scenarioId, nodeId: 'pass', runId: await player.start(String(scenarioId)) }
        const xp = { ...place, amount: 1_000, source: 'walked' }
        const claim = { ...place, level: 1, track: 'free' }
        expect((await player.post('/sdk/v1/battlepass/xp', xp)).status).toBe(200)
        expect((await player.post('/sdk/v1/battlepass/claim', claim)).status).toBe(200)
        expect((await player.post('/sdk/v1/battlepass/premium', place)).body.success).toBe(true)
      }
      await game.app.service.run(createPlayer(game.environmentId, CANARIES.nickname))
      await play(victim)
      const of = (name: string) => heard.filter(({ walker, field }) => walker.name === name && field === 'events')
      // An admin receives the events, so there was something to leak.
      await until('an admin hears the victim', () => of('admin').some(({ text }) => text.includes(victim.playerId)))
      // The other player's own events follow the victim's in the same stream.
      await play(other)
      await until('the other player hears its own', () =>
        of('another player').some(({ text }) => text.includes(other.playerId)),
      )
      for (const { walker, where, text } of heard) {
        if (walker === world.admin) continue
        const found = leaks(walker, text, true)
        const isTold = walker.role === undefined && text.includes(`"playerId":"${victim.playerId}"`)
        if (found.length > 0 || isTold) wrong.push(`${where}: ${text}`)
      }
      expect(wrong).toEqual([])
    } finally {
      for (const { end } of heard) end()
    }
  })

  it('finds no REST route that shows or changes data of the victim', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const before = await digest(world)
    const wrong: string[] = []
    const walk = async (walker: Walker) => {
      for (const { method, path } of routes) {
        // A change that an operator may make is no fault.
        if (mayCall(walker, path)) continue
        const own = path === '/sdk/v1/player/update' && OWN
        const request = requestOf(method, path, { ...world.values, ...own, projectId: world.game.projectId })
        const response = await fetch(`${world.game.baseUrl}${request.path}`, {
          method,
          headers: { 'content-type': 'application/json', ...walker.headers },
          body: request.body === undefined ? null : JSON.stringify(request.body),
        })
        calls += 1
        const text = await answerOf(response)
        const isAllowed = walker.role !== undefined && response.status === 200
        const where = `${walker.name}, ${method} ${path}: ${response.status} ${text}`
        if (leaks(walker, text, isAllowed).length > 0) wrong.push(where)
        if (response.status >= 500) wrong.push(where)
        const { refusals } = walker
        if (refusals && !codesOf(text).some((code) => refusals.includes(code)))
          wrong.push(`${where} and not ${refusals}`)
        // These roles may read.
        if (isAllowed && method !== 'GET' && !mayAsk(walker, path)) wrong.push(where)
      }
    }
    await Promise.all(world.walkers.map(walk))
    expect(wrong).toEqual([])
    expect(await digest(world)).toEqual(before)
  })
})

/** Whether a role may make a call of operators over REST. */
function mayCall({ role }: Walker, path: string): boolean {
  const call = operatorCalls.find(({ name }) => path.endsWith(`/${kebabOf(name)}`))
  return role !== undefined && call !== undefined && hasRight(role, call.right)
}

/** Whether a role may make a query of operators that is a POST, since it has an input. */
function mayAsk({ role }: Walker, path: string): boolean {
  const read = operatorReads.find(({ name, hasInput }) => hasInput && path.endsWith(`/${kebabOf(name)}`))
  return role !== undefined && read !== undefined && hasRight(role, read.right)
}

/** Whether a role may call a field. With empty arguments an allowed call has no effect. */
async function isFor(walker: Walker, called: Called): Promise<boolean> {
  const empty = Object.fromEntries(Object.keys(world.values).map((name) => [name, '']))
  const codes = codesOf(await send(walker, documentOf(called.kind, called.field, { ...empty, id: '' }, 1)))
  return !codes.some((code) => ['FORBIDDEN', 'INVALID_TOKEN', 'INVALID_SDK_KEY'].includes(code))
}

/** A subscription of one caller, and all that it received. */
interface Opened {
  readonly walker: Walker
  readonly field: string
  readonly where: string
  text: string
  isOver: boolean
  ended: Promise<void>
  end(): void
}

type Document = ReturnType<typeof documentOf>
type Follow = (walker: Walker, document: Document, hear: (text: string) => void) => Pick<Opened, 'ended' | 'end'>

/** Opens a subscription over each transport. */
function open(walker: Walker, called: Called, values: Values): Opened[] {
  const document = documentWithin(called, values)
  const ways: Readonly<Record<string, Follow>> = { WebSocket: overSocket, 'server-sent events': overEvents }
  return Object.entries(ways).map(([way, follow]) => {
    calls += 1
    const { name: field } = called.field
    const opened: Opened = {
      walker,
      field,
      where: `${walker.name}, ${field} over ${way}`,
      text: '',
      isOver: false,
      ended: Promise.resolve(),
      end: () => {},
    }
    const { ended, end } = follow(walker, document, (text) => {
      opened.text += text
    })
    return Object.assign(opened, {
      end,
      ended: ended.finally(() => {
        opened.isOver = true
      }),
    })
  })
}

function overSocket({ headers }: Walker, document: Document, hear: (text: string) => void) {
  const client = createClient({
    url: `${world.game.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: headers.authorization, sdkKey: headers['x-sdk-key'] },
    retryAttempts: 0,
  })
  const ended = new Promise<void>((resolve) => {
    client.subscribe(
      { query: document.query, variables: document.variables },
      {
        next: (result) => hear(JSON.stringify(result)),
        error(error) {
          hear(textOf(error))
          resolve()
        },
        complete: resolve,
      },
    )
  })
  return { ended, end: () => void client.dispose() }
}

/** The errors of an operation, or the code with which the socket was closed. */
const textOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? `closed with ${error.code}` : JSON.stringify(error)

function overEvents({ headers }: Walker, document: Document, hear: (text: string) => void) {
  const controller = new AbortController()
  async function read(): Promise<void> {
    const response = await fetch(`${world.game.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify(document),
      signal: controller.signal,
    })
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) hear(decoder.decode(chunk, { stream: true }))
  }
  // The test aborts the stream at the end. What it received until then counts.
  return { ended: read().catch(() => undefined), end: () => controller.abort() }
}
