import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { freeze, thaw } from '../../src/base/frozen-json.ts'
import {
  depthExceeds,
  elements,
  isCleanText,
  isIntegerText,
  isJson,
  type Json,
  kindOf,
  MAX_INT64,
  type MemberSpan,
  MIN_INT64,
  members,
  parseJson,
  print,
  RawJson,
  readInt,
  syntaxFault,
  walkMembers,
} from '../../src/base/json.ts'

/** Any JSON value, with bigints and verbatim texts in it. */
const anyJson = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.bigInt({ min: MIN_INT64, max: MAX_INT64 }),
    fc.string({ unit: 'binary' }),
    fc.jsonValue().map((value) => new RawJson(JSON.stringify(value))),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('$int', '$raw', '$object', 'toString')), tie('json'), {
      maxKeys: 3,
    }),
  ),
})).json

/** JSON text with the white space and the escapes that a client can send. */
const anyText = fc
  .tuple(fc.jsonValue(), fc.constantFrom(undefined, 1, '\t', '\r\n '))
  .map(([value, space]) => ({ value, text: JSON.stringify(value, null, space) }))

describe('print', () => {
  it('writes text that JSON.parse reads back, and integers exactly', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => void expect(JSON.parse(print(value as Json))).toEqual(JSON.parse(JSON.stringify(value))),
      ),
    )
    expect(print({ xp: MAX_INT64, gone: undefined, raw: new RawJson('{"a":1.0}') })).toBe(
      '{"xp":9223372036854775807,"raw":{"a":1.0}}',
    )
  })
})

describe('parseJson', () => {
  /** A text in which each name has only escapes. */
  const escaped = (value: unknown): string =>
    Array.isArray(value)
      ? `[${value.map(escaped).join(',')}]`
      : typeof value === 'object' && value !== null
        ? `{${Object.entries(value).map(([name, member]) => `${escapedName(name)} :${escaped(member)}`)}}`
        : JSON.stringify(value)

  it('returns each member by the name that was sent, with and without escapes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, isEscaped) => {
        const text = isEscaped ? escaped(value) : JSON.stringify(value)
        expect(print(parseJson(text) as Json)).toBe(print(value as Json))
      }),
    )
  })

  it.each([
    ['{"\\\\":0}', '{"\\u0061":0}', 'a'],
    ['{"\\\\":0}', '{"\\n":0}', '\n'],
    ['{"\\\\u":0}', '{"\\u0061b":0}', 'ab'],
    ['{"a\\\\":0}', '{"a\\"":0}', 'a"'],
  ])('after %s returns the name of %s', (before, text, name) => {
    parseJson(before)
    JSON.parse(before)
    expect(Object.keys(parseJson(text) as object)).toEqual([name])
    expect(Object.keys(parseJson(`[${before},${text}]`) as object[])).toEqual(['0', '1'])
    expect((parseJson(`[${before},${text}]`) as object[])[1]).toEqual({ [name]: 0 })
  })

  it('keeps the last of equal names at the place of the first, integers first, and a name that objects treat specially', () => {
    const text = '{"b":1,"\\u0061":[{"\\n":2}],"__proto__":{"x":1},"2":3,"b":4}'
    const read = parseJson(text) as object
    expect(Object.keys(read)).toEqual(['2', 'b', 'a', '__proto__'])
    expect(Object.values(read)).toEqual([3, 4, [{ '\n': 2 }], { x: 1 }])
  })

  it.each(['{"\\u0061":1,}', '{"\\x":1}', ''])('refuses %j', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  })

  it('reads a million nested arrays', () => {
    expect(parseJson(`{"\\n":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`)).toHaveProperty(['\n'])
  })
})

