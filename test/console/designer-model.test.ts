import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { changeText, historyOf, redo, undo } from '../../console/src/designer/draft/history.ts'
import { layOut } from '../../console/src/designer/graph/layout.ts'
import { momentText, momentValue } from '../../console/src/designer/graph/moments.ts'
import { membersAt, type Schema, valuesAt } from '../../console/src/designer/json/schema.ts'
import { conversionsText, readConversions } from '../../console/src/designer/model/conversions.ts'
import {
  type Definition,
  readDefinition,
  rewardsOf,
  serverHandlesOf,
  whyNoEdge,
} from '../../console/src/designer/model/definition.ts'
import {
  addEdge,
  addNode,
  inTurn,
  removeNode,
  renameMember,
  renameNode,
  setCrossedBy,
  setType,
  setValue,
} from '../../console/src/designer/model/edits.ts'
import { NODE_KINDS } from '../../console/src/designer/model/forms.ts'
import { mergeDefinitions } from '../../console/src/designer/model/merge.ts'
import { setRewards } from '../../console/src/designer/model/node-rewards.ts'
import {
  addLevels,
  COLUMNS,
  nextCells,
  removeLevels,
  rowsOf,
  setCell,
  setRows,
} from '../../console/src/designer/model/pass-table.ts'
import { changeRewards, readRewards, rewardsText } from '../../console/src/designer/model/rewards.ts'
import { totalsOf } from '../../console/src/designer/model/totals.ts'
import { describeChanges, placeText } from '../../console/src/designer/model/words.ts'
import { hintsOf } from '../../console/src/designer/problems/hints.ts'
import { noticesOf, problemsOf, syntaxProblem } from '../../console/src/designer/problems/problems.ts'
import { replaySentences } from '../../console/src/designer/review/what-if-words.ts'
import { pasteAt } from '../../console/src/designer/table/paste.ts'
import { readCsv } from '../../console/src/designer/table/spreadsheet.ts'
import { copyOf, textOfTemplate } from '../../console/src/designer/templates.ts'
import { applyChanges, formatJson, RawText } from '../../console/src/designer/text/json-edit.ts'
import { readPath } from '../../console/src/designer/text/json-path.ts'
import { parseJson, valueAt } from '../../console/src/designer/text/json-tree.ts'
import { readDefinition as readPasses } from '../../console/src/scenario/read-definition.ts'
import { readCells, toCsv } from '../../console/src/ui/csv.ts'
import { demoSeason } from '../../src/dev/season.ts'
import type { ServiceType } from '../../src/game/definition/handles.ts'
import { validateDefinition } from '../../src/game/definition/parse.ts'
import { definitionSchema } from '../../src/game/definition/schema.ts'

/** A definition with custom members, a number beyond 2^53 and a custom layout. */
const TEXT = `{
  "name": "Summer", "start": "start", "editor": { "zoom": 1.50, "big": 9007199254740993 },
  "nodes": [
    { "id": "start", "type": "start" },
    { "id": "pass", "type": "battle-pass", "data": {
      "levels": [
        { "level": 1, "xp": 0 },
        { "level": 2,   "xp": 100, "label": "two" },
        { "level": 3, "xp": 9007199254740993 }
      ],
      "tiers": [
        { "level": 2, "track": "free", "rewards": [{ "currency": "gold", "amount": 50, "icon": "coin" }] },
        { "level": 3, "track": "premium", "rewards": [{ "itemId": "board", "amount": 1 }] }
      ],
      "premium": { "price": { "currency": "gems", "amount": 950 } }
    } },
    { "id": "two", "type": "battle-pass-level", "data": { "levelNumber": "2", "passNodeId": "pass" } },
    { "id": "r1", "type": "reward", "data": { "rewards": [{ "currency": "gold", "amount": 5 }] } },
    { "id": "r2", "type": "reward", "data": { "rewards": [{ "currency": "gold", "amount": 5 }] } },
    { "id": "hello", "type": "popup", "data": { "title": "Hello", "sizes": [1.0, 2e3] } }
  ],
  "edges": [
    { "from": "start", "handle": "onStart", "to": "pass" },
    { "from": "r1", "handle": "onComplete", "to": "r2" },
    { "from": "hello", "handle": "closed", "to": "r1" }
  ]
}`

function read(text: string): Definition {
  const { definition, fault } = readDefinition(text)
  if (!definition) throw new Error(`${fault?.message} at ${fault?.at}: ${text}`)
  return definition
}

const passOf = (definition: Definition) => {
  const pass = definition.byId.get('pass')
  if (!pass) throw new Error('there is no pass')
  return pass
}

const table = (text: string) =>
  rowsOf(read(text), passOf(read(text))).map(({ cells }) => COLUMNS.map((one) => cells[one]))

function rowAt(text: string, level: string) {
  const row = rowsOf(read(text), passOf(read(text))).find(({ cells }) => cells.level === level)
  if (!row) throw new Error(`there is no level ${level}`)
  return row
}

const set = (text: string, level: string, column: 'level' | 'xp' | 'free' | 'premium', cell: string): string =>
  setCell(passOf(read(text)), rowAt(text, level), column, cell)(read(text))

