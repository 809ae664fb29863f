import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { adjustWallet } from '../../src/dev/adjust-wallet.ts'
import { auditBooks, auditSupport } from '../harness/audit.ts'
import { gold, passNode, scenario } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, type TestPlayer, times } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import { openPool } from '../harness/sql.ts'
import {
  AUDITED,
  codeOf,
  type Input,
  logIn,
  type Mutation,
  newOperator,
  type Operator,
  obey,
  payload,
  random,
  support,
} from './desk.ts'

const XP = '/sdk/v1/battlepass/xp'
const CLAIM = '/sdk/v1/battlepass/claim'
const PREMIUM = '/sdk/v1/battlepass/premium'
const START = '/sdk/v1/scenarios/start'
const STORE = '/sdk/v1/storage/set'
const UNSTORE = '/sdk/v1/storage/delete'
const CROSS = '/sdk/v1/scenarios/cross'
const REFRESH = '/sdk/v1/authorization/refresh'
const LINK = '/sdk/v1/authorization/custom/link'

const pass = { scenarioId: 'season', nodeId: 'pass' }

let game: Game
let webhook: Webhook
let admin: Operator
let operators: readonly Operator[]
let viewer: Operator
/** An admin of another project. */
let stranger: Operator

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(obey)
  const { pool } = game.app
  const { projectId } = await createProject(pool, { name: 'Other', environments: ['production'] })
  ;[admin, viewer, stranger] = await Promise.all([
    newOperator(pool, game.projectId, 'admin'),
    newOperator(pool, game.projectId, 'viewer'),
    newOperator(pool, projectId, 'admin'),
  ])
  operators = [admin, await newOperator(pool, game.projectId), await newOperator(pool, game.projectId)]
  const { url, secret } = webhook
  expect((await game.setProviders({ default: { enabled: true, url, secret } })).status).toBe(200)
  const definition = scenario(
    [
      passNode('pass', { price: { currency: 'gems', amount: 300 } }),
      { id: 'gift', type: 'reward', data: { rewards: [gold(5)] } },
      { id: 'shop', type: 'client', data: {} },
    ],
    [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'start', handle: 'onStart', to: 'shop' },
      { from: 'shop', handle: 'onVisit', to: 'gift' },
      { from: 'pass', handle: 'onLevelUp', to: 'gift' },
      { from: 'pass', handle: 'onComplete', to: 'gift' },
    ],
  )
  expect((await game.publish('season', definition)).status).toBe(200)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await auditSupport(game.app.pool)
  await webhook.close()
  await game.stop()
})

const LOG = `query ($first: Int, $after: String, $last: Int, $before: String, $action: String, $target: String, $actor: String, $from: DateTime, $to: DateTime, $isAboutPlayer: Boolean) {
  auditLog(first: $first, after: $after, last: $last, before: $before, action: $action, target: $target, actor: $actor, from: $from, to: $to, isAboutPlayer: $isAboutPlayer) {
    edges { cursor node { id occurredAt actor action target beforeText afterText reason } }
    pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`

const ask = (asked: Input = {}, by: string | null = admin.key): Promise<GraphqlAnswer> => game.graphql(by, LOG, asked)

interface Entry {
  readonly id: string
  readonly occurredAt: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly reason: string | null
}

interface Page {
  readonly edges: { cursor: string; node: Entry }[]
  readonly pageInfo: {
    startCursor: string | null
    endCursor: string | null
    hasNextPage: boolean
    hasPreviousPage: boolean
  }
}

async function page(asked: Input = {}, by?: string): Promise<Page> {
  const { data, errors } = await ask(asked, by)
  expect(errors).toBeUndefined()
  return data.auditLog
}

const entries = async (asked: Input = {}): Promise<Entry[]> =>
  (await page({ first: 200, ...asked })).edges.map(({ node }) => node)

const refusal = ({ errors }: GraphqlAnswer) => errors?.[0]?.extensions.code

