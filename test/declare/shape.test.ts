import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Refusal } from '../../src/base/errors.ts'
import { members, readInt } from '../../src/base/json.ts'
import { parseInt64 } from '../../src/declare/graphql/scalars.ts'
import { texts } from '../../src/declare/list-fields.ts'
import { flag, int32, int64, listOf, nested, object, optional, shape, text, uuid } from '../../src/declare/shape.ts'
import { InputSource, JsonSource } from '../../src/declare/source.ts'
import { resetModules } from '../harness/fresh-modules.ts'

function faultsOf(read: () => unknown) {
  try {
    read()
  } catch (error) {
    if (error instanceof Refusal) return error.faults
    throw error
  }
  return []
}

const numberText = fc.oneof(
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('0', '-0', '1.0', '1e3', '1E0', '9007199254740993', '9223372036854775808', '-1', '1e400'),
)
const space = fc.constantFrom('', ' ', '\n\t')

describe('a JSON body', () => {
  it('gives an integer with all its digits, and only when it is written as an integer', () => {
    const entries = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.oneof(numberText, fc.json())), {
      maxLength: 6,
    })
    fc.assert(
      fc.property(entries, space, (list, gap) => {
        const body = `{${list.map(([name, raw]) => `${gap}"${name}"${gap}:${gap}${raw}${gap}`).join(',')}}`
        const source = new JsonSource(body)
        const raw = members(body)
        for (const name of ['a', 'b', 'c', 'd']) expect(source.integer(name)).toBe(readInt(raw.get(name) ?? ''))
      }),
    )
  })

  it('gives the text of an object as it was sent, and no text for other values', () => {
    fc.assert(
      fc.property(fc.json(), space, (raw, gap) => {
        const source = new JsonSource(`{"first":1,"a":${gap}${raw}${gap},"b":{}}`)
        expect(source.objectText('a')).toBe(raw.trim().startsWith('{') ? raw.trim() : undefined)
      }),
    )
  })
})

describe('a shape', () => {
  const request = shape({
    name: text('A name.', { max: 3 }),
    level: optional(int32('A level.', { min: 0 })),
    amount: int64('An amount.', { min: 1n }),
    isOpen: flag('A flag.'),
    tags: texts('Tags.', { max: 2 }),
    data: optional(object('Data.')),
    source: optional(text('A source.', { max: 4, min: 0 }), 'none'),
  })

  it('reads every field by its type, and fills absent fields with null or the default', () => {
    const body = '{"name":"ada","amount":9223372036854775807,"isOpen":false,"tags":["a"],"data":{"n":1.50},"more":[]}'
    expect(request.read(new JsonSource(body))).toEqual({
      name: 'ada',
      level: null,
      amount: 9223372036854775807n,
      isOpen: false,
      tags: ['a'],
      data: '{"n":1.50}',
      source: 'none',
    })
  })

  it('reports every fault at once, each with its path', () => {
    const body = '{"name":"abcd","level":1.0,"isOpen":"no","tags":["a",7],"data":[],"source":5}'
    expect(faultsOf(() => request.read(new JsonSource(body)))).toEqual([
      { path: 'name', message: 'must be 1 to 3 characters' },
      { path: 'level', message: 'must be an integer without a fraction or an exponent' },
      { path: 'amount', message: 'is required' },
      { path: 'isOpen', message: 'must be true or false' },
      { path: 'tags[1]', message: 'must be a string' },
      { path: 'data', message: 'must be a JSON object' },
      { path: 'source', message: 'must be a string' },
    ])
  })

  const odd = shape({
    token: text('Of any length.', { max: Number.MAX_SAFE_INTEGER }),
    player: uuid('An id.', 'Player'),
    key: uuid('An id.'),
    amount: int64('An amount.', { min: 1n }),
  })
  const ID = '0192F0C1-7a5e-7c3b-9d2e-5f6a7b8c9d0e'
  const good = { token: '"a"', player: `"Player:${ID}"`, key: `"${ID}"`, amount: '1' }
  it.each<[member: string, sent: string, message: string]>([
    ['token', '""', 'must not be empty'],
    ['token', '5', 'must be a string'],
    ['player', `"Pass:${ID}"`, 'must be an id'],
    ['player', '"Player:1"', 'must be an id'],
    ['player', '""', 'must be an id'],
    ['key', `"${'a'.repeat(40)}"`, 'must be an id'],
    ['key', '"a\\u0000"', 'must be an id'],
    ['key', '7', 'must be a string'],
    ['amount', '"10"', 'must be an integer without quotation marks'],
    ['amount', '"ten"', 'must be an integer'],
    ['amount', '1.0', 'must be an integer without a fraction or an exponent'],
    ['amount', '1e3', 'must be an integer without a fraction or an exponent'],
    ['amount', '1.5', 'must be an integer'],
    ['amount', 'true', 'must be an integer'],
    ['amount', '9223372036854775808', 'must be 1 to 9223372036854775807'],
    ['amount', '1e400', 'must be an integer'],
  ])('says of the %s %s that it %s', (member, sent, message) => {
    const all = Object.entries({ ...good, [member]: sent })
    const body = `{${all.map(([name, raw]) => `"${name}":${raw}`).join(',')}}`
    expect(faultsOf(() => odd.read(new JsonSource(body)))).toEqual([{ path: member, message }])
  })

  it.each(['9007199254740993', '-9007199254740993'])(
    'says of the Int64 %s in a variable of GraphQL that it was rounded',
    (sent) => {
      expect(() => parseInt64(JSON.parse(sent))).toThrow('must be a string of its digits: as a number it was rounded')
    },
  )

  it('reports the same faults over GraphQL as over REST', () => {
    const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 5 }), fc.constantFrom('', 'a\0b', '\ud800'))
    const one = shape({ name: text('A name.', { max: 3 }) })
    fc.assert(
      fc.property(texts, (name) => {
        const overRest = faultsOf(() => one.read(new JsonSource(JSON.stringify({ name }))))
        expect(faultsOf(() => one.read(new InputSource({ name })))).toEqual(overRest)
      }),
    )
  })
})

