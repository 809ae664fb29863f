import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasRight, type Right, ROLES, type Role, roleIncludes } from '../../src/callers/roles.ts'
import { Desk } from '../grants/jobs.ts'
import { item, scenario, season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { documentOf, rootFields } from '../serve/graphql/documents.ts'
import { auditRows, codeOf, everythingOf, type Mutation, newOperator, support } from '../support/desk.ts'

let game: Game
let admin: Desk
beforeAll(async () => {
  game = await startGame()
  admin = new Desk(game, (await newOperator(game.app.pool, game.projectId, 'admin')).key)
  await game.publish('season', season())
})
afterAll(() => game.stop())

const PASS = { scenarioId: 'season', nodeId: 'pass' }

/** Sets the limits of a role in an environment of its own, in which it makes players. */
async function limited(role: 'designer' | 'support' | 'operator', limits: object) {
  await admin.must('setRoleLimits', { role: role.toUpperCase(), ...limits }, 'limits { role }')
  const { key, actor } = await newOperator(game.app.pool, game.projectId, role)
  return { key, actor, desk: admin.of(key) }
}

/** A player with an active run. */
async function playing(): Promise<TestPlayer> {
  const player = await game.player()
  await player.start('season')
  return player
}

/** A token of a person, made with a key. */
async function tokenOf(key: string, actor: string): Promise<string> {
  const { data } = await game.graphql(
    key,
    'mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { token } }',
    { input: { actor, reason: 'test' } },
  )
  return data.createOperatorToken.token
}

const give = (key: string, mutation: Mutation, player: TestPlayer, input: object) =>
  support(game, key, mutation, {
    ...{ playerId: player.playerId, reason: 'test', idempotencyKey: randomUUID() },
    ...input,
  })

describe('roles', () => {
  it('include each other by their rights: an analyst is in all, and a designer only in an admin', () => {
    const rights: readonly Right[] = ['read', 'players', 'act', 'jobs', 'design', 'manage']
    for (const one of ROLES)
      for (const other of ROLES)
        expect([one, other, roleIncludes(one, other)]).toEqual([
          ...[one, other, rights.every((right) => !hasRight(other, right) || hasRight(one, right))],
        ])
    const above = (role: Role) => ROLES.filter((one) => roleIncludes(one, role))
    expect(above('analyst')).toEqual(ROLES)
    expect(above('designer')).toEqual(['designer', 'admin'])
    expect(above('support')).toEqual(['support', 'operator', 'admin'])
  })

  it('of a token are at most those of its key: a viewer makes no designer', async () => {
    const { key } = await newOperator(game.app.pool, game.projectId, 'viewer')
    const document = 'mutation ($input: CreateOperatorTokenInput!) { createOperatorToken(input: $input) { role } }'
    const made = async (role: string) => {
      const { data, errors } = await game.graphql(key, document, { input: { role, actor: 'Ada', reason: 'test' } })
      return errors?.[0]?.extensions.code ?? data.createOperatorToken.role
    }
    expect(await Promise.all(['ANALYST', 'VIEWER', 'DESIGNER', 'SUPPORT'].map(made))).toEqual([
      ...['ANALYST', 'VIEWER', 'FORBIDDEN', 'FORBIDDEN'],
    ])
  })
})

describe('the limits of a role in an environment', () => {
  it.each<[what: string, limits: object, mutation: Mutation, inputs: (more: number) => object, code: string]>([
    [
      ...(['maxCredit of a credit', { maxCredit: 50 }, 'creditWallet'] as const),
      (more) => ({ currency: 'gold', amount: 50 + more }),
      'CREDIT_LIMIT_EXCEEDED',
    ],
    [
      ...(['maxCredit of a message', { maxCredit: 50 }, 'sendMessage'] as const),
      (more) => ({ rewards: [25 + more, 25].map((amount) => ({ currency: 'gold', amount })) }),
      'CREDIT_LIMIT_EXCEEDED',
    ],
    [
      ...(['maxCredit of the items of a message', { maxCredit: 2 }, 'sendMessage'] as const),
      (more) => ({ rewards: [1 + more, 1].map((amount) => ({ itemId: 'sword', amount })) }),
      'CREDIT_LIMIT_EXCEEDED',
    ],
    [
      ...(['maxXp', { maxXp: 100 }, 'grantXp'] as const),
      (more) => ({ ...PASS, amount: 100 + more }),
      'ROLE_LIMIT_EXCEEDED',
    ],
  ])('%s: more is refused, and is in the audit log', async (_what, limits, mutation, input, code) => {
    const { key } = await limited('support', limits)
    const player = await playing()
    expect(codeOf(await give(key, mutation, player, input(0)))).toBe('ok')
    const before = await everythingOf(game.app.pool, player.playerId)
    expect(codeOf(await give(key, mutation, player, input(1)))).toBe(code)
    expect(await everythingOf(game.app.pool, player.playerId)).toEqual(before)
    const rows = await auditRows(game.app.pool, game.projectId, player.playerId)
    expect(rows.at(-1)?.action).toMatch(/\.denied$/)
    // Admins, and roles without the limit, give more.
    const { key: other } = await limited('operator', {})
    for (const as of [other, game.platformKey]) expect(codeOf(await give(as, mutation, player, input(1)))).toBe('ok')
  })

  it('maxCredit: a tier is neither granted nor reset that pays more', async () => {
    const player = await playing()
    const tier = { ...PASS, level: 2, track: 'free' }
    const { key: none } = await limited('support', { maxCredit: 1 })
    const refused = async (mutation: Mutation) => {
      const before = await everythingOf(game.app.pool, player.playerId)
      expect(codeOf(await give(none, mutation, player, tier))).toBe('CREDIT_LIMIT_EXCEEDED')
      expect(await everythingOf(game.app.pool, player.playerId)).toEqual(before)
    }
    await refused('grantTier')
    expect(codeOf(await give(game.platformKey, 'grantTier', player, tier))).toBe('ok')
    await refused('resetTier')
    const { key: some } = await limited('support', { maxCredit: 1_000_000 })
    for (const mutation of ['resetTier', 'grantTier'] as const)
      expect(codeOf(await give(some, mutation, player, tier))).toBe('ok')
  })

  it('maxCredit: neither premium of a higher price is granted, nor a pass reset whose claims have paid more', async () => {
    const player = await playing()
    const { key: none } = await limited('support', { maxCredit: 1 })
    expect(codeOf(await give(game.platformKey, 'grantTier', player, { ...PASS, level: 2, track: 'free' }))).toBe('ok')
    const before = await everythingOf(game.app.pool, player.playerId)
    for (const mutation of ['grantPremium', 'resetPass'] as const)
      expect(codeOf(await give(none, mutation, player, PASS))).toBe('CREDIT_LIMIT_EXCEEDED')
    expect(await everythingOf(game.app.pool, player.playerId)).toEqual(before)
    const { key: some } = await limited('support', { maxCredit: 1_000_000 })
    for (const mutation of ['grantPremium', 'resetPass'] as const)
      expect(codeOf(await give(some, mutation, player, PASS))).toBe('ok')
  })

  it('maxCredit: no handle is crossed that leads to more', async () => {
    const nodes = [
      { id: 'shop', type: 'client' },
      { id: 'gift', type: 'reward', data: { rewards: [item('sword', 3)] } },
    ]
    const edges = [
      { from: 'start', handle: 'onStart', to: 'shop' },
      { from: 'shop', handle: 'onGift', to: 'gift' },
    ]
    await game.publish('shop', scenario(nodes, edges))
    const player = await game.player()
    await player.start('shop')
    const gift = { scenarioId: 'shop', nodeId: 'shop', handle: 'onGift' }
    const { key: two } = await limited('support', { maxCredit: 2 })
    const before = await everythingOf(game.app.pool, player.playerId)
    expect(codeOf(await give(two, 'crossHandleForPlayer', player, gift))).toBe('CREDIT_LIMIT_EXCEEDED')
    expect(await everythingOf(game.app.pool, player.playerId)).toEqual(before)
    const { key: three } = await limited('support', { maxCredit: 3 })
    expect(codeOf(await give(three, 'crossHandleForPlayer', player, gift))).toBe('ok')
  })

  it('maxCredit and the credit limit of a currency hold together: the lower one', async () => {
    const credit = (limit: number | null) =>
      admin.must('setCreditLimit', { currency: 'gems', limit }, 'currency { creditLimit }')
    const player = await game.player()
    const { key } = await limited('support', { maxCredit: 50 })
    const tries = async (...amounts: number[]) => {
      const codes = []
      for (const amount of amounts)
        codes.push(codeOf(await give(key, 'creditWallet', player, { currency: 'gems', amount })))
      return codes
    }
    await credit(20)
    expect(await tries(20, 21)).toEqual(['ok', 'CREDIT_LIMIT_EXCEEDED'])
    await credit(80)
    expect(await tries(50, 51)).toEqual(['ok', 'CREDIT_LIMIT_EXCEEDED'])
    await credit(null)
  })

  it('maxGiftsPerDay: of ten gifts at once as many are given as the limit has, and on the next day as many again', async () => {
    const { key } = await limited('support', { maxGiftsPerDay: 3 })
    const token = await tokenOf(key, 'Ada')
    const player = await playing()
    const gift = () => give(token, 'creditWallet', player, { currency: 'gold', amount: 1 })
    const codes = (await Promise.all(times(10, gift))).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(3)
    expect(new Set(codes)).toEqual(new Set(['ok', 'ROLE_LIMIT_EXCEEDED']))
    // What gives nothing is not limited.
    const text = { text: [{ language: 'en', title: 'Hello', body: 'There' }] }
    expect(codeOf(await give(token, 'sendMessage', player, text))).toBe('ok')
    expect(codeOf(await give(token, 'debitWallet', player, { currency: 'gold', amount: 1 }))).toBe('ok')
    // A repeat is the same gift, also when it was the last of the day.
    const idempotencyKey = randomUUID()
    await limited('support', { maxGiftsPerDay: 4 })
    const again = () => give(token, 'creditWallet', player, { currency: 'gold', amount: 1, idempotencyKey })
    expect([await again(), await again(), await gift()].map(codeOf)).toEqual(['ok', 'ok', 'ROLE_LIMIT_EXCEEDED'])
    await game.app.pool.query("UPDATE gift_counts SET day = day - 1 WHERE operator = 'ada'")
    expect(codeOf(await gift())).toBe('ok')
  })

  it('maxGiftsPerDay counts each person of a token, all names that calls claim together, and no gift that was refused', async () => {
    const { key } = await limited('support', { maxGiftsPerDay: 1 })
    const player = await playing()
    const [ada, bob] = [await tokenOf(key, 'Ada'), await tokenOf(key, 'Bob')]
    const loud = await tokenOf(key, 'ADA')
    const gift = (as: string, input: object = {}) =>
      give(as, 'creditWallet', player, { currency: 'gold', amount: 1, ...input })
    expect(codeOf(await gift(ada, { currency: 'gould', allowNew: false }))).toBe('UNKNOWN_CURRENCY')
    expect([await gift(ada), await gift(ada), await gift(loud), await gift(bob)].map(codeOf)).toEqual([
      ...['ok', 'ROLE_LIMIT_EXCEEDED', 'ROLE_LIMIT_EXCEEDED', 'ok'],
    ])
    const claims = async (name: string) => {
      const { data } = await game.graphql(
        { authorization: `Bearer ${key}`, 'x-operator': name },
        'mutation ($input: GrantXpInput!) { grantXp(input: $input) { error } }',
        { input: { ...PASS, playerId: player.playerId, amount: '1', reason: 'test', idempotencyKey: randomUUID() } },
      )
      return data.grantXp.error
    }
    expect([await claims('Cleo'), await claims('Dora')]).toEqual([null, 'ROLE_LIMIT_EXCEEDED'])
  })

  it('hold for grant jobs: what each player gets, the size, and how often', async () => {
    const { desk } = await limited('operator', { maxCredit: 50, maxXp: 100, maxJobPlayers: 10, maxGiftsPerDay: 1 })
    const player = await game.player()
    const to = { playerIds: [player.playerId] }
    const gold = (amount: number) => ({ rewards: [{ currency: 'gold', amount }] })
    const refused = (input: object) => desk.refused('createGrantJob', { idempotencyKey: randomUUID(), to, ...input })
    expect(await refused({ give: gold(51), limit: 10 })).toEqual([expect.stringContaining('above 50')])
    expect(await refused({ give: { rewards: [{ itemId: 'sword', amount: 51 }] }, limit: 10 })).toEqual([
      expect.stringContaining('give.rewards: It gives 51 of "sword": more than 50'),
    ])
    expect(await refused({ give: { premium: PASS }, limit: 10 })).toEqual([
      expect.stringContaining('give.premium: It gives'),
    ])
    expect(await refused({ give: { xp: { ...PASS, amount: 101 } }, limit: 10 })).toEqual([
      expect.stringContaining('give.xp.amount: The xp is above 100'),
    ])
    expect(await refused({ give: { levels: { ...PASS, levels: 1 } }, limit: 10 })).toEqual([
      expect.stringContaining('give.levels: The role operator gives at most 100 xp'),
    ])
    expect(await refused({ give: gold(50), limit: 11 })).toEqual([
      expect.stringContaining('limit: The limit is above 10'),
    ])
    const input = { to, give: gold(50), limit: 10, idempotencyKey: randomUUID() }
    const [{ job }, again] = [await desk.must('createGrantJob', input), await desk.must('createGrantJob', input)]
    expect(again.job.jobId).toBe(job.jobId)
    expect(await refused({ give: gold(1), limit: 10 })).toEqual([expect.stringContaining('gives 1 times a day')])
  })

  it.each(['designer', 'support', 'operator'] as const)(
    'readsOnly: a %s changes nothing there, by any mutation, and each attempt is in the audit log',
    async (role) => {
      const { key, actor } = await limited(role, { readsOnly: true })
      const player = await playing()
      const ids = { playerId: player.playerId, playerIds: player.playerId }
      const place = { environment: 'production', toEnvironment: 'production', ...PASS, toScenarioId: 'season' }
      const objects = ['boostId', 'commentId', 'draftId', 'jobId', 'messageId', 'noteId', 'publicationId', 'segmentId']
      const values = {
        definition: '{}',
        reason: 'test',
        text: 'a note',
        message: 'a message',
        language: 'en',
        endsAt: '2099-01-01T00:00:00Z',
        page: 'PLAYERS',
        sharedViewId: randomUUID(),
      }
      const more = { ...Object.fromEntries(objects.map((name) => [name, randomUUID()])), ...values, name: 'all' }
      const before = await everythingOf(game.app.pool, player.playerId)
      const codes = new Map<string, string>()
      // A former name is the same mutation.
      for (const field of rootFields('Mutation').filter(({ deprecationReason }) => !deprecationReason)) {
        const document = documentOf('Mutation', field, { ...place, ...ids, ...more })
        const { errors } = await game.graphql(key, document.query, document.variables)
        codes.set(field.name, errors?.[0]?.extensions.code ?? 'ok')
      }
      const refused = new Set(['FORBIDDEN', 'INVALID_SDK_KEY'])
      // Shared views are of the project, and no environment has a limit for them.
      const ofProject = [
        ['deleteSharedView', 'NOT_FOUND'],
        ['shareView', 'ok'],
      ]
      expect([...codes].filter(([, code]) => !refused.has(code))).toEqual([
        ['createOperatorToken', 'ok'],
        ...(role === 'designer' ? [] : ofProject),
      ])
      expect(await everythingOf(game.app.pool, player.playerId)).toEqual(before)
      const { rows } = await game.app.pool.query(
        "SELECT count(*)::int AS entries FROM audit_log WHERE actor = $1 AND action LIKE '%.denied'",
        [actor],
      )
      expect(rows[0].entries).toBeGreaterThan(50)
      await admin.must('setRoleLimits', { role: role.toUpperCase() }, 'limits { role }')
    },
  )

  it('are for admins to set, in the audit log, and shown by environment', async () => {
    const read = async () => {
      const { data } = await game.graphql(
        game.platformKey,
        '{ environments { name roleLimits { role readsOnly maxCredit maxXp maxGiftsPerDay maxJobPlayers } } }',
      )
      return data.environments.find((one: { name: string }) => one.name === 'production').roleLimits
    }
    await Promise.all(['designer', 'support', 'operator'].map((role) => limited(role as 'support', {})))
    const none = { readsOnly: false, maxCredit: null, maxXp: null, maxGiftsPerDay: null, maxJobPlayers: null }
    expect(await read()).toEqual(['DESIGNER', 'SUPPORT', 'OPERATOR'].map((role) => ({ role, ...none })))
    const limits = { maxCredit: '500', maxXp: '0', maxGiftsPerDay: 20 }
    const set = () => admin.must('setRoleLimits', { role: 'SUPPORT', ...limits }, 'auditEntry { action before after }')
    const { auditEntry } = await set()
    expect(auditEntry.action).toBe('role_limits.set')
    expect((await set()).auditEntry).toBeNull()
    expect((await read())[1]).toEqual({ role: 'SUPPORT', ...none, ...limits })
    expect(
      await admin.refused('setRoleLimits', { role: 'DESIGNER', maxXp: 1, maxJobPlayers: 1 }, '__typename'),
    ).toEqual([
      'maxXp: must be left out: the role designer does no such thing',
      'maxJobPlayers: must be left out: the role designer does no such thing',
    ])
    await limited('support', {})
  })
})
