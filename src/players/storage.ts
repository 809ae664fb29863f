import type { Command } from '../commit/command.ts'
import { type Group, LATER, type Part } from '../commit/group.ts'
import { type Player, type PlayerRef, playerKey } from '../commit/player.ts'
import type { Statement } from '../commit/statement.ts'
import { columns, Wanted } from '../commit/wanted.ts'
import { type Fault, Refusal } from '../errors.ts'
import { isCleanText } from '../json.ts'
import { lengthOf } from '../request/shape.ts'
import { playerCall } from './player-call.ts'
import { type StorageValues, storageDeleteRequest, storageSetRequest } from './requests.ts'
import { askStanding, requireActive } from './standing.ts'

const MAX_KEY_LENGTH = 128 // spec 8, in code points
const MAX_VALUE_BYTES = 65_536 // spec 8: 64 KiB of the value's own text, in UTF-8
export const MAX_KEYS = 1000 // spec 8

/** What of these breaks a limit of spec 8 by itself. The keys that a player has already are counted under its lock. */
export function storageFaults(values: StorageValues): Fault[] {
  const faults: Fault[] = []
  for (const [key, value] of values) {
    // Named by its beginning, however long it is.
    const path = `values.${beginningOf(key)}`
    if (!isCleanText(key)) faults.push({ path, message: 'the key must not contain NUL or a lone surrogate' })
    const length = lengthOf(key, MAX_KEY_LENGTH)
    if (length < 1 || length > MAX_KEY_LENGTH)
      faults.push({ path, message: `the key must have 1 to ${MAX_KEY_LENGTH} characters` })
    // A character of UTF-16 is at most three bytes: most values need no counting.
    if (value.length > MAX_VALUE_BYTES / 3 && Buffer.byteLength(value) > MAX_VALUE_BYTES)
      faults.push({ path, message: `the value must have at most ${MAX_VALUE_BYTES} bytes` })
  }
  return values.size > MAX_KEYS ? [...faults, TOO_MANY_KEYS] : faults
}

/** Enough of a key to know it by, in whole characters. */
const beginningOf = (key: string): string => [...key.slice(0, 4 * MAX_KEY_LENGTH)].slice(0, 2 * MAX_KEY_LENGTH).join('')

const TOO_MANY_KEYS: Fault = { path: 'values', message: `a player has at most ${MAX_KEYS} keys` }

/** The storage of a group's players. */
export class Storage implements Part {
  static readonly stage = 'changes'
  private readonly wanted: Wanted<PlayerRef>
  /** The keys that each player has, as they will be after this group. */
  private readonly keys = new Map<string, Set<string>>()
  private readonly changes = new Map<string, PlayerRef & { key: string; value: string | null }>()

  constructor(group: Group) {
    this.wanted = new Wanted(group)
  }

  /** Asks for the keys of a player, on which a change rests. One that this very group creates has none. */
  ask(player: Player): void {
    if (!player.isNew) this.wanted.want(playerKey(player), player)
  }

  /** Whether the player stays within its keys when all of these are written. */
  hasRoomFor(player: PlayerRef, values: StorageValues): boolean {
    const keys = this.keysOf(player)
    let added = 0
    for (const key of values.keys()) if (!keys.has(key)) added += 1
    return keys.size + added <= MAX_KEYS
  }

  /** Merges values into the storage. Ask `hasRoomFor` first. */
  put(player: PlayerRef, values: StorageValues): void {
    const keys = this.keysOf(player)
    for (const [key, value] of values) {
      keys.add(key)
      this.change(player, key, value)
    }
  }

  remove(player: PlayerRef, names: readonly string[]): void {
    const keys = this.keysOf(player)
    for (const key of names) if (keys.delete(key)) this.change(player, key, null)
  }

  private keysOf(player: PlayerRef): Set<string> {
    const name = playerKey(player)
    const keys = this.keys.get(name) ?? new Set()
    this.keys.set(name, keys)
    return keys
  }

  private change({ environmentId, playerId }: PlayerRef, key: string, value: string | null): void {
    this.changes.set(`${environmentId}/${playerId}/${key}`, { environmentId, playerId, key, value })
  }

