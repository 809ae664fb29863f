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

/** The boosts of a scenario with those of the player, for which it asks. While the group waits, those may be missing. */
export function withOwn(boosts: readonly Boost[], player: Player): readonly Boost[] {
  const own = player.many(ownBoosts)
  // Most players have none.
  return !own.isKnown || own.isEmpty ? boosts : [...boosts, ...own.values().map(boostOf)]
}

const boostOf = ({ percent, startsAt, endsAt }: PlayerBoost): Boost => ({
  ...{ percent: BigInt(percent), startsAt: startsAt.getTime(), endsAt: endsAt.getTime() },
  ...{ sources: [], audience: 'everybody', isPersonal: true },
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

/** Ends a boost that runs. Null when the player has no such boost. Ask for its boosts first. Only in a transaction. */
export function endBoostOf(player: Player, id: string, now: Date): PlayerBoost | null {
  const own = player.many(ownBoosts)
  const held = own.get(id)
  if (!held || held.endsAt <= now) return null
  own.set(id, null)
  return held
}
