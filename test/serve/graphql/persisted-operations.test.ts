import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { parse, print } from 'graphql'
import { createClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ConfigError, readConfig } from '../../../src/base/config.ts'
import { schema } from '../../../src/schema.ts'
import { readPersistedOperations } from '../../../src/serve/graphql/persisted-operations.ts'
import { type Game, type GraphqlAnswer, generateKeys, startGame, type TestPlayer } from '../../harness/game.ts'
import { buildService, spawnService } from '../../harness/service.ts'
import { until } from '../../harness/until.ts'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const listOf = (documents: readonly string[]): string =>
  JSON.stringify(Object.fromEntries(documents.map((document) => [sha256(document), document])))

const ME = 'query Me { me { playerId } }'
const RENAMED = 'query Me { me { playerId nickname } }'
const PLAYERS =
  'query Players($environment: String!) { players(environment: $environment, first: 1) { edges { node { id } } } }'
const START = 'mutation Start($input: StartRunInput!) { startRun(input: $input) { runId } }'
const LIVE = 'subscription Live { events { cursor } }'
const APOLLO = print(parse('query ApolloMe { me { playerId __typename } }'))
const UNKNOWN = sha256('query Unknown { me { playerId } }')

let home: string
/** Accepts listed documents and all others. */
let open: Game
/** Accepts listed documents only. */
let only: Game

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'tierway-documents-'))
  const files = [join(home, 'codegen.json'), join(home, 'apollo.json')]
  await writeFile(files[0] ?? '', listOf([ME, PLAYERS, START, LIVE]))
  await writeFile(
    files[1] ?? '',
    JSON.stringify({
      format: 'apollo-persisted-query-manifest',
      version: 1,
      operations: [{ id: sha256(APOLLO), name: 'ApolloMe', type: 'query', body: APOLLO }],
    }),
  )
  const PERSISTED_OPERATIONS = files.join(', ')
  open = await startGame({ PERSISTED_OPERATIONS })
  only = await startGame({ PERSISTED_OPERATIONS, PERSISTED_OPERATIONS_ONLY: 'true', INTROSPECTION: 'false' })
})
afterAll(async () => {
  await open?.stop()
  await only?.stop()
  if (home) await rm(home, { recursive: true })
})

type Body = Record<string, unknown>
const persistedQuery = (document: string) => ({
  extensions: { persistedQuery: { version: 1, sha256Hash: sha256(document) } },
})

interface Transport {
  readonly name: string
  send(game: Game, token: string, body: Body): Promise<GraphqlAnswer>
}

