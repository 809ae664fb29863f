import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { GraphQLError, type GraphQLSchema } from 'graphql'
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga'
import { type Config, ConfigError } from '../../base/config.ts'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import type { ServerContext } from '../../declare/graphql/context.ts'
import { documentLimits } from './document-limits.ts'

/** Documents that were known when their clients were built, by the SHA-256 of their text. */
export type PersistedOperations = ReadonlyMap<string, string>

/** A client's operation, over any transport. */
export interface SentOperation {
  readonly query?: unknown
  readonly documentId?: unknown
  readonly extensions?: unknown
}

const SHA256 = /^[0-9a-f]{64}$/
/** Hashes that tools write by default, by their length, and how to get the right one. */
const OTHER_HASHES: ReadonlyMap<number, string> = new Map([
  [32, 'for Relay, set "algorithm": "SHA256" in persistConfig'],
  [40, "for graphql-codegen, set hashAlgorithm: 'sha256' in persistedDocuments"],
])
/** graphql-codegen and gql.tada write it before the hash, and clients send it. */
const withoutPrefix = (key: string): string => key.replace(/^sha256:/, '')
/** The format of Apollo's tools; all others write `{"<sha256>": "<document>"}`. */
const APOLLO_MANIFEST = 'apollo-persisted-query-manifest'

/**
 * Reads the documents of every configured file. Throws a `ConfigError` with every fault of every file: a hash that does
 * not match its document, a document that does not parse, does not fit the schema or exceeds a limit.
 */
export async function readPersistedOperations(config: Config, schema: GraphQLSchema): Promise<PersistedOperations> {
  const operations = new Map<string, string>()
  if (config.persistedOperations.length === 0) return operations
  const faults: string[] = []
  const check = createCheck(config, schema)
  for (const path of config.persistedOperations) {
    const say = (fault: string) => void faults.push(`PERSISTED_OPERATIONS: ${path}${fault}`)
    for (const [key, document] of await readEntries(path, say)) {
      const where = `: ${key.length > 72 ? `${key.slice(0, 72)}…` : key}`
      const hash = withoutPrefix(key)
      const other = OTHER_HASHES.get(hash.length)
      if (!SHA256.test(hash))
        say(`${where} must be the SHA-256 of its document, 64 digits in lower-case hex${other ? `: ${other}` : ''}`)
      else if (typeof document !== 'string') say(`${where} must be the text of a document`)
      else if (sha256(document) !== hash) say(`${where} is not the SHA-256 of its document`)
      else {
        for (const fault of check(document)) say(`${where}: ${fault}`)
        operations.set(hash, document)
      }
    }
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return operations
}

async function readEntries(
  path: string,
  say: (fault: string) => void,
): Promise<readonly (readonly [string, unknown])[]> {
  let content: unknown
  try {
    content = JSON.parse(await readFile(path, 'utf8'))
  } catch (error) {
    say(error instanceof SyntaxError ? ' is not JSON' : ` cannot be read (${codeOf(error)})`)
    return []
  }
  const entries = entriesOf(content)
  if (!entries) say(' must be a JSON object of documents by their SHA-256, or a persisted query manifest of Apollo')
  else if (entries.length === 0) say(' has no documents')
  return entries ?? []
}

function entriesOf(content: unknown): readonly (readonly [string, unknown])[] | undefined {
  if (!isObject(content)) return undefined
  if (content.format !== APOLLO_MANIFEST) return Object.entries(content)
  const { operations } = content
  return Array.isArray(operations) && operations.every(isObject)
    ? operations.map(({ id, body }) => [String(id), body] as const)
    : undefined
}

/** Finds the faults of a document with the same rules that it would run under. */
function createCheck(config: Config, schema: GraphQLSchema): (document: string) => string[] {
  const yoga = createYoga({ schema, logging: false, plugins: documentLimits(config) })
  return (document) => {
    const { parse, validate } = yoga.getEnveloped({} as never)
    try {
      const errors: readonly GraphQLError[] = validate(schema, parse(document))
      return errors.map(({ message }) => message)
    } catch (error) {
      if (error instanceof GraphQLError) return [error.message]
      throw error
    }
  }
}

export interface FoundDocument {
  readonly text: string
  readonly isPersisted: boolean
}

/**
 * Finds a client's document: the one that it names by hash, otherwise the one that it sends. With `only`, the document
 * must be a known one, named or sent. Undefined when there is neither, and for requests that the protocol itself will
 * refuse.
 */
export function createFind(
  operations: PersistedOperations,
  only: boolean,
): (sent: SentOperation) => FoundDocument | undefined {
  const texts = new Set(operations.values())

  return (sent) => {
    const hash = hashOf(sent)
    // The WebSocket protocol requires a text, so an empty one counts as none.
    const query = typeof sent.query === 'string' && sent.query !== '' ? sent.query : undefined
    const known = hash === undefined ? undefined : operations.get(hash)
    if (known !== undefined) {
      if (query !== undefined && query !== known)
        throw invalidRequest({ path: 'query', message: 'must be absent, or the document with this hash' })
      return { text: known, isPersisted: true }
    }
    if (query === undefined) {
      if (hash !== undefined) throw new Refusal('persistedQueryNotFound')
      return undefined
    }
    const isPersisted = texts.has(query)
    if (only && !isPersisted)
      throw new Refusal(hash === undefined ? 'persistedQueryRequired' : 'persistedQueryNotFound')
    if (hash !== undefined && hash !== sha256(query))
      throw invalidRequest({ path: 'query', message: 'must be absent, or the document with this hash' })
    return { text: query, isPersisted }
  }
}

/** The same over HTTP and server-sent events. */
export function persistedOperations(
  findDocument: (sent: SentOperation, address: () => string) => string | undefined,
): Plugin<object, ServerContext> {
  return {
    onParams({ request, params, setParams, context }) {
      if (!isObject(params)) return
      const { documentId, ...standard } = params as GraphQLParams & { documentId?: unknown }
      const named =
        documentId ?? (request.method === 'GET' ? new URL(request.url).searchParams.get('documentId') : undefined)
      const query = findDocument({ ...standard, documentId: named }, context.address ?? (() => ''))
      setParams({ ...standard, query: query ?? standard.query })
    },
  }
}

/** Reads Apollo's form, and that of the GraphQL over HTTP specification. In both, a hash may have its prefix. */
function hashOf({ documentId, extensions }: SentOperation): string | undefined {
  const persisted = isObject(extensions) ? extensions.persistedQuery : undefined
  let hash: string | undefined
  if (persisted !== undefined && persisted !== null) {
    const { version, sha256Hash } = isObject(persisted) ? persisted : {}
    if (version !== 1 || typeof sha256Hash !== 'string')
      throw invalidRequest({ path: 'extensions.persistedQuery', message: 'must be {"version": 1, "sha256Hash": "…"}' })
    hash = withoutPrefix(sha256Hash)
  }
  if (documentId === undefined || documentId === null) return hash
  if (typeof documentId !== 'string') throw invalidRequest({ path: 'documentId', message: 'must be a string' })
  const id = withoutPrefix(documentId)
  if (hash !== undefined && hash !== id)
    throw invalidRequest({ path: 'documentId', message: 'must be absent, or the hash of extensions.persistedQuery' })
  return id
}

const sha256 = (text: string): string => hash('sha256', text)

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const codeOf = (error: unknown): string => (isObject(error) && typeof error.code === 'string' ? error.code : 'unknown')