describe('the table of a pass', () => {
  it('has a row for each level, with exact numbers', () => {
    expect(validateDefinition(TEXT).faults).toEqual([])
    expect(table(TEXT)).toEqual([
      ['1', '0', '', ''],
      ['2', '100', '50 gold', ''],
      ['3', '9007199254740993', '', '1 item:board'],
    ])
  })

  it('changes only one value of the text for one cell', () => {
    expect(set(TEXT, '2', 'xp', '150')).toBe(TEXT.replace('"xp": 100,', '"xp": 150,'))
    expect(set(TEXT, '3', 'xp', '9223372036854775807')).toBe(
      TEXT.replace('"xp": 9007199254740993 }', '"xp": 9223372036854775807 }'),
    )
    expect(set(TEXT, '2', 'free', '60 gold')).toBe(TEXT.replace('"amount": 50,', '"amount": 60,'))
    expect(set(TEXT, '2', 'free', '50 gold, 1 item:hat')).toBe(
      TEXT.replace('"icon": "coin" }]', '"icon": "coin" }, { "itemId": "hat", "amount": 1 }]'),
    )
    expect(set(TEXT, '2', 'free', '')).toBe(TEXT.replace(/\{ "level": 2, "track": "free".*\n\s*/, ''))
    expect(table(set(TEXT, '1', 'free', 'nothing'))[0]).toEqual(['1', '0', 'nothing', ''])
  })

  it('leaves the text unchanged for a cell that is not a number or a reward', () => {
    for (const cell of ['', '1.5', '-1', '1e3', 'x']) expect(set(TEXT, '2', 'xp', cell)).toBe(TEXT)
    for (const cell of ['gold', '50', '50 gold,', '1.5 gold', ', 5 gold'])
      expect(set(TEXT, '2', 'free', cell)).toBe(TEXT)
  })

  it('renumbers tiers and level nodes together with their level', () => {
    const after = set(TEXT, '2', 'level', '7')
    expect(after).toBe(
      TEXT.replace('"level": 2,   "xp"', '"level": 7,   "xp"')
        .replace('"level": 2, "track"', '"level": 7, "track"')
        .replace('"levelNumber": "2"', '"levelNumber": "7"'),
    )
  })

  it('shows and changes the rewards of a level node, which replace those of the pass', () => {
    const own = setRewards(
      ['nodes', 2, 'data', 'rewards', 'free'],
      [{ kind: 'item', name: 'hat', amount: '2' }],
    )(read(TEXT))
    expect(table(own)[1]).toEqual(['2', '100', '2 item:hat', ''])
    expect(rowAt(own, '2').setBy.free).toEqual(['two'])
    const after = set(own, '2', 'free', '3 item:hat')
    expect(after).toBe(own.replace('"itemId": "hat", "amount": 2', '"itemId": "hat", "amount": 3'))
  })

  it('adds a level after the last, and removes a level with its tiers', () => {
    const rows = rowsOf(read(TEXT), passOf(read(TEXT)))
    const next = nextCells(rows)
    expect(next).toMatchObject({ level: '4', xp: '18014398509481886' })
    expect(table(addLevels(passOf(read(TEXT)), [next])(read(TEXT)))[3]).toEqual(['4', '18014398509481886', '', ''])
    const [, second] = rows
    const less = removeLevels(passOf(read(TEXT)), second ? [second] : [])(read(TEXT))
    expect(table(less).map(([level]) => level)).toEqual(['1', '3'])
    expect(less).not.toContain('"icon"')
  })

  it('is the same after an export to CSV and an import, for any table', () => {
    const name = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }).filter((text) => text.isWellFormed())
    const amount = fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String)
    const rewards = fc.array(
      fc.oneof(
        fc.record({ kind: fc.constantFrom('currency', 'item'), name, amount }),
        fc.record({ kind: fc.constant('boost'), name: amount, amount }),
      ),
      { maxLength: 3 },
    )
    const cell = fc.option(rewards.map(rewardsText), { nil: '' })
    const rows = fc
      .uniqueArray(
        fc.nat(500).map((level) => level + 1),
        { minLength: 1, maxLength: 12 },
      )
      .chain((levels) =>
        fc.tuple(
          ...levels
            .sort((a, b) => a - b)
            .map((level) =>
              fc.record({
                level: fc.constant(String(level)),
                xp: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
                free: cell,
                premium: cell,
              }),
            ),
        ),
      )
    fc.assert(
      fc.property(rows, (wanted) => {
        const csv = toCsv(
          COLUMNS,
          wanted.map((row) => COLUMNS.map((column) => row[column])),
        )
        const { rows: back, faults } = readCsv(csv)
        expect(faults).toEqual([])
        const after = setRows('pass', back)(read(TEXT))
        expect(table(after)).toEqual(wanted.map((row) => COLUMNS.map((column) => row[column])))
        // The parts that the table does not show have not changed.
        expect(after).toContain('"editor": { "zoom": 1.50, "big": 9007199254740993 }')
        expect(after).toContain('"sizes": [1.0, 2e3]')
        expect(setRows('pass', back)(read(after))).toBe(after)
      }),
      { numRuns: 60 },
    )
  })

  it('accepts a pasted block of a spreadsheet, with groups of digits, quoted cells and new rows', () => {
    const rows = rowsOf(read(TEXT), passOf(read(TEXT)))
    const { table: pasted, faults } = pasteAt(
      rows,
      1,
      'xp',
      '1,100\t60 gold\r\n2\u00a0200\t\t"1 ""big, red"" "\r\n3300\t5 gold\r\n',
    )
    expect(faults).toEqual([])
    expect(pasted.map((row) => COLUMNS.map((column) => row[column]))).toEqual([
      ['1', '0', '', ''],
      ['2', '1100', '60 gold', ''],
      ['3', '2200', '', '1 "big, red"'],
      ['4', '3300', '5 gold', ''],
    ])
    expect(table(setRows('pass', pasted)(read(TEXT)))[2]).toEqual(['3', '2200', '', '1 "big, red"'])
  })

  it('takes the first row of a pasted block as the names of its columns, when it has any', () => {
    const rows = rowsOf(read(TEXT), passOf(read(TEXT)))
    const { table: pasted, faults } = pasteAt(rows, 1, 'xp', 'Premium\tNote\t XP \n1 cape\teasy\t1,100\n\t\t2,200\n')
    expect(faults).toEqual([])
    expect(pasted.map((row) => COLUMNS.map((column) => row[column]))).toEqual([
      ['1', '0', '', ''],
      ['2', '1100', '50 gold', '1 cape'],
      ['3', '2200', '', ''],
    ])
  })

  it('reports each fault of a pasted block, and keeps the rows unchanged', () => {
    const rows = rowsOf(read(TEXT), passOf(read(TEXT)))
    expect(pasteAt(rows, 0, 'level', '1\tmany\n1\t5\tgold').faults).toEqual([
      expect.stringContaining('Row 1, xp “many”'),
      expect.stringContaining('Row 2, free “gold”'),
      'Level 1 would be there twice.',
    ])
    expect(rows).toEqual(rowsOf(read(TEXT), passOf(read(TEXT))))
  })

  it('reports the faults of a CSV file with their lines', () => {
    expect(readCsv('xp,free\n1,2').faults).toEqual(['The first line must name the columns. It lacks level.'])
    expect(readCsv('level;xp\n1;0\n1;x\n').faults).toEqual([
      expect.stringContaining('Line 3, xp “x”'),
      'Line 3: level 1 is there twice.',
    ])
    expect(readCells('"a ""b""\nc",d\n', ',')).toEqual([['a "b"\nc', 'd']])
  })
})

