import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/json.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { createProject } from '../../src/projects/projects.ts'
import { adjustWallet } from '../../src/wallet/adjust.ts'
import { auditBooks, auditSupport } from '../support/audit.ts'
import { gold, item, passNode, scenario, season, tier } from '../support/definitions.ts'
import {
  type Game,
  generateKeys,
  type Instance,
  startGame,
  startInstance,
  type TestPlayer,
  times,
} from '../support/game.ts'
import { startOperator, type Operator as Webhook } from '../support/operator.ts'
import { ADD_XP, outcomeOfGraphql, plain } from '../support/surfaces.ts'
import { until } from '../support/until.ts'
import {
  AUDITED,
  auditRows,
  codeOf,
  countAudit,
  everythingOf,
  type Input,
  type LoggedIn,
  logIn,
  type Mutation,
  newOperator,
  type Operator,
  obey,
  payload,
  support,
} from './desk.ts'

const MAX_INT64 = 2n ** 63n - 1n
const NOBODY = '01900000-0000-7000-8000-000000000000'
const XP = '/sdk/v1/battlepass/xp'
const CLAIM = '/sdk/v1/battlepass/claim'
const PREMIUM = '/sdk/v1/battlepass/premium'
const PROGRESS = '/sdk/v1/battlepass/progress'
const REFRESH = '/sdk/v1/authorization/refresh'

const pass = { scenarioId: 'season', nodeId: 'pass' }
const bonus = { scenarioId: 'season', nodeId: 'bonus' }

// Two passes of five levels, a view on a tier of the first, and gold for each gain of a level.
const definition = scenario(
  [
    passNode('pass'),
    passNode('bonus'),
    { id: 'third', type: 'battle-pass-level', data: { levelNumber: 3, passNodeId: 'pass' } },
    { id: 'gift', type: 'reward', data: { rewards: [gold(5)] } },
  ],
  [
    { from: 'start', handle: 'onStart', to: 'pass' },
    { from: 'start', handle: 'onStart', to: 'bonus' },
    { from: 'pass', handle: 'onLevelUp', to: 'gift' },
  ],
)

let game: Game
let webhook: Webhook
let operator: Operator
let admin: Operator
let viewer: Operator
/** An operator of another project, and a player there. */
let stranger: Operator
let strangePlayerId: string
/** A second instance on the same database. */
let other: Instance

beforeAll(async () => {
  const shared = await generateKeys()
  game = await startGame(shared)
  webhook = await startOperator(obey)
  other = await startInstance(game.databaseUrl, shared)
  const { pool } = game.app
  const project = await createProject(pool, { name: 'Other', environments: ['production'] })
  ;[operator, admin, viewer, stranger] = await Promise.all([
    newOperator(pool, game.projectId),
    newOperator(pool, game.projectId, 'admin'),
    newOperator(pool, game.projectId, 'viewer'),
    newOperator(pool, project.projectId),
  ])
  strangePlayerId = (await game.app.service.run(createPlayer(project.environments.get('production') ?? '', 'Eve')))
    .playerId
  const { url, secret } = webhook
  expect((await game.setProviders({ default: { enabled: true, url, secret } })).status).toBe(200)
  const over = season({ more: { endsAt: '2020-01-01T00:00:00Z', claimUntil: '2020-02-01T00:00:00Z' } })
  for (const published of [await game.publish('season', definition), await game.publish('over', over)])
    expect(published.status, published.text).toBe(200)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await auditSupport(game.app.pool)
  await other.stop()
  await webhook.close()
  await game.stop()
})

let count = 0
/** A name that nobody has yet. */
const fresh = (what: string): string => {
  count += 1
  return `${what} ${count}`
}

interface Seasoned extends LoggedIn {
  readonly runId: string
}

/**
 * A player in the middle of a season: 250 xp, premium bought, the free tiers 1 and 2 claimed. It has 50 gems, and 35
 * gold: 30 of its tiers, and 5 of the level that it gained.
 */
async function seasoned(): Promise<Seasoned> {
  const player = await logIn(
    game,
    fresh('subject'),
    { nickname: 'Ada', avatarUrl: 'https://cdn.example/ada.png', data: { color: 'red' } },
    { region: 'eu-west', language: 'pt-BR' },
  )
  await game.app.service.run(adjustWallet(player, { currency: 'gems', amount: 1000n, reference: 'test' }))
  const runId = await player.start('season')
  const answers = [
    await player.post(XP, { ...pass, runId, amount: 250, source: 'match' }),
    await player.post(PREMIUM, { ...pass, runId }),
    await player.post(CLAIM, { ...pass, runId, level: 1, track: 'free' }),
    await player.post(CLAIM, { ...pass, runId, level: 2, track: 'free' }),
  ]
  for (const { status, body } of answers) expect([status, body.success ?? true]).toEqual([200, true])
  return { ...player, runId }
}

/** One action of an operator that has no doubt about why. */
const act = (mutation: Mutation, { playerId }: { playerId: string }, input: Input = {}, by: Operator = operator) =>
  support(game, by.key, mutation, { playerId, reason: 'ticket 4711', ...input })

const key = () => fresh('key')

const everything = ({ playerId }: { playerId: string }) => everythingOf(game.app.pool, playerId)
const rowsOf = ({ playerId }: { playerId: string }) => auditRows(game.app.pool, game.projectId, playerId)

async function balances({ playerId }: { playerId: string }): Promise<Record<string, string>> {
  const { rows } = await game.app.pool.query('SELECT currency, balance FROM wallets WHERE player_id = $1', [playerId])
  return Object.fromEntries(rows.map(({ currency, balance }) => [currency, balance]))
}

const progress = async (player: TestPlayer, at = pass) => (await player.post(PROGRESS, at)).body

async function events({ playerId }: { playerId: string }) {
  const { rows } = await game.app.pool.query(
    `SELECT handle, node_id AS "nodeId", data FROM events
     WHERE player_id = $1 AND type = 'crossing' ORDER BY position`,
    [playerId],
  )
  return rows.map((row) => ({ ...row, data: JSON.parse(row.data) }))
}

async function xpLedger({ playerId }: { playerId: string }) {
  const { rows } = await game.app.pool.query<{ amount: string; source: string }>(
    'SELECT amount, source FROM xp_ledger WHERE player_id = $1 ORDER BY id',
    [playerId],
  )
  return rows.map(({ amount, source }) => [amount, source])
}

const TOO_LONG = (max: number) => `must be 1 to ${max} characters`
const UNSTORABLE = 'must not contain NUL or a lone surrogate'

type Bad = Readonly<Record<string, readonly (readonly [value: unknown, message: string])[]>>

const text = (max: number): Bad[string] => [
  ['', TOO_LONG(max)],
  ['x'.repeat(max + 1), TOO_LONG(max)],
  ['a\0b', UNSTORABLE],
  ['\ud800', UNSTORABLE],
]
const BAD_CALL: Bad = { playerId: [['not-an-id', 'must be an id']], reason: text(500) }
const BAD_PLACE: Bad = { scenarioId: text(128), nodeId: text(128) }
const BAD_AMOUNT: Bad = {
  amount: [
    [0, `must be 1 to ${MAX_INT64}`],
    [-1, `must be 1 to ${MAX_INT64}`],
    [-(2n ** 63n), `must be 1 to ${MAX_INT64}`],
  ],
}
const BAD_KEY: Bad = { idempotencyKey: text(255) }
const BAD_LEVEL: Bad = { level: [[-1, 'must be 0 to 2147483647']] }

interface Case {
  readonly mutation: Mutation
  /** What is asked for, beside the player and the reason. */
  readonly input: (player: Seasoned) => Input
  /** What must have happened before. */
  readonly given?: (player: Seasoned) => Promise<unknown>
  /** The payload, beside the player. */
  readonly answer?: Input
  readonly status?: string
  readonly before: (player: Seasoned) => unknown
  readonly after: (player: Seasoned) => unknown
  /** What the fields beside the player and the reason must not be. */
  readonly bad?: Bad
  /** What makes another request of it. */
  readonly otherwise?: Input
}