/** The rows of the table, in the form of the log. */
async function rows(condition = 'true', values: unknown[] = []): Promise<Entry[]> {
  const found = await game.app.pool.query(
    `SELECT 'AuditLogEntry:' || id AS id, created_at AS "occurredAt", actor, action, target, before AS "beforeText",
       after AS "afterText", reason FROM audit_log
     WHERE project_id = $1 AND ${condition} ORDER BY id DESC`,
    [game.projectId, ...values],
  )
  return JSON.parse(JSON.stringify(found.rows))
}

/** A player with entries by every operator, and two denied entries. */
async function written(): Promise<TestPlayer> {
  const player = await game.player()
  const { playerId } = player
  for (const { key } of operators) {
    payload(await support(game, key, 'banPlayer', { playerId, reason: 'first\n"reason" 💎' }))
    payload(await support(game, key, 'unbanPlayer', { playerId, reason: 'second' }))
  }
  expect(codeOf(await support(game, viewer.key, 'banPlayer', { playerId, reason: 'third' }))).toBe('FORBIDDEN')
  expect(codeOf(await support(game, player.token, 'unbanPlayer', { playerId, reason: 'fourth' }))).toBe('FORBIDDEN')
  return player
}

describe('the audit log', () => {
  it('has actor, action, target, time, before, after and reason of each entry, latest first', async () => {
    const { playerId } = await written()
    const told = await entries({ target: playerId })
    expect(told).toEqual(await rows('target = $2', [playerId]))
    expect(told.map(({ actor, action }) => [actor, action])).toEqual(
      [
        ...operators.flatMap(({ actor }) => [
          [actor, 'player.ban'],
          [actor, 'player.unban'],
        ]),
        [viewer.actor, 'player.ban.denied'],
        [`player:${playerId}`, 'player.unban.denied'],
      ].reverse(),
    )
    expect(told.at(-1)).toEqual({
      id: expect.any(String),
      occurredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      actor: admin.actor,
      action: 'player.ban',
      target: playerId,
      beforeText: '{"status":"active"}',
      afterText: '{"status":"banned"}',
      reason: 'first\n"reason" 💎',
    })
  })

  it('has changes of settings', async () => {
    const { url, secret } = webhook
    await game.setProviders({ default: { enabled: false, url, secret } }, 'staging')
    const [entry] = await entries({ action: 'auth_providers.set' })
    expect(entry).toMatchObject({ target: 'staging', reason: null, actor: expect.stringMatching(/^platform_key:/) })
  })

  it('is filtered by action, target and actor, alone and together', async () => {
    const [one, two] = [await written(), await written()]
    const [, operator] = operators
    const filters = [
      {},
      { action: 'player.ban' },
      { action: 'player.ban.denied' },
      { target: one.playerId },
      { actor: operator?.actor },
      { actor: `player:${two.playerId}` },
      { action: 'player.unban', target: two.playerId },
      { action: 'player.ban', actor: operator?.actor },
      { target: one.playerId, actor: operator?.actor },
      { action: 'player.ban', target: one.playerId, actor: operator?.actor },
      { action: 'player' },
      { action: 'player.%' },
      { action: 'PLAYER.BAN' },
      { target: two.playerId, actor: `player:${one.playerId}` },
      { action: null, target: null, actor: null },
    ]
    for (const filter of filters) {
      const given = Object.entries(filter).filter(([, value]) => value !== null)
      const condition = given.map(([column], index) => `${column} = $${index + 2}`).join(' AND ') || 'true'
      const expected = await rows(
        condition,
        given.map(([, value]) => value),
      )
      expect([filter, await entries(filter)]).toEqual([filter, expected.slice(0, 200)])
    }
  })

  it('has what was done to players, or all else, alone and with another filter', async () => {
    await written()
    const all = await rows('true', [])
    const isOf = ({ action }: { action: string }) => action.startsWith('player.')
    expect(await entries({ isAboutPlayer: true })).toEqual(all.filter(isOf).slice(0, 200))
    expect(await entries({ isAboutPlayer: false })).toEqual(all.filter((entry) => !isOf(entry)).slice(0, 200))
    const bans = all.filter(({ action }) => action === 'player.ban')
    expect(await entries({ isAboutPlayer: true, action: 'player.ban' })).toEqual(bans.slice(0, 200))
    expect(await entries({ isAboutPlayer: false, action: 'player.ban' })).toEqual([])
  })

  it('is filtered by time, from an inclusive moment to an exclusive one', async () => {
    const target = (await written()).playerId
    // Each entry has its own time, in whole milliseconds as the log answers it.
    await game.app.pool.query(
      `UPDATE audit_log a SET created_at = date_trunc('second', now()) + n.n * interval '1 millisecond'
       FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM audit_log WHERE project_id = $1 AND target = $2) n
       WHERE a.id = n.id`,
      [game.projectId, target],
    )
    const all = await rows('target = $2', [target])
    expect(all).toHaveLength(8)
    const moments = all.map(({ occurredAt }) => occurredAt)
    expect(new Set(moments).size).toBe(8)
    const cases: [filter: { from?: string; to?: string }, expected: Entry[]][] = [
      [{}, all],
      [{ from: moments[3] }, all.slice(0, 4)],
      [{ to: moments[3] }, all.slice(4)],
      [{ from: moments[5], to: moments[2] }, all.slice(3, 6)],
      [{ from: moments[7], to: '2999-01-01T00:00:00Z' }, all],
      [{ from: '1999-01-01T00:00:00Z', to: moments[7] }, []],
      [{ from: '2999-01-01T00:00:00Z' }, []],
      [{ from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' }, all],
    ]
    for (const [filter, expected] of cases)
      expect([filter, await entries({ target, ...filter })]).toEqual([filter, expected])
    // Postgres has no year 0.
    expect(await entries({ target, from: '0000-01-01T00:00:00Z' })).toEqual(all)
    expect(await entries({ target, to: '0000-01-01T00:00:00Z' })).toEqual([])
  })

  it('has an index for each filter, so that no page sorts or scans the log', async () => {
    // On a busy machine, this takes longer than a statement of the service may.
    const pool = openPool(game.databaseUrl)
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(
        `INSERT INTO audit_log (project_id, id, actor, action, target)
         SELECT $1, gen_random_uuid(), 'actor ' || n % 500, 'action ' || n % 500, 'target ' || n % 500
         FROM generate_series(1, 20000) n`,
        [game.projectId],
      )
      await client.query('ANALYZE audit_log')
      for (const column of ['actor', 'action', 'target']) {
        const { rows: plan } = await client.query(
          `EXPLAIN SELECT * FROM audit_log WHERE project_id = $1 AND ${column} = '${column} 7' ORDER BY id DESC LIMIT 21`,
          [game.projectId],
        )
        const text = plan.map((row) => row['QUERY PLAN']).join('\n')
        expect(text).toContain(`audit_log_project_id_${column}_id_idx`)
        expect(text).not.toMatch(/Sort|Seq Scan/)
      }
    } finally {
      client.release(true)
      await pool.end()
    }
  })

  it('has the environment of each entry, and is filtered by it', async () => {
    const publish = (environment: string, xp: number) =>
      game.graphql(
        admin.key,
        'mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) { auditEntry { id environment } } }',
        {
          input: {
            environment,
            scenarioId: 'probe',
            definition: print(scenario([passNode('pass', { levels: [xp] })], [])),
            reason: 'test',
          },
        },
      )
    const made = []
    for (const [environment, xp] of [
      ['production', 1],
      ['staging', 2],
      ['production', 3],
    ] as const)
      made.push((await publish(environment, xp)).data.publishScenario.auditEntry)
    expect(made.map(({ environment }) => environment)).toEqual(['production', 'staging', 'production'])
    const read = async (args: string, key = admin.key) =>
      game.graphql(key, `{ auditLog(${args}, first: 200) { nodes { id environment } } }`)
    const production = (await read('target: "probe", environment: "production"')).data.auditLog.nodes
    expect(production).toEqual([made[2], made[0]])
    const staging = (await read('environment: "staging"')).data.auditLog.nodes
    expect(staging).toContainEqual(made[1])
    expect(new Set(staging.map(({ environment }: { environment: string }) => environment))).toEqual(
      new Set(['staging']),
    )
    expect(refusal(await read('environment: "nowhere"'))).toBe('ENVIRONMENT_NOT_FOUND')
    expect((await read('environment: "production"', stranger.key)).data.auditLog.nodes).toEqual([])
  })

  it('is paged in both directions without a gap or a duplicate while entries are added', async () => {
    const player = await game.player()
    const { playerId } = player
    const add = (reason: string) => support(game, admin.key, 'endSessions', { playerId, reason })
    await Promise.all(times(120, (index) => add(`${index}`)))
    const expected = (await rows('target = $2', [playerId])).map(({ id }) => id)
    expect(expected).toHaveLength(120)

    const forwards: string[] = []
    let after: string | null = null
    do {
      const { edges, pageInfo }: Page = await page({ target: playerId, first: 17, after })
      forwards.push(...edges.map(({ node }) => node.id))
      expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor)
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null
      payload(await add('late'))
    } while (after !== null)
    expect(forwards).toEqual(expected)

    const all = (await rows('target = $2', [playerId])).map(({ id }) => id)
    const backwards: string[] = []
    let before: string | null = null
    do {
      const { edges, pageInfo }: Page = await page({ target: playerId, last: 19, before })
      backwards.unshift(...edges.map(({ node }) => node.id))
      before = pageInfo.hasPreviousPage ? pageInfo.startCursor : null
    } while (before !== null)
    expect(backwards).toEqual(all)
  })

  it('refuses invalid filters', async () => {
    for (const name of ['action', 'target', 'actor'])
      for (const value of ['', 'a\0b', '\ud800', 'x'.repeat(256)])
        expect([name, refusal(await ask({ [name]: value }))]).toEqual([name, 'INVALID_REQUEST'])
  })

  it('never has provider secrets, keys, tokens, storage values or idempotency keys', async () => {
    const secrets = ['first-secret-of-a-provider', 'second-secret-of-a-provider', 'stored-value', 'key-of-a-request']
    const [first, second, stored, idempotencyKey] = secrets
    for (const secret of [first, second])
      await game.setProviders({ default: { enabled: true, url: webhook.url, secret: secret ?? '' } }, 'staging')
    const player = await logIn(game, 'subject of secrets', { data: { own: 'stored-value' } })
    const { playerId } = player
    const by = async (mutation: Mutation, input: Input) =>
      payload(await support(game, admin.key, mutation, { playerId, reason: 'x', ...input }))
    await by('setPlayerStorage', { values: print({ mine: stored ?? '' }) })
    await by('deletePlayerStorage', { keys: ['own'] })
    await by('creditWallet', { currency: 'gems', amount: 1, idempotencyKey })
    await by('endSessions', {})
    await support(game, player.token, 'banPlayer', { playerId, reason: 'x' })
    const { key: sdkKey } = await createSdkKey(game.app.pool, game.environmentId)
    await by('deletePlayer', {})

    const text = JSON.stringify([await rows(), await entries()])
    const keys = [admin.key, viewer.key, sdkKey, game.sdkKey, player.token, player.refreshToken, webhook.secret]
    for (const secret of [...secrets, ...keys]) expect(text).not.toContain(secret)
    for (const pattern of [/tw(plat|sdk|rt)_/, /eyJ/]) expect(text).not.toMatch(pattern)
  })

  it('keeps the entries of a deleted player', async () => {
    const { playerId } = await written()
    const before = await entries({ target: playerId })
    payload(await support(game, admin.key, 'deletePlayer', { playerId, reason: 'asked for' }))
    expect((await entries({ target: playerId })).slice(1)).toEqual(before)
  })
})