describe('rewards in one field', () => {
  it('are read as they are written, with any names', () => {
    expect(readRewards('50 gold; 1 x item:sword of fire')).toEqual([
      { kind: 'currency', name: 'gold', amount: '50' },
      { kind: 'item', name: 'sword of fire', amount: '1' },
    ])
    expect(readRewards('1 × item:hat')).toEqual([{ kind: 'item', name: 'hat', amount: '1' }])
    const rewards = [
      { kind: 'currency', name: 'item:gold', amount: '1' },
      { kind: 'item', name: 'a, "b"; c ', amount: '9223372036854775807' },
      { kind: 'currency', name: '?', amount: '2' },
    ] as const
    expect(readRewards(rewardsText(rewards))).toEqual(rewards)
  })

  it('may be boosts, which keep their other members when they change', () => {
    const text = '{"rewards":[{"currency":"gold","amount":5},{"boost":{"percent":100,"minutes":60},"image":"x2"}]}'
    const list = valueAt(parseJson(text).root, 'rewards')
    if (list?.kind !== 'array') throw new Error('no list')
    const before = rewardsOf(list)
    expect(rewardsText(before)).toBe('5 gold, 100% xp for 60 min')
    const after = readRewards('5 gold; 50% for 090 minutes, 1 item:hat') ?? []
    expect(applyChanges(text, changeRewards(text, list, after))).toBe(
      '{"rewards":[{"currency":"gold","amount":5},{"boost":{"percent":50,"minutes":90},"image":"x2"},{"itemId":"hat","amount":1}]}',
    )
    expect(changeRewards(text, list, before)).toEqual([])
  })

  it('may have a choice, which is changed in place', () => {
    const hat = { kind: 'item', name: 'hat', amount: '1' } as const
    const odd = { kind: 'currency', name: 'a|b + (c', amount: '5' } as const
    const choice = { kind: 'choice', name: '', amount: '', options: [[hat], [odd, hat]] } as const
    const text = '10 gold, one of (1 item:hat | 5 "a|b + (c" + 1 item:hat)'
    const rewards = [{ kind: 'currency', name: 'gold', amount: '10' }, choice] as const
    expect([rewardsText(rewards), readRewards(text)]).toEqual([text, rewards])
    for (const bad of [
      'one of (1 gold)',
      'one of (1 gold | )',
      'one of (1 gold | x)',
      'one of (1 gold, 2 gems | 1 gold)',
    ])
      expect(readRewards(bad)).toBeUndefined()

    const tier =
      '{ "choice": [[{ "itemId": "hat", "amount": 1, "image": "hat.png" }], [{ "currency": "gold", "amount": 5 }]] }'
    const source = TEXT.replace('{ "itemId": "board", "amount": 1 }', tier)
    const row = rowsOf(read(source), passOf(read(source))).find(({ cells }) => cells.level === '3')
    if (!row) throw new Error('there is no such row')
    expect(row.cells.premium).toBe('one of (1 item:hat | 5 gold)')
    expect(setCell(passOf(read(source)), row, 'premium', 'one of (1 item:hat | 6 gold)')(read(source))).toBe(
      source.replace('"amount": 5 }]] }', '"amount": 6 }]] }'),
    )
    const emptied = setCell(passOf(read(source)), row, 'premium', 'one of (1 item:hat | 5 gold | 2 gems)')(read(source))
    expect(validateDefinition(emptied).faults).toEqual([])
  })
})

describe('edits of the graph', () => {
  it('rename a node and all references to it, and change nothing else', () => {
    expect(renameNode('pass', 'p2')(read(TEXT))).toBe(
      TEXT.replace('"id": "pass"', '"id": "p2"')
        .replace('"to": "pass"', '"to": "p2"')
        .replace('"passNodeId": "pass"', '"passNodeId": "p2"'),
    )
    expect(renameNode('start', 'begin')(read(TEXT))).toContain('"start": "begin"')
  })

  it('remove a node with its edges', () => {
    const { nodes, edges } = read(removeNode('r1')(read(TEXT)))
    expect(nodes.map(({ id }) => id)).not.toContain('r1')
    expect(edges).toEqual([{ index: 0, from: 'start', handle: 'onStart', to: 'pass' }])
  })

  it('add nodes and edges that the service accepts, also to a definition without lists', () => {
    const added = inTurn(addNode('r3', 'reward'), addEdge({ from: 'r2', handle: 'onComplete', to: 'r3' }))(read(TEXT))
    expect(validateDefinition(added).faults).toEqual([])
    expect(added.startsWith(TEXT.slice(0, TEXT.indexOf('"type": "popup"')))).toBe(true)
    const begun = inTurn(
      addNode('start', 'start'),
      addNode('p', 'battle-pass'),
      addEdge({ from: 'start', handle: 'onStart', to: 'p' }),
    )(read('{"name":"x","start":"start"}'))
    expect(validateDefinition(begun).faults).toEqual([])
  })

  it('give a node another type, which keeps its data, or gets initial data when it has none', () => {
    const [, , , , , hello] = read(TEXT).nodes
    if (!hello) throw new Error('there is no node')
    expect(setType(hello, 'cutscene')(read(TEXT))).toBe(TEXT.replace('"popup"', '"cutscene"'))
    const initial = {
      'battle-pass': { levels: [{ level: 1, xp: 0 }], tiers: [] },
      'battle-pass-level': { levelNumber: 1, passNodeId: 'pass' },
      reward: { rewards: [{ currency: 'gold', amount: 100 }] },
    }
    for (const none of ['', ', "data": {}'])
      for (const [type, data] of Object.entries(initial)) {
        const bare = read(TEXT.replace('"nodes": [', `"nodes": [\n    { "id": "new", "type": "popup"${none} },`))
        const [node] = bare.nodes
        if (!node) throw new Error('there is no node')
        const after = setType(node, type)(bare)
        expect(JSON.parse(after).nodes[0]).toEqual({ id: 'new', type, data })
        expect(after.endsWith(TEXT.slice(TEXT.indexOf('{ "id": "start"')))).toBe(true)
      }
  })

  it('set a value at any depth, and add the missing objects above it', () => {
    const after = setValue(['nodes', 3, 'data', 'more', 'deep'], new RawText('1.0'))(read(TEXT))
    expect(after).toBe(
      TEXT.replace(
        '"amount": 5 }] } },\n    { "id": "r2"',
        '"amount": 5 }], "more": { "deep": 1.0 } } },\n    { "id": "r2"',
      ),
    )
    expect(setValue(['nodes', 3, 'data', 'more'], undefined)(read(after))).toBe(TEXT)
  })

  it('allow exactly the edges that the service accepts', () => {
    const definition = read(TEXT)
    const ids = [...definition.byId.keys()]
    const handles = ['onStart', 'onLevelUp', 'onMaxLevel', 'onPremiumPurchase', 'onComplete', 'closed', '1st', 'a b']
    for (const from of ids)
      for (const handle of handles)
        for (const to of ids) {
          const edge = { from, handle, to }
          const { faults } = validateDefinition(addEdge(edge)(definition))
          expect([edge, whyNoEdge(definition, edge) !== undefined]).toEqual([edge, faults.length > 0])
        }
    expect(whyNoEdge(definition, { from: 'r2', handle: 'onComplete', to: 'r1' })).toContain(
      'a circle of them would never end',
    )
  })
})

