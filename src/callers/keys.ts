import { hash, randomBytes } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { Refusal } from '../base/errors.ts'
import { newId } from '../db/ids.ts'
import { boolean, type Column, readOnly, text, uuid } from '../transactions/columns.ts'
import type { Group } from '../transactions/group.ts'
import { keyOf } from '../transactions/player.ts'
import { table } from '../transactions/table.ts'
import type { ClientRef, PlatformCaller, ServerCaller } from './callers.ts'
import { type Role, roleIncludes } from './roles.ts'

/** A new key. Its text is never available again. */
export interface NewKey {
  readonly id: string
  readonly key: string
  /** The beginning of the key, which lists show. */
  readonly prefix: string
}

const SDK_PREFIX = 'twsdk_'
const SERVER_PREFIX = 'twsrv_'
const PLATFORM_PREFIX = 'twplat_'
/** Enough to distinguish keys in a list, and of no use to an attacker. */
export const SHOWN_CHARACTERS = 12

const hashKey = (key: string): Buffer => hash('sha256', key, 'buffer')

function newKey(kind: string): NewKey & { hash: Buffer } {
  const key = kind + randomBytes(32).toString('base64url')
  return { id: newId(), key, hash: hashKey(key), prefix: key.slice(0, SHOWN_CHARACTERS) }
}

export interface KeyNote {
  /** The actor that made it, as the audit log names it; null for the command line. */
  readonly createdBy?: string | null
  /** Its purpose, in the words of the person who made it. */
  readonly label?: string | null
}