  load(): Statement[] {
    return this.wanted.statements({
      name: 'storage-keys',
      text: `SELECT k.n::int, s.key
        FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, n) CROSS JOIN LATERAL (
          SELECT key FROM player_storage s
          WHERE s.environment_id = k.environment_id AND s.player_id = k.player_id OFFSET 0
        ) s`,
      columns: ['environmentId', 'playerId'],
      take: (_name, [, key], player) => this.keysOf(player).add(key),
    })
  }

  save(): Statement[] {
    const changes = [...this.changes.values()]
    const written = changes.filter(({ value }) => value !== null)
    const removed = changes.filter(({ value }) => value === null)
    const statements: Statement[] = []
    if (removed.length > 0) {
      statements.push({
        name: 'storage-remove',
        text: `DELETE FROM player_storage s USING unnest($1::uuid[], $2::uuid[], $3::text[]) AS k(environment_id, player_id, key)
          WHERE s.environment_id = k.environment_id AND s.player_id = k.player_id AND s.key = k.key`,
        values: columns(removed, ['environmentId', 'playerId', 'key']),
      })
    }
    if (written.length > 0) {
      statements.push({
        name: 'storage-save',
        text: `INSERT INTO player_storage (environment_id, player_id, key, value)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
          ON CONFLICT (environment_id, player_id, key) DO UPDATE SET value = excluded.value, updated_at = now()`,
        values: columns(written, ['environmentId', 'playerId', 'key', 'value']),
      })
    }
    return statements
  }
}

/** Merges values into a player's storage, all or nothing (decisions 7). */
export function setStorage(ref: PlayerRef, values: StorageValues): Command<void> {
  return {
    player: ref,
    locks: true,
    bytes: bytesOf(values),
    decide(group) {
      const player = askWithKeys(group, ref)
      if (group.waits) return LATER
      requireActive(player)
      putWithinLimits(group, player, values)
    },
  }
}

/** Asks for a player with the keys of its storage. */
export function askWithKeys(group: Group, ref: PlayerRef): Player {
  const player = group.player(ref)
  askStanding(player)
  group.of(Storage).ask(player)
  return player
}

/** Merges values into a storage whose keys are loaded; refuses what is over a limit, and then writes nothing. */
export function putWithinLimits(group: Group, player: PlayerRef, values: StorageValues): void {
  const storage = group.of(Storage)
  const faults = storageFaults(values)
  if (faults.length === 0 && !storage.hasRoomFor(player, values)) faults.push(TOO_MANY_KEYS)
  if (faults.length > 0) throw new Refusal('storageLimitExceeded', { faults })
  storage.put(player, values)
}

/** What values weigh on their way to the database. */
export function bytesOf(values: StorageValues): number {
  let bytes = 0
  for (const [key, value] of values) bytes += key.length + value.length
  return bytes
}

/** Removes keys from a player's storage; those that it does not have are no fault. */
export function deleteStorage(ref: PlayerRef, keys: readonly string[]): Command<void> {
  return {
    player: ref,
    locks: true,
    decide(group) {
      const player = askWithKeys(group, ref)
      if (group.waits) return LATER
      requireActive(player)
      group.of(Storage).remove(player, keys)
    },
  }
}

/** A value as it is stored. */
export interface StoredValue {
  /** The JSON text, byte for byte as it was written. */
  readonly value: string
  readonly updatedAt: Date
}

/** One answer carries this much at most. */
export const MAX_READ_BYTES = 16 * 2 ** 20
/** As many values as are never more than that. */
const ALWAYS_READABLE_KEYS = MAX_READ_BYTES / MAX_VALUE_BYTES

export const TOO_MUCH: Fault = {
  path: 'keys',
  message: `the values are more than an answer carries: ask for at most ${ALWAYS_READABLE_KEYS} keys at a time`,
}

/** The bytes of values, as the database counts them, too. */
export function bytesOfStored(stored: ReadonlyMap<string, StoredValue>): number {
  let bytes = 0
  for (const { value } of stored.values()) bytes += Buffer.byteLength(value)
  return bytes
}

/** The values that a group of reads asks for. */
class StoredValues implements Part {
  static readonly stage = 'changes'
  private readonly wantedSizes: Wanted<PlayerRef>
  private readonly wantedPlayers: Wanted<PlayerRef>
  private readonly wantedKeys: Wanted<PlayerRef & { key: string }>
  private readonly sizes = new Map<string, number>()
  private readonly values = new Map<string, Map<string, StoredValue>>()

