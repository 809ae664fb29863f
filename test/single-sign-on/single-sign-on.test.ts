import { decodeJwt } from 'jose'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SignOnTest } from '../../src/project/single-sign-on/test-sign-on.ts'
import { Desk, newKey } from '../grants/jobs.ts'
import { type Game, startGame } from '../harness/game.ts'
import { type OpenIdServer, startOpenIdServer, Visitor } from '../harness/openid-server.ts'
import { until } from '../harness/until.ts'
import { newOperator } from '../support/desk.ts'

const SECRET = 'the secret of the client'
const PEOPLE: Record<string, Readonly<Record<string, unknown>>> = {
  ada: { email: 'ada@studio.example', email_verified: true, groups: ['everybody', 'live-ops'] },
  bob: { preferred_username: 'Bob B', groups: 'designers' },
  cleo: { email: 'cleo@studio.example', email_verified: true, groups: ['accounting'] },
  dora: { email: 'someone@studio.example', email_verified: false, groups: ['live-ops', 'leads'] },
}
const GROUPS = [
  { group: 'leads', role: 'ADMIN' },
  { group: 'live-ops', role: 'SUPPORT' },
  { group: 'designers', role: 'DESIGNER' },
]

/** The warnings of the service. */
const lines: string[] = []
let game: Game
let server: OpenIdServer
let terse: OpenIdServer
let admin: Desk
let consoleUrl: string

beforeAll(async () => {
  game = await startGame({}, pino({ level: 'warn' }, { write: (line) => void lines.push(line) }))
  consoleUrl = `${game.baseUrl}/console`
  const redirectUri = `${consoleUrl}/sign-on/callback/${game.projectId}`
  const clients = [
    { id: 'console', redirectUri },
    { id: 'confidential', secret: SECRET, redirectUri },
    { id: 'by form', secret: SECRET, isByForm: true, redirectUri },
    { id: 'narrow', scope: 'openid', redirectUri },
  ]
  const claimsOf = (account: string, use: string) => PEOPLE[`${account} in ${use}`] ?? PEOPLE[account] ?? {}
  server = await startOpenIdServer({ clients, claimsOf, requiresPkce: true })
  terse = await startOpenIdServer({ clients, claimsOf, isTerse: true, requiresPkce: true })
  admin = new Desk(game)
})
afterAll(async () => {
  await game.stop()
  await server.stop()
  await terse.stop()
})

const SETTINGS = `title issuer clientId hasClientSecret redirectUri scopes groupsClaim groups { group role keyId }
  sessionHours isOn`

const set = (settings: object = {}) =>
  admin.must(
    'setSingleSignOn',
    {
      ...{ environment: undefined, title: 'Studio account', issuer: server.issuer, clientId: 'console', consoleUrl },
      ...{ groups: GROUPS, ...settings },
    },
    `singleSignOn { ${SETTINGS} } auditEntry { before after }`,
  )

interface SignOn {
  readonly groups: readonly { readonly group: string; readonly keyId: string }[]
}
/** The platform key of the sessions of a group. */
const keyOf = ({ groups }: SignOn, name: string): string => groups.find(({ group }) => group === name)?.keyId ?? ''

const start = (query: Record<string, string> = {}): string =>
  `${consoleUrl}/sign-on/start?${new URLSearchParams({ project: game.projectId, ...query })}`

/** Signs a person in up to the page of the console, and fetches its token there. */
async function signOn(account: string, { visitor = new Visitor(), query = {} } = {}) {
  const end = await visitor.signIn(start(query), account, `${consoleUrl}/signed-on`)
  const fault = new URL(end).searchParams.get('fault')
  if (fault !== null) return { fault }
  const answer = await visitor.visit(`${consoleUrl}/sign-on/token`, { method: 'POST' })
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return (await answer.json()) as { token: string; returnTo: string; fault?: undefined }
}

async function tokenOf(account: string): Promise<string> {
  const { token } = (await signOn(account)) as { token: string }
  return token
}