const post: Transport = {
  name: 'POST',
  async send({ baseUrl }, token, body) {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await fetch(`${baseUrl}/graphql`, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as GraphqlAnswer
  },
}

const get: Transport = {
  name: 'GET',
  async send({ baseUrl }, token, body) {
    const query = new URLSearchParams(
      Object.entries(body).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
    )
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
    return (await (await fetch(`${baseUrl}/graphql?${query}`, { headers })).json()) as GraphqlAnswer
  },
}

const events: Transport = {
  name: 'server-sent events',
  async send({ baseUrl }, token, body) {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    }
    const response = await fetch(`${baseUrl}/graphql`, { method: 'POST', headers, body: JSON.stringify(body) })
    const data = /^data: ?(\{.*)$/m.exec(await response.text())?.[1]
    return JSON.parse(data ?? 'null') as GraphqlAnswer
  },
}

const socket: Transport = {
  name: 'graphql-transport-ws',
  async send({ baseUrl }, token, body) {
    const client = createClient({
      url: `${baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0,
    })
    try {
      // The protocol requires a text. An empty one counts as none.
      const { value } = await client.iterate({ query: '', ...body }).next()
      return value as GraphqlAnswer
    } catch (errors) {
      if (!Array.isArray(errors)) throw errors
      return { data: null, errors }
    } finally {
      await client.dispose()
    }
  },
}

const codeOf = ({ errors }: GraphqlAnswer): string | undefined => errors?.[0]?.extensions.code

describe.each([post, get, events, socket])('persisted operations over $name', ({ send }) => {
  it('run a document by its hash, in each form of the request', async () => {
    for (const game of [open, only]) {
      const { playerId, token } = await game.player()
      for (const named of [
        persistedQuery(ME),
        { documentId: sha256(ME) },
        { documentId: `sha256:${sha256(ME)}` },
        { ...persistedQuery(ME), query: ME },
      ])
        expect(await send(game, token, named)).toEqual({ data: { me: { playerId } } })
    }
  })

  it('accept variables, and documents of every file', async () => {
    const { playerId, token } = await only.player()
    const page = await send(only, only.platformKey, {
      ...persistedQuery(PLAYERS),
      operationName: 'Players',
      variables: { environment: 'production' },
    })
    expect(page.data.players.edges).toHaveLength(1)
    expect((await send(only, token, persistedQuery(APOLLO))).data.me).toEqual({ __typename: 'Player', playerId })
  })

  it('answer PERSISTED_QUERY_NOT_FOUND for a hash that is not listed', async () => {
    for (const game of [open, only]) {
      const { token } = await game.player()
      for (const named of [
        { documentId: UNKNOWN },
        { documentId: '' },
        { documentId: 'constructor' },
        { extensions: { persistedQuery: { version: 1, sha256Hash: UNKNOWN } } },
      ])
        expect([named, codeOf(await send(game, token, named))]).toEqual([named, 'PERSISTED_QUERY_NOT_FOUND'])
    }
  })

  it('cannot be added by a caller: a document that is sent with its hash runs once, or is refused', async () => {
    const body = { query: RENAMED, ...persistedQuery(RENAMED) }
    const { token } = await open.player()
    expect((await send(open, token, body)).data.me.nickname).toBeNull()
    expect(codeOf(await send(open, token, persistedQuery(RENAMED)))).toBe('PERSISTED_QUERY_NOT_FOUND')
    const player = await only.player()
    expect(codeOf(await send(only, player.token, body))).toBe('PERSISTED_QUERY_NOT_FOUND')
    expect(codeOf(await send(only, player.token, persistedQuery(RENAMED)))).toBe('PERSISTED_QUERY_NOT_FOUND')
  })

  it('are the only documents that run with PERSISTED_OPERATIONS_ONLY, for every caller', async () => {
    const { token } = await only.player()
    for (const credentials of [token, only.platformKey]) {
      for (const query of [RENAMED, `${ME} `, '{ __schema { types { name } } }', '{ __typename }', '{'])
        expect([query, codeOf(await send(only, credentials, { query }))]).toEqual([query, 'PERSISTED_QUERY_REQUIRED'])
    }
    expect((await send(only, token, { query: ME })).data.me.playerId).toBeTypeOf('string')
  })

  it('refuse a document with the hash of another, and a malformed hash', async () => {
    const { token } = await open.player()
    const mixed = await send(open, token, { query: RENAMED, ...persistedQuery(ME) })
    expect(mixed.errors?.[0]).toMatchObject({
      message: 'invalid request',
      extensions: { code: 'INVALID_REQUEST', details: [{ path: 'query' }] },
    })
    // Neither of the two documents is listed.
    const unknown = await send(open, token, {
      query: RENAMED,
      extensions: { persistedQuery: { version: 1, sha256Hash: UNKNOWN } },
    })
    expect(unknown.errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'query' }] })
    for (const persisted of [{ version: 2, sha256Hash: sha256(ME) }, { version: 1 }, { version: 1, sha256Hash: 7 }])
      expect(codeOf(await send(open, token, { extensions: { persistedQuery: persisted } }))).toBe('INVALID_REQUEST')
  })
})

describe.each([post, get, events])('two hashes in one request over $name', ({ send }) => {
  it('are refused unless they are equal', async () => {
    const { token } = await open.player()
    expect((await send(open, token, { ...persistedQuery(ME), documentId: `sha256:${sha256(ME)}` })).data.me).toBeTypeOf(
      'object',
    )
    const { errors } = await send(open, token, { ...persistedQuery(ME), documentId: sha256(LIVE) })
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'documentId' }] })
  })
})

describe('a file of persisted operations', () => {
  // Written by @graphql-codegen/client-preset 6.2.0, @apollo/generate-persisted-query-manifest 1.4.0, relay-compiler
  // 20.1.1 (`"algorithm": "SHA256"`) and gql.tada 1.11.3 (`generate-persisted`, for urql), from schema.graphql and a
  // query of `me`. They bring some 340 packages, so their output is kept instead.
  it.each(['graphql-codegen', 'apollo', 'relay', 'gql-tada'])('is read as the tool writes it: %s', async (tool) => {
    const file = new URL(`persisted/${tool}.json`, import.meta.url).pathname
    const read = await readPersistedOperations(readConfig({ PERSISTED_OPERATIONS: file }), schema)
    expect([...read].map(([hash, text]) => [hash, /me\w* \{/.test(text)])).toEqual([
      [expect.stringMatching(/^[0-9a-f]{64}$/), true],
    ])
  })
})

describe('a persisted operation', () => {
  it('does not run by GET when it is a mutation', async () => {
    await open.publish('empty', { name: 'Empty', start: 'a', nodes: [{ id: 'a', type: 'start' }], edges: [] })
    const { token } = await open.player()
    const body = { documentId: sha256(START), variables: { input: { scenarioId: 'empty' } } }
    expect((await get.send(open, token, body)).data).toBeUndefined()
    expect((await open.app.pool.query('SELECT FROM runs')).rowCount).toBe(0)
    expect((await post.send(open, token, body)).data.startRun.runId).toBeTypeOf('string')
  })

  it('refuses a caller without credentials as its document does', async () => {
    const answer = await open.graphql(null, ME)
    const response = await fetch(`${open.baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(persistedQuery(ME)),
    })
    expect(await response.json()).toEqual(answer)
    expect(codeOf(answer)).toBe('INVALID_TOKEN')
  })

  it('is INVALID_REQUEST for a body without an operation', async () => {
    for (const body of [
      '[]',
      'null',
      '7',
      '{}',
      '{"extensions":7}',
      '{"documentId":7}',
      '{"query":7}',
      '{"extensions":{"persistedQuery":null}}',
    ]) {
      const response = await fetch(`${open.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      expect(response.status, body).toBeLessThan(500)
      expect([body, codeOf((await response.json()) as GraphqlAnswer)]).toEqual([body, 'INVALID_REQUEST'])
    }
  })

  it('subscribes over a WebSocket and by server-sent events', async () => {
    const player = await only.player()
    await only.publish('hello', { name: 'Hello', start: 'a', nodes: [{ id: 'a', type: 'start' }], edges: [] })
    const client = createClient({
      url: `${only.baseUrl.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${player.token}` },
      retryAttempts: 0,
    })
    const results = client.iterate({ query: '', ...persistedQuery(LIVE) })
    const stream = await fetch(`${only.baseUrl}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${player.token}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ documentId: sha256(LIVE) }),
    })
    const first = results.next()
    await openSubscriptions(only, 2)
    await player.start('hello')
    const { cursor } = ((await first).value as GraphqlAnswer).data.events
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (reader && !text.includes(cursor)) text += (await reader.read()).value
    expect(text).toContain(`"cursor":"${cursor}"`)
    await reader?.cancel()
    await client.dispose()
  })

  it('is what the link of Apollo Client sends, which sends the document when the hash is not listed', async () => {
    const ask = async (game: Game, player: TestPlayer, document: string) => {
      const link = ApolloLink.from([
        new PersistedQueryLink({ sha256 }),
        new HttpLink({ uri: `${game.baseUrl}/graphql`, headers: { authorization: `Bearer ${player.token}` } }),
      ])
      const client = new ApolloClient({ link, cache: new InMemoryCache() })
      return (await client.query({ query: gql(document), fetchPolicy: 'no-cache' })).data as {
        me: { playerId: string }
      }
    }
    const listed = await only.player()
    expect((await ask(only, listed, 'query ApolloMe { me { playerId } }')).me.playerId).toBe(listed.playerId)
    await expect(ask(only, listed, 'query Other { me { playerId } }')).rejects.toThrow('persisted query not found')
    const anyone = await open.player()
    expect((await ask(open, anyone, 'query Other { me { playerId } }')).me.playerId).toBe(anyone.playerId)
  })

  it('is counted apart from other documents', async () => {
    const game = await startGame({ PERSISTED_OPERATIONS: join(home, 'codegen.json') })
    const { token } = await game.player()
    await post.send(game, token, persistedQuery(ME))
    await socket.send(game, token, { query: ME })
    await post.send(game, token, { query: RENAMED })
    const text = await (await fetch(`${game.baseUrl}/metrics`)).text()
    expect(text).toContain('tierway_graphql_documents_total{kind="persisted"} 2\n')
    expect(text).toContain('tierway_graphql_documents_total{kind="other"} 1\n')
    await game.stop()
  })

  it('is PERSISTED_QUERY_NOT_FOUND without a list', async () => {
    const game = await startGame()
    const { token } = await game.player()
    expect(codeOf(await post.send(game, token, persistedQuery(ME)))).toBe('PERSISTED_QUERY_NOT_FOUND')
    expect((await post.send(game, token, { query: ME })).errors).toBeUndefined()
    await game.stop()
  })
})

