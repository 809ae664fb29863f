import type { ServerResponse } from 'node:http'
import type { ClientRef, PlatformCaller, PlayerCaller, Role } from '../auth/callers.ts'
import { roleIncludes } from '../auth/callers.ts'
import type { PrismaClient } from '../db/prisma.ts'
import { Refusal, type RefusalKind } from '../errors.ts'
import type { Feeds } from '../events/feed.ts'
import type { StorageAnswer } from '../players/storage-answers.ts'
import type { Service } from '../service.ts'

/** Sent by the server that carries the call: HTTP headers, or the parameters of a WebSocket connection. */
export interface ServerContext {
  /** What an answer over HTTP is written to. */
  readonly res?: ServerResponse
  /** Names a request over HTTP, in its answer and in the log. */
  readonly requestId?: string
  /** Of an operation over a WebSocket: it was answered. */
  readonly closed?: AbortSignal
  readonly authorization?: string | null
  readonly sdkKey?: string | null
}

/** What resolvers work with. */
export interface Context {
  readonly service: Service
  readonly feeds: Feeds
  readonly prisma: PrismaClient
  /** What the resolver of the one root field has come to, when that is known already. */
  readonly outcome?: () => unknown
  /** Undefined over a WebSocket. */
  readonly requestId: string | undefined
  /** Where a client of server-sent events comes back to: the cursor of the last event that it has. */
  readonly lastEventId: string | null
  /** Who calls; refuses a call without credentials, or with ones that do not hold. */
  readonly caller: () => Promise<PlayerCaller | PlatformCaller>
  /** What the SDK key names; refuses a call without one, or with one that does not hold. */
  readonly client: () => Promise<ClientRef>
  /** What the answer carries of storage. */
  readonly storageAnswer: () => Promise<StorageAnswer>
}

/**
 * The player that calls. Whether it is banned or deleted is read with the call itself. An operator is refused, and
 * written down with the action when it would have changed something.
 */
export async function requirePlayer(context: Context, action?: string): Promise<PlayerCaller> {
  const caller = await context.caller()
  if (caller.kind === 'player') return caller
  if (action !== undefined) await context.service.auditDenied(caller, action, 'players')
  throw new Refusal('forbidden')
}

/** The player that calls with an SDK key beside its token: both are of one environment. */
export async function requireLink(context: Context): Promise<{ client: ClientRef; player: PlayerCaller }> {
  const client = await context.client()
  const player = await requirePlayer(context, 'identity.link')
  if (player.environmentId !== client.environmentId) throw new Refusal('invalidToken')
  return { client, player }
}

/** The operator that calls, with a role that includes the needed one. */
export async function requirePlatform(context: Context, role: Role): Promise<PlatformCaller> {
  const caller = await context.caller()
  if (caller.kind !== 'platform' || !roleIncludes(caller.role, role)) throw new Refusal('forbidden')
  return caller
}

/** What an operator does to which object, as the audit log names it. */
export interface Attempt {
  readonly action: string
  readonly target: string
}

/** The operator that acts, with a role that includes the needed one. Whoever else tries is refused and written down. */
export async function requireActor(context: Context, role: Role, { action, target }: Attempt): Promise<PlatformCaller> {
  const caller = await context.caller()
  if (caller.kind === 'platform' && roleIncludes(caller.role, role)) return caller
  await context.service.auditDenied(caller, action, target)
  throw new Refusal('forbidden')
}

const UNKNOWN: ReadonlySet<RefusalKind> = new Set(['playerNotFound', 'notFound'])

/**
 * Looks for an object that an operator names by its id. One of another project is one that does not exist, to the
 * operator and to its own project's audit log, which has every such attempt.
 */
export async function findTarget<T>(
  context: Context,
  caller: PlatformCaller,
  { action, target }: Attempt,
  find: () => Promise<T>,
): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof Refusal && UNKNOWN.has(error.kind)) {
      await context.service.auditDenied(caller, action, target)
    }
    throw error
  }
}
