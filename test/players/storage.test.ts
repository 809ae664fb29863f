import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { members } from '../../src/json.ts'
import { type Answer, type Game, startGame, type TestPlayer, times } from '../support/game.ts'

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

const SET = '/sdk/v1/storage/set'
const GET = '/sdk/v1/storage/get'
const DELETE = '/sdk/v1/storage/delete'

const set = (player: TestPlayer, values: string): Promise<Answer> => player.post(SET, `{"values":${values}}`)
/** Values by key, as the very text that came. */
async function valuesOf(player: TestPlayer, keys?: readonly string[]): Promise<Map<string, string>> {
  const { text } = await player.post(GET, keys ? { keys } : {})
  return members(members(text).get('values') ?? '{}')
}
const keysOf = async (player: TestPlayer): Promise<string[]> => [...(await valuesOf(player)).keys()].sort()
const object = (entries: readonly (readonly [key: string, value: string])[]): string =>
  `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`
const numbered = (count: number, prefix = 'k'): string =>
  object(times(count, (index) => [`${prefix}${index}`, String(index)] as const))

describe('player storage (decisions 7)', () => {
  it('merges, reads all or some, leaves out what is not there, and deletes', async () => {
    const player = await game.player()
    expect((await set(player, '{"a":1,"b":{"c":[ 2 ]}}')).status).toBe(204)
    expect((await set(player, '{"b":null,"d":"x"}')).text).toBe('')
    expect(await valuesOf(player)).toEqual(
      new Map([
        ['a', '1'],
        ['b', 'null'],
        ['d', '"x"'],
      ]),
    )
    expect(await valuesOf(player, ['d', 'nothing', 'a'])).toEqual(
      new Map([
        ['d', '"x"'],
        ['a', '1'],
      ]),
    )
    expect((await player.post(DELETE, { keys: ['a', 'nothing', 'a'] })).status).toBe(204)
    expect(await keysOf(player)).toEqual(['b', 'd'])
    expect((await set(player, '{}')).status).toBe(204)
  })

  it("is a player's own", async () => {
    const [first, second] = [await game.player(), await game.player()]
    await set(first, '{"secret":1}')
    expect(await keysOf(second)).toEqual([])
    await second.post(DELETE, { keys: ['secret'] })
    expect(await keysOf(first)).toEqual(['secret'])
  })

  it('gives every value back byte for byte, five thousand random ones', async () => {
    const player = await game.player()
    const space = fc.constantFrom('', ' ', '\n', '\t ')
    const number = fc.constantFrom('1.0', '1e400', '-0', '12345678901234567890', '0.10', '1E+2')
    const raw = fc.letrec<{ value: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom('null', 'true', '""', '"\\u0000"', '"\\ud800"', '"\\/"', '{}', '[]'),
        number,
        fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
        fc.tuple(fc.array(tie('value'), { maxLength: 4 }), space).map(([list, gap]) => `[${list.join(`,${gap}`)}]`),
        fc
          .tuple(
            fc.array(fc.tuple(fc.constantFrom('"a"', '"__proto__"', '"\\u0061"'), tie('value')), { maxLength: 4 }),
            space,
          )
          .map(([list, gap]) => `{${list.map(([key, value]) => `${gap}${key}:${gap}${value}`).join(',')}}`),
      ),
    })).value
    for (const values of fc.sample(fc.array(raw, { minLength: 500, maxLength: 500 }), 10)) {
      const sent = values.map((value, index) => [`k${index}`, value] as const)
      expect((await set(player, object(sent))).status).toBe(204)
      expect([
        ...(await valuesOf(
          player,
          sent.map(([key]) => key),
        )),
      ]).toEqual(sent)
    }
  })

  it.each(['__proto__', 'constructor', 'toString', 'a.b', '😀', '"', '\\', ' ', '1', '00', 'ключ'])(
    'takes the key %j for a key',
    async (key) => {
      const player = await game.player()
      expect(
        (
          await set(
            player,
            object([
              [key, '{"a":1}'],
              ['2', '2'],
              ['1x', '3'],
            ]),
          )
        ).status,
      ).toBe(204)
      expect((await valuesOf(player, [key])).get(key)).toBe('{"a":1}')
      expect(({} as Record<string, unknown>).a).toBeUndefined()
    },
  )
})

