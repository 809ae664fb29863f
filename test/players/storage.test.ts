import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { members } from '../../src/base/json.ts'
import { call } from '../harness/call.ts'
import {
  type Answer,
  type Game,
  type GraphqlAnswer,
  generateKeys,
  type Instance,
  startGame,
  startInstance,
  type TestPlayer,
  times,
} from '../harness/game.ts'
import { atScale } from '../harness/scale.ts'

const SET = '/sdk/v1/storage/set'
const GET = '/sdk/v1/storage/get'
const LIST = '/sdk/v1/storage/list'
const DELETE = '/sdk/v1/storage/delete'
const MIB = 1_048_576
/** How often five hundred random values are stored and read. `login-data.test.ts` sends as many, too. */
const READS = atScale(10, 2)

let game: Game
let second: Instance

beforeAll(async () => {
  const keys = await generateKeys()
  game = await startGame(keys)
  second = await startInstance(game.databaseUrl, keys)
})
afterAll(async () => {
  await second?.stop()
  await game?.stop()
})

const set = (player: TestPlayer, values: string): Promise<Answer> => player.post(SET, `{"values":${values}}`)
const statusAtSecond = async ({ token }: TestPlayer, path: string, body: string): Promise<number> => {
  const headers = { authorization: `Bearer ${token}` }
  return (await call(second.baseUrl + path, { method: 'POST', headers, body })).status
}

/** Values by key, as the raw text of the answer. */
async function valuesOf(player: TestPlayer, keys?: readonly string[]): Promise<Map<string, string>> {
  const { status, text } = await player.post(GET, keys ? { keys } : {})
  expect(status, text).toBe(200)
  return members(members(text).get('values') ?? '{}')
}
const keysOf = async (player: TestPlayer): Promise<string[]> => [...(await valuesOf(player)).keys()].sort()
async function storedOf({ playerId }: TestPlayer): Promise<Map<string, string>> {
  const { rows } = await game.app.pool.query('SELECT key, value FROM player_storage WHERE player_id = $1', [playerId])
  return new Map(rows.map(({ key, value }) => [key, value]))
}
const pathsOf = ({ body }: Answer): string[] => body.details.map(({ path }: { path: string }) => path)