  constructor(group: Group) {
    this.wantedSizes = new Wanted(group)
    this.wantedPlayers = new Wanted(group)
    this.wantedKeys = new Wanted(group)
  }

  /** Asks for values, once it is known that they are not too many. */
  ask(player: PlayerRef, keys: readonly string[] | null): void {
    if (keys === null || keys.length > ALWAYS_READABLE_KEYS) {
      if (!this.wantedSizes.want(playerKey(player), player)) return
      const size = this.sizes.get(playerKey(player)) ?? 0
      if (size > MAX_READ_BYTES) throw new Refusal('storageLimitExceeded', { faults: [TOO_MUCH] })
    }
    if (keys === null) this.wantedPlayers.want(playerKey(player), player)
    else for (const key of keys) this.wantedKeys.want(`${playerKey(player)}/${key}`, { ...player, key })
  }

  of(player: PlayerRef, keys: readonly string[] | null): ReadonlyMap<string, StoredValue> {
    const values = this.values.get(playerKey(player)) ?? new Map<string, StoredValue>()
    if (keys === null) return values
    return new Map(
      keys.flatMap((key) => {
        const value = values.get(key)
        return value === undefined ? [] : [[key, value]]
      }),
    )
  }

  load(): Statement[] {
    const hold = (player: PlayerRef, key: string, value: string, updatedAt: string) => {
      const values = this.values.get(playerKey(player)) ?? new Map<string, StoredValue>()
      this.values.set(playerKey(player), values.set(key, { value, updatedAt: new Date(Number(updatedAt)) }))
    }
    return [
      ...this.wantedSizes.statements({
        name: 'storage-sizes',
        text: `SELECT k.n::int, s.bytes
          FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, n) CROSS JOIN LATERAL (
            SELECT coalesce(sum(octet_length(value)), 0) AS bytes FROM player_storage s
            WHERE s.environment_id = k.environment_id AND s.player_id = k.player_id
          ) s`,
        columns: ['environmentId', 'playerId'],
        take: (name, [, bytes]) => this.sizes.set(name, Number(bytes)),
      }),
      ...this.wantedPlayers.statements({
        name: 'storage-all',
        text: `SELECT k.n::int, s.key, s.value, extract(epoch FROM s.updated_at) * 1000
          FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, n) CROSS JOIN LATERAL (
            SELECT * FROM player_storage s
            WHERE s.environment_id = k.environment_id AND s.player_id = k.player_id
            ORDER BY s.key COLLATE "C" OFFSET 0
          ) s`,
        columns: ['environmentId', 'playerId'],
        take: (_name, [, key, value, updatedAt], player) => hold(player, key, value, updatedAt),
      }),
      ...this.wantedKeys.statements({
        name: 'storage-keyed',
        text: `SELECT k.n::int, s.value, extract(epoch FROM s.updated_at) * 1000
          FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS k(environment_id, player_id, key, n)
          CROSS JOIN LATERAL (
            SELECT * FROM player_storage s
            WHERE s.environment_id = k.environment_id AND s.player_id = k.player_id AND s.key = k.key LIMIT 1
          ) s`,
        columns: ['environmentId', 'playerId', 'key'],
        take: (_name, [, value, updatedAt], { key, ...player }) => hold(player, key, value, updatedAt),
      }),
    ]
  }
}

/** Reads a player's storage: all of it, or these keys. What is not there is left out. Operators read any player's. */
export function readStorage(
  ref: PlayerRef,
  keys: readonly string[] | null,
  { byOperator = false } = {},
): Command<ReadonlyMap<string, StoredValue>> {
  return {
    lane: 'storage',
    player: ref,
    locks: true,
    decide(group) {
      const player = group.player(ref)
      askStanding(player)
      group.of(StoredValues).ask(ref, keys)
      if (group.waits) return LATER
      if (!byOperator) requireActive(player)
      return group.of(StoredValues).of(ref, keys)
    },
  }
}

export const setStorageCall = playerCall({
  request: storageSetRequest,
  action: 'storage.set',
  command: (player, { values }) => setStorage(player, values),
})
export const deleteStorageCall = playerCall({
  request: storageDeleteRequest,
  action: 'storage.delete',
  command: (player, { keys }) => deleteStorage(player, keys),
})
