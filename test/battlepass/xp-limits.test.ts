import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { decideXp, newPass, type Pass } from '../../src/game/battlepass/decide.ts'
import type { XpOrigin } from '../../src/game/battlepass/xp-limits.ts'
import type { PassNode } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { passNode, scenario } from '../harness/definitions.ts'

const NOON = Date.UTC(2026, 10, 25, 12)
const HOUR = 3_600_000

function passWith(xp: Json | undefined): PassNode {
  const text = print(scenario([passNode('pass', { more: xp === undefined ? {} : { xp } })], []))
  const parsed = parseDefinition(text)
  const node = parsed.ok ? parsed.definition.nodes.get('pass') : undefined
  if (node?.type !== 'battle-pass') throw new Error(`not a pass: ${JSON.stringify(parsed)}`)
  return node
}

/** Sends xp one call after another. Each call is `amount source`, its origin, and its hours after noon. */
function send(node: PassNode, calls: readonly (readonly [bigint, string, XpOrigin?, number?])[]) {
  let pass = newPass(node)
  return calls.map(([amount, source, origin = 'client', hours = 0]) => {
    const decision = decideXp(node, pass, { amount, source, origin }, new Date(NOON + hours * HOUR))
    if ('next' in decision) pass = decision.next
    if (decision.kind === 'refused') return decision.reason
    return decision.limited ? `${decision.granted} ${decision.limited.by}` : decision.granted
  })
}

