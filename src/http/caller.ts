import type { IncomingHttpHeaders } from 'node:http'
import type { Pool } from 'pg'
import { type ClientRef, type PlatformCaller, type PlayerCaller, type Role, roleIncludes } from '../auth/callers.ts'
import { findClient, findPlatformCaller, isPlatformKey } from '../auth/keys.ts'
import type { Tokens } from '../auth/tokens.ts'
import { Refusal } from '../errors.ts'

export interface Authentication {
  readonly tokens: Tokens
  readonly pool: Pool
}

/** Who a bearer token names: a player, or a platform key's holder. */
export async function findCaller(
  { tokens, pool }: Authentication,
  authorization: string | null | undefined,
): Promise<PlayerCaller | PlatformCaller> {
  const token = bearer(authorization)
  return isPlatformKey(token) ? findPlatformCaller(pool, token) : tokens.verifyAccessToken(token)
}

/**
 * The player that calls. Whether it is banned or deleted is read with the call itself. A platform key is no player's
 * token; whose it is is told before it is refused.
 */
export async function requirePlayer(
  { tokens, pool }: Authentication,
  authorization: string | null | undefined,
  denied?: (caller: PlatformCaller) => Promise<void>,
): Promise<PlayerCaller> {
  const token = bearer(authorization)
  if (denied && isPlatformKey(token)) await denied(await findPlatformCaller(pool, token))
  return tokens.verifyAccessToken(token)
}

/** The project and environment that a client calls for, by its SDK key. */
export function requireClient({ pool }: Authentication, headers: IncomingHttpHeaders): Promise<ClientRef> {
  const key = headers['x-sdk-key']
  return findClient(pool, typeof key === 'string' ? key : null)
}

/** What a call of an operator asks for: a key of this very project, with a role that includes this one. */
export interface Requirement {
  readonly projectId: string
  readonly role: Role
  /** Told of whoever may not, before it is refused. */
  readonly denied?: (caller: PlatformCaller) => Promise<void>
}

/** The operator that calls. */
export async function requirePlatform(
  { pool }: Authentication,
  authorization: string | null | undefined,
  { projectId, role, denied }: Requirement,
): Promise<PlatformCaller> {
  const token = bearer(authorization)
  if (!isPlatformKey(token)) throw new Refusal('invalidToken')
  const caller = await findPlatformCaller(pool, token)
  if (caller.projectId === projectId.toLowerCase() && roleIncludes(caller.role, role)) return caller
  await denied?.(caller)
  throw new Refusal('forbidden')
}

function bearer(authorization: string | null | undefined): string {
  const token = authorization?.match(/^Bearer +([^\s]+)$/i)?.[1]
  if (token === undefined) throw new Refusal('invalidToken')
  return token
}