const CASES: readonly Case[] = [
  {
    mutation: 'banPlayer',
    input: () => ({}),
    status: 'banned',
    before: () => ({ status: 'active' }),
    after: () => ({ status: 'banned' }),
  },
  {
    mutation: 'unbanPlayer',
    input: () => ({}),
    given: (player) => game.app.pool.query(`UPDATE players SET status = 'banned' WHERE id = $1`, [player.playerId]),
    before: () => ({ status: 'banned' }),
    after: () => ({ status: 'active' }),
  },
  {
    mutation: 'deletePlayer',
    input: () => ({}),
    status: 'deleted',
    before: () => ({ status: 'active' }),
    after: () => ({ status: 'deleted' }),
  },
  { mutation: 'endSessions', input: () => ({}), before: () => null, after: () => null },
  {
    mutation: 'unlinkIdentity',
    input: ({ subject }) => ({ provider: 'custom', subject }),
    before: ({ subject }) => ({ provider: 'custom', subject }),
    after: () => null,
    bad: { provider: text(64), subject: text(255) },
  },
  {
    mutation: 'creditWallet',
    input: () => ({ currency: 'gems', amount: 100, idempotencyKey: key() }),
    answer: { balance: '150' },
    before: () => ({ currency: 'gems', balance: 50 }),
    after: () => ({ currency: 'gems', balance: 150 }),
    bad: { currency: text(64), ...BAD_AMOUNT, ...BAD_KEY },
    otherwise: { amount: 101 },
  },
  {
    mutation: 'debitWallet',
    input: () => ({ currency: 'gold', amount: 35, idempotencyKey: key() }),
    answer: { balance: '0' },
    before: () => ({ currency: 'gold', balance: 35 }),
    after: () => ({ currency: 'gold', balance: 0 }),
    bad: { currency: text(64), ...BAD_AMOUNT, ...BAD_KEY },
    otherwise: { currency: 'gems' },
  },
  {
    mutation: 'grantXp',
    input: () => ({ ...pass, amount: 60, idempotencyKey: key() }),
    answer: {
      result: {
        level: 4,
        xp: '310',
        leveledUp: true,
        maxLevel: false,
        plan: {
          runId: expect.any(String),
          status: 'active',
          crossed: [
            { nodeId: 'pass', handle: 'onLevelUp' },
            { nodeId: 'gift', handle: 'onComplete' },
          ],
          entered: [{ nodeId: 'gift', type: 'reward', data: expect.anything() }],
          granted: [{ amount: '5', currency: 'gold', itemId: null }],
        },
      },
    },
    before: ({ runId }) => ({ ...pass, runId, xp: 250, level: 3 }),
    after: ({ runId }) => ({ ...pass, runId, xp: 310, level: 4, source: 'support' }),
    bad: { ...BAD_PLACE, ...BAD_AMOUNT, source: text(64), ...BAD_KEY },
    otherwise: { source: 'other' },
  },
  {
    mutation: 'grantTier',
    input: () => ({ ...pass, level: 5, track: 'free', idempotencyKey: key() }),
    answer: {
      result: {
        success: true,
        alreadyClaimed: false,
        error: null,
        granted: [{ amount: '50', currency: 'gold', itemId: null }],
      },
    },
    before: () => ({ ...pass, level: 5, track: 'free', claimed: false }),
    after: () => ({
      ...pass,
      level: 5,
      track: 'free',
      success: true,
      error: null,
      granted: [{ amount: 50, currency: 'gold', itemId: null }],
    }),
    bad: { ...BAD_PLACE, ...BAD_LEVEL, ...BAD_KEY },
    otherwise: { level: 4 },
  },
  {
    mutation: 'resetTier',
    input: () => ({ ...pass, level: 2, track: 'free' }),
    answer: { changed: true },
    before: () => expect.objectContaining({ ...pass, level: 2, track: 'free', claimed: true }),
    after: () => ({ ...pass, level: 2, track: 'free', claimed: false }),
    bad: { ...BAD_PLACE, ...BAD_LEVEL },
  },
  {
    mutation: 'grantPremium',
    input: () => bonus,
    answer: { changed: true },
    before: () => ({ ...bonus, premiumOwned: false }),
    after: () => ({ ...bonus, premiumOwned: true }),
    bad: BAD_PLACE,
  },
  {
    mutation: 'revokePremium',
    input: () => pass,
    answer: { changed: true },
    before: () => ({ ...pass, premiumOwned: true }),
    after: () => ({ ...pass, premiumOwned: false }),
    bad: BAD_PLACE,
  },
  {
    mutation: 'resetPass',
    input: () => pass,
    answer: { changed: true },
    before: () => ({
      ...pass,
      xp: 250,
      level: 3,
      premiumOwned: true,
      claimedTiers: expect.toSatisfy((tiers: string[]) => [...tiers].sort().join() === 'free:1,free:2'),
    }),
    after: () => expect.objectContaining({ ...pass, xp: 0, premiumOwned: false, claimedTiers: [] }),
    bad: BAD_PLACE,
  },
  {
    mutation: 'cancelRun',
    input: ({ runId }) => ({ runId }),
    before: ({ runId }) => ({ runId, scenarioId: 'season', status: 'active', active: ['pass', 'bonus'] }),
    after: ({ runId }) => ({ runId, scenarioId: 'season', status: 'cancelled', active: [] }),
    bad: { runId: text(128) },
  },
  {
    mutation: 'setPlayerStorage',
    input: () => ({ values: '{"hat":1.0,"color":"blue"}' }),
    before: () => null,
    after: () => ({ keys: ['hat', 'color'] }),
    bad: { values: [['{"a\\u0000b":1}', 'keys must not contain NUL or a lone surrogate']] },
  },
  {
    mutation: 'deletePlayerStorage',
    input: () => ({ keys: ['color', 'nothing'] }),
    before: () => ({ keys: expect.arrayContaining(['color']) }),
    after: () => null,
    bad: { keys: [[times(1001, String), 'must have at most 1000 elements']] },
  },
]

describe.each(CASES.map((each) => [each.mutation, each] as const))(
  '%s',
  (mutation, { input, given, answer, status = 'active', ...rest }) => {
    const action = AUDITED[mutation]
    /** A player whom no test of these changes. */
    let victim: Seasoned
    let all: Input

    beforeAll(async () => {
      victim = await seasoned()
      all = { playerId: victim.playerId, reason: 'because', ...input(victim) }
    })

    /** Expects that a call changes nothing of the victim, and that this is all the audit log gains. */
    async function changesNothing(call: () => Promise<unknown>, { gains = 0 } = {}): Promise<void> {
      const [state, entries] = [await everything(victim), await countAudit(game.app.pool)]
      await call()
      expect(await everything(victim)).toEqual(state)
      expect((await countAudit(game.app.pool)) - entries).toBe(gains)
    }

    it('answers what it did, and leaves one audit row: who, what, on whom, before, after, why', async () => {
      const player = await seasoned()
      await given?.(player)
      const reason = 'He said: "löre, 💎 & co\\"'
      const done = payload(await act(mutation, player, { ...input(player), reason }))
      expect(done).toEqual({ player: { playerId: player.playerId, status }, ...answer })
      expect(await rowsOf(player)).toEqual([
        {
          action,
          actor: operator.actor,
          reason,
          environmentId: game.environmentId,
          before: rest.before(player),
          after: rest.after(player),
        },
      ])
    })

    it('may be done by an admin, too', async () => {
      const player = await seasoned()
      await given?.(player)
      payload(await act(mutation, player, input(player), admin))
      expect(await rowsOf(player)).toMatchObject([{ action, actor: admin.actor }])
    })

    it('is PLAYER_NOT_FOUND alike for nobody, for a player of another project, and to operators of another', async () => {
      await changesNothing(
        async () => {
          const outcomes = await Promise.all([
            act(mutation, { playerId: NOBODY }, input(victim)),
            act(mutation, { playerId: strangePlayerId }, input(victim)),
            act(mutation, victim, input(victim), stranger),
          ])
          for (const outcome of outcomes)
            expect(outcome).toEqual({ code: 'PLAYER_NOT_FOUND', message: 'player not found' })
        },
        { gains: 3 },
      )
    })

    it('on a player of another project is in the audit log of the operator, and in no other', async () => {
      const { pool } = game.app
      const denied = (actor: string) => ({ action: `${action}.denied`, actor, environmentId: null, before: null })
      const { projectId } = stranger.caller
      expect(await auditRows(pool, game.projectId, strangePlayerId)).toContainEqual(
        expect.objectContaining(denied(operator.actor)),
      )
      expect(await auditRows(pool, projectId, victim.playerId)).toContainEqual(
        expect.objectContaining(denied(stranger.actor)),
      )
      expect((await auditRows(pool, projectId, strangePlayerId)).map(({ actor }) => actor)).not.toContain(
        operator.actor,
      )
      expect((await rowsOf(victim)).map(({ actor }) => actor)).not.toContain(stranger.actor)
    })

    it('is PLAYER_DELETED for one that is deleted, and leaves no trace', async () => {
      const player = await seasoned()
      payload(await act('deletePlayer', player))
      const state = await everything(player)
      expect(await act(mutation, player, input(player))).toEqual({ code: 'PLAYER_DELETED', message: 'player deleted' })
      expect(await everything(player)).toEqual(state)
      expect(await rowsOf(player)).toHaveLength(1)
    })

    it('is FORBIDDEN to a viewer and to players, the player itself among them; the attempt is in the audit log', async () => {
      const bystander = await game.player()
      const forbidden = { code: 'FORBIDDEN', message: 'forbidden' }
      await changesNothing(
        async () => {
          for (const credentials of [viewer.key, victim.token, bystander.token])
            expect(await support(game, credentials, mutation, all)).toEqual(forbidden)
        },
        { gains: 3 },
      )
      const denied = { action: `${action}.denied`, before: null, after: null }
      const actors = [viewer.actor, `player:${victim.playerId}`, `player:${bystander.playerId}`]
      expect((await rowsOf(victim)).filter((row) => row.action === denied.action)).toEqual(
        actors.map((actor) => expect.objectContaining({ ...denied, actor })),
      )
    })

    it('is FORBIDDEN, and in the audit log, whatever else is wrong with the call', async () => {
      await changesNothing(
        async () => {
          expect(codeOf(await support(game, viewer.key, mutation, { ...all, reason: '' }))).toBe('FORBIDDEN')
          for (const playerId of [NOBODY, '', 'a\0b', '\ud800', '💎'.repeat(1000)])
            expect(codeOf(await support(game, viewer.key, mutation, { ...all, playerId }))).toBe('FORBIDDEN')
        },
        { gains: 6 },
      )
    })

    it('is INVALID_TOKEN without credentials that hold, and leaves no trace', async () => {
      await changesNothing(async () => {
        for (const credentials of [null, 'twplat_unknown', `${operator.key}x`, `${victim.token}x`])
          expect(codeOf(await support(game, credentials, mutation, all))).toBe('INVALID_TOKEN')
      })
    })

    it('names the fault of each field, and changes nothing', async () => {
      await changesNothing(async () => {
        for (const [path, values] of Object.entries({ ...BAD_CALL, ...rest.bad })) {
          for (const [value, message] of values) {
            expect(await support(game, operator.key, mutation, { ...all, [path]: value }), `${path} ${value}`).toEqual({
              code: 'INVALID_REQUEST',
              message: 'invalid request',
              details: [{ path, message }],
            })
          }
          const { [path]: _, ...missing } = all
          const isOptional = path === 'source'
          if (!isOptional) expect(codeOf(await support(game, operator.key, mutation, missing))).toBe('INVALID_REQUEST')
        }
      })
    })

    it('names every fault at once', async () => {
      const bad = Object.entries({ ...BAD_CALL, ...rest.bad })
      const worst = Object.fromEntries(bad.map(([path, [fault]]) => [path, fault?.[0]]))
      await changesNothing(async () => {
        const outcome = await support(game, operator.key, mutation, { ...all, ...worst })
        const details = 'details' in outcome ? (outcome.details as { path: string }[]) : []
        const paths = details.map(({ path }) => path).sort()
        expect([codeOf(outcome), paths]).toEqual(['INVALID_REQUEST', Object.keys(worst).sort()])
      })
    })
  },
)

