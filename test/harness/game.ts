import { createClient } from 'graphql-ws'
import { pino } from 'pino'
import { WebSocket } from 'ws'
import { type App, type AppOptions, createApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/base/config.ts'
import { type Json, print } from '../../src/base/json.ts'
import type { Logger } from '../../src/base/log.ts'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import type { Role } from '../../src/callers/roles.ts'
import { generateTokenKey } from '../../src/callers/tokens.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import type { PlayerRef } from '../../src/players/player-status.ts'
import { call } from './call.ts'
import { createDatabase } from './database.ts'
import { checkAnswer } from './openapi.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body as it was sent, for exact comparisons. */
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape.
  readonly body: any
}

export interface GraphqlAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape.
  readonly data: any
  readonly errors?: readonly {
    message: string
    path?: unknown[]
    extensions: { code: string; details?: unknown[]; readonly requestId?: string }
  }[]
}

export interface TestPlayer extends PlayerRef {
  readonly token: string
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  graphql(query: string, variables?: Record<string, unknown>): Promise<GraphqlAnswer>
  /** Starts or resumes the run of a scenario and gives its id. */
  start(scenarioId: string): Promise<string>
}

/** What a login sends in addition to `customData`, and its SDK key. */
export interface LoginOptions {
  readonly provider?: unknown
  readonly nickname?: unknown
  readonly region?: unknown
  readonly language?: unknown
  readonly deviceName?: unknown
  /** `X-SDK-Key`. Default: the key of `production`. Null sends none. */
  readonly sdkKey?: string | null
}

/** A service with its own database, and one project of two environments: production and staging. */
export interface Game {
  readonly app: App
  readonly baseUrl: string
  readonly databaseUrl: string
  readonly projectId: string
  readonly environmentId: string
  readonly stagingId: string
  /** An admin's platform key. */
  readonly platformKey: string
  /** The SDK keys of the two environments. */
  readonly sdkKey: string
  readonly stagingSdkKey: string
  key(role: Role): Promise<string>
  /** A player of `production`, or of another environment. */
  player(options?: { wallet?: Record<string, bigint>; environmentId?: string }): Promise<TestPlayer>
  publish(scenarioId: string, definition: Json, environment?: string): Promise<Answer>
  /** PUTs custom providers by name: the whole map of the environment. */
  setProviders(custom: Json, environment?: string): Promise<Answer>
  /** Sets the account policy of production. Fields that are absent get their defaults. */
  setAccountPolicy(policy: Readonly<Record<string, unknown>>): Promise<void>
  /** A custom login; `customData` as JSON text is sent verbatim. */
  login(customData: Json | string, options?: LoginOptions): Promise<Answer>
  /** Links an identity to the player of an access token. */
  link(token: string, customData: Json | string, options?: LoginOptions): Promise<Answer>
  request(
    method: string,
    path: string,
    options?: { body?: string | Uint8Array; headers?: Record<string, string> },
  ): Promise<Answer>
  /** A GraphQL call with an access token, a platform key or whole headers. */
  graphql(
    credentials: string | null | Record<string, string>,
    query: string,
    variables?: Record<string, unknown>,
  ): Promise<GraphqlAnswer>
  subscribe(token: string, query: string, variables?: Record<string, unknown>): Subscription
  stop(): Promise<void>
}

