import { type Definition, type PassNode, type TierKey, TRACKS, type Track } from '../definition/definition.ts'
import { claimsOpen, levelAt } from './decide.ts'

// The effect of an edit of a battle pass on its players, from the number of players by xp. Pure: the database only
// counts.

/** A pass that is missing before or after counts as one without levels, tiers and price. */
export interface PassPreview {
  readonly nodeId: string
  readonly isAdded: boolean
  readonly isRemoved: boolean
  readonly players: number
  readonly premiumOwners: number
  /** Players whose level would be higher. */
  readonly levelGained: number
  /** Players whose level would be lower. Their claims remain. */
  readonly levelLost: number
  /** Players by level, for every level of either definition, and 0. */
  readonly levels: readonly { readonly level: number; readonly before: number; readonly after: number }[]
  readonly priceBefore: PassNode['premium']
  readonly priceAfter: PassNode['premium']
  readonly claimsOpenBefore: boolean
  readonly claimsOpenAfter: boolean
  /** Tiers that become claimable, counted by players who have not claimed them. */
  readonly newlyClaimable: readonly {
    readonly track: Track
    /** Players with at least one. */
    readonly players: number
    readonly tiers: readonly { readonly level: number; readonly players: number }[]
  }[]
  /** Claimed tiers that would no longer exist. The claims remain. */
  readonly removedClaims: readonly { readonly level: number; readonly track: Track; readonly players: number }[]
}

export interface Tier {
  readonly level: number
  readonly track: Track
}

/** A tier that becomes claimable for players in the buckets `from` (included) to `to` (excluded). */
export interface FreshTier extends Tier {
  readonly from: number
  readonly to: number
}

/** Every battle pass of a definition, then those that only the previous definition has. */
export function comparePasses(before: Definition | null, after: Definition, now: Date): ComparedPass[] {
  const ids = new Set([...passesOf(after), ...(before ? passesOf(before) : [])])
  return [...ids].map((nodeId) => {
    const sides = [sideOf(before, nodeId, now), sideOf(after, nodeId, now)] as const
    return new ComparedPass(nodeId, ...sides)
  })
}

interface Side {
  readonly pass: PassNode | null
  readonly levels: PassNode['levels']
  readonly tiers: ReadonlyMap<TierKey, Tier>
  readonly isOpen: boolean
}

function passesOf({ nodes }: Definition): string[] {
  return [...nodes.values()].filter(({ type }) => type === 'battle-pass').map(({ id }) => id)
}

function sideOf(definition: Definition | null, nodeId: string, now: Date): Side {
  const pass = definition?.nodes.get(nodeId)
  if (pass?.type !== 'battle-pass') return { pass: null, levels: [], tiers: new Map(), isOpen: false }
  return { pass, levels: pass.levels, tiers: pass.tiers, isOpen: claimsOpen(pass, now) }
}

/**
 * A pass before and after. Players are counted in buckets between the thresholds of both definitions: bucket 0 is below
 * the first threshold, bucket n has reached the n-th and not the next. All players of a bucket have the same level
 * before, and the same level after.
 */
export class ComparedPass {
  readonly nodeId: string
  /** Totals of xp, rising. */
  readonly thresholds: readonly bigint[]
  readonly fresh: readonly FreshTier[]
  readonly removed: readonly Tier[]
  /** The number of fresh tiers of each bucket, by track. */
  readonly due: Readonly<Record<Track, readonly number[]>>

  // Counts by the database.
  /** Players by bucket, and those of them with premium. */
  readonly players: number[]
  readonly owners: number[]
  /** Players who have claimed a tier. Claims of a fresh tier count only where it is fresh for the player. */
  readonly claimed = new Map<Tier, number>()
  /** Players who have claimed everything that is fresh for them, by track. */
  readonly covered: Record<Track, number> = { free: 0, premium: 0 }

  private readonly before: Side
  private readonly after: Side
  private readonly levelsBefore: readonly number[]
  private readonly levelsAfter: readonly number[]

