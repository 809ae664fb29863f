import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type DocumentNode, getOperationAST, OperationTypeNode } from 'graphql'
import { processRegularResult, type YogaServerInstance } from 'graphql-yoga'
import type { Config } from '../config.ts'
import { invalidRequest, Refusal } from '../errors.ts'
import { letBy, readBody } from '../http/body.ts'
import { requestIdOf } from '../http/request-id.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { Context, ServerContext } from './context.ts'
import type { KeptDocuments } from './documents.ts'
import { mask, type TidyErrors } from './failures.ts'
import type { FoundDocument, SentOperation } from './persisted-operations.ts'

export interface ServeOptions {
  readonly yoga: YogaServerInstance<ServerContext, Context>
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly documents: KeptDocuments
  /** The document that a client names or sends. Refuses a document that it must not run. */
  readonly find: (sent: SentOperation) => FoundDocument | undefined
  readonly count: (found: FoundDocument) => void
  readonly tidy: TidyErrors
  /** What resolvers of queries and mutations work with. */
  readonly contextOf: (request: IncomingMessage, response: ServerResponse, requestId: string) => Context
}

const ROUTE = '/graphql'
const ALLOWED = [
  ...['access-control-allow-methods', 'GET, POST'],
  ...[
    'access-control-allow-headers',
    'authorization, content-type, last-event-id, x-operator, x-request-id, x-sdk-key',
  ],
  ...['access-control-expose-headers', 'x-request-id'],
  ...['vary', 'origin'],
]
const MEMBERS: ReadonlySet<string> = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions'])

/**
 * GraphQL over HTTP. Yoga serves everything; but a query or a mutation whose document it has found valid before is run
 * without Yoga's own objects of requests and answers, which cost as much as all the rest of a small call. The rules
 * stand once: documents are kept by Yoga, run by what its plugins make of `execute`, and printed by its own function.
 */
export function createServe(options: ServeOptions) {
  const { yoga, config, log, documents, find, tidy, contextOf } = options
  const count = options.metrics.answersOf(ROUTE)
  const { schema, execute } = yoga.getEnveloped()

  /** What a body asks for, if it can be run at once. Yoga tells what is wrong with all others. */
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

  /** Reads the body as over REST: up to a limit, also without a `Content-Length`. */
  async function post(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    const body = await readBody(request, config.maxBodyBytes)
    if (!isUtf8(body)) throw invalidRequest({ path: '', message: 'the body must be valid UTF-8' })
    const mediaType = isJson(request) ? mediaTypeOf(request) : undefined
    const operation = mediaType && operationOf(body)
    if (!operation) return handOver(Object.assign(request, { body: new Read(body) }), response, call)
    const result = await run(operation, contextOf(request, response, call.requestId))
    if (result.errors) tidy(result.errors)
    const { text, init } = processRegularResult(result, { Response: Printed } as never, mediaType) as never as Printed
    const type = init.headers['Content-Type'] ?? JSON_TYPE
    write(response, init.status, [...call.headers, 'content-type', type], text)
  }

  async function handOver(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    for (let at = 0; at < call.headers.length; at += 2)
      response.setHeader(call.headers[at] ?? '', call.headers[at + 1] ?? '')
    await yoga.handle(request, response, { requestId: call.requestId })
  }

  async function answer(request: IncomingMessage, response: ServerResponse, call: HttpCall): Promise<void> {
    try {
      // Yoga builds a whole address from it, and would answer with the stack of what it cannot build.
      if (!URL.canParse(`http://${request.headers.host ?? 'localhost'}`)) throw new Refusal('invalidRequest')
      if (request.method === 'OPTIONS') write(response, 204, call.headers, '')
      else if (request.method === 'POST') await post(request, response, call)
      else await handOver(request, response, call)
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal('internalError')
      if (refusal !== error) log.error({ path: ROUTE, requestId: call.requestId, err: error }, refusal.message)
      const type = `${JSON_TYPE}; charset=utf-8`
      letBy(request, response)
      write(response, refusal.status, [...call.headers, 'content-type', type], textOf(refusal, call.requestId))
    }
  }

  /** By origin: no answer says that another may read it. */
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
    // A stream of events is answered when it begins.
    count(response.statusCode, performance.now() - started)
  }
}

/** A request over HTTP: its name, and what each answer to it carries, names and values in turn. */
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

/** Whether it has the members of an operation, each of its type, and no others. */
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

/** A form or a plain text could be posted by any web page without asking; JSON cannot. */
const isJson = ({ headers }: IncomingMessage): boolean => /^application\/json(;|$)/.test(headers['content-type'] ?? '')

/** As Yoga chooses it for what is no stream, when it is clear: by the first of those that are accepted. */
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

/** What Yoga would make a `Response` of. */
class Printed {
  readonly text: string
  readonly init: { readonly status: number; readonly headers: Readonly<Record<string, string>> }

  constructor(text: string, init: Printed['init']) {
    this.text = text
    this.init = init
  }
}

/** A body that was read, in a form that Yoga takes for one that is still to be read. */
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
  response.writeHead(status, [...headers, 'content-length', String(Buffer.byteLength(text))]).end(text)
}
