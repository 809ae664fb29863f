import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { Service } from '../app/service.ts'
import { type Fault, Refusal } from '../base/errors.ts'
import type { Json } from '../base/json.ts'
import { clientAddress } from '../base/rate-limits/client-address.ts'
import {
  type Access,
  type AttemptedAction,
  accessOf,
  noteDenied,
  requireClient,
  requireLink,
  requirePlatform,
  requirePlayer,
  requireServer,
} from '../callers/access.ts'
import type { ClientRef, PlatformCaller, PlayerCaller, ServerCaller } from '../callers/callers.ts'
import { requireServerKey } from '../callers/keys.ts'
import type { Right } from '../callers/roles.ts'
import type { PrismaClient } from '../db/prisma.ts'
import type { Contract, PublishedCall } from './contract.ts'
import { gameTimeHeader, NO_HEADERS } from './game-time.ts'
import { inputReader } from './idempotency-header.ts'
import { STREAM_HEADERS, STREAM_TYPE } from './media-types.ts'
import type { PlayerCall, RestCall, Tagged } from './player-call.ts'
import { type Line, operatorHeader, readBody, readJson, readLines, textOf } from './request.ts'
import { json, NO_STORE, noContent, type Reply, tagged } from './respond.ts'
import { type Fields, type RequestOf, refuseFaults, type Shape } from './shape.ts'
import type { JsonSource } from './source.ts'
import { addUnknownMembers, queryFaults } from './unknown-names.ts'

/** What every handler needs. */
export interface RestContext {
  readonly service: Service
  /** Reads what the answers of operators' calls show. */
  readonly prisma: PrismaClient
  /** Operations that are in no list are refused, so operators' calls are made over GraphQL alone. */
  readonly isPersistedOnly: boolean
  /** Called when a member of an answer could not be read, and is null. */
  readonly onUnread: (error: unknown, call: string) => void
  readonly maxBodyBytes: number
  /** Proxies before the service that append to `X-Forwarded-For`. */
  readonly trustedProxies: number
}

/** One line of the contents page: method, path, caller and handler. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** The path with its parameters: `/platform/v1/projects/:projectId`. */
  readonly path: string
  /** A page of this origin, which no other origin calls: it has no OPTIONS. */
  readonly isPage?: boolean
  /** A call of game servers, which no page makes: no origin is allowed. */
  readonly isOfServers?: boolean
  /** What `openapi.json` says of it, for the calls of games and operators. */
  readonly contract?: PublishedCall
  readonly respond: (
    context: RestContext,
    request: IncomingMessage,
    params: Readonly<Record<string, string>>,
    /** Aborts when the answer was sent, or the client is gone. */
    closed: () => AbortSignal,
  ) => Reply | Promise<Reply>
}

/**
 * A call's credentials. A value that is no string was sent several times. Of these headers, Node allows that only for
 * the SDK key.
 */
export function accessFor({ service, trustedProxies }: RestContext, request: IncomingMessage): Access {
  const { headers } = request
  const { authorization, 'x-sdk-key': sdkKey } = headers
  const credentials = {
    authorization,
    sdkKey: typeof sdkKey === 'string' ? sdkKey : null,
    operator: operatorHeader(headers),
    address: () => clientAddress(request, trustedProxies),
  }
  const access = accessOf(service, credentials, 'invalidToken')
  // Where every clock is the real one, as in most deployments, no answer needs the caller again.
  if (!service.gameClocks.isEmpty) accesses.set(request, access)
  return access
}

const accesses = new WeakMap<IncomingMessage, Access>()

/** The header of the game's time, once the caller of a request was found. */
export const gameTimeOf = ({ service: { gameClocks } }: RestContext, request: IncomingMessage): readonly string[] =>
  gameClocks.isEmpty ? NO_HEADERS : gameTimeHeader(gameClocks, accesses.get(request))

/** A call of a player: bearer token, JSON object in, JSON out. */
export function playerPost<F extends Fields, Outcome>(path: string, call: RestCall<F, Outcome>): Route {
  const run = ({ caller, input, service }: PlayerRequest<RequestOf<Shape<F>>>) =>
    service.runAs(caller, call.command(caller, input)) as Promise<Json | undefined>
  return playerRead(path, { ...call, run })
}

