import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type GraphQLSchema,
  getOperationAST,
  OperationTypeNode,
} from 'graphql'
import { processRegularResult, type YogaServerInstance } from 'graphql-yoga'
import type { Config } from '../../base/config.ts'
import { type Fault, invalidRequest, Refusal } from '../../base/errors.ts'
import { kindOf, members, parseJson, syntaxFault } from '../../base/json.ts'
import type { Logger } from '../../base/log.ts'
import type { Metrics } from '../../base/metrics.ts'
import { gameTimeHeader } from '../../declare/game-time.ts'
import type { Context, ServerContext } from '../../declare/graphql/context.ts'
import { acceptedOf, isJsonType, STREAM_TYPE } from '../../declare/media-types.ts'
import { letBy, readBody, requestIdOf } from '../../declare/request.ts'
import { closedOf, endWith } from '../../declare/respond.ts'
import { faultOfHost } from '../http/way-in.ts'
import type { Contexts } from './contexts.ts'
import type { KeptDocuments } from './documents.ts'
import type { Mask, TidyErrors } from './failures.ts'
import type { CountRefused } from './operation-metrics.ts'
import type { FoundDocument, SentOperation } from './persisted-operations.ts'

export interface ServeOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly log: Logger
  readonly mask: Mask
  readonly metrics: Metrics
  readonly documents: KeptDocuments
  /** Finds the document that a client names or sends. Refuses a document that must not run. */
  readonly find: (sent: SentOperation) => FoundDocument | undefined
  readonly countFound: (found: FoundDocument) => void
  readonly countRefused: CountRefused
  readonly tidy: TidyErrors
  readonly execute: (args: ExecutionArgs) => Promise<ExecutionResult>
  readonly contexts: Contexts
}

const ROUTE = '/graphql'
const ALLOW = ['allow', 'GET, POST, OPTIONS']
const ALLOWED = [
  'access-control-allow-methods',
  'GET, POST',
  'access-control-allow-headers',
  'authorization, content-type, last-event-id, traceparent, tracestate, x-operator, x-request-id, x-sdk-key',
  'access-control-expose-headers',
  'date, ratelimit, ratelimit-policy, retry-after, tierway-game-time, x-request-id',
]
const MEMBERS: ReadonlySet<string> = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions'])
const MAPS: ReadonlySet<string> = new Set(['variables', 'extensions'])

/**
 * GraphQL over HTTP. Yoga serves everything, except that a query or mutation with a document that Yoga has validated
 * before runs without Yoga's request and response objects, which cost as much as the rest of a small call. Rules exist
 * once: Yoga caches the documents, runs the same `execute`, and its own function prints the result.
 */
export class GraphqlOverHttp {
  private readonly options: ServeOptions
  private readonly schema: GraphQLSchema
  private readonly countAnswer: (status: number, ms: number) => void

  constructor(options: ServeOptions) {
    this.options = options
    this.schema = options.yoga.getEnveloped().schema
    this.countAnswer = options.metrics.answersOf(ROUTE)
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now()
    await this.answer(request, response, this.callOf(request))
    // A stream of events counts when it begins.
    this.countAnswer(response.statusCode, performance.now() - started)
  }

  /** The headers depend on the origin: no answer allows another origin to read it. */
  private callOf(request: IncomingMessage): HttpCall {
    const { origin } = request.headers
    const requestId = requestIdOf(request)
    const headers = ['x-request-id', requestId]
    const isOpen = origin !== undefined && this.options.config.allowedOrigins.includes(origin)
    if (isOpen) headers.push('access-control-allow-origin', origin, ...ALLOWED)
    // A cache must not give one origin the preflight of another.
    if (isOpen || request.method === 'OPTIONS') headers.push('vary', 'origin')
    return { requestId, headers }
  }

  private async answer(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    try {
      // Yoga builds a URL from the host. For an invalid host it would answer with a stack trace.
      const fault = faultOfHost(request)
      if (fault) throw invalidRequest(fault)
      if (request.method === 'OPTIONS') write(response, { status: 204, headers: headed(call, '', ...ALLOW), text: '' })
      else if (request.method === 'POST') await this.post(request, response, call)
      else if (request.method === 'GET') await this.get(request, response, call)
      else throw new Refusal('methodNotAllowed')
    } catch (error) {
      letBy(request, response)
      write(response, this.refuse(error, call))
    }
  }

