/** The fault of a cursor that belongs to another list. */
export const FOREIGN_CURSOR = 'must be a cursor that this service gave'

/** The cursor of a place in a list: an opaque text with the list's name and the place. */
export const printCursor = (list: string, place: string | number | bigint): string =>
  Buffer.from(`${list}:${place}`).toString('base64url')

/** The place of a cursor. Undefined for a cursor of another list. */
export function readCursor(list: string, cursor: string): string | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  const place = text.slice(list.length + 1)
  return printCursor(list, place) === cursor ? place : undefined
}
