import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { times } from '../harness/game.ts'
import { AUDITED, auditRows, codeOf, countAudit, type Input, type Mutation, payload, support } from './desk.ts'
import {
  act,
  admin,
  bonus,
  boss,
  closeDesk,
  everything,
  game,
  key,
  MAX_INT64,
  NOBODY,
  openDesk,
  operator,
  pass,
  rowsOf,
  type Seasoned,
  seasoned,
  strangePlayerId,
  stranger,
} from './support-desk.ts'

beforeAll(openDesk)
afterAll(closeDesk)

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
  /** The input, without the player and the reason. */
  readonly input: (player: Seasoned) => Input
  /** Prepares the player. */
  readonly given?: (player: Seasoned) => Promise<unknown>
  /** The payload, without the player. */
  readonly answer?: Input
  readonly status?: string
  readonly before: (player: Seasoned) => unknown
  readonly after: (player: Seasoned) => unknown
  /** Invalid values of the other fields, each with its message. */
  readonly bad?: Bad
  /** A change that makes it another request. */
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
    input: ({ subject }) => ({ provider: 'custom', subject, allowLast: true }),
    before: ({ subject }) => ({ provider: 'custom', subject }),
    after: () => null,
    bad: { provider: text(64), subject: text(255) },
    otherwise: { subject: 'another' },
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
    otherwise: { level: 1 },
  },
  {
    mutation: 'grantPremium',
    input: () => bonus,
    answer: { changed: true },
    before: () => ({ ...bonus, premiumOwned: false }),
    after: () => ({ ...bonus, premiumOwned: true }),
    bad: BAD_PLACE,
    otherwise: pass,
  },
  {
    mutation: 'revokePremium',
    input: () => pass,
    answer: { changed: true },
    before: () => ({ ...pass, premiumOwned: true }),
    after: () => ({ ...pass, premiumOwned: false }),
    bad: BAD_PLACE,
    otherwise: bonus,
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
    otherwise: bonus,
  },
  {
    mutation: 'cancelRun',
    input: ({ runId }) => ({ runId }),
    before: ({ runId }) => ({ runId, scenarioId: 'season', status: 'active', active: ['pass', 'bonus', 'boss'] }),
    after: ({ runId }) => ({ runId, scenarioId: 'season', status: 'cancelled', active: [] }),
    bad: { runId: text(128) },
    otherwise: { runId: NOBODY },
  },
  {
    mutation: 'crossHandleForPlayer',
    input: () => ({ ...boss, idempotencyKey: key() }),
    answer: {
      result: {
        plan: {
          runId: expect.any(String),
          status: 'active',
          crossed: [
            { nodeId: 'boss', handle: 'onWin' },
            { nodeId: 'gift', handle: 'onComplete' },
          ],
          entered: [{ nodeId: 'gift', type: 'reward', data: expect.anything() }],
          granted: [{ amount: '5', currency: 'gold', itemId: null }],
        },
      },
      walletEntries: [{ currency: 'gold', amount: '5', cause: 'reward node' }],
    },
    before: ({ runId }) => ({ ...boss, runId, status: 'active', active: ['pass', 'bonus', 'boss'] }),
    after: ({ runId }) => ({
      ...boss,
      runId,
      status: 'active',
      active: ['pass', 'bonus', 'boss'],
      granted: [{ amount: 5, currency: 'gold', itemId: null }],
    }),
    bad: { ...BAD_PLACE, handle: text(64), ...BAD_KEY },
    otherwise: { handle: 'onComplete' },
  },
  {
    mutation: 'setPlayerStorage',
    input: () => ({ values: '{"hat":1.0,"color":"blue"}' }),
    before: () => null,
    after: () => ({ keys: ['hat', 'color'] }),
    bad: { values: [['{"a\\u0000b":1}', 'keys must not contain NUL or a lone surrogate']] },
    otherwise: { values: '{"hat":1}' },
  },
  {
    mutation: 'deletePlayerStorage',
    input: () => ({ keys: ['color', 'nothing'] }),
    before: () => ({ keys: expect.arrayContaining(['color']) }),
    after: () => null,
    bad: { keys: [[times(1001, String), 'must have at most 1000 elements']] },
    otherwise: { keys: ['hat'] },
  },
  {
    mutation: 'sendMessage',
    input: () => ({ idempotencyKey: key(), rewards: [{ itemId: 'hat', amount: 1 }], expiresInDays: 7 }),
    answer: { messageId: expect.any(String) },
    before: () => null,
    after: () => ({
      messageId: expect.any(String),
      rewards: [{ amount: 1, currency: null, itemId: 'hat' }],
      languages: [],
      expiresAt: expect.any(String),
    }),
    bad: {
      ...BAD_KEY,
      expiresInDays: [
        [0, 'must be 1 to 365'],
        [366, 'must be 1 to 365'],
      ],
    },
    otherwise: { expiresInDays: 365 },
  },
  {
    mutation: 'cancelMessage',
    input: () => ({ messageId: NOBODY }),
    given: ({ environmentId, playerId }) =>
      game.app.pool.query(
        `INSERT INTO inbox_messages (environment_id, player_id, id, kind, reference, expires_at)
         VALUES ($1, $2, $3, 'message', 'test', now() + interval '1 day')`,
        [environmentId, playerId, NOBODY],
      ),
    answer: { changed: true },
    before: () => ({ messageId: NOBODY, rewards: [] }),
    after: () => null,
    bad: { messageId: [['none', 'must be an id']] },
    otherwise: { messageId: '01900000-0000-7000-8000-000000000001' },
  },
  {
    mutation: 'addPlayerNote',
    input: () => ({ idempotencyKey: key(), text: 'Lost 500 gems.\nPromised 💎 back.' }),
    answer: { note: { text: 'Lost 500 gems.\nPromised 💎 back.' } },
    before: () => null,
    after: () => ({ noteId: expect.any(String), characters: 31 }),
    bad: { ...BAD_KEY, text: text(2000) },
    otherwise: { text: 'something else' },
  },
  {
    mutation: 'deletePlayerNote',
    input: () => ({ noteId: NOBODY }),
    given: ({ environmentId, playerId }) =>
      game.app.pool.query(
        `INSERT INTO player_notes (environment_id, player_id, id, text, actor, operator_is_claimed)
         VALUES ($1, $2, $3, 'gems 💎', 'test', false)`,
        [environmentId, playerId, NOBODY],
      ),
    answer: { changed: true },
    before: () => ({ noteId: NOBODY, characters: 6 }),
    after: () => null,
    bad: { noteId: [['none', 'must be an id']] },
    otherwise: { noteId: '01900000-0000-7000-8000-000000000001' },
  },
]