  /** Reads the body as REST does: up to a limit, also without a `Content-Length`. */
  private async post(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    if (!isJsonType(request.headers['content-type'])) {
      const message = 'must be application/json, in UTF-8'
      throw new Refusal('unsupportedMediaType', { faults: [{ path: 'Content-Type', message }] })
    }
    const accept = acceptIn(request)
    const body = await readBody(request, this.options.config.maxBodyBytes)
    if (!isUtf8(body)) throw invalidRequest({ path: '', message: 'the body must be valid UTF-8' })
    const text = body.toString()
    const variablesText = () => variablesIn(text)
    const mediaType = mediaTypeOf(request)
    const operation = mediaType === undefined ? undefined : this.operationOf(text)
    if (mediaType !== undefined && operation) {
      const { requestId } = call
      const closed = () => closedOf(response)
      const context = this.options.contexts.ofRequest(request, { requestId, variablesText, closed })
      write(response, await this.answerTo(operation, mediaType, context, call))
      return
    }
    Object.assign(request, { body: new Read(body) })
    const faults = faultsOf(parsed(text, { path: '', message: 'the body' }))
    if (faults.length > 0) throw invalidRequest(...faults)
    await this.handOver(request, response, { ...call, accept, variablesText })
  }

  /** The operation of a body, if it can run at once. Yoga reports the faults of all others. */
  private operationOf(body: string): Operation | undefined {
    const { find, documents, countFound } = this.options
    try {
      const sent = parseJson(body) as Sent
      if (faultsOf(sent).length > 0) return undefined
      const found = find(sent)
      const document = found && documents.getValid(found.text)
      const kind = document && getOperationAST(document, sent.operationName)?.operation
      if (!kind || kind === OperationTypeNode.SUBSCRIPTION) return undefined
      countFound(found)
      return { document, operationName: sent.operationName, variableValues: sent.variables }
    } catch {
      return undefined
    }
  }

  private async answerTo(operation: Operation, mediaType: string, context: Context, call: HttpCall): Promise<Answer> {
    const result = await this.run(operation, context)
    if (result.errors) this.options.tidy(result.errors)
    const { text, init } = processRegularResult(result, { Response: Printed } as never, mediaType) as never as Printed
    const { 'Content-Type': type = JSON_TYPE, ...others } = init.headers
    const headers = headed(
      call,
      text,
      'content-type',
      type,
      ...Object.entries(others).flat(),
      ...gameTimeHeader(context.service.gameClocks, context),
    )
    return { status: init.status, headers, text }
  }

  private async run({ document, operationName, variableValues }: Operation, contextValue: Context) {
    const { execute, mask } = this.options
    try {
      return await execute({ schema: this.schema, document, operationName, variableValues, contextValue })
    } catch (error) {
      return { errors: [mask(error, contextValue.requestId)] }
    }
  }

  private async get(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    const { headers, url = '' } = request
    // A page, which GraphiQL answers.
    const isPage = this.options.config.graphiql && headers.accept?.includes('text/html')
    const accept = isPage ? headers.accept : acceptIn(request)
    const at = url.indexOf('?')
    const parameters = new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
    const jsonOf = (name: string): unknown => {
      const text = parameters.get(name)
      return text ? parsed(text, { path: name, message: 'the parameter' }) : undefined
    }
    const faults = faultsOf({ variables: jsonOf('variables'), extensions: jsonOf('extensions') })
    if (faults.length > 0) throw invalidRequest(...faults)
    const variablesText = () => parameters.get('variables') ?? undefined
    await this.handOver(request, response, { ...call, accept, variablesText })
  }

  private async handOver(request: IncomingMessage, response: ServerResponse, call: HandedCall): Promise<void> {
    const { yoga, contexts } = this.options
    const { requestId, variablesText } = call
    // Yoga heeds no weights and knows one form of the media type of JSON.
    request.headers.accept = call.accept
    if (request.method === 'POST') request.headers['content-type'] = JSON_TYPE
    for (let at = 0; at < call.headers.length; at += 2)
      response.setHeader(call.headers[at] ?? '', call.headers[at + 1] ?? '')
    await yoga.handle(request, response, { requestId, variablesText, address: contexts.addressOf(request) })
  }

