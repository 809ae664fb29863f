import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changesOf, type Reported } from '../../src/operations/alerts/changes.ts'
import { MAX_PROBLEMS, PROBLEM_KINDS, type Problem, type ProblemKind } from '../../src/operations/problems/problems.ts'

// The problems that an alert webhook receives, from look to look.

const START = Date.UTC(2027, 0, 1)
const minute = (number: number): Date => new Date(START + number * 60_000)
const problem = (kind: ProblemKind, about: Partial<Problem> = {}): Problem => ({
  ...{ kind, at: minute(0), text: kind },
  ...about,
})
const failing = (provider = 'default', text = 'Logins fail.') => problem('logins fail', { provider, text })

/** Looks at what is found in each of these minutes. Gives what each look tells: `+` began, `-` is over. */
function looks(found: Readonly<Record<number, readonly Problem[]>>, kinds: readonly ProblemKind[] = []) {
  let reported: readonly Reported[] = []
  return Object.entries(found).map(([number, problems]) => {
    const changes = changesOf(reported, problems, { kinds, now: minute(Number(number)) })
    reported = changes.reported
    const name = ({ kind, provider, grantJobId }: Omit<Problem, 'at'>) =>
      [kind, provider ?? grantJobId].join(' ').trim()
    return [...changes.began.map((one) => `+${name(one)}`), ...changes.ended.map((one) => `-${name(one)}`)]
  })
}

describe('an alert webhook is notified', () => {
  it('a problem once, however its numbers change', () => {
    expect(looks({ 0: [failing()], 1: [failing('default', '12 of 90')], 2: [failing(), failing('other')] })).toEqual([
      ['+logins fail default'],
      [],
      ['+logins fail other'],
    ])
  })

  it('that shares of failed calls are over once they have been gone for ten minutes', () => {
    const gone = { 1: [], 5: [], 6: [failing()], 7: [], 16: [], 17: [], 18: [], 19: [failing()] }
    expect(looks({ 0: [failing()], ...gone })).toEqual([
      ...[['+logins fail default'], [], [], [], [], []],
      ...[['-logins fail default'], [], ['+logins fail default']],
    ])
  })

  it.each(['settlement late', 'grant job paused', 'grant job awaits approval', 'alerts fail'] as const)(
    'at once that a state is over: %s',
    (kind) => {
      const job = problem(kind, { grantJobId: 'a' })
      expect(looks({ 0: [job], 1: [] })).toEqual([[`+${kind} a`], [`-${kind} a`]])
    },
  )

  it.each(['settlement incomplete', 'publication failed', 'grant job failed'] as const)(
    'never that an event of the past is over: %s',
    (kind) => expect(looks({ 0: [problem(kind)], 60: [], 61: [] })).toEqual([[`+${kind}`], [], []]),
  )

  it('nothing about those that a full list has no room for any more', () => {
    const jobs = Array.from({ length: MAX_PROBLEMS + 1 }, (_, id) =>
      problem('grant job paused', { grantJobId: String(id) }),
    )
    const [first, ...rest] = jobs as [Problem, ...Problem[]]
    expect(looks({ 0: [first], 1: rest, 2: [] })).toEqual([
      ['+grant job paused 0'],
      rest.map(({ grantJobId }) => `+grant job paused ${grantJobId}`),
      expect.arrayContaining(['-grant job paused 0']),
    ])
  })

  it('the kinds that were chosen, and nothing of others', () => {
    expect(looks({ 0: [failing(), problem('xp limited')], 1: [] }, ['xp limited'])).toEqual([['+xp limited'], []])
    const reported = [{ problem: { ...problem('grant job paused'), at: '' }, missingSince: null }]
    expect(changesOf(reported, [], { kinds: ['xp limited'], now: minute(1) })).toEqual({
      reported: [],
      began: [],
      ended: [],
    })
  })

  it('each beginning before its end, in turn, whatever is found', () => {
    const kind = fc.constantFrom(...PROBLEM_KINDS)
    const found = fc.array(
      fc.record({ kind, provider: fc.constantFrom('a', 'b') }).map((one) => problem(one.kind, one)),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 0, max: 15 }), found), { maxLength: 20 }), (rounds) => {
        const open = new Set<string>()
        let [at, reported]: [number, readonly Reported[]] = [0, []]
        const key = (one: { kind: string; provider?: string }) => `${one.kind} ${one.provider}`
        for (const [pause, problems] of rounds) {
          at += pause
          const unique = [...new Map(problems.map((one) => [key(one), one])).values()]
          const changes = changesOf(reported, unique, { kinds: [], now: minute(at) })
          reported = changes.reported
          for (const one of changes.ended) expect(open.delete(key(one)), key(one)).toBe(true)
          for (const one of changes.began) {
            // One that is only forgotten is reported again.
            if (!reported.some(({ problem }) => key(problem) === key(one))) throw new Error('a beginning is not kept')
            open.add(key(one))
          }
          expect(unique.filter((one) => !reported.some(({ problem }) => key(problem) === key(one)))).toEqual([])
        }
      }),
    )
  })
})
