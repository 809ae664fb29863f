import { createHmac, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import { type Secrets, tryToOpen } from '../../base/secrets.ts'

// Logins of guests, by an id that their device made. Only a keyed hash of it is stored: a copy of the database lets
// nobody log in as a guest.

/** The key of an environment's hashes. It never changes, since guests are recognized by it. */
export const newDeviceKey = (): string => randomBytes(32).toString('base64url')

interface Deps {
  readonly pool: Pool
  readonly secrets: Secrets
}

/**
 * The function that makes the subject of a guest from the id of a device. Read for each login, so that a change counts
 * for the next one. Undefined when guests may not log in.
 */
export async function findDevice(
  { pool, secrets }: Deps,
  { projectId, environmentId }: { readonly projectId: string; readonly environmentId: string },
): Promise<((deviceId: string) => string) | undefined> {
  const { rows } = await pool.query<{ secret: string }>({
    name: 'device-provider',
    text: `SELECT secret FROM auth_providers WHERE environment_id = $1 AND kind = 'device' AND name = '' AND enabled`,
    values: [environmentId],
  })
  const sealed = rows[0]?.secret
  if (sealed === undefined) return undefined
  const key = tryToOpen(secrets, sealed, { projectId, environmentId, kind: 'device', name: '' })
  // A fault of the configuration: SECRETS_KEYS lacks the key.
  if (key === undefined) throw new Refusal('signInUnavailable', { cause: 'the key of device ids could not be opened' })
  return (deviceId) => createHmac('sha256', Buffer.from(key, 'base64url')).update(deviceId).digest('base64url')
}