const SEQUENCES = atScale(100, 15)
const AT_ONCE = 10

/** One call that concerns one of the players of a sequence. */
interface Step {
  readonly player: number
  /** The support action; without it, the player calls `path`. */
  readonly mutation?: Mutation
  readonly path?: string
  readonly input: Input
}

/** The steps of several callers at the same time. Each caller takes one step after another. */
type Plan = readonly (readonly Step[])[]

const PLAYERS = 3

/** Five steps of each player and of each of three operators. */
function plan(next: () => number): Plan {
  const one = <T>(...choices: readonly [T, ...T[]]): T => choices[Math.floor(next() * choices.length)] ?? choices[0]
  const level = () => one(1, 1, 1, 2, 2, 3, 5)
  const track = () => one('free', 'free', 'premium')
  const tier = () => ({ ...pass, level: level(), track: track() })
  const idempotencyKey = () => one('a', 'b', 'c', 'd', 'e', 'f')
  // Resets free the keys of grants, so that a repeat may be a new grant: each grant has a key of its own.
  let keys = 0
  const ownKey = () => {
    keys += 1
    return `own ${keys}`
  }
  const own = (): Omit<Step, 'player'> =>
    one<() => Omit<Step, 'player'>>(
      () => ({ path: XP, input: { ...pass, amount: one(1, 60, 150, 400), source: 'match' } }),
      () => ({ path: XP, input: { ...pass, amount: one(1, 60, 150, 400), source: 'match' } }),
      () => ({ path: CLAIM, input: tier() }),
      () => ({ path: CLAIM, input: tier() }),
      () => ({ path: PREMIUM, input: pass }),
      () => ({ path: START, input: { scenarioId: 'season' } }),
      () => ({ path: CROSS, input: { scenarioId: 'season', nodeId: 'shop', handle: one('onVisit', 'onComplete') } }),
      () => ({ path: REFRESH, input: {} }),
      () => ({ path: LINK, input: {} }),
      () => ({ path: UNSTORE, input: { keys: [one('a', 'b', 'c')] } }),
      () => ({ path: STORE, input: { values: { [one('a', 'b', 'c')]: 1 } } }),
    )()
  const supports = (): Omit<Step, 'player'> =>
    one<() => Omit<Step, 'player'>>(
      () => ({ mutation: 'banPlayer', input: {} }),
      () => ({ mutation: 'unbanPlayer', input: {} }),
      () => ({ mutation: 'unbanPlayer', input: {} }),
      () => ({ mutation: one('endSessions', 'endSessions', 'endSessions', 'deletePlayer'), input: {} }),
      () => ({
        mutation: 'creditWallet',
        input: { currency: 'gems', amount: one(50, 300), idempotencyKey: idempotencyKey() },
      }),
      () => ({
        mutation: 'debitWallet',
        input: { currency: one('gems', 'gold'), amount: one(10, 200), idempotencyKey: idempotencyKey() },
      }),
      () => ({ mutation: 'grantXp', input: { ...pass, amount: one(30, 200), idempotencyKey: ownKey() } }),
      () => ({ mutation: 'grantXp', input: { ...pass, amount: one(30, 200), idempotencyKey: ownKey() } }),
      () => ({ mutation: 'grantTier', input: { ...tier(), idempotencyKey: ownKey() } }),
      () => ({ mutation: 'grantTier', input: { ...tier(), idempotencyKey: ownKey() } }),
      () => ({ mutation: 'resetTier', input: tier() }),
      () => ({ mutation: 'grantPremium', input: pass }),
      () => ({ mutation: 'revokePremium', input: pass }),
      () => ({ mutation: 'resetPass', input: pass }),
      () => ({ mutation: 'cancelRun', input: {} }),
      () => ({
        mutation: 'crossHandleForPlayer',
        input: { scenarioId: 'season', nodeId: 'shop', handle: 'onComplete', idempotencyKey: ownKey() },
      }),
      () => ({ mutation: 'unlinkIdentity', input: { provider: 'custom', allowLast: true } }),
      () => ({ mutation: 'setPlayerStorage', input: { values: `{"${one('a', 'b', 'c')}":2}` } }),
      () => ({ mutation: 'deletePlayerStorage', input: { keys: [one('a', 'b', 'c')] } }),
    )()
  const anyone = () => Math.floor(next() * PLAYERS)
  return [
    ...times(PLAYERS, (player) => times(5, () => ({ player, ...own() }))),
    ...operators.map(() => times(5, () => ({ player: anyone(), ...supports() }))),
  ]
}

