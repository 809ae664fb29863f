import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import {
  type ClaimError,
  decideClaim,
  decidePurchase,
  decideXp,
  levelAt,
  newPass,
  type Pass,
  type PurchaseError,
} from '../../src/game/battlepass/decide.ts'
import { type PassNode, TRACKS, type Track, tierKey } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import type { Crossing } from '../../src/game/runs/plan.ts'
import { gold, passNode, scenario, tier } from '../harness/definitions.ts'

const MAX_INT64 = 2n ** 63n - 1n
const NOW = new Date('2026-06-01T00:00:00Z')
const PRICE = 950n

/** A pass as it is published: up to eight levels of random distances, with a random part of the tiers. */
const passes: fc.Arbitrary<PassNode> = fc
  .record({
    first: fc.bigInt({ min: 0n, max: 50n }),
    steps: fc.array(fc.bigInt({ min: 1n, max: 200n }), { maxLength: 7 }),
    chosen: fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
  })
  .map(({ first, steps, chosen }) => {
    const levels = [first]
    for (const step of steps) levels.push((levels.at(-1) ?? 0n) + step)
    const tiers = levels
      .flatMap((_, index) => TRACKS.map((track) => tier(index + 1, track, [gold(index + 1)])))
      .filter((_, index) => chosen[index])
    return publish(levels, tiers)
  })

function publish(levels: bigint[], tiers: ReturnType<typeof tier>[]): PassNode {
  const parsed = parseDefinition(print(scenario([passNode('pass', { levels, tiers })], [])))
  const node = parsed.ok ? parsed.definition.nodes.get('pass') : undefined
  if (node?.type !== 'battle-pass') throw new Error(`not a pass: ${JSON.stringify(parsed)}`)
  return node
}

const ALL_TIERS = Array.from({ length: 10 }, (_, level) => TRACKS.map((track) => ({ level, track }))).flat()

const claimedTiers = ({ claimed }: Pass) => ALL_TIERS.filter(({ level, track }) => claimed.has(tierKey(level, track)))

const amounts = fc.array(fc.bigInt({ min: 1n, max: 400n }), { maxLength: 20 })

function earn(node: PassNode, all: readonly bigint[], start = newPass(node)) {
  let pass = start
  const answers = []
  const crossings: Crossing[] = []
  for (const amount of all) {
    const decision = decideXp(node, pass, { amount, source: 'test', origin: 'client' }, NOW)
    if (decision.kind === 'refused') throw new Error(decision.reason)
    pass = decision.next
    answers.push(decision)
    crossings.push(...decision.crossings)
  }
  return { pass, answers, crossings }
}

const levelUps = (crossings: readonly Crossing[]) =>
  crossings
    .filter(({ handle }) => handle === 'onLevelUp')
    .map(({ data }) => data as unknown as { fromLevel: number; toLevel: number; xp: bigint })

describe('the level for a total of xp (contract 2.2)', () => {
  it('is the highest whose xp is reached', () => {
    fc.assert(
      fc.property(passes, fc.bigInt({ min: 0n, max: 2000n }), (node, xp) => {
        const reached = node.levels.filter((level) => level.xp <= xp).map(({ level }) => level)
        expect(levelAt(node, xp)).toBe(Math.max(0, ...reached))
      }),
    )
  })

  it('is exact at both sides of every threshold, up to 2^63-1', () => {
    const node = publish([0n, 2n ** 53n, 2n ** 53n + 1n, MAX_INT64 - 1n, MAX_INT64], [])
    for (const { level, xp } of node.levels) {
      expect(levelAt(node, xp)).toBe(level)
      if (xp > 0n) expect(levelAt(node, xp - 1n)).toBe(level - 1)
    }
  })
})

