import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { type Access, accessOf, requireLink, requirePlatform, requirePlayer } from '../auth/access.ts'
import type { ClientRef, PlatformCaller, PlayerCaller, Role } from '../auth/callers.ts'
import { Fields } from '../fields.ts'
import type { Json } from '../json.ts'
import type { Service } from '../service.ts'
import { readBody, readJsonObject } from './body.ts'
import { closedOf, json, noContent, type Reply } from './respond.ts'

/** What every handler works with. */
export interface RestContext {
  readonly service: Service
  readonly maxBodyBytes: number
}

/** One line of the contents page: who may call what, and what answers. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** With what varies: `/platform/v1/projects/:projectId`. */
  readonly path: string
  /** What browsers of this origin open, and no other page calls: it has no OPTIONS. */
  readonly isPage?: boolean
  readonly respond: (
    context: RestContext,
    request: IncomingMessage,
    params: Readonly<Record<string, string>>,
    response: ServerResponse,
  ) => Reply | Promise<Reply>
}

/** A call's credentials. What is no string was sent several times, which Node lets pass for the SDK key alone. */
function accessFor({ service }: RestContext, { headers }: IncomingMessage): Access {
  const { authorization, 'x-sdk-key': sdkKey } = headers
  return accessOf(service, { authorization, sdkKey: typeof sdkKey === 'string' ? sdkKey : null }, 'invalidToken')
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

/** A call of a player: bearer token, JSON object in, JSON out. One that changes something has an action to write down. */
export function playerPost(path: string, handler: PlayerHandler, action?: string): Route {
  return {
    method: 'POST',
    path,
    async respond(context, request, _params, response) {
      const found = requirePlayer(accessFor(context, request), action)
      const caller = found instanceof Promise ? await found : found
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
      const client = await accessFor(context, request).client()
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
      const { client, player: caller } = await requireLink(accessFor(context, request), action)
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
      const attempt = audited && { action: audited.action, target: audited.target(params) }
      const access = accessFor(context, request)
      const caller = await requirePlatform(access, role, attempt, params.projectId?.toLowerCase())
      const query = new URLSearchParams(request.url?.split('?', 2)[1])
      const body = async () => readJsonObject(await readBody(request, maxBodyBytes))
      return json(await handler({ caller, params, query, body, service }))
    },
  }
}
