import { Player, type PlayerRef } from './player.ts'

const MAX_BYTES = 128 * 2 ** 20
const MAX_PLAYER_BYTES = 2 ** 20
const IDLE_MS = 5 * 60_000

/** The players of one instance whose rows are remembered. */
export interface Memory {
  /** The player, remembered or not. Frequently used players stay in memory. */
  player(ref: PlayerRef): Player
  /** Adds the weight that a player has gained. Only its own group may forget a player that is in flight. */
  count(player: Player, options?: { isOwn?: boolean }): void
  /** Takes over the rows that a group of reads has loaded for a player. */
  adopt(read: Player): void
  /** The number of remembered players. */
  readonly size: number
  /** Their estimated weight. */
  readonly bytes: number
}

type Generation = Map<string, Map<string, Player>>

/**
 * Creates a memory with limits on weight and idle time, at the cost of one lookup: players in use are in the younger of
 * two generations. When the younger one has half of the weight, or its time is over, it becomes the older one, and the
 * players of the previous older one are forgotten.
 */
export function createMemory({ maxBytes = MAX_BYTES, idleMs = IDLE_MS } = {}): Memory {
  let young: Generation = new Map()
  let old: Generation = new Map()
  let size = 0
  let oldSize = 0
  let weight = 0
  let oldWeight = 0
  let turned = performance.now()

  function turn(): void {
    old = young
    oldSize = size
    oldWeight = weight
    young = new Map()
    size = 0
    weight = 0
    turned = performance.now()
  }

  function find(ref: PlayerRef): Player {
    const { environmentId, playerId } = ref
    const known = young.get(environmentId)?.get(playerId)
    if (known) return known
    if (weight > maxBytes / 2 || performance.now() - turned > idleMs) turn()
    const older = old.get(environmentId)
    const player = older?.get(playerId) ?? new Player(ref)
    if (older?.delete(playerId)) {
      oldSize -= 1
      oldWeight -= player.takeCounted()
    }
    let players = young.get(environmentId)
    if (!players) {
      players = new Map()
      young.set(environmentId, players)
    }
    players.set(playerId, player)
    size += 1
    count(player)
    return player
  }

  function count(player: Player, { isOwn = false } = {}): void {
    // A player with ever more rows must not displace the others.
    if (player.weight > MAX_PLAYER_BYTES && (isOwn || !player.isInFlight)) player.forget()
    weight += player.takeGrowth()
  }

  return {
    player: find,
    count,
    adopt(read) {
      const player = find(read)
      if (player.isInFlight) return
      // It is not known which of two versions is newer.
      if (player.version !== undefined && player.version !== read.version) player.outdate({ isContested: false })
      else player.adopt(read)
      count(player)
    },
    get size() {
      return size + oldSize
    },
    get bytes() {
      return weight + oldWeight
    },
  }
}
