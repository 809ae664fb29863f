import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { members, print, RawJson } from '../../src/base/json.ts'
import { type Answer, times } from '../harness/game.ts'
import { approve, type Operator, startOperator } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'
import {
  expectTokens,
  game,
  INVALID_RESPONSE,
  playersOf,
  provide,
  refusalOf,
  startWebhookGame,
  stopWebhookGame,
  storageOf,
} from './webhook-game.ts'

beforeAll(startWebhookGame)
afterAll(stopWebhookGame)

/** Logins under way at once. */
const AT_ONCE = 8
const INVALID_DATA = [401, 'custom auth invalid data', 'custom_auth_invalid_data']

/** Row counts of the tables that a login writes to, except login_log, which also records refusals. */
async function countRows(): Promise<Record<string, string>> {
  await settled(game.app.pool)
  const tables = ['players', 'identities', 'player_storage', 'events', 'refresh_tokens']
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table}) AS ${table}`)
  const { rows } = await game.app.pool.query(`SELECT ${counts.join(', ')}`)
  return rows[0]
}

describe('the body of a 200 answer', () => {
  interface Body {
    readonly body: string | Uint8Array
    readonly headers?: Record<string, string>
  }

  let operator: Operator
  let bodies: readonly Body[] = []

  beforeAll(async () => {
    operator = await startOperator(({ customData }, response) => {
      const { body, headers } = bodies[JSON.parse(customData).index] ?? { body: '' }
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
    })
    await provide('body', operator.url)
  })
  afterAll(() => operator.close())

  /** Logs in once for each body. Returns the answers and the number of webhook calls for each. */
  async function loginForEach(given: readonly Body[]): Promise<{ answer: Answer; hits: number }[]> {
    bodies = given
    const before = operator.hits.length
    const answers: Answer[] = []
    // A few at a time: on a busy machine, an attempt of many would last longer than its three seconds.
    for (let at = 0; at < given.length; at += AT_ONCE) {
      const some = given
        .slice(at, at + AT_ONCE)
        .map((_, index) => game.login({ index: at + index }, { provider: 'body' }))
      answers.push(...(await Promise.all(some)))
    }
    const hits = operator.hits.slice(before).map(({ customData }) => JSON.parse(customData).index)
    return answers.map((answer, index) => ({ answer, hits: hits.filter((hit) => hit === index).length }))
  }

  const valid = '{"subject":"body"}'
  const INVALID: Record<string, Body> = {
    empty: { body: '' },
    'white space': { body: ' \r\n\t' },
    HTML: { body: '<!doctype html><title>Login</title>' },
    'truncated JSON': { body: '{"subject":"bo' },
    'JSON and more': { body: `${valid}${valid}` },
    'a byte order mark': { body: `\ufeff${valid}` },
    'a no-break space': { body: `\u00a0${valid}` },
    UTF16: { body: Buffer.from(valid, 'utf16le') },
    'invalid UTF-8': { body: Buffer.from('{"subject":"\xff"}', 'latin1') },
    'truncated UTF-8': { body: Buffer.from(`{"subject":"é"}`).subarray(0, -3) },
    'overlong UTF-8': { body: Buffer.from('{"subject":"\xc0\xaf"}', 'latin1') },
    'UTF-8 of a surrogate': { body: Buffer.from('{"subject":"\xed\xa0\x80"}', 'latin1') },
    'single quotes': { body: "{'subject':'body'}" },
    'a trailing comma': { body: '{"subject":"body",}' },
    'a comment': { body: '{"subject":"body"/* */}' },
    NaN: { body: '{"subject":"body","level":NaN}' },
    'a control character in a string': { body: '{"subject":"bo\ndy"}' },
    'a list': { body: '[]' },
    'a list with a valid answer': { body: `[${valid}]` },
    null: { body: 'null' },
    true: { body: 'true' },
    'a number': { body: '5' },
    'a string': { body: '"body"' },
    'an empty object': { body: '{}' },
    'no subject': { body: '{"Subject":"body","nickname":"Ada","data":{}}' },
    'a subject that is null': { body: '{"subject":null}' },
    'a subject that is a number': { body: '{"subject":5}' },
    'a subject that is a list': { body: '{"subject":["body"]}' },
    'a subject that is an object': { body: '{"subject":{}}' },
    'a subject that is true': { body: '{"subject":true}' },
    'an empty subject': { body: '{"subject":""}' },
    'a last subject that is empty': { body: '{"subject":"body","subject":""}' },
    'a subject with NUL': { body: '{"subject":"a\\u0000"}' },
    'a subject that is a lone surrogate': { body: '{"subject":"\\ud800"}' },
    'a subject with a lone low surrogate': { body: '{"subject":"a\\udc00b"}' },
    'a subject of 256 characters': { body: print({ subject: 'x'.repeat(256) }) },
    'a subject of 256 emoji': { body: print({ subject: '😀'.repeat(256) }) },
    'a nickname that is a number': { body: '{"subject":"body","nickname":5}' },
    'a nickname that is false': { body: '{"subject":"body","nickname":false}' },
    'a nickname that is an object': { body: '{"subject":"body","nickname":{}}' },
    'an avatarUrl that is a list': { body: '{"subject":"body","avatarUrl":[]}' },
    'an avatarUrl that is a number': { body: '{"subject":"body","avatarUrl":0}' },
    'data that is a list': { body: '{"subject":"body","data":[]}' },
    'data that is a string': { body: '{"subject":"body","data":"x"}' },
    'data that is a number': { body: '{"subject":"body","data":5}' },
    'data that is false': { body: '{"subject":"body","data":false}' },
    'gzip that is none': { body: valid, headers: { 'content-encoding': 'gzip' } },
    'truncated gzip': { body: gzipSync(valid).subarray(0, -4), headers: { 'content-encoding': 'gzip' } },
    'gzip that is not told': { body: gzipSync(valid) },
    'deflate that is none': { body: valid, headers: { 'content-encoding': 'deflate' } },
    'brotli that is none': { body: valid, headers: { 'content-encoding': 'br' } },
    'truncated brotli': { body: brotliCompressSync(valid).subarray(0, -2), headers: { 'content-encoding': 'br' } },
    'gzip twice': { body: gzipSync(gzipSync(valid)), headers: { 'content-encoding': 'gzip, gzip' } },
  }

  it('is an invalid response after one attempt when it breaks contract 2.3 (contract 7.1)', async () => {
    const before = await countRows()
    const seen = await loginForEach(Object.values(INVALID))
    const names = Object.keys(INVALID)
    expect(seen.map(({ answer, hits }, index) => [names[index], ...refusalOf(answer), hits])).toEqual(
      names.map((name) => [name, ...INVALID_RESPONSE, 1]),
    )
    expect(await countRows()).toEqual(before)
  })

  const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const VALID: Record<string, Body> = {
    'a subject of one character': { body: '{"subject":"."}' },
    'a subject of 255 characters': { body: print({ subject: 'x'.repeat(255) }) },
    'a subject of 255 emoji': { body: print({ subject: '😀'.repeat(255) }) },
    'a subject of spaces': { body: '{"subject":"  "}' },
    'an escaped subject': { body: '{"\\u0073ubject":"\\ud83d\\ude00"}' },
    'the last of two subjects': { body: '{"subject":5,"subject":"body"}' },
    'the last of two data': { body: '{"data":[],"subject":"body","data":{}}' },
    'white space around': { body: `\r\n\t ${valid} \n` },
    'null for nickname, avatarUrl and data': {
      body: '{"subject":"body","nickname":null,"avatarUrl":null,"data":null}',
    },
    'empty data': { body: '{"subject":"body","data":{}}' },
    'fields that nobody knows': { body: '{"subject":"body","a":1e400,"__proto__":{"b":[]},"constructor":null}' },
    'another content type': { body: valid, headers: { 'content-type': 'text/html; charset=utf-16' } },
    'deep nesting where nobody looks': { body: `{"subject":"body","more":${nested}}` },
    gzip: { body: gzipSync(valid), headers: { 'content-encoding': 'gzip' } },
    'gzip in capitals': { body: gzipSync(valid), headers: { 'content-encoding': 'GZIP' } },
    'gzip by its old name': { body: gzipSync(valid), headers: { 'content-encoding': 'x-gzip' } },
    deflate: { body: deflateSync(valid), headers: { 'content-encoding': 'deflate' } },
    brotli: { body: brotliCompressSync(valid), headers: { 'content-encoding': 'br' } },
    'an encoding that is none': { body: valid, headers: { 'content-encoding': 'constructor' } },
    'an encoding that is no property': { body: valid, headers: { 'content-encoding': '__proto__' } },
    'an encoding that changes nothing': { body: valid, headers: { 'content-encoding': 'identity' } },
  }

  it('is accepted with a million members and is an invalid response with more', async () => {
    const body = (count: number) => `{"subject":"body"${',"":0'.repeat(count - 1)}}`
    const seen = await loginForEach([{ body: body(1_000_001) }, { body: body(1_000_000) }])
    expect(refusalOf(seen[0]?.answer as Answer)).toEqual(INVALID_RESPONSE)
    expectTokens(seen[1]?.answer as Answer)
  })

  it('is accepted in every form that contract 2.3 allows, compressed or not', async () => {
    const seen = await loginForEach(Object.values(VALID))
    const names = Object.keys(VALID)
    expect(seen.map(({ answer, hits }, index) => [names[index], answer.status, answer.body.error, hits])).toEqual(
      names.map((name) => [name, 200, undefined, 1]),
    )
    expect(await playersOf('😀'.repeat(255))).toHaveLength(1)
    expect(await playersOf('😀')).toHaveLength(1)
  })

  describe('nickname and avatarUrl (contract 2.3)', () => {
    const NOTES = `query ($subject: String!) {
      loginLog(environment: "production", subject: $subject) { edges { node { outcome notes } } } }`
    const notesOf = async (subject: string): Promise<{ outcome: string; notes: string[] }[]> => {
      const { data } = await game.graphql(game.platformKey, NOTES, { subject })
      return data.loginLog.edges.map(({ node }: { node: unknown }) => node)
    }
    const emoji = '\u{1f600}'
    // Each grows to three times its bytes when it is normalized and folded, and compresses badly.
    const growing = (count: number) => times(count, (index) => String.fromCodePoint(0x1d15e + (index % 7))).join('')

    it.each([
      ['characters', 'n'.repeat(1_024), `https://cdn.example/${'a'.repeat(8_172)}`],
      ['emoji', emoji.repeat(1_024), emoji.repeat(8_192)],
      ['what grows in an index', growing(1_024), growing(8_192)],
      ['what is no more than before', `before ${growing(121)}`, 'x'.repeat(2_048)],
    ])('are stored within the limits of 1,024 and 8,192 characters: %s', async (what, nickname, avatarUrl) => {
      const subject = `longest ${what}`
      for (const _ of times(2, () => 0)) {
        const [seen] = await loginForEach([{ body: print({ subject, nickname, avatarUrl }) }])
        expectTokens(seen?.answer as Answer)
        expect(await playersOf(subject)).toMatchObject([{ nickname, avatar: avatarUrl }])
      }
      const { data } = await game.graphql(
        game.platformKey,
        `query ($search: String) { players(environment: "production", search: $search) { edges { node { nickname } } } }`,
        { search: [...nickname].slice(0, 100).join('') },
      )
      expect(data.players.edges).toEqual([{ node: { nickname } }])
      expect(await notesOf(subject)).toEqual(times(2, () => ({ outcome: 'OK', notes: [] })))
    })

    const IGNORED: Record<string, readonly [nickname: string, avatarUrl: string]> = {
      'one character more': [JSON.stringify('n'.repeat(1_025)), JSON.stringify('a'.repeat(8_193))],
      'one emoji more': [JSON.stringify(emoji.repeat(1_025)), JSON.stringify(emoji.repeat(8_193))],
      megabytes: [JSON.stringify('n'.repeat(2 ** 21)), JSON.stringify('\u00e9'.repeat(2 ** 21))],
      NUL: ['"a\\u0000b"', '"\\u0000"'],
      'half a surrogate pair': ['"Ada \\ud83d"', '"\\udfff"'],
    }
    it.each(Object.entries(IGNORED))(
      'are ignored, with a note in the login log, when they have %s',
      async (what, said) => {
        const subject = `ignored ${what}`
        const body = (nickname: string, avatarUrl: string) => ({
          body: `{"subject":${JSON.stringify(subject)},"nickname":${nickname},"avatarUrl":${avatarUrl},"data":{"a":1}}`,
        })
        bodies = [body(...said)]
        expectTokens(await game.login({ index: 0 }, { provider: 'body', nickname: 'from the client' }))
        expect(await playersOf(subject)).toMatchObject([{ nickname: 'from the client', avatar: null }])
        await loginForEach([body('"Ada"', '"https://a.example"')])
        await loginForEach([body(said[0], '""'), body('"Countess"', said[1])])
        expect(await playersOf(subject)).toMatchObject([{ nickname: 'Countess', avatar: 'https://a.example' }])
        const [third, second, first, ...none] = await notesOf(subject)
        expect([none.length, first?.notes]).toEqual([1, []])
        expect(none[0]).toEqual({ outcome: 'OK', notes: ['NICKNAME_IGNORED', 'AVATAR_IGNORED'] })
        // These two logins were concurrent.
        expect([second?.notes, third?.notes].sort()).toEqual([['AVATAR_IGNORED'], ['NICKNAME_IGNORED']])
        expect(await storageOf(subject)).toEqual({ a: '1' })
      },
    )

    it('have the note also for links, refused logins and dry runs', async () => {
      const nickname = 'n'.repeat(1_025)
      const player = await game.player()
      bodies = [
        { body: print({ subject: 'noted', nickname }) },
        { body: print({ subject: 'noted', nickname, data: { '': 1 } }) },
      ]
      expect((await game.link(player.token, { index: 0 }, { provider: 'body' })).status).toBe(204)
      expect((await game.login({ index: 1 }, { provider: 'body' })).status).toBe(401)
      await game.app.pool.query("UPDATE players SET status = 'banned' WHERE id = $1", [player.playerId])
      expect((await game.login({ index: 0 }, { provider: 'body' })).status).toBe(403)
      expect(await notesOf('noted')).toEqual(
        ['PLAYER_BANNED', 'CUSTOM_AUTH_INVALID_DATA', 'OK'].map((outcome) => ({
          outcome,
          notes: ['NICKNAME_IGNORED'],
        })),
      )
      const { data } = await game.graphql(
        game.platformKey,
        'mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { status notes } }',
        { input: { environment: 'production', provider: 'body', customData: { index: 0 } } },
      )
      expect(data.testAuthProvider).toEqual({ status: 200, notes: ['NICKNAME_IGNORED'] })
    })
  })

  describe('claims', () => {
    const nest = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    const FAULTY: Record<string, string> = {
      'a list': '[]',
      'a text': '"{}"',
      false: 'false',
      '2,049 bytes': `{"a":"${'x'.repeat(2_041)}"}`,
      'fewer characters, but 2,049 bytes': `{"a":"${'é'.repeat(1_020)}x"}`,
      '15 MiB': `{"a":"${'x'.repeat(15 * 2 ** 20)}"}`,
      'an object that nests too deep': nest(17),
      'an object with a repeated member': '{"a":{"rank":1,"rank":2}}',
      'an object with a prototype': '{"a":[{"__proto__":{"admin":true}}]}',
      'an object with an escaped prototype': '{"\\u005f_proto__":1}',
    }
    const FITTING: Record<string, string> = {
      'an object': '{"rank":"gold"}',
      'an object of 2,048 bytes': `{"a":"${'x'.repeat(2_040)}"}`,
      'an object that nests as deep as it may': nest(16),
      'an object with names of this service': '{"sub":"x","constructor":{},"exp":0}',
    }
    const all = { ...FAULTY, ...FITTING, null: 'null' }

    beforeAll(() => provide('claims', operator.url, 's', { claims: true }))

    const logIn = async (claims: string, provider: string) => {
      bodies = [{ body: `{"subject":"of claims","claims":${claims}}` }]
      const answer = await game.login({ index: 0 }, { provider })
      expectTokens(answer)
      const { rows } = await game.app.pool.query('SELECT notes FROM login_log ORDER BY id DESC LIMIT 1')
      const payload = Buffer.from(answer.body.accessToken.split('.')[1], 'base64url').toString()
      return { claims: members(payload).get('claims'), notes: JSON.parse(rows[0].notes) }
    }

    it.each(Object.entries(all))(
      'are ignored like any other member, without a note, unless the provider has them: %s',
      async (_what, claims) => {
        expect(await logIn(claims, 'body')).toEqual({ claims: undefined, notes: [] })
      },
    )

    it.each(Object.entries(FAULTY))(
      'are left out of the token, with a note in the login log: %s',
      async (_what, claims) => {
        expect(await logIn(claims, 'claims')).toEqual({ claims: undefined, notes: ['claims ignored'] })
      },
    )

    it.each(Object.entries(FITTING))('are in the token as they were sent: %s', async (_what, claims) => {
      expect(await logIn(claims, 'claims')).toEqual({ claims, notes: [] })
    })

    it('are none when they are null, and the last of two count', async () => {
      expect(await logIn('null', 'claims')).toEqual({ claims: undefined, notes: [] })
      expect(await logIn('[],"claims":{}', 'claims')).toEqual({ claims: '{}', notes: [] })
    })

    it('are a setting that answers show only where it is set', async () => {
      const { body } = await game.request(
        'GET',
        `/platform/v1/projects/${game.projectId}/auth-providers?environment=production`,
        { headers: { authorization: `Bearer ${game.platformKey}` } },
      )
      const { body: plain, claims } = body.authProviders.custom
      expect(Object.keys(plain)).toEqual(['enabled', 'url', 'hasSecret', 'updatedAt'])
      expect(claims).toMatchObject({ claims: true })
      expect(claims).not.toHaveProperty('denialReasons')
    })
  })

  it('stores each value of data verbatim, and the last of duplicate keys (contract 2.3, contract 8)', async () => {
    const values: Record<string, string> = {
      number: '1.0',
      big: '12345678901234567890',
      infinite: '-1E+400',
      text: '"\\u0000\\ud800\\/ é 😀"',
      object: '{ "b" : 1, "a" : 2,\t"10":[ ], "b":3 }',
      null: 'null',
      deep: nested,
    }
    const entries = [...Object.entries(values), ['__proto__', '{"polluted":true}'] as const]
    const members = entries.map(([key, value]) => `${JSON.stringify(key)}: ${value} `)
    const [seen] = await loginForEach([{ body: `{"subject":"verbatim","data":{"text":0,${members.join(',')}}}` }])
    expectTokens(seen?.answer as Answer)
    const stored = await storageOf('verbatim')
    for (const [key, value] of entries) expect(Object.entries(stored)).toContainEqual([key, value])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })
})

