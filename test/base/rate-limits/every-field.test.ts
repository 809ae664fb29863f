import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createSdkKey } from '../../../src/callers/keys.ts'
import { call } from '../../harness/call.ts'
import { type Game, startGame } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'
import { documentOf, KINDS, type Kind, type RootField, rootFields } from '../../serve/graphql/documents.ts'
import { newOperator } from '../../support/desk.ts'

// Every root field of the schema counts its caller once, over every transport. A new field is tried by itself.

const LIMITS = 'login=off,sdk_key=1/h,player=1/h,operator=1/h,graphql=off'

let game: Game

beforeAll(async () => {
  game = await startGame({ RATE_LIMITS: LIMITS })
})
afterAll(() => game?.stop())

interface Credentials {
  readonly authorization?: string
  readonly sdkKey?: string
}
type Send = (kind: Kind, field: RootField, credentials: Credentials) => Promise<string>

/** An allowed subscription would never end. An invalid cursor ends it. */
const valuesOf = (kind: Kind) => (kind === 'Subscription' ? { after: 'x' } : {})
const codeIn = (text: string): string => /"code":"(\w+)"/.exec(text)?.[1] ?? 'none'

const overHttp: Send = async (kind, field, { authorization, sdkKey }) => {
  const { text } = await call(`${game.baseUrl}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: kind === 'Subscription' ? 'text/event-stream' : 'application/json',
      ...(authorization !== undefined && { authorization }),
      ...(sdkKey !== undefined && { 'x-sdk-key': sdkKey }),
    },
    body: JSON.stringify(documentOf(kind, field, valuesOf(kind), 0)),
  })
  return codeIn(text)
}

const overSocket: Send = async (kind, field, credentials) => {
  const client = createClient({
    url: `${game.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { ...credentials },
    retryAttempts: 0,
  })
  try {
    for await (const result of client.iterate(documentOf(kind, field, valuesOf(kind), 0)))
      return codeIn(JSON.stringify(result))
    return 'none'
  } catch (errors) {
    return codeIn(JSON.stringify(errors))
  } finally {
    await client.dispose()
  }
}

const fields = KINDS.flatMap((kind) => rootFields(kind).map((field) => ({ kind, field, name: field.name })))

const askedBy = (name: string) => ({
  needsClient: /^(login|link)(Custom|Google|Apple|Oidc|Device)$|^(refreshTokens|logout|switchPlayer)$/.test(name),
  needsCaller: !/^login(Custom|Google|Apple|Oidc|Device)$|^(refreshTokens|logout)$/.test(name),
})

const usesPlayer = (name: string) => fields.findIndex((field) => field.name === name) % 2 === 0

/** Over a WebSocket, a player for every other field and an operator for the rest: they are counted at one place. */
const callersOf = (send: Send, name: string, [token, key]: readonly [string, string]) =>
  send === overHttp ? [token, key] : [usesPlayer(name) ? token : key]

async function countedCalls(): Promise<number> {
  const { rows } = await game.app.pool.query('SELECT coalesce(sum(calls), 0)::int AS calls FROM call_minutes')
  return rows[0].calls
}

describe.each([
  ['HTTP and server-sent events', overHttp],
  ['a WebSocket', overSocket],
])('each field of the schema, over %s', (_, send) => {
  it.each(fields)('counts its caller once: $kind $name', async ({ kind, field, name }) => {
    const { needsClient, needsCaller } = askedBy(name)
    const newSdkKey = async () => (await createSdkKey(game.app.pool, game.environmentId)).key
    const nobody = await send(kind, field, {})
    expect(nobody).toBe(needsClient ? 'INVALID_SDK_KEY' : 'INVALID_TOKEN')
    if (needsClient) {
      const sdkKey = await newSdkKey()
      expect(await send(kind, field, { sdkKey })).not.toBe('RATE_LIMITED')
      expect(await send(kind, field, { sdkKey })).toBe('RATE_LIMITED')
    }
    if (!needsCaller) return
    const { token } = await game.player()
    const { key } = await newOperator(game.app.pool, game.projectId, 'admin')
    for (const credential of callersOf(send, name, [token, key])) {
      const credentials = async () => ({
        authorization: `Bearer ${credential}`,
        ...(needsClient && { sdkKey: await newSdkKey() }),
      })
      expect(await send(kind, field, await credentials())).not.toBe('RATE_LIMITED')
      expect(await send(kind, field, await credentials())).toBe('RATE_LIMITED')
    }
  })
})

describe('the statistics of calls', () => {
  it('count each field once for each of its players, over both transports', async () => {
    const ofPlayers = fields.filter(({ name }) => askedBy(name).needsCaller)
    const calls = ofPlayers.length + ofPlayers.filter(({ name }) => usesPlayer(name)).length
    await until('the calls are written', async () => (await countedCalls()) >= calls)
    expect(await countedCalls()).toBe(calls)
  })
})