const KEYED = CASES.flatMap((each) => (each.otherwise ? [[each.mutation, each] as const] : []))

describe.each(KEYED)('%s under an idempotency key', (mutation, { input, answer, before, after, otherwise }) => {
  it('is done once for one key, and answered alike', async () => {
    const player = await seasoned()
    const request = input(player)
    const first = await act(mutation, player, request)
    expect(payload(first)).toMatchObject(answer ?? {})
    const state = await everything(player)
    // Another operator that has the key, and another reason, are the same request.
    const again = [
      await act(mutation, player, request),
      await act(mutation, player, { ...request, reason: 'x' }, admin),
    ]
    expect(again).toEqual([first, first])
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toHaveLength(1)
  })

  it('is done once when fifty carry one key at once', async () => {
    const player = await seasoned()
    const request = input(player)
    const outcomes = await Promise.all(times(50, () => act(mutation, player, request)))
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
    expect(payload(outcomes[0] ?? { ok: null })).toMatchObject(answer ?? {})
    expect(await rowsOf(player)).toHaveLength(1)
    expect(await rowsOf(player)).toMatchObject([{ before: before(player), after: after(player) }])
  })

  it('is IDEMPOTENCY_KEY_REUSED when its key comes back with another request', async () => {
    const player = await seasoned()
    const request = input(player)
    payload(await act(mutation, player, request))
    const state = await everything(player)
    expect(await act(mutation, player, { ...request, ...otherwise })).toEqual({
      code: 'IDEMPOTENCY_KEY_REUSED',
      message: 'idempotency key reused',
    })
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toHaveLength(1)
  })

  it('is done for each player that one key is sent for', async () => {
    const [one, two] = [await seasoned(), await seasoned()]
    const request = input(one)
    for (const player of [one, two]) {
      expect(payload(await act(mutation, player, request))).toMatchObject(answer ?? {})
      expect(await rowsOf(player)).toHaveLength(1)
    }
  })
})

it('names a field once, whatever is wrong with it', async () => {
  for (const playerId of ['', 'x'.repeat(37), '\ud800']) {
    const outcome = await act('banPlayer', { playerId })
    expect(outcome).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'playerId' }] })
  }
})

/** Every endpoint that takes a player's token, with a body that is in order. */
function callsOf({ runId }: Seasoned): Record<string, Json> {
  return {
    [PROGRESS]: pass,
    [XP]: { ...pass, runId, amount: 1, source: 'match' },
    [CLAIM]: { ...pass, runId, level: 1, track: 'free' },
    [PREMIUM]: { ...bonus, runId },
    '/sdk/v1/player/get': {},
    '/sdk/v1/storage/get': {},
    '/sdk/v1/storage/set': { values: { a: 1 } },
    '/sdk/v1/storage/delete': { keys: ['a'] },
    '/sdk/v1/scenarios/start': { scenarioId: 'season' },
    '/sdk/v1/scenarios/cross': { scenarioId: 'season', nodeId: 'pass', runId, handle: 'onClick' },
    '/sdk/v1/scenarios/run': { runId },
  }
}

const refresh = ({ refreshToken }: LoggedIn) =>
  game.request('POST', REFRESH, { body: print({ refreshToken }), headers: { 'x-sdk-key': game.sdkKey } })

const SUBSCRIPTION = 'subscription ($after: String) { events(after: $after) { cursor } }'

describe('a ban', () => {
  it('counts from the very next call on: REST, GraphQL, login, link and refresh, on every instance', async () => {
    const player = await seasoned()
    payload(await act('banPlayer', player))
    for (const [path, body] of Object.entries(callsOf(player))) {
      const { status, body: answered } = await player.post(path, body)
      expect([path, status, answered.error]).toEqual([path, 403, 'player banned'])
    }
    expect(codeOf(outcomeOfGraphql(await player.graphql('{ me { id } }')))).toBe('PLAYER_BANNED')
    const input = { ...pass, runId: player.runId, amount: '1', source: 'x' }
    expect(codeOf(outcomeOfGraphql(await player.graphql(ADD_XP, { input })))).toBe('PLAYER_BANNED')
    const elsewhere = await fetch(`${other.baseUrl}${PROGRESS}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${player.token}` },
      body: print(pass),
    })
    expect(elsewhere.status).toBe(403)
    const customData = { player: player.subject }
    for (const { status, body } of [
      await game.login(customData),
      await game.link(player.token, { player: fresh('subject') }),
      await refresh(player),
    ])
      expect([status, body.error]).toEqual([403, 'player banned'])
  })

  it('ends with unbanPlayer, from the very next call on, with the same tokens', async () => {
    const player = await seasoned()
    payload(await act('banPlayer', player))
    payload(await act('unbanPlayer', player))
    for (const [path, body] of Object.entries(callsOf(player))) {
      if (!path.endsWith('/cross')) expect((await player.post(path, body)).status).toBeLessThan(300)
    }
    expect((await refresh(player)).status).toBe(200)
    expect((await game.login({ player: player.subject })).status).toBe(200)
  })

  it('takes nothing from the player but its standing', async () => {
    const player = await seasoned()
    const { status: _, ...before } = await everything(player)
    payload(await act('banPlayer', player))
    const { status, ...after } = await everything(player)
    expect([status, after]).toEqual(['banned', before])
  })

  it('may be repeated, and each time is written down', async () => {
    const player = await seasoned()
    for (const mutation of ['banPlayer', 'banPlayer', 'unbanPlayer', 'unbanPlayer'] as const)
      payload(await act(mutation, player))
    expect((await rowsOf(player)).map(({ before, after }) => [before.status, after.status])).toEqual([
      ['active', 'banned'],
      ['banned', 'banned'],
      ['banned', 'active'],
      ['active', 'active'],
    ])
  })

  it('lets support go on with the account: wallet, storage, premium and tiers', async () => {
    const player = await seasoned()
    payload(await act('banPlayer', player))
    payload(await act('creditWallet', player, { currency: 'gems', amount: 1, idempotencyKey: key() }))
    payload(await act('setPlayerStorage', player, { values: '{"a":1}' }))
    payload(await act('grantPremium', player, bonus))
    payload(await act('resetTier', player, { ...pass, level: 1, track: 'free' }))
    payload(await act('cancelRun', player, { runId: player.runId }))
  })
})

describe('what a player has open', () => {
  it.each(['banPlayer', 'deletePlayer', 'endSessions'] as const)(
    'closes within two seconds after %s (4403)',
    async (mutation) => {
      const player = await seasoned()
      const { data } = await player.graphql('{ streamCursor }')
      const heard = game.subscribe(player.token, SUBSCRIPTION, { after: data.streamCursor })
      const next = heard.next()
      const { body } = await player.post(XP, { ...pass, runId: player.runId, amount: 100, source: 'match' })
      expect([body.leveledUp, await next]).toEqual([true, { cursor: expect.any(String) }])
      const ended = (async () => {
        for (;;) await heard.next()
      })()
      payload(await act(mutation, player))
      const started = performance.now()
      await expect(ended).rejects.toMatchObject({ code: 4403 })
      // Two seconds, and some for a busy machine.
      expect(performance.now() - started).toBeLessThan(4_000)
      await heard.close()
    },
  )
})