describe('the limits of storage (spec 8)', () => {
  const limits: [what: string, values: string, status: number][] = [
    ['a key of 128 characters', object([['k'.repeat(128), '1']]), 204],
    ['a key of 129 characters', object([['k'.repeat(129), '1']]), 400],
    ['a key of 128 emoji', object([['😀'.repeat(128), '1']]), 204],
    ['a key of 129 emoji', object([['😀'.repeat(129), '1']]), 400],
    ['an empty key', '{"":1}', 400],
    ['a value of 65,536 bytes', object([['k', `"${'x'.repeat(65_534)}"`]]), 204],
    ['a value of 65,537 bytes', object([['k', `"${'x'.repeat(65_535)}"`]]), 400],
    ['a value of 65,536 bytes in fewer characters', object([['k', `"${'é'.repeat(32_767)}"`]]), 204],
    ['a value of 65,538 bytes in fewer characters', object([['k', `"${'é'.repeat(32_768)}"`]]), 400],
    ['1,000 keys', numbered(1000), 204],
    ['1,001 keys', numbered(1001), 400],
  ]
  it.each(limits)('%s', async (_what, values, status) => {
    const player = await game.player()
    const answer = await set(player, values)
    expect(answer.status).toBe(status)
    if (status === 204) return
    expect(answer.body).toMatchObject({ error: 'storage limit exceeded', code: 'storage_limit_exceeded' })
    expect(answer.body.details).toHaveLength(1)
    expect(await keysOf(player)).toEqual([])
  })

  it('name every fault at once, and then nothing is written', async () => {
    const player = await game.player()
    const long = 'k'.repeat(129)
    const answer = await set(
      player,
      object([
        ['good', '1'],
        ['', '1'],
        [long, '1'],
        ['big', `"${'x'.repeat(70_000)}"`],
      ]),
    )
    expect(answer.body.details.map(({ path }: { path: string }) => path)).toEqual([
      'values.',
      `values.${long}`,
      'values.big',
    ])
    expect(await keysOf(player)).toEqual([])
  })

  it('count the keys that are there: at a thousand they may be overwritten, and one more is too many', async () => {
    const player = await game.player()
    await set(player, numbered(1000))
    expect((await set(player, '{"k0":"again"}')).status).toBe(204)
    expect((await set(player, '{"k0":"again","new":1}')).body.details).toEqual([
      { path: 'values', message: 'a player has at most 1000 keys' },
    ])
    await player.post(DELETE, { keys: ['k1'] })
    expect((await set(player, '{"new":1}')).status).toBe(204)
  })

  it('hold when twenty calls of ten new keys each race for the last ten places', async () => {
    const player = await game.player()
    await set(player, numbered(990))
    const answers = await Promise.all(times(20, (index) => set(player, numbered(10, `race${index}-`))))
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(19)
    expect(await keysOf(player)).toHaveLength(1000)
  })

  it('bound what one answer carries: more than 16 MiB is asked for in parts', async () => {
    const player = await game.player()
    const value = `"${'x'.repeat(65_000)}"`
    for (const part of times(20, (index) => index)) {
      await set(player, object(times(15, (index) => [`${part}-${index}`, value] as const)))
    }
    const all = await player.post(GET, {})
    expect([all.status, all.body.error, all.body.details[0].path]).toEqual([400, 'storage limit exceeded', 'keys'])
    const some = times(17, (part) => times(15, (index) => `${part}-${index}`)).flat()
    expect((await valuesOf(player, some.slice(0, 255))).size).toBe(255)
  })
})

describe('calls that race (decisions 7)', () => {
  it('leave the whole value of one of them', async () => {
    const player = await game.player()
    const values = times(50, (index) => `{"n":${index},"m":${index}}`)
    await Promise.all(values.map((value) => set(player, object([['k', value]]))))
    expect(values).toContain((await valuesOf(player)).get('k'))
  })

  it('set and delete one after the other, in some order, a hundred times', async () => {
    const player = await game.player()
    for (const round of times(100, (index) => index)) {
      await Promise.all([set(player, `{"a":${round},"b":${round}}`), player.post(DELETE, { keys: ['a', 'b'] })])
      const left = await valuesOf(player)
      expect([0, 2]).toContain(left.size)
    }
  })
})

