import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DocumentNode, getOperationAST, OperationTypeNode } from 'graphql'
import { processRegularResult, type YogaServerInstance } from 'graphql-yoga'
import type { Logger } from '../app/log.ts'
import type { Metrics } from '../app/metrics.ts'
import type { Config } from '../config.ts'
import { invalidRequest, Refusal } from '../errors.ts'
import { letBy, readBody, requestIdOf } from '../http/request.ts'
import { endWith } from '../http/respond.ts'
import type { Context, ServerContext } from './context.ts'
import type { KeptDocuments } from './documents.ts'
import { mask, type TidyErrors } from './failures.ts'
import type { CountRefused } from './operation-metrics.ts'
import type { FoundDocument, SentOperation } from './persisted-operations.ts'

export interface ServeOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly documents: KeptDocuments
  /** Finds the document that a client names or sends. Refuses a document that must not run. */
  readonly find: (sent: SentOperation) => FoundDocument | undefined
  readonly count: (found: FoundDocument) => void
  readonly countRefused: CountRefused
  readonly tidy: TidyErrors
  /** The context of queries and mutations. */
  readonly addressOf: (request: IncomingMessage) => () => string
  readonly contextOf: (request: IncomingMessage, response: ServerResponse, requestId: string) => Context
}

const ROUTE = '/graphql'
const ALLOWED = [
  ...['access-control-allow-methods', 'GET, POST'],
  ...[
    'access-control-allow-headers',
    'authorization, content-type, last-event-id, x-operator, x-request-id, x-sdk-key',
  ],
  ...['access-control-expose-headers', 'ratelimit, ratelimit-policy, retry-after, x-request-id'],
  ...['vary', 'origin'],
]
const MEMBERS: ReadonlySet<string> = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions'])

/**
 * GraphQL over HTTP. Yoga serves everything, except that a query or mutation with a document that Yoga has validated
 * before runs without Yoga's request and response objects, which cost as much as the rest of a small call. Rules exist
 * once: Yoga caches the documents, its plugins wrap `execute`, and its own function prints the result.
 */
export function createServe(options: ServeOptions) {
  const { yoga, config, log, documents, find, tidy, contextOf } = options
  const count = options.metrics.answersOf(ROUTE)
  const { schema, execute } = yoga.getEnveloped()

  /** The operation of a body, if it can run at once. Yoga reports the faults of all others. */
  function operationOf(body: Buffer): Operation | undefined {
    try {
      const sent = JSON.parse(body.toString()) as Sent
      if (!isPlain(sent)) return undefined
      const found = find(sent)
      const document = found && documents.getValid(found.text)
      const kind = document && getOperationAST(document, sent.operationName)?.operation
      if (!kind || kind === OperationTypeNode.SUBSCRIPTION) return undefined
      options.count(found)
      return { document, operationName: sent.operationName, variableValues: sent.variables }
    } catch {
      return undefined
    }
  }

  async function run(operation: Operation, contextValue: Context) {
    try {
      return await execute({ schema, ...operation, contextValue })
    } catch (error) {
      return { errors: [mask(error, log, contextValue.requestId)] }
    }
  }

  /** Reads the body as REST does: up to a limit, also without a `Content-Length`. */
  async function post(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    const body = await readBody(request, config.maxBodyBytes)
    if (!isUtf8(body)) throw invalidRequest({ path: '', message: 'the body must be valid UTF-8' })
    const mediaType = isJson(request) ? mediaTypeOf(request) : undefined
    const operation = mediaType && operationOf(body)
    if (!operation) return handOver(Object.assign(request, { body: new Read(body) }), response, call)
    const result = await run(operation, contextOf(request, response, call.requestId))
    if (result.errors) tidy(result.errors)
    const { text, init } = processRegularResult(result, { Response: Printed } as never, mediaType) as never as Printed
    const { 'Content-Type': type = JSON_TYPE, ...others } = init.headers
    write(response, init.status, [...call.headers, 'content-type', type, ...Object.entries(others).flat()], text)
  }

  async function handOver(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    for (let at = 0; at < call.headers.length; at += 2)
      response.setHeader(call.headers[at] ?? '', call.headers[at + 1] ?? '')
    await yoga.handle(request, response, { requestId: call.requestId, address: options.addressOf(request) })
  }

  /** The host of the last request, which could be parsed: mostly, that of the next one. */
  let knownHost = ''

  async function answer(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    try {
      // Yoga builds a URL from the host, and would answer with a stack for one that is no URL.
      const { host = 'localhost' } = request.headers
      if (host !== knownHost && !URL.canParse(`http://${host}`)) throw new Refusal('invalidRequest')
      knownHost = host
      if (request.method === 'OPTIONS') write(response, 204, call.headers, '')
      else if (request.method === 'POST') await post(request, response, call)
      else await handOver(request, response, call)
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('internalError')
      if (refusal !== error) log.error({ path: ROUTE, requestId: call.requestId, err: error }, refusal.message)
      const type = `${JSON_TYPE}; charset=utf-8`
      options.countRefused([{ extensions: { code: refusal.code.toUpperCase() } }])
      letBy(request, response)
      write(response, refusal.status, [...call.headers, 'content-type', type], textOf(refusal, call.requestId))
    }
  }

  /** By origin: no answer allows another origin to read it. */
  function headersOf({ headers: { origin } }: IncomingMessage, requestId: string): readonly string[] {
    const headers = ['x-request-id', requestId]
    return origin !== undefined && config.allowedOrigins.includes(origin)
      ? [...headers, 'access-control-allow-origin', origin, ...ALLOWED]
      : headers
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = performance.now()
    const requestId = requestIdOf(request)
    await answer(request, response, { requestId, headers: headersOf(request, requestId) })
    // A stream of events counts when it begins.
    count(response.statusCode, performance.now() - started)
  }
}

