import type { Client } from 'urql'
import { MAX_NODE_IDS } from '../../../src/base/limits.ts'
import { playerNamesQuery } from './operations.ts'

/** Reads nicknames by the ids of players: null for a player without one. Undefined when they could not be read. */
export type ReadNames = (playerIds: readonly string[]) => Promise<ReadonlyMap<string, string | null> | undefined>

export const readNamesBy =
  (client: Client): ReadNames =>
  async (playerIds) => {
    const { data } = await client.query(playerNamesQuery, { ids: playerIds.map((id) => `Player:${id}`) }).toPromise()
    return (
      data &&
      new Map(
        playerIds.map((id, index) => {
          const node = data.nodes[index]
          return [id, node && 'nickname' in node ? node.nickname : null]
        }),
      )
    )
  }

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** One id that is none would refuse all others that are asked with it. */
export const isPlayerId = (text: string): boolean => ID.test(text)

/** Rows that a page shows together ask together. */
const COLLECT_MS = 30
/** A feed of hundreds of events a second asks for its rows once in this time. */
const PAUSE_MS = 500
const KEPT_MS = 600_000
const RETRY_MS = 30_000
/** Half of the names that are kept at most. */
const GENERATION = 5_000

interface Known {
  readonly nickname: string | null
  /** It is asked for again after this time, and shown until then. */
  readonly until: number
}

/** The nicknames of players, asked for by the places that show them, many in one request, and kept for a while. */
export class PlayerNames {
  readonly #read: ReadNames
  /** Once the young generation is full, it takes the place of the old one. */
  #young = new Map<string, Known>()
  #old: ReadonlyMap<string, Known> = new Map()
  /** The places that wait for a name. */
  readonly #waiting = new Set<{ readonly playerId: string }>()
  readonly #listeners = new Set<() => void>()
  #isRunning = false

  constructor(read: ReadNames) {
    this.#read = read
  }

  /** Calls the listener whenever names have come. Returns a function that ends this. */
  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The nickname of a player: null for none, undefined while it is not known. */
  nameOf(playerId: string): string | null | undefined {
    return this.#known(playerId)?.nickname
  }

  /** Asks for the nickname of a player, unless it is known. The place that asks calls the result when it is gone. */
  want(playerId: string): () => void {
    const place = { playerId }
    if (!isPlayerId(playerId) || this.#isFresh(playerId)) return () => {}
    this.#waiting.add(place)
    if (!this.#isRunning) void this.#run()
    return () => this.#waiting.delete(place)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await passed(COLLECT_MS)
    while (this.#waiting.size > 0) {
      await this.#ask()
      await passed(PAUSE_MS)
    }
    this.#isRunning = false
  }

  async #ask(): Promise<void> {
    const ids = new Set<string>()
    for (const place of this.#waiting) {
      if (ids.size === MAX_NODE_IDS) break
      this.#waiting.delete(place)
      if (!this.#isFresh(place.playerId)) ids.add(place.playerId)
    }
    if (ids.size === 0) return
    const names = await this.#read([...ids])
    const until = Date.now() + (names ? KEPT_MS : RETRY_MS)
    // A name that cannot be read again is still better than none.
    for (const id of ids) this.#keep(id, { nickname: (names ? names.get(id) : this.nameOf(id)) ?? null, until })
    for (const listener of this.#listeners) listener()
  }

  #keep(playerId: string, known: Known): void {
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(playerId, known)
  }

  #known(playerId: string): Known | undefined {
    return this.#young.get(playerId) ?? this.#old.get(playerId)
  }

  #isFresh(playerId: string): boolean {
    return (this.#known(playerId)?.until ?? 0) > Date.now()
  }
}

const passed = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
