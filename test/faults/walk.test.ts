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
import { openapi } from '../../src/openapi/document.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { routes } from '../../src/routes.ts'
import { documentOf, KINDS, type Kind, type RootField, rootFields, type Values } from '../graphql/documents.ts'
import { auditBooks } from '../support/audit.ts'
import { until } from '../support/until.ts'
import { CANARIES, digest, SECRETS, startWorld, type Walker, type World } from './walkers.ts'

// Every field of the schema and every route, as every caller that must not see the victim. A new field and a new route
// are walked by themselves. An argument that nobody has a value for fails the first test below.

/** Types whose values the schema gives. */
const PLAIN = ['Boolean', 'DateTime', 'Float', 'Int', 'Int64']
/** Texts that are a position, which the walk leaves out. */
const LEFT_OUT = ['after', 'before']
const DEPTHS = [5, 4, 3, 2, 1]
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

/** What stands in an answer that this caller must not see. Operators of the project see what the table allows. */
const leaks = (walker: Walker, text: string, isAllowed: boolean): string[] => [
  ...texts(SECRETS, text),
  ...(walker.role && isAllowed ? [] : texts(CANARIES, text)),
]

const codesOf = (text: string): string[] =>
  [...text.matchAll(/"code":"(\w+)"/g)].map(([, code = '']) => code.toUpperCase())

/** With all that the victim has, and with no more than what is required. */
function variantsOf({ kind, field }: Called, id = world.ids[field.name]): Values[] {
  const values: Values = { ...world.values, id, ...(field.name.startsWith('create') && { name: `walked-${calls}` }) }
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
  return kind === 'Query' ? [values, bare] : [values]
}

/** The deepest document within the limits. */
function documentWithin({ kind, field }: Called, values: Values) {
  const fitting = DEPTHS.map((depth) => documentOf(kind, field, values, depth)).find(
    ({ query }) => countTokens(query) <= MAX_TOKENS,
  )
  if (!fitting) throw new Error(`${kind}.${field.name} has no document within the limits`)
  return fitting
}

function countTokens(query: string): number {
  const lexer = new Lexer(new Source(query))
  let count = 0
  while (lexer.advance().kind !== TokenKind.EOF) count += 1
  return count
}