describe('single sign-on', () => {
  it.each<[how: string, settings: () => object]>([
    ['a public client', () => ({})],
    ['a client with a secret', () => ({ clientId: 'confidential', clientSecret: SECRET })],
    ['groups that only user info has', () => ({ issuer: terse.issuer, sessionHours: 2 })],
  ])('signs people in by a real issuer, with the role of their group: %s', async (_how, settings) => {
    const { singleSignOn } = await set(settings())
    const tokens = await Promise.all(['ada', 'bob', 'dora'].map(tokenOf))
    expect(tokens.map((token) => decodeJwt(token)).map(({ act, role, sub }) => [act, role, sub])).toEqual([
      ['ada@studio.example', 'support', keyOf(singleSignOn, 'live-ops')],
      ['Bob B', 'designer', keyOf(singleSignOn, 'designers')],
      // The first group in the order of the settings counts; an e-mail that the issuer doubts is no name.
      ['dora', 'admin', keyOf(singleSignOn, 'leads')],
    ])
    const { exp = 0, iat = 0 } = decodeJwt(tokens[0] ?? '')
    expect(exp - iat).toBe(singleSignOn.sessionHours * 3600)
    const { data } = await game.graphql(tokens[1] ?? '', '{ project { name } }')
    expect(data.project.name).toBe('Test')
    const { rows } = await game.app.pool.query(
      `SELECT operator, operator_is_claimed AS claimed, reason FROM audit_log
       WHERE action = 'operator_token.create' AND target = ANY ($1) ORDER BY operator`,
      [GROUPS.map(({ group }) => keyOf(singleSignOn, group))],
    )
    expect(rows).toEqual(
      ['Bob B', 'ada@studio.example', 'dora'].map((operator) => ({
        operator,
        claimed: false,
        reason: 'single sign-on',
      })),
    )
  })

  it.each([
    ['ID tokens', () => server.issuer],
    ['user info', () => terse.issuer],
  ])('takes an e-mail address of %s as a group only if it is verified', async (_where, issuer) => {
    const groups = [
      { group: 'someone@studio.example', role: 'ADMIN' },
      { group: 'ada@studio.example', role: 'SUPPORT' },
    ]
    await set({ issuer: issuer(), groupsClaim: 'email', groups })
    expect(await signOn('dora')).toEqual({ fault: 'no_role' })
    expect(decodeJwt(await tokenOf('ada'))).toMatchObject({ act: 'ada@studio.example', role: 'support' })
  })

  it('takes the word of user info for its own e-mail address, not for that of the ID token', async () => {
    PEOPLE['eve in id_token'] = { email: 'leader@studio.example' }
    PEOPLE.eve = { email: 'eve@studio.example', email_verified: true, groups: ['live-ops'] }
    await set()
    expect(decodeJwt(await tokenOf('eve'))).toMatchObject({ act: 'eve@studio.example', role: 'support' })
  })

  it('knows a person under another name, in approvals and in the limits of a day', async () => {
    await set({ groups: [...GROUPS.slice(0, 1), { group: 'live-ops', role: 'OPERATOR' }] })
    const named = async (account: string, name: string, group = 'leads') => {
      PEOPLE[account] = { preferred_username: name, groups: [group] }
      return admin.of(await tokenOf(account))
    }
    const player = await game.player()
    const gift = {
      to: { playerIds: [player.playerId] },
      give: { rewards: [{ currency: 'gold', amount: 1 }] },
      allowNew: true,
    }
    await admin.must('setGrantPolicy', { approvalAbovePlayers: 0 }, 'auditEntry { id }')
    const jobId = await (await named('finn', 'Finn')).create(gift)
    await admin.reaches(jobId, 'AWAITING_APPROVAL')
    expect(await (await named('finn', 'Somebody Else')).refused('approveGrantJob', { jobId })).toEqual([
      'jobId: is of a job that a second person must approve',
    ])
    await (await named('gwen', 'Finn')).must('approveGrantJob', { jobId })
    await admin.must('setGrantPolicy', {}, 'auditEntry { id }')

    await admin.must('setRoleLimits', { role: 'OPERATOR', maxGiftsPerDay: 1 }, 'auditEntry { id }')
    const credit = async (desk: Desk) => {
      const gold = { environment: undefined, currency: 'gold', amount: 1, allowNew: true }
      const input = { playerId: player.playerId, ...gold, idempotencyKey: newKey() }
      return (await desk.must('creditWallet', input, 'error')).error
    }
    expect(await credit(await named('hal', 'Hal', 'live-ops'))).toBeNull()
    expect(await credit(await named('hal', 'Hal again', 'live-ops'))).toBe('ROLE_LIMIT_EXCEEDED')
    expect(await credit(await named('ida', 'Hal', 'live-ops'))).toBeNull()
  })

  it('refuses a person without a group that has a role, on record', async () => {
    const { singleSignOn } = await set()
    expect(await signOn('cleo')).toEqual({ fault: 'no_role' })
    const { rows } = await game.app.pool.query(
      "SELECT operator FROM audit_log WHERE action = 'operator_token.create.denied' AND target = $1",
      [keyOf(singleSignOn, 'leads')],
    )
    expect(rows).toEqual([{ operator: 'cleo@studio.example' }])
  })

  it.each([
    ['/console/env/production/players?status=banned', '/console/env/production/players?status=banned'],
    ['/console', '/console'],
    ['https://evil.example/console', '/console'],
    ['//evil.example', '/console'],
    ['/console/../evil', '/console'],
    ['/consoles', '/console'],
    ['/console\\evil', '/console/evil'],
    ['javascript:alert(1)', '/console'],
  ])('returns to a page of the console alone: %s', async (asked, page) => {
    await set()
    const { returnTo = '' } = (await signOn('ada', { query: { return: asked } })) as { returnTo: string }
    expect(returnTo).toBe(page)
    expect(new URL(returnTo, consoleUrl).origin).toBe(game.baseUrl)
  })

  it('ends on the page of the console with the reason, when a step fails', async () => {
    await set()
    const faultAt = async (url: string, visitor = new Visitor()) => {
      const { status, headers } = await visitor.visit(url)
      expect(status).toBe(302)
      return headers.get('location')
    }
    const callback = `${consoleUrl}/sign-on/callback/${game.projectId}`
    // Nobody has begun here: a link of somebody else cannot sign a person in.
    expect(await faultAt(`${callback}?code=x&state=y`)).toBe('/console/signed-on?fault=expired')
    const visitor = new Visitor()
    const begun = new URL((await visitor.visit(start())).headers.get('location') ?? '')
    expect(begun.searchParams.get('code_challenge_method')).toBe('S256')
    const state = begun.searchParams.get('state')
    expect(await faultAt(`${callback}?error=access_denied&state=${state}&iss=${server.issuer}`, visitor)).toBe(
      '/console/signed-on?fault=refused',
    )
    for (const [query, fault] of [
      // The state of nobody, and one that has ended, are not of this browser.
      ['code=x&state=other', 'expired'],
      [`code=x&state=${state}`, 'expired'],
      ['error=%00<script>', 'expired'],
      ['', 'expired'],
      ['code=x&state=own', 'unavailable'],
      ['error=%00<script>&state=own', 'refused'],
    ] as const) {
      const fresh =
        new URL((await visitor.visit(start())).headers.get('location') ?? '').searchParams.get('state') ?? ''
      const sent = query.replace('=own', `=${fresh}&iss=${encodeURIComponent(server.issuer)}`)
      expect(await faultAt(`${callback}?${sent}`, visitor), query).toBe(`/console/signed-on?fault=${fault}`)
    }
    // An answer for another project is refused before anything is sent to its issuer.
    await visitor.visit(start())
    const other = `${consoleUrl}/sign-on/callback/${game.environmentId}?code=x&state=${state}`
    expect(await faultAt(other, visitor)).toBe('/console/signed-on?fault=expired')
    expect(await faultAt(`${consoleUrl}/sign-on/start?project=nobody`)).toBe('/console/signed-on?fault=off')
    expect(await faultAt(`${consoleUrl}/sign-on/start`)).toBe('/console/signed-on?fault=off')
    // The code of a sign-in works once, and so does the token's cookie.
    const again = new Visitor()
    const end = await again.signIn(start(), 'ada', callback)
    expect(await faultAt(end, again)).toBe('/console/signed-on')
    expect(await faultAt(end, again)).toBe('/console/signed-on?fault=expired')
    const fetchToken = async () => (await again.visit(`${consoleUrl}/sign-on/token`, { method: 'POST' })).status
    expect([await fetchToken(), await fetchToken()]).toEqual([200, 401])
  })

  it('succeeds in two tabs at once, and a foreign answer ends neither', async () => {
    await set()
    const visitor = new Visitor()
    const begin = async () => (await visitor.visit(start())).headers.get('location') ?? ''
    const [one, two] = [await begin(), await begin()]
    const foreign = await visitor.visit(`${consoleUrl}/sign-on/callback/${game.projectId}?code=x&state=of-another`)
    expect(foreign.headers.get('location')).toBe('/console/signed-on?fault=expired')
    for (const tab of [one, two]) {
      expect(await visitor.signIn(tab, 'ada', `${consoleUrl}/signed-on`)).toBe(`${consoleUrl}/signed-on`)
      expect((await visitor.visit(`${consoleUrl}/sign-on/token`, { method: 'POST' })).status).toBe(200)
    }
    // Many begun sign-ins never make the headers of a browser too long.
    for (const _ of Array.from({ length: 12 }))
      expect((await visitor.visit(start({ return: `/console/${'a'.repeat(900)}` }))).status).toBe(302)
    await visitor.signIn(start(), 'ada', `${consoleUrl}/signed-on`)
  })

  it.each<[what: string, settings: object, person: object, fault: string | undefined, said: string]>([
    [
      'the claim is missing',
      { groupsClaim: 'teams' },
      {},
      'no_role',
      'has the claim teams, or its address is not verified; they have ',
    ],
    [
      'the person is in too many groups',
      {},
      { _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.example' } } },
      ...(['no_role', 'since the person is in too many groups for a token'] as const),
    ],
    [
      'no group has a role',
      {},
      { groups: ['a', 'b'] },
      'no_role',
      'none of the 2 values of the claim groups is one of the 3 groups with a role',
    ],
    [
      'the secret is another',
      { clientId: 'confidential', clientSecret: 'another' },
      {},
      'unavailable',
      'the issuer refused the client',
    ],
    [
      'the claim is nested',
      { groupsClaim: 'realm_access.roles' },
      { realm_access: { roles: ['leads'] } },
      undefined,
      '',
    ],
  ])('says in the log why it failed: %s', async (_what, settings, person, fault, said) => {
    PEOPLE.nina = { preferred_username: 'Nina', ...person }
    await set(settings)
    lines.length = 0
    expect((await signOn('nina')).fault).toBe(fault)
    expect(lines.join('')).toContain(said)
    expect(lines.join('')).not.toContain('[object Object]')
  })

  it('sends the secret in the form where the issuer knows the client by it alone', async () => {
    await set({ clientId: 'by form', clientSecret: SECRET })
    expect(await tokenOf('ada')).toBeTruthy()
  })

  it('keeps its cookies from scripts and from other sites, and no address has a token', async () => {
    await set({ consoleUrl: consoleUrl.replace('http:', 'https:') })
    const { headers } = await new Visitor().visit(start())
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^tierway_sign_on_[\w-]{16}=v1\.\S+; Path=\/console\/sign-on; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
      ),
    ])
    await set()
    const visitor = new Visitor()
    const end = await visitor.signIn(start(), 'ada', `${consoleUrl}/sign-on/callback`)
    const finished = await visitor.visit(end)
    expect(finished.headers.get('location')).toBe('/console/signed-on')
    expect(finished.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^tierway_sign_on_[\w-]{16}=; .*Max-Age=0/),
      expect.stringMatching(/^tierway_signed_on=v1\.\S+; .*HttpOnly; SameSite=Strict$/),
    ])
  })

  it('shows its button where one project has it, and to a page that names the project', async () => {
    const option = async (query = '') => (await fetch(`${consoleUrl}/sign-on/option${query}`)).json()
    await set({ title: 'Studio' })
    const shown = { projectId: game.projectId, title: 'Studio' }
    expect([await option(), await option(`?project=${game.projectId}`)]).toEqual([shown, shown])
    const none = { projectId: null, title: null }
    expect([await option('?project=x'), await option(`?project=${game.environmentId}`)]).toEqual([none, none])
    await admin.must('deleteSingleSignOn', { environment: undefined }, 'singleSignOn { title }')
    expect([await option(), await option(`?project=${game.projectId}`)]).toEqual([none, none])
  })

  const stateOf = async (token: string) =>
    (await game.graphql(token, '{ project { name } }')).errors?.[0]?.extensions.code ?? 'ok'
  const lasts = async (token: string) => expect(await stateOf(token)).toBe('ok')
  const ends = (token: string) => until('the session ends', async () => (await stateOf(token)) === 'INVALID_TOKEN')

  it.each<[what: string, change: object, bobEnds: boolean, adaEnds: boolean]>([
    ['the hours', { sessionHours: 1 }, false, false],
    [
      'the title, and a group at the end',
      { title: 'Other', groups: [...GROUPS, { group: 'new', role: 'VIEWER' }] },
      false,
      false,
    ],
    ['a first group with more rights', { groups: [{ group: 'new', role: 'ADMIN' }, ...GROUPS] }, false, false],
    ['a first group with fewer rights', { groups: [{ group: 'new', role: 'ANALYST' }, ...GROUPS] }, true, true],
    [
      'the role of a group before others',
      { groups: GROUPS.map((one) => (one.group === 'leads' ? { ...one, role: 'OPERATOR' } : one)) },
      ...([false, false] as const),
    ],
    ['one group that is gone', { groups: GROUPS.filter(({ group }) => group !== 'live-ops') }, false, true],
    [
      'the role of one group',
      { groups: GROUPS.map((one) => (one.group === 'designers' ? { ...one, role: 'VIEWER' } : one)) },
      ...([true, false] as const),
    ],
    ['the order of two groups', { groups: [GROUPS[0], GROUPS[2], GROUPS[1]] }, false, true],
    ['the claim', { groupsClaim: 'roles' }, true, true],
    ['the client', { clientId: 'confidential', clientSecret: SECRET }, true, true],
  ])(
    'ends the sessions of the groups whose role a change may take, and no others: %s',
    async (_what, change, bobEnds, adaEnds) => {
      await set()
      const [ada, bob] = [await tokenOf('ada'), await tokenOf('bob')]
      await set(change)
      for (const [token, hasEnded] of [
        [ada, adaEnds],
        [bob, bobEnds],
      ] as const)
        await (hasEnded ? ends(token) : lasts(token))
    },
  )

  it('ends for the people of a group when its key is revoked, and for everybody when it is removed', async () => {
    const { singleSignOn } = await set()
    const [ada, bob] = [await tokenOf('ada'), await tokenOf('bob')]
    const id = keyOf(singleSignOn, 'live-ops')
    await admin.must('revokePlatformKey', { environment: undefined, id }, 'auditEntry { id }')
    const { data } = await game.graphql(game.platformKey, '{ singleSignOn { isOn groups { isOn } } }')
    expect(data.singleSignOn).toEqual({ isOn: true, groups: [true, false, true].map((isOn) => ({ isOn })) })
    await ends(ada)
    await lasts(bob)
    expect([await signOn('ada'), (await signOn('bob')).fault]).toEqual([{ fault: 'off' }, undefined])
    // The same settings give the group a new key.
    await set()
    await lasts(bob)
    const again = await tokenOf('ada')
    await admin.must('deleteSingleSignOn', { environment: undefined }, 'singleSignOn { title }')
    await ends(again)
    await ends(bob)
    expect(await signOn('ada').catch(String)).toEqual({ fault: 'off' })
  })
})