// SQL: the command line makes keys, too, and Prisma would double the CPU time that it takes (0.6 s).
const creates =
  (table: 'sdk_keys' | 'server_keys', kind: string) =>
  async (
    pool: Pool | ClientBase,
    environmentId: string,
    { createdBy = null, label = null }: KeyNote = {},
  ): Promise<NewKey> => {
    const { id, key, hash, prefix } = newKey(kind)
    await pool.query(
      `INSERT INTO ${table} (id, environment_id, prefix, hash, created_by, label) VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, environmentId, prefix, hash, createdBy, label],
    )
    return { id, key, prefix }
  }

/** Makes an SDK key, which names a project and an environment for game clients. */
export const createSdkKey = creates('sdk_keys', SDK_PREFIX)

/** Makes a server key, which opens an environment to the game's own servers. */
export const createServerKey = creates('server_keys', SERVER_PREFIX)

export async function createPlatformKey(
  pool: Pool | ClientBase,
  projectId: string,
  role: Role,
  { createdBy = null, label = null }: KeyNote = {},
): Promise<NewKey> {
  const { id, key, hash, prefix } = newKey(PLATFORM_PREFIX)
  const { rowCount } = await pool.query(
    `INSERT INTO platform_keys (id, project_id, role, prefix, hash, created_by, label)
     SELECT $1, id, $3, $4, $5, $6, $7 FROM projects WHERE id = $2`,
    [id, projectId, role, prefix, hash, createdBy, label],
  )
  if (rowCount === 0) throw new Refusal('projectNotFound')
  return { id, key, prefix }
}

/** The valid key of this text. Read for each call, so that a revocation counts at once. */
async function findEnvironmentKey(
  pool: Pool,
  table: 'sdk_keys' | 'server_keys',
  key: string,
): Promise<ClientRef | undefined> {
  const { rows } = await pool.query<ClientRef>({
    name: `valid-${table}`,
    text: `SELECT k.id AS "keyId", e.project_id AS "projectId", k.environment_id AS "environmentId"
      FROM ${table} k JOIN environments e ON e.id = k.environment_id WHERE k.hash = $1 AND k.revoked_at IS NULL`,
    values: [hashKey(key)],
  })
  return rows[0]
}

export async function findClient(pool: Pool, key: string | null | undefined): Promise<ClientRef> {
  const found = key?.startsWith(SDK_PREFIX) && (await findEnvironmentKey(pool, 'sdk_keys', key))
  if (!found) throw new Refusal('invalidSdkKey')
  return found
}

export const isServerKey = (token: string): boolean => token.startsWith(SERVER_PREFIX)

export async function findServer(pool: Pool, key: string): Promise<ServerCaller> {
  const found = await findEnvironmentKey(pool, 'server_keys', key)
  if (!found) throw new Refusal('invalidToken')
  return { kind: 'server', ...found }
}

/** Refuses a game server whose key has ended, as that of a read that waited. */
export async function requireServerKey(pool: Pool, { keyId }: ServerCaller): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'key-of-server',
    text: 'SELECT FROM server_keys WHERE id = $1 AND revoked_at IS NULL',
    values: [keyId],
  })
  if (rowCount === 0) throw new Refusal('invalidToken')
}

export const isPlatformKey = (token: string): boolean => token.startsWith(PLATFORM_PREFIX)

/** The caller behind a platform key. Read for each call, so that a revocation counts at once. */
export async function findPlatformCaller(pool: Pool, key: string): Promise<PlatformCaller> {
  const { rows } = await pool.query<{ id: string; project_id: string; role: Role }>({
    name: 'platform-key',
    text: 'SELECT id, project_id, role FROM platform_keys WHERE hash = $1 AND revoked_at IS NULL',
    values: [hashKey(key)],
  })
  const [found] = rows
  if (!found) throw new Refusal('invalidToken')
  return { kind: 'platform', keyId: found.id, projectId: found.project_id, role: found.role }
}

/**
 * Refuses an operator whose key or token has ended. An operator token is checked with each call, since it ends with its
 * key. An operator whose call waited is checked again: here, or by the entry in the audit log.
 */
export async function requireKey(pool: Pool | ClientBase, caller: PlatformCaller): Promise<PlatformCaller> {
  const { rows } = await pool.query<{ role: Role }>({
    name: 'key-of-operator',
    text: 'SELECT role FROM platform_keys WHERE id = $1 AND project_id = $2 AND revoked_at IS NULL',
    values: [caller.keyId, caller.projectId],
  })
  requireRole(caller, rows[0]?.role)
  return caller
}

/** Refuses an operator whose token has expired, or whose key no longer has its role. */
function requireRole(caller: PlatformCaller, role: Role | undefined): void {
  requireUnexpired(caller)
  if (role === undefined || !roleIncludes(role, caller.role)) throw new Refusal('invalidToken')
}

export function requireUnexpired({ expiresAt }: PlatformCaller): void {
  if (expiresAt !== undefined && expiresAt <= Date.now()) throw new Refusal('invalidToken')
}

const VALID = 't.revoked_at IS NULL'
const platformKeys = table('platform_keys', {
  owner: null,
  key: { projectId: uuid, id: uuid },
  columns: { role: text as Column<Role> },
  kind: 'append',
})
const validPlatformKey = platformKeys.one({ where: VALID, columns: ['role'] })

/**
 * `requireKey` for a command: asks for the key. Ask no earlier than for the player, whose lock can take long. The
 * returned function makes the check, once the group no longer waits.
 */
export function askKey(group: Group, caller: PlatformCaller): () => void {
  const found = group.unowned.one(validPlatformKey, keyOf(caller.projectId, caller.keyId))
  return () => requireRole(caller, found.value?.role)
}

const environmentKeys = (name: 'sdk_keys' | 'server_keys') =>
  table(name, {
    owner: null,
    key: { id: uuid },
    columns: { isRevoked: readOnly(boolean, 't.revoked_at IS NOT NULL') },
    kind: 'append',
  }).one()
const sdkKey = environmentKeys('sdk_keys')
const serverKey = environmentKeys('server_keys')

const asksKey =
  (read: typeof sdkKey, refusal: 'invalidSdkKey' | 'invalidToken') =>
  (group: Group, { keyId }: ClientRef): (() => void) => {
    const found = group.unowned.one(read, keyId)
    return () => {
      if (found.value?.isRevoked !== false) throw new Refusal(refusal)
    }
  }

export const askClient = asksKey(sdkKey, 'invalidSdkKey')

export const askServerKey = asksKey(serverKey, 'invalidToken')
