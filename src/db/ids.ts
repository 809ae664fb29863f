import { randomFillSync } from 'node:crypto'
import type { Pool } from 'pg'
import { V7Generator } from 'uuidv7'

/** Hands out random numbers from an array, which is refilled when it is used up: single requests cost more. */
export function randomsFrom<Value>(numbers: NodeJS.ArrayBufferView & ArrayLike<Value>): () => Value {
  let taken = numbers.length
  return () => {
    if (taken === numbers.length) {
      randomFillSync(numbers)
      taken = 0
    }
    const number = numbers[taken] as Value
    taken += 1
    return number
  }
}

const generator = new V7Generator({ nextUint32: randomsFrom(new Uint32Array(1_024)) })

/** How far the database's clock is ahead of that of this process, in milliseconds. */
let aheadMs = 0

/**
 * A UUID of version 7, by the database's clock. Ledgers and logs are in the order of their ids, even when the clocks of
 * two instances differ.
 */
export const newId = (): string => textOf(generator.generateOrResetWithTs(Math.round(databaseNow())).bytes)

const DIGITS = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))
/** The place of each byte in the text of a UUID. Dashes have the other places. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const codes: number[] = Array(36).fill('-'.charCodeAt(0))

/** The text of a UUID. The library joins 36 texts, which takes twice as long and leaves 1 KB of garbage. */
function textOf(bytes: Uint8Array): string {
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index] as number
    const place = PLACES[index] as number
    codes[place] = DIGITS[byte >> 4] as number
    codes[place + 1] = DIGITS[byte & 15] as number
  }
  return String.fromCharCode(...codes)
}

/** The database's clock, in milliseconds since 1970. */
export const databaseNow = (): number => Date.now() + aheadMs

/** The same as a time to store, where a statement of Prisma's cannot ask the database. */
export const databaseTime = (): Date => new Date(databaseNow())

/** Sets the clock of ids to a time that the database answered just now, unless both agree within the round trip. */
export function followDatabaseClock(now: Date, roundTripMs: number): void {
  const ahead = now.getTime() - (Date.now() - roundTripMs / 2)
  if (Math.abs(ahead - aheadMs) > roundTripMs / 2 + 1) aheadMs = ahead
}

/** Reads of the clock before an instance serves calls. */
const FIRST_READS = 5

/**
 * Sets the clock of ids before the first call. The answer to a single slow read may be off by half of its round trip, which
 * is longer than the time between two calls of a player on two instances: of several reads the fastest decides.
 */
export async function readDatabaseClock(pool: Pool): Promise<void> {
  for (let read = 0; read < FIRST_READS; read += 1) {
    const began = performance.now()
    const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
    if (rows[0]) followDatabaseClock(rows[0].now, performance.now() - began)
  }
}

const DAY_MS = 86_400_000

/**
 * Bounds of the ids of a time range. Ids have the time of the database, except those of commands that ran without the
 * service, so a day is added to each side.
 */
export function idsAround(from: Date | null, to: Date | null): { first: string | null; last: string | null } {
  return {
    first: from && firstIdAt(from.getTime() - DAY_MS),
    last: to && firstIdAt(to.getTime() + DAY_MS),
  }
}

/** The lowest UUID of a moment: all ids (UUIDv7) from then on are higher. */
export function firstIdAt(milliseconds: number): string {
  const hex = Math.floor(Math.min(Math.max(milliseconds, 0), 2 ** 48 - 1))
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

/** The moment of an id (UUIDv7). */
export const timeOfId = (id: string): Date => new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
