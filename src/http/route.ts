import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import type { ClientRef, PlatformCaller, PlayerCaller, Role } from '../auth/callers.ts'
import { Refusal } from '../errors.ts'
import { Fields } from '../fields.ts'
import type { Json } from '../json.ts'
import type { Service } from '../service.ts'
import { readBody, readJsonObject } from './body.ts'
import { requireClient, requirePlatform, requirePlayer } from './caller.ts'
import { closedOf, json, noContent, type Reply } from './respond.ts'

/** What every handler works with. */
export interface RestContext {
  readonly service: Service
  readonly maxBodyBytes: number
}

/** One line of the contents page: who may call what, and what answers. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** In Hono's form: `/platform/v1/projects/:projectId`. */
  readonly path: string
  readonly respond: (
    context: RestContext,
    request: IncomingMessage,
    params: Readonly<Record<string, string>>,
    response: ServerResponse,
  ) => Promise<Reply>
}

export interface PlayerRequest {
  readonly caller: PlayerCaller
  readonly fields: Fields
  readonly headers: IncomingHttpHeaders
  readonly service: Service
  /** Aborts once the answer was taken, or nobody waits for it any more. */
  readonly closed: () => AbortSignal
}

/** Without an answer it is a 204. */
export type PlayerHandler = (request: PlayerRequest) => Promise<Json | undefined>

/** How the audit log is told of an operator that calls what is a player's own. */
const playersOwn =
  ({ service }: RestContext, action: string) =>
  (caller: PlatformCaller): Promise<void> =>
    service.auditDenied(caller, action, 'players')

/** A call of a player: bearer token, JSON object in, JSON out. One that changes something has an action to write down. */
export function playerPost(path: string, handler: PlayerHandler, action?: string): Route {
  return {
    method: 'POST',
    path,
    async respond(context, request, _params, response) {
      const denied = action === undefined ? undefined : playersOwn(context, action)
      const caller = await requirePlayer(context.service, request.headers.authorization, denied)
      const fields = await readFields(context, request)
      const { service } = context
      return reply(
        await handler({ caller, fields, headers: request.headers, service, closed: () => closedOf(response) }),
      )
    },
  }
}

export interface ClientRequest {
  /** What the SDK key names. */
  readonly client: ClientRef
  readonly fields: Fields
  readonly service: Service
}

export type ClientHandler = (request: ClientRequest) => Promise<Json | undefined>

/** A call of a game client before any login: SDK key, JSON object in, JSON out. */
export function clientPost(path: string, handler: ClientHandler): Route {
  return {
    method: 'POST',
    path,
    async respond(context, request) {
      const client = await requireClient(context.service, request.headers)
      const fields = await readFields(context, request)
      return reply(await handler({ client, fields, service: context.service }))
    },
  }
}

export type LinkHandler = (request: ClientRequest & { readonly caller: PlayerCaller }) => Promise<Json | undefined>

/** A call of a player that takes the SDK key, too: both are of one environment. */
export function linkPost(path: string, handler: LinkHandler, action: string): Route {
  return {
    method: 'POST',
    path,
    async respond(context, request) {
      const client = await requireClient(context.service, request.headers)
      const caller = await requirePlayer(context.service, request.headers.authorization, playersOwn(context, action))
      if (caller.environmentId !== client.environmentId) throw new Refusal('invalidToken')
      const fields = await readFields(context, request)
      return reply(await handler({ client, caller, fields, service: context.service }))
    },
  }
}

async function readFields({ maxBodyBytes }: RestContext, request: IncomingMessage): Promise<Fields> {
  return Fields.ofJson(readJsonObject(await readBody(request, maxBodyBytes)))
}

const reply = (answer: Json | undefined): Reply => (answer === undefined ? noContent() : json(answer))

export interface PlatformRequest {
  readonly caller: PlatformCaller
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The request's body, for methods that have one: a JSON object, as it was sent. */
  readonly body: () => Promise<string>
  readonly service: Service
}

export type PlatformHandler = (request: PlatformRequest) => Promise<Json>

/** How the audit log names a call that changes something, and which part of its path it is about. */
export interface Audited {
  readonly action: string
  readonly target: (params: Readonly<Record<string, string>>) => string
}

/** A call of an operator: a platform key of the project in the path, with at least this role. */
export function platform(
  method: Route['method'],
  path: `/platform/v1/projects/:projectId/${string}`,
  role: Role,
  handler: PlatformHandler,
  audited?: Audited,
): Route {
  return {
    method,
    path,
    async respond(context, request, params) {
      const { service, maxBodyBytes } = context
      const denied = (caller: PlatformCaller) =>
        audited ? service.auditDenied(caller, audited.action, audited.target(params)) : Promise.resolve()
      const { projectId = '' } = params
      const caller = await requirePlatform(service, request.headers.authorization, { projectId, role, denied })
      const query = new URLSearchParams(request.url?.split('?', 2)[1])
      const body = async () => readJsonObject(await readBody(request, maxBodyBytes))
      return json(await handler({ caller, params, query, body, service }))
    },
  }
}