describe('xp by the rules of a pass', () => {
  it('is any xp of any caller without rules', () => {
    expect(
      send(passWith(undefined), [
        [9n, 'x'],
        [9n, 'y', 'server'],
      ]),
    ).toEqual([9n, 9n])
  })

  it('is refused to clients where servers give it, and unlisted sources to all where others are off', () => {
    const sources = { match: { from: 'server' }, tutorial: { from: 'client' } }
    const open = passWith({ sources })
    const closed = passWith({ from: 'server', others: false, sources })
    const calls = [
      [1n, 'match'],
      [1n, 'match', 'server'],
      [1n, 'tutorial'],
      [1n, 'tutorial', 'server'],
      [1n, 'other'],
      [1n, 'other', 'server'],
      [1n, 'other', 'operator'],
    ] as const
    expect(send(open, calls)).toEqual(['xpNotAllowed', 1n, 1n, 1n, 1n, 1n, 1n])
    expect(send(closed, calls)).toEqual(['xpNotAllowed', 1n, 1n, 1n, 'xpNotAllowed', 'xpNotAllowed', 1n])
    expect(send(passWith({ from: 'server' }), calls)).toEqual([
      'xpNotAllowed',
      1n,
      'xpNotAllowed',
      1n,
      'xpNotAllowed',
      1n,
      1n,
    ])
  })

  it.each([
    [
      'max',
      [
        [5n, 'a'],
        [11n, 'a'],
        [11n, 'a', 'server'],
        [11n, 'a', 'operator'],
        [11n, 'b'],
      ],
      [5n, '10 source.max', '10 source.max', 11n, 11n],
    ],
    [
      'perDay',
      [
        [6n, 'a'],
        [6n, 'a', 'server'],
        [6n, 'a'],
        [6n, 'b'],
        [6n, 'a', 'client', 12],
        [6n, 'a', 'client', 12],
      ],
      [6n, '4 source.perDay', '0 source.perDay', 6n, 6n, '4 source.perDay'],
    ],
    // The week ends 108 hours after Wednesday noon.
    [
      'perWeek',
      [
        [6n, 'a'],
        [6n, 'a', 'client', 107],
        [6n, 'a', 'client', 108],
      ],
      [6n, '4 source.perWeek', 6n],
    ],
    [
      'perSeason',
      [
        [6n, 'a'],
        [6n, 'a', 'client', 1000],
        [6n, 'a', 'client', 9000],
      ],
      [6n, '4 source.perSeason', '0 source.perSeason'],
    ],
  ] as const)('is clipped at %s of a source', (limit, calls, granted) => {
    expect(send(passWith({ sources: { a: { [limit]: 10 } } }), calls)).toEqual(granted)
  })

  it.each(['max', 'perDay', 'perWeek', 'perSeason'] as const)('counts all sources towards %s of the pass', (limit) => {
    const granted = send(passWith({ [limit]: 10, sources: { a: { perDay: 8 } } }), [
      [9n, 'a'],
      [9n, ''],
      [9n, 'x', 'server'],
    ])
    const left = limit === 'max' ? [9n, 9n] : [`2 pass.${limit}`, `0 pass.${limit}`]
    expect(granted).toEqual(['8 source.perDay', ...left])
  })

  it('is refused as a whole over a limit with `refuse`, and counts nothing', () => {
    const node = passWith({ over: 'refuse', sources: { a: { perDay: 10 } } })
    expect(
      send(node, [
        [6n, 'a'],
        [6n, 'a'],
        [4n, 'a'],
        [1n, 'a'],
      ]),
    ).toEqual([6n, 'xpLimitReached', 4n, 'xpLimitReached'])
  })

  it('is told of once for each source and day, and unlisted sources count as one', () => {
    const node = passWith({ perDay: 1, sources: { a: {}, b: {} } })
    let pass: Pass = newPass(node)
    const isFirst = (source: string, hours: number) => {
      const decision = decideXp(node, pass, { amount: 5n, source, origin: 'client' }, new Date(NOON + hours * HOUR))
      if (decision.kind !== 'added') throw new Error(decision.reason)
      pass = decision.next
      return decision.limited?.isFirst
    }
    expect(['a', 'a', 'b', 'x', 'y', 'a'].map((source) => isFirst(source, 0))).toEqual([
      true,
      false,
      true,
      true,
      false,
      false,
    ])
    expect(['a', 'a', 'y'].map((source) => isFirst(source, 24))).toEqual([true, false, true])
  })

  it('takes no more than 0 after an edit lowers a limit below what was granted, and its counts outlive an edit', () => {
    const [before, lowered, raised] = [10, 3, 12].map((perDay) => passWith({ sources: { a: { perDay } } }))
    let pass = newPass(before as PassNode)
    const granted = [before, lowered, raised].map((node) => {
      const decision = decideXp(node as PassNode, pass, { amount: 9n, source: 'a', origin: 'client' }, new Date(NOON))
      if (decision.kind !== 'added') throw new Error(decision.reason)
      pass = decision.next
      return decision.granted
    })
    expect(granted).toEqual([9n, 0n, 3n])
  })

  it('gives no day twice to a clock that is an hour behind, or after an edit of the time zone', () => {
    const rules = (timeZone: string) => passWith({ perDay: 10, timeZone })
    let pass = newPass(rules('UTC'))
    const grant = (timeZone: string, hours: number) => {
      const decision = decideXp(
        rules(timeZone),
        pass,
        { amount: 10n, source: '', origin: 'client' },
        new Date(NOON + hours * HOUR),
      )
      if (decision.kind !== 'added') throw new Error(decision.reason)
      pass = decision.next
      return decision.granted
    }
    expect([grant('UTC', 12), grant('UTC', 11), grant('America/New_York', 12), grant('Asia/Tokyo', 12)]).toEqual([
      10n,
      0n,
      0n,
      0n,
    ])
  })

  it('never exceeds any limit by any calls of clients and servers, and grants all that the limits leave', () => {
    const limit = fc.option(fc.bigInt(0n, 40n), { nil: null })
    const limits = { max: limit, perDay: limit, perWeek: limit, perSeason: limit }
    const source = fc.record({ from: fc.constantFrom('client', 'server'), ...limits })
    const rules = fc.record({
      from: fc.constantFrom('client', 'server'),
      others: fc.boolean(),
      over: fc.constantFrom('clip', 'refuse'),
      sources: fc.record({ a: source, b: source }),
      ...limits,
    })
    const call = fc.record({
      amount: fc.bigInt(1n, 30n),
      source: fc.constantFrom('a', 'b', 'x', ''),
      origin: fc.constantFrom<XpOrigin>('client', 'server'),
      hours: fc.nat(30),
    })
    fc.assert(
      fc.property(rules, fc.array(call, { maxLength: 40 }), (rules, calls) => {
        const node = passWith(rules as unknown as Json)
        let pass = newPass(node)
        let now = NOON
        const granted: { source: string; amount: bigint; day: number; week: number }[] = []
        for (const { amount, source, origin, hours } of calls) {
          now += hours * HOUR
          const day = Math.floor(now / (24 * HOUR))
          const week = Math.floor((day + 3) / 7)
          const rule = source === 'a' || source === 'b' ? rules.sources[source] : undefined
          const sum = (of: readonly { amount: bigint }[]) => of.reduce((total, one) => total + one.amount, 0n)
          const left = (limits: typeof rules | NonNullable<typeof rule>, past: typeof granted): bigint[] =>
            [
              limits.max,
              limits.perDay === null ? null : limits.perDay - sum(past.filter((one) => one.day === day)),
              limits.perWeek === null ? null : limits.perWeek - sum(past.filter((one) => one.week === week)),
              limits.perSeason === null ? null : limits.perSeason - sum(past),
            ].filter((one) => one !== null)
          const most = [
            amount,
            ...left(rules, granted),
            ...(rule
              ? left(
                  rule,
                  granted.filter((one) => one.source === source),
                )
              : []),
          ].sort((one, two) => (one < two ? -1 : 1))[0] as bigint
          const mayCall = (rule || rules.others) && (origin === 'server' || (rule ?? rules).from === 'client')

          const decision = decideXp(node, pass, { amount, source, origin }, new Date(now))
          if (!mayCall) expect(decision).toMatchObject({ kind: 'refused', reason: 'xpNotAllowed' })
          else if (most < amount && rules.over === 'refuse')
            expect(decision).toMatchObject({ kind: 'refused', reason: 'xpLimitReached' })
          else {
            expect(decision).toMatchObject({ kind: 'added', granted: most })
            granted.push({ source, amount: most, day, week })
          }
          if ('next' in decision) pass = decision.next
          expect(pass.xp).toBe(sum(granted))
        }
      }),
    )
  })
})