  private refuse(error: unknown, call: HttpCall): Answer {
    const { log, countRefused } = this.options
    const refusal = error instanceof Refusal ? error : new Refusal('internalError')
    if (refusal !== error) log.error({ path: ROUTE, requestId: call.requestId, err: error }, refusal.message)
    countRefused([{ extensions: { code: refusal.code.toUpperCase() } }])
    const text = textOf(refusal, call.requestId)
    const allow = refusal.status === 405 ? ALLOW : []
    const headers = headed(call, text, 'content-type', `${JSON_TYPE}; charset=utf-8`, ...allow)
    return { status: refusal.status, headers, text }
  }
}

/** A request over HTTP: its id, and the headers of each answer to it, names and values in turn. */
interface HttpCall {
  readonly requestId: string
  readonly headers: readonly string[]
}

/** A call that Yoga answers. */
interface HandedCall extends HttpCall {
  readonly accept: string | undefined
  readonly variablesText: () => string | undefined
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

/** The faults of a request that is more or less than an operation, or has members of other types. */
function faultsOf(sent: unknown): Fault[] {
  if (Array.isArray(sent)) return [{ path: '', message: 'the body must be one operation: there are no batches' }]
  if (!isMap(sent)) return [{ path: '', message: 'the body must be a JSON object' }]
  const faults: Fault[] = []
  for (const [name, value] of Object.entries(sent)) {
    if (value === undefined || value === null) continue
    if (!MEMBERS.has(name)) faults.push({ path: name, message: `is none of ${[...MEMBERS].join(', ')}` })
    else if (MAPS.has(name) ? !isMap(value) : typeof value !== 'string')
      faults.push({ path: name, message: MAPS.has(name) ? 'must be a JSON object' : 'must be a string' })
  }
  return faults
}

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The value of a JSON text. `place` names the text: its path, and the words for it. */
function parsed(text: string, { path, message }: Fault): unknown {
  try {
    return parseJson(text)
  } catch {
    throw invalidRequest({ path, message: `${message} must be JSON: ${syntaxFault(text)}` })
  }
}

/** The text of the variables of a valid body. */
function variablesIn(body: string): string | undefined {
  const text = members(body).get('variables')
  return text === undefined || kindOf(text) !== 'object' ? undefined : text
}

/**
 * The media type of an answer that is no stream, when the header begins with it, as those of most clients do. The
 * others are left to Yoga.
 */
function mediaTypeOf({ headers: { accept } }: IncomingMessage): string | undefined {
  const [first = ''] = (accept || '*/*').split(',', 1)
  const plain = PLAIN_TYPES.get(first.trim())
  if (plain === undefined || !accept?.includes(';')) return plain
  return acceptedOf(accept, MEDIA_TYPES).find((type) => type !== STREAM_TYPE)
}

/** The types of answers that a caller takes, without weights. Refuses a caller that takes none. */
function acceptIn({ headers: { accept } }: IncomingMessage): string {
  const types = acceptedOf(accept, MEDIA_TYPES)
  if (types.length > 0) return types.join(', ')
  const message = `must take ${MEDIA_TYPES.join(', or ')}`
  throw new Refusal('notAcceptable', { faults: [{ path: 'Accept', message }] })
}

const JSON_TYPE = 'application/json'
const RESPONSE_TYPE = 'application/graphql-response+json'
const PLAIN_TYPES: ReadonlyMap<string, string> = new Map([
  ['*/*', JSON_TYPE],
  [JSON_TYPE, JSON_TYPE],
  [RESPONSE_TYPE, RESPONSE_TYPE],
])
const MEDIA_TYPES = [JSON_TYPE, RESPONSE_TYPE, STREAM_TYPE]

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
  const extensions = { ...(faults.length > 0 && { details: faults }), ...(status === 500 && { requestId }) }
  return JSON.stringify({ errors: [{ message, extensions: { code: code.toUpperCase(), ...extensions } }] })
}

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
