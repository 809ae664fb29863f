import { type GameClock, gameTimeAt } from '../base/game-clock.ts'
import { MAX_BOOST_MINUTES } from '../base/limits.ts'
import { newId } from '../db/ids.ts'
import type { Boost } from '../scenario/boosts.ts'
import type { RewardBoost } from '../scenario/definition.ts'
import type { Player } from '../transactions/player.ts'
import { instant, int, table, text, uuid } from '../transactions/table.ts'

/** The boosts that players have for themselves, in all scenarios of their environment. */
export const playerBoosts = table('player_boosts', {
  key: { id: uuid },
  columns: {
    percent: int,
    startsAt: instant,
    endsAt: instant,
    /** What gave it, or made it longer at last, as in the ledger of the wallet. */
    reference: text,
  },
  kind: 'state',
  expired: `ends_at < now() - interval '1 day'`,
})
const ownBoosts = playerBoosts.many([], ({ id }) => id)

export interface PlayerBoost {
  readonly id: string
  readonly percent: number
  readonly startsAt: Date
  readonly endsAt: Date
  readonly reference: string
}

const MINUTE_MS = 60_000
const LONGEST_MS = MAX_BOOST_MINUTES * MINUTE_MS

/** Asks for the boosts of a player, of which some may have ended. */
export function askBoosts(player: Player): void {
  player.many(ownBoosts)
}

/**
 * The boosts of a scenario with those of the player, for which it asks. While the group waits, those may be missing. What
 * a player has lasts real minutes, and is given in the game's time by the clock of the environment.
 */
export function withOwn(boosts: readonly Boost[], player: Player, clock: GameClock | null): readonly Boost[] {
  const own = player.many(ownBoosts)
  // Most players have none.
  return !own.isKnown || own.isEmpty ? boosts : [...boosts, ...own.values().map((boost) => boostOf(boost, clock))]
}

const boostOf = ({ percent, startsAt, endsAt }: PlayerBoost, clock: GameClock | null): Boost => ({
  ...{ percent: BigInt(percent), sources: [], audience: 'everybody', isPersonal: true },
  ...{ startsAt: gameTimeAt(clock, startsAt.getTime()), endsAt: gameTimeAt(clock, endsAt.getTime()) },
})

/**
 * What a player has once it gets a boost. One of the same percentage that runs is made longer; otherwise another one
 * begins. What would last longer than `MAX_BOOST_MINUTES` from now on is cut.
 */
export function lengthened<B extends Pick<PlayerBoost, 'percent' | 'startsAt' | 'endsAt'>>(
  held: readonly B[],
  { percent, minutes }: RewardBoost,
  now: Date,
): { readonly before: B | null; readonly startsAt: Date; readonly endsAt: Date } {
  const before = held.find((boost) => boost.percent === percent && boost.endsAt > now) ?? null
  const from = before?.endsAt ?? now
  const endsMs = Math.min(from.getTime() + minutes * MINUTE_MS, now.getTime() + LONGEST_MS)
  // The clock of another instance may be ahead: no boost becomes shorter.
  return { before, startsAt: before?.startsAt ?? now, endsAt: new Date(Math.max(endsMs, from.getTime())) }
}

/** Gives a boost to a player from now on. Ask for its boosts first. */
export function giveBoost(player: Player, boost: RewardBoost, reference: string, now: Date) {
  const own = player.many(ownBoosts)
  const { before, startsAt, endsAt } = lengthened(own.values(), boost, now)
  const after: PlayerBoost = { id: before?.id ?? newId(), percent: boost.percent, startsAt, endsAt, reference }
  own.set(after.id, after)
  return { before, after }
}

/**
 * Makes the boost of this percentage that runs shorter, and returns by how many minutes, rounded up; 0 for none. Ask for
 * its boosts first. Only in a transaction.
 */
export function shortenBoost(player: Player, { percent, minutes }: RewardBoost, reference: string, now: Date): number {
  const own = player.many(ownBoosts)
  const held = own.values().find((boost) => boost.percent === percent && boost.endsAt > now)
  if (!held) return 0
  const endsMs = Math.max(now.getTime(), held.endsAt.getTime() - minutes * MINUTE_MS)
  own.set(held.id, endsMs === now.getTime() ? null : { ...held, endsAt: new Date(endsMs), reference })
  return Math.ceil((held.endsAt.getTime() - endsMs) / MINUTE_MS)
}

/** Ends a boost that runs. Null when the player has no such boost. Ask for its boosts first. Only in a transaction. */
export function endBoostOf(player: Player, id: string, now: Date): PlayerBoost | null {
  const own = player.many(ownBoosts)
  const held = own.get(id)
  if (!held || held.endsAt <= now) return null
  own.set(id, null)
  return held
}