async function openSubscriptions(game: Game, count: number): Promise<void> {
  await until(
    `${count} subscriptions are open`,
    async () => (await game.app.metrics.subscriptions.get()).values[0]?.value === count,
  )
}

describe('faults of the files of persisted operations', () => {
  /** The faults that the start reports, without the name of the file. */
  async function faultsOf(text: string, env: Record<string, string> = {}): Promise<string[]> {
    const file = join(await mkdtemp(join(home, 'faults-')), 'operations.json')
    await writeFile(file, text)
    try {
      await readPersistedOperations(readConfig({ PERSISTED_OPERATIONS: file, ...env }), schema)
      return []
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const [, ...lines] = error.message.split('\n')
      return lines.map((line) => line.replace(`  - PERSISTED_OPERATIONS: ${file}`, ''))
    }
  }

  it('are reported for an invalid, an empty and a missing file', async () => {
    const noObject = ' must be a JSON object of documents by their SHA-256, or a persisted query manifest of Apollo'
    expect(await faultsOf('nothing')).toEqual([' is not JSON'])
    for (const text of ['[]', 'null', '"text"', '{"format":"apollo-persisted-query-manifest"}'])
      expect([text, await faultsOf(text)]).toEqual([text, [noObject]])
    expect(await faultsOf('{}')).toEqual([' has no documents'])
    const missing = readConfig({ PERSISTED_OPERATIONS: join(home, 'missing.json') })
    await expect(readPersistedOperations(missing, schema)).rejects.toThrow('missing.json cannot be read (ENOENT)')
  })

  it('are reported all at once: hashes, documents that do not parse, do not fit the schema, are over a limit', async () => {
    const broken = '{ me { '
    const unfit = 'query ($environment: Int) { streamCursor(environment: $environment) nothing }'
    const deep = `{ me ${'{ a '.repeat(12)}${'}'.repeat(12)} }`
    const faults = await faultsOf(
      JSON.stringify({
        [sha256(ME)]: ME,
        md5: ME,
        [createHash('md5').update(ME).digest('hex')]: ME,
        [`sha256:${createHash('sha1').update(ME).digest('hex')}`]: ME,
        [sha256(ME).toUpperCase()]: ME,
        [sha256('another')]: ME,
        [sha256('7')]: 7,
        [sha256(broken)]: broken,
        [sha256(unfit)]: unfit,
        [sha256(deep)]: deep,
      }),
    )
    const all = faults.join('\n')
    expect(all).toContain(': md5 must be the SHA-256 of its document, 64 digits in lower-case hex')
    expect(all).toContain('for Relay, set "algorithm": "SHA256" in persistConfig')
    expect(all).toContain("for graphql-codegen, set hashAlgorithm: 'sha256' in persistedDocuments")
    expect(all).toContain(`: ${sha256(ME).toUpperCase()} must be the SHA-256`)
    expect(all).toContain(`: ${sha256('another')} is not the SHA-256 of its document`)
    expect(all).toContain(`: ${sha256('7')} must be the text of a document`)
    expect(all).toContain(`: ${sha256(broken)}: Syntax Error`)
    expect(all).toContain(`: ${sha256(unfit)}: Cannot query field "nothing"`)
    expect(all).toContain(`: ${sha256(unfit)}: Variable "$environment" of type "Int"`)
    expect(all).toContain(`: ${sha256(deep)}: `)
    expect(all).not.toContain(`: ${sha256(ME)}`)
  })

  it('are reported for a document with introspection when that is off', async () => {
    const document = '{ __schema { types { name } } }'
    expect(await faultsOf(listOf([document]))).toEqual([])
    expect((await faultsOf(listOf([document]), { INTROSPECTION: 'false' }))[0]).toContain('introspection')
  })

  it('end the start with exit code 1', async () => {
    await buildService()
    const file = join(home, 'broken.json')
    await writeFile(file, JSON.stringify({ [sha256('{ nothing }')]: '{ nothing }', short: ME }))
    const service = spawnService({
      DATABASE_URL: 'postgres://127.0.0.1:1/none',
      ...(await generateKeys()),
      PERSISTED_OPERATIONS: file,
    })
    expect((await service.exited).code).toBe(1)
    expect(service.errors).toContain('The configuration has 2 faults:')
    expect(service.errors).toContain(': Cannot query field "nothing"')
  })

  it('are reported for PERSISTED_OPERATIONS_ONLY without a file', () => {
    expect(() => readConfig({ PERSISTED_OPERATIONS_ONLY: 'true' })).toThrow('PERSISTED_OPERATIONS must name a file')
  })
})
