import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print, RawJson } from '../../src/base/json.ts'
import { startInstance } from '../harness/game.ts'
import { startProxy } from '../harness/proxy.ts'
import { atScale } from '../harness/scale.ts'
import { until } from '../harness/until.ts'
import {
  by,
  countGame,
  countRows,
  created,
  during,
  game,
  INVALID_DATA,
  keys,
  loginAt,
  newSubject,
  operator,
  other,
  ownersOf,
  playerOf,
  profileOf,
  query,
  refusalOf,
  shared,
  startLogins,
  stopLogins,
  storageOf,
} from './logins.ts'

beforeAll(startLogins)
afterAll(stopLogins)

/** How often five hundred random values are sent. */
const SENDS = atScale(10, 3)
const UNAVAILABLE = [503, 'unavailable', 'unavailable']

describe('a login (contract 3: in one transaction)', () => {
  it('leaves no player, identity, event or storage when one of a thousand keys is too long (contract 8)', async () => {
    const subject = newSubject()
    const before = await countGame()
    const data = { ...keys(0, 999), ['x'.repeat(129)]: 1 }
    const answer = await game.login(by(subject, { nickname: 'nobody', data }), { nickname: 'nobody' })
    expect(refusalOf(answer)).toEqual(INVALID_DATA)
    expect(await countGame()).toEqual(before)
    expect(await ownersOf(subject)).toEqual([])
    expect(await query(`SELECT id FROM players WHERE nickname = 'nobody'`)).toEqual([])
  })

  it.each([
    ['banned', [403, 'player banned', 'player_banned']],
    ['deleted', [403, 'player deleted', 'player_deleted']],
  ])(
    'writes nothing for a player that is %s before or during the webhook call (contract 5, contract 7.1)',
    async (state, refusal) => {
      const subject = newSubject()
      const playerId = playerOf(await game.login(by(subject, { nickname: 'before', data: { a: 1 } })))
      const end = () => query('UPDATE players SET status = $1 WHERE id = $2', [state, playerId])
      const before = await countGame()
      const change = { nickname: 'after', avatarUrl: 'https://after', data: { a: 2, b: 2 } }

      const answer = await game.login(by(subject, change, during(end)))
      expect(refusalOf(answer)).toEqual(refusal)
      for (const customData of [by(subject, change), by(subject)])
        for (const instance of [game, other]) expect(refusalOf(await loginAt(instance, customData))).toEqual(refusal)

      expect(await countGame()).toEqual(before)
      expect(await profileOf(playerId)).toMatchObject({ nickname: 'before', avatar_url: null })
      expect(await storageOf(playerId)).toEqual({ a: '1' })

      await query(`UPDATE players SET status = 'active' WHERE id = $1`, [playerId])
      expect(playerOf(await game.login(by(subject)))).toBe(playerId)
    },
  )

  it('writes nothing when Postgres is cut off or frozen during the webhook call, and succeeds on a retry', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, { ...shared, CALL_DEADLINE_MS: '10000' })
    const known = newSubject()
    const playerId = playerOf(await loginAt(instance, by(known, { data: { a: 1 } })))
    const breaks = [
      { away: () => proxy.cut({ refuse: true }), back: () => proxy.restore() },
      { away: () => proxy.pause(), back: () => proxy.resume() },
    ]
    for (const { away, back } of breaks) {
      const subjects = [known, newSubject()]
      const before = await countRows()
      let asked = 0
      const gate = during(async () => {
        asked += 1
        await until('both webhooks are asked', () => asked === 2)
        away()
      })
      const lost = await Promise.all(
        subjects.map((subject) => loginAt(instance, by(subject, { data: { a: 2 } }, gate))),
      )
      // A login that begins during the outage does not call its webhook.
      const late = await loginAt(instance, by(known))
      for (const answer of [...lost, late]) expect(refusalOf(answer)).toEqual(UNAVAILABLE)
      expect(asked).toBe(2)
      back()
      expect(await countRows()).toEqual(before)
      expect(await storageOf(playerId)).toEqual({ a: '1' })
      for (const subject of subjects) {
        const again = playerOf(await loginAt(instance, by(subject)))
        expect(await ownersOf(subject)).toEqual([again])
        expect(await created(again)).toHaveLength(1)
      }
    }
    await instance.stop()
    await proxy.close()
  })

  it('is unavailable when the answer to COMMIT is lost, and a retry is of the same player', async () => {
    const proxy = await startProxy(game.databaseUrl)
    const instance = await startInstance(proxy.url, shared)
    const subject = newSubject()
    const gate = during(() => proxy.swallowCommits(1))
    expect(refusalOf(await loginAt(instance, by(subject, { data: { a: 1 } }, gate)))).toEqual(UNAVAILABLE)
    expect(proxy.swallowed).toBe(1)
    const [owner] = await ownersOf(subject)
    expect(playerOf(await loginAt(instance, by(subject)))).toBe(owner)
    expect(await created(owner ?? '')).toHaveLength(1)
    await instance.stop()
    await proxy.close()
  })

  it('holds no database connection or transaction during the webhook call (contract 8: up to ten seconds)', async () => {
    const { pool } = game.app
    const isFree = async () => {
      if (pool.idleCount < pool.totalCount) return false
      const open = await query(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend' AND state LIKE 'idle in%'`,
      )
      return open.length === 0
    }
    // The webhook answers only once this holds.
    const gate = during(() => until('nothing is held', isFree, { deadlineMs: 2_000 }))
    playerOf(await game.login(by(newSubject(), {}, gate)))
    expect(operator.hits.filter(({ customData }) => customData.includes(gate))).toHaveLength(1)
  })
})