describe('the rules of xp and handles', () => {
  const rules = `"xp": { "sources": { "my match": { "max": 500,"a": 1.0 }, "q\\u0031": {}, "my match": { "perDay": 7 } } }`
  const ruled = TEXT.replace('"premium": {', `${rules}, "premium": {`)
  const sources = ['nodes', 1, 'data', 'xp', 'sources']

  it('keep everything of a source but its name, and which of two with one name counts', () => {
    expect(renameMember([...sources, 'my match'], 'a "b"')(read(ruled))).toBe(
      ruled.replaceAll('"my match"', '"a \\"b\\""'),
    )
    expect(renameMember([...sources, 'q1'], 'quest')(read(ruled))).toBe(ruled.replace('"q\\u0031"', '"quest"'))
    for (const path of [
      [...sources, 'none'],
      ['nodes', 1, 'data', 'xp', 'others', 'my match'],
    ])
      expect(renameMember(path, 'quest')(read(ruled))).toBe(ruled)
  })

  it('leave a handle to servers and give it back, without a trace', () => {
    const hello = (text: string) => {
      const node = read(text).byId.get('hello')
      if (!node) throw new Error('there is no node hello')
      return node
    }
    const set = (text: string, handle: string, from: string | undefined) =>
      setCrossedBy(hello(text), handle, from)(read(text))
    const one = set(TEXT, 'closed', 'server')
    expect(one).toBe(
      TEXT.replace('"sizes": [1.0, 2e3] } }', '"sizes": [1.0, 2e3] }, "handles": { "closed": { "from": "server" } } }'),
    )
    expect(validateDefinition(one).faults).toEqual([])
    expect(serverHandlesOf(hello(one))).toEqual(['closed'])
    const two = set(one, 'onComplete', 'server')
    expect(serverHandlesOf(hello(two))).toEqual(['closed', 'onComplete'])
    expect(set(two, 'onComplete', undefined)).toBe(one)
    expect(set(one, 'closed', undefined)).toBe(TEXT)
    const noted = one.replace('"from": "server"', '"note": 1.0, "from": "server"')
    expect(set(noted, 'closed', undefined)).toBe(noted.replace(', "from": "server"', ''))
    expect(set(TEXT, 'closed', undefined)).toBe(TEXT)
  })
})