describe('endSessions', () => {
  it('ends every login of the player with its access tokens, and it may log in again (decisions 11.4)', async () => {
    const player = await seasoned()
    const second = await logIn(game, player.subject)
    const bystander = await seasoned()
    payload(await act('endSessions', player))
    for (const login of [player, second]) {
      const { status, body } = await refresh(login)
      expect([status, body.error]).toEqual([401, 'invalid token'])
      await until('its access token ends', async () => (await login.post(PROGRESS, pass)).status === 401)
    }
    const third = await logIn(game, player.subject)
    expect(third.playerId).toBe(player.playerId)
    expect((await refresh(third)).status).toBe(200)
    expect((await refresh(bystander)).status).toBe(200)
  })

  it('leaves no login that raced alive, but those that came after: twenty refreshes and twenty logins', async () => {
    const player = await seasoned()
    const logins = await Promise.all(times(20, () => logIn(game, player.subject)))
    const [, ...answers] = await Promise.all([
      act('endSessions', player),
      ...logins.map((login) => refresh(login)),
      ...times(20, () => game.login({ player: player.subject })),
    ])
    for (const { status } of answers) expect([200, 401]).toContain(status)
    // Of one login, either all tokens are ended or none: a login is before the action or after it.
    const { rows } = await game.app.pool.query<{ tokens: string; ended: string }>(
      `SELECT count(*) AS tokens, count(revoked_at) AS ended FROM refresh_tokens WHERE player_id = $1 GROUP BY family_id`,
      [player.playerId],
    )
    expect(rows.filter(({ tokens, ended }) => ended !== '0' && ended !== tokens)).toEqual([])
    expect(rows.filter(({ ended }) => ended !== '0').length).toBeGreaterThanOrEqual(21)
  })
})

describe('deletePlayer', () => {
  const MARKS = ['Zephyrine-Quill', 'zephyrine.example', 'zq-region', 'zq-tongue', 'zq-storage-value', 'zq-storage-key']

  /** Every table in which a text stands. */
  async function tablesWith(mark: string): Promise<string[]> {
    const { pool } = game.app
    const { rows } = await pool.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1`,
    )
    const found = rows.map(async ({ name }) => {
      const hits = await pool.query(`SELECT 1 FROM "${name}" t WHERE position($1 in t::text) > 0 LIMIT 1`, [mark])
      return hits.rows.length > 0 ? [name] : []
    })
    return (await Promise.all(found)).flat()
  }

  async function marked(): Promise<LoggedIn> {
    const [nickname = '', avatar = '', region, language, value = '', storageKey = ''] = MARKS
    return logIn(
      game,
      fresh('marked'),
      { nickname, avatarUrl: `https://${avatar}/a.png`, data: { [storageKey]: value } },
      { region, language },
    )
  }

  it('leaves nothing of nickname, avatar, region, language and storage anywhere in the database', async () => {
    const player = await marked()
    await player.post('/sdk/v1/storage/set', { values: { own: 'zq-storage-value' } })
    for (const mark of MARKS) expect([mark, await tablesWith(mark)]).not.toEqual([mark, []])
    expect(await tablesWith('Zephyrine-Quill')).toEqual(['events', 'players'])
    payload(await act('deletePlayer', player))
    for (const mark of MARKS) expect([mark, await tablesWith(mark)]).toEqual([mark, []])
  })

  it('erases its login log, and keeps the identity, by which its next login is told so (spec 7.1)', async () => {
    const player = await seasoned()
    const log = `{ loginLog(environment: "production", playerId: "${player.playerId}") { edges { node { outcome } } } }`
    expect((await game.graphql(viewer.key, log)).data.loginLog.edges).toHaveLength(1)
    payload(await act('deletePlayer', player))
    expect((await game.graphql(viewer.key, log)).data.loginLog.edges).toEqual([])
    for (const { status, body } of [await game.login({ player: player.subject }), await player.post(PROGRESS, pass)])
      expect([status, body.error]).toEqual([403, 'player deleted'])
    expect(codeOf(outcomeOfGraphql(await player.graphql('{ me { id } }')))).toBe('PLAYER_DELETED')
    const { status, body } = await game.link((await game.player()).token, { player: player.subject })
    expect([status, body.error]).toEqual([409, 'identity already linked'])
  })

  it('keeps the books: wallet, ledgers, inventory, passes, claims, runs, identities', async () => {
    const player = await seasoned()
    const kept = ['wallets', 'wallet_ledger', 'xp_ledger', 'passes', 'tier_claims', 'inventory', 'runs', 'identities']
    const before = await everything(player)
    payload(await act('deletePlayer', player))
    const after = await everything(player)
    for (const table of kept) expect([table, after[table]]).toEqual([table, before[table]])
    expect(after).toMatchObject({
      status: 'deleted',
      nickname: null,
      avatar_url: null,
      region: null,
      language: null,
      player_storage: null,
      login_log: null,
      created_at: before.created_at,
    })
  })

  it('writes nothing personal of it any more: a login that is refused leaves who it was out of the login log', async () => {
    const player = await seasoned()
    payload(await act('deletePlayer', player))
    const { status, body } = await game.login({ player: player.subject })
    expect([status, body.error]).toEqual([403, 'player deleted'])
    const document = `{ loginLog(environment: "production", playerId: "${player.playerId}") {
      edges { node { subject outcome attempts { status } } } } }`
    const { data } = await game.graphql(viewer.key, document)
    expect(data.loginLog.edges).toEqual([
      { node: { subject: null, outcome: 'PLAYER_DELETED', attempts: [{ status: 200 }] } },
    ])
    const tooLong = { ['k'.repeat(129)]: 1 }
    const invalid = await game.login({ player: player.subject, answer: { data: tooLong } })
    expect([invalid.status, invalid.body.error]).toEqual([401, 'custom auth invalid data'])
    const { rows } = await game.app.pool.query('SELECT count(*) FROM login_log WHERE subject = $1', [player.subject])
    expect(rows).toEqual([{ count: '0' }])
  })

  it('erases what the login log has of its subject also where no player is named', async () => {
    const [player, other] = [await seasoned(), await game.player()]
    await game.login({ player: player.subject, answer: { data: { ['k'.repeat(129)]: 1 } } })
    expect((await game.link(other.token, { player: player.subject })).status).toBe(409)
    const bystander = await seasoned()
    await game.login({ player: bystander.subject, answer: { data: { ['k'.repeat(129)]: 1 } } })
    const count = async (subject: string) => {
      const { rows } = await game.app.pool.query('SELECT count(*) FROM login_log WHERE subject = $1', [subject])
      return Number(rows[0].count)
    }
    expect(await count(player.subject)).toBe(3)
    payload(await act('deletePlayer', player))
    expect([await count(player.subject), await count(bystander.subject)]).toEqual([0, 2])
  })

  it('takes the nickname out of player.created wherever the stream is read, and leaves it without a gap', async () => {
    const player = await seasoned()
    const document = `query ($id: String) { events(environment: "production", types: [PLAYER_CREATED], playerId: $id) {
      edges { node { playerId data } } } }`
    const read = async () => (await game.graphql(viewer.key, document, { id: player.playerId })).data.events.edges
    expect(await read()).toEqual([
      { node: { playerId: player.playerId, data: { nickname: 'Ada', provider: 'custom' } } },
    ])
    const { rows: before } = await game.app.pool.query('SELECT environment_id, position FROM streams ORDER BY 1')
    payload(await act('deletePlayer', player))
    expect(await read()).toEqual([
      { node: { playerId: player.playerId, data: expect.objectContaining({ nickname: null }) } },
    ])
    const { rows: after } = await game.app.pool.query('SELECT environment_id, position FROM streams ORDER BY 1')
    expect(after).toEqual(before)
  })

  it('ends its sessions: no refresh token is good any more', async () => {
    const player = await seasoned()
    payload(await act('deletePlayer', player))
    expect([401, 403]).toContain((await refresh(player)).status)
    const { rows } = await game.app.pool.query(
      'SELECT count(*) FROM refresh_tokens WHERE player_id = $1 AND revoked_at IS NULL',
      [player.playerId],
    )
    expect(rows).toEqual([{ count: '0' }])
  })

  it('is for good: nothing brings the player back', async () => {
    const player = await seasoned()
    payload(await act('deletePlayer', player))
    expect(codeOf(await act('unbanPlayer', player))).toBe('PLAYER_DELETED')
    expect(codeOf(await act('deletePlayer', player))).toBe('PLAYER_DELETED')
    expect(await everything(player)).toMatchObject({ status: 'deleted' })
  })

  it('leaves nothing behind, whatever the player does at the same time: logins, storage, xp, ten rounds', async () => {
    for (const _ of times(10, () => 0)) {
      const player = await marked()
      const runId = await player.start('season')
      const customData = {
        player: player.subject,
        answer: { nickname: 'Zephyrine-Quill', data: { late: 'zq-storage-value' } },
      }
      const [done, ...answers] = await Promise.all([
        act('deletePlayer', player),
        ...times(5, () => game.login(customData)),
        ...times(5, () => player.post('/sdk/v1/storage/set', { values: { own: 'zq-storage-value' } })),
        ...times(5, () => player.post(XP, { ...pass, runId, amount: 1, source: 'match' })),
      ])
      payload(done)
      for (const { status } of answers) expect([200, 204, 403]).toContain(status)
      const after = await everything(player)
      expect(after).toMatchObject({ status: 'deleted', nickname: null, avatar_url: null, player_storage: null })
      const { rows } = await game.app.pool.query(
        'SELECT count(*) FROM refresh_tokens WHERE player_id = $1 AND revoked_at IS NULL',
        [player.playerId],
      )
      expect(rows).toEqual([{ count: '0' }])
    }
    for (const mark of ['Zephyrine-Quill', 'zq-storage-value']) expect(await tablesWith(mark)).toEqual([])
  })
})

