import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { demoSeason, rankedSeason } from '../../src/dev/season.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { definitionSchemaText } from '../../src/game/definition/schema.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'
import { definitions } from './arbitraries.ts'

// The schema has a pattern beside each format, and every validator checks patterns.
const ajv = new Ajv2020({ allErrors: true, validateFormats: false })
const validate = ajv.compile(JSON.parse(definitionSchemaText))

/** Faults that concern several places of a definition. All other faults concern one place, so a schema finds them. */
const RELATIONS =
  /^(names |repeats |has type start, but|leads back into|is never crossed by|is crossed by the service only|is part of a cycle|must be higher than|must be more than the xp|must be after|must be before|must not be before|must not be longer than|needs |is a premium tier of|is for a pass without|differs from nodes|must be a time zone|must be `onComplete`|must be absent|must not be among|is longer than \d+ bytes|is a second choice|and \d+ more faults)/

/** Faults of a text that concern one place each. */
function structuralFaults(text: string): string[] {
  const parsed = parseDefinition(text)
  if (parsed.ok) return []
  return parsed.faults
    .filter(({ message }) => !RELATIONS.test(message))
    .map(({ path, message }) => `${path}: ${message}`)
}

const schemaFaults = (text: string): string[] =>
  validate(JSON.parse(text))
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`)

/** Values that some places do not allow. Big integers are far beyond int64, since a schema sees numbers as doubles. */
const JUNK: readonly Json[] = [
  null,
  true,
  '',
  'x',
  'x'.repeat(65),
  '😀'.repeat(65),
  'x'.repeat(129),
  '1000000',
  'nul\0',
  '\ud800',
  -1,
  0,
  1,
  1.5,
  1_000_000,
  1_000_001,
  2n ** 64n,
  -(2n ** 64n),
  '5',
  '05',
  '1000001',
  '0x1',
  'free',
  'start',
  'reward',
  'battle-pass',
  'battle-pass-level',
  '2026-12-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2024-02-29T23:59:59.5+23:59',
  '2100-02-29T00:00:00Z',
  '2026-12-01T24:00:00Z',
  '2026-12-01T00:00:00',
  [],
  {},
  Array(33).fill(gold(1)),
  [gold(1)],
  { currency: 'gold', itemId: 'hat', amount: 1 },
  { price: {} },
]

const plain = (more: { [name: string]: Json }, nodeId = 'pass') => passNode(nodeId, { levels: [0], tiers: [], more })

/** Together they have every place that a definition can have. In small parts, since each is read with many faults. */
const FULL: readonly Json[] = [
  scenario(
    [
      passNode('pass', {
        levels: [0, 100],
        tiers: [
          {
            ...(tier(1, 'free', [gold(1), { itemId: 'hat', amount: 1, image: 'hat' }]) as object),
            text: { en: { name: 'Start' } },
          },
          tier(2, 'premium', [{ choice: [[gold(1), gold(2)], [item('hat')]], amount: null }]),
        ],
        more: {
          text: { en: { name: 'Frost', description: 'A cold season.' }, 'pt-BR': { name: 'Gelo' } },
          image: 'https://cdn.example.com/frost.png',
          premium: {
            price: { currency: 'gems', amount: 950 },
            xpPercent: 20,
            instant: [gold(500), { currency: null, itemId: 'hat', amount: 1 }],
          },
        },
      }),
    ],
    [{ from: 'start', handle: 'onStart', to: 'pass' }],
  ),
  scenario(
    [
      plain({
        announcedAt: '2026-11-01T00:00:00Z',
        startsAt: '2026-12-01T00:00:00Z',
        endingHours: 48,
        endsAt: '2027-01-01T00:00:00Z',
        claimUntil: '2027-02-01T00:00:00Z',
        atEnd: 'grant',
        autoClaim: 'always',
        next: {
          scenarioId: 'season-2',
          nodeId: 'pass',
          carry: { xpPercent: 10, xpMax: 500, premium: true },
          convert: [{ currency: 'tickets', to: 'gold', rate: '1:10' }, { currency: 'stars' }],
        },
      }),
    ],
    [],
  ),
  scenario(
    [
      plain({
        beyond: {
          every: 1_000,
          rewards: [gold(5), { choice: [[gold(1)], [item('hat'), { boost: { percent: 50, minutes: 60 } }]] }],
          max: 10,
          perDay: 1,
          convert: null,
        },
      }),
      plain({ beyond: { convert: { currency: 'gold', per: 100 }, every: null } }, 'other'),
    ],
    [],
  ),
  scenario(
    [
      plain({
        xp: {
          from: 'server',
          others: false,
          sources: {
            match: { from: 'server', max: 500, perDay: 10_000 },
            tutorial: { from: 'client', perSeason: 300 },
          },
          max: 5_000,
          perDay: 20_000,
          perWeek: null,
          perSeason: 1_000_000,
          over: 'refuse',
          dayStartsAt: '04:00',
          timeZone: 'Europe/Berlin',
        },
      }),
    ],
    [],
  ),
  scenario(
    [
      plain({}),
      {
        id: 'level',
        type: 'battle-pass-level',
        data: { levelNumber: 2, passNodeId: 'pass', rewards: { free: [gold(1)], premium: [item('cap')] } },
      },
      { id: 'gift', type: 'reward', data: { rewards: [{ currency: 'gold', itemId: null, amount: 1 }] } },
      { id: 'shop', type: 'shop', handles: { onComplete: { from: 'server' } }, data: { offers: ['a'] } },
    ],
    [],
  ),
]

const edge: Json = { from: 'start', handle: 'onStart', to: 'start' }

/** The places of a value, itself included, in the order of {@link spoil}. Elements of a list with one type have one name. */
function placesOf(value: Json, name = ''): string[] {
  if (typeof value !== 'object' || value === null) return [name]
  const nameOf = (key: string, member: Json): string =>
    Array.isArray(value) ? String((member as { type?: string } | null)?.type ?? '') : key
  const inner = Object.entries(value).flatMap(([key, member]) =>
    placesOf(member as Json, `${name}/${nameOf(key, member as Json)}`),
  )
  return [name, ...inner]
}

/** A value with the chosen place replaced, or removed when `by` is undefined. */
function spoil(value: Json, choice: number, by: Json | undefined): { value: Json | undefined; left: number } {
  if (choice === 0) return { value: by, left: -1 }
  let left = choice - 1
  if (typeof value !== 'object' || value === null) return { value, left }
  const entries = Object.entries(value).map(([name, member]) => {
    if (left < 0 || member === undefined) return [name, member] as const
    const spoiled = spoil(member as Json, left, by)
    left = spoiled.left
    return [name, spoiled.value] as const
  })
  const kept = entries.filter(([, member]) => member !== undefined)
  return { value: Array.isArray(value) ? kept.map(([, member]) => member as Json) : Object.fromEntries(kept), left }
}

describe('the JSON Schema of definitions', () => {
  it('is a valid schema of its draft', () => {
    expect(ajv.validateSchema(JSON.parse(definitionSchemaText))).toBe(true)
  })

  it('accepts every definition that can be published', () => {
    const examples = [
      demoSeason(),
      rankedSeason(),
      print(season()),
      print(scenario([passNode('p', { tiers: [tier(1, 'free')] })], [])),
    ]
    for (const text of examples) expect([structuralFaults(text), schemaFaults(text)]).toEqual([[], []])
    fc.assert(
      fc.property(definitions, (definition) => {
        const text = print(definition)
        expect(parseDefinition(text)).toMatchObject({ ok: true })
        expect(schemaFaults(text)).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  const agree = (definition: Json, place: number, by: Json | undefined): boolean => {
    const text = print(spoil(definition, place, by).value ?? {})
    const [faults, found] = [structuralFaults(text), schemaFaults(text)]
    if (faults.length > 0 !== found.length > 0) expect.fail(JSON.stringify({ text, faults, found }))
    return faults.length > 0
  }

  it('rejects the faults of single places in full definitions, and nothing else', () => {
    let broken = 0
    const tried = new Set<string>()
    for (const full of FULL) {
      expect(agree(full, -1, undefined)).toBe(false)
      for (const [place, name] of placesOf(full).entries()) {
        if (tried.has(name)) continue
        tried.add(name)
        for (const by of [undefined, ...JUNK]) if (agree(full, place, by)) broken += 1
      }
    }
    expect(broken).toBeGreaterThan(1_000)
  })

  it('rejects the faults of single places in random definitions, and nothing else', () => {
    fc.assert(
      fc.property(definitions, fc.nat(), fc.constantFrom(undefined, ...JUNK), (definition, choice, by) => {
        agree(definition, choice % placesOf(definition).length, by)
      }),
      { numRuns: 400 },
    )
  })

  it.each<[string, string, boolean]>([
    ['a thousand levels', print(season({ levels: Array.from({ length: 1_000 }, (_, at) => at), tiers: [] })), true],
    [
      'a thousand and one levels',
      print(season({ levels: Array.from({ length: 1_001 }, (_, at) => at), tiers: [] })),
      false,
    ],
    ['the highest xp', print(season({ levels: [2n ** 63n - 1n], tiers: [] })), true],
    [
      'a thousand nodes',
      print(
        scenario(
          Array.from({ length: 999 }, (_, at) => ({ id: `${at}`, type: 'x' })),
          [],
        ),
      ),
      true,
    ],
    [
      'a thousand and one nodes',
      print(
        scenario(
          Array.from({ length: 1_000 }, (_, at) => ({ id: `${at}`, type: 'x' })),
          [],
        ),
      ),
      false,
    ],
    ['10,000 edges', print(scenario([], Array(10_000).fill(edge))), true],
    ['10,001 edges', print(scenario([], Array(10_001).fill(edge))), false],
    ['2,000 tiers', print(season({ tiers: Array(2_000).fill(tier(1, 'free')) })), true],
    ['2,001 tiers', print(season({ tiers: Array(2_001).fill(tier(1, 'free')) })), false],
    ['no nodes', '{"name":"a","start":"a","nodes":[],"edges":[]}', false],
    ['a list', '[]', false],
    ['a string', '"scenario"', false],
  ])('has the limits of the validator: %s', (_what, text, isAllowed) => {
    expect([structuralFaults(text).length === 0, schemaFaults(text).length === 0]).toEqual([isAllowed, isAllowed])
  })

  it('accepts the dates that the validator accepts, in leap years and in others', () => {
    for (const year of [1900, 1904, 2000, 2026, 2100]) {
      for (const month of ['00', '01', '02', '04', '12', '13']) {
        for (const day of ['00', '01', '28', '29', '30', '31', '32']) {
          const text = print(season({ more: { startsAt: `${year}-${month}-${day}T00:00:00Z` } }))
          expect([text, schemaFaults(text).length === 0]).toEqual([text, structuralFaults(text).length === 0])
        }
      }
    }
  })
})

describe('GET /schemas/scenario.json', () => {
  let game: Game
  beforeAll(async () => {
    game = await startGame()
  })
  afterAll(() => game?.stop())

  it('serves the schema without credentials, with exact integers', async () => {
    const { status, headers, text } = await game.request('GET', '/schemas/scenario.json')
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(text).toBe(definitionSchemaText)
    expect(text).toContain('"maximum":9223372036854775807')
  })
})