/** A call with a JSON object as its request. Without a result the answer is a 204. */
export interface Call<F extends Fields, Request> {
  readonly request: Shape<F>
  readonly contract: Contract
  readonly run: (request: Request) => Promise<Json | undefined>
  /** Its name in the audit log. */
  readonly action?: string
}

export interface PlayerRequest<Input> {
  readonly caller: PlayerCaller
  readonly input: Input
  readonly service: Service
  /** Aborts when the answer was sent, or the client is gone. */
  readonly closed: () => AbortSignal
}

export const readCall = <F extends Fields>(call: Call<F, PlayerRequest<RequestOf<Shape<F>>>>) => call

/** A read of a player whose answer is kept by its tag: `If-None-Match` with the tag of the same answer gets a 304. */
export function playerTagged<F extends Fields>(
  path: string,
  { command, contract, ...call }: Omit<PlayerCall<F, Tagged>, 'action'> & { readonly contract: Contract },
): Route {
  const run = ({ caller, input, service }: PlayerRequest<RequestOf<Shape<F>>>) =>
    service.runAs(caller, command(caller, input))
  return playerRoute(path, { ...call, contract: { ...contract, hasTag: true }, run }, (answer, headers) =>
    tagged(answer, headers['if-none-match']),
  )
}

/** The same for a read or write that is no command. */
export const playerRead = <F extends Fields>(path: string, call: Call<F, PlayerRequest<RequestOf<Shape<F>>>>): Route =>
  playerRoute(path, call, reply)

type Running<F extends Fields, Outcome> = Omit<Call<F, unknown>, 'run'> & {
  readonly run: (request: PlayerRequest<RequestOf<Shape<F>>>) => Promise<Outcome>
}

function playerRoute<F extends Fields, Outcome>(
  path: string,
  { request: shape, contract, run, action }: Running<F, Outcome>,
  toReply: (outcome: Outcome, headers: IncomingHttpHeaders) => Reply,
): Route {
  const readInput = inputReader(shape)
  return {
    method: 'POST',
    path,
    contract: { ...contract, access: 'player', request: shape },
    async respond(context, request, _params, closed) {
      const { service } = context
      const found = requirePlayer(accessFor(context, request), action)
      const caller = found instanceof Promise ? await found : found
      const body = await readSource(context, request)
      // A body can take long to arrive.
      service.tokens.requireValid(caller)
      const outcome = await run({ caller, input: readInput(body, request), service, closed })
      return toReply(outcome, request.headers)
    },
  }
}

/** A call of a player whose answer is produced while it is sent. Every refusal of the caller comes before its first byte. */
export interface PlayerStream {
  readonly request: Shape<Fields>
  readonly contract: Contract
  readonly action: string
  readonly run: (request: Omit<PlayerRequest<unknown>, 'input' | 'closed'>) => Promise<PagesReply>
}

/** The pages of an answer that is too long for memory. */
interface PagesReply {
  readonly type: string
  readonly pages: AsyncIterable<string>
}

export function playerStream(path: string, { request: shape, contract, action, run }: PlayerStream): Route {
  return {
    method: 'POST',
    path,
    contract: { ...contract, access: 'player', request: shape },
    async respond(context, request) {
      const { service } = context
      const caller = await requirePlayer(accessFor(context, request), action)
      shape.read(await readSource(context, request))
      service.tokens.requireValid(caller)
      return pagesReply(await run({ caller, service }))
    },
  }
}

const pagesReply = ({ type, pages }: PagesReply): Reply => ({
  status: 200,
  body: null,
  headers: ['content-type', type, ...NO_STORE],
  pages,
})

export interface ClientRequest<Input> {
  readonly client: ClientRef
  readonly input: Input
  readonly service: Service
}

export interface LinkCall<F extends Fields>
  extends Call<F, ClientRequest<RequestOf<Shape<F>>> & { readonly caller: PlayerCaller }> {
  readonly action: string
}

export const clientCall = <F extends Fields>(call: Call<F, ClientRequest<RequestOf<Shape<F>>>>) => call
export const linkCall = <F extends Fields>(call: LinkCall<F>) => call

