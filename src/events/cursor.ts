import { invalidRequest, Refusal } from '../base/errors.ts'
import { FOREIGN_CURSOR } from '../declare/cursor.ts'
import { isUuid } from '../declare/shape.ts'
import type { StreamEvent } from './catalogue.ts'

/**
 * A point of a stream: after the event at a position. After a restore, or after the failover to a standby that lagged,
 * other events take the positions of lost ones. The time of the event distinguishes the two.
 */
export interface StreamPoint {
  readonly position: bigint
  /** When the event at the position occurred, in milliseconds. Null when that is not known. */
  readonly at: number | null
}

/** False when the points belong to different histories. True when that is not known. */
export const agree = (one: number | null, other: number | null): boolean =>
  one === null || other === null || one === other

/** The cursor of a point of an environment's stream: an opaque text. */
export function printCursor(environmentId: string, { position, at }: StreamPoint): string {
  // The fourth part may be missing.
  return Buffer.from(`1:${environmentId}:${position}${at === null ? '' : `:${at}`}`).toString('base64url')
}

/** The cursor of an event: the events after it follow. */
export const cursorOf = ({ environmentId, position, occurredAt }: StreamEvent): string =>
  printCursor(environmentId, { position, at: occurredAt.getTime() })

/** The environment of a cursor; null for a text that is no cursor. */
export const readEnvironmentId = (cursor: string): string | null => partsOf(cursor)?.environmentId ?? null

/** The point of a cursor. Refuses the cursor of another stream with `cursor expired`. */
export function readCursor(environmentId: string, cursor: string, path = 'after'): StreamPoint {
  const parts = partsOf(cursor)
  if (!parts) throw invalidRequest({ path, message: FOREIGN_CURSOR })
  if (parts.environmentId !== environmentId) throw new Refusal('cursorExpired')
  return parts
}

function partsOf(cursor: string): (StreamPoint & { readonly environmentId: string }) | null {
  const [version, environmentId = '', position = '', at = ''] = Buffer.from(cursor, 'base64url').toString().split(':')
  if (version !== '1' || !isUuid(environmentId) || !/^\d{1,18}$/.test(position) || !/^\d{0,15}$/.test(at)) return null
  return { environmentId, position: BigInt(position), at: at === '' ? null : Number(at) }
}