describe('unlinkIdentity', () => {
  it('frees the subject: its next login makes a new player, the old one keeps what it has', async () => {
    const player = await seasoned()
    const before = await everything(player)
    payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject }))
    const next = await logIn(game, player.subject)
    expect(next.playerId).not.toBe(player.playerId)
    const { runs, passes, tier_claims, wallets } = before
    expect(await everything(player)).toMatchObject({ runs, passes, tier_claims, wallets, identities: null })
    const { rows } = await game.app.pool.query('SELECT player_id FROM identities WHERE subject = $1', [player.subject])
    expect(rows).toEqual([{ player_id: next.playerId }])
  })

  it('ends all logins of the player, whichever identity they came by; those of the identities that remain begin anew', async () => {
    const player = await seasoned()
    const other = fresh('subject')
    expect((await game.link(player.token, { player: other })).status).toBe(204)
    const second = await logIn(game, other)
    const bystander = await logIn(game, fresh('subject'))
    payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject }))
    for (const ended of [player, second]) {
      const { status, body } = await refresh(ended)
      expect([status, body.error]).toEqual([401, 'invalid token'])
    }
    expect((await refresh(bystander)).status).toBe(200)
    const again = await logIn(game, other)
    expect([again.playerId, (await refresh(again)).status]).toEqual([player.playerId, 200])
  })

  it('lets another player link the subject', async () => {
    const [player, heir] = [await seasoned(), await game.player()]
    payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject }))
    expect((await game.link(heir.token, { player: player.subject })).status).toBe(204)
    expect((await logIn(game, player.subject)).playerId).toBe(heir.playerId)
  })

  it('is NOT_FOUND for a subject that is not of the player, and nobody loses it', async () => {
    const [player, bystander] = [await seasoned(), await seasoned()]
    const { subject } = bystander
    const refs = [
      { provider: 'custom', subject },
      { provider: 'custom:steam', subject: player.subject },
      { provider: 'default', subject: player.subject },
      { provider: 'custom', subject: 'nobody' },
    ]
    for (const ref of refs) expect(codeOf(await act('unlinkIdentity', player, ref))).toBe('NOT_FOUND')
    expect(await rowsOf(player)).toEqual([])
    expect((await logIn(game, subject)).playerId).toBe(bystander.playerId)
    expect((await logIn(game, player.subject)).playerId).toBe(player.playerId)
  })

  it('against twenty logins at once: each is of the old player or of one new one, who is the owner, ten rounds', async () => {
    for (const round of times(10, (index) => index)) {
      const player = await logIn(game, fresh('subject'))
      const asked = webhook.hits.length
      const logins = Promise.all(times(20, () => logIn(game, player.subject, { nickname: 'Bob', data: { round } })))
      // First logins of others, with which it may share a transaction.
      const others = Promise.all(times(10, () => logIn(game, fresh('subject'))))
      // It comes while they are on their way into the database: in each round after some more of them.
      await until('webhooks are asked', () => webhook.hits.length >= asked + round)
      const done = await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject })
      const [answers] = await Promise.all([logins, others])
      payload(done)
      const { rows } = await game.app.pool.query<{ player_id: string }>(
        'SELECT player_id FROM identities WHERE subject = $1',
        [player.subject],
      )
      const owner = rows[0]?.player_id ?? (await logIn(game, player.subject)).playerId
      expect([rows.length <= 1, owner === player.playerId]).toEqual([true, false])
      for (const { playerId } of answers) expect([player.playerId, owner]).toContain(playerId)
      // Logins that came before it are ended with it, those that came after it are not, in whatever group they met.
      for (const session of answers)
        expect((await refresh(session)).status).toBe(session.playerId === owner ? 200 : 401)
      expect((await logIn(game, player.subject)).playerId).toBe(owner)
    }
  })

  it('against logins by an identity that remains: those that began before it are ended, those after it live, ten rounds', async () => {
    for (const round of times(10, (index) => index)) {
      const player = await logIn(game, fresh('subject'))
      const other = fresh('subject')
      expect((await game.link(player.token, { player: other })).status).toBe(204)
      const asked = webhook.hits.length
      const logins = Promise.all(times(20, () => logIn(game, other)))
      await until('webhooks are asked', () => webhook.hits.length >= asked + round)
      payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject }))
      await logins
      // Ids are in the order in which the service decides, also within one transaction.
      const { rows } = await game.app.pool.query<{ began: string; revoked: boolean }>(
        `SELECT CASE WHEN t.family_id < a.id THEN 'before' ELSE 'after' END AS began, t.revoked_at IS NOT NULL AS revoked
         FROM audit_log a JOIN refresh_tokens t ON t.player_id::text = a.target
         WHERE a.target = $1 AND a.action = 'player.unlink_identity'`,
        [player.playerId],
      )
      expect(rows).toHaveLength(21)
      for (const { began, revoked } of rows) expect([began, revoked]).toEqual([began, began === 'before'])
    }
  })

  it('twice at once takes the identity once', async () => {
    const player = await seasoned()
    const input = { provider: 'custom', subject: player.subject }
    const outcomes = await Promise.all(times(10, () => act('unlinkIdentity', player, input)))
    expect(outcomes.map(codeOf).sort()).toEqual([...times(9, () => 'NOT_FOUND'), 'ok'])
    expect(await rowsOf(player)).toHaveLength(1)
  })
})

describe('creditWallet and debitWallet', () => {
  const credit = (player: TestPlayer, amount: bigint | number, currency = 'gems') =>
    act('creditWallet', player, { currency, amount, idempotencyKey: key() })
  const debit = (player: TestPlayer, amount: bigint | number, currency = 'gems') =>
    act('debitWallet', player, { currency, amount, idempotencyKey: key() })

  it('show in the wallet of the player at once, and in its ledger without the reason', async () => {
    const player = await game.player()
    payload(
      await act('creditWallet', player, {
        currency: 'gems',
        amount: 7,
        reason: 'a-secret-matter',
        idempotencyKey: key(),
      }),
    )
    payload(await debit(player, 3))
    expect((await player.post('/sdk/v1/player/get', {})).body.wallet).toEqual([{ currency: 'gems', balance: 4 }])
    const { data } = await player.graphql(
      '{ me { wallet { currency balance } walletLedger { edges { node { amount balance cause reference } } } } }',
    )
    const entry = { cause: 'ADJUSTMENT', reference: expect.stringMatching(/^support\/[0-9a-f-]{36}$/) }
    expect(data.me).toEqual({
      wallet: [{ currency: 'gems', balance: '4' }],
      walletLedger: {
        edges: [{ node: { amount: '-3', balance: '4', ...entry } }, { node: { amount: '7', balance: '7', ...entry } }],
      },
    })
    expect(JSON.stringify(data)).not.toContain('a-secret-matter')
  })

  it('are exact over the whole int64 range, and refuse what is beyond', async () => {
    const player = await game.player()
    expect(payload(await credit(player, MAX_INT64)).balance).toBe(String(MAX_INT64))
    expect(codeOf(await credit(player, 1))).toBe('BALANCE_LIMIT_EXCEEDED')
    expect(await balances(player)).toEqual({ gems: String(MAX_INT64) })
    expect(payload(await debit(player, MAX_INT64)).balance).toBe('0')
    expect(codeOf(await debit(player, 1))).toBe('INSUFFICIENT_FUNDS')
    expect(codeOf(await debit(player, 1, 'never had'))).toBe('INSUFFICIENT_FUNDS')
    expect(await balances(player)).toEqual({ gems: '0' })
    expect(await rowsOf(player)).toHaveLength(2)
  })

  it('leave the key of a refusal free: once there is enough, it is done', async () => {
    const player = await game.player()
    const request = { currency: 'gems', amount: 5, idempotencyKey: key() }
    expect(codeOf(await act('debitWallet', player, request))).toBe('INSUFFICIENT_FUNDS')
    payload(await credit(player, 5))
    expect(payload(await act('debitWallet', player, request)).balance).toBe('0')
  })

  it('are two actions, also under one key', async () => {
    const player = await game.player()
    const request = { currency: 'gems', amount: 5, idempotencyKey: key() }
    expect(payload(await act('creditWallet', player, request)).balance).toBe('5')
    expect(payload(await act('debitWallet', player, request)).balance).toBe('0')
    expect(payload(await act('creditWallet', player, request)).balance).toBe('5')
    expect(await balances(player)).toEqual({ gems: '0' })
  })

  it('take a currency of any name', async () => {
    const player = await game.player()
    for (const currency of ['NULL', '{a,"b"}', "o'gold\\", '💎'.repeat(64), ' '])
      expect(payload(await credit(player, 2, currency)).balance).toBe('2')
    expect(Object.keys(await balances(player))).toHaveLength(5)
  })

  it('with claims and purchases at once on one wallet: every change counts once', async () => {
    const player = await seasoned()
    const { runId } = player
    const moves = [
      ...times(25, () => credit(player, 100)),
      ...times(40, () => debit(player, 40)),
      ...times(10, () => debit(player, 5, 'gold')),
    ]
    const claims = times(25, (index) => player.post(CLAIM, { ...pass, runId, level: 3 + (index % 3), track: 'free' }))
    const purchases = times(25, () => player.post(PREMIUM, { ...bonus, runId }))
    const codes = (await Promise.all(moves)).map(codeOf)
    const bought = (await Promise.all(purchases)).filter(({ body }) => body.success).length
    // The third tier is the only one that is reached and not claimed.
    expect((await Promise.all(claims)).filter(({ body }) => body.success && !body.alreadyClaimed)).toHaveLength(1)
    expect(bought).toBeLessThanOrEqual(1)
    const rows = await rowsOf(player)
    expect(rows).toHaveLength(codes.filter((code) => code === 'ok').length)
    expect(codes.filter((code) => code !== 'ok' && code !== 'INSUFFICIENT_FUNDS')).toEqual([])
    const moved = (currency: string) =>
      rows.reduce(
        (sum, { before, after }) => sum + (after.currency === currency ? after.balance - before.balance : 0),
        0,
      )
    expect(await balances(player)).toEqual({
      gems: String(50 + moved('gems') - 950 * bought),
      gold: String(35 + 30 + moved('gold')),
    })
  })
})

