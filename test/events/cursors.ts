import { printCursor, readEnvironmentId } from '../../src/events/cursor.ts'

/** The cursor of a position, without the time of its event. */
export const cursorAt = (environmentId: string, position: bigint | number): string =>
  printCursor(environmentId, { position: BigInt(position), at: null })

export const storedCursor = (
  environmentId: string,
  { position, occurred_at }: { readonly position: string; readonly occurred_at: Date },
): string => printCursor(environmentId, { position: BigInt(position), at: occurred_at.getTime() })

/** The position in a cursor, which is opaque to clients. */
export const positionOf = (cursor: string): number => Number(Buffer.from(cursor, 'base64url').toString().split(':')[2])

/** A cursor without the time of its event. */
export function untimed(cursor: string): string {
  return cursorAt(readEnvironmentId(cursor) ?? '', positionOf(cursor))
}