async function ask(walker: Walker, called: Called, values: Values): Promise<string> {
  calls += 1
  const response = await fetch(`${world.game.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...walker.headers },
    body: JSON.stringify(documentWithin(called, values)),
  })
  return (await response.text()).replace(/"requestId":"[^"]*"/g, '')
}

/** The ids of nodes that an admin is shown of the victim's project. */
async function nodeIds(): Promise<string[]> {
  const ids = new Set<string>()
  for (const called of fields.filter(({ kind }) => kind === 'Query')) {
    for (const values of variantsOf(called)) {
      const text = await ask(world.admin, called, values)
      for (const [, id = ''] of text.matchAll(/"id":"(\w+:[^"]+)"/g)) ids.add(id)
    }
  }
  return [...ids]
}

describe('the walk', () => {
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

  it('would find what it looks for: an admin of the project is shown every canary, and no secret', async () => {
    const seen = new Set<string>()
    for (const called of fields.filter(({ kind }) => kind === 'Query')) {
      for (const values of variantsOf(called)) {
        const text = await ask(world.admin, called, values)
        for (const canary of texts(CANARIES, text)) seen.add(canary)
        expect(texts(SECRETS, text)).toEqual([])
      }
    }
    expect([...seen].sort()).toEqual(Object.values(CANARIES).sort())
  })

  it('every field of GraphQL answers the callers nothing of it, and changes nothing', async () => {
    const before = await digest(world)
    const ids = await nodeIds()
    expect(ids.length).toBeGreaterThan(10)
    const wrong: string[] = []
    for (const walker of world.walkers) {
      for (const called of fields.filter(({ kind }) => kind !== 'Subscription')) {
        const { kind, field } = called
        const isAllowed = walker.role !== undefined && (await isFor(walker, called))
        // What an operator may do is no fault.
        if (isAllowed && kind === 'Mutation') continue
        const asked = field.name === 'node' ? ids.flatMap((id) => variantsOf(called, id)) : variantsOf(called)
        for (const values of asked) {
          const text = await ask(walker, called, values)
          const codes = codesOf(text)
          const found = leaks(walker, text, isAllowed)
          if (found.length > 0) wrong.push(`${walker.name}, ${kind}.${field.name}: ${found} in ${text}`)
          if (codes.includes('INTERNAL_ERROR')) wrong.push(`${walker.name}, ${kind}.${field.name}: ${text}`)
          const { refusals } = walker
          // What is not its own is not there for a player, whatever its standing.
          if (text === '{"data":{"node":null}}') continue
          if (refusals && (codes.length === 0 || codes.some((code) => !refusals.includes(code))))
            wrong.push(`${walker.name}, ${kind}.${field.name}: ${text} and not ${refusals}`)
        }
      }
    }
    expect(wrong).toEqual([])
    expect(await digest(world)).toEqual(before)
  })

  it('every subscription over WebSocket and server-sent events tells the callers nothing of it', async () => {
    const { game, victim, other } = world
    const heard: { walker: Walker; way: string; field: string; text: string }[] = []
    const ends: (() => void)[] = []
    const { playerId, environment } = world.values
    const { data } = await game.graphql(
      game.platformKey,
      '{ events(environment: "production", first: 1) { edges { cursor } } }',
    )
    const after = data.events.edges[0].cursor
    for (const walker of [...world.walkers, world.admin]) {
      for (const called of fields.filter(({ kind }) => kind === 'Subscription')) {
        // Live and from the past, of all, of the environment and of the victim.
        for (const values of [world.values, { environment }, { environment, playerId }, {}, { environment, after }]) {
          const document = documentWithin(called, values)
          for (const way of ['WebSocket', 'server-sent events']) {
            calls += 1
            const one = { walker, way, field: called.field.name, text: '' }
            heard.push(one)
            ends.push(
              (way === 'WebSocket' ? overSocket : overEvents)(game.baseUrl, walker, document, (text) => {
                one.text += text
              }),
            )
          }
        }
      }
    }
    try {
      await until('the dead are refused', () =>
        heard.every(({ walker, text }) => walker.refusals === undefined || text !== ''),
      )
      const place = { scenarioId: world.values.scenarioId, nodeId: 'pass' }
      const play = async (player: typeof other) => {
        const runId = await player.start(String(place.scenarioId))
        const xp = { ...place, runId, amount: 1_000, source: 'walked' }
        expect((await player.post('/sdk/v1/battlepass/xp', xp)).status).toBe(200)
        expect(
          (await player.post('/sdk/v1/battlepass/claim', { ...place, runId, level: 1, track: 'free' })).status,
        ).toBe(200)
        expect((await player.post('/sdk/v1/battlepass/premium', { ...place, runId })).body.success).toBe(true)
      }
      await game.app.service.run(createPlayer(game.environmentId, CANARIES.nickname))
      await play(victim)
      const of = (name: string) =>
        heard.filter(
          ({ walker, field, text }) => walker.name === name && field === 'events' && !text.includes('"code"'),
        )
      // An admin hears it, so there was something to be heard.
      await until('an admin hears the victim', () => of('admin').some(({ text }) => text.includes(victim.playerId)))
      // The other player's own events come behind the victim's in the same stream.
      await play(other)
      await until('the other player hears its own', () =>
        of('another player').some(({ text }) => text.includes('onPremiumPurchase')),
      )
      const wrong = heard.flatMap(({ walker, way, field, text }) => {
        if (walker === world.admin) return []
        const where = `${walker.name}, ${field} over ${way}`
        const found = [
          ...leaks(walker, text, true),
          ...(walker.role === undefined && text.includes(`"playerId":"${victim.playerId}"`) ? ['the victim'] : []),
        ]
        const isRefused = walker.refusals === undefined || text !== ''
        return [
          ...(found.length > 0 ? [`${where}: ${found} in ${text}`] : []),
          ...(isRefused ? [] : [`${where}: nothing`]),
        ]
      })
      expect(wrong).toEqual([])
    } finally {
      for (const end of ends) end()
    }
  })

  it('every route of REST answers the callers nothing of it, and changes nothing', async () => {
    const before = await digest(world)
    const wrong: string[] = []
    for (const walker of world.walkers) {
      for (const { method, path } of routes) {
        const request = requestOf(method, path)
        const response = await fetch(`${world.game.baseUrl}${request.path}`, {
          method,
          headers: { 'content-type': 'application/json', ...walker.headers },
          body: request.body === undefined ? null : JSON.stringify(request.body),
        })
        calls += 1
        const text = await response.text()
        const isAllowed = walker.role !== undefined && response.status === 200
        const where = `${walker.name}, ${method} ${path}: ${response.status} ${text}`
        if (leaks(walker, text, isAllowed).length > 0) wrong.push(where)
        if (response.status >= 500) wrong.push(where)
        const { refusals } = walker
        if (refusals && !codesOf(text).some((code) => refusals.includes(code)))
          wrong.push(`${where} and not ${refusals}`)
        // Roles read. What they change is for admins alone.
        if (isAllowed && method !== 'GET') wrong.push(where)
      }
    }
    expect(wrong).toEqual([])
    expect(await digest(world)).toEqual(before)
  })
})

/** Whether a role may call a field: without a reason or a name nothing is done that may be done. */
async function isFor(walker: Walker, called: Called): Promise<boolean> {
  const empty = Object.fromEntries(Object.keys(world.values).map((name) => [name, '']))
  const codes = codesOf(await ask(walker, called, { ...empty, id: '' }))
  return !codes.some((code) => ['FORBIDDEN', 'INVALID_TOKEN', 'INVALID_SDK_KEY'].includes(code))
}

type Document = ReturnType<typeof documentOf>

function overSocket(
  baseUrl: string,
  { headers }: Walker,
  document: Document,
  hear: (text: string) => void,
): () => void {
  const client = createClient({
    url: `${baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: headers.authorization, sdkKey: headers['x-sdk-key'] },
    retryAttempts: 0,
  })
  client.subscribe(
    { query: document.query, variables: document.variables },
    {
      next: (result) => hear(JSON.stringify(result)),
      error: (error) => hear(error instanceof Error ? error.message : JSON.stringify(error) + closeOf(error)),
      complete: () => undefined,
    },
  )
  return () => void client.dispose()
}

const closeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? ` closed with ${error.code}` : ''

function overEvents(
  baseUrl: string,
  { headers }: Walker,
  document: Document,
  hear: (text: string) => void,
): () => void {
  const controller = new AbortController()
  void (async () => {
    const response = await fetch(`${baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...headers },
      body: JSON.stringify(document),
      signal: controller.signal,
    })
    const decoder = new TextDecoder()
    // Comments keep the stream alive and tell nothing.
    for await (const chunk of response.body ?? [])
      hear(decoder.decode(chunk, { stream: true }).replaceAll(/^:.*\n*/gm, ''))
  })().catch(() => undefined)
  return () => controller.abort()
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

/** A request for a route by its description, with what is the victim's. */
function requestOf(method: string, path: string): { path: string; body?: unknown } {
  const described = path.replaceAll(/:(\w+)/g, '{$1}')
  const paths = openapi.paths as unknown as Record<string, Record<string, Operation>>
  const operation = paths[described]?.[method.toLowerCase()]
  if (!operation) throw new Error(`${method} ${path} is not in the OpenAPI document`)
  const { values, game } = world
  const place: Values = { ...values, projectId: game.projectId }
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    if (!(name in place)) throw new Error(`give ${name} of ${path} a value in \`values\` of test/faults/walkers.ts`)
    return String(place[name])
  })
  const needsEnvironment = operation.parameters?.some(
    ({ in: where, name }) => where === 'query' && name === 'environment',
  )
  const schema = operation.requestBody?.content['application/json']?.schema
  return {
    path: `${filled}${needsEnvironment ? `?environment=${values.environment}` : ''}`,
    body: schema && sampleOf(schema, ''),
  }
}

function sampleOf(schema: Schema, name: string): unknown {
  if (schema.$ref) {
    const schemas = openapi.components.schemas as unknown as Record<string, Schema>
    const { [schema.$ref.split('/').at(-1) ?? '']: found } = schemas
    if (!found) throw new Error(`${schema.$ref} is not in the OpenAPI document`)
    return sampleOf(found, name)
  }
  if (name === 'definition' || name === 'values' || name === 'customData') return JSON.parse(String(world.values[name]))
  if (schema.enum) return schema.enum[0]
  if (schema.const !== undefined) return schema.const
  const [choice] = schema.oneOf ?? schema.anyOf ?? []
  if (choice) return sampleOf(choice, name)
  const [type] = [schema.type].flat()
  if (type === 'object') {
    const properties = Object.entries(schema.properties ?? {})
    return Object.fromEntries(properties.map(([member, inner]) => [member, sampleOf(inner, member)]))
  }
  if (type === 'array') return [sampleOf(schema.items ?? {}, name)]
  if (type === 'integer' || type === 'number') return 1
  return type === 'boolean' ? true : (world.values[name] ?? 'x')
}