describe('grantXp, by the rules of the game', () => {
  const grant = (player: TestPlayer, amount: bigint | number, more: Input = {}) =>
    act('grantXp', player, { ...pass, amount, idempotencyKey: key(), ...more })

  it("has the very outcome of the player's own call: levels, plan, events, rewards, ledger", async () => {
    const [own, granted] = [await game.player(), await game.player()]
    const [runId] = [await own.start('season'), await granted.start('season')]
    for (const amount of [1, 99, 1, 150, 1000, 5]) {
      const expected = outcomeOfGraphql(
        await own.graphql(ADD_XP, { input: { ...pass, runId, amount: String(amount), source: 'quest' } }),
      )
      const { result } = payload(await grant(granted, amount, { source: 'quest' }))
      expect({ ok: plain(result) }).toEqual(expected)
    }
    expect(await progress(granted)).toEqual(await progress(own))
    expect(await events(granted)).toEqual(await events(own))
    expect(await xpLedger(granted)).toEqual(await xpLedger(own))
    expect(await balances(granted)).toEqual(await balances(own))
  })

  it('is refused outside the season, past int64, and without an active run; nothing is written', async () => {
    const player = await game.player()
    expect(codeOf(await grant(player, 1))).toBe('RUN_NOT_ACTIVE')
    await player.start('season')
    await player.start('over')
    expect(codeOf(await grant(player, 1, { scenarioId: 'over' }))).toBe('SEASON_CLOSED')
    payload(await grant(player, MAX_INT64))
    const state = await everything(player)
    expect(codeOf(await grant(player, 1))).toBe('XP_LIMIT_EXCEEDED')
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toHaveLength(1)
  })

  it("is refused in the order of the player's own call: the player, the scenario, the run, the node", async () => {
    const player = await game.player()
    expect(codeOf(await grant(player, 1, { scenarioId: 'nowhere' }))).toBe('SCENARIO_NOT_FOUND')
    expect(codeOf(await grant(player, 1, { nodeId: 'nowhere' }))).toBe('RUN_NOT_ACTIVE')
    await player.start('season')
    expect(codeOf(await grant(player, 1, { nodeId: 'nowhere' }))).toBe('NODE_NOT_FOUND')
    expect(codeOf(await grant(player, 1, { nodeId: 'gift' }))).toBe('NODE_NOT_FOUND')
    payload(await act('banPlayer', player))
    expect(codeOf(await grant(player, 1))).toBe('PLAYER_BANNED')
    expect(await rowsOf(player)).toHaveLength(1)
  })

  it('counts on the pass when it names one of its level nodes', async () => {
    const player = await game.player()
    await player.start('season')
    expect(payload(await grant(player, 120, { nodeId: 'third' })).result).toMatchObject({ level: 2, xp: '120' })
    expect((await progress(player)).xp).toBe(120)
  })

  it('and xp of the player at once: every grant counts, each level is crossed once', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    const outcomes = await Promise.all(
      times(50, () => [
        grant(player, 5).then(codeOf),
        player.post(XP, { ...pass, runId, amount: 5, source: 'match' }).then(({ status }) => status),
      ]).flat(),
    )
    expect(outcomes.filter((outcome) => outcome !== 'ok' && outcome !== 200)).toEqual([])
    expect((await progress(player)).xp).toBe(500)
    const crossed = (await events(player)).filter(({ handle }) => handle === 'onLevelUp')
    expect(crossed.map(({ data }) => data.toLevel)).toEqual([2, 3, 4, 5])
  })
})

describe('grantTier', () => {
  const give = (player: TestPlayer, level: number, track: 'free' | 'premium', more: Input = {}) =>
    act('grantTier', player, { ...pass, level, track, idempotencyKey: key(), ...more })

  it('gives a tier that is not reached, and one whose season is over; the player has it at once', async () => {
    const player = await game.player()
    await player.start('season')
    await player.start('over')
    const given = payload(await give(player, 5, 'free')).result
    expect(given).toMatchObject({ success: true, alreadyClaimed: false, granted: [{ amount: '50', currency: 'gold' }] })
    expect(payload(await give(player, 4, 'free', { scenarioId: 'over' })).result.success).toBe(true)
    expect((await progress(player)).claimedTiers).toEqual([{ level: 5, track: 'free' }])
    expect(await balances(player)).toEqual({ gold: '90' })
  })

  it('needs premium for premium tiers, and says so as a claim does', async () => {
    const player = await game.player()
    await player.start('season')
    const refused = payload(await give(player, 1, 'premium')).result
    expect(refused).toEqual({ success: false, alreadyClaimed: false, error: 'premium required', granted: [] })
    expect(payload(await give(player, 9, 'free')).result.error).toBe('tier not found')
    expect((await progress(player)).claimedTiers).toEqual([])
    payload(await act('grantPremium', player, pass))
    expect(payload(await give(player, 1, 'premium')).result).toMatchObject({
      success: true,
      granted: [{ itemId: 'skin-1', amount: '1' }],
    })
  })

  it('leaves the key of a refusal free: with premium it is given', async () => {
    const player = await game.player()
    await player.start('season')
    const idempotencyKey = key()
    expect(payload(await give(player, 1, 'premium', { idempotencyKey })).result.error).toBe('premium required')
    payload(await act('grantPremium', player, pass))
    expect(payload(await give(player, 1, 'premium', { idempotencyKey })).result).toMatchObject({ success: true })
  })

  it('answers the original grant to a repeat, whoever claimed first; nothing is granted twice', async () => {
    const player = await seasoned()
    const { runId } = player
    const own = (await player.post(CLAIM, { ...pass, runId, level: 3, track: 'free' })).body
    const again = payload(await give(player, 3, 'free')).result
    expect(again).toEqual({
      success: true,
      alreadyClaimed: true,
      error: null,
      granted: [{ amount: '30', currency: 'gold', itemId: null }],
    })
    expect(own).toMatchObject({ success: true, alreadyClaimed: false })
    const given = payload(await give(player, 5, 'free')).result
    const late = (await player.post(CLAIM, { ...pass, runId, level: 5, track: 'free' })).body
    expect([given.alreadyClaimed, late]).toEqual([
      false,
      { success: true, alreadyClaimed: true, error: null, granted: [{ amount: 50, currency: 'gold', itemId: null }] },
    ])
    expect((await balances(player)).gold).toBe(String(35 + 30 + 50))
  })

  it('through a level node is the same claim, and the level must be the node’s', async () => {
    const player = await game.player()
    await player.start('season')
    const third = { nodeId: 'third' }
    expect(codeOf(await give(player, 2, 'free', third))).toBe('INVALID_REQUEST')
    expect(payload(await give(player, 3, 'free', third)).result).toMatchObject({ success: true, alreadyClaimed: false })
    expect(payload(await give(player, 3, 'free')).result).toMatchObject({ success: true, alreadyClaimed: true })
    expect((await events(player)).filter(({ nodeId }) => nodeId === 'third')).toHaveLength(1)
  })

  it('needs an active run, as a claim does', async () => {
    const player = await game.player()
    expect(codeOf(await give(player, 1, 'free'))).toBe('RUN_NOT_ACTIVE')
    expect(await rowsOf(player)).toEqual([])
  })

  it('and fifty claims of the player at once: granted once', async () => {
    const player = await seasoned()
    const { runId } = player
    const claims = await Promise.all(
      times(50, (index) =>
        index % 2 === 0
          ? give(player, 3, 'free').then((outcome) => payload(outcome).result)
          : player.post(CLAIM, { ...pass, runId, level: 3, track: 'free' }).then(({ body }) => body),
      ),
    )
    expect(claims.every(({ success }) => success)).toBe(true)
    expect(claims.filter(({ alreadyClaimed }) => !alreadyClaimed)).toHaveLength(1)
    expect((await balances(player)).gold).toBe('65')
  })
})

