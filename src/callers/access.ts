import type { Pool } from 'pg'
import { invalidRequest, Refusal, type RefusalKind } from '../base/errors.ts'
import type { RateLimits } from '../base/rate-limits/rate-limits.ts'
import { operatorName } from '../declare/common.ts'
import { optional, shape } from '../declare/shape.ts'
import type { ClientRef, PlatformCaller, PlayerCaller, ServerCaller } from './callers.ts'
import {
  findClient,
  findPlatformCaller,
  findServer,
  isPlatformKey,
  isServerKey,
  requireKey,
  requireUnexpired,
} from './keys.ts'
import { hasRight, type Right } from './roles.ts'
import type { Tokens } from './tokens.ts'

// The caller and its rights: the same for REST, GraphQL and sockets.

export type Caller = PlayerCaller | PlatformCaller

/** The id of a player or platform key, by which limits count. */
export const idOfCaller = (caller: Caller): string => (caller.kind === 'player' ? caller.playerId : caller.keyId)

/**
 * Writes down a refused attempt, which changed nothing else. The same attempt within a minute is counted in the same
 * row. Attempts that arrive while others of their source are written wait, and are then written together.
 */
export type AuditDenied = (caller: Caller, action: string, target: string) => Promise<void>

interface Registry {
  readonly tokens: Tokens
  readonly pool: Pool
  readonly auditDenied: AuditDenied
  readonly rateLimits: RateLimits
  /** Counts a call of a player for the statistics of its environment. */
  readonly countCall: (environmentId: string) => void
}

export interface Credentials {
  readonly authorization: string | null | undefined
  readonly sdkKey: string | null | undefined
  /** The person who acts with a platform key, as the call names it, unchecked. Ignored for players. */
  readonly operator?: unknown
  /** The client's address, by which logins are limited. */
  readonly address: () => string
}

/** A call whose credentials are checked only when an operation asks for them. */
export interface Access {
  /** The caller, looked up once and not counted: calls use {@link requireCaller}. Refuses a call with missing or invalid credentials. */
  readonly caller: () => Caller | Promise<Caller>
  /** The environment of the SDK key. Refuses a call with a missing or invalid key. */
  readonly client: () => Promise<ClientRef>
  /** The game server of a server key. Refuses an invalid key. */
  readonly server: (token: string) => Promise<ServerCaller>
  /** The caller, client or server that was found last, if any. */
  readonly found: () => Caller | ClientRef | ServerCaller | undefined
  readonly address: () => string
  readonly service: Registry
  /** The refusal for a credential of the wrong kind: the only difference between the surfaces (contract 5). */
  readonly wrongKind: RefusalKind
  /** The call has been counted, and must not be counted again. */
  readonly isCounted?: true
}

/** The change that a call attempted, as the audit log names it when the call is denied. */
export interface AttemptedAction {
  readonly action: string
  readonly target: string
}

export function accessOf(service: Registry, credentials: Credentials, wrongKind: RefusalKind): Access {
  let caller: ReturnType<Access['caller']> | undefined
  let found: ReturnType<Access['found']>
  const find = <T extends Caller | ClientRef | ServerCaller>(finding: Promise<T>): Promise<T> =>
    finding.then((one) => {
      found = one
      return one
    })
  return {
    caller() {
      if (caller !== undefined) return caller
      const finding = findCaller(service, credentials)
      if (finding instanceof Promise) caller = find(finding)
      else found = caller = finding
      return caller
    },
    client: () => find(findClient(service.pool, credentials.sdkKey)),
    server: (token) => find(findServer(service.pool, token)),
    found: () => found,
    address: credentials.address,
    service,
    wrongKind,
  }
}

const BEARER = /^Bearer +([^\s]+)$/i
const tokenOf = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1]

/** Returns at once for a player's token that was verified before. */
function findCaller({ tokens, pool }: Registry, { authorization, operator }: Credentials): Caller | Promise<Caller> {
  if (!authorization) throw new Refusal('invalidToken')
  const known = tokens.known(authorization)
  if (known) return known
  const token = tokenOf(authorization)
  if (token === undefined) throw new Refusal('invalidToken')
  const named = (caller: PlatformCaller) => withOperator(caller, operator)
  if (isPlatformKey(token)) return findPlatformCaller(pool, token).then(named)
  if (!tokens.isOperatorToken(token)) return tokens.verifyAccessToken(token, authorization)
  return tokens
    .verifyOperatorToken(token)
    .then((caller) => requireKey(pool, caller))
    .then(named)
}

const OPERATOR = 'X-Operator'
const claim = shape({ [OPERATOR]: optional(operatorName) })

