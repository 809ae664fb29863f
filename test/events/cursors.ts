import { printCursor, readEnvironmentId } from '../../src/events/cursor.ts'

/** The cursor of a position, without the time of its event, as earlier versions printed it. */
export const cursorAt = (environmentId: string, position: bigint | number): string =>
  printCursor(environmentId, { position: BigInt(position), at: null })

/** The cursor of a stored event: a row of `position` and `occurred_at`. */
export const storedCursor = (
  environmentId: string,
  { position, occurred_at }: { readonly position: string; readonly occurred_at: Date },
): string => printCursor(environmentId, { position: BigInt(position), at: occurred_at.getTime() })

/** A cursor without the time of its event. */
export function untimed(cursor: string): string {
  const [, , position = '0'] = Buffer.from(cursor, 'base64url').toString().split(':')
  return cursorAt(readEnvironmentId(cursor) ?? '', BigInt(position))
}
