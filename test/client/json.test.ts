import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readAs } from '../../src/client/answers.ts'
import { membersOf, parseExact, printExact } from '../../src/client/json.ts'

// The library's JSON: integers of 64 bits are exact on every engine (contract 2.2).

const member = fc.oneof(
  fc.string(),
  fc.boolean(),
  fc.constant(null),
  fc.maxSafeInteger(),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value) => !/^-?\d{16,}$/.test(String(value)) || Number.isSafeInteger(value))
    .map((value) => (Object.is(value, -0) ? 0 : value)),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
  // Texts that look like the markers that the library uses.
  fc.constantFrom('int:0:', '12345678901234567890', '"', '\\"', '\\', '{"a":1}', '],[', '\u2028'),
)
const value = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    member,
    fc.array(tie('value')),
    fc.dictionary(fc.string(), tie('value')),
  ),
})).value

describe('JSON', () => {
  it('is read back as it was printed, for any value', () => {
    fc.assert(
      fc.property(value, (original) => {
        expect(parseExact(printExact(original))).toEqual(original)
      }),
    )
  })

  it('without long integers is read as it was printed by the engine', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (original) => {
        const text = JSON.stringify(original)
        if (!/\d{16}/.test(text)) expect(JSON.stringify(parseExact(text))).toBe(text)
      }),
    )
  })

  it.each([
    ['{"\\\\":0}', '{"\\u0061":0}', 'a'],
    ['{"a\\\\":0}', '{"a\\n":9007199254740993}', 'a\n'],
  ])('after %s returns the name of %s', (before, text, name) => {
    JSON.parse(before)
    expect(Object.keys(parseExact(text) as object)).toEqual([name])
  })

  it.each([
    ['9007199254740991', 9_007_199_254_740_991],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['[1234567890123456.5,1e400000000000000001]', [1_234_567_890_123_456.5, Number.POSITIVE_INFINITY]],
    [
      '{"id":"12345678901234567890","n":12345678901234567890}',
      { id: '12345678901234567890', n: 12345678901234567890n },
    ],
    ['"a \\"9007199254740993\\" b"', 'a "9007199254740993" b'],
  ])('reads %s', (text, expected) => {
    expect(parseExact(text)).toEqual(expected)
  })

  it.each(['', '{', '[1,]', '{"a":01}', '12345678901234567890x', '{"a":9007199254740993', "{'a':1}"])(
    'refuses %j',
    (text) => {
      expect(() => parseExact(text)).toThrow(SyntaxError)
    },
  )

  it('is not printed when numbers would arrive as others: each is named', () => {
    const own = { player: 'ada', id: 2 ** 60, list: [1, { deep: -(2 ** 53) }], none: Number.NaN, far: -Infinity }
    expect(() => printExact(own)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: [
          { path: 'id', message: 'must be a safe integer or a bigint' },
          { path: 'list[1].deep', message: 'must be a safe integer or a bigint' },
          { path: 'none', message: 'must be a finite number' },
          { path: 'far', message: 'must be a finite number' },
        ],
      }),
    )
    const exact = [2 ** 53 - 1, -(2 ** 53 - 1), 0.1, 1e21, 1.5e300, 2n ** 60n]
    expect(parseExact(printExact(exact))).toEqual(exact)
  })

  it('gives the original text of each member of an object', () => {
    const values = fc.dictionary(
      fc.string(),
      fc.tuple(fc.jsonValue(), fc.constantFrom(0, 1, 3)).map(([one, indent]) => JSON.stringify(one, null, indent)),
    )
    fc.assert(
      fc.property(values, fc.constantFrom('', ' ', '\n\t'), (members, space) => {
        const texts = Object.entries(members).map(
          ([name, text]) => `${space}${JSON.stringify(name)}${space}:${space}${text}${space}`,
        )
        expect(membersOf(`{${texts.join(',')}}`)).toEqual(Object.entries(members))
      }),
    )
  })
})

describe('an answer', () => {
  const shape = {
    members: {
      xp: 'int64',
      level: 'integer',
      plan: { orNull: { members: { granted: { list: { members: { amount: 'int64' } } } } } },
      price: { ifPresent: { members: { amount: 'int64' } } },
      data: 'object',
    },
  } as const
  const answer = { xp: 1, level: 2, plan: { granted: [{ amount: 3, itemId: null }] }, data: {}, more: true }

  it('has a bigint at each place of a 64-bit integer, also for small values, and keeps other members', () => {
    expect(readAs(shape, answer)).toEqual({ ...answer, xp: 1n, plan: { granted: [{ amount: 3n, itemId: null }] } })
    const other = { ...answer, xp: '9223372036854775807', plan: null, price: { amount: -1 } }
    expect(readAs(shape, other)).toEqual({ ...other, xp: 2n ** 63n - 1n, price: { amount: -1n } })
  })

  it.each([
    ['it', null],
    ['it', [answer]],
    ['it', 'maintenance'],
    ['xp', { ...answer, xp: undefined }],
    ['xp', { ...answer, xp: 1.5 }],
    ['xp', { ...answer, xp: '' }],
    ['level', { ...answer, level: '2' }],
    ['level', { ...answer, level: null }],
    ['plan', { ...answer, plan: undefined }],
    ['plan.granted', { ...answer, plan: {} }],
    ['plan.granted', { ...answer, plan: { granted: {} } }],
    ['plan.granted[0].amount', { ...answer, plan: { granted: [{ amount: null }] } }],
    ['price.amount', { ...answer, price: {} }],
    ['data', { ...answer, data: [] }],
  ])('of another shape is refused with the first place: %s', (place, value) => {
    expect(() => readAs(shape, value)).toThrow(
      expect.objectContaining({
        code: 'invalid_answer',
        retryable: true,
        message: `the answer did not come from the service: ${place} is not as expected`,
      }),
    )
  })
})