describe('resetTier', () => {
  const reset = (player: TestPlayer, level: number, track: string, more: Input = {}) =>
    act('resetTier', player, { ...pass, level, track, ...more })

  it('makes exactly that tier claimable again, and a new claim grants again', async () => {
    const player = await seasoned()
    const { runId } = player
    await player.post(CLAIM, { ...pass, runId, level: 2, track: 'premium' })
    expect(payload(await reset(player, 2, 'free')).changed).toBe(true)
    expect((await progress(player)).claimedTiers).toEqual([
      { level: 1, track: 'free' },
      { level: 2, track: 'premium' },
    ])
    expect((await balances(player)).gold).toBe('35')
    const again = (await player.post(CLAIM, { ...pass, runId, level: 2, track: 'free' })).body
    expect(again).toMatchObject({ success: true, alreadyClaimed: false, granted: [{ amount: 20, currency: 'gold' }] })
    expect((await balances(player)).gold).toBe('55')
  })

  it('is no change for a tier that is not claimed, and is written down all the same', async () => {
    const player = await seasoned()
    const state = await everything(player)
    expect(payload(await reset(player, 5, 'free')).changed).toBe(false)
    expect(payload(await reset(player, 2, 'premium')).changed).toBe(false)
    expect(await everything(player)).toEqual(state)
    expect((await rowsOf(player)).map(({ before }) => before.claimed)).toEqual([false, false])
  })

  it('through a level node is of the tier behind it, and of no other', async () => {
    const player = await seasoned()
    await player.post(CLAIM, { ...pass, runId: player.runId, level: 3, track: 'free' })
    expect(codeOf(await reset(player, 2, 'free', { nodeId: 'third' }))).toBe('INVALID_REQUEST')
    expect(payload(await reset(player, 3, 'free', { nodeId: 'third' })).changed).toBe(true)
    expect((await progress(player)).claimedTiers).toEqual([
      { level: 1, track: 'free' },
      { level: 2, track: 'free' },
    ])
  })

  it('is SCENARIO_NOT_FOUND or NODE_NOT_FOUND for a pass that is not there', async () => {
    const player = await seasoned()
    expect(codeOf(await reset(player, 2, 'free', { scenarioId: 'nowhere' }))).toBe('SCENARIO_NOT_FOUND')
    expect(codeOf(await reset(player, 2, 'free', { nodeId: 'gift' }))).toBe('NODE_NOT_FOUND')
    expect(await rowsOf(player)).toEqual([])
  })

  it('and claims at once: as many grants as there were resets that changed something, and one', async () => {
    const player = await seasoned()
    const { runId } = player
    const [claims, resets] = await Promise.all([
      Promise.all(times(40, () => player.post(CLAIM, { ...pass, runId, level: 3, track: 'free' }))),
      Promise.all(times(10, () => reset(player, 3, 'free'))),
    ])
    const granted = claims.filter(({ body }) => body.success && !body.alreadyClaimed).length
    const changed = resets.filter((outcome) => payload(outcome).changed).length
    const isClaimed = (await progress(player)).claimedTiers.some(({ level }: { level: number }) => level === 3)
    expect(granted).toBe(changed + (isClaimed ? 1 : 0))
    expect((await balances(player)).gold).toBe(String(35 + 30 * granted))
    for (const { body } of claims) expect(body.granted).toEqual([{ amount: 30, currency: 'gold', itemId: null }])
  })
})

describe('grantPremium and revokePremium', () => {
  it('give premium for nothing: no price, no purchase is crossed, premium tiers can be claimed', async () => {
    const player = await game.player()
    const runId = await player.start('season')
    expect(payload(await act('grantPremium', player, pass)).changed).toBe(true)
    expect(payload(await act('grantPremium', player, pass)).changed).toBe(false)
    expect((await progress(player)).premiumOwned).toBe(true)
    expect([await balances(player), (await events(player)).map(({ handle }) => handle)]).toEqual([{}, ['onStart']])
    expect((await player.post(CLAIM, { ...pass, runId, level: 1, track: 'premium' })).body.success).toBe(true)
    expect((await player.post(PREMIUM, { ...pass, runId })).body.error).toBe('premium already owned')
  })

  it('are refused where none is sold, as a purchase is; what an earlier edition sold can be taken back', async () => {
    const free = { scenarioId: 'unsold', nodeId: 'pass' }
    expect((await game.publish('unsold', season())).status).toBe(200)
    const [player, owner] = [await game.player(), await game.player()]
    payload(await act('grantPremium', owner, free))
    expect((await game.publish('unsold', season({ price: null, tiers: [tier(1, 'free')] }))).status).toBe(200)
    expect(await act('grantPremium', player, free)).toEqual({
      code: 'PREMIUM_NOT_AVAILABLE',
      message: 'premium not available',
    })
    const runId = await player.start('unsold')
    expect((await player.post(PREMIUM, { ...free, runId })).body.error).toBe('premium not available')
    expect(await rowsOf(player)).toEqual([])
    expect((await progress(player, free)).premiumOwned).toBe(false)
    expect(payload(await act('revokePremium', owner, free)).changed).toBe(true)
  })

  it('need no run', async () => {
    const player = await game.player()
    expect(payload(await act('grantPremium', player, pass)).changed).toBe(true)
    expect(payload(await act('revokePremium', player, pass)).changed).toBe(true)
    expect(payload(await act('revokePremium', player, pass)).changed).toBe(false)
    expect(await progress(player)).toEqual({ level: 1, xp: 0, premiumOwned: false, claimedTiers: [] })
  })

  it('is not taken back while premium tiers are claimed; once they are reset it is, and can be bought again', async () => {
    const player = await seasoned()
    const { runId } = player
    await player.post(CLAIM, { ...pass, runId, level: 3, track: 'premium' })
    const state = await everything(player)
    expect(await act('revokePremium', player, pass)).toEqual({
      code: 'PREMIUM_TIERS_CLAIMED',
      message: 'premium tiers claimed',
    })
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toEqual([])
    payload(await act('resetTier', player, { ...pass, level: 3, track: 'premium' }))
    expect(payload(await act('revokePremium', player, pass)).changed).toBe(true)
    expect((await player.post(CLAIM, { ...pass, runId, level: 3, track: 'premium' })).body.error).toBe(
      'premium required',
    )
    payload(await act('creditWallet', player, { currency: 'gems', amount: 900, idempotencyKey: key() }))
    expect((await player.post(PREMIUM, { ...pass, runId })).body).toMatchObject({ success: true, error: null })
    expect((await balances(player)).gems).toBe('0')
  })

  it('keep xp and claims of the pass', async () => {
    const player = await seasoned()
    payload(await act('revokePremium', player, pass))
    expect(await progress(player)).toMatchObject({
      xp: 250,
      level: 3,
      premiumOwned: false,
      claimedTiers: [{ level: 1 }, { level: 2 }],
    })
  })

  it('taken back while premium claims arrive: no claim without premium is left, in thirty rounds', async () => {
    for (const _ of times(30, () => 0)) {
      const player = await game.player()
      const runId = await player.start('season')
      payload(await act('grantPremium', player, pass))
      const [revoked, claimed] = await Promise.all([
        act('revokePremium', player, pass),
        player.post(CLAIM, { ...pass, runId, level: 1, track: 'premium' }),
      ])
      const both = [codeOf(revoked), claimed.body.error]
      expect([
        ['ok', 'premium required'],
        ['PREMIUM_TIERS_CLAIMED', null],
      ]).toContainEqual(both)
    }
  })
})