describe('requests that make no sense', () => {
  it.each([
    [SET, '{}', ['values']],
    [SET, '{"values":null}', ['values']],
    [SET, '{"values":[1]}', ['values']],
    [SET, '{"values":"{}"}', ['values']],
    [SET, '{"values":{"a\\u0000":1}}', ['values']],
    [SET, '{"values":{"\\ud800":1}}', ['values']],
    [GET, '{"keys":"a"}', ['keys']],
    [GET, '{"keys":[1,"a",null]}', ['keys[0]', 'keys[2]']],
    [GET, `{"keys":${JSON.stringify(times(1001, String))}}`, ['keys']],
    [DELETE, '{}', ['keys']],
    [DELETE, '{"keys":{}}', ['keys']],
    [DELETE, '{"keys":["a\\u0000"]}', ['keys[0]']],
  ])('%s with %s', async (path, body, paths) => {
    const player = await game.player()
    const answer = await player.post(path, body)
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid request'])
    expect(answer.body.details.map(({ path: at }: { path: string }) => at)).toEqual(paths)
    expect(await keysOf(player)).toEqual([])
  })

  it('are refused to players that are banned or deleted', async () => {
    for (const status of ['banned', 'deleted']) {
      const player = await game.player()
      await set(player, '{"a":1}')
      await game.app.pool.query('UPDATE players SET status = $1 WHERE id = $2', [status, player.playerId])
      for (const answer of [
        await set(player, '{"b":1}'),
        await player.post(GET, {}),
        await player.post(DELETE, { keys: ['a'] }),
      ]) {
        expect([answer.status, answer.body.error]).toEqual([403, `player ${status}`])
      }
    }
  })
})

describe('storage in GraphQL (decisions 9)', () => {
  const MUTATION = 'mutation ($input: SetStorageInput!) { setStorage(input: $input) { storage { key value } } }'

  it('is the same storage: text stays to the byte, objects are taken as they are read', async () => {
    const player = await game.player()
    const { data } = await player.graphql(MUTATION, { input: { values: '{"big": 12345678901234567890, "n": 1.0}' } })
    expect(data.setStorage.storage).toEqual([
      { key: 'big', value: '12345678901234567890' },
      { key: 'n', value: '1.0' },
    ])
    await player.graphql(MUTATION, { input: { values: { plain: { a: [1] } } } })
    await player.graphql(
      'mutation { setStorage(input: {values: {literal: 1.50, list: [A, 12345678901234567890]}}) { storage { key } } }',
    )
    expect([...(await valuesOf(player, ['literal', 'list'])).values()]).toEqual(['1.50', '["A",12345678901234567890]'])
    expect((await valuesOf(player)).get('big')).toBe('12345678901234567890')
    expect((await valuesOf(player)).get('plain')).toBe('{"a":[1]}')
    const read = await player.graphql('{ me { storage(keys: ["n"]) { key value } } }')
    expect(read.data.me.storage).toEqual([{ key: 'n', value: '1.0' }])
    const deleted = await player.graphql('mutation { deleteStorage(input: {keys: ["n", "x"]}) { keys } }')
    expect(deleted.data.deleteStorage.keys).toEqual(['n', 'x'])
    expect((await valuesOf(player, ['n'])).size).toBe(0)
  })

  it('refuses what REST refuses, in the same words', async () => {
    const player = await game.player()
    const values = object([
      ['', '1'],
      ['k'.repeat(129), '1'],
    ])
    const rest = await set(player, values)
    const { errors } = await player.graphql(MUTATION, { input: { values } })
    expect(errors?.[0]?.extensions).toEqual({ code: 'STORAGE_LIMIT_EXCEEDED', details: rest.body.details })
    for (const wrong of ['[]', '"x"', '{', 5, [], null]) {
      const answer = await player.graphql(MUTATION, { input: { values: wrong } })
      expect(answer.errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    }
  })
})