describe('the descriptions of changes', () => {
  const changes = (after: string) => describeChanges(TEXT, after)?.flatMap(({ lines }) => lines.map(({ text }) => text))

  it('cover levels, tiers, the price, dates, nodes, edges and custom members', () => {
    const after = inTurn(
      (d) => set(d.text, '2', 'xp', '150'),
      (d) => set(d.text, '2', 'free', '60 gold'),
      (d) => set(d.text, '3', 'premium', ''),
      (d) => set(d.text, '1', 'premium', '1 gold'),
      setValue(['nodes', 1, 'data', 'premium', 'price', 'amount'], 900n),
      setValue(['nodes', 1, 'data', 'endsAt'], '2026-12-01T00:00:00Z'),
      setValue(['nodes', 5, 'data', 'title'], 'Hi'),
      setValue(['name'], 'Autumn'),
      removeNode('r2'),
      addNode('r9', 'reward'),
      addEdge({ from: 'start', handle: 'onStart', to: 'r9' }),
    )(read(TEXT))
    expect(changes(after)).toEqual([
      'The name is "Autumn" instead of "Summer".',
      'Level 2 needs 150 xp instead of 100.',
      'The free tier of level 2 grants 60 gold instead of 50 gold.',
      'Removed: the premium tier of level 3. It granted 1 item:board.',
      'New: the premium tier of level 1 grants 1 gold.',
      'Premium costs 900 gems instead of 950 gems.',
      'The season ends: "2026-12-01T00:00:00Z" instead of never.',
      'The reward node r2 is removed.',
      'title is "Hi" instead of "Hello".',
      'New reward node r9.',
      'The edge r1 – onComplete → r2 is removed.',
      'New edge start – onStart → r9.',
    ])
  })

  const withXp = (xp: string) => TEXT.replace('"premium": {', `"xp": ${xp}, "premium": {`)
  const lines = (before: string, after: string) =>
    describeChanges(before, after)?.flatMap((group) => group.lines.map(({ kind, text }) => `${kind}: ${text}`))

  it('say in words what premium brings besides its track, each by itself, and with premium as a whole', () => {
    const withExtras = (extras: string) => TEXT.replace('"premium": { ', `"premium": { ${extras}, `)
    const extras = withExtras('"xpPercent": 20, "instant": [{ "currency": "gold", "amount": 500 }]')
    expect(lines(TEXT, extras)).toEqual([
      'added: The bonus of premium is 20% of each xp instead of nothing.',
      'added: The purchase of premium grants 500 gold instead of nothing.',
    ])
    const other = withExtras('"xpPercent": 5, "instant": [{ "currency": "gold", "amount": 300 }], "note": "x"')
    expect(lines(extras, other)).toEqual([
      'changed: The bonus of premium is 5% of each xp instead of 20% of each xp.',
      'changed: The purchase of premium grants 300 gold instead of 500 gold.',
      'added: premium.note is new: "x".',
    ])
    const sold = (text: string) => setValue(['nodes', 1, 'data', 'premium'], undefined)(read(text))
    expect(lines(extras, sold(extras))).toEqual([
      'removed: Premium costs nothing, as it is not sold instead of 950 gems. The bonus of premium is nothing instead of 20% of each xp. The purchase of premium grants nothing instead of 500 gold.',
    ])
    expect(lines(TEXT, sold(TEXT))).toEqual(['removed: Premium costs nothing, as it is not sold instead of 950 gems.'])
  })

  it('say in words what a pass with new rules of xp allows, and what is gone with them', () => {
    const ruled = withXp(`{ "from": "server", "others": false, "note": 1.0, "perDay": 20000, "perWeek": null,
      "sources": { "match": { "max": 500, "perDay": 10000 }, "quest": {}, "tutorial": { "from": "client" } } }`)
    expect(lines(TEXT, ruled)).toEqual([
      'added: Xp may come from servers only instead of clients and servers.',
      'added: Sources that are not listed cannot be sent.',
      'added: xp.note is new: 1.0.',
      'added: All sources: at most 20,000 xp per day instead of no limit.',
      'added: New source match: 500 per call, 10,000 per day.',
      'added: New source quest, without rules of its own.',
      'added: New source tutorial: clients and servers.',
    ])
    expect(lines(ruled, TEXT)).toEqual([
      'removed: The rules of xp are removed: clients may send xp of any source, without a limit.',
    ])
    expect(lines(ruled, withXp('{ "from": "server" }'))).toContain(
      'removed: The source match is not listed any more. It had: 500 per call, 10,000 per day.',
    )
    expect(lines(TEXT, withXp('{}'))).toEqual(['added: xp is new: {}.'])
  })

  it('have the rule of xp before and after, exact', () => {
    const before = withXp(`{ "sources": { "match": { "max": 300, "perDay": 9007199254740993 }, "old": { "max": 1 } },
      "over": "clip", "timeZone": "UTC" }`)
    const after = withXp(`{ "sources": { "match": { "max": 500, "from": "server", "icon": "x" }, "new": { "max": 1 } },
      "from": "client", "over": "refuse", "dayStartsAt": "04:00", "timeZone": "Europe/Berlin", "perSeason": 7 }`)
    expect(lines(before, after)).toEqual([
      'changed: match: at most 500 xp per call instead of 300.',
      'removed: match: no limit per day instead of 9,007,199,254,740,993 xp.',
      'added: match may come from servers only instead of whomever the pass says.',
      'added: xp.sources.match.icon is new: "x".',
      'removed: The source old is not listed any more. It had: 1 per call.',
      'added: New source new: 1 per call.',
      'changed: A call over a limit is refused instead of granted what is left of it.',
      'changed: Days are of the time zone Europe/Berlin instead of UTC.',
      'added: Xp may come from clients and servers.',
      'added: A day begins at 04:00 instead of 00:00.',
      'added: All sources: at most 7 xp per season instead of no limit.',
    ])
  })

  it('name the handles that only servers cross, and take no member of the game for a rule', () => {
    const handles = (rules: string) => TEXT.replace('"type": "popup",', `"type": "popup", "handles": ${rules},`)
    const one = handles('{ "closed": { "from": "server" } }')
    expect(lines(TEXT, one)).toEqual(['added: closed may be crossed by servers only instead of clients and servers.'])
    expect(lines(one, TEXT)).toEqual(['removed: closed may be crossed by clients and servers instead of servers only.'])
    expect(lines(one, handles('{ "closed": { "from": "client" } }'))).toEqual([
      'changed: closed may be crossed by clients and servers instead of servers only.',
    ])
    const xpOf = (xp: string) => TEXT.replace('"title": "Hello"', `"xp": ${xp}, "title": "Hello"`)
    expect(lines(xpOf('{ "from": "x" }'), xpOf('{ "from": "y" }'))).toEqual(['changed: xp.from is "y" instead of "x".'])
    const edge = TEXT.replace('"handle": "closed",', '"handle": "closed", "handles": { "a": 1 },')
    expect(lines(TEXT, edge)).toEqual(['added: hello – closed → r1: handles is new: {"a":1}.'])
  })

  it('ignore white space and the order of nodes, but not the order of edges', () => {
    const start = '{ "id": "start", "type": "start" },'
    const moved = formatJson(TEXT, read(TEXT).root).replace(start, '').replace('"nodes": [', `"nodes": [ ${start}`)
    expect(changes(moved)).toEqual([])
    const two = addEdge({ from: 'start', handle: 'onStart', to: 'hello' })(read(TEXT))
    const [first, second] = ['"to": "pass"', '"to": "hello"']
    const swapped = two.replace(first, '"to": "?"').replace(second, first).replace('"to": "?"', second)
    expect(describeChanges(two, swapped)?.[0]?.lines[0]?.text).toBe(
      'Behind start – onStart, nodes are entered in another order: hello, pass.',
    )
  })
})

