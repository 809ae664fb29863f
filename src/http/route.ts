import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ClientRef, PlatformCaller, PlayerCaller, Role } from '../auth/callers.ts'
import { type Fault, Refusal, refuseFaults } from '../errors.ts'
import type { Json } from '../json.ts'
import type { PlayerCall } from '../players/player-call.ts'
import type { Fields, RequestOf, Shape } from '../request/shape.ts'
import { type JsonSource, type Source, withMember } from '../request/source.ts'
import type { Service } from '../service.ts'
import { readBody, readJson } from './body.ts'
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

/** How the audit log is told of an operator that calls what is a player's own. */
const playersOwn =
  ({ service }: RestContext, action: string) =>
  (caller: PlatformCaller): Promise<void> =>
    service.auditDenied(caller, action, 'players')

/** A call of a player: bearer token, JSON object in, JSON out. */
export function playerPost<F extends Fields>(path: string, call: PlayerCall<F, unknown>): Route {
  const run = ({ caller, input, service }: PlayerRequest<RequestOf<Shape<F>>>) =>
    service.run(call.command(caller, input)) as Promise<Json | undefined>
  return playerRead(path, call.request, run, call.action)
}

export interface PlayerRequest<Input> {
  readonly caller: PlayerCaller
  readonly input: Input
  readonly service: Service
  /** Aborts once the answer was taken, or nobody waits for it any more. */
  readonly closed: () => AbortSignal
}

/** The same for what is no command. Without an answer it is a 204. */
export function playerRead<F extends Fields>(
  path: string,
  shape: Shape<F>,
  handler: (request: PlayerRequest<RequestOf<Shape<F>>>) => Promise<Json | undefined>,
  action?: string,
): Route {
  const isKeyed = 'idempotencyKey' in shape.fields
  return {
    method: 'POST',
    path,
    async respond(context, request, _params, response) {
      const { service } = context
      const denied = action === undefined ? undefined : playersOwn(context, action)
      const caller = await requirePlayer(service, request.headers.authorization, denied)
      const body = await readSource(context, request)
      const faults: Fault[] = []
      const source = isKeyed ? withKey(body, request.headers['idempotency-key'], faults) : body
      const input = shape.gather(source, faults)
      refuseFaults(faults)
      return reply(await handler({ caller, input, service, closed: () => closedOf(response) }))
    },
  }
}

/** The key of a request may stand in the header, too. */
function withKey(body: Source, header: string | string[] | undefined, faults: Fault[]): Source {
  if (header === undefined) return body
  const key = String(header)
  const own = body.value('idempotencyKey')
  if (own !== undefined && own !== key) {
    const message = 'must be the same as in the header Idempotency-Key, or stand in one of the two'
    faults.push({ path: 'idempotencyKey', message })
  }
  return withMember(body, 'idempotencyKey', key)
}

export interface ClientRequest<Input> {
  /** What the SDK key names. */
  readonly client: ClientRef
  readonly input: Input
  readonly service: Service
}

/** A call of a game client before any login: SDK key, JSON object in, JSON out. */
export function clientPost<F extends Fields>(
  path: string,
  shape: Shape<F>,
  handler: (request: ClientRequest<RequestOf<Shape<F>>>) => Promise<Json | undefined>,
): Route {
  return {
    method: 'POST',
    path,
    async respond(context, request) {
      const client = await requireClient(context.service, request.headers)
      const input = shape.read(await readSource(context, request))
      return reply(await handler({ client, input, service: context.service }))
    },
  }
}

/** A call of a player that takes the SDK key, too: both are of one environment. */
export function linkPost<F extends Fields>(
  path: string,
  shape: Shape<F>,
  handler: (request: ClientRequest<RequestOf<Shape<F>>> & { caller: PlayerCaller }) => Promise<Json | undefined>,
  action: string,
): Route {
  return {
    method: 'POST',
    path,
    async respond(context, request) {
      const client = await requireClient(context.service, request.headers)
      const caller = await requirePlayer(context.service, request.headers.authorization, playersOwn(context, action))
      if (caller.environmentId !== client.environmentId) throw new Refusal('invalidToken')
      const input = shape.read(await readSource(context, request))
      return reply(await handler({ client, caller, input, service: context.service }))
    },
  }
}

async function readSource({ maxBodyBytes }: RestContext, request: IncomingMessage): Promise<JsonSource> {
  return readJson(await readBody(request, maxBodyBytes))
}

const reply = (answer: Json | undefined): Reply => (answer === undefined ? noContent() : json(answer))

export interface PlatformRequest {
  readonly caller: PlatformCaller
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** The request's body, for methods that have one: a JSON object. */
  readonly body: () => Promise<JsonSource>
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
      const { service } = context
      const denied = (caller: PlatformCaller) =>
        audited ? service.auditDenied(caller, audited.action, audited.target(params)) : Promise.resolve()
      const { projectId = '' } = params
      const caller = await requirePlatform(service, request.headers.authorization, { projectId, role, denied })
      const query = new URLSearchParams(request.url?.split('?', 2)[1])
      const body = () => readSource(context, request)
      return json(await handler({ caller, params, query, body, service }))
    },
  }
}
