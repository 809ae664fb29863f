import { createHash } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createProject } from '../../src/callers/projects.ts'
import { hasRight, ROLES, type Role } from '../../src/callers/roles.ts'
import { startRun } from '../../src/game/battlepass/start-run.ts'
import { operatorCalls } from '../../src/operator-calls.ts'
import { gold, passNode, scenario, season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { type OpenIdServer, startOpenIdServer } from '../harness/openid-server.ts'
import { type Operator as Studio, startOperator, status } from '../harness/operator.ts'
import { until } from '../harness/until.ts'
import { newOperator, type Operator } from '../support/desk.ts'
import { madeOverRest, overRest, pathOf as pathIn, post as postIn } from './over-rest.ts'

// Operators' calls over REST, by their declarations.

let game: Game
let player: TestPlayer
let operators: Readonly<Record<Role, Operator>>
let stranger: Operator
let studio: Studio
let openid: OpenIdServer
/** Takes the messages of alerts. */
let bell: Studio

beforeAll(async () => {
  game = await startGame()
  studio = await startOperator()
  bell = await startOperator(status(200))
  openid = await startOpenIdServer({ clients: [], claimsOf: () => ({}) })
  const gift = { id: 'gift', type: 'reward', data: { rewards: [gold(5)] } }
  await game.publish(
    'season',
    scenario(
      [passNode(), gift],
      [
        { from: 'start', handle: 'onStart', to: 'pass' },
        { from: 'start', handle: 'onStart', to: 'gift' },
      ],
    ),
  )
  player = await game.player({ wallet: { gems: 1000n } })
  const made = ROLES.map(async (role) => [role, await newOperator(game.app.pool, game.projectId, role)] as const)
  operators = Object.fromEntries(await Promise.all(made)) as Record<Role, Operator>
  const other = await createProject(game.app.pool, { name: 'Other', environments: ['elsewhere'] })
  stranger = await newOperator(game.app.pool, other.projectId, 'admin')
})
afterAll(async () => {
  await game?.stop()
  await studio?.close()
  await openid?.stop()
  await bell?.close()
})

const pathOf = (name: string): string => pathIn(game, name)

const post = (key: string | null, name: string, body: unknown, options?: Parameters<typeof postIn>[4]) =>
  postIn(game, key, name, body, options)

/** The refused attempts of a call, each with its actor and target. The same one within a minute is counted in one row. */
const denied = async (action: string): Promise<string[]> => {
  const { rows } = await game.app.pool.query<{ entry: string; attempts: number }>(
    `SELECT actor || ' ' || target AS entry, attempts FROM audit_log WHERE action = $1 ORDER BY id`,
    [`${action}.denied`],
  )
  return rows.flatMap(({ entry, attempts }) => Array.from({ length: attempts }, () => entry))
}

describe('a call of operators over REST', () => {
  it.each(operatorCalls.map((call) => [call.name, call] as const))(
    'is for the roles with its right, and tells the others nothing of its faults: %s',
    async (name, call) => {
      const least = ROLES.filter((role) => hasRight(role, call.right))
      const target = typeof call.target === 'string' ? 'x' : call.target.word
      const body = { ...(typeof call.target === 'string' && { [call.target]: 'x' }), unheard: true }
      expect((await post(null, name, body)).status).toBe(401)
      for (const role of ROLES) {
        const before = await denied(call.action)
        // Unknown members are faults, so that an allowed call changes nothing.
        const answer = await post(operators[role].key, name, body)
        const isAllowed = least.includes(role)
        expect([role, answer.status]).toEqual([role, isAllowed ? 400 : 403])
        const attempt = isAllowed ? [] : [`${operators[role].actor} ${target}`]
        expect((await denied(call.action)).sort()).toEqual([...before, ...attempt].sort())
        if (!isAllowed) {
          expect(answer.body.details).toBeUndefined()
          continue
        }
        const required = Object.entries(call.request.fields).flatMap(([field, { isRequired }]) =>
          isRequired ? [field] : [],
        )
        const paths = answer.body.details.map(({ path }: { path: string }) => path)
        expect(paths).toEqual(expect.arrayContaining(['unheard', ...required.filter((field) => !(field in body))]))
      }
      const elsewhere = await post(stranger.key, name, body)
      expect([elsewhere.status, elsewhere.body.code]).toEqual([403, 'forbidden'])
      expect(await denied(call.action)).toContain(`${stranger.actor} ${target}`)
    },
  )
})

const called = new Set<string>()
/** A call of an admin that succeeds, and its answer. */
async function must(name: string, body: Record<string, unknown>) {
  called.add(name)
  return overRest(game, operators.admin.key, name, body)
}

const environment = 'production'
const reason = 'because'
let keys = 0
const keyed = () => {
  keys += 1
  return { reason, idempotencyKey: `key-${keys}` }
}
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

async function reaches(jobId: string, state: string): Promise<void> {
  await until(`the job is ${state}`, async () => {
    const { data } = await game.graphql(
      operators.admin.key,
      '{ grantJobs(environment: "production") { nodes { jobId state } } }',
    )
    return data.grantJobs.nodes.some((job: Record<string, string>) => job.jobId === jobId && job.state === state)
  })
}

/** Calls that no test of their feature makes over REST: those of each room, in an order in which all succeed. */
const ROOMS: Readonly<Record<string, () => Promise<void>>> = {
  async alerts() {
    const { url } = bell
    const { alertWebhook } = await must('createAlertWebhook', {
      ...{ environment, name: 'night', format: 'standard', url, kinds: ['logins fail'], reason },
    })
    const of = { environment, alertWebhookId: alertWebhook.alertWebhookId }
    expect(alertWebhook).toMatchObject({ name: 'night', format: 'standard', kinds: ['logins fail'] })
    await must('updateAlertWebhook', { ...of, name: 'day', reason })
    expect(await must('testAlertWebhook', of)).toMatchObject({ hasArrived: expect.any(Boolean) })
    expect(await must('deleteAlertWebhook', { ...of, reason })).toMatchObject({ alertWebhook: null })
  },

  async wallet() {
    const added = await must('addCurrency', { environment, currency: 'pearls', reason })
    expect(added).toMatchObject({ currency: { name: 'pearls' }, auditEntry: { action: 'currency.add', reason } })
    // Beyond what a double holds.
    const limited = { environment, currency: 'pearls', limit: 9_007_199_254_740_993n, reason }
    expect((await post(operators.admin.key, 'setCreditLimit', limited)).text).toContain(
      '"creditLimit":9007199254740993,',
    )
    called.add('setCreditLimit')
    await must('deleteCurrency', { environment, currency: 'pearls', reason })
  },

  async grants() {
    await must('setGrantPolicy', { environment, approvalAbovePlayers: 0, reason })
    const to = { playerIds: [player.playerId] }
    const give = { rewards: [{ currency: 'gems', amount: 5 }] }
    /** A job that awaits approval. */
    const waiting = async () => {
      const { job } = await must('createGrantJob', { environment, to, give, ...keyed() })
      await reaches(job.jobId, 'AWAITING_APPROVAL')
      return { environment, jobId: job.jobId, reason }
    }
    const first = await waiting()
    expect((await post(operators.admin.key, 'approveGrantJob', first)).status).toBe(403)
    const approved = await post(operators.operator.key, 'approveGrantJob', first)
    expect(approved.body).toMatchObject({ job: { state: 'running', give: { rewards: [{ amount: 5 }] } } })
    called.add('approveGrantJob')
    const second = await waiting()
    // A job of one player is done before anybody can pause it.
    await game.app.pool.query(`UPDATE grant_jobs SET state = 'paused' WHERE id = $1`, [second.jobId])
    expect(await must('pauseGrantJob', second)).toMatchObject({ job: { state: 'paused' }, auditEntry: null })
    await must('resumeGrantJob', second)
    expect(await must('cancelGrantJob', await waiting())).toMatchObject({ job: { state: 'cancelled' } })
    await reaches(first.jobId, 'DONE')
    await must('undoGrantJob', { environment, jobId: first.jobId, ...keyed() })
  },

  async segments() {
    const filter = { region: 'eu', createdFrom: '2026-01-01T00:00:00Z' }
    const { segment } = await must('createSegment', { environment, name: 'eu', filter, reason })
    expect(segment.filter).toMatchObject({ region: 'eu', createdFrom: '2026-01-01T00:00:00.000Z', premium: null })
    const of = { environment, segmentId: segment.segmentId, reason }
    await must('updateSegment', { ...of, name: 'europe' })
    await must('deleteSegment', of)
  },

  async project() {
    await must('createEnvironment', { name: 'qa', reason })
    expect(await must('renameProject', { name: 'Renamed', reason })).toMatchObject({ project: { name: 'Renamed' } })
    await must('setEnvironmentClock', { environment: 'qa', at: '2027-06-01T12:00:00Z', rate: 60, reason })
    await must('setAccountPolicy', { environment: 'qa', maxSessions: 3, whenFull: 'refuse', reason })
    await must('setPublishPolicy', { environment: 'qa', requiresApproval: true, reason })
    await must('setRoleLimits', { environment: 'qa', role: 'support', maxCredit: 10, reason })
  },

  async keys() {
    const sdk = await must('createSdkKey', { environment, label: 'one', reason })
    expect(sdk).toMatchObject({ key: expect.stringMatching(/^twsdk_/), sdkKey: { label: 'one', revokedAt: null } })
    await must('revokeSdkKey', { id: sdk.sdkKey.keyId, reason })
    const server = await must('createServerKey', { environment, reason })
    await must('revokeServerKey', { id: server.serverKey.id, reason })
    const platform = await must('createPlatformKey', { role: 'viewer', reason })
    await must('revokePlatformKey', { id: platform.platformKey.keyId, reason })
    const { token } = await must('createOperatorToken', { role: 'admin', actor: 'ada', reason })
    const refused = await post(token, 'createPlatformKey', { role: 'viewer', reason })
    expect([refused.status, refused.body.details]).toEqual([
      403,
      [{ path: 'authorization', message: expect.stringMatching(/^must be a platform key/) }],
    ])
  },

  async providers() {
    const authProviders = { custom: { default: { enabled: true, url: studio.url, secret: 'a shared secret' } } }
    const set = await must('setAuthProviders', { environment, authProviders, reason })
    expect(set.authProviders.custom).toEqual([expect.objectContaining({ name: 'default', hasSecret: true })])
    expect(print(set)).not.toContain('a shared secret')
    await must('rotateProviderSecret', { environment, name: 'default', reason })
    const tested = await must('testAuthProvider', { environment, customData: { player: 'ada' } })
    expect(tested).toMatchObject({ subject: 'ada' })
    const issuer = { issuer: openid.issuer, clientId: 'console', consoleUrl: 'https://x.example/console' }
    expect((await must('testSingleSignOn', issuer)).tests.length).toBeGreaterThan(0)
    const groups = [{ group: 'live-ops', role: 'operator' }]
    await must('setSingleSignOn', { title: 'Studio', ...issuer, groups, reason })
    await must('deleteSingleSignOn', { reason })
  },

  async scenarios() {
    const definition = print(season())
    const of = { environment, scenarioId: 'winter' }
    const published = await must('publishScenario', { ...of, definition, reason })
    expect(published.scenario).toMatchObject({ scenarioId: 'winter', version: 1, definitionText: definition })
    await must('cloneScenario', { ...of, toEnvironment: 'staging', toScenarioId: 'copy', reason })
    const planned = await must('schedulePublication', { ...of, definition, publishAt: inAnHour(), reason })
    await must('cancelPublication', { environment, publicationId: planned.publication.publicationId, reason })
    const { draft } = await must('createScenarioDraft', { ...of, name: 'next', definition, baseVersion: 1 })
    const at = { environment, draftId: draft.draftId }
    await must('openScenarioDraft', at)
    const saved = await must('saveScenarioDraft', { ...at, expectedRevision: 1, definition: `${definition} ` })
    const late = await post(operators.admin.key, 'saveScenarioDraft', { ...at, expectedRevision: 1, definition })
    expect([late.status, late.body.code]).toEqual([412, 'version_conflict'])
    const said = await must('commentOnScenarioDraft', { ...at, text: 'More xp?', idempotencyKey: 'said' })
    const [{ commentId }] = said.draft.comments
    await must('resolveDraftComment', { ...at, commentId })
    const approval = { ...at, revision: saved.draft.revision, reason }
    expect((await post(operators.admin.key, 'approveScenarioDraft', approval)).status).toBe(403)
    expect((await post(operators.designer.key, 'approveScenarioDraft', approval)).status).toBe(200)
    called.add('approveScenarioDraft')
    await must('deleteScenarioDraft', { ...at, reason })
  },

  async 'shared views'() {
    const { sharedView } = await must('shareView', { page: 'audit_log', name: 'mine', query: 'a=b' })
    expect(sharedView).toMatchObject({ page: 'audit_log', query: 'a=b' })
    const other = await post(operators.operator.key, 'shareView', { page: 'audit_log', name: 'theirs', query: '' })
    expect(other.status).toBe(403)
    await must('deleteSharedView', { sharedViewId: sharedView.sharedViewId })
  },

  async support() {
    await game.setProviders({ default: { enabled: true, url: studio.url, secret: studio.secret } })
    const login = await game.login({ player: 'grace' })
    const playerId = String(decodeJwt(login.body.accessToken).sub)
    const who = () => ({ playerId, ...keyed() })
    const pass = { scenarioId: 'season', nodeId: 'pass' }
    const { auditEntry } = await must('banPlayer', { ...who(), kind: 'login', publicReason: 'cheats' })
    expect(auditEntry).toMatchObject({ action: 'player.ban', target: playerId, reason })
    expect(await must('unbanPlayer', { ...who(), undoes: auditEntry.id })).toMatchObject({ player: { ban: null } })
    const playerIds = [playerId, operators.admin.caller.keyId]
    const { results } = await must('banPlayers', { playerIds, ...keyed() })
    expect(results.map(({ error }: { error: string | null }) => error)).toEqual([null, 'player not found'])
    await must('unbanPlayers', { playerIds: [playerId], ...keyed() })
    await must('creditWallet', { ...who(), currency: 'gems', amount: 109 })
    expect(await must('debitWallet', { ...who(), currency: 'gems', amount: 1 })).toMatchObject({ balance: 108 })
    const refusal = await must('debitWallet', { ...who(), currency: 'gems', amount: 109 })
    expect(refusal).toMatchObject({ error: 'insufficient funds', entry: null, auditEntry: null })
    const run = await must('crossHandleForPlayer', { ...who(), ...pass, nodeId: 'start', handle: 'onStart' })
    expect(run).toMatchObject({ error: 'run not active' })
    const start = startRun(
      { playerId, environmentId: game.environmentId },
      { scenarioId: 'season', idempotencyKey: null },
    )
    const { runId } = await game.app.service.run(start)
    expect(await must('grantXp', { ...who(), ...pass, amount: 150 })).toMatchObject({ result: { xp: 150, level: 2 } })
    await must('grantPremium', { ...who(), ...pass })
    await must('grantTier', { ...who(), ...pass, level: 1, track: 'free' })
    await must('resetTier', { ...who(), ...pass, level: 1, track: 'free' })
    await must('resetReward', { ...who(), ...pass, nodeId: 'gift' })
    await must('revokePremium', { ...who(), ...pass })
    await must('resetPass', { ...who(), ...pass })
    const { boost } = await must('grantPlayerBoost', { ...who(), percent: 10, minutes: 60 })
    await must('endPlayerBoost', { ...who(), boostId: boost.boostId })
    await must('setPlayerStorage', { ...who(), values: { color: 'red' } })
    await must('deletePlayerStorage', { ...who(), keys: ['color'] })
    const text = [{ language: 'en', title: 'Hello', body: 'World' }]
    const { messageId } = await must('sendMessage', { ...who(), text })
    await must('cancelMessage', { ...who(), messageId })
    const { note } = await must('addPlayerNote', { ...who(), text: 'A friend.' })
    await must('deletePlayerNote', { ...who(), noteId: note.noteId })
    await must('cancelRun', { ...who(), runId })
    await must('endSessions', who())
    await must('unlinkIdentity', { ...who(), provider: 'default', subject: 'grace', allowLast: true })
    await must('deletePlayer', who())
  },
}

describe('a call of operators over REST, made well', () => {
  it('does what GraphQL does, and answers as openapi.json says, for every declared call', async () => {
    for (const room of Object.values(ROOMS)) await room()
    const elsewhere = madeOverRest()
    const missing = operatorCalls.filter(({ name }) => !called.has(name) && !elsewhere.has(name))
    expect(missing.map(({ name }) => name)).toEqual([])
  })

  it('shares its idempotency keys with GraphQL, and takes them in the header', async () => {
    const { playerId } = await game.player()
    const body = { playerId, reason, currency: 'gems', amount: 7 }
    const first = await post(operators.admin.key, 'creditWallet', body, { headers: { 'idempotency-key': 'shared' } })
    const { data } = await game.graphql(
      operators.admin.key,
      `mutation ($input: CreditWalletInput!) { creditWallet(input: $input) { balance auditEntry { id } } }`,
      { input: { ...body, amount: '7', idempotencyKey: 'shared' } },
    )
    expect(data.creditWallet).toEqual({ balance: '7', auditEntry: { id: first.body.auditEntry.id } })
    const other = await post(
      operators.admin.key,
      'creditWallet',
      { ...body, amount: 8 },
      { headers: { 'idempotency-key': 'shared' } },
    )
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
  })

  it('is counted once in the rate limit of its key, also with its project in upper case', async () => {
    const limited = await startGame({ RATE_LIMITS: 'login=off,sdk_key=off,player=off,operator=2/h,graphql=off' })
    try {
      const path = `/platform/v1/projects/${limited.projectId.toUpperCase()}/rename-project`
      const headers = { authorization: `Bearer ${limited.platformKey}` }
      const rename = async (name: string) => {
        const answer = await limited.request('POST', path, { headers, body: print({ name, reason }) })
        return answer.status
      }
      expect([await rename('a'), await rename('b'), await rename('c')]).toEqual([200, 200, 429])
    } finally {
      await limited.stop()
    }
  })

  it('is refused once its key is revoked, also while its body arrives', async () => {
    const { key, caller } = await newOperator(game.app.pool, game.projectId, 'designer')
    const body = print({ environment, draftId: caller.keyId })
    const message = request(`${game.baseUrl}${pathOf('openScenarioDraft')}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-length': Buffer.byteLength(body) },
    })
    const answered = new Promise<number | undefined>((resolve, reject) =>
      message.once('response', (response) => resolve(response.resume().statusCode)).once('error', reject),
    )
    message.write(body.slice(0, 5))
    await must('revokePlatformKey', { id: caller.keyId, reason })
    message.end(body.slice(5))
    expect(await answered).toBe(401)
  })

  it('is not there where only listed operations run', async () => {
    const list = join(mkdtempSync(join(tmpdir(), 'tierway-')), 'list.json')
    writeFileSync(
      list,
      JSON.stringify({ [createHash('sha256').update('{ __typename }').digest('hex')]: '{ __typename }' }),
    )
    const strict = await startGame({ PERSISTED_OPERATIONS: list, PERSISTED_OPERATIONS_ONLY: 'true', CONSOLE: 'false' })
    try {
      const path = `/platform/v1/projects/${strict.projectId}/create-platform-key`
      const headers = { authorization: `Bearer ${strict.platformKey}` }
      const { status, body } = await strict.request('POST', path, { headers, body: print({ role: 'admin', reason }) })
      expect([status, body.code]).toEqual([403, 'persisted_query_required'])
      const read = await strict.request('GET', `/platform/v1/projects/${strict.projectId}/platform-keys`, { headers })
      expect([read.status, read.body.code]).toEqual([403, 'persisted_query_required'])
    } finally {
      await strict.stop()
    }
  })

  it('names its person by X-Operator', async () => {
    const headers = { 'x-operator': 'Ada' }
    const { body } = await post(operators.admin.key, 'renameProject', { name: 'Named', reason }, { headers })
    expect(body.auditEntry).toMatchObject({ operator: 'Ada', operatorIsClaimed: true })
  })
})

/** Values that belong into no field, as JSON. */
const HOSTILE = [
  ...['[]', '{}', '[[]]', '[null]', '[{}]', '1e400', '-0', '1.5', 'true', '""', '"\\u0000"', '"\\ud800"'],
  ...['{"__proto__":{"a":1}}', '{"constructor":1,"toString":1}', '"0000-00-00T00:00:00Z"', '"9999-12-31T23:59:60Z"'],
  ...['99999999999999999999', `"${'x'.repeat(5_000)}"`, `${'['.repeat(40)}${']'.repeat(40)}`],
]

describe('a call of operators over REST, made badly', () => {
  it.each<[sent: string, body: unknown, faults: readonly string[]]>([
    ['a member that it does not know, at any depth', { ...segment(), filter: { regoin: 'eu' } }, ['filter.regoin']],
    ['a date that is none', { ...segment(), filter: { createdFrom: 'tomorrow' } }, ['filter.createdFrom']],
    ['a date that is a number', { ...segment(), filter: { createdFrom: 5 } }, ['filter.createdFrom']],
    ['a value that is none of an enum', { ...segment(), filter: { status: 'ACTIVE' } }, ['filter.status']],
    ['no object', [], ['']],
    ['no JSON', 'x', ['']],
  ])('is refused with its faults: %s', async (_sent, body, faults) => {
    const answer = await post(operators.admin.key, 'createSegment', body)
    expect([answer.status, answer.body.details.map(({ path }: { path: string }) => path)]).toEqual([400, faults])
  })

  it.each([
    ['no JSON', 'x'],
    ['a target that is no text', { environment, boostId: { toString: 1 }, reason }],
    ['a target that cannot be stored', { environment, boostId: '\ud800', reason }],
  ])('is refused first for who may not make it: %s', async (_what, body) => {
    const answer = await post(operators.analyst.key, 'endBoost', body)
    expect([answer.status, answer.body.details]).toEqual([403, undefined])
  })

  it.each(operatorCalls.map((call) => [call.name, call] as const))(
    'is a 400 for each value that no field takes: %s',
    async (name, { request }) => {
      // An unknown member is a fault, so that no such call changes anything.
      for (const field of Object.keys(request.fields))
        for (const value of HOSTILE) {
          const { status } = await post(operators.admin.key, name, `{"${field}":${value},"unheard":1}`)
          expect([field, value, status]).toEqual([field, value, 400])
        }
    },
  )

  it('is refused where it takes no key and gets one', async () => {
    const headers = { 'idempotency-key': 'once' }
    const { status, body } = await post(operators.admin.key, 'createSdkKey', { environment, reason }, { headers })
    expect([status, body.details]).toEqual([
      400,
      [{ path: 'Idempotency-Key', message: 'must not be sent: this call takes no key' }],
    ])
  })

  it('is refused to an operator token before its faults, where it needs a key', async () => {
    const { token } = await must('createOperatorToken', { role: 'admin', actor: 'grace', reason })
    for (const body of ['x', '{}']) {
      const { status, body: answer } = await post(token, 'createPlatformKey', body)
      expect([status, answer.details?.[0]?.path]).toEqual([403, 'authorization'])
    }
    expect((await denied('platform_key.create')).length).toBeGreaterThanOrEqual(2)
  })

  it('is a 409 for a gift beyond the limits of the role, and changes nothing', async () => {
    await must('setRoleLimits', { environment: 'staging', role: 'operator', maxJobPlayers: 10, reason })
    const to = { filter: {} }
    for (const [currency, limit, code] of [
      ['nope', 10, 'unknown_currency'],
      ['gems', 11, 'role_limit_exceeded'],
    ] as const) {
      const give = { rewards: [{ currency, amount: 5 }] }
      const body = { environment: 'staging', to, give, limit, ...keyed() }
      if (currency === 'gems') await must('addCurrency', { environment: 'staging', currency, reason })
      const answer = await post(operators.operator.key, 'createGrantJob', body)
      expect([answer.status, answer.body.code]).toEqual([409, code])
    }
  })

  it('takes no parameters of a query', async () => {
    const answer = await post(operators.admin.key, 'renameProject', { name: 'x', reason }, { query: '?force=true' })
    expect([answer.status, answer.body.details]).toEqual([
      400,
      [{ path: 'force', message: 'is unknown; this call takes none' }],
    ])
  })

  it('takes only the values of an enum in a list', async () => {
    const body = { environment, name: 'n', format: 'slack', url: studio.url, kinds: ['stuck', 'logins fail'], reason }
    const answer = await post(operators.admin.key, 'createAlertWebhook', body)
    expect(answer.body.details[0]).toEqual({ path: 'kinds[0]', message: expect.stringMatching(/^must be one of /) })
  })
})

function segment() {
  return { environment, name: 'bad', reason }
}