describe('xp (contract 4.1)', () => {
  it('sums to the same total and level in any order', () => {
    const shuffled = amounts.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
    )
    fc.assert(
      fc.property(passes, shuffled, (node, [all, other]) => {
        const total = all.reduce((sum, amount) => sum + amount, 0n)
        for (const { pass } of [earn(node, all), earn(node, other)])
          expect([pass.xp, pass.level, pass.maxLevelCrossed]).toEqual([
            total,
            levelAt(node, total),
            all.length > 0 && levelAt(node, total) >= node.topLevel,
          ])
      }),
    )
  })

  it('never lowers the level, and answers leveledUp exactly when the level rises', () => {
    fc.assert(
      fc.property(passes, amounts, (node, all) => {
        let level = newPass(node).level
        for (const answer of earn(node, all).answers) {
          expect(answer.level).toBeGreaterThanOrEqual(level)
          expect(answer.leveledUp).toBe(answer.level > level)
          expect(answer.maxLevel).toBe(answer.level === node.topLevel)
          level = answer.level
        }
      }),
    )
  })

  it('crosses each level once: each level up begins at the level of the last one', () => {
    fc.assert(
      fc.property(passes, amounts, (node, all) => {
        const { crossings, pass } = earn(node, all)
        let level = newPass(node).level
        for (const { fromLevel, toLevel } of levelUps(crossings)) {
          expect(fromLevel).toBe(level)
          expect(toLevel).toBeGreaterThan(level)
          level = toLevel
        }
        expect(pass.level).toBe(level)
        const tops = crossings.filter(({ handle }) => handle === 'onMaxLevel')
        expect(tops).toHaveLength(pass.maxLevelCrossed ? 1 : 0)
      }),
    )
  })

  it('crosses no level a second time when the definition is edited between calls', () => {
    const calls = fc.array(fc.record({ node: passes, amount: fc.bigInt({ min: 1n, max: 400n }) }), { maxLength: 20 })
    fc.assert(
      fc.property(passes, calls, (first, all) => {
        let pass = newPass(first)
        let highest = pass.level
        const tops: Crossing[] = []
        for (const { node, amount } of all) {
          const { pass: next, crossings } = earn(node, [amount], pass)
          for (const { fromLevel, toLevel } of levelUps(crossings)) {
            expect(fromLevel).toBe(highest)
            expect(toLevel).toBeGreaterThan(highest)
            highest = toLevel
          }
          tops.push(...crossings.filter(({ handle }) => handle === 'onMaxLevel'))
          pass = next
        }
        expect(pass.level).toBe(highest)
        expect(tops.length).toBeLessThanOrEqual(1)
      }),
    )
  })

  it('is exact up to 2^63-1, and refused for a higher total', () => {
    const nearEnd = fc.tuple(fc.bigInt({ min: 0n, max: MAX_INT64 }), fc.bigInt({ min: 1n, max: MAX_INT64 }))
    fc.assert(
      fc.property(passes, nearEnd, (node, [xp, amount]) => {
        const decision = decideXp(node, { ...newPass(node), xp }, { amount, source: '', origin: 'client' }, NOW)
        if (xp + amount > MAX_INT64) expect(decision).toEqual({ kind: 'refused', reason: 'xpLimitExceeded' })
        else expect(decision).toMatchObject({ kind: 'added', xp: xp + amount })
      }),
    )
  })
})

type Step =
  | { readonly kind: 'xp'; readonly amount: bigint }
  | { readonly kind: 'buy' }
  | { readonly kind: 'deposit'; readonly amount: bigint }
  | { readonly kind: 'claim'; readonly level: number; readonly track: Track }

const claims = fc.record({
  kind: fc.constant('claim' as const),
  level: fc.integer({ min: 0, max: 9 }),
  track: fc.constantFrom(...TRACKS),
})
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('xp' as const), amount: fc.bigInt({ min: 1n, max: 300n }) }),
    fc.record({ kind: fc.constant('deposit' as const), amount: fc.bigInt({ min: 1n, max: 1000n }) }),
    fc.constant({ kind: 'buy' as const }),
    claims,
    claims,
  ),
  { maxLength: 60 },
)