describe('a changed limit', () => {
  afterEach(() => {
    vi.doUnmock('../../src/base/limits.ts')
    resetModules()
  })

  it('applies to REST, GraphQL, openapi.json and the JSON Schema of definitions', async () => {
    resetModules()
    vi.doMock('../../src/base/limits.ts', async (original) => ({
      ...(await original<object>()),
      MAX_ID: 5,
      MAX_HANDLE: 6,
    }))
    const { crossHandleRequest } = await import('../../src/game/runs/cross-handle.ts')
    const { openapi } = await import('../../src/serve/openapi/document.ts')
    const { definitionSchema } = await import('../../src/game/definition/schema.ts')
    const { parseDefinition } = await import('../../src/game/definition/parse.ts')
    const sent = { scenarioId: 'season', runId: 'r', nodeId: 'n', handle: 'onClick' }

    const faults = [
      { path: 'scenarioId', message: 'must be 1 to 5 characters' },
      { path: 'handle', message: 'must be 1 to 6 characters' },
    ]
    const faultsThere = async (read: () => unknown) => {
      try {
        read()
        return []
      } catch (error) {
        return (error as { faults: unknown }).faults
      }
    }
    const { JsonSource: Json } = await import('../../src/declare/source.ts')
    expect(await faultsThere(() => crossHandleRequest.read(new Json(JSON.stringify(sent))))).toEqual(faults)
    expect(await faultsThere(() => crossHandleRequest.readInput(sent))).toEqual(faults)
    expect(JSON.stringify(openapi.components.schemas.CrossRequest)).toContain('"maxLength":5')
    expect(JSON.stringify(openapi.components.schemas.CrossRequest)).toContain('"maxLength":6')
    expect(definitionSchema.$defs).toMatchObject({ node: { properties: { id: { maxLength: 5 } } } })
    const parsed = parseDefinition('{"name":"a","start":"season","nodes":[{"id":"season","type":"start"}],"edges":[]}')
    expect(parsed).toMatchObject({ ok: false, faults: [{ message: expect.stringContaining('5') }, {}] })
  })

  it('applies to every text of the schema, openapi.json and the JSON Schema of definitions', async () => {
    resetModules()
    const limits = numbersOf(await vi.importActual('../../src/base/limits.ts'))
    const changed = limits.map(([name], index) => [name, 20_011 + index] as const)
    vi.doMock('../../src/base/limits.ts', async (original) => ({
      ...(await original<object>()),
      ...Object.fromEntries(changed),
    }))
    const { printedSchema } = await import('../../src/schema.ts')
    const { openapi } = await import('../../src/serve/openapi/document.ts')
    const { definitionSchemaText } = await import('../../src/game/definition/schema.ts')

    const maxima = maximaIn([printedSchema(), JSON.stringify(openapi), definitionSchemaText].join('\n'))
    const old = new Set(limits.map(([, limit]) => limit))
    expect(maxima.filter(({ maximum, text }) => old.has(maximum) && !OF_ANSWERS.test(text))).toEqual([])
    // Most limits are named, so the contracts were searched in the right form.
    const named = new Set(maxima.map(({ maximum }) => maximum))
    expect(changed.filter(([, limit]) => named.has(limit)).length).toBeGreaterThan(limits.length / 2)
  })

  it('applies to pages, filters of events, levels in text and request ids', async () => {
    resetModules()
    vi.doMock('../../src/base/limits.ts', async (original) => ({
      ...(await original<object>()),
      MAX_PAGE: 7,
      MAX_HANDLES: 1,
      MAX_LEVEL: 2_051,
      MAX_REQUEST_ID: 4,
    }))
    const { faultsOfPage } = await import('../../src/declare/graphql/page.ts')
    const { kindsRequest } = await import('../../src/game/stream/graphql.ts')
    const { definitionSchemaText } = await import('../../src/game/definition/schema.ts')
    const { requestIdOf } = await import('../../src/declare/request.ts')

    expect(faultsOfPage({ first: 7 })).toEqual([])
    expect(faultsOfPage({ first: 8 })).toEqual([{ path: 'first', message: 'must be 1 to 7' }])
    expect(() => kindsRequest.readInput({ handles: ['onA', 'onB'] })).toThrow()
    const idOf = (id: string) => requestIdOf({ headers: { 'x-request-id': id } } as never)
    expect(idOf('abcd')).toBe('abcd')
    expect(idOf('abcde')).not.toBe('abcde')
    const patterns = definitionSchemaText.match(/(?<="pattern":")[^"]*2051[^"]*/g) ?? []
    expect(patterns).toHaveLength(1)
    const digits = new RegExp(JSON.parse(`"${patterns[0]}"`))
    const accepted = Array.from({ length: 30_000 }, (_, level) => level).filter((level) => digits.test(String(level)))
    expect(accepted).toEqual(Array.from({ length: 2_051 }, (_, index) => index + 1))
  })
})

const numbersOf = (values: object): [name: string, limit: number][] =>
  Object.entries(values).filter((entry): entry is [string, number] => typeof entry[1] === 'number')

/** Numbers that are the same as a limit by chance: of answers, and of the largest integer in JSON. */
const OF_ANSWERS =
  /^up to (5 seconds old|2\^53|10,000\. When)|^at most 2,000 are listed|^first 200 characters of an answer|^than 90 days ago/

/** The size of a list of an enum, which is that of the enum. */
const OF_ENUMS = /(?<="enum":\[[^\]]*\]\}(?:,"minItems":\d+)?),"maxItems":\d+/g