describe('data and the limits of storage (contract 8: 401, and nothing is written)', () => {
  let operator: Operator

  beforeAll(async () => {
    operator = await startOperator()
    await provide('data', operator.url)
  })
  afterAll(() => operator.close())

  /** One login with this subject and the text of this data. */
  async function loginWith(subject: string, data: string): Promise<Answer> {
    operator.answer(
      approve({ subject, nickname: 'New', avatarUrl: 'https://cdn.example/new', data: new RawJson(data) }),
    )
    return game.login({}, { provider: 'data', nickname: 'Client' })
  }

  const keys = (count: number) => `{${times(count, (index) => `"key ${index}":${index}`).join(',')}}`
  const good = '"a":1,"b":{"c":[]}'
  const EXCEEDING: Record<string, string> = {
    'a key of 129 characters': `{${good},"${'k'.repeat(129)}":1}`,
    'a key of 129 emoji': `{${good},"${'😀'.repeat(129)}":1}`,
    'a key of 129 escapes': `{${good},"${'\\u00e9'.repeat(129)}":1}`,
    'a key of 70,000 characters': `{${good},"${'k'.repeat(70_000)}":1}`,
    'an empty key': `{${good},"":1}`,
    'a key with NUL': `{${good},"a\\u0000":1}`,
    'a key with a lone surrogate': `{${good},"\\ud800":1}`,
    'a value of 65,537 bytes': `{${good},"v":"${'x'.repeat(65_535)}"}`,
    'a value of 65,537 bytes in fewer characters': `{${good},"v":"${'é'.repeat(32_767)}x"}`,
    'a value of 65,540 bytes in emoji': `{${good},"v":"${'😀'.repeat(16_384)}xx"}`,
    'a value of 65,537 bytes of white space': `{${good},"v":[${' '.repeat(65_535)}]}`,
    'a value of 65,537 bytes in escapes': `{${good},"v":"${'\\u0041'.repeat(10_922)}xxx"}`,
    '1,001 keys': keys(1001),
    '100,000 keys': keys(100_000),
    'a second data over the limits': `{"a":1},"data":${keys(1001)}`,
  }

  it.each(Object.entries(EXCEEDING))('is refused with %s, for a new player and a known one', async (_what, data) => {
    expectTokens(await loginWith('known', '{"old":"value"}'))
    const player = await playersOf('known')
    const before = await countRows()

    operator.answer(approve(`{"subject":"unknown","nickname":"New","data":${data}}`))
    expect(refusalOf(await game.login({}, { provider: 'data', nickname: 'Client' }))).toEqual(INVALID_DATA)
    operator.answer(approve(`{"subject":"known","nickname":"Changed","avatarUrl":"https://x.example","data":${data}}`))
    expect(refusalOf(await game.login({}, { provider: 'data' }))).toEqual(INVALID_DATA)

    expect(await countRows()).toEqual(before)
    expect(await playersOf('unknown')).toEqual([])
    expect(await playersOf('known')).toEqual(player)
    expect(await storageOf('known')).toEqual({ old: '"value"' })
  })

  it.each([
    ['an empty subject before it', (data: string) => `{"subject":"","data":${data}}`],
    ['an empty subject after it', (data: string) => `{"data":${data},"subject":""}`],
    ['no subject', (data: string) => `{"data":${data}}`],
    ['a nickname that is a number', (data: string) => `{"data":${data},"subject":"unseen","nickname":5}`],
    ['a rest that is not JSON', (data: string) => `{"subject":"unseen","data":${data},:}`],
    ['no end', (data: string) => `{"subject":"unseen","data":${data}`],
  ])('over a limit counts less than a broken answer: %s', async (_what, bodyOf) => {
    for (const data of [keys(1001), `{"${'k'.repeat(129)}":1}`, '{"":1}', `{"v":"${'x'.repeat(65_535)}"}`]) {
      operator.answer(approve(bodyOf(data)))
      expect(refusalOf(await game.login({}, { provider: 'data' }))).toEqual(INVALID_RESPONSE)
    }
    expect(await playersOf('unseen')).toEqual([])
  })

  it('is not limited by nested members or by other fields of the answer', async () => {
    const inner = `{${times(20_000, (index) => `"${index}":{}`).join(',')}}`
    operator.answer(approve(`{"more":${inner},"data":{"list":[${'1,'.repeat(30_000)}1]},"subject":"wide"}`))
    expectTokens(await game.login({}, { provider: 'data' }))
    expect(Object.keys(await storageOf('wide'))).toEqual(['list'])
  })

  it('is not requested again when it is over the limits (contract 7.1: not retried)', async () => {
    const before = operator.hits.length
    await loginWith('once', '{"":1}')
    expect(operator.hits.length - before).toBe(1)
  })

  const FITTING: Record<string, string> = {
    'a key of 128 characters': `{"${'k'.repeat(128)}":1}`,
    'a key of 128 emoji': `{"${'😀'.repeat(128)}":1}`,
    'a value of 65,536 bytes': `{"v":"${'x'.repeat(65_534)}"}`,
    'a value of 65,536 bytes in fewer characters': `{"v":"${'é'.repeat(32_767)}"}`,
    'a value of 65,536 bytes, with space around': `{"v":  "${'x'.repeat(65_534)}"  }`,
    '1,000 keys': keys(1000),
    'one key 10,001 times': `{${times(10_001, (index) => `"a":${index}`).join(',')}}`,
    'a key whose first value is too long': `{"v":"${'x'.repeat(65_535)}","v":1}`,
    '1,000 keys, one of them twice': keys(1000).replace('{', '{"key 0":"first",'),
  }

  it.each(Object.entries(FITTING))('is accepted with %s', async (what, data) => {
    expectTokens(await loginWith(`fitting ${what}`, data))
    const expected = Object.entries(JSON.parse(data)).map(([key, value]) => [key, JSON.stringify(value)])
    expect(Object.entries(await storageOf(`fitting ${what}`)).sort()).toEqual(expected.sort())
  })

  it('is limited together with the keys that the player already has', async () => {
    expectTokens(await loginWith('full', keys(999)))
    const before = await storageOf('full')
    expect(refusalOf(await loginWith('full', '{"key 0":"changed","one":1,"two":2}'))).toEqual(INVALID_DATA)
    expect(await storageOf('full')).toEqual(before)
    expectTokens(await loginWith('full', '{"key 0":"changed","one":1}'))
    expect(await storageOf('full')).toEqual({ ...before, 'key 0': '"changed"', one: '1' })
    expect(refusalOf(await loginWith('full', '{"two":2}'))).toEqual(INVALID_DATA)
    expectTokens(await loginWith('full', '{"one":"again"}'))
    expect(Object.keys(await storageOf('full'))).toHaveLength(1000)
  })
})