describe('the settings of single sign-on', () => {
  beforeEach(() => set())

  it('are answered without the secret, which stays while the issuer and the client are the same', async () => {
    const { singleSignOn, auditEntry } = await set({ clientId: 'confidential', clientSecret: SECRET, sessionHours: 3 })
    expect(singleSignOn).toMatchObject({
      ...{ title: 'Studio account', issuer: server.issuer, clientId: 'confidential', hasClientSecret: true },
      ...{
        redirectUri: `${consoleUrl}/sign-on/callback/${game.projectId}`,
        scopes: ['openid', 'profile', 'email'],
        sessionHours: 3,
      },
      ...{ groupsClaim: 'groups', groups: GROUPS.map((one) => ({ ...one, keyId: expect.any(String) })), isOn: true },
    })
    expect(JSON.stringify(auditEntry)).not.toContain(SECRET)
    expect((await set({ clientId: 'confidential' })).singleSignOn.hasClientSecret).toBe(true)
    expect(await tokenOf('ada')).toBeTruthy()
    expect((await set({ clientId: 'console' })).singleSignOn.hasClientSecret).toBe(false)
    const { rows } = await game.app.pool.query('SELECT to_json(s)::text AS text FROM single_sign_ons s')
    expect(rows[0].text).not.toContain(SECRET)
  })

  it.each<[what: string, settings: object, tests: readonly string[]]>([
    [
      'that work',
      { clientId: 'confidential', clientSecret: SECRET },
      [
        'passed: The issuer answers, and signs people in by code with PKCE.',
        'passed: The issuer begins a sign-in.',
        'passed: The issuer knows the client and its secret.',
        'passed: The issuer lists groups among its claims.',
      ],
    ],
    [
      'of a client with another way, and a claim that is not listed',
      { clientId: 'by form', clientSecret: SECRET, groupsClaim: 'teams.own' },
      [
        'passed: The issuer answers, and signs people in by code with PKCE.',
        'passed: The issuer begins a sign-in.',
        'passed: The issuer knows the client and its secret.',
        'unknown: The issuer does not list teams.own among its claims. Let it send it to this client.',
      ],
    ],
    [
      'with another secret, another address and a nested claim',
      {
        ...{ clientId: 'confidential', clientSecret: 'another', consoleUrl: 'https://other.example/console' },
        groupsClaim: 'realm_access.roles',
      },
      [
        'passed: The issuer answers, and signs people in by code with PKCE.',
        expect.stringMatching(
          /^failed: The issuer answers 400\. Let its client confidential allow https:\/\/other\.example\/console\/sign-on\/callback\/[-\w]+\.$/,
        ),
        'failed: The issuer refused the client: its id or its secret is not the one that the issuer has.',
        'passed: The issuer lists realm_access.roles among its claims.',
      ],
    ],
    [
      'with a scope that the client may not have',
      { clientId: 'narrow', scopes: ['openid', 'profile'] },
      [
        'passed: The issuer answers, and signs people in by code with PKCE.',
        'failed: The issuer refuses the scopes openid, profile for this client.',
        'passed: The issuer knows the client.',
        'passed: The issuer lists groups among its claims.',
      ],
    ],
  ])('are tried before they are set: those %s', async (_what, settings, tests) => {
    const { singleSignOn: before } = await set()
    const input = { environment: undefined, reason: undefined, issuer: server.issuer, consoleUrl, ...settings }
    const answer = await admin.must('testSingleSignOn', input, 'redirectUri tests { of result message }')
    expect(answer.tests.map(({ result, message }: SignOnTest) => `${result.toLowerCase()}: ${message}`)).toEqual(tests)
    const { data } = await game.graphql(game.platformKey, `{ singleSignOn { ${SETTINGS} } }`)
    expect(data.singleSignOn).toEqual(before)
  })

  it('are tried with the stored secret at the stored issuer alone, whose configuration comes first', async () => {
    await set({ clientId: 'confidential', clientSecret: SECRET })
    const test = async (settings: object) => {
      const input = { environment: undefined, reason: undefined, consoleUrl, clientId: 'confidential', ...settings }
      const { tests } = await admin.must('testSingleSignOn', input, 'tests { of result }')
      return tests.map(({ of, result }: SignOnTest) => `${of} ${result}`)
    }
    const client = (result: string) => expect.arrayContaining([`CLIENT ${result}`])
    expect(await test({ issuer: server.issuer })).toEqual(client('PASSED'))
    expect(await test({ issuer: terse.issuer })).toEqual(client('FAILED'))
    expect(await test({ issuer: `${server.issuer}/nowhere` })).toEqual(['CONFIGURATION FAILED'])
    const faults = {
      environment: undefined,
      reason: undefined,
      clientId: 'x',
      issuer: 'ftp://x',
      consoleUrl,
      scopes: ['email'],
    }
    expect(await admin.refused('testSingleSignOn', faults, 'redirectUri')).toEqual([
      expect.stringMatching(/^issuer: must be an absolute http or https URL/),
    ])
  })

  it('are refused with every fault at once, and need a platform key of an admin', async () => {
    const ask = (input: object) =>
      admin.refused('setSingleSignOn', { environment: undefined, clientId: 'console', ...input }, '__typename')
    expect(
      await ask({
        ...{ title: '', issuer: 'ftp://x', consoleUrl: 'https://x.example/other', groups: [], sessionHours: 13 },
        ...{ scopes: [] },
      }),
    ).toEqual([
      expect.stringMatching(/^title:/),
      expect.stringMatching(/^issuer: must be an absolute http or https URL/),
      expect.stringMatching(/^consoleUrl: must be the address of the console/),
      expect.stringMatching(/^scopes:/),
      expect.stringMatching(/^groups:/),
      expect.stringMatching(/^sessionHours:/),
    ])
    const good = { title: 'x', issuer: server.issuer, consoleUrl, groups: GROUPS }
    expect(await ask({ ...good, groups: [...GROUPS, ...GROUPS.slice(0, 1)], scopes: ['email'] })).toEqual([
      'groups[3].group: is there twice',
      'scopes: must contain openid',
    ])
    expect(await ask({ ...good, issuer: `${server.issuer}/nothing` })).toEqual([
      expect.stringMatching(/^issuer: is no OpenID Connect issuer that can be asked/),
    ])
    const { key } = await newOperator(game.app.pool, game.projectId, 'admin')
    const { data } = await game.graphql(
      key,
      'mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { token } }',
      { input: { actor: 'Ada', reason: 'test' } },
    )
    const byToken = admin.of(data.createOperatorToken.token)
    expect(
      await byToken.refused('setSingleSignOn', { environment: undefined, clientId: 'x', ...good }, '__typename'),
    ).toEqual([expect.stringMatching(/^authorization: must be a platform key/)])
  })
})
