import { invalidRequest, Refusal } from '../errors.ts'
import { FOREIGN_CURSOR } from '../request/cursor.ts'
import { isUuid } from '../request/limits.ts'

/** The cursor of a position of an environment's stream: an opaque text. */
export function printCursor(environmentId: string, position: bigint): string {
  return Buffer.from(`1:${environmentId}:${position}`).toString('base64url')
}

/** The environment of a cursor; null for a text that is no cursor. */
export function readEnvironmentId(cursor: string): string | null {
  const [version, environment = '', position = ''] = Buffer.from(cursor, 'base64url').toString().split(':')
  return version === '1' && isUuid(environment) && /^\d{1,18}$/.test(position) ? environment : null
}

/** The position of a cursor. Refuses the cursor of another stream with `cursor expired`. */
export function readCursor(environmentId: string, cursor: string, path = 'after'): bigint {
  const [version, environment, position] = Buffer.from(cursor, 'base64url').toString().split(':')
  if (version !== '1' || environment === undefined || !/^\d{1,18}$/.test(position ?? '')) {
    throw invalidRequest({ path, message: FOREIGN_CURSOR })
  }
  if (environment !== environmentId) throw new Refusal('cursorExpired')
  return BigInt(position ?? 0)
}