/** A step with its outcome: `ok`, or the code of its refusal. */
interface Done extends Step {
  readonly outcome: string
  // biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
  readonly answer: any
}

/** Any other outcome is a fault of the service. */
const EXPECTED = new Set([
  'ok',
  'PLAYER_BANNED',
  'PLAYER_DELETED',
  'RUN_NOT_ACTIVE',
  'INSUFFICIENT_FUNDS',
  'PREMIUM_TIERS_CLAIMED',
  'PREMIUM_REQUIRED',
  'IDEMPOTENCY_KEY_REUSED',
  // For client nodes that are completed, identities that are unlinked, and logins that are ended.
  'NODE_NOT_ACTIVE',
  'NOT_FOUND',
  'INVALID_TOKEN',
])

let subjects = 0

async function replay(steps: Plan): Promise<{ players: TestPlayer[]; done: Done[] }> {
  const players = await Promise.all(
    times(PLAYERS, async () => {
      subjects += 1
      const player = await logIn(game, `replayed ${subjects}`)
      await game.app.service.run(adjustWallet(player, { currency: 'gems', amount: 400n, reference: 'test' }))
      return player
    }),
  )
  // Each player uses the token of its last refresh, and links the identity of its login.
  const tokens = players.map(({ refreshToken }) => refreshToken)
  const runs = await Promise.all(players.map((player) => player.start('season')))
  const take = async (step: Step, who: Operator | undefined): Promise<Done> => {
    const { player: index, mutation, path = '', input } = step
    const player = players[index]
    if (!player) throw new Error(`no player ${index}`)
    // Steps use the run that the player started last.
    const runId = runs[index]
    if (mutation) {
      const { subject } = player
      const more = { ...(mutation === 'cancelRun' && { runId }), ...(mutation === 'unlinkIdentity' && { subject }) }
      const { playerId } = player
      const outcome = await support(game, who?.key ?? null, mutation, { playerId, reason: 'replay', ...input, ...more })
      return { ...step, outcome: codeOf(outcome), answer: 'ok' in outcome ? outcome.ok : null }
    }
    const own = {
      ...input,
      runId,
      ...(path === REFRESH && { refreshToken: tokens[index] }),
      ...(path === LINK && { customData: { player: player.subject } }),
    }
    const { status, body } = await player.post(path, own, { 'x-sdk-key': game.sdkKey })
    if (path === REFRESH && status === 200) tokens[index] = body.refreshToken
    if (path === START && status === 200) runs[index] = body.runId
    return { ...step, outcome: status < 300 ? 'ok' : body.code.toUpperCase(), answer: body }
  }
  const done = await Promise.all(
    steps.map(async (share, index) => {
      const came: Done[] = []
      for (const step of share) came.push(await take(step, operators[index - PLAYERS]))
      return came
    }),
  )
  return { players, done: done.flat() }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** Expects that the tables hold exactly the acknowledged changes. */
async function expectBooked({ playerId }: TestPlayer, steps: readonly Done[], what: string): Promise<void> {
  const { pool } = game.app
  const count = async (sql: string) => Number((await pool.query(`SELECT ${sql}`, [playerId])).rows[0].count ?? 0)
  expect(
    steps.map(({ outcome }) => outcome).filter((outcome) => !EXPECTED.has(outcome)),
    what,
  ).toEqual([])
  const ok = steps.filter(({ outcome }) => outcome === 'ok')

  // A repeat with the same key takes effect once, with the same answer.
  const effects = ok.filter(({ input }) => input.idempotencyKey === undefined)
  const keyed = new Map<string, Done>()
  for (const step of ok) {
    const { mutation, input, answer } = step
    if (input.idempotencyKey === undefined) continue
    const name = `${mutation} ${input.idempotencyKey}`
    const first = keyed.get(name)
    if (first) expect({ ...answer, player: null }, `${what}: ${name}`).toEqual({ ...first.answer, player: null })
    else effects.push(step)
    keyed.set(name, first ?? step)
  }
  const of = (mutation: Mutation) => effects.filter((step) => step.mutation === mutation)
  const by = (path: string) => effects.filter((step) => step.path === path)

  const { rows: audited } = await pool.query<{ action: string; count: string }>(
    'SELECT action, count(*) FROM audit_log WHERE target = $1 GROUP BY action',
    [playerId],
  )
  const expected = Object.entries(AUDITED).flatMap(([mutation, action]) => {
    const times = of(mutation as Mutation).length
    return times > 0 ? [[action, String(times)]] : []
  })
  expect(audited.map((row) => [row.action, row.count]).sort(), `${what}: audit rows`).toEqual(expected.sort())

  const xp = sum([...by(XP), ...of('grantXp')].map(({ input }) => Number(input.amount)))
  expect(await count('sum(amount) AS count FROM xp_ledger WHERE player_id = $1 AND amount > 0'), what).toBe(xp)
  const claims = [
    ...by(CLAIM).map(({ answer, input }) => ({ ...answer, ...input })),
    ...of('grantTier').map(({ answer, input }) => ({ ...answer.result, ...input })),
  ]
  const granted = claims.filter(({ success, alreadyClaimed }) => success && !alreadyClaimed)
  const free = granted.filter(({ track }) => track === 'free').length
  const ledger = (reason: string) => count(`count(*) FROM wallet_ledger WHERE player_id = $1 AND reason = '${reason}'`)
  expect(await ledger('tier_claim'), `${what}: free tiers`).toBe(free)
  expect(await count('sum(amount) AS count FROM inventory WHERE player_id = $1'), `${what}: premium tiers`).toBe(
    granted.length - free,
  )
  expect(await ledger('premium_purchase'), what).toBe(by(PREMIUM).filter(({ answer }) => answer.success).length)
  // One adjustment is the initial balance of the player.
  expect(await ledger('adjustment'), what).toBe(1 + of('creditWallet').length + of('debitWallet').length)
  const starts = by(START).filter(({ answer }) => !answer.resumed).length
  expect(await count('count(*) FROM runs WHERE player_id = $1'), `${what}: runs`).toBe(1 + starts)
}

describe('random concurrent calls of players and operators', () => {
  it(`leave ledgers, streams and an audit log that match every answer (${SEQUENCES} sequences)`, async () => {
    const next = random(SEED)
    const plans = times(SEQUENCES, () => plan(next))
    for (let at = 0; at < plans.length; at += AT_ONCE) {
      await Promise.all(
        plans.slice(at, at + AT_ONCE).map(async (steps, index) => {
          const { players, done } = await replay(steps)
          for (const [number, player] of players.entries()) {
            const what = `player ${number} of sequence ${at + index} of SEED=${SEED}`
            await expectBooked(
              player,
              done.filter((step) => step.player === number),
              what,
            )
          }
        }),
      )
    }
    await auditBooks(game.app.pool)
    await auditSupport(game.app.pool)
  })
})
