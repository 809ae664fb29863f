import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { type Game, startGame } from '../harness/game.ts'
import { approve, type Operator, signatureOf, startOperator, status } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'

let game: Game
let operator: Operator

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())
beforeEach(async () => {
  operator = await startOperator()
  await game.setProviders({
    default: { enabled: true, url: operator.url, secret: operator.secret, claims: true },
    off: { enabled: false, url: operator.url, secret: operator.secret },
  })
})
afterEach(() => operator?.close())

const TEST = `mutation ($input: TestAuthProviderInput!) {
  testAuthProvider(input: $input) { status outcome subject attempts { status milliseconds error cause excerpt hint }
  notices { path message } oddBody { result message customDataText attempts { status cause excerpt } } } }`
async function rehearse(input: object, credentials = game.platformKey) {
  return game.graphql(credentials, TEST, {
    input: { environment: 'production', customData: '{"player":"ada"}', ...input },
  })
}

describe('a dry run of a login', () => {
  it('sends customData unchanged and signed, answers the subject and writes nothing (contract 4.4)', async () => {
    const { data } = await rehearse({ customData: '{"n": 12345678901234567890, "player": "ada"}' })
    expect(data.testAuthProvider).toMatchObject({
      status: 200,
      outcome: 'OK',
      subject: 'ada',
      attempts: [{ status: 200 }],
    })
    const [hit] = operator.hits
    if (!hit) throw new Error('no request arrived')
    expect(hit.body.toString()).toBe('{"customData":{"n": 12345678901234567890, "player": "ada"}}')
    expect(hit.headers['x-signature']).toBe(signatureOf(operator.secret, hit.body))
    expect(hit.headers['content-type']).toBe('application/json')
    await settled(game.app.pool)
    for (const table of ['players', 'identities', 'login_log', 'events', 'refresh_tokens']) {
      expect((await game.app.pool.query(`SELECT FROM ${table}`)).rowCount, table).toBe(0)
    }
  })

  it('answers what a login would store, byte for byte, and notes what it would ignore', async () => {
    const STORED =
      'mutation ($input: TestAuthProviderInput!) { testAuthProvider(input: $input) { nickname avatarUrl data dataText claims claimsText notes } }'
    const stored = async () => {
      const input = { environment: 'production', customData: '{}' }
      return (await game.graphql(game.platformKey, STORED, { input })).data.testAuthProvider
    }
    operator.answer(
      approve(
        '{"subject":"ada","nickname":"Ada","avatarUrl":"https://a.example/ada.png","data":{"n":12345678901234567890, "x":1.0},"claims":{ "steam": 76561198000000001, "elo":1.0}}',
      ),
    )
    expect(await stored()).toEqual({
      nickname: 'Ada',
      avatarUrl: 'https://a.example/ada.png',
      data: { n: '12345678901234567890', x: 1 },
      dataText: '{"n":12345678901234567890,"x":1.0}',
      claims: { steam: '76561198000000001', elo: 1 },
      claimsText: '{ "steam": 76561198000000001, "elo":1.0}',
      notes: [],
    })
    const nothing = { nickname: null, avatarUrl: null, data: null, dataText: null, claims: null, claimsText: null }
    operator.answer(approve({ subject: 'ada', nickname: 'a'.repeat(1_025), data: {} }))
    expect(await stored()).toEqual({ ...nothing, notes: ['NICKNAME_IGNORED'] })
    operator.answer(approve({ subject: 'ada', nickname: 'Ada', data: { '': 1 } }))
    expect(await stored()).toEqual({ ...nothing, notes: [] })
  })

  it.each([
    ['a denial', status(403), 401, 'CUSTOM_AUTH_REJECTED', [403]],
    ['three failures', status(500), 503, 'CUSTOM_AUTH_UNAVAILABLE', [500, 500, 500]],
    ['a redirect', status(302), 502, 'CUSTOM_AUTH_INVALID_RESPONSE', [302]],
    ['an invalid answer', approve('[]'), 502, 'CUSTOM_AUTH_INVALID_RESPONSE', [200]],
    ['data over the limits', approve({ subject: 'a', data: { '': 1 } }), 401, 'CUSTOM_AUTH_INVALID_DATA', [200]],
  ])('answers what a client would get after %s (contract 7.1)', async (_what, respond, code, outcome, attempts) => {
    operator.answer(respond)
    const { data } = await rehearse({})
    expect(data.testAuthProvider).toMatchObject({ status: code, outcome, subject: null })
    expect(data.testAuthProvider.attempts.map((attempt: { status: number }) => attempt.status)).toEqual(attempts)
  })

  it('names every fault of an answer, and those of its claims in notices', async () => {
    operator.answer(approve('{"nickname":7,"data":[]}'))
    const { data } = await rehearse({})
    expect(data.testAuthProvider.outcome).toBe('CUSTOM_AUTH_INVALID_RESPONSE')
    expect(data.testAuthProvider.attempts[0].cause.split('; ')).toEqual([
      'subject: is required',
      'nickname: must be a string, was a number',
      'data: must be an object, was an array',
    ])
    const noticesFor = async (claims: string) => {
      operator.answer(approve(`{"subject":"a","claims":${claims}}`))
      const { outcome, notices } = (await rehearse({})).data.testAuthProvider
      expect(outcome).toBe('OK')
      return notices
    }
    const deep = `${'['.repeat(16)}${']'.repeat(16)}`
    expect(await noticesFor(`{"a":{"x":1,"x":2},"b":[{"__proto__":1}],"c":${deep}}`)).toEqual([
      { path: 'claims', message: 'must not nest deeper than 16' },
      { path: 'claims.a.x', message: 'must stand once' },
      { path: 'claims.b[0].__proto__', message: 'must have another name' },
    ])
    expect(await noticesFor(`{"a":"${'x'.repeat(3_000)}"}`)).toEqual([
      { path: 'claims', message: 'must be at most 2048 bytes of JSON, was 3008' },
    ])
    expect(await noticesFor('"x"')).toEqual([{ path: 'claims', message: 'must be an object, was a string' }])
  })

  it('shows the start of a refusal, without customData and secrets, and a hint', async () => {
    const token = 'a-token-of-the-player'
    const say = (code: number, body: string | Buffer, type = 'text/plain') =>
      operator.answer((_hit, response) => void response.writeHead(code, { 'content-type': type }).end(body))
    const attempt = async () => {
      const { data } = await rehearse({ customData: JSON.stringify({ player: 'ada', token }) })
      return data.testAuthProvider.attempts[0]
    }
    say(403, `unknown\r\n\ttoken ${token}, key ${operator.secret} \u0000 ${'é😀'.repeat(200)}`)
    const refused = await attempt()
    expect(refused).toMatchObject({ status: 403, hint: 'signature refused by the receiver?' })
    expect(refused.excerpt).toBe([...`unknown token …, key … ${'é😀'.repeat(200)}`].slice(0, 200).join(''))
    operator.answer((hit, response) => void response.writeHead(401).end(`bad ${hit.headers['x-signature']}`))
    expect(await attempt()).toMatchObject({ excerpt: 'bad …', hint: 'signature refused by the receiver?' })
    say(404, '{"error":"no such player"}', 'application/json')
    expect(await attempt()).toMatchObject({ status: 404, excerpt: '{"error":"no such player"}', hint: null })
    for (const body of ['', ' \n', Buffer.from([0xff, 0xfe, 0x00])]) {
      say(400, body)
      expect(await attempt()).toMatchObject({ status: 400, excerpt: null })
    }
    // As PHP writes JSON, in a URL, and as a part of the value.
    const escaped = JSON.stringify({ error: 'ab/cdefgh"ij' }).replaceAll('/', '\\/')
    for (const [sent, body, excerpt] of [
      ['ab/cdefgh"ij', escaped, '{"error":"…"}'],
      ['a b&c=d e f g h', `at ${encodeURIComponent('a b&c=d e f g h')} end`, 'at … end'],
      ['eyJhbGciOiJFZERTQSJ9', 'bad token eyJhbGciOi, sorry', 'bad token …, sorry'],
    ]) {
      say(403, body ?? '')
      const { data } = await rehearse({ customData: JSON.stringify({ player: 'ada', sent }) })
      expect(data.testAuthProvider.attempts[0].excerpt).toBe(excerpt)
    }
    say(403, 'no such pin: 123456789')
    expect((await rehearse({ customData: '{"pin":123456789}' })).data.testAuthProvider.attempts[0].excerpt).toBe(
      'no such pin: …',
    )
    say(500, 'a stack trace')
    expect(await attempt()).toMatchObject({ status: 500, excerpt: 'a stack trace', hint: null })
  })

  const invalid = 'CUSTOM_AUTH_INVALID_RESPONSE'
  it.each<[string, number, string, string, string]>([
    ['a number as subject', 200, '{"subject":42}', invalid, 'subject: must be a string, was a number'],
    ['no subject', 200, '{}', invalid, 'subject: is required'],
    ['an empty subject', 200, '{"subject":""}', invalid, 'subject: must be 1 to 255 characters'],
    ['null as subject', 200, '{"subject":null}', invalid, 'subject: must be a string, was null'],
    [
      'a subject in the wrong case',
      200,
      '{"Subject":"ada"}',
      invalid,
      'subject: is required; the answer has "Subject", and names are case-sensitive',
    ],
    ['a number as nickname', 200, '{"subject":"a","nickname":5}', invalid, 'nickname: must be a string, was a number'],
    ['an array as data', 200, '{"subject":"a","data":[]}', invalid, 'data: must be an object, was an array'],
    [
      'several faults',
      200,
      '{"subject":1,"nickname":true,"avatarUrl":{},"data":"x"}',
      invalid,
      'subject: must be a string, was a number; nickname: must be a string, was a boolean; avatarUrl: must be a string, was an object; data: must be an object, was a string',
    ],
    ['HTML', 200, '<html></html>', invalid, 'the answer must be JSON: line 1, column 1: unexpected "<"'],
    [
      'a warning before the JSON',
      200,
      'Warning: undefined index\n{"subject":"a"}',
      invalid,
      'the answer must be JSON: line 1, column 1: unexpected "W"',
    ],
    [
      'JSON that is cut',
      200,
      '{"subject":\n"a"',
      invalid,
      'the answer must be JSON: line 2, column 4: the text ends too early',
    ],
    [
      'a byte order mark',
      200,
      '\ufeff{"subject":"a"}',
      invalid,
      'the answer must be JSON: line 1, column 1: the text begins with a byte order mark (U+FEFF), which JSON does not allow',
    ],
    ['a list', 200, '["a"]', invalid, 'the answer must be a JSON object, was an array'],
    ['nothing', 200, '', invalid, 'the answer is empty: it must be a JSON object with a subject'],
    [
      'a key in data that is too long',
      200,
      print({ subject: 'a', data: { ['k'.repeat(129)]: 1 } }),
      'CUSTOM_AUTH_INVALID_DATA',
      `data.${'k'.repeat(129)}: the key must have 1 to 128 characters`,
    ],
    ['a 201', 201, '{"subject":"a"}', invalid, 'status 201: only 200 accepts a player'],
    [
      'a redirect',
      301,
      'Moved',
      invalid,
      'status 301: redirects are not followed; this one leads to https://www.example.com/login',
    ],
    [
      'a denial',
      403,
      'no such ticket',
      'CUSTOM_AUTH_REJECTED',
      'status 403: the endpoint refused the player or the request',
    ],
    ['a failure', 502, 'Bad Gateway', 'CUSTOM_AUTH_UNAVAILABLE', 'status 502: the endpoint failed'],
  ])(
    'says why %s lets no player in, with the answer, as the login log does',
    async (_what, code, text, outcome, cause) => {
      operator.answer((_hit, response) => {
        const location = code === 301 ? { location: 'https://www.example.com/login' } : {}
        response.writeHead(code, { 'content-type': 'text/plain', ...location }).end(text)
      })
      const excerpt = text === '' ? null : text.replace('\ufeff', '').replaceAll('\n', ' ').slice(0, 200)
      const { data } = await rehearse({})
      expect(data.testAuthProvider.outcome).toBe(outcome)
      expect(data.testAuthProvider.attempts.at(-1)).toMatchObject({ status: code, error: null, cause, excerpt })
      expect(data.testAuthProvider.oddBody).toBeNull()

      const { body } = await game.login({ player: 'ada' })
      expect(body.details).toBeUndefined()
      const LOG =
        '{ loginLog(environment: "production", first: 1) { nodes { outcome attempts { status cause excerpt } } } }'
      const [entry] = (await game.graphql(game.platformKey, LOG)).data.loginLog.nodes
      // The log keeps no values of an answer that names a player.
      const logged = code === 200 && excerpt !== null ? expect.any(String) : excerpt
      expect([entry.outcome, entry.attempts.at(-1)]).toEqual([outcome, { status: code, cause, excerpt: logged }])
    },
  )

  it('shows no secret and no text of customData in a cause', async () => {
    const token = 'a-token-of-the-player'
    operator.answer((hit, response) => {
      const echoed = { subject: 'ada', data: { [`${token}${hit.headers['x-signature']}${'k'.repeat(60)}`]: 1 } }
      void approve(echoed)(hit, response)
    })
    const { data } = await rehearse({ customData: print({ token }) })
    const [{ cause, excerpt }] = data.testAuthProvider.attempts
    expect(cause).toBe(`data.…${'k'.repeat(60)}: the key must have 1 to 128 characters`)
    expect(excerpt).not.toContain(token)
  })

  it('names the secrets that signed in the hint, while a rotation overlaps', async () => {
    const ROTATE = `mutation ($input: RotateProviderSecretInput!) { rotateProviderSecret(input: $input) { secret } }`
    const rotate = () =>
      game.graphql(game.platformKey, ROTATE, {
        input: { environment: 'production', name: 'default', reason: 'test', overlapSeconds: 3600 },
      })
    const hint = async () => (await rehearse({})).data.testAuthProvider.attempts[0].hint
    operator.answer(status(401))
    await rotate()
    expect(await hint()).toBe(
      'signature refused by the receiver? Tried were the current secret, in X-Signature and webhook-signature, and the secret that it replaced, in webhook-signature alone.',
    )
    await rotate()
    expect(await hint()).toContain('and the 2 secrets that it replaced')
  })

  it('calls the webhook once, with nothing added, so that a ticket that works once is enough', async () => {
    const used = new Set<string>()
    operator.answer((hit, response) => {
      const isFresh = !used.has(hit.customData)
      used.add(hit.customData)
      void (isFresh ? approve({ subject: 'ada' }) : status(401))(hit, response)
    })
    for (const oddBody of [undefined, null, false]) {
      const customData = print({ ticket: `once, ${oddBody}` })
      const before = operator.hits.length
      const { data } = await rehearse({ customData, oddBody })
      expect(data.testAuthProvider).toMatchObject({ outcome: 'OK', oddBody: null })
      expect(operator.hits.slice(before).map((hit) => hit.customData)).toEqual([customData])
    }
  })

  it('finds, on demand, a receiver that verifies JSON which it has parsed and printed again', async () => {
    const careful = await rehearse({ customData: '{"player":"ada","n":[1]}', oddBody: true })
    const { oddBody } = careful.data.testAuthProvider
    expect(oddBody).toMatchObject({ result: 'ACCEPTED', message: null, attempts: [{ status: 200 }] })
    const [plain, odd] = operator.hits
    expect(odd?.customData).toBe(oddBody.customDataText)
    expect(odd?.headers['webhook-id']).toBe(plain?.headers['webhook-id'])
    expect(odd?.headers['x-signature']).toBe(signatureOf(operator.secret, odd?.body ?? Buffer.of()))
    expect(odd?.customData).toMatch(/ : 1\.0 , .* : 76561198000000001 , .*\\u0041/)
    const { tierwayOddBody, ...same } = JSON.parse(odd?.customData ?? '')
    expect(same).toEqual({ player: 'ada', n: [1] })
    expect(tierwayOddBody).toMatchObject({ float: 1, escapes: 'A/é' })

    operator.answer((hit, response) => {
      const printed = Buffer.from(JSON.stringify(JSON.parse(hit.body.toString())))
      const isSigned = hit.headers['x-signature'] === signatureOf(operator.secret, printed)
      return isSigned ? approve({ subject: 'ada' })(hit, response) : status(401)(hit, response)
    })
    const { data } = await rehearse({ customData: '{"player":"ada"}', oddBody: true })
    expect(data.testAuthProvider).toMatchObject({ status: 200, outcome: 'OK', oddBody: { result: 'REFUSED' } })
    expect(data.testAuthProvider.oddBody.message).toContain('verify the received bytes, before parsing')
  })

  it('has notices about what a login accepts and nobody means', async () => {
    operator.answer(approve('{"subject":"x","subject":" ada\\n","nickName":"Ada","Data":{"a":1},"other":1}'))
    const { data } = await rehearse({})
    expect(data.testAuthProvider.outcome).toBe('OK')
    expect(data.testAuthProvider.notices).toEqual([
      { path: 'subject', message: 'begins and ends with white space, which counts: " ada\\n"' },
      { path: 'subject', message: 'is repeated: only the last of several members with the same name counts' },
      { path: 'nickName', message: 'is ignored: no rule knows this member; did you mean nickname?' },
      { path: 'Data', message: 'is ignored: no rule knows this member; did you mean data?' },
    ])
  })

  it('does not wait for the end of a refusal that never ends', async () => {
    operator.answer((_hit, response) => void response.writeHead(403).write('not today'))
    const { data } = await rehearse({})
    const { attempts } = data.testAuthProvider
    expect(attempts).toMatchObject([{ status: 403, excerpt: 'not today' }])
    expect(attempts[0].milliseconds).toBeLessThan(2_500)
  })

  it('answers CUSTOM_AUTH_DISABLED for a disabled or unknown provider (contract 5)', async () => {
    for (const provider of ['off', 'nobody', 'google']) {
      const { data } = await rehearse({ provider })
      expect(data.testAuthProvider).toEqual({
        status: 401,
        outcome: 'CUSTOM_AUTH_DISABLED',
        subject: null,
        attempts: [],
        notices: [],
        oddBody: null,
      })
    }
  })

  it('needs the admin role, and a refused attempt is audited', async () => {
    const { errors } = await rehearse({}, await game.key('operator'))
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    expect(operator.hits).toEqual([])
    const { rows } = await game.app.pool.query("SELECT FROM audit_log WHERE action = 'auth_providers.test.denied'")
    expect(rows).toHaveLength(1)
  })
})