/** A call of a game client before any login: SDK key, JSON object in, JSON out. */
export function clientPost<F extends Fields>(
  path: string,
  { request: shape, contract, run }: Call<F, ClientRequest<RequestOf<Shape<F>>>>,
): Route {
  return {
    method: 'POST',
    path,
    contract: { ...contract, access: 'client', request: shape },
    async respond(context, request) {
      const client = await requireClient(accessFor(context, request))
      const input = shape.read(await readSource(context, request))
      return reply(await run({ client, input, service: context.service }))
    },
  }
}

/** A call of a player that also needs the SDK key. Both must be of one environment. */
export function linkPost<F extends Fields>(
  path: string,
  { request: shape, contract, run, action }: LinkCall<F>,
): Route {
  return {
    method: 'POST',
    path,
    contract: { ...contract, access: 'link', request: shape },
    async respond(context, request) {
      const { client, player: caller } = await requireLink(accessFor(context, request), action)
      const input = shape.read(await readSource(context, request))
      return reply(await run({ client, caller, input, service: context.service }))
    },
  }
}

export interface ServerRequest<Input> {
  readonly caller: ServerCaller
  readonly input: Input
  readonly service: Service
}

export const serverCall = <F extends Fields>(call: Call<F, ServerRequest<RequestOf<Shape<F>>>>) => call

/** A call of a game server: server key, JSON object in, JSON out. Run its commands by `runAs`, which checks the key again. */
export function serverPost<F extends Fields>(
  path: `/server/v1/${string}`,
  { request: shape, contract, run, action }: Call<F, ServerRequest<RequestOf<Shape<F>>>>,
): Route {
  const readInput = inputReader(shape)
  const { schema } = shape
  const attempt = action === undefined ? undefined : { action, target: 'players' }
  return {
    method: 'POST',
    path,
    isOfServers: true,
    contract: { ...contract, access: 'server', request: shape },
    async respond(context, request) {
      const caller = await admitServer(request, accessFor(context, request), attempt)
      queryOf(request, [])
      const body = await readSource(context, request)
      const unknown: Fault[] = []
      addUnknownMembers(unknown, body.values, schema)
      const input = readInput(body, request, unknown)
      return reply(await run({ caller, input, service: context.service }))
    },
  }
}

/** The same for a read. The key is checked again after it, since the body and the read can take long. */
export function serverRead<F extends Fields>(
  path: `/server/v1/${string}`,
  call: Call<F, ServerRequest<RequestOf<Shape<F>>>>,
): Route {
  return serverPost(path, {
    ...call,
    async run(request) {
      const answer = await call.run(request)
      await requireServerKey(request.service.pool, request.caller)
      return answer
    },
  })
}

export interface ServerStream {
  readonly contract: Contract
  readonly open: (request: {
    readonly caller: ServerCaller
    readonly service: Service
    readonly address: string
    /** The id of the last event that the client has. Empty for none. */
    readonly lastEventId: string
    readonly closed: AbortSignal
  }) => AsyncIterable<string>
}

export function serverStream(path: `/server/v1/${string}`, { contract, open }: ServerStream): Route {
  return {
    method: 'GET',
    path,
    isOfServers: true,
    contract: { ...contract, mediaType: STREAM_TYPE, access: 'server' },
    async respond(context, request, _params, closed) {
      const access = accessFor(context, request)
      const caller = await admitServer(request, access)
      const { 'last-event-id': lastEventId = '' } = request.headers
      const pages = open({
        caller,
        service: context.service,
        address: access.address(),
        lastEventId: String(lastEventId),
        closed: closed(),
      })
      return { status: 200, body: null, headers: Object.entries(STREAM_HEADERS).flat(), pages, isLive: true }
    },
  }
}

/** The game server that calls. A page is refused, whatever its credentials. */
function admitServer(request: IncomingMessage, access: Access, attempt?: AttemptedAction): Promise<ServerCaller> {
  const { origin, authorization } = request.headers
  if (origin !== undefined) throw new Refusal('forbidden', { faults: [BY_PAGE] })
  return requireServer(access, authorization, attempt)
}