describe.each(CASES.map((each) => [each.mutation, each] as const))(
  '%s',
  (mutation, { input, given, answer, status = 'active', ...rest }) => {
    const action = AUDITED[mutation]
    /** A player that no test of this action changes. */
    let victim: Seasoned
    let all: Input

    beforeAll(async () => {
      victim = await seasoned()
      all = { playerId: victim.playerId, reason: 'because', ...input(victim) }
    })

    /** Expects that a call changes nothing of the victim, and adds `gains` entries to the audit log. */
    async function changesNothing(call: () => Promise<unknown>, { gains = 0 } = {}): Promise<void> {
      const [state, entries] = [await everything(victim), await countAudit(game.app.pool)]
      await call()
      expect(await everything(victim)).toEqual(state)
      expect((await countAudit(game.app.pool)) - entries).toBe(gains)
    }

    it('answers with its result, and adds one audit entry with actor, action, target, before, after and reason', async () => {
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

    it('is PLAYER_NOT_FOUND for unknown players, for players of another project, and to operators of another project, in whose audit log it is', async () => {
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

    it('is PLAYER_DELETED for a deleted player, and writes nothing', async () => {
      const player = await seasoned()
      payload(await act('deletePlayer', player))
      const state = await everything(player)
      expect(await act(mutation, player, input(player))).toEqual({ code: 'PLAYER_DELETED', message: 'player deleted' })
      expect(await everything(player)).toEqual(state)
      expect(await rowsOf(player)).toHaveLength(1)
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
          const isOptional = path === 'source' || path === 'expiresInDays'
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

describe.each(CASES.map((each) => [each.mutation, each] as const))(
  '%s with an idempotency key',
  (mutation, { input: bare, given, answer, before, after, otherwise }) => {
    const input = (player: Seasoned): Input => ({ idempotencyKey: key(), ...bare(player) })
    const begun = async () => {
      const player = await seasoned()
      await given?.(player)
      return player
    }

    it('takes effect once, gives repeats the same answer, refuses another request, and takes effect for another player by an admin', async () => {
      const player = await begun()
      const request = input(player)
      const first = await act(mutation, player, request)
      expect(payload(first)).toMatchObject(answer ?? {})
      const state = await everything(player)
      // A repeat by another operator or with another reason is the same request.
      const again = [
        await act(mutation, player, request),
        await act(mutation, player, { ...request, reason: 'x' }, admin),
      ]
      expect(again).toEqual([first, first])
      if (otherwise) {
        expect(await act(mutation, player, { ...request, ...otherwise })).toEqual({
          code: 'IDEMPOTENCY_KEY_REUSED',
          message: 'idempotency key reused',
        })
      }
      expect(await everything(player)).toEqual(state)
      expect(await rowsOf(player)).toHaveLength(1)

      const another = await begun()
      const { idempotencyKey } = request
      expect(payload(await act(mutation, another, { ...input(another), idempotencyKey }, admin))).toMatchObject(
        answer ?? {},
      )
      expect(await rowsOf(another)).toMatchObject([{ actor: admin.actor }])
    })

    it('takes effect once when twelve calls with one key race', async () => {
      const player = await begun()
      const request = input(player)
      const outcomes = await Promise.all(times(12, () => act(mutation, player, request)))
      expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1)
      expect(payload(outcomes[0] ?? { ok: null })).toMatchObject(answer ?? {})
      expect(await rowsOf(player)).toHaveLength(1)
      expect(await rowsOf(player)).toMatchObject([{ before: before(player), after: after(player) }])
    })
  },
)

it('a support action names an invalid playerId once', async () => {
  for (const playerId of ['', 'x'.repeat(37), '\ud800']) {
    const outcome = await act('banPlayer', { playerId })
    expect(outcome).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'playerId' }] })
  }
})
