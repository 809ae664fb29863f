/** The fault of a cursor that belongs to another list. */
export const FOREIGN_CURSOR = 'must be a cursor that this service gave'

/** The cursor of a place in a list: an opaque text with the list's name and the place. */
export const printCursor = (list: string, position: string | number | bigint): string =>
  Buffer.from(`${list}:${position}`).toString('base64url')

/** The place of a cursor. Undefined for a cursor of another list. */
export function readCursor(list: string, cursor: string): string | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  const position = text.slice(list.length + 1)
  return printCursor(list, position) === cursor ? position : undefined
}