/** A subscription over a real WebSocket that queues its events. */
export interface Subscription {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  next(): Promise<any>
  /** Waits for this many events. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
  take(count: number): Promise<any[]>
  close(): Promise<void>
}

export interface Instance {
  readonly app: App
  readonly baseUrl: string
  stop(): Promise<void>
}

export type Keys = Readonly<Record<'TOKEN_KEYS' | 'SECRETS_KEYS', string>>

/** Keys, for instances that share them. */
export const generateKeys = async (): Promise<Keys> => ({
  TOKEN_KEYS: JSON.stringify([await generateTokenKey()]),
  SECRETS_KEYS: JSON.stringify([generateSecretsKey()]),
})

/**
 * Starts one instance of the service on a database, with new keys unless some are given. `readDemo` is for `/play`.
 */
export async function startInstance(
  databaseUrl: string,
  env: Readonly<Record<string, string>>,
  log = pino({ level: process.env.TEST_LOG ?? 'silent' }),
  readDemo?: AppOptions['readDemo'],
): Promise<Instance> {
  const config = readConfig({
    NODE_ENV: 'test',
    PORT: '0',
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    ...(await generateKeys()),
    // The operators of tests are on loopback.
    WEBHOOK_PRIVATE_ADDRESSES: 'allow',
    // Tests call faster than any client. Tests of the limits set their own.
    RATE_LIMITS: 'off',
    CONNECTION_LIMITS: 'off',
    // On a busy machine, a burst of calls may wait for longer than clients would.
    CALL_DEADLINE_MS: '30000',
    ...env,
  })
  const app = await createApp({
    config,
    log,
    databaseUrl: config.databaseUrl ?? '',
    tokenKeys: config.tokenKeys ?? [],
    secretsKeys: config.secretsKeys ?? [],
    readDemo,
  })
  return { app, baseUrl: `http://127.0.0.1:${await app.listen()}`, stop: () => app.stop() }
}

export async function startGame(env: Readonly<Record<string, string>> = {}, log?: Logger): Promise<Game> {
  const database = await createDatabase()
  const demo = { scenarioId: 'season-1', passNodeId: 'pass', customData: { player: 'demo' } }
  const { app, baseUrl } = await startInstance(database.url, env, log, async () => ({ ...demo, sdkKey }))
  const { projectId, environments } = await createProject(app.pool, {
    name: 'Test',
    environments: ['production', 'staging'],
  })
  const environmentId = environments.get('production') ?? ''
  const stagingId = environments.get('staging') ?? ''
  const platformKey = (await createPlatformKey(app.pool, projectId, 'admin')).key
  const sdkKey = (await createSdkKey(app.pool, environmentId)).key
  const stagingSdkKey = (await createSdkKey(app.pool, stagingId)).key

  async function request(
    method: string,
    path: string,
    { body, headers = {} }: { body?: string | Uint8Array; headers?: Record<string, string> } = {},
  ): Promise<Answer> {
    const called = await call(`${baseUrl}${path}`, { method, headers, body })
    const answer = { ...called, body: parse(called.text) }
    checkAnswer(method, path, answer)
    return answer
  }

  async function graphql(
    credentials: string | null | Record<string, string>,
    query: string,
    variables: Record<string, unknown> = {},
  ): Promise<GraphqlAnswer> {
    const headers = typeof credentials === 'string' ? { authorization: `Bearer ${credentials}` } : credentials
    const { text } = await call(`${baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query, variables }),
    })
    return JSON.parse(text) as GraphqlAnswer
  }

  function subscribe(token: string, query: string, variables: Record<string, unknown> = {}): Subscription {
    const client = createClient({
      url: `${baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0,
    })
    const results = client.iterate({ query, variables })
    async function next() {
      const { value, done } = await results.next()
      if (done) throw new Error('the subscription ended')
      if (value.errors) throw Object.assign(new Error(value.errors[0]?.message), { errors: value.errors })
      return Object.values(value.data ?? {})[0]
    }
    return {
      next,
      async take(count) {
        const events = []
        while (events.length < count) events.push(await next())
        return events
      },
      close: async () => client.dispose(),
    }
  }

  function loginRequest(customData: Json | string, { sdkKey: key = sdkKey, ...more }: LoginOptions) {
    const custom = typeof customData === 'string' ? customData : print(customData)
    const others = Object.entries(more).map(([name, value]) => `,${JSON.stringify(name)}:${print(value as Json)}`)
    const headers: Record<string, string> = key === null ? {} : { 'x-sdk-key': key }
    return { body: `{"customData":${custom}${others.join('')}}`, headers }
  }

  function link(token: string, customData: Json | string, options: LoginOptions = {}): Promise<Answer> {
    const { body, headers } = loginRequest(customData, options)
    const authorization = `Bearer ${token}`
    return request('POST', '/sdk/v1/authorization/custom/link', { body, headers: { ...headers, authorization } })
  }

  const player: Game['player'] = async ({ wallet = {}, environmentId: ofPlayer = environmentId } = {}) => {
    const ref = await app.service.run(createPlayer(ofPlayer, null))
    for (const [currency, amount] of Object.entries(wallet)) {
      await app.service.run(adjustWallet(ref, { currency, amount, reference: 'test' }))
    }
    const token = await app.tokens.issueAccessToken({ ...ref, projectId })
    const authorization = `Bearer ${token}`
    const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
      request('POST', path, {
        body: typeof body === 'string' || body instanceof Uint8Array ? body : print(body as Json),
        headers: { authorization, ...headers },
      })
    return {
      ...ref,
      token,
      post,
      graphql: (query, variables) => graphql(token, query, variables),
      start: async (scenarioId) => (await post('/sdk/v1/scenarios/start', { scenarioId })).body.runId,
    }
  }

  return {
    app,
    baseUrl,
    databaseUrl: database.url,
    projectId,
    environmentId,
    stagingId,
    platformKey,
    sdkKey,
    stagingSdkKey,
    key: async (role) => (await createPlatformKey(app.pool, projectId, role)).key,
    player,
    request,
    graphql,
    subscribe,
    setProviders: (custom, environment = 'production') =>
      request('PUT', `/platform/v1/projects/${projectId}/auth-providers`, {
        body: print({ environment, authProviders: { custom } }),
        headers: { authorization: `Bearer ${platformKey}` },
      }),
    async setAccountPolicy(policy) {
      const { errors } = await graphql(
        platformKey,
        'mutation ($input: SetAccountPolicyInput!) { setAccountPolicy(input: $input) { auditEntry { id } } }',
        { input: { environment: 'production', reason: 'test', ...policy } },
      )
      if (errors) throw new Error(`the account policy was refused: ${JSON.stringify(errors)}`)
    },
    login: (customData, options = {}) =>
      request('POST', '/sdk/v1/authorization/custom', loginRequest(customData, options)),
    link,
    publish: (scenarioId, definition, environment = 'production') =>
      request('PUT', `/platform/v1/projects/${projectId}/scenarios/${scenarioId}?environment=${environment}`, {
        body: print(definition),
        headers: { authorization: `Bearer ${platformKey}` },
      }),
    async stop() {
      await app.stop()
      await database.drop()
    },
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