/** The maxima that a text names, in prose and in keywords of JSON Schema, each with what follows. */
function maximaIn(text: string): { maximum: number; text: string }[] {
  const found = text
    .replaceAll(OF_ENUMS, '')
    .matchAll(/(?:\b(?:to|up to|at most|first|than) |"max[a-zA-Z]+":)(\d[\d,]*)(?<!,)(?=(.{0,40}))/g)
  return [...found].map(([before, digits = '', after = '']) => ({
    maximum: Number(digits.replaceAll(',', '')),
    text: before + after,
  }))
}

describe('objects in a request', () => {
  const grant = shape({
    player: nested('A player.', shape({ id: text('An id.', { max: 3 }) })),
    amount: int64('', { min: 1n }),
  })
  const request = shape({
    grants: listOf('Grants.', grant, {
      max: 3,
      check: ({ amount }) => (amount === 13n ? [{ path: '', message: 'must not be unlucky' }] : []),
    }),
  })
  const read = (body: string) => request.read(new JsonSource(body))

  it('are read with exact integers, and with the last of repeated members', () => {
    const body =
      '{"grants":[{"player":{"id":"x","id":"a"},"amount":9007199254740993}, {"amount":2,"player":{"id":"b","more":[{}]}}]}'
    const grants = [
      { player: { id: 'a' }, amount: 9_007_199_254_740_993n },
      { player: { id: 'b' }, amount: 2n },
    ]
    expect(read(body)).toEqual({ grants })
    expect(request.readInput({ grants })).toEqual({ grants })
  })

  it('have every fault at its place, all at once', () => {
    const body = '{"grants":[{"player":{"id":"long"},"amount":1.0},7,{"player":[],"amount":13}]}'
    expect(faultsOf(() => read(body))).toEqual([
      { path: 'grants[0].player.id', message: 'must be 1 to 3 characters' },
      { path: 'grants[0].amount', message: 'must be an integer without a fraction or an exponent' },
      { path: 'grants[1]', message: 'must be an object' },
      { path: 'grants[2].player', message: 'must be an object' },
      { path: 'grants[2]', message: 'must not be unlucky' },
    ])
    expect(faultsOf(() => read('{"grants":[{}]}'))).toEqual([
      { path: 'grants[0].player', message: 'is required' },
      { path: 'grants[0].amount', message: 'is required' },
    ])
  })

  it.each([
    ['{}', 'is required'],
    ['{"grants":null}', 'is required'],
    ['{"grants":{}}', 'must be a list of objects'],
    ['{"grants":"[]"}', 'must be a list of objects'],
    ['{"grants":[]}', 'must have 1 to 3 elements'],
    ['{"grants":[{},{},{},{}]}', 'must have 1 to 3 elements'],
  ])('are refused as a whole: %s', (body, message) => {
    expect(faultsOf(() => read(body))).toEqual([{ path: 'grants', message }])
  })
})