const BY_PAGE: Fault = {
  path: 'Origin',
  message: 'must not be sent: only game servers make this call, since a browser cannot keep a server key secret',
}

export function parametersOf({ url = '' }: IncomingMessage): URLSearchParams {
  const at = url.indexOf('?')
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1))
}

/** The parameters of a request. Unknown and repeated ones are refused. */
function queryOf(request: IncomingMessage, known: readonly string[]): URLSearchParams {
  const query = parametersOf(request)
  refuseFaults(queryFaults(query, known))
  return query
}

/** The members of a body, which must be a JSON object. */
export async function readSource({ maxBodyBytes }: RestContext, request: IncomingMessage): Promise<JsonSource> {
  return readJson(await readBody(request, maxBodyBytes), request.headers['content-type'])
}

const reply = (answer: Json | undefined): Reply => (answer === undefined ? noContent() : json(answer))

export interface PlatformRequest {
  readonly caller: PlatformCaller
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly setHeader: (name: string, value: string) => void
  /** The request's body, for methods that have one: a JSON object. */
  readonly body: () => Promise<JsonSource>
  /** The same as lines, each of them a JSON object, up to this many. */
  readonly lines: (most: number) => Promise<readonly Line[]>
  /** The same as text, up to this many bytes, or more where the service takes longer bodies. */
  readonly text: (maxBytes: number) => Promise<string>
  readonly service: Service
}

export interface PlatformHandler {
  readonly contract: Contract
  readonly run: (request: PlatformRequest) => Promise<Json>
  readonly audited?: Audited
}

/** Answers with a body that is produced while it is sent. Every refusal comes before its first byte. */
export interface PlatformStream {
  readonly contract: Contract
  readonly run: (request: PlatformRequest) => Promise<PagesReply>
  readonly audited: Audited
}

/** The audit action of a call that changes something, and the path parameter that is its target. */
export interface Audited {
  readonly action: string
  readonly target: (params: Readonly<Record<string, string>>) => string
}

/** A call of an operator: a platform key of the project in the path, whose role has this right. */
export function platform(
  method: Route['method'],
  path: `/platform/v1/projects/:projectId/${string}`,
  right: Right,
  handler: PlatformHandler,
): Route {
  return platformCall(method, path, right, { ...handler, run: async (request) => json(await handler.run(request)) })
}

/** The same for an answer that is too long for memory. */
export function platformStream(
  path: `/platform/v1/projects/:projectId/${string}`,
  right: Right,
  handler: PlatformStream,
): Route {
  const run = async (request: PlatformRequest): Promise<Reply> => pagesReply(await handler.run(request))
  return platformCall('GET', path, right, { ...handler, run })
}

function platformCall(
  method: Route['method'],
  path: string,
  right: Right,
  {
    contract,
    run,
    audited,
  }: Omit<PlatformHandler, 'run'> & { readonly run: (request: PlatformRequest) => Promise<Reply> },
): Route {
  const parameters = (contract.parameters ?? []).flatMap(({ in: place, name }) =>
    place === 'query' ? [String(name)] : [],
  )
  return {
    method,
    path,
    contract: { ...contract, access: 'platform' },
    async respond(context, request, params) {
      const { service } = context
      const attempt = audited && { action: audited.action, target: audited.target(params) }
      const access = accessFor(context, request)
      const caller = await requirePlatform(access, right, attempt, params.projectId?.toLowerCase())
      const query = queryOf(request, parameters)
      const body = () => readSource(context, request)
      const lines = async (most: number) => readLines(await readBody(request, context.maxBodyBytes), most)
      const text = async (maxBytes: number) => textOf(await readBody(request, Math.max(maxBytes, context.maxBodyBytes)))
      const headers: string[] = []
      const setHeader = (name: string, value: string) => headers.push(name, value)
      const asked = { caller, params, query, headers: request.headers, setHeader, body, lines, text, service }
      // A caller with the right can still be refused, such as one whose role only reads in the environment.
      const answer = await (attempt
        ? noteDenied(service, caller, attempt, ['forbidden'], () => run(asked))
        : run(asked))
      if (method !== 'GET') service.reads.changed(caller.keyId)
      return { ...answer, headers: [...answer.headers, ...headers] }
    },
  }
}