type Entry = readonly [key: string, value: string]
const object = (entries: readonly Entry[]): string =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`
const numbered = (count: number, prefix = 'k'): string =>
  object(times(count, (index) => [`${prefix}${index}`, String(index)] as const))

/** Random JSON texts of every form. */
const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 2 })
const hex = fc.integer({ min: 0, max: 0xffff }).map((code) => code.toString(16).padStart(4, '0'))
const stringText = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
      hex.map((digits) => `\\u${digits}`),
      hex.map((digits) => `\\u${digits.toUpperCase()}`),
      fc.constantFrom(
        '\\/',
        '\\b',
        '\\f',
        '\\n',
        '\\r',
        '\\t',
        '\\"',
        '\\\\',
        '\\u0000',
        '\\ud800',
        '\u2028',
        '\u00a0',
      ),
    ),
    { maxLength: 5 },
  )
  .map((pieces) => `"${pieces.join('')}"`)
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 25 })
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits.map((text) => text.replace(/^0+(?=\d)/, '')),
    fc.option(digits, { nil: undefined }),
    fc.constantFrom('', 'e400', 'E+2', 'e-7', 'e0'),
  )
  .map(([sign, whole, fraction, exponent]) => `${sign}${whole}${fraction ? `.${fraction}` : ''}${exponent}`)
const memberName = fc.oneof(
  stringText,
  fc.constantFrom('"a"', '"\\u0061"', '"__proto__"', '"1"', '"0"', '"constructor"'),
)
const jsonText = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('null', 'true', 'false', '""', '{}', '[]', '[ ]', '{\n}', '-0', '1.0', '9007199254740993'),
    numberText,
    stringText,
    fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([list, gap]) => `[${gap}${list.join(`${gap},`)}]`),
    fc
      .tuple(fc.array(fc.tuple(memberName, space, tie('value')), { maxLength: 4 }), space)
      .map(([list, end]) => `{${list.map(([name, gap, value]) => `${gap}${name}${gap}:${gap}${value}`)}${end}}`),
  ),
})).value

describe('player storage (contract 13)', () => {
  it('merges values, reads all or some, leaves out missing keys, and deletes', async () => {
    const player = await game.player()
    expect(await valuesOf(player)).toEqual(new Map())
    expect((await set(player, '{"a":1,"b":{"c":[ 2 ]}}')).status).toBe(204)
    const answer = await set(player, '{"b":null,"d":"x"}')
    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await player.post(GET, {})).text).toBe('{"values":{"a":1,"b":null,"d":"x"}}')
    expect((await player.post(GET, { keys: null })).text).toBe('{"values":{"a":1,"b":null,"d":"x"}}')
    expect(await valuesOf(player, ['d', 'nothing', 'a', 'd'])).toEqual(
      new Map([
        ['d', '"x"'],
        ['a', '1'],
      ]),
    )
    expect((await player.post(GET, { keys: [] })).text).toBe('{"values":{}}')
    const deleted = await player.post(DELETE, { keys: ['a', 'nothing', 'a', '', 'x'.repeat(1000)] })
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect(await keysOf(player)).toEqual(['b', 'd'])
    for (const [path, body] of [
      [SET, '{"values":{}}'],
      [DELETE, '{"keys":[]}'],
      [DELETE, '{"keys":["a"]}'],
    ] as const)
      expect((await player.post(path, body)).status).toBe(204)
    expect(await keysOf(player)).toEqual(['b', 'd'])
  })

  it('is 401 with SDK keys, with platform keys and without credentials (contract 5)', async () => {
    for (const path of [SET, GET, LIST, DELETE]) {
      for (const headers of [
        {},
        { 'x-sdk-key': game.sdkKey },
        { authorization: `Bearer ${game.sdkKey}` },
        { authorization: `Bearer ${game.platformKey}` },
      ]) {
        const answer = await game.request('POST', path, { body: '[', headers: headers as Record<string, string> })
        expect([answer.status, answer.body.error]).toEqual([401, 'invalid token'])
      }
    }
  })

  it(`returns ${500 * READS} random values byte for byte (contract 2.3, contract 8)`, async () => {
    const player = await game.player()
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(space, jsonText, space), { minLength: 500, maxLength: 500, size: 'max' }),
        async (values) => {
          const expected = new Map(values.map(([, value], index) => [`k${index}`, value]))
          const sent = object(values.map(([before, value, after], index) => [`k${index}`, before + value + after]))
          expect((await set(player, sent)).status).toBe(204)
          expect(await storedOf(player)).toEqual(expected)
          const all = await valuesOf(player)
          expect(all).toEqual(expected)
          expect(await valuesOf(player, [...expected.keys()])).toEqual(expected)
        },
      ),
      { numRuns: READS, endOnFailure: true },
    )
  })

  it('stores, reads and deletes random keys', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }), { maxLength: 50, size: 'max' }),
        async (keys) => {
          const player = await game.player()
          const clean = keys.filter((key) => !key.includes('\0'))
          const expected = new Map(clean.map((key, index) => [key, String(index)]))
          expect((await set(player, object([...expected]))).status).toBe(204)
          expect(await storedOf(player)).toEqual(expected)
          expect(await valuesOf(player)).toEqual(expected)
          expect(await valuesOf(player, clean)).toEqual(expected)
          expect((await player.post(DELETE, { keys: clean })).status).toBe(204)
          expect(await storedOf(player)).toEqual(new Map())
        },
      ),
      { numRuns: 5 },
    )
  })

  it.each([
    ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'a.b', 'a[0]', 'values', 'keys'],
    ...[
      '😀',
      'é',
      'e\u0301',
      '"',
      '\\',
      ' ',
      '\n',
      '\u2028',
      '\u007f',
      '1',
      '00',
      '-1',
      'ключ',
      '$raw',
      "'; --",
      '%',
      '_',
    ],
  ])('stores, reads and deletes the key %j', async (key) => {
    const player = await game.player()
    const values = object([
      [key, '{"a":1}'],
      ['2', '2'],
      ['1x', '3'],
    ])
    expect((await set(player, values)).status).toBe(204)
    const expected = new Map([
      [key, '{"a":1}'],
      ['2', '2'],
      ['1x', '3'],
    ])
    expect(await valuesOf(player)).toEqual(expected)
    expect(await valuesOf(player, [key])).toEqual(new Map([[key, '{"a":1}']]))
    expect(({} as Record<string, unknown>).a).toBeUndefined()
    expect((await player.post(DELETE, { keys: [key] })).status).toBe(204)
    expect(await keysOf(player)).toEqual(['1x', '2'])
  })

  it('treats a key the same with and without JSON escapes', async () => {
    const player = await game.player()
    await set(player, '{"\\u0061":1,"b":2,"\\ud83d\\ude00":3,"dup":4,"du\\u0070":5}')
    expect(await storedOf(player)).toEqual(
      new Map([
        ['a', '1'],
        ['b', '2'],
        ['😀', '3'],
        ['dup', '5'],
      ]),
    )
    const { text } = await player.post(GET, '{"keys":["\\u0061","\\uD83D\\uDE00"]}')
    expect(members(members(text).get('values') ?? '')).toEqual(
      new Map([
        ['a', '1'],
        ['😀', '3'],
      ]),
    )
    await player.post(DELETE, '{"keys":["d\\u0075p"]}')
    expect(await keysOf(player)).toEqual(['a', 'b', '😀'])
  })

  it('keeps integer-like keys apart', async () => {
    const player = await game.player()
    const entries: Entry[] = ['10', '9', '01', '4294967296', '-0', '1e3', '0'].map((key, index) => [key, `[${index}]`])
    await set(player, object(entries))
    expect(await valuesOf(player)).toEqual(new Map(entries))
  })

  it('has the time of the last write of each key', async () => {
    const player = await game.player()
    const read = async (): Promise<Map<string, number>> => {
      const { data } = await player.graphql('{ me { storage { key updatedAt } } }')
      return new Map(
        data.me.storage.map(({ key, updatedAt }: { key: string; updatedAt: string }) => [key, Date.parse(updatedAt)]),
      )
    }
    await set(player, '{"a":1,"b":1}')
    const before = await read()
    // An hour earlier, so that the test does not wait for the clock.
    await game.app.pool.query(
      "UPDATE player_storage SET updated_at = updated_at - interval '1 hour' WHERE player_id = $1",
      [player.playerId],
    )
    await set(player, '{"a":1}')
    const after = await read()
    expect(after.get('a')).toBeGreaterThanOrEqual(before.get('a') ?? Number.NaN)
    expect(after.get('b')).toBe((before.get('b') ?? Number.NaN) - 3_600_000)
  })
})

describe('the limits of storage (contract 8)', () => {
  const text = (bytes: number, filler: string): string =>
    `"${filler.repeat((bytes - 2) / Buffer.byteLength(filler))}${'x'.repeat((bytes - 2) % Buffer.byteLength(filler))}"`
  const value = (bytes: number, filler = 'x'): string => object([['k', text(bytes, filler)]])
  const key = (length: number, filler: string): string => object([[filler.repeat(length), '1']])

  const limits: [what: string, values: string, status: number][] = [
    ['a key of 1 character', key(1, 'k'), 204],
    ['an empty key', '{"":1}', 400],
    ['a key of 128 characters', key(128, 'k'), 204],
    ['a key of 129 characters', key(129, 'k'), 400],
    ['a key of 128 characters of two bytes', key(128, 'é'), 204],
    ['a key of 129 characters of two bytes', key(129, 'é'), 400],
    ['a key of 128 emoji', key(128, '😀'), 204],
    ['a key of 129 emoji', key(129, '😀'), 400],
    ['a key of 128 emoji, written as escapes', `{"${'\\ud83d\\ude00'.repeat(128)}":1}`, 204],
    ['a key of 129 emoji, written as escapes', `{"${'\\ud83d\\ude00'.repeat(129)}":1}`, 400],
    ['a key of 64 letters with their accents apart', key(64, 'e\u0301'), 204],
    ['a key of 65 letters with their accents apart', key(65, 'e\u0301'), 400],
    ['a key of 100,000 characters', key(100_000, 'k'), 400],
    ['a key of 100,000 emoji', key(100_000, '😀'), 400],
    ['a value of 65,536 bytes', value(65_536), 204],
    ['a value of 65,537 bytes', value(65_537), 400],
    ...['é', '€', '😀'].flatMap((filler): [string, string, number][] => [
      [`a value of 65,536 bytes of ${filler}`, value(65_536, filler), 204],
      [`a value of 65,537 bytes of ${filler}`, value(65_537, filler), 400],
    ]),
    ['a value of 65,536 bytes of escapes', object([['k', `"${'\\u0041'.repeat(10_922)}xx"`]]), 204],
    ['a value of 65,537 bytes of escapes', object([['k', `"${'\\u0041'.repeat(10_922)}xxx"`]]), 400],
    ['a value of 65,536 bytes, most of it white space', object([['k', `[${' '.repeat(65_534)}]`]]), 204],
    ['a value of 65,537 bytes, most of it white space', object([['k', `[${'\n'.repeat(65_535)}]`]]), 400],
    ['a number of 65,536 digits', object([['k', '1'.repeat(65_536)]]), 204],
    ['a number of 65,537 digits', object([['k', '1'.repeat(65_537)]]), 400],
    ['a value of 65,536 bytes with white space around it', object([['k', `\n ${text(65_536, 'x')} \r\n`]]), 204],
    ['a value that is too long and then given anew', `{"k":${text(70_000, 'x')},"k":1}`, 204],
    ['a value that is short and then given too long', `{"k":1,"k":${text(70_000, 'x')}}`, 400],
    ['1,000 keys', numbered(1000), 204],
    ['1,001 keys', numbered(1001), 400],
    ['1,001 members of 1,000 names', numbered(1000).replace('{', '{"k7":0,'), 204],
    ['100,000 keys', object(times(100_000, (index) => [index.toString(36), '1'] as const)), 400],
  ]
  it.each(limits)('apply to %s', async (_what, values, status) => {
    const player = await game.player()
    const answer = await set(player, values)
    expect(answer.status).toBe(status)
    if (status === 204) {
      expect(await storedOf(player)).toEqual(members(values))
      expect(await valuesOf(player)).toEqual(members(values))
      return
    }
    expect(answer.body).toMatchObject({ error: 'storage limit exceeded', code: 'storage_limit_exceeded' })
    expect(answer.body.details).toHaveLength(1)
    const [name = ''] = members(values).keys()
    const [{ path, message }] = answer.body.details
    // Very long keys are cut at a whole character.
    const expected = members(values).size > 1000 ? 'values' : `values.${name}`
    expect(expected.startsWith(path) && path.length >= Math.min(expected.length, 128)).toBe(true)
    expect(path.isWellFormed()).toBe(true)
    expect(message).not.toBe('')
    expect(await storedOf(player)).toEqual(new Map())
  })

  it('name every fault at once, and then nothing is written', async () => {
    const player = await game.player()
    await set(player, '{"good":"before","kept":1}')
    const long = 'k'.repeat(129)
    const values = object([
      ['good', '"after"'],
      ['', '1'],
      [long, text(70_000, 'x')],
      ['big', text(65_537, 'x')],
      ['fresh', '1'],
    ])
    const answer = await set(player, values)
    expect([answer.status, answer.body.error]).toEqual([400, 'storage limit exceeded'])
    expect(new Set(pathsOf(answer))).toEqual(new Set(['values.', `values.${long}`, 'values.big']))
    expect(await storedOf(player)).toEqual(
      new Map([
        ['good', '"before"'],
        ['kept', '1'],
      ]),
    )
  })

  it('count the keys after the merge: with a thousand keys, all can be overwritten and none added', async () => {
    const player = await game.player()
    await set(player, numbered(1000))
    expect((await set(player, '{"k0":"again"}')).status).toBe(204)
    expect((await set(player, numbered(1000).replaceAll(':', ':1'))).status).toBe(204)
    const before = await storedOf(player)
    for (const values of ['{"new":1}', '{"k0":"again","new":1}', numbered(1000, 'other')]) {
      const answer = await set(player, values)
      expect([answer.status, answer.body.error]).toEqual([400, 'storage limit exceeded'])
      expect(pathsOf(answer)).toEqual(['values'])
    }
    expect(await storedOf(player)).toEqual(before)
    await player.post(DELETE, { keys: ['k1', 'nothing'] })
    expect((await set(player, '{"new":1,"k2":2}')).status).toBe(204)
    expect((await set(player, '{"newer":1}')).status).toBe(400)
    expect((await storedOf(player)).size).toBe(1000)
  })

  it('hold when twenty calls over REST and GraphQL race for the last ten keys, ten each, on two instances', async () => {
    for (const _ of times(2, (round) => round)) {
      const player = await game.player()
      await set(player, numbered(990))
      const statuses = await Promise.all(
        times(20, async (index) => {
          const values = numbered(10, `race${index}-`)
          if (index % 3 === 0) return (await set(player, values)).status
          if (index % 3 === 1) return statusAtSecond(player, SET, `{"values":${values}}`)
          const query = 'mutation ($values: JSONObject!) { setStorage(input: { values: $values }) { storage { key } } }'
          const { errors } = await player.graphql(query, { values })
          if (errors) expect(errors[0]?.extensions.code).toBe('STORAGE_LIMIT_EXCEEDED')
          return errors ? 400 : 204
        }),
      )
      expect(statuses.filter((status) => status === 204)).toHaveLength(1)
      expect(statuses.filter((status) => status === 400)).toHaveLength(19)
      const keys = [...(await storedOf(player)).keys()]
      expect(keys).toHaveLength(1000)
      // All ten are from one call.
      const raced = keys.filter((key) => key.startsWith('race'))
      expect(new Set(raced.map((key) => key.split('-')[0])).size).toBe(1)
    }
  })

  it('are never exceeded while sets and deletes race at a thousand keys', async () => {
    const player = await game.player()
    await set(player, numbered(1000))
    const statuses = await Promise.all(
      times(40, async (index) => {
        if (index % 4 === 0) return (await player.post(DELETE, { keys: [`k${index}`] })).status
        const body = `{"values":{"new${index}":${index}}}`
        return index % 2 === 0 ? (await player.post(SET, body)).status : statusAtSecond(player, SET, body)
      }),
    )
    const stored = await storedOf(player)
    const added = statuses.filter((status, index) => index % 4 !== 0 && status === 204).length
    expect(new Set(statuses)).toEqual(new Set([204, 400]))
    expect([...stored.keys()].filter((key) => key.startsWith('new'))).toHaveLength(added)
    expect(stored.size).toBe(990 + added)
    expect(stored.size).toBeLessThanOrEqual(1000)
  })
})

/** Keys with the sizes of their values. */
type Listed = { key: string; bytes: number }[]
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** All pages of a list, each of `first` keys; `between` is called after each. */
async function pagesOf(player: TestPlayer, first?: number, between?: (page: Listed) => unknown): Promise<Listed[]> {
  const pages: Listed[] = []
  let after: string | null = null
  do {
    const { status, body, text }: Answer = await player.post(LIST, { after, first })
    expect(status, text).toBe(200)
    expect(Object.keys(body)).toEqual(['keys', 'next'])
    pages.push(body.keys)
    after = body.next
    await between?.(body.keys)
  } while (after !== null)
  return pages
}

describe('the list of keys (contract 12)', () => {
  it('has each key with the UTF-8 size of its value, sorted by bytes', async () => {
    const player = await game.player()
    expect((await player.post(LIST, {})).text).toBe('{"keys":[],"next":null}')
    const values: Entry[] = [
      ['b', '1'],
      ['Z', '"é"'],
      ['a', '[ 1,  2 ]'],
      ['é', '"😀"'],
      // In UTF-16, the first of these two sorts after the second.
      ['￮', 'null'],
      ['😀', '"\\u0041"'],
      ['10', '{}'],
      ['9', '12345678901234567890'],
      ['__proto__', '""'],
      [' ', 'true'],
    ]
    await set(player, object(values))
    const expected = values
      .map(([key, value]) => ({ key, bytes: Buffer.byteLength(value) }))
      .sort((a, b) => byBytes(a.key, b.key))
    for (const body of ['{}', '{"after":null,"first":null}', '{"after":""}', '{"first":200}', '{"other":1}']) {
      const { text } = await player.post(LIST, body)
      expect(text).toBe(JSON.stringify({ keys: expected, next: null }))
    }
    expect(await pagesOf(player, 4)).toEqual([expected.slice(0, 4), expected.slice(4, 8), expected.slice(8)])
    expect((await player.post(LIST, { first: 4 })).body.next).toBe(expected[3]?.key)
  })

  it('ends with a null cursor, also when the last page is full', async () => {
    const player = await game.player()
    await set(player, numbered(6))
    expect((await pagesOf(player, 3)).map(({ length }) => length)).toEqual([3, 3])
    expect((await pagesOf(player, 6)).map(({ length }) => length)).toEqual([6])
    expect((await pagesOf(player, 1)).map(({ length }) => length)).toEqual(times(6, () => 1))
    expect((await player.post(LIST, { after: 'k5' })).body).toEqual({ keys: [], next: null })
    expect((await player.post(LIST, { after: '􏿿' })).body).toEqual({ keys: [], next: null })
  })

  it('lets a client read a storage that is too large for one answer, page by page', async () => {
    const player = await game.player()
    const long = `"${'x'.repeat(65_000)}"`
    for (const part of times(20, (index) => index)) {
      await set(player, object(times(15, (index) => [`${part}-${index}`, long] as const)))
    }
    const all = await player.post(GET, {})
    expect([all.status, all.body.error, pathsOf(all)]).toEqual([400, 'storage limit exceeded', ['keys']])
    const found = new Map<string, string>()
    const pages = await pagesOf(player, undefined, async (page) => {
      for (const [key, value] of await valuesOf(
        player,
        page.map(({ key }) => key),
      ))
        found.set(key, value)
    })
    expect(pages.map(({ length }) => length)).toEqual([200, 100])
    expect(pages.flat().every(({ bytes }) => bytes === 65_002)).toBe(true)
    expect(found).toEqual(await storedOf(player))
  })

  it('has each kept key once while others are written and deleted between pages', async () => {
    const player = await game.player()
    await set(player, object(times(40, (index) => [`stays${index}`, '1'] as const)))
    await set(player, object(times(40, (index) => [`goes${index}`, '1'] as const)))
    let round = 0
    const pages = await pagesOf(player, 7, async (page) => {
      round += 1
      // The deleted keys include the last key of the page, after which the next page begins.
      const going = page.map(({ key }) => key).filter((key) => key.startsWith('goes'))
      await player.post(DELETE, { keys: [...going, `goes${39 - round}`] })
      await set(
        player,
        object([
          [`new${round}`, '2'],
          ['stays7', String(round)],
        ]),
      )
    })
    const stays = pages.flat().filter(({ key }) => key.startsWith('stays'))
    expect(stays.map(({ key }) => key)).toEqual(times(40, (index) => `stays${index}`).sort(byBytes))
  })

  it('has the keys of the caller only; operators read the keys of any player in GraphQL', async () => {
    const [first, other] = [await game.player(), await game.player()]
    await set(first, '{"mine":1}')
    expect((await other.post(LIST, { playerId: first.playerId })).body).toEqual({ keys: [], next: null })
    const seen = await game.graphql(
      game.platformKey,
      `{ player(id: "${first.playerId}") { storageKeys { edges { node { key bytes } } } } }`,
    )
    expect(seen.data.player.storageKeys.edges).toEqual([{ node: { key: 'mine', bytes: 1 } }])
    await game.app.pool.query("UPDATE players SET status = 'banned' WHERE id = $1", [first.playerId])
    const banned = await game.graphql(
      game.platformKey,
      `{ player(id: "${first.playerId}") { storageKeys { edges { node { key } } } } }`,
    )
    expect(banned.data.player.storageKeys.edges).toEqual([{ node: { key: 'mine' } }])
  })

  it('is the same in GraphQL for random keys and page sizes', async () => {
    const asked = `query ($first: Int, $after: String) { me { storageKeys(first: $first, after: $after) {
      edges { cursor node { key bytes } } pageInfo { hasNextPage endCursor } } } }`
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }), { maxLength: 30, size: 'max' }),
        fc.integer({ min: 1, max: 12 }),
        async (keys, first) => {
          const player = await game.player()
          const clean = keys.filter((key) => !key.includes('\0'))
          await set(player, object(clean.map((key, index) => [key, `"${'x'.repeat(index)}"`] as const)))
          const expected = clean.map((key, index) => ({ key, bytes: index + 2 })).sort((a, b) => byBytes(a.key, b.key))
          expect((await pagesOf(player, first)).flat()).toEqual(expected)
          const listed: Listed = []
          let after: string | null = null
          for (let more = true; more; ) {
            const { data }: GraphqlAnswer = await player.graphql(asked, { first, after })
            const { edges, pageInfo } = data.me.storageKeys
            listed.push(...edges.map(({ node }: { node: Listed[number] }) => node))
            expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor ?? null)
            after = pageInfo.endCursor
            more = pageInfo.hasNextPage
          }
          expect(listed).toEqual(expected)
        },
      ),
      { numRuns: 8 },
    )
  })
})

describe('racing storage calls (contract 13)', () => {
  it('leave the whole value of one call when fifty race on two instances', async () => {
    const player = await game.player()
    const values = times(50, (index) => JSON.stringify({ n: index, filler: String(index).repeat(1000) }))
    const statuses = await Promise.all(
      values.map(async (value, index) =>
        index % 2 === 0
          ? (await set(player, object([['k', value]]))).status
          : statusAtSecond(player, SET, `{"values":{"k":${value}}}`),
      ),
    )
    expect(new Set(statuses)).toEqual(new Set([204]))
    expect(values).toContain((await valuesOf(player)).get('k'))
  })

  it('take effect one after the other when a set and a delete race, in thirty rounds', async () => {
    const player = await game.player()
    for (const round of times(30, (index) => index)) {
      const removed = '{"keys":["a","b","c"]}'
      const statuses = await Promise.all([
        set(player, `{"a":${round},"b":${round}}`).then(({ status }) => status),
        round % 2 === 0
          ? player.post(DELETE, removed).then(({ status }) => status)
          : statusAtSecond(player, DELETE, removed),
      ])
      expect(statuses).toEqual([204, 204])
      const left = await valuesOf(player)
      expect([[], [String(round), String(round)]]).toContainEqual([...left.values()])
    }
  })

  it('are read as a whole: never one old value with one new value', async () => {
    const player = await game.player()
    await set(player, '{"a":-1,"b":-1}')
    await Promise.all(
      times(40, async (round) => {
        const writing =
          round % 2 === 0
            ? set(player, `{"a":${round},"b":${round}}`)
            : statusAtSecond(player, SET, `{"values":{"b":${round},"a":${round}}}`)
        const seen = await Promise.all([valuesOf(player), valuesOf(player, ['b', 'a'])])
        for (const values of seen) expect(values.get('a')).toBe(values.get('b'))
        await writing
      }),
    )
  })

  it('succeed when other calls of the same group are refused', async () => {
    const players = await Promise.all(times(20, () => game.player()))
    const answers = await Promise.all(
      players.flatMap((player, index) => [
        set(player, `{"mine":${index}}`),
        // Refused, in the same group as the valid calls.
        set(player, index % 2 === 0 ? '{"":1}' : numbered(1001)),
      ]),
    )
    expect(answers.map(({ status }) => status)).toEqual(players.flatMap(() => [204, 400]))
    for (const [index, player] of players.entries())
      expect(await storedOf(player)).toEqual(new Map([['mine', String(index)]]))
  })
})

describe('invalid storage requests (contract 10)', () => {
  let player: TestPlayer
  beforeAll(async () => {
    player = await game.player()
    await set(player, '{"a":"kept"}')
  })

  it.each([
    [SET, '{}', ['values']],
    [SET, '{"values":null}', ['values']],
    [SET, '{"values":[1]}', ['values']],
    [SET, '{"values":"{}"}', ['values']],
    [SET, '{"values":1}', ['values']],
    [SET, '{"values":true}', ['values']],
    [SET, '{"values":{"a\\u0000":1,"b":2}}', ['values']],
    [SET, '{"values":{"\\ud800":1}}', ['values']],
    [SET, '{"values":{"\\udc00a":1}}', ['values']],
    [SET, '{"values":{"a":1}', ['']],
    [SET, '{"values":{"a":01}}', ['']],
    [SET, '{"values":{"a":NaN}}', ['']],
    [SET, '{"values":{a:1}}', ['']],
    [SET, '[]', ['']],
    [SET, `{"values":${'{"a":'.repeat(64)}1${'}'.repeat(64)}}`, ['']],
    [SET, `{"values":{"a":${'['.repeat(100_000)}`, ['']],
    [LIST, '{"after":1}', ['after']],
    [LIST, '{"after":["a"]}', ['after']],
    [LIST, '{"after":"a\\u0000"}', ['after']],
    [LIST, '{"after":"\\ud800"}', ['after']],
    [LIST, `{"after":"${'k'.repeat(129)}"}`, ['after']],
    [LIST, '{"first":0}', ['first']],
    [LIST, '{"first":-1}', ['first']],
    [LIST, '{"first":201}', ['first']],
    [LIST, '{"first":"10"}', ['first']],
    [LIST, '{"first":1.0}', ['first']],
    [LIST, '{"after":{},"first":9007199254740993}', ['after', 'first']],
    [GET, '{"keys":"a"}', ['keys']],
    [GET, '{"keys":{}}', ['keys']],
    [GET, '{"keys":1}', ['keys']],
    [GET, '{"keys":[1,"a",null,["b"],{},true]}', ['keys[0]', 'keys[2]', 'keys[3]', 'keys[4]', 'keys[5]']],
    [GET, '{"keys":["\\ud800","a\\u0000"]}', ['keys[0]', 'keys[1]']],
    [GET, `{"keys":${JSON.stringify(times(1001, String))}}`, ['keys']],
    [DELETE, '{}', ['keys']],
    [DELETE, '{"keys":null}', ['keys']],
    [DELETE, '{"keys":{}}', ['keys']],
    [DELETE, '{"keys":["a\\u0000"]}', ['keys[0]']],
    [DELETE, '{"keys":[null]}', ['keys[0]']],
    [DELETE, `{"keys":${JSON.stringify(times(1001, String))}}`, ['keys']],
  ])('are refused and change nothing: %s with %.60s', async (path, body, paths) => {
    const answer = await player.post(path, body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
    expect(pathsOf(answer)).toEqual(paths)
    expect(await storedOf(player)).toEqual(new Map([['a', '"kept"']]))
  })

  it('are 400 for bytes that are not UTF-8, and 413 for bodies over 1 MiB', async () => {
    const player = await game.player()
    const latin = new Uint8Array(Buffer.from('{"values":{"a":"é"}}', 'latin1'))
    expect((await player.post(SET, latin)).status).toBe(400)
    expect((await player.post(SET, '{"values":{"a":1}}'.padEnd(MIB + 1))).status).toBe(413)
    expect((await player.post(SET, '{"values":{"a":1}}'.padEnd(MIB))).status).toBe(204)
  })

  it('begin at 65 levels of nesting', async () => {
    const player = await game.player()
    const deep = `${'['.repeat(62)}${']'.repeat(62)}`
    expect((await set(player, `{"deep":${deep}}`)).status).toBe(204)
    expect((await valuesOf(player)).get('deep')).toBe(deep)
    expect((await set(player, `{"deeper":[${deep}]}`)).status).toBe(400)
    const { data } = await player.graphql('{ me { storage { value } } }')
    expect(data.me.storage).toEqual([{ value: deep }])
  })

  it('do not include reads and deletes of a thousand keys', async () => {
    const player = await game.player()
    await set(player, numbered(1000))
    const keys = times(1000, (index) => `k${index}`)
    expect((await valuesOf(player, keys)).size).toBe(1000)
    expect((await player.post(DELETE, { keys })).status).toBe(204)
    expect(await storedOf(player)).toEqual(new Map())
  })
})

/** A call's outcome in one form for both surfaces. */
type Outcome = { ok: unknown } | { code: string; details?: unknown }

function restOutcome({ status, body }: Answer): Outcome {
  if (status < 300) return { ok: true }
  return { code: body.code.toUpperCase(), ...(body.details && { details: body.details }) }
}
function graphqlOutcome({ errors }: GraphqlAnswer): Outcome {
  const [error] = errors ?? []
  if (!error) return { ok: true }
  const { code, details } = error.extensions
  return { code, ...(details && { details }) }
}

describe('storage in GraphQL (contract 15)', () => {
  const SET_STORAGE = 'mutation ($input: SetStorageInput!) { setStorage(input: $input) { storage { key value } } }'
  const DELETE_STORAGE = 'mutation ($input: DeleteStorageInput!) { deleteStorage(input: $input) { keys } }'
  const READ = 'query ($keys: [String!]) { me { storage(keys: $keys) { key value } } }'
  const setIn = (player: TestPlayer, values: unknown) => player.graphql(SET_STORAGE, { input: { values } })
  const deleteIn = (player: TestPlayer, keys: unknown) => player.graphql(DELETE_STORAGE, { input: { keys } })
  const readIn = async (player: TestPlayer, keys: readonly string[] | null = null): Promise<Map<string, string>> => {
    const { data } = await player.graphql(READ, { keys })
    return new Map(data.me.storage.map(({ key, value }: { key: string; value: string }) => [key, value]))
  }

  it('stores JSON text byte for byte, and objects and literals as JSON', async () => {
    const player = await game.player()
    const { data } = await setIn(player, ' {"big": 12345678901234567890, "n": 1.0, "text":"\\u0041\\/" , "n":1.50}\n')
    expect(data.setStorage.storage).toEqual([
      { key: 'big', value: '12345678901234567890' },
      { key: 'n', value: '1.50' },
      { key: 'text', value: '"\\u0041\\/"' },
    ])
    await setIn(player, { plain: { a: [1] }, none: null })
    await player.graphql(
      'mutation { setStorage(input: {values: {literal: 1.50, list: [A, 12345678901234567890]}}) { storage { key } } }',
    )
    const expected = new Map([
      ['big', '12345678901234567890'],
      ['n', '1.50'],
      ['text', '"\\u0041\\/"'],
      ['plain', '{"a":[1]}'],
      ['none', 'null'],
      ['literal', '1.50'],
      ['list', '["A",12345678901234567890]'],
    ])
    expect(await valuesOf(player)).toEqual(expected)
    expect(await readIn(player)).toEqual(expected)
    expect(await readIn(player, ['n', 'nothing', 'n'])).toEqual(new Map([['n', '1.50']]))
    expect(await readIn(player, [])).toEqual(new Map())
    const deleted = await deleteIn(player, ['n', 'x'])
    expect(deleted.data.deleteStorage.keys).toEqual(['n', 'x'])
    expect((await valuesOf(player, ['n'])).size).toBe(0)
  })

  const long = 'k'.repeat(129)
  it.each([
    ['an empty object', '{}'],
    ['an empty key', '{"":1,"a":2}'],
    ['a long key', object([[long, '1']])],
    ['a long key of emoji', object([[`k${'😀'.repeat(128)}`, '1']])],
    ['a long value', object([['k', `"${'x'.repeat(65_535)}"`]])],
    ['too many keys', numbered(1001)],
    ['an empty key, a long key and too many keys', numbered(1000).replace('{', `{"":1,${JSON.stringify(long)}:1,`)],
    ['a key with NUL', '{"a\\u0000":1}'],
    ['a lone surrogate', '{"\\ud800":1}'],
    ['__proto__', '{"__proto__":{"a":1}}'],
  ])('answers as REST does to %s', async (_what, values) => {
    const [rest, graphql] = [await game.player(), await game.player()]
    const expected = restOutcome(await set(rest, values))
    expect(graphqlOutcome(await setIn(graphql, values))).toEqual(expected)
    expect(await storedOf(graphql)).toEqual(await storedOf(rest))
  })

  it('refuses values that are not an object and invalid lists of keys, and writes nothing', async () => {
    const player = await game.player()
    for (const wrong of ['[]', '"x"', '{', '', 'null', 5, [], null, true, '{"a":1}{}', '{"a":\u00a01}', '\ufeff{}'])
      expect((await setIn(player, wrong)).errors?.[0]?.extensions.code, String(wrong)).toBe('INVALID_REQUEST')
    for (const wrong of [[1], [null], null, {}, times(1001, String)])
      expect((await deleteIn(player, wrong)).errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    for (const wrong of [[1], ['a\0'], {}, times(1001, String)]) {
      const { errors } = await player.graphql(READ, { keys: wrong })
      expect(errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    }
    expect(await storedOf(player)).toEqual(new Map())
  })

  it('has the same outcomes and the same storage as REST after random calls', async () => {
    const key = fc.constantFrom('a', 'b', 'c', '1', '0', '__proto__', '😀', '', long, 'a\0')
    const keys = fc.array(key, { maxLength: 4 })
    const call = fc.oneof(
      fc.record({ kind: fc.constant('set' as const), entries: fc.array(fc.tuple(key, jsonText), { maxLength: 4 }) }),
      fc.record({ kind: fc.constant('delete' as const), keys }),
      fc.record({ kind: fc.constant('get' as const), keys: fc.option(keys) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 10 }), async (calls) => {
        const [rest, graphql] = [await game.player(), await game.player()]
        const model = new Map<string, string>()
        for (const step of calls) {
          if (step.kind === 'set') {
            const values = object(step.entries)
            const outcome = restOutcome(await set(rest, values))
            expect(graphqlOutcome(await setIn(graphql, values))).toEqual(outcome)
            if ('ok' in outcome) for (const [name, value] of step.entries) model.set(name, value)
          } else if (step.kind === 'delete') {
            const outcome = restOutcome(await rest.post(DELETE, { keys: step.keys }))
            expect(graphqlOutcome(await deleteIn(graphql, step.keys))).toEqual(outcome)
            if ('ok' in outcome) for (const name of step.keys) model.delete(name)
          } else {
            const outcome = restOutcome(await rest.post(GET, { keys: step.keys }))
            expect(graphqlOutcome(await graphql.graphql(READ, { keys: step.keys }))).toEqual(outcome)
          }
          expect(await valuesOf(rest)).toEqual(model)
        }
        expect(await readIn(graphql)).toEqual(model)
        expect(await storedOf(rest)).toEqual(model)
        expect(await storedOf(graphql)).toEqual(model)
      }),
      { numRuns: 15 },
    )
  })

  it('is refused to banned and deleted players from the next call on, as REST is (contract 5)', async () => {
    for (const status of ['banned', 'deleted']) {
      const player = await game.player()
      await set(player, '{"a":1}')
      await game.app.pool.query('UPDATE players SET status = $1 WHERE id = $2', [status, player.playerId])
      const refusal = { code: `PLAYER_${status.toUpperCase()}` }
      const answers = [
        await set(player, '{"b":1}'),
        await player.post(GET, {}),
        await player.post(GET, { keys: ['a'] }),
        await player.post(LIST, {}),
        await player.post(DELETE, { keys: ['a'] }),
      ]
      for (const answer of answers) {
        expect([answer.status, answer.body.error]).toEqual([403, `player ${status}`])
        expect(restOutcome(answer)).toEqual(refusal)
      }
      for (const answer of [
        await setIn(player, '{"b":1}'),
        await deleteIn(player, ['a']),
        await player.graphql(READ, { keys: ['a'] }),
        await player.graphql('{ me { storageKeys { edges { cursor } } } }'),
      ]) {
        expect(graphqlOutcome(answer)).toEqual(refusal)
      }
      for (const path of [SET, GET, LIST, DELETE])
        expect(await statusAtSecond(player, path, '{"values":{"b":1},"keys":["a"]}')).toBe(403)
      expect(await storedOf(player)).toEqual(new Map([['a', '1']]))
    }
  })
})
