import { type GameClock, gameTimeAt } from '../../base/game-clock.ts'
import { MAX_BOOST_MINUTES } from '../../base/limits.ts'
import { newId } from '../../db/ids.ts'
import { instant, int, json, text, uuid } from '../../transactions/columns.ts'
import type { Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import type { RewardBoost } from '../definition/definition.ts'
import type { Boost } from './stored.ts'

/** How long what one reference gave lasts, in milliseconds; an empty reference for what is never taken back. */
type Part = readonly [reference: string, ms: number]

/** The boosts that players have for themselves, in all scenarios of their environment. */
export const playerBoosts = table('player_boosts', {
  key: { id: uuid },
  columns: {
    percent: int,
    startsAt: instant,
    endsAt: instant,
    /** What gave it, or made it longer at last, as in the ledger of the wallet. */
    reference: text,
    parts: json<readonly Part[]>(),
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
  /** What it is made of, from its start to its end. */
  readonly parts: readonly Part[]
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
  percent: BigInt(percent),
  sources: [],
  audience: 'everybody',
  isPersonal: true,
  startsAt: gameTimeAt(clock, startsAt.getTime()),
  endsAt: gameTimeAt(clock, endsAt.getTime()),
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
  const given = endsAt.getTime() - (before?.endsAt ?? startsAt).getTime()
  const parts = joined([...(before?.parts ?? []), [UNDONE.test(reference) ? reference : '', given]])
  const after: PlayerBoost = { id: before?.id ?? newId(), percent: boost.percent, startsAt, endsAt, reference, parts }
  own.set(after.id, after)
  return { before, after }
}

/** The references of what can be taken back. */
const UNDONE = /^(support|grant-job|inbox)\//

/** Parts without empty ones, and with neighbours of one reference as one part. */
function joined(parts: readonly Part[]): Part[] {
  const all: Part[] = []
  for (const [reference, ms] of parts) {
    const last = all.at(-1)
    if (last?.[0] === reference) all[all.length - 1] = [reference, last[1] + ms]
    else if (ms > 0) all.push([reference, ms])
  }
  return all
}

/** Takes what is left of a reference out of a boost, up to `most` milliseconds. Returns the milliseconds taken. */
function shorten(player: Player, held: PlayerBoost, reference: string, most: number, now: Date): number {
  const nowMs = now.getTime()
  let at = held.startsAt.getTime()
  let taken = 0
  const parts = held.parts.map(([from, ms]): Part => {
    const end = at + ms
    const left = from === reference ? Math.max(0, end - Math.max(at, nowMs)) : 0
    const part = Math.min(left, most - taken)
    at = end
    taken += part
    return [from, ms - part]
  })
  if (taken === 0) return 0
  const endsAt = new Date(held.endsAt.getTime() - taken)
  player.many(ownBoosts).set(held.id, endsAt > now ? { ...held, endsAt, parts: joined(parts) } : null)
  return taken
}

/**
 * Takes back what a reference gave of a boost, as far as it is left, and returns the minutes, rounded up; 0 for none. Ask
 * for the player's boosts first. Only in a transaction.
 */
export function takeBoost(player: Player, { percent, minutes }: RewardBoost, reference: string, now: Date): number {
  let taken = 0
  for (const held of player.many(ownBoosts).values())
    if (held.percent === percent && held.endsAt > now)
      taken += shorten(player, held, reference, minutes * MINUTE_MS - taken, now)
  return Math.ceil(taken / MINUTE_MS)
}

/** Takes what is left of a reference out of one boost that runs. Null when nothing is left; null after it for one that ended. */
export function takeBoostOf(
  player: Player,
  { id, reference, now }: { readonly id: string; readonly reference: string; readonly now: Date },
): { readonly before: PlayerBoost; readonly after: PlayerBoost | null } | null {
  const own = player.many(ownBoosts)
  const before = own.get(id)
  if (!before || before.endsAt <= now || shorten(player, before, reference, Number.MAX_SAFE_INTEGER, now) === 0)
    return null
  return { before, after: own.get(id) ?? null }
}

/** Ends a boost that runs. Null when the player has no such boost. Ask for its boosts first. Only in a transaction. */
export function endBoostOf(player: Player, id: string, now: Date): PlayerBoost | null {
  const own = player.many(ownBoosts)
  const held = own.get(id)
  if (!held || held.endsAt <= now) return null
  own.set(id, null)
  return held
}