/** A request over HTTP: its id, and the headers of each answer to it, names and values in turn. */
interface HttpCall {
  readonly requestId: string
  readonly headers: readonly string[]
}

interface Operation {
  readonly document: DocumentNode
  readonly operationName: string | null | undefined
  readonly variableValues: Readonly<Record<string, unknown>> | null | undefined
}

interface Sent extends SentOperation {
  readonly operationName?: string | null
  readonly variables?: Readonly<Record<string, unknown>> | null
}

/** Whether it has only members of an operation, each of its type. */
function isPlain(sent: unknown): boolean {
  if (!isMap(sent) || !Object.keys(sent).every((name) => MEMBERS.has(name))) return false
  const { operationName, variables, extensions } = sent
  return (
    [variables, extensions].every((value) => value === undefined || value === null || isMap(value)) &&
    (operationName === undefined || operationName === null || typeof operationName === 'string')
  )
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Web pages can post forms and plain text without a preflight, but not JSON. */
const isJson = ({ headers }: IncomingMessage): boolean => /^application\/json(;|$)/.test(headers['content-type'] ?? '')

/**
 * The media type that Yoga would choose for an answer that is no stream, when that is clear: the first accepted one.
 */
function mediaTypeOf({ headers }: IncomingMessage): string | undefined {
  const [first = ''] = (headers.accept || '*/*').split(',', 1)
  return MEDIA_TYPES[first.trim()]
}

const JSON_TYPE = 'application/json'
const RESPONSE_TYPE = 'application/graphql-response+json'
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '*/*': JSON_TYPE,
  [JSON_TYPE]: JSON_TYPE,
  [RESPONSE_TYPE]: RESPONSE_TYPE,
}

/** A printed result, which Yoga would turn into a `Response`. */
class Printed {
  readonly text: string
  readonly init: { readonly status: number; readonly headers: Readonly<Record<string, string>> }

  constructor(text: string, init: Printed['init']) {
    this.text = text
    this.init = init
  }
}

/** A body that was read, in a form that Yoga can read again. */
class Read {
  readonly body: Buffer

  constructor(body: Buffer) {
    this.body = body
  }

  async *[Symbol.asyncIterator]() {
    yield this.body
  }
}

function textOf({ status, message, code, faults }: Refusal, requestId: string): string {
  const told = { ...(faults.length > 0 && { details: faults }), ...(status === 500 && { requestId }) }
  return JSON.stringify({ errors: [{ message, extensions: { code: code.toUpperCase(), ...told } }] })
}

function write(response: ServerResponse, status: number, headers: readonly string[], text: string): void {
  response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(text))])
  endWith(response, text)
}
