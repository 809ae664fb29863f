import { type Fault, Refusal } from '../base/errors.ts'
import { isCleanText } from '../base/json.ts'
import { MAX_STORAGE_KEY, MAX_STORAGE_KEYS, MAX_STORAGE_VALUE_BYTES } from '../base/limits.ts'
import { type AnswerOf, answer, out } from '../declare/answer.ts'
import { playerCall } from '../declare/player-call.ts'
import { lengthOf } from '../declare/shape.ts'
import { int, moment, readOnly, text } from '../transactions/columns.ts'
import type { Command } from '../transactions/command.ts'
import type { Group, Steps } from '../transactions/group.ts'
import type { Player, PlayerRef } from '../transactions/player.ts'
import { table } from '../transactions/table.ts'
import { askStatus, requireActive } from './player-status.ts'
import { type StorageValues, storageDeleteRequest, storageListRequest, storageSetRequest } from './requests.ts'

/**
 * Faults of values that exceed a limit of contract 8 by themselves. The player's existing keys are counted under its lock.
 */
export function storageFaults(values: StorageValues): Fault[] {
  const faults: Fault[] = []
  for (const [key, value] of values) {
    // Named by its beginning: the key may be long.
    const path = `values.${beginningOf(key)}`
    if (!isCleanText(key)) faults.push({ path, message: 'the key must not contain NUL or a lone surrogate' })
    const length = lengthOf(key, MAX_STORAGE_KEY)
    if (length < 1 || length > MAX_STORAGE_KEY)
      faults.push({ path, message: `the key must have 1 to ${MAX_STORAGE_KEY} characters` })
    // A UTF-16 code unit takes at most three bytes: most values need no counting.
    if (value.length > MAX_STORAGE_VALUE_BYTES / 3 && Buffer.byteLength(value) > MAX_STORAGE_VALUE_BYTES)
      faults.push({ path, message: `the value must have at most ${MAX_STORAGE_VALUE_BYTES} bytes` })
  }
  return values.size > MAX_STORAGE_KEYS ? [...faults, TOO_MANY_KEYS] : faults
}

/** Enough of a key to recognize it, in whole characters. */
const beginningOf = (key: string): string =>
  [...key.slice(0, 4 * MAX_STORAGE_KEY)].slice(0, 2 * MAX_STORAGE_KEY).join('')

export const TOO_MANY_KEYS: Fault = { path: 'values', message: `a player has at most ${MAX_STORAGE_KEYS} keys` }

export const storage = table('player_storage', {
  key: { key: text },
  columns: { value: text, updatedAt: moment, bytes: readOnly(int, 'octet_length(t.value)') },
  kind: 'state',
  computed: { updated_at: 'now()' },
  // Values may be long, and no rule of the game uses them.
  isVersioned: false,
})
const rowKey = ({ key }: { key: string }): string => key
/** The sort order of text depends on the database; the order of bytes does not. */
const orderBy = 't.key COLLATE "C"'
const keysOf = storage.many([], rowKey, { columns: ['key'] })
const sizesOf = storage.many([], rowKey, { columns: ['key', 'bytes'], orderBy })
const valuesOf = storage.many([], rowKey, { columns: ['key', 'value', 'updatedAt'], orderBy })
const valueByKey = storage.one({ columns: ['key', 'value', 'updatedAt'] })

/** Asks for the keys of a player's storage, which a change needs. */
export function askKeys(player: Player): void {
  player.many(keysOf)
}

/** Whether the player stays within its limit of keys with all of these values. Ask for the keys first. */
export function hasRoomFor(player: Player, values: StorageValues): boolean {
  if (values.size === 0) return true
  const stored = player.many(keysOf)
  let size = stored.keys().length
  for (const key of values.keys()) if (!stored.has(key)) size += 1
  return size <= MAX_STORAGE_KEYS
}

/** Merges values into the storage. Ask `hasRoomFor` first. */
export function putValues(player: Player, values: StorageValues): void {
  for (const [key, value] of values) {
    const row = { key, value }
    player.many(keysOf).set(key, row)
  }
}

/** Removes existing keys. Ask for the keys first. */
export function removeValues(player: Player, keys: readonly string[]): void {
  const stored = player.many(keysOf)
  for (const key of keys) if (stored.has(key)) stored.set(key, null)
}

/** Merges values into a player's storage, all or nothing (contract 13). */
export function setStorage(ref: PlayerRef, values: StorageValues): Command<void> {
  return {
    player: ref,
    fresh: true,
    bytes: bytesOf(values),
    *decide(group) {
      const player = yield* askWithKeys(group, ref)
      requireActive(player)
      putWithinLimits(player, values)
    },
  }
}

const askWithKeys = (group: Group, ref: PlayerRef): Steps<Player> =>
  group.rows(() => {
    const player = group.player(ref)
    askStatus(player)
    askKeys(player)
    return player
  })

/** Merges values into a storage whose keys are loaded. Refuses values over a limit, and then writes nothing. */
export function putWithinLimits(player: Player, values: StorageValues): void {
  const faults = storageFaults(values)
  if (faults.length === 0 && !hasRoomFor(player, values)) faults.push(TOO_MANY_KEYS)
  if (faults.length > 0) throw new Refusal('storageLimitExceeded', { faults })
  putValues(player, values)
}

export function bytesOf(values: StorageValues): number {
  let bytes = 0
  for (const [key, value] of values) bytes += key.length + value.length
  return bytes
}