describe('the merge of two drafts', () => {
  it('keeps the changes of both when they do not overlap', () => {
    const mine = inTurn((d) => set(d.text, '2', 'xp', '150'), removeNode('hello'))(read(TEXT))
    const theirs = inTurn((d) => set(d.text, '2', 'free', '60 gold'), addNode('r9', 'reward'))(read(TEXT))
    const merge = mergeDefinitions(TEXT, mine, theirs, 'mine')
    expect(merge?.conflicts).toEqual([])
    expect(describeChanges(theirs, merge?.text ?? '')).toEqual(describeChanges(TEXT, mine))
    expect(describeChanges(mine, merge?.text ?? '')).toEqual(describeChanges(TEXT, theirs))
  })

  it('reports a conflict when both change the same value, and takes the chosen one', () => {
    const mine = set(TEXT, '2', 'xp', '150')
    const theirs = set(TEXT, '2', 'xp', '160')
    expect(mergeDefinitions(TEXT, mine, theirs, 'mine')?.conflicts).toHaveLength(1)
    expect(mergeDefinitions(TEXT, mine, theirs, 'mine')?.text).toBe(mine)
    expect(mergeDefinitions(TEXT, mine, theirs, 'theirs')?.text).toBe(theirs)
    expect(mergeDefinitions(TEXT, mine, mine, 'mine')).toMatchObject({ conflicts: [], text: mine })
  })

  it('reports a conflict when one removes what the other changes', () => {
    const mine = set(TEXT, '2', 'xp', '150')
    const theirs = removeNode('pass')(read(TEXT))
    expect(mergeDefinitions(TEXT, mine, theirs, 'mine')?.conflicts).toHaveLength(1)
    expect(mergeDefinitions(TEXT, mine, theirs, 'mine')?.lost).toHaveLength(1)
    const other = mergeDefinitions(TEXT, theirs, mine, 'theirs')
    expect(describeChanges(mine, other?.text ?? '')?.flatMap(({ lines }) => lines.map(({ text }) => text))).toEqual([
      'The edge start – onStart → pass is removed.',
    ])
  })
})

describe('the history', () => {
  it('undoes and redoes every step, for any texts', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        let history = historyOf('begin')
        const seen = ['begin']
        for (const text of texts) {
          if (text === seen.at(-1)) continue
          history = changeText(history, text, '', 0)
          seen.push(text)
        }
        for (const text of [...seen].reverse()) {
          expect(history.text).toBe(text)
          history = undo(history)
        }
        for (const text of seen.slice(1)) {
          history = redo(history)
          expect(history.text).toBe(text)
        }
      }),
    )
  })

  it('joins letters in quick succession into one step, and begins another after a pause', () => {
    let history = historyOf('')
    for (const [text, at] of [
      ['a', 0],
      ['ab', 100],
      ['abc', 200],
      ['abcd', 5_000],
    ] as const)
      history = changeText(history, text, 'json', at)
    expect(undo(history).text).toBe('abc')
    expect(undo(undo(history)).text).toBe('')
  })
})

describe('the faults of a definition', () => {
  it('have a readable place, a node or cell, and a range of the text', () => {
    const faulty = TEXT.replace('"xp": 100,', '"xp": 0,').replace('"to": "r2"', '"to": "gone"')
    const problems = problemsOf(faulty, validateDefinition(faulty))
    expect(problems.map(({ place, nodeId, cell, from, to }) => [place, nodeId, cell, faulty.slice(from, to)])).toEqual([
      ['pass, level 2, xp', 'pass', { level: '2', column: 'xp' }, '0'],
      ['edge r1 – onComplete → gone', 'r1', undefined, '"gone"'],
    ])
    const notices = problemsOf(TEXT, validateDefinition(TEXT))
    expect(notices.map(({ kind, nodeId }) => [kind, nodeId])).toEqual([
      // Members that no rule knows, and xp without a limit.
      ['notice', 'pass'],
      ['notice', 'pass'],
      ['notice', 'pass'],
      ['notice', 'r1'],
      ['notice', 'r2'],
    ])
    expect(placeText(read(TEXT), readPath('nodes[1].data.tiers[1].rewards[0].amount'))).toBe(
      'pass, level 3, premium, rewards, no. 1, amount',
    )
  })

  it('include hints: rewards that nobody can get, and new names that look like known ones', () => {
    const hints = (text: string, known?: Parameters<typeof hintsOf>[1]) =>
      noticesOf(read(text), hintsOf(read(text), known)).map(({ place, message }) => `${place}: ${message}`)
    const lost = TEXT.replace('"to": "r1"', '"to": "hello"')
    expect(lost).not.toBe(TEXT)
    const nobody = 'no edge leads here: no player gets these rewards'
    expect(hints(TEXT)).toEqual([])
    // r1 leads to r2.
    expect(hints(lost)).toEqual([`r1: ${nobody}`, `r2: ${nobody}`])
    expect(hints(TEXT, { currencies: ['golds', 'gems', 'silver'], items: ['boards'] })).toEqual([
      'pass, level 2, free, rewards, no. 1, currency: the currency gold is new here: did you mean golds?',
      'pass, level 3, premium, rewards, no. 1, itemId: the item board is new here: did you mean boards?',
    ])
    for (const known of [['gold', 'gems'], ['silver'], ['gold1', 'gems']])
      expect(hints(TEXT, { currencies: known, items: ['hat', 'board'] })).toEqual([])
  })

  it('have a line and a column when the text is not JSON', () => {
    const broken = '{\n  "name": \n}'
    expect(syntaxProblem(broken, readDefinition(broken))).toMatchObject([{ place: 'line 3, column 1', from: 13 }])
  })
})

describe('a replay of an earlier season', () => {
  it('is told in sentences', () => {
    const replay = {
      ...{ faults: [], playersInAll: 20_000, players: 1_000, owners: 200, isComplete: true, sent: '1200000' },
      granted: '900000',
      levels: [
        { level: 1, players: 1_000, playersThen: 1_000, medianDays: 0, medianStepDays: null },
        { level: 50, players: 125, playersThen: 310, medianDays: 12.5, medianStepDays: 0.2 },
      ],
      tracks: [
        {
          track: 'FREE' as const,
          rewards: [
            { amount: '4375000', currency: 'gold', itemId: null, boost: null },
            { amount: '1250', currency: null, itemId: 'hat', boost: null },
          ],
        },
        { track: 'PREMIUM' as const, rewards: [] },
      ],
    }
    expect(replaySentences(replay)).toEqual([
      '1,000 of the 20,000 players of the season were repeated: the same ones each time.',
      'They sent 1,200,000 xp. The draft would grant 900,000.',
      '12.5 % would have reached the top level, 50, half of them within 12.5 days of their first xp. In that season, 31 % reached its level 50.',
      'The free track would have given each player 4,375 gold, 1.3 × hat on average.',
    ])
    expect(replaySentences({ ...replay, players: 0 })).toEqual(['Nobody has played that season.'])
    expect(replaySentences({ ...replay, playersInAll: 1_000, isComplete: false }).slice(0, 2)).toEqual([
      'All 1,000 players of the season were repeated.',
      'The ledger has not all of their xp any more, so they come less far here than they would.',
    ])
  })
})

