import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  OperationTypeNode,
} from 'graphql'
import { processRegularResult, type YogaServerInstance } from 'graphql-yoga'
import type { Logger } from '../app/log.ts'
import type { Metrics } from '../app/metrics.ts'
import type { Config } from '../config.ts'
import { invalidRequest, Refusal } from '../errors.ts'
import { isEncoded, letBy, readBody, requestIdOf } from '../http/request.ts'
import { closedOf, endWith } from '../http/respond.ts'
import type { Incoming, WholeRequest } from '../http/whole-requests.ts'
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
  readonly execute: (args: ExecutionArgs) => Promise<ExecutionResult>
  /** The context of queries and mutations. */
  readonly addressOf: (request: Incoming) => () => string
  readonly contextOf: (request: Incoming, closed: () => AbortSignal, requestId: string) => Context
}

const ROUTE = '/graphql'
const ALLOWED = [
  ...['access-control-allow-methods', 'GET, POST'],
  ...[
    'access-control-allow-headers',
    'authorization, content-type, last-event-id, traceparent, tracestate, x-operator, x-request-id, x-sdk-key',
  ],
  ...['access-control-expose-headers', 'ratelimit, ratelimit-policy, retry-after, x-request-id'],
]
const MEMBERS: ReadonlySet<string> = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions'])

/**
 * GraphQL over HTTP. Yoga serves everything, except that a query or mutation with a document that Yoga has validated
 * before runs without Yoga's request and response objects, which cost as much as the rest of a small call. Rules exist
 * once: Yoga caches the documents, runs the same `execute`, and its own function prints the result.
 */
export function createServe(options: ServeOptions) {
  const { yoga, config, log, documents, find, tidy, execute, contextOf } = options
  const count = options.metrics.answersOf(ROUTE)
  const { schema } = yoga.getEnveloped()

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

  /** Runs a body that can run at once. Undefined for one that Yoga must answer. */
  function answerTo(
    body: Buffer,
    request: Incoming,
    closed: () => AbortSignal,
    call: HttpCall,
  ): Promise<Answer> | undefined {
    const mediaType = isJson(request) ? mediaTypeOf(request) : undefined
    if (mediaType === undefined) return undefined
    const operation = operationOf(body)
    return operation && answerOf(operation, mediaType, () => contextOf(request, closed, call.requestId), call)
  }

  async function answerOf(
    operation: Operation,
    mediaType: string,
    context: () => Context,
    call: HttpCall,
  ): Promise<Answer> {
    const result = await run(operation, context())
    if (result.errors) tidy(result.errors)
    const { text, init } = processRegularResult(result, { Response: Printed } as never, mediaType) as never as Printed
    const { 'Content-Type': type = JSON_TYPE, ...others } = init.headers
    const headers = headed(call, text, 'content-type', type, ...Object.entries(others).flat())
    return { status: init.status, headers, text }
  }

  /** Reads the body as REST does: up to a limit, also without a `Content-Length`. */
  async function post(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    const body = await readBody(request, config.maxBodyBytes)
    if (!isUtf8(body)) throw invalidRequest({ path: '', message: 'the body must be valid UTF-8' })
    const answer = await answerTo(body, request, () => closedOf(response), call)
    if (answer) write(response, answer)
    else await handOver(Object.assign(request, { body: new Read(body) }), response, call)
  }

  async function handOver(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    for (let at = 0; at < call.headers.length; at += 2)
      response.setHeader(call.headers[at] ?? '', call.headers[at + 1] ?? '')
    await yoga.handle(request, response, { requestId: call.requestId, address: options.addressOf(request) })
  }

  /** The last host that could be parsed. The next request mostly has the same. */
  let knownHost = ''

  /** Yoga builds a URL from the host. For an invalid host it would answer with a stack trace. */
  function hasHost({ headers: { host = 'localhost' } }: Incoming): boolean {
    if (host !== knownHost && !URL.canParse(`http://${host}`)) return false
    knownHost = host
    return true
  }

  async function serve(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    try {
      if (!hasHost(request)) throw new Refusal('invalidRequest')
      if (request.method === 'OPTIONS') write(response, { status: 204, headers: headed(call, ''), text: '' })
      else if (request.method === 'POST') await post(request, response, call)
      else await handOver(request, response, call)
    } catch (error) {
      letBy(request, response)
      write(response, refuse(error, call))
    }
  }

  function refuse(error: unknown, call: HttpCall): Answer {
    const refusal = error instanceof Refusal ? error : new Refusal('internalError')
    if (refusal !== error) log.error({ path: ROUTE, requestId: call.requestId, err: error }, refusal.message)
    options.countRefused([{ extensions: { code: refusal.code.toUpperCase() } }])
    const text = textOf(refusal, call.requestId)
    return { status: refusal.status, headers: headed(call, text, 'content-type', `${JSON_TYPE}; charset=utf-8`), text }
  }

  /** The headers depend on the origin: no answer allows another origin to read it. */
  function callOf(request: Incoming): HttpCall {
    const { origin } = request.headers
    const requestId = requestIdOf(request)
    const headers = ['x-request-id', requestId]
    const isOpen = origin !== undefined && config.allowedOrigins.includes(origin)
    if (isOpen) headers.push('access-control-allow-origin', origin, ...ALLOWED)
    // A cache must not give one origin the preflight of another.
    if (isOpen || request.method === 'OPTIONS') headers.push('vary', 'origin')
    return { requestId, headers }
  }

  return {
    async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const started = performance.now()
      await serve(request, response, callOf(request))
      // A stream of events counts when it begins.
      count(response.statusCode, performance.now() - started)
    },

    /** The same for a request that arrived in one read. Null, without any effect, for a request that Yoga must answer. */
    serveWhole(request: WholeRequest): Promise<void> | null {
      const started = performance.now()
      const { body } = request
      if (body.length > config.maxBodyBytes || isEncoded(request) || !isUtf8(body) || !hasHost(request)) return null
      const call = callOf(request)
      const answering = answerTo(body, request, () => request.closed(), call)
      if (!answering) return null
      return answering
        .catch((error: unknown) => refuse(error, call))
        .then(({ status, headers, text }) => {
          request.answer(status, headers, text)
          count(status, performance.now() - started)
        })
    },
  }
}