/** A name of which each character is an escape. */
const escapedName = (name: string): string =>
  `"${Array.from({ length: name.length }, (_, at) => `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`

describe('members and elements', () => {
  it('return the raw text of each part, with any white space and nesting', () => {
    fc.assert(
      fc.property(anyText, ({ value, text }) => {
        if (Array.isArray(value)) expect(elements(text).map(parseJson)).toEqual(parseJson(text))
        else if (typeof value === 'object' && value !== null) {
          const found = members(text)
          expect([...found.keys()].sort()).toEqual(Object.keys(value).sort())
          for (const [key, raw] of found)
            expect(parseJson(raw)).toEqual(parseJson(JSON.stringify((value as Record<string, unknown>)[key])))
        }
      }),
    )
  })

  it('agree with `parseJson` on duplicates, escaped keys and white space', () => {
    const anySpace = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 })
    const anyKey = fc.oneof(fc.constantFrom('a', 'b', '__proto__', '1', '"', ','), fc.string({ unit: 'binary' }))
    const anyMember = fc
      .record({ key: anyKey, isEscaped: fc.boolean(), value: anyText, before: anySpace, after: anySpace })
      .map(
        ({ key, isEscaped, value, before, after }) =>
          `${before}${isEscaped ? escapedName(key) : JSON.stringify(key)}${after}:${before}${value.text}${after}`,
      )
    fc.assert(
      fc.property(fc.array(anyMember, { maxLength: 6 }), anySpace, (parts, space) => {
        const text = `${space}{${parts.join(',')}${space}}${space}`
        const expected = new Map(Object.entries(parseJson(text) as object))
        const found = members(text)
        expect(new Map([...found].map(([key, raw]) => [key, parseJson(raw)]))).toEqual(expected)
        for (const raw of found.values()) expect(raw).toBe(raw.trim())
      }),
    )
  })

  it.each([
    ['the last duplicate', '{"a":1,"a":2}', { a: '2' }],
    ['a key that objects treat specially', '{"__proto__":{"x":1}}', { ['__proto__']: '{"x":1}' }],
    ['a key by its decoded name', '{"\\u0061\\"":1}', { 'a"': '1' }],
    [
      'numbers as they were written',
      '{"a":1.0,"b":1e3,"c":9007199254740993}',
      { a: '1.0', b: '1e3', c: '9007199254740993' },
    ],
    [
      'brackets and commas within strings',
      '{"a":"},]{\\"[,","b":[1,{"c":"}"}]}',
      { a: '"},]{\\"[,"', b: '[1,{"c":"}"}]' },
    ],
    ['no member of an empty object', ' { } ', {}],
  ])('keep %s', (_what, text, expected) => {
    expect(members(text)).toEqual(new Map(Object.entries(expected)))
  })
})

describe('a megabyte', () => {
  it.each([
    ['of elements', `[${'1,'.repeat(500_000)}1]`],
    ['of one string', `["${'\\"'.repeat(500_000)}"]`],
    ['of white space', `[${' '.repeat(1_000_000)}]`],
  ])('%s is read', (_what, text) => {
    expect(elements(text)).toHaveLength(JSON.parse(text).length)
    expect(depthExceeds(text, 1)).toBe(false)
  })

  it('of members is read', () => {
    const text = `{${Array.from({ length: 70_000 }, (_, index) => `"key${index}":${index}`).join(',')}}`
    expect(members(text).size).toBe(70_000)
  })
})

describe('isJson', () => {
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  const pieces =
    '{ } [ ] , : " "a" "\\" \\ 1 - 0 01 . 1.5 e E+ 1e5 true nul null false \\u \\u00e9 \u0001 \u00a0 \ufeff'.split(' ')

  it('accepts what JSON.parse accepts, and nothing else', () => {
    fc.assert(fc.property(anyText, ({ text }) => isJson(text)))
    const anything = fc.oneof(
      fc.array(fc.constantFrom(...pieces, ' ', '\n', '\t'), { maxLength: 12 }).map((parts) => parts.join('')),
      // Valid JSON with one character removed or replaced.
      fc
        .tuple(anyText, fc.nat(), fc.constantFrom('', ...pieces))
        .map(([{ text }, at, piece]) => text.slice(0, at % text.length) + piece + text.slice((at % text.length) + 1)),
    )
    fc.assert(
      fc.property(anything, (text) => {
        expect(isJson(text), JSON.stringify(text)).toBe(parses(text))
      }),
      { numRuns: 6_000 },
    )
  })

  it('checks texts of many megabytes in bounded memory', () => {
    const before = process.memoryUsage().heapUsed
    expect(isJson(`[${'[],'.repeat(5_000_000)}1]`)).toBe(true)
    expect(isJson('['.repeat(8_000_000) + ']'.repeat(8_000_000))).toBe(true)
    expect(isJson('['.repeat(8_000_000))).toBe(false)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(128 * 2 ** 20)
  })
})

describe('syntaxFault', () => {
  it.each([
    ['', 'line 1, column 1: there is no value'],
    [' \n', 'line 2, column 1: there is no value'],
    ['{"a":1', 'line 1, column 7: the text ends too early'],
    ['{"a":1}}', 'line 1, column 8: unexpected "}"'],
    ['{"a":1,}', 'line 1, column 8: unexpected "}"'],
    ["{'a':1}", 'line 1, column 2: unexpected "\'"'],
    ['{"a" 1}', 'line 1, column 6: unexpected "1"'],
    ['[1\r\n"b"]', 'line 2, column 1: unexpected quotation mark'],
    ['["🎮\n"]', 'line 1, column 4: unexpected U+000A'],
    ['[01]', 'line 1, column 3: unexpected "1"'],
    ['[1.]', 'line 1, column 4: unexpected "]"'],
    ['["\\x"]', 'line 1, column 4: unexpected "x"'],
    ['{"a":NaN}', 'line 1, column 6: unexpected "N"'],
    ['\ufeff{}', 'line 1, column 1: the text begins with a byte order mark (U+FEFF), which JSON does not allow'],
    ['{\u00a0}', 'line 1, column 2: unexpected U+00A0'],
    ['[1] /* end */', 'line 1, column 5: unexpected "/"'],
  ])('names the first place where %j is not JSON', (text, fault) => {
    expect(syntaxFault(text)).toBe(fault)
  })

  it('is undefined for JSON, and for nothing else', () => {
    fc.assert(fc.property(anyText, ({ text }) => syntaxFault(text) === undefined))
    fc.assert(fc.property(fc.string(), (text) => isJson(text) === (syntaxFault(text) === undefined)))
  })
})