describe('the templates', () => {
  it('are valid definitions', () => {
    for (const template of ['season', 'empty'] as const)
      expect(validateDefinition(textOfTemplate(template, 'X')).faults).toEqual([])
  })
})

describe('a copy of a scenario', () => {
  const passText = (...dates: string[]) =>
    `{ "name": "One",  "nodes": [${dates.map((data) => `{ "type": "battle-pass", "data": {${data}} }`).join()}], "big": 1.50 }`

  it.each([
    ['in UTC', '"startsAt": "2026-11-01T10:00:00Z"', '"startsAt": "2026-12-01T12:30:00Z"'],
    [
      'with an offset and a fraction',
      '"startsAt": "2026-11-01T12:00:00.000+02:00"',
      '"startsAt": "2026-12-01T14:30:00.000+02:00"',
    ],
    [
      'in a zone of its own',
      '"startsAt": { "at": "2026-11-01T10:00", "timeZone": "Europe/Berlin" }',
      '"startsAt": { "at": "2026-12-01T12:30", "timeZone": "Europe/Berlin" }',
    ],
    [
      'of all kinds, by the same time',
      '"announcedAt": "2026-10-25T10:00:00Z", "startsAt": "2026-11-01T10:00:00Z", "endsAt": "2026-11-29T10:00:00Z", "claimUntil": "2026-12-02T10:00:00Z"',
      '"announcedAt": "2026-11-25T12:30:00Z", "startsAt": "2026-12-01T12:30:00Z", "endsAt": "2026-12-29T12:30:00Z", "claimUntil": "2027-01-02T12:30:00Z"',
    ],
    [
      'but for texts that are none',
      '"startsAt": "soon", "endsAt": 5',
      '"startsAt": "2026-12-01T12:30:00Z", "endsAt": 5',
    ],
    ['where there is none', '"levels": []', '"levels": [], "startsAt": "2026-12-01T12:30:00Z"'],
  ])('has dates that move with its start: %s', (_which, before, after) => {
    const copy = copyOf(passText(before), { id: 'two', name: 'Two', start: '2026-12-01T12:30:00Z' })
    expect(copy).toBe(passText(after).replace('"One"', '"Two"'))
  })

  it('starts with the first of its passes, and keeps the dates without a start', () => {
    const text = passText('"startsAt": "2026-11-08T00:00:00Z"', '"startsAt": "2026-11-01T00:00:00Z"')
    const moved = passText('"startsAt": "2027-01-08T00:00:00Z"', '"startsAt": "2027-01-01T00:00:00Z"')
    expect(copyOf(text, { id: 'two', name: 'One', start: '2027-01-01T00:00:00Z' })).toBe(moved)
    expect(copyOf(text, { id: 'two', name: 'Two', start: '' })).toBe(text.replace('"One"', '"Two"'))
  })

  it.each([
    ['2026-10-01T00:00:00Z', '2026-11-01T00:00:00Z', '2026-11-01T00:00:00Z', '2026-12-01T00:00:00Z'],
    ['2026-01-01T00:00:00Z', '2026-01-31T23:59:59Z', '2026-02-01T00:00:00Z', '2026-02-28T23:59:59Z'],
    ['2026-12-31T00:00:00Z', '2027-01-07T00:00:00Z', '2027-03-31T00:00:00Z', '2027-04-07T00:00:00Z'],
    ['2026-10-01T00:00:00Z', '2026-10-08T00:00:00Z', '2026-10-08T00:00:00Z', '2026-10-15T00:00:00Z'],
  ])(
    'moves by the calendar where the day of the month stays: %s to %s begins %s and ends %s',
    (from, to, start, end) => {
      const text = passText(`"startsAt": "${from}", "endsAt": "${to}"`)
      expect(copyOf(text, { id: 'two', name: 'One', start })).toBe(
        passText(`"startsAt": "${start}", "endsAt": "${end}"`),
      )
    },
  )

  it('does not follow itself, and keeps currencies that end', () => {
    const convert = '"convert": [{"currency": "gold"}]'
    const copy = (id: string, next: string) =>
      copyOf(passText(`"next": {${next}}, "x": 1`), { id, name: 'One', start: '' })
    expect(copy('two', '"scenarioId": "two", "carry": {"premium": true}')).toBe(passText('"x": 1'))
    expect(copy('two', `"scenarioId": "two", ${convert}`)).toBe(passText(`"next": {${convert}}, "x": 1`))
    expect(copy('three', '"scenarioId": "two"')).toBe(passText('"next": {"scenarioId": "two"}, "x": 1'))
  })
})

describe('the forms of nodes', () => {
  const nodeTypes = (definitionSchema.$defs as unknown as { node: Schema }).node.allOf ?? []

  it.each(Object.entries(NODE_KINDS).flatMap(([type, { form }]) => (form ? [[type, form] as const] : [])))(
    'show each member of the data of a %s node',
    (type, form) => {
      const of = nodeTypes.find((one) => one.if?.properties?.type?.const === type)?.then?.properties?.data
      const root = definitionSchema as unknown as Schema
      expect(Object.keys(form).sort()).toEqual(
        [...membersAt({ $defs: root.$defs, ...of }, [], undefined).keys()].sort(),
      )
    },
  )

  it('are there for all types with members of their own', () => {
    const own = nodeTypes.map((one) => one.if?.properties?.type?.const)
    expect(Object.keys(NODE_KINDS).filter((type) => NODE_KINDS[type as ServiceType].form)).toEqual(own)
  })
})