/** A model of the game that is simple enough to be correct at sight. */
class Model {
  xp = 0n
  gems = 0n
  owned = false
  readonly claimed = new Map<string, number>()
  private readonly node: PassNode

  constructor(node: PassNode) {
    this.node = node
  }

  expectedClaim({ level, track }: { level: number; track: Track }): ClaimError | 'granted' | 'repeated' {
    if (this.claimed.has(tierKey(level, track))) return 'repeated'
    if (!this.node.tiers.has(tierKey(level, track))) return 'tier not found'
    const threshold = this.node.levels.find((entry) => entry.level === level)?.xp ?? MAX_INT64
    if (this.xp < threshold) return 'level not reached'
    return track === 'premium' && !this.owned ? 'premium required' : 'granted'
  }

  expectedPurchase(): PurchaseError | 'purchased' {
    if (this.owned) return 'premium already owned'
    return this.gems < PRICE ? 'insufficient funds' : 'purchased'
  }

  /** Whether all open tiers are claimed at the top level. */
  get complete(): boolean {
    const top = this.node.levels.at(-1)?.xp ?? 0n
    const open = [...this.node.tiers.values()].filter(({ track }) => track === 'free' || this.owned)
    return this.xp >= top && open.every(({ level, track }) => this.claimed.has(tierKey(level, track)))
  }
}

/** Takes the steps and compares each result with the model; calls `check` after each. */
function play(node: PassNode, all: readonly Step[], check: (pass: Pass, model: Model) => void = () => undefined) {
  const model = new Model(node)
  const crossings: Crossing[] = []
  let pass = newPass(node)
  for (const step of all) {
    if (step.kind === 'deposit') {
      model.gems += step.amount
    } else if (step.kind === 'xp') {
      const earned = earn(node, [step.amount], pass)
      model.xp += step.amount
      pass = earned.pass
      crossings.push(...earned.crossings)
    } else if (step.kind === 'buy') {
      const decision = decidePurchase(node, pass, (currency) => (currency === 'gems' ? model.gems : 0n), NOW)
      expect(decision.kind === 'refused' ? decision.error : decision.kind).toBe(model.expectedPurchase())
      if (decision.kind === 'purchased') {
        model.gems -= decision.price.amount
        model.owned = true
        pass = decision.next
        crossings.push(...decision.crossings)
      }
    } else {
      const { level, track } = step
      const offer = node.tiers.get(tierKey(level, track))
      const decision = decideClaim(node, pass, { level, track, offer }, NOW)
      expect(decision.kind === 'refused' ? decision.error : decision.kind).toBe(model.expectedClaim(step))
      if (decision.kind !== 'refused') {
        const count = model.claimed.get(tierKey(level, track)) ?? 0
        model.claimed.set(tierKey(level, track), count + (decision.kind === 'granted' ? 1 : 0))
        pass = decision.next
        crossings.push(...decision.crossings)
      }
    }
    check(pass, model)
  }
  return { pass, model, crossings }
}