/** The caller with the person that the call names. An operator token names a person: the call cannot name another. */
function withOperator(caller: PlatformCaller, sent: unknown): PlatformCaller {
  const { [OPERATOR]: name = null } = claim.readInput({ [OPERATOR]: sent })
  if (name === null) return caller
  if (!caller.operator) return { ...caller, operator: { name, isClaimed: true } }
  if (caller.operator.name === name) return caller
  throw invalidRequest({ path: OPERATOR, message: 'must be the actor of the token, or be left out' })
}

/**
 * The caller of a call, whatever it is. Here every call is counted, once: by its rate limit and, for a player, in the
 * statistics of its environment. Each root field of GraphQL is a call.
 */
export function requireCaller(access: Access): Caller | Promise<Caller> {
  const caller = access.caller()
  return caller instanceof Promise ? caller.then((found) => counted(access, found)) : counted(access, caller)
}

function counted({ service, isCounted }: Access, caller: Caller): Caller {
  const { tokens, rateLimits } = service
  if (caller.kind === 'player') {
    // The caller was found when its operation began, and an earlier field may have waited.
    tokens.requireValid(caller)
    if (isCounted) return caller
    rateLimits.countPlayer(caller.playerId)
    service.countCall(caller.environmentId)
  } else {
    requireUnexpired(caller)
    if (!isCounted) rateLimits.countOperator(caller.keyId)
  }
  return caller
}

/**
 * The player that calls. The command itself checks whether the player is banned or deleted. An operator is refused, and
 * its attempt is in the audit log when the call would have changed something.
 */
export function requirePlayer(access: Access, action?: string): PlayerCaller | Promise<PlayerCaller> {
  const attempt = action === undefined ? undefined : { action, target: 'players' }
  const check = (caller: Caller) => {
    if (caller.kind !== 'player') return deny(access, caller, access.wrongKind, attempt)
    return caller
  }
  const caller = requireCaller(access)
  return caller instanceof Promise ? caller.then(check) : check(caller)
}

/** The game client that calls without a player: a login, refresh or logout. */
export async function requireClient(access: Access): Promise<ClientRef> {
  await access.service.rateLimits.countLogin(access.address())
  const client = await access.client()
  await access.service.rateLimits.countLoginOf(client.keyId)
  return client
}

/**
 * The game server that calls. Any other caller is refused, and its attempt is in the audit log when the call would have
 * changed something.
 */
export async function requireServer(
  access: Access,
  authorization: string | undefined,
  attempt?: AttemptedAction,
): Promise<ServerCaller> {
  const { rateLimits } = access.service
  const token = tokenOf(authorization ?? '')
  if (token === undefined || !isServerKey(token))
    return deny(access, await requireCaller(access), access.wrongKind, attempt)
  const server = await access.server(token)
  rateLimits.countServer(server.keyId)
  return server
}

/** The player that calls with its token and an SDK key. Both must be of the same environment. */
export async function requireLink(
  access: Access,
  action: string,
): Promise<{ client: ClientRef; player: PlayerCaller }> {
  const client = await requireClient(access)
  const player = await requirePlayer(access, action)
  if (player.environmentId !== client.environmentId) throw new Refusal('invalidToken')
  return { client, player }
}

/**
 * The operator that calls. Its role must have the right, and its project must be the given one, if any. Any other caller
 * is refused, and its attempt is in the audit log when the call would have changed something.
 */
export async function requirePlatform(
  access: Access,
  right: Right,
  attempt?: AttemptedAction,
  projectId?: string,
): Promise<PlatformCaller> {
  const caller = await requireCaller(access)
  if (caller.kind !== 'platform') return deny(access, caller, access.wrongKind, attempt)
  const isOwn = projectId === undefined || caller.projectId === projectId
  return isOwn && hasRight(caller.role, right) ? caller : deny(access, caller, 'forbidden', attempt)
}

/** The caller that reads the data of players: a player, or an operator with the right to. */
export async function requireReader(access: Access): Promise<Caller> {
  const caller = await requireCaller(access)
  return caller.kind === 'player' || hasRight(caller.role, 'players')
    ? caller
    : deny(access, caller, 'forbidden', undefined)
}

async function deny(
  access: Access,
  caller: Caller,
  kind: RefusalKind,
  attempt: AttemptedAction | undefined,
): Promise<never> {
  if (attempt) await access.service.auditDenied(caller, attempt.action, attempt.target)
  throw new Refusal(kind)
}

/** The refusals of a target that is not there. */
export const UNKNOWN: readonly RefusalKind[] = ['playerNotFound', 'notFound']

/** Runs a part of an operator's call. A refusal of these kinds is in the audit log, as an attempt. */
export async function noteDenied<T>(
  { auditDenied }: Pick<Registry, 'auditDenied'>,
  caller: PlatformCaller,
  { action, target }: AttemptedAction,
  kinds: readonly RefusalKind[],
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof Refusal && kinds.includes(error.kind)) await auditDenied(caller, action, target)
    throw error
  }
}