/** Removes keys from a player's storage. Missing keys are no error. */
export function deleteStorage(ref: PlayerRef, keys: readonly string[]): Command<void> {
  return {
    player: ref,
    fresh: true,
    *decide(group) {
      const player = yield* askWithKeys(group, ref)
      requireActive(player)
      removeValues(player, keys)
    },
  }
}

const key = out.text(`1 to ${MAX_STORAGE_KEY} characters.`)

export const storageEntry = answer("A key of a player's storage.", {
  key,
  value: out.text('The JSON text of the value, byte for byte as it was written.'),
  updatedAt: out.moment('The time of the last change.'),
})
export type StorageEntry = AnswerOf<typeof storageEntry>

export const writtenValue = answer('A value that was written.', {
  key,
  value: out.text('The JSON text of the value, as it is stored now.'),
})

/** The most bytes of values in one answer. */
export const MAX_READ_BYTES = 16 * 2 ** 20

export const TOO_MUCH: Fault = {
  path: 'keys',
  message: `the values are more than an answer carries: ask for at most ${MAX_READ_BYTES / MAX_STORAGE_VALUE_BYTES} keys at a time`,
}

/** The bytes of values, counted as the database counts them. */
export function bytesOfStored(stored: ReadonlyMap<string, StorageEntry>): number {
  let bytes = 0
  for (const { value } of stored.values()) bytes += Buffer.byteLength(value)
  return bytes
}

/** Asks for values that are at most `room` bytes long. Otherwise it asks for their sizes alone, and returns the sum. */
function askValues(
  player: Player,
  keys: readonly string[] | null,
  room: number,
): readonly (StorageEntry | null)[] | number {
  if (keys === null || keys.length * MAX_STORAGE_VALUE_BYTES > room) {
    const sizes = player.many(sizesOf)
    if (!sizes.isKnown) return []
    const asked = keys === null ? null : new Set(keys)
    let size = 0
    for (const { key, bytes } of sizes.values()) if (asked === null || asked.has(key)) size += bytes
    if (size > room) return size
  }
  if (keys !== null)
    return keys.map((key) => player.one(valueByKey, key)).map((slot) => (slot.isKnown ? slot.value : null))
  const all = player.many(valuesOf)
  return all.isKnown ? all.values() : []
}

/**
 * Reads a player's storage: all of it, or these keys. Missing keys are left out. Values of more than `room` bytes are not
 * read: the answer is the number of their bytes. Operators may read any player's.
 */
export function readStorage(
  ref: PlayerRef,
  keys: readonly string[] | null,
  { room, byOperator = false }: { readonly room: number; readonly byOperator?: boolean },
): Command<ReadonlyMap<string, StorageEntry> | number> {
  return {
    engine: 'storage',
    player: ref,
    fresh: true,
    *decide(group) {
      const { player, values } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        return { player, values: askValues(player, keys, room) }
      })
      if (!byOperator) requireActive(player)
      return typeof values === 'number' ? values : new Map(values.flatMap((row) => (row ? [[row.key, row]] : [])))
    },
  }
}

export const storedKey = answer('A stored key.', {
  key: out.text('A key.'),
  bytes: out.int32('The size of its value in UTF-8.', { minimum: 1 }),
})

export const storageKeysAnswer = answer(
  'A page of keys.',
  {
    keys: out.list(storedKey, 'Keys in the order of their bytes.'),
    next: out.orNull(out.text('Pass it as `after` to read the next page. Null on the last page.')),
  },
  {
    name: 'StorageKeys',
    example: {
      keys: [
        { key: 'progress', bytes: 18211 },
        { key: 'settings', bytes: 29 },
      ],
      next: 'settings',
    },
  },
)
export type StorageList = AnswerOf<typeof storageKeysAnswer>

/**
 * Lists the keys after a given one, so that a full storage can be read in pieces. The given key may be missing. A key
 * that stays in the storage is listed once, even when values are written between two pages. Operators may read any
 * player's storage.
 */
export function listStorage(
  ref: PlayerRef,
  { after, first }: { after: string; first: number },
  { byOperator = false } = {},
): Command<StorageList> {
  return {
    engine: 'storage',
    player: ref,
    fresh: true,
    *decide(group) {
      const { player, sizes } = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        return { player, sizes: player.many(sizesOf) }
      })
      if (!byOperator) requireActive(player)
      const afterBytes = Buffer.from(after)
      const rest = sizes.values().filter(({ key }) => Buffer.compare(Buffer.from(key), afterBytes) > 0)
      const keys = rest.slice(0, first).map(({ key, bytes }) => ({ key, bytes }))
      return { keys, next: rest.length > first ? (keys.at(-1)?.key ?? null) : null }
    },
  }
}

export const listStorageCall = playerCall({
  request: storageListRequest,
  command: listStorage,
  contract: {
    id: 'listStorage',
    tag: 'Player',
    summary: "List the keys of the player's storage with their sizes, in pages.",
    answer: storageKeysAnswer,
  },
})
export const setStorageCall = playerCall({
  request: storageSetRequest,
  action: 'storage.set',
  command: (player, { values }) => setStorage(player, values),
  contract: {
    id: 'setStorage',
    tag: 'Player',
    summary: "Merge values into the player's storage, all or nothing.",
    answer: null,
    refusals: ['storageLimitExceeded'],
  },
})
export const deleteStorageCall = playerCall({
  request: storageDeleteRequest,
  action: 'storage.delete',
  command: (player, { keys }) => deleteStorage(player, keys),
  contract: { id: 'deleteStorage', tag: 'Player', summary: "Remove keys from the player's storage.", answer: null },
})