/** A request over HTTP: its id, and the headers of each answer to it, names and values in turn. */
interface HttpCall {
  readonly requestId: string
  readonly headers: readonly string[]
}

interface Answer {
  readonly status: number
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly text: string
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

/** Whether it has only the members of an operation, each with the right type. */
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
const isJson = ({ headers }: Incoming): boolean => /^application\/json(;|$)/.test(headers['content-type'] ?? '')

/**
 * The media type that Yoga would choose for an answer that is no stream, when that is clear: the first accepted one.
 */
function mediaTypeOf({ headers }: Incoming): string | undefined {
  const [first = ''] = (headers.accept || '*/*').split(',', 1)
  return MEDIA_TYPES.get(first.trim())
}

const JSON_TYPE = 'application/json'
const RESPONSE_TYPE = 'application/graphql-response+json'
const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['*/*', JSON_TYPE],
  [JSON_TYPE, JSON_TYPE],
  [RESPONSE_TYPE, RESPONSE_TYPE],
])

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

/** A refusal in its GraphQL form, as the body of an answer. */
export function textOf({ status, message, code, faults }: Refusal, requestId: string): string {
  const told = { ...(faults.length > 0 && { details: faults }), ...(status === 500 && { requestId }) }
  return JSON.stringify({ errors: [{ message, extensions: { code: code.toUpperCase(), ...told } }] })
}

/** The headers of a call's answer, with those of its text. */
const headed = ({ headers }: HttpCall, text: string, ...others: string[]): readonly string[] => [
  ...headers,
  ...others,
  'content-length',
  String(Buffer.byteLength(text)),
]

function write(response: ServerResponse, { status, headers, text }: Answer): void {
  response.writeHead(status, headers as string[])
  endWith(response, text)
}