describe('data of the webhook (contract 8, rules on data)', () => {
  const readAll = async (token: string, asked: Json = {}) =>
    game.request('POST', '/sdk/v1/storage/get', { body: print(asked), headers: { authorization: `Bearer ${token}` } })

  it('is merged into the storage of the player and wins on a shared key', async () => {
    const subject = newSubject()
    const { body } = await game.login(by(subject, { data: { a: 'webhook', b: 'webhook' } }))
    const authorization = `Bearer ${body.accessToken}`
    const values = { b: 'client', c: 'client', d: 'client' }
    await game.request('POST', '/sdk/v1/storage/set', { body: print({ values }), headers: { authorization } })
    playerOf(await game.login(by(subject, { data: { c: 'again', e: null } })))
    const read = await readAll(body.accessToken)
    expect(read.body.values).toEqual({ a: 'webhook', b: 'client', c: 'again', d: 'client', e: null })
  })

  it('writes nothing when it is empty, null or absent, and leaves other keys alone', async () => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject, { data: { a: 1 } })))
    const stored = () => query('SELECT key, value, updated_at FROM player_storage WHERE player_id = $1', [playerId])
    const before = await stored()
    for (const data of [{}, null, undefined]) playerOf(await game.login(by(subject, { data })))
    expect(await stored()).toEqual(before)
    playerOf(await game.login(by(subject, { data: { b: 1 } })))
    expect((await stored()).filter(({ key }) => key === 'a')).toEqual(before)
  })

  it('keeps the last of duplicate keys, also when they are escaped differently', async () => {
    const data = new RawJson('{"a":1,"\\u0061":2,"b":1,"b":[3],"a":{"a":1,"a":2}}')
    const { body } = await game.login(by(newSubject(), { data }))
    expect((await readAll(body.accessToken)).text).toBe('{"values":{"a":{"a":1,"a":2},"b":[3]}}')
  })

  const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r\n ')
  const character = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }).map((c) => print(c).slice(1, -1)),
    },
    fc.integer({ min: 0, max: 0xffff }).map((unit) => `\\u${unit.toString(16).padStart(4, '0').toUpperCase()}`),
    fc.constantFrom('\\/', '\\b', '\\"', '\\\\', '\u2028', '\u007f', '😀', 'é', '}', ']', ',', ':'),
  )
  const string = fc.array(character, { maxLength: 12 }).map((parts) => `"${parts.join('')}"`)
  const number = fc.oneof(
    fc.constantFrom('0', '-0', '1.0', '1.10', '1e400', '-1E-400', '9007199254740993', '76561197960287930.50', '1E+2'),
    fc.bigInt().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
  )
  const { value: jsonText } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('true', 'false', 'null', '{}', '[ ]'),
      number,
      string,
      tie('list'),
      tie('object'),
    ),
    list: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
      .map((parts) => `[${parts.map((part) => part.join('')).join(',')}]`),
    object: fc
      .array(fc.tuple(space, string, space, space, tie('value'), space), { maxLength: 4 })
      .map((parts) => `{${parts.map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`).join(',')}}`),
  }))

  it(`comes back to the client byte for byte, for ${500 * SENDS} random values`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(space, jsonText, space), { minLength: 500, maxLength: 500 }),
        async (values) => {
          const name = (index: number) => `"${String(index).padStart(3, '0')}"`
          const data = values.map(([before, value, after], index) => `${name(index)}:${before}${value}${after}`)
          const answer = await game.login(`{"answer":{"subject":"${newSubject()}","data":{${data.join(',')}}}}`)
          playerOf(answer)
          // Exactly: in the order of the keys, without white space between members.
          const expected = values.map(([, value], index) => `${name(index)}:${value}`)
          const read = await readAll(answer.body.accessToken)
          expect(read.text).toBe(`{"values":{${expected.join(',')}}}`)
          const { data: found } = await game.graphql(
            answer.body.accessToken,
            '{ me { storage(keys: ["000", "499"]) { value } } }',
          )
          expect(found.me.storage).toEqual([{ value: values[0]?.[1] }, { value: values[499]?.[1] }])
        },
      ),
      { numRuns: SENDS, endOnFailure: true },
    )
  })

  it('is found under its exact keys, for three hundred random keys', async () => {
    const key = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 64 })
      .filter((text) => text.isWellFormed() && !text.includes('\0'))
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(key, { minLength: 97, maxLength: 97 }), async (names) => {
        const all = [...new Set([...names, '__proto__', 'constructor', '10'])]
        const data = all.map((text, index) => `${JSON.stringify(text)}:${index}`).join(',')
        const answer = await game.login(`{"answer":{"subject":"${newSubject()}","data":{${data}}}}`)
        playerOf(answer)
        const expected = all.map((text, index): [string, number] => [text, index]).sort()
        const read = await readAll(answer.body.accessToken)
        expect(Object.entries(read.body.values).sort()).toEqual(expected)
        const asked = await readAll(answer.body.accessToken, { keys: all })
        expect(Object.entries(asked.body.values).sort()).toEqual(expected)
      }),
      { numRuns: 3, endOnFailure: true },
    )
  })
})