  constructor(nodeId: string, before: Side, after: Side) {
    this.nodeId = nodeId
    this.before = before
    this.after = after
    const totals = new Set([...before.levels, ...after.levels].map(({ xp }) => xp))
    this.thresholds = [...totals].sort((one, two) => (one < two ? -1 : 1))
    // No xp is below 0, so -1 stands for players below the first threshold.
    const leasts = [-1n, ...this.thresholds]
    this.levelsBefore = leasts.map((xp) => levelAt(before, xp))
    this.levelsAfter = leasts.map((xp) => levelAt(after, xp))
    this.players = leasts.map(() => 0)
    this.owners = leasts.map(() => 0)

    const never = leasts.length
    this.fresh = [...after.tiers].flatMap(([key, { level, track }]) => {
      const from = after.isOpen ? firstAt(this.levelsAfter, level) : never
      const to = before.isOpen && before.tiers.has(key) ? firstAt(this.levelsBefore, level) : never
      return from < to ? [{ level, track, from, to }] : []
    })
    this.removed = [...before.tiers].flatMap(([key, { level, track }]) =>
      after.tiers.has(key) ? [] : [{ level, track }],
    )
    this.due = { free: this.dueOn('free'), premium: this.dueOn('premium') }
  }

  get hasFresh(): boolean {
    return this.fresh.some((tier) => this.eligible(tier) > 0)
  }

  /** The lowest and the highest fresh level of each bucket; 1 and 0 for none. */
  get freshLevels(): { first: number[]; last: number[] } {
    const first = this.players.map(() => 1)
    const last = this.players.map(() => 0)
    for (const { level, from, to } of this.fresh) {
      for (let at = from; at < to; at += 1) {
        first[at] = last[at] === 0 ? level : Math.min(first[at] ?? level, level)
        last[at] = Math.max(last[at] ?? level, level)
      }
    }
    return { first, last }
  }

  result(): PassPreview {
    const { nodeId, before, after, players, owners } = this
    const moved = players.map((_, at) => Math.sign((this.levelsAfter[at] ?? 0) - (this.levelsBefore[at] ?? 0)))
    return {
      nodeId,
      isAdded: before.pass === null,
      isRemoved: after.pass === null,
      players: sum(players),
      premiumOwners: sum(owners),
      levelGained: sum(players.filter((_, at) => moved[at] === 1)),
      levelLost: sum(players.filter((_, at) => moved[at] === -1)),
      levels: this.distribution(),
      priceBefore: before.pass?.premium ?? null,
      priceAfter: after.pass?.premium ?? null,
      claimsOpenBefore: before.isOpen,
      claimsOpenAfter: after.isOpen,
      newlyClaimable: TRACKS.map((track) => this.newlyClaimable(track)),
      removedClaims: this.removed
        .map((tier) => ({ ...tier, players: this.claimed.get(tier) ?? 0 }))
        .filter((tier) => tier.players > 0)
        .sort((one, two) => one.level - two.level || one.track.localeCompare(two.track)),
    }
  }

  private dueOn(track: Track): number[] {
    const due = this.players.map(() => 0)
    for (const tier of this.fresh) {
      if (tier.track === track) for (let at = tier.from; at < tier.to; at += 1) due[at] = (due[at] ?? 0) + 1
    }
    return due
  }

  /** Players for whom a tier becomes claimable, whether or not they have claimed it. */
  private eligible({ track, from, to }: FreshTier): number {
    return sum(this.openTo(track).slice(from, to))
  }

  private openTo(track: Track): readonly number[] {
    return track === 'premium' ? this.owners : this.players
  }

  private newlyClaimable(track: Track): PassPreview['newlyClaimable'][number] {
    const withAny = this.openTo(track).filter((_, at) => (this.due[track][at] ?? 0) > 0)
    return {
      track,
      players: sum(withAny) - this.covered[track],
      tiers: this.fresh
        .filter((tier) => tier.track === track)
        .map((tier) => ({ level: tier.level, players: this.eligible(tier) - (this.claimed.get(tier) ?? 0) }))
        .filter(({ players }) => players > 0)
        .sort((one, two) => one.level - two.level),
    }
  }

  private distribution(): PassPreview['levels'] {
    const known = [0, ...this.before.levels.map(({ level }) => level), ...this.after.levels.map(({ level }) => level)]
    const counts = new Map(known.map((level) => [level, { level, before: 0, after: 0 }]))
    for (const [at, players] of this.players.entries()) {
      const was = counts.get(this.levelsBefore[at] ?? 0)
      const is = counts.get(this.levelsAfter[at] ?? 0)
      if (was) was.before += players
      if (is) is.after += players
    }
    return [...counts.values()].sort((one, two) => one.level - two.level)
  }
}

/** The first bucket with this level or a higher one; the number of buckets for none. Levels never fall. */
function firstAt(levels: readonly number[], level: number): number {
  const first = levels.findIndex((reached) => reached >= level)
  return first === -1 ? levels.length : first
}

const sum = (numbers: readonly number[]): number => numbers.reduce((one, two) => one + two, 0)