describe('walkMembers', () => {
  const shown = (text: string, depth: number) => {
    const found: [string | undefined, string, string][] = []
    const keyIn = ({ keyFrom, keyTo }: MemberSpan): string => JSON.parse(text.slice(keyFrom, keyTo))
    const result = walkMembers(text, depth, (member) => {
      const parent = member.parent && keyIn(member.parent)
      found.push([parent, keyIn(member), text.slice(member.valueFrom, member.valueTo)])
      return true
    })
    expect(result).toBe(true)
    return found
  }

  it('visits the members that `members` returns, of the object and of the objects in it', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), anyText), (object) => {
        const text = ` {${Object.entries(object)
          .map(([key, value]) => `${JSON.stringify(key)} : ${value.text} `)
          .join(',')}}`
        const outer = shown(text, 1)
        expect(new Map(outer.map(([, key, raw]) => [key, raw]))).toEqual(members(text))
        for (const [, key, raw] of outer) {
          const inner = shown(text, 2).filter(([parent]) => parent === key)
          const isObject = kindOf(raw) === 'object'
          expect(new Map(inner.map(([, name, value]) => [name, value]))).toEqual(isObject ? members(raw) : new Map())
        }
      }),
    )
  })

  it('gives no parent within an array, and visits a member after the members in it', () => {
    expect(shown('[{"a":1},{"b":{}}]', 2)).toEqual([
      [undefined, 'a', '1'],
      [undefined, 'b', '{}'],
    ])
    expect(shown('{"a":{"b":{"c":1},"d":[{"e":2}]},"f":[]}', 2)).toEqual([
      ['a', 'b', '{"c":1}'],
      ['a', 'd', '[{"e":2}]'],
      [undefined, 'a', '{"b":{"c":1},"d":[{"e":2}]}'],
      [undefined, 'f', '[]'],
    ])
  })

  it('stops when the visitor returns false, and does not read the rest', () => {
    let seen = 0
    const visit = () => {
      seen += 1
      return seen < 2
    }
    expect(walkMembers('{"a":1,"b":2 no JSON', 1, visit)).toBe(true)
    expect(walkMembers('{"a":1,"b":2 no JSON', 0, visit)).toBe(false)
    expect(seen).toBe(2)
  })
})

describe('readInt', () => {
  it.each([
    ['9223372036854775807', MAX_INT64],
    ['-9223372036854775808', MIN_INT64],
    ['9223372036854775808', MAX_INT64 + 1n],
    ['-9223372036854775809', MIN_INT64 - 1n],
    ['9007199254740993', 9007199254740993n],
    ['0', 0n],
    ['-0', 0n],
    ['1.0', undefined],
    ['1e3', undefined],
    ['"10"', undefined],
    ['01', undefined],
    ['', undefined],
    ['true', undefined],
  ])('reads %s as %s', (text, expected) => {
    expect(readInt(text)).toBe(expected)
    expect(isIntegerText(text)).toBe(expected !== undefined)
  })
})

describe('depthExceeds', () => {
  it.each([
    ['1', 0, false],
    ['[]', 0, true],
    ['[]', 1, false],
    ['"[[[["', 0, false],
    ['{"a":{"b":[1]}}', 3, false],
    ['{"a":{"b":[1]}}', 2, true],
    ['['.repeat(100_000), 64, true],
  ])('of %s and %s is %s', (text, limit, expected) => {
    expect(depthExceeds(text, limit)).toBe(expected)
  })
})

describe('freeze and thaw', () => {
  it('return an equal value', () => {
    fc.assert(fc.property(anyJson, (value) => void expect(thaw(freeze(value))).toEqual(value)))
  })

  it.each<[string, Json, Json]>([
    ['an object that looks like an integer', { $int: '5' }, { $int: '5' }],
    [
      'an object that looks like an integer once undefined members are left out',
      { $int: 'x', gone: undefined },
      { $int: 'x' },
    ],
    ['an object that looks wrapped', { $object: { $raw: 5n } }, { $object: { $raw: 5n } }],
    ['a member named __proto__', JSON.parse('{"__proto__":{"$int":"5"}}'), JSON.parse('{"__proto__":{"$int":"5"}}')],
  ])('return %s unchanged', (_what, value, expected) => {
    expect(thaw(freeze(value))).toEqual(expected)
  })
})

describe('isCleanText', () => {
  it.each([
    ['plain', true],
    ['😀', true],
    ['a\0', false],
    ['\ud800', false],
    ['\udc00a', false],
  ])('of %j is %s', (text, expected) => {
    expect(isCleanText(text)).toBe(expected)
  })
})
