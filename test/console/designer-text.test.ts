import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  applyChanges,
  changeBetween,
  formatJson,
  insertValues,
  RawText,
  removeItems,
  setMember,
} from '../../console/src/designer/text/json-edit.ts'
import { findNode, printPath, readPath } from '../../console/src/designer/text/json-path.ts'
import { canonical, type JsonNode, parseJson } from '../../console/src/designer/text/json-tree.ts'

/** Any JSON, as text in any layout, with members that the service does not know and numbers beyond 2^53. */
const anyText = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 1, 2, '\t'), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }))
  .map(([text, indent, big]) => {
    const value = { first: big.toString(), any: JSON.parse(text), list: [1, { a: [] }, 'x'], last: null }
    return JSON.stringify(value, null, indent).replace(`"${big}"`, String(big))
  })

const rootOf = (text: string): JsonNode => {
  const { root, fault } = parseJson(text)
  if (fault) throw new Error(`${fault.message} at ${fault.at} of ${text}`)
  return root
}

describe('the syntax tree of a JSON text', () => {
  it('accepts what JSON.parse accepts, and refuses the rest', () => {
    const broken = fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom('', '"', ',', '{', ']', ':', '1', '\\', 'e', ' '))
      .map(
        ([text, at, char]) => text.slice(0, at % (text.length + 1)) + char + text.slice((at % (text.length + 1)) + 1),
      )
    fc.assert(
      fc.property(fc.oneof(fc.json(), broken), (text) => {
        const isJson = (() => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        expect(parseJson(text).root !== undefined).toBe(isJson)
      }),
      { numRuns: 2_000 },
    )
  })

  it('has the range of each value in the text, and numbers as they are written', () => {
    const check = (text: string, node: JsonNode): void => {
      const slice = text.slice(node.from, node.to)
      if (node.kind !== 'object' && node.kind !== 'array') expect(node.raw).toBe(slice)
      expect(canonical(rootOf(slice))).toBe(canonical(node))
      if (node.kind === 'array') for (const item of node.items) check(text, item)
      if (node.kind === 'object') for (const { value } of node.items) check(text, value)
    }
    fc.assert(fc.property(anyText, (text) => check(text, rootOf(text))))
  })

  it('finds a value by its path, which it can print again', () => {
    const text = '{ "nodes": [ { "id": "a" }, { "data": { "levels": [ { "xp": 9007199254740993 } ] } } ] }'
    const path = readPath('nodes[1].data.levels[0].xp')
    expect(findNode(rootOf(text), path)).toMatchObject({ kind: 'number', raw: '9007199254740993' })
    expect(printPath(path)).toBe('nodes[1].data.levels[0].xp')
    const quoted = 'nodes[1].data.xp.sources["a.b \\"c\\" [0]"].max'
    expect(readPath(quoted)).toEqual(['nodes', 1, 'data', 'xp', 'sources', 'a.b "c" [0]', 'max'])
    expect(printPath(readPath(quoted))).toBe(quoted)
  })

  it('reports a fault with its place', () => {
    expect(parseJson('{ "a": 1, }').fault).toEqual({ at: 8, message: 'There is a comma, and nothing behind it.' })
    expect(parseJson('{ "a" 1 }').fault?.at).toBe(6)
    expect(parseJson('[1').fault?.message).toBe('The text ends too early.')
    expect(parseJson('['.repeat(65) + ']'.repeat(65)).fault?.message).toContain('deeper than 64')
  })
})

describe('an edit of the tree', () => {
  /** Removes the range of a change from both texts: what is left must be equal, byte for byte. */
  function expectOnly(before: string, after: string, from: number, to: number): void {
    expect(after.startsWith(before.slice(0, from))).toBe(true)
    expect(after.endsWith(before.slice(to))).toBe(true)
  }

  it('that sets a value changes nothing else, byte for byte', () => {
    fc.assert(
      fc.property(
        anyText,
        fc.constantFrom('first', 'any', 'list', 'last'),
        fc.bigInt({ min: 0n }),
        (text, name, value) => {
          const root = rootOf(text)
          if (root.kind !== 'object') throw new Error('no object')
          const change = setMember(text, root, name, value)
          const after = applyChanges(text, [change])
          expectOnly(text, after, change.from, change.to)
          const now = rootOf(after)
          expect(canonical(findNode(now, [name]) as JsonNode)).toBe(String(value))
          for (const other of ['first', 'any', 'list', 'last'].filter((one) => one !== name))
            expect(canonical(findNode(now, [other]) as JsonNode)).toBe(canonical(findNode(root, [other]) as JsonNode))
        },
      ),
    )
  })

  it('that adds an entry and one that removes it again leave the text as it was', () => {
    fc.assert(
      fc.property(anyText, fc.nat(3), fc.string(), (text, index, added) => {
        const list = findNode(rootOf(text), ['list'])
        if (list?.kind !== 'array') throw new Error('no list')
        const after = applyChanges(text, [insertValues(text, list, index, [added])])
        const longer = findNode(rootOf(after), ['list'])
        if (longer?.kind !== 'array') throw new Error('no list')
        expect(JSON.parse(after).list[index]).toBe(added)
        expect(longer.items.length).toBe(4)
        expect(applyChanges(after, removeItems(longer, new Set([index])))).toBe(text)
      }),
    )
  })

  it('removes any set of entries, and leaves valid JSON with the rest', () => {
    fc.assert(
      fc.property(
        fc.array(fc.json({ maxDepth: 1 })),
        fc.array(fc.nat(10)),
        fc.constantFrom(0, 2),
        (items, gone, indent) => {
          const values = items.map((item) => JSON.parse(item))
          const text = JSON.stringify(values, null, indent)
          const list = rootOf(text)
          if (list.kind !== 'array') throw new Error('no list')
          const after = applyChanges(text, removeItems(list, new Set(gone)))
          expect(JSON.parse(after)).toEqual(JSON.parse(JSON.stringify(values.filter((_, at) => !gone.includes(at)))))
        },
      ),
    )
  })

  it('writes new values in the style of their neighbours', () => {
    const set = (text: string) => {
      const root = rootOf(text)
      return root.kind === 'object'
        ? applyChanges(text, [setMember(text, root, 'b', [{ c: new RawText('1.50') }])])
        : ''
    }
    expect(set('{"a":1}')).toBe('{"a":1,"b":[{"c":1.50}]}')
    expect(set('{ "a": 1 }')).toBe('{ "a": 1, "b": [{ "c": 1.50 }] }')
    expect(set('{\n  "a": 1\n}')).toBe('{\n  "a": 1,\n  "b": [{ "c": 1.50 }]\n}')
    expect(set('{}')).toBe('{"b":[{"c":1.50}]}')
  })

  it('formats a text without changing a value, a number or the order of members, and is idempotent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const once = formatJson(text, rootOf(text))
        expect(canonical(rootOf(once))).toBe(canonical(rootOf(text)))
        expect(formatJson(once, rootOf(once))).toBe(once)
      }),
    )
    expect(
      formatJson(
        '{"a":9007199254740993,"a":1.0,"b":"\\u00e9"}',
        rootOf('{"a":9007199254740993,"a":1.0,"b":"\\u00e9"}'),
      ),
    ).toBe('{\n  "a": 9007199254740993,\n  "a": 1.0,\n  "b": "\\u00e9"\n}\n')
  })

  it('turns one text into another by replacing one range', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (head, one, two, tail) => {
        const [before, after] = [head + one + tail, head + two + tail]
        expect(applyChanges(before, [changeBetween(before, after)])).toBe(after)
      }),
    )
  })
})
