/** What is said of a cursor that was not given for this very list. */
export const FOREIGN_CURSOR = 'must be a cursor that this service gave'

/** An opaque name for a place in a list: what the list is called, and what names the place in it. */
export const printCursor = (list: string, place: string | number | bigint): string =>
  Buffer.from(`${list}:${place}`).toString('base64url')

/** The place that a cursor names. Undefined when the cursor is not of such a list. */
export function readCursor(list: string, cursor: string): string | undefined {
  const text = Buffer.from(cursor, 'base64url').toString()
  const place = text.slice(list.length + 1)
  return printCursor(list, place) === cursor ? place : undefined
}