describe('the schema of definitions', () => {
  const schema = definitionSchema as unknown as Schema
  const data = (type: string) =>
    ['nodes', 'item', 'data'].map((member) => (member === 'item' ? 'item' : { member, type }) as never)

  it('lists the members and values that a place allows, by the type of the node', () => {
    expect([...membersAt(schema, [], undefined).keys()]).toEqual(['name', 'start', 'nodes', 'edges', 'text', 'image'])
    expect([...membersAt(schema, data('battle-pass'), undefined).keys()]).toEqual([
      'levels',
      'tiers',
      'premium',
      'announcedAt',
      'startsAt',
      'endingHours',
      'endsAt',
      'claimUntil',
      'atEnd',
      'mail',
      'autoClaim',
      'next',
      'beyond',
      'xp',
      'text',
      'image',
    ])
    const premium = [...data('battle-pass'), { member: 'premium', type: undefined }]
    expect([...membersAt(schema, premium, undefined).keys()]).toEqual(['price', 'xpPercent', 'instant'])
    expect([...membersAt(schema, data('reward'), undefined).keys()]).toEqual(['rewards', 'repeat'])
    expect([...membersAt(schema, data('popup'), undefined).keys()]).toEqual([])
    expect(valuesAt(schema, [...data('reward'), { member: 'repeat', type: undefined }])).toEqual([
      'never',
      'run',
      'always',
    ])
  })
})

describe('currencies that end with a season', () => {
  it('are read from one line, and written as they were read', () => {
    const text = 'tickets to gold 1:10, stars'
    const read = readConversions(` ${text.replace(',', ' ,')} `)
    expect(read).toEqual([{ currency: 'tickets', to: 'gold', rate: '1:10' }, { currency: 'stars' }])
    expect(conversionsText(parseJson(JSON.stringify(read)).root)).toBe(text)
  })

  it.each(['tickets to gold', 'tickets 1:10', 'tickets to 1:10', ', stars', ''])('are not read from %j', (text) => {
    expect(readConversions(text)).toBeUndefined()
  })
})

describe('the fields of a time', () => {
  it('show UTC, write an offset, and leave alone a text that they would change', () => {
    expect(momentValue('2026-12-01T02:00:00+02:00')).toBe('2026-12-01T00:00:00')
    expect(momentText('2026-12-01T00:00')).toBe('2026-12-01T00:00:00Z')
    expect(momentText('2026-12-01T00:00:30')).toBe('2026-12-01T00:00:30Z')
    expect(momentValue('2026-12-01T00:00:00.123456Z')).toBeUndefined()
    expect(momentValue('soon')).toBeUndefined()
  })
})

describe('the layout', () => {
  it('places each box once, without overlaps, for 20 boxes and for 1,000', () => {
    for (const count of [20, 1_000]) {
      const boxes = Array.from({ length: count }, (_, at) => ({ id: String(at), width: 240, height: 100 }))
      const links = boxes.slice(1).map((box, at) => ({ from: String(Math.floor(at / 3)), to: box.id }))
      const places = [...layOut(boxes, [...links, { from: '5', to: '0' }, { from: 'x', to: '1' }]).values()]
      expect(places).toHaveLength(count)
      const sorted = places.sort((a, b) => a.x - b.x || a.y - b.y)
      for (const [at, { x, y }] of sorted.entries()) {
        const before = sorted[at - 1]
        if (before && before.x === x) expect(y - before.y).toBeGreaterThanOrEqual(100)
      }
    }
  })
})

describe('the definition of the demo', () => {
  it('has one change after one edit, and stays valid', () => {
    const season = demoSeason()
    const after = set(season, '50', 'free', '1 gold')
    expect(describeChanges(season, after)?.flatMap(({ lines }) => lines)).toHaveLength(1)
    expect(validateDefinition(after).faults).toEqual([])
  })
})

describe('what a pass gives in all', () => {
  const level = (number: number, xp: number) => ({ level: number, xp })
  const passOf = (data: object) => {
    const [pass] = readPasses({ nodes: [{ id: 'pass', type: 'battle-pass', data }] } as never).passes
    if (!pass) throw new Error('it has a pass')
    return totalsOf(pass)
  }
  const gold = (amount: number) => ({ currency: 'gold', amount })
  const tier = (at: number, track: string, ...rewards: object[]) => ({ level: at, track, rewards })

  it('is its size, and the sum of each track by what it gives', () => {
    const totals = passOf({
      levels: [level(1, 0), level(2, 1_000), level(3, 75_460)],
      tiers: [
        tier(1, 'free', gold(4_000), { itemId: 'sword', amount: 1 }),
        tier(2, 'free', gold(375), { itemId: 'sword', amount: 2 }),
        tier(3, 'free', { choice: [[gold(1)], [gold(2)]] }),
        tier(3, 'premium', { currency: 'gems', amount: 1_000 }),
      ],
      premium: { price: { currency: 'gems', amount: 950 }, instant: [{ currency: 'gems', amount: 200 }] },
    })
    expect(totals).toEqual({
      size: '3 levels, 75,460 xp to the top',
      gives: ['Free: 4,375 gold, 3 × sword, 1 choice', 'Premium for 950 gems: 1,200 gems'],
      notes: [],
    })
  })

  it('comes with what looks unintended: levels and tiers without a reward, premium without a price or for nothing', () => {
    const levels = [1, 2, 3, 4].map((number) => level(number, number * 100))
    expect(passOf({ levels }).notes).toEqual(['No level gives anything.'])
    expect(
      passOf({ levels, tiers: [tier(2, 'free', gold(1)), tier(3, 'premium')], premium: { price: { ...gold(0) } } })
        .notes,
    ).toEqual(['Levels 1, 3 and 4 give nothing.', '1 tier has no reward.', 'Premium costs nothing.'])
    expect(passOf({ levels: [level(1, 0)], tiers: [tier(1, 'premium', gold(1))] }).notes).toEqual([
      'It has premium tiers and no price: only support and grants give premium.',
    ])
  })
})
