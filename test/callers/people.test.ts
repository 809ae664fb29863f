import { describe, expect, it } from 'vitest'
import { isAnother, type Maker, makerOf } from '../../src/audit/people.ts'
import type { PlatformCaller } from '../../src/callers/callers.ts'

// Who counts as a second person.

const caller = (
  keyId: string,
  name?: string,
  { person, isClaimed = false }: { person?: string; isClaimed?: boolean } = {},
) =>
  ({
    ...{ kind: 'platform', keyId, projectId: 'p', role: 'admin' },
    ...(name !== undefined && { operator: { name, isClaimed, ...(person !== undefined && { person }) } }),
  }) as const satisfies PlatformCaller

describe('a second person', () => {
  it.each<[what: string, first: PlatformCaller, second: PlatformCaller, isAnother: boolean]>([
    ['another name of a token', caller('k', 'Ada'), caller('k', 'Bob'), true],
    ['the same name in another case', caller('k', 'carol'), caller('k', 'Carol'), false],
    ['the same name in another case, of another key', caller('k', 'carol'), caller('l', 'CAROL'), false],
    ['the same name with an invisible character', caller('k', 'carol'), caller('k', 'ca\u200brol'), false],
    ['the same name with a mark of direction', caller('k', 'carol'), caller('k', '\u202ecarol'), false],
    ['the same name with other spaces', caller('k', 'Ada L'), caller('k', 'Ada\u00a0 L '), false],
    ['the same name in wide letters', caller('k', 'carol'), caller('k', '\uff23arol'), false],
    [
      'the same name in other code points',
      caller('k', 'Zo\u00eb Stra\u00dfe'),
      caller('k', 'Zoe\u0308 STRASSE'),
      false,
    ],
    [
      'the same person under another name',
      caller('k', 'Ada', { person: '1' }),
      caller('l', 'Bob', { person: '1' }),
      false,
    ],
    ['another person of the same name', caller('k', 'Ada', { person: '1' }), caller('k', 'Ada', { person: '2' }), true],
    ['a token with the name of a person', caller('k', 'Ada', { person: '1' }), caller('l', 'ada'), false],
    ['a claimed name of the same key', caller('k', 'Ada'), caller('k', 'Bob', { isClaimed: true }), false],
    ['another key', caller('k'), caller('l'), true],
    ['the same key', caller('k'), caller('k'), false],
  ])('is not the first one: %s', (_what, first, second, expected) => {
    expect(isAnother(second, makerOf(first))).toBe(expected)
    expect(isAnother(first, makerOf(second))).toBe(expected)
  })

  it('is told from an author of a record that has no person', () => {
    const { operatorPerson: _, ...older } = makerOf(caller('k', 'Ada', { person: '1' })) as Maker
    expect(isAnother(caller('l', 'ADA', { person: '1' }), older)).toBe(false)
    expect(isAnother(caller('l', 'Bob', { person: '2' }), older)).toBe(true)
  })
})