describe('any sequence of xp, claims, deposits and purchases (contract 2.1, contract 4.1)', () => {
  it('leads to the xp, ownership and claimed tiers of the model, each tier granted once', () => {
    fc.assert(
      fc.property(passes, steps, (node, all) => {
        const { pass, model } = play(node, all)
        expect([pass.xp, pass.level, pass.premiumOwned]).toEqual([model.xp, levelAt(node, model.xp), model.owned])
        const claimed = claimedTiers(pass).map(({ level, track }) => tierKey(level, track))
        expect(claimed.sort()).toEqual([...model.claimed.keys()].sort())
        expect([...model.claimed.values()].every((count) => count === 1)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  it('never makes a balance negative, and never charges twice', () => {
    fc.assert(
      fc.property(passes, steps, (node, all) => {
        const { crossings, model } = play(node, all, (_, { gems }) => expect(gems).toBeGreaterThanOrEqual(0n))
        const bought = crossings.filter(({ handle }) => handle === 'onPremiumPurchase')
        expect(bought).toHaveLength(model.owned ? 1 : 0)
      }),
    )
  })

  it('never claims a premium tier without premium', () => {
    fc.assert(
      fc.property(passes, steps, (node, all) => {
        play(node, all, (pass) => {
          if (!pass.premiumOwned) for (const { track } of claimedTiers(pass)) expect(track).toBe('free')
        })
      }),
    )
  })

  it('never claims a tier above the level', () => {
    fc.assert(
      fc.property(passes, steps, (node, all) => {
        play(node, all, (pass) => {
          for (const { level } of claimedTiers(pass)) expect(level).toBeLessThanOrEqual(levelAt(node, pass.xp))
        })
      }),
    )
  })

  it('crosses onComplete once, when xp or a claim leaves all open tiers claimed at the top level', () => {
    fc.assert(
      fc.property(passes, steps, (node, all) => {
        const { crossings, pass } = play(node, all, (state, model) => {
          // Before the first xp or claim, no call could have crossed it.
          if (model.complete && (model.xp > 0n || model.claimed.size > 0)) expect(state.completed).toBe(true)
        })
        const completed = crossings.filter(({ handle }) => handle === 'onComplete')
        expect(completed).toHaveLength(pass.completed ? 1 : 0)
      }),
      { numRuns: 500 },
    )
  })

  it('answers a repeated claim without any change after every edit of the definition', () => {
    fc.assert(
      fc.property(passes, steps, passes, (node, all, edited) => {
        const { pass } = play(node, all)
        for (const { level, track } of claimedTiers(pass)) {
          const offer = edited.tiers.get(tierKey(level, track))
          const closed = {
            ...edited,
            startsAt: new Date(NOW.getTime() + 1),
            endsAt: new Date(0),
            claimUntil: new Date(0),
          }
          const decision = decideClaim(closed, pass, { level, track, offer }, NOW)
          expect(decision).toEqual({ kind: 'repeated', next: pass, crossings: [] })
        }
      }),
    )
  })

  it('never mutates an earlier pass', () => {
    fc.assert(
      fc.property(passes, steps, (node, all) => {
        const seen: [Pass, string][] = []
        const text = (pass: Pass) => JSON.stringify([String(pass.xp), pass.level, pass.completed, claimedTiers(pass)])
        play(node, all, (pass) => seen.push([pass, text(pass)]))
        for (const [pass, before] of seen) expect(text(pass)).toBe(before)
      }),
    )
  })
})

describe('the season (contract 4.1)', () => {
  const at = (text: string) => new Date(text)
  const open = publish([0n, 100n], [tier(1, 'free')])
  const node: PassNode = {
    ...open,
    startsAt: at('2026-01-01T00:00:00Z'),
    endsAt: at('2026-02-01T00:00:00Z'),
    claimUntil: at('2026-02-08T00:00:00Z'),
  }

  it.each([
    ['2025-12-31T23:59:59.999Z', false, false],
    ['2026-01-01T00:00:00.000Z', true, true],
    ['2026-01-31T23:59:59.999Z', true, true],
    ['2026-02-01T00:00:00.000Z', false, true],
    ['2026-02-07T23:59:59.999Z', false, true],
    ['2026-02-08T00:00:00.000Z', false, false],
  ])('at %s has xp and premium open: %s, and claims open: %s', (time, playing, claiming) => {
    const now = at(time)
    const pass = newPass(node)
    expect(decideXp(node, pass, { amount: 1n, source: '', origin: 'client' }, now).kind).toBe(
      playing ? 'added' : 'refused',
    )
    expect(decidePurchase(node, pass, () => PRICE, now).kind).toBe(playing ? 'purchased' : 'refused')
    const offer = node.tiers.get('free:1')
    expect(decideClaim(node, pass, { level: 1, track: 'free', offer }, now).kind).toBe(claiming ? 'granted' : 'refused')
  })
})