describe('resetPass', () => {
  it('puts the pass back to its beginning, with its ledger balanced; what was granted stays', async () => {
    const player = await seasoned()
    const money = await balances(player)
    expect(payload(await act('resetPass', player, pass)).changed).toBe(true)
    expect(await progress(player)).toEqual({ level: 1, xp: 0, premiumOwned: false, claimedTiers: [] })
    expect(await xpLedger(player)).toEqual([
      ['250', 'match'],
      ['-250', 'support:reset'],
    ])
    expect(await balances(player)).toEqual(money)
  })

  it('lets levels be crossed, tiers claimed, premium bought and the pass completed once more', async () => {
    const player = await game.player({ wallet: { gems: 1900n } })
    const runId = await player.start('season')
    const play = async () => {
      const { body: added } = await player.post(XP, { ...pass, runId, amount: 400, source: 'match' })
      const { body: bought } = await player.post(PREMIUM, { ...pass, runId })
      const document = `mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level track } } }`
      const { data } = await player.graphql(document, { input: { ...pass, runId } })
      return [added.level, added.maxLevel, bought.success, data.claimAll.claimed.length]
    }
    expect(await play()).toEqual([5, true, true, 10])
    const first = (await events(player)).slice(1)
    expect(first.map(({ handle }) => handle)).toEqual([
      'onLevelUp',
      'onComplete',
      'onMaxLevel',
      'onPremiumPurchase',
      'onComplete',
    ])
    payload(await act('resetPass', player, pass))
    expect(await play()).toEqual([5, true, true, 10])
    expect((await events(player)).slice(1)).toEqual([...first, ...first])
    expect(await balances(player)).toEqual({ gems: '0', gold: '310' })
  })

  it('is no change for a pass that nobody played, and touches no other pass', async () => {
    const player = await seasoned()
    await player.post(XP, { ...bonus, runId: player.runId, amount: 120, source: 'match' })
    payload(await act('resetPass', player, pass))
    expect(await progress(player, bonus)).toMatchObject({ xp: 120, level: 2 })
    const untouched = await game.player()
    expect(payload(await act('resetPass', untouched, pass)).changed).toBe(false)
    expect(await xpLedger(untouched)).toEqual([])
  })

  it('through a level node is of the pass behind it', async () => {
    const player = await seasoned()
    expect(payload(await act('resetPass', player, { ...pass, nodeId: 'third' })).changed).toBe(true)
    expect(await progress(player)).toMatchObject({ xp: 0, claimedTiers: [] })
    expect(await rowsOf(player)).toMatchObject([{ before: { nodeId: 'pass' } }])
  })

  it('twice leaves nothing to take the second time', async () => {
    const player = await seasoned()
    expect(payload(await act('resetPass', player, pass)).changed).toBe(true)
    expect(payload(await act('resetPass', player, pass)).changed).toBe(false)
    expect(await xpLedger(player)).toHaveLength(2)
  })

  it('among fifty grants of xp: what came before it is gone, what came after it counts', async () => {
    const player = await seasoned()
    const { runId } = player
    const calls = await Promise.all([
      ...times(25, () => player.post(XP, { ...pass, runId, amount: 10, source: 'match' }).then(({ status }) => status)),
      act('resetPass', player, pass).then((outcome) => (payload(outcome).changed ? 200 : 0)),
      ...times(25, () => player.post(XP, { ...pass, runId, amount: 10, source: 'match' }).then(({ status }) => status)),
    ])
    expect(new Set(calls)).toEqual(new Set([200]))
    const taken = (await xpLedger(player)).filter(([, source]) => source === 'support:reset')
    expect(taken).toHaveLength(1)
    expect((await progress(player)).xp).toBe(250 + 500 + Number(taken[0]?.[0]))
  })
})

describe('cancelRun', () => {
  it('ends the run as it stands, and lets the player start another on the pass as it is', async () => {
    const player = await seasoned()
    const { runId } = player
    payload(await act('cancelRun', player, { runId }))
    const run = (await player.post('/sdk/v1/scenarios/run', { runId })).body
    expect(run).toMatchObject({ runId, status: 'cancelled', active: [], cause: 'cancelled by support' })
    const { rows } = await game.app.pool.query(
      `SELECT run_id, data FROM events WHERE player_id = $1 AND type = 'run.cancelled'`,
      [player.playerId],
    )
    expect(rows).toEqual([{ run_id: runId, data: '{"cause":"cancelled by support"}' }])
    const refused = await player.post(XP, { ...pass, runId, amount: 1, source: 'match' })
    expect([refused.status, refused.body.error]).toEqual([409, 'run not active'])
    const next = (await player.post('/sdk/v1/scenarios/start', { scenarioId: 'season' })).body
    expect([next.resumed, next.runId === runId, next.plan.crossed]).toEqual([
      false,
      false,
      [{ nodeId: 'start', handle: 'onStart' }],
    ])
    const { body } = await player.post(XP, { ...pass, runId: next.runId, amount: 50, source: 'match' })
    expect(body).toMatchObject({ xp: 300, level: 4 })
  })

  it('keeps the last plan of the run', async () => {
    const player = await seasoned()
    const { runId } = player
    const { plan } = (await player.post('/sdk/v1/scenarios/run', { runId })).body
    payload(await act('cancelRun', player, { runId }))
    expect((await player.post('/sdk/v1/scenarios/run', { runId })).body.plan).toEqual(plan)
  })

  it('is RUN_NOT_FOUND for a run that is not of the player, RUN_NOT_ACTIVE for one that has ended', async () => {
    const [player, bystander] = [await seasoned(), await seasoned()]
    for (const runId of [bystander.runId, NOBODY, 'no id'])
      expect(codeOf(await act('cancelRun', player, { runId }))).toBe('RUN_NOT_FOUND')
    payload(await act('cancelRun', player, { runId: player.runId.toUpperCase() }))
    expect(codeOf(await act('cancelRun', player, { runId: player.runId }))).toBe('RUN_NOT_ACTIVE')
    expect(await rowsOf(player)).toMatchObject([{ before: { runId: player.runId } }])
    expect((await bystander.post(XP, { ...pass, runId: bystander.runId, amount: 1, source: 'match' })).status).toBe(200)
  })

  it('among starts at once: one run is active in the end, and no other was started while it was', async () => {
    const player = await seasoned()
    const [done, ...starts] = await Promise.all([
      act('cancelRun', player, { runId: player.runId }),
      ...times(20, () => player.post('/sdk/v1/scenarios/start', { scenarioId: 'season' })),
    ])
    payload(done)
    const started = new Set(starts.map(({ body }) => body.runId))
    started.delete(player.runId)
    expect(started.size).toBeLessThanOrEqual(1)
    expect(starts.filter(({ body }) => !body.resumed)).toHaveLength(started.size)
  })
})

describe('setPlayerStorage and deletePlayerStorage', () => {
  const read = async (player: TestPlayer) => (await player.post('/sdk/v1/storage/get', {})).text

  it('write what the player then reads byte for byte, and leave other keys alone', async () => {
    const player = await seasoned()
    payload(await act('setPlayerStorage', player, { values: '{"big":18446744073709551616,"exact":1.0}' }))
    expect(await read(player)).toBe('{"values":{"big":18446744073709551616,"color":"red","exact":1.0}}')
    payload(await act('deletePlayerStorage', player, { keys: ['big', 'nothing'] }))
    expect(await read(player)).toBe('{"values":{"color":"red","exact":1.0}}')
    const { data } = await player.graphql('{ me { storage { key value } } }')
    expect(data.me.storage).toEqual([
      { key: 'color', value: '"red"' },
      { key: 'exact', value: '1.0' },
    ])
  })

  it('keep within the limits of spec 8, all or nothing', async () => {
    const player = await seasoned()
    const state = await everything(player)
    const tooMany = print(Object.fromEntries(times(1000, (index) => [`key ${index}`, 1])))
    for (const values of [tooMany, print({ a: 1, ['k'.repeat(129)]: 1 }), print({ a: 1, b: 'x'.repeat(65_535) })]) {
      const outcome = await act('setPlayerStorage', player, { values })
      expect([codeOf(outcome), outcome]).toEqual([
        'STORAGE_LIMIT_EXCEEDED',
        expect.objectContaining({ details: [expect.anything()] }),
      ])
    }
    expect(await everything(player)).toEqual(state)
    expect(await rowsOf(player)).toEqual([])
  })

  it('write down the keys, never a value', async () => {
    const player = await seasoned()
    payload(await act('setPlayerStorage', player, { values: '{"note":"zz-private"}' }))
    payload(await act('deletePlayerStorage', player, { keys: ['note'] }))
    expect(JSON.stringify(await rowsOf(player))).not.toContain('zz-private')
  })

  it('and writes of the player at once never pass 1000 keys', async () => {
    const player = await game.player()
    const values = (from: number, size: number) => Object.fromEntries(times(size, (index) => [`k${from + index}`, 1]))
    await player.post('/sdk/v1/storage/set', { values: values(0, 990) })
    const outcomes = await Promise.all(
      times(20, (index) =>
        index % 2 === 0
          ? act('setPlayerStorage', player, { values: print(values(1000 + 10 * index, 10)) }).then(codeOf)
          : player
              .post('/sdk/v1/storage/set', { values: values(1000 + 10 * index, 10) })
              .then(({ status }) => (status === 204 ? 'ok' : 'STORAGE_LIMIT_EXCEEDED')),
      ),
    )
    expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
    const { rows } = await game.app.pool.query('SELECT count(*) FROM player_storage WHERE player_id = $1', [
      player.playerId,
    ])
    expect(rows).toEqual([{ count: '1000' }])
  })
})

describe('a ban among fifty calls of xp', () => {
  it('each counts before it or is refused, and nothing counts after it, in ten rounds', async () => {
    for (const _ of times(10, () => 0)) {
      const player = await game.player()
      const runId = await player.start('season')
      const call = () => player.post(XP, { ...pass, runId, amount: 1, source: 'match' })
      const [done, ...answers] = await Promise.all([act('banPlayer', player), ...times(50, call)])
      payload(done)
      const counted = answers.filter(({ status }) => status === 200).length
      for (const { status, body } of answers)
        if (status !== 200) expect([status, body.error]).toEqual([403, 'player banned'])
      expect((await call()).status).toBe(403)
      const { rows } = await game.app.pool.query(
        'SELECT coalesce(sum(amount), 0) AS xp FROM xp_ledger WHERE player_id = $1',
        [player.playerId],
      )
      expect(rows).toEqual([{ xp: String(counted) }])
    }
  })
})

describe('rewards of items', () => {
  it('that a granted tier gives are in the inventory of the player', async () => {
    const player = await seasoned()
    payload(await act('grantTier', player, { ...pass, level: 5, track: 'premium', idempotencyKey: key() }))
    const { inventory } = (await player.post('/sdk/v1/player/get', {})).body
    expect(inventory).toEqual([item('skin-5')])
  })
})
