import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { createProject } from '../../src/callers/projects.ts'
import { nearestOf } from '../../src/game/wallet/currencies.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { auditRows, countAudit, type Input, newOperator, type Operator, payload, support } from '../support/desk.ts'

// The catalogue: which currencies and items an environment knows, and which credits operators can make.

let game: Game
let operator: Operator
let admin: Operator
let player: TestPlayer

beforeAll(async () => {
  game = await startGame()
  operator = await newOperator(game.app.pool, game.projectId)
  admin = await newOperator(game.app.pool, game.projectId, 'admin')
  await game.publish('season', season())
  player = await game.player()
})
afterAll(() => game?.stop())

let count = 0
const fresh = (name = 'coin') => `${name}-${++count}`

async function change(mutation: string, input: Input, key = admin.key) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const selection =
    'currency { name isAdded creditLimit scenarioIds } auditEntry { id action target reason before after }'
  const document = `mutation ($input: ${type}!) { ${mutation}(input: $input) { ${selection} } }`
  const sent = { environment: 'production', reason: 'test', ...input }
  const { data, errors } = await game.graphql(key, document, { input: sent })
  return { answer: data?.[mutation], error: errors?.[0]?.extensions }
}

async function credit(input: Input, key = operator.key, to = player) {
  const selection = 'error message nearest balance entry { amount } auditEntry { action } player { playerId }'
  const document = `mutation ($input: CreditWalletInput!) { creditWallet(input: $input) { ${selection} } }`
  const sent = { playerId: to.playerId, reason: 'test', idempotencyKey: fresh('key'), amount: '5', ...input }
  const { data, errors } = await game.graphql(key, document, { input: sent })
  return { answer: data?.creditWallet, error: errors?.[0]?.extensions }
}

async function list(field: 'currencies' | 'items', args: Input = {}, key = operator.key) {
  const sent = Object.entries({ environment: 'production', ...args }).map(
    ([name, value]) => `${name}: ${JSON.stringify(value)}`,
  )
  const entry = field === 'items' ? 'itemId scenarioIds' : 'name isAdded creditLimit scenarioIds'
  const page = `totalCount nodes { ${entry} } pageInfo { hasNextPage endCursor }`
  const { data, errors } = await game.graphql(key, `{ ${field}(${sent.join(', ')}) { ${page} } }`)
  return { page: data?.[field], error: errors?.[0]?.extensions }
}

async function publishInStaging(scenarioId: string, definition: Json) {
  const document =
    'mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) { scenario { version } } }'
  const input = { environment: 'staging', scenarioId, definition: print(definition), reason: 'test' }
  expect((await game.graphql(admin.key, document, { input })).errors).toBeUndefined()
}

const balanceOf = async (currency: string, of = player) => {
  const { data } = await game.graphql(operator.key, `{ player(id: "${of.playerId}") { wallet { currency balance } } }`)
  return data.player.wallet.find((wallet: { currency: string }) => wallet.currency === currency)?.balance ?? null
}

describe('currencies and items', () => {
  it('come from the current version of every scenario, sorted by name, each with its scenarios', async () => {
    const node = (type: string, data: object) => ({ id: fresh('node'), type, data }) as never
    const brought = { free: [{ currency: 'brought', amount: 1 }] }
    await publishInStaging(
      'event',
      scenario(
        [
          passNode('pass', {
            price: { currency: 'tickets', amount: 1 },
            tiers: [tier(1, 'free', [gold(1), item('hat')])],
          }),
          node('battle-pass-level', { levelNumber: 2, passNodeId: 'pass', rewards: brought }),
          node('reward', {
            rewards: [
              { currency: 'shards', amount: 3 },
              { itemId: 'scarf', amount: 1 },
            ],
          }),
          // The service does not read the data of client nodes.
          node('shop', { rewards: [{ currency: 'dollars', amount: 1 }], price: { currency: 'euros' } }),
        ],
        [],
      ),
    )
    const known = await list('currencies', { environment: 'staging' })
    expect(known.page.nodes).toEqual(
      ['brought', 'gold', 'shards', 'tickets'].map((name) => ({
        name,
        isAdded: false,
        creditLimit: null,
        scenarioIds: ['event'],
      })),
    )
    expect(known.page.totalCount).toBe(4)
    expect((await list('items', { environment: 'staging' })).page).toMatchObject({
      totalCount: 2,
      nodes: [
        { itemId: 'hat', scenarioIds: ['event'] },
        { itemId: 'scarf', scenarioIds: ['event'] },
      ],
    })
    // A name that an edit removed is no longer known.
    await publishInStaging('event', season({ price: { currency: 'gems', amount: 1 } }))
    await publishInStaging('Event 2', season({ price: null, tiers: [tier(1, 'free')] }))
    const { page } = await list('currencies', { environment: 'staging' })
    expect(
      page.nodes.map(({ name, scenarioIds }: { name: string; scenarioIds: string[] }) => [name, scenarioIds]),
    ).toEqual([
      ['gems', ['event']],
      ['gold', ['Event 2', 'event']],
    ])
  })

  it('are paged without gaps or repeats, for any page size', async () => {
    const all = (await list('items')).page.nodes
    expect(all).toHaveLength(5)
    for (const first of [1, 2, 4, 5, 6]) {
      const met = []
      for (let after: string | null = null; ; ) {
        const { page }: { page: { nodes: object[]; pageInfo: { hasNextPage: boolean; endCursor: string | null } } } =
          await list('items', { first, ...(after !== null && { after }) })
        met.push(...page.nodes)
        after = page.pageInfo.endCursor
        if (!page.pageInfo.hasNextPage) break
      }
      expect(met).toEqual(all)
    }
    const foreign = Buffer.from('currency:gems').toString('base64url')
    expect((await list('items', { after: foreign })).error).toEqual({
      code: 'INVALID_REQUEST',
      details: [{ path: 'after', message: 'must be a cursor that this service gave' }],
    })
  })

  it('belong to one environment of one project', async () => {
    const { projectId } = await createProject(game.app.pool, {
      name: 'Other',
      environments: ['production', 'elsewhere'],
    })
    const stranger = await newOperator(game.app.pool, projectId, 'admin')
    expect((await list('currencies', {}, stranger.key)).page.nodes).toEqual([])
    const currency = fresh()
    expect((await change('addCurrency', { currency }, stranger.key)).answer.currency.name).toBe(currency)
    expect((await list('currencies', { environment: 'elsewhere' }, stranger.key)).page.nodes).toEqual([])
    const { page } = await list('currencies')
    expect(page.nodes.map(({ name }: { name: string }) => name)).not.toContain(currency)
    expect((await list('currencies', { environment: 'elsewhere' })).error?.code).toBe('ENVIRONMENT_NOT_FOUND')
    expect((await change('addCurrency', { currency, environment: 'elsewhere' })).error?.code).toBe(
      'ENVIRONMENT_NOT_FOUND',
    )
  })
})

describe('creditWallet', () => {
  it('refuses an unknown currency, names the nearest ones and changes nothing', async () => {
    const before = await countAudit(game.app.pool)
    const { answer, error } = await credit({ currency: 'gmes' })
    expect(error).toBeUndefined()
    expect(answer).toEqual({
      error: 'UNKNOWN_CURRENCY',
      message:
        '`gmes` is not a currency of this environment: the nearest are gems, gold. To credit it all the same, send `allowNew: true`.',
      nearest: ['gems', 'gold'],
      balance: null,
      entry: null,
      auditEntry: null,
      player: { playerId: player.playerId },
    })
    expect(await balanceOf('gmes')).toBeNull()
    expect(await countAudit(game.app.pool)).toBe(before)
  })

  it('credits an unknown currency with allowNew, and the currency stays unknown', async () => {
    const currency = fresh()
    expect((await credit({ currency, allowNew: true })).answer).toMatchObject({
      error: null,
      message: null,
      balance: '5',
    })
    expect((await credit({ currency })).answer).toMatchObject({ error: 'UNKNOWN_CURRENCY', balance: null })
    expect((await credit({ currency, allowNew: null })).answer).toMatchObject({ error: 'UNKNOWN_CURRENCY' })
    expect((await credit({ currency, allowNew: true })).answer).toMatchObject({ error: null, balance: '10' })
  })

  it('repeats its answer for a repeated key, even after the currency is removed', async () => {
    const currency = fresh()
    await change('addCurrency', { currency })
    const sent = { currency, idempotencyKey: fresh('key') }
    const first = await credit(sent)
    expect(first.answer).toMatchObject({ error: null, balance: '5' })
    await change('deleteCurrency', { currency })
    await change('setCreditLimit', { currency: 'gems', limit: '1' })
    expect(await credit(sent)).toEqual(first)
    await change('setCreditLimit', { currency: 'gems', limit: null })
    expect(await balanceOf(currency)).toBe('5')
    // A refusal is not stored: a corrected call works with the same key.
    const wrong = { currency: fresh(), idempotencyKey: fresh('key') }
    expect((await credit(wrong)).answer.error).toBe('UNKNOWN_CURRENCY')
    expect((await credit({ ...wrong, allowNew: true })).answer).toMatchObject({ error: null, balance: '5' })
  })

  it('says that the environment has no currency yet, as setCreditLimit does', async () => {
    const { pool, service } = game.app
    const { projectId, environments } = await createProject(pool, { name: 'Empty', environments: ['production'] })
    const key = (await newOperator(pool, projectId, 'admin')).key
    const { playerId } = await service.run(createPlayer(environments.get('production') ?? '', null))
    const { answer } = await credit({ playerId, currency: 'gems' }, key)
    expect(answer).toMatchObject({
      error: 'UNKNOWN_CURRENCY',
      message:
        '`gems` is not a currency of this environment: it has none yet. To credit it all the same, send `allowNew: true`.',
      nearest: [],
      balance: null,
      player: { playerId },
    })
    const limit = await change('setCreditLimit', { currency: 'gems', limit: '1' }, key)
    expect(limit.error).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: 'currency', message: 'is not a currency of this environment: it has none yet' }],
    })
  })

  it('does not restrict debits of an unknown currency', async () => {
    const currency = fresh()
    payload(
      await support(game, operator.key, 'creditWallet', {
        playerId: player.playerId,
        reason: 'x',
        currency,
        amount: '5',
        idempotencyKey: currency,
      }),
    )
    const debit = { playerId: player.playerId, reason: 'x', currency, amount: '2', idempotencyKey: `${currency}-` }
    expect(payload(await support(game, operator.key, 'debitWallet', debit)).balance).toBe('3')
  })
})

describe('addCurrency and deleteCurrency', () => {
  it('add and remove a currency, each with one audit row, also in concurrent calls', async () => {
    const currency = fresh()
    const both = await Promise.all([1, 2].map(() => change('addCurrency', { currency, reason: 'sale' })))
    for (const { answer } of both)
      expect(answer.currency).toEqual({ name: currency, isAdded: true, creditLimit: null, scenarioIds: [] })
    expect(both.map(({ answer }) => answer.auditEntry).filter(Boolean)).toEqual([
      {
        id: expect.stringMatching(/^AuditLogEntry:/),
        action: 'currency.add',
        target: currency,
        reason: 'sale',
        before: { isAdded: false, creditLimit: null },
        after: { isAdded: true, creditLimit: null },
      },
    ])
    expect((await credit({ currency })).answer.error).toBeNull()
    const removed = await Promise.all([1, 2].map(() => change('deleteCurrency', { currency })))
    for (const { answer } of removed) expect(answer.currency).toBeNull()
    expect(removed.map(({ answer }) => answer.auditEntry?.action).filter(Boolean)).toEqual(['currency.remove'])
    expect((await credit({ currency })).answer.error).toBe('UNKNOWN_CURRENCY')
    expect(await balanceOf(currency)).toBe('5')
    const rows = await auditRows(game.app.pool, game.projectId, currency)
    expect(rows.map(({ action, environmentId }) => [action, environmentId])).toEqual([
      ['currency.add', game.environmentId],
      ['currency.remove', game.environmentId],
    ])
  })

  it('keep a currency of a scenario known', async () => {
    await change('addCurrency', { currency: 'gems' })
    const { answer } = await change('deleteCurrency', { currency: 'gems' })
    expect(answer.currency).toEqual({ name: 'gems', isAdded: false, creditLimit: null, scenarioIds: ['season'] })
  })
})

describe('setCreditLimit', () => {
  it('limits the credits of operators, but not those of admins', async () => {
    const currency = fresh()
    await change('addCurrency', { currency })
    const limited = await change('setCreditLimit', { currency, limit: '100' })
    expect(limited.answer.currency).toMatchObject({ name: currency, creditLimit: '100' })
    expect(limited.answer.auditEntry).toMatchObject({
      action: 'currency.set_credit_limit',
      before: { isAdded: true, creditLimit: null },
      after: { isAdded: true, creditLimit: 100 },
    })
    expect((await credit({ currency, amount: '100' })).answer).toMatchObject({ error: null, balance: '100' })
    const target = await game.player()
    const above = { currency, amount: '101', idempotencyKey: fresh('key') }
    expect((await credit(above, operator.key, target)).answer).toEqual({
      error: 'CREDIT_LIMIT_EXCEEDED',
      message: 'The amount is above 100, the largest that can be credited at once. An admin can credit more.',
      nearest: [],
      balance: null,
      entry: null,
      auditEntry: null,
      player: { playerId: target.playerId },
    })
    // It is audited as any attempt with too low a role.
    expect(await auditRows(game.app.pool, game.projectId, target.playerId)).toMatchObject([
      { action: 'player.credit_wallet.denied', actor: operator.actor },
    ])
    expect((await credit(above, admin.key, target)).answer).toMatchObject({ error: null, balance: '101' })
    // The key now has a stored answer.
    expect((await credit(above, operator.key, target)).answer).toMatchObject({ error: null, balance: '101' })
  })

  it('leaves credits to admins with a limit of 0, and removes the limit with null', async () => {
    const currency = fresh()
    await change('addCurrency', { currency })
    await change('setCreditLimit', { currency, limit: '0' })
    expect((await credit({ currency, amount: '1' })).answer.error).toBe('CREDIT_LIMIT_EXCEEDED')
    expect((await credit({ currency, amount: '1' }, admin.key)).answer.error).toBeNull()
    const again = await change('setCreditLimit', { currency, limit: '0' })
    expect(again.answer.auditEntry).toBeNull()
    const removed = await change('setCreditLimit', { currency })
    expect(removed.answer.currency.creditLimit).toBeNull()
    expect((await credit({ currency, amount: '1' })).answer.error).toBeNull()
  })

  it('stays in force after the currency is removed, also with allowNew', async () => {
    const currency = fresh()
    await change('addCurrency', { currency })
    await change('setCreditLimit', { currency, limit: '9223372036854775806' })
    await change('deleteCurrency', { currency })
    const most = { currency, amount: '9223372036854775807', allowNew: true }
    expect((await credit(most)).answer.error).toBe('CREDIT_LIMIT_EXCEEDED')
    expect((await credit({ ...most, allowNew: false })).answer.error).toBe('UNKNOWN_CURRENCY')
    // The limit of an unknown currency can be cleared.
    expect((await change('setCreditLimit', { currency, limit: null })).answer.currency).toBeNull()
  })

  it('refuses an unknown currency', async () => {
    const { error } = await change('setCreditLimit', { currency: 'gmes', limit: '5' })
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'currency' }] })
  })
})

describe('input of the catalogue', () => {
  it.each([
    ['an empty name', { currency: '' }, 'currency', 'must be 1 to 64 characters'],
    ['a name of 65 characters', { currency: 'x'.repeat(65) }, 'currency', 'must be 1 to 64 characters'],
    ['a NUL', { currency: 'a\u0000' }, 'currency', 'must not contain NUL or a lone surrogate'],
    ['a lone surrogate', { currency: 'a\ud800' }, 'currency', 'must not contain NUL or a lone surrogate'],
    ['an empty reason', { currency: 'x', reason: '' }, 'reason', 'must be 1 to 500 characters'],
    ['a limit below 0', { currency: 'gems', limit: '-1' }, 'limit', 'must be 0 to 9223372036854775807'],
  ])('is refused with %s, and changes nothing', async (_what, input, path, message) => {
    const before = await countAudit(game.app.pool)
    for (const mutation of 'limit' in input ? ['setCreditLimit'] : ['addCurrency', 'deleteCurrency', 'setCreditLimit'])
      expect((await change(mutation, input)).error).toMatchObject({
        code: 'INVALID_REQUEST',
        details: [{ path, message }],
      })
    expect(await countAudit(game.app.pool)).toBe(before)
  })

  it.each([
    ['no name', { currency: null }],
    ['a number for a name', { currency: 5 }],
    ['a limit of 2^63', { currency: 'gems', limit: '9223372036854775808' }],
    ['a limit with a point', { currency: 'gems', limit: 1.5 }],
  ])('is an invalid request with %s', async (_what, input) => {
    expect((await change('setCreditLimit', input)).error?.code).toBe('INVALID_REQUEST')
  })

  it('is refused with every fault named', async () => {
    const { error } = await change('setCreditLimit', { currency: '', limit: '-1', reason: '' })
    expect(error).toMatchObject({
      details: [{ path: 'currency' }, { path: 'limit' }, { path: 'reason' }],
    })
  })

  it('is limited to a thousand names', async () => {
    const { pool } = game.app
    await pool.query(
      `INSERT INTO currencies (environment_id, name, is_added)
       SELECT id, 'n' || n, true FROM environments, generate_series(1, 1000) n WHERE project_id = $1 AND name = 'staging'`,
      [game.projectId],
    )
    const full = await change('addCurrency', { environment: 'staging', currency: 'one more' })
    expect(full.error).toMatchObject({
      details: [{ path: 'currency', message: 'is one too many: the catalogue holds 1000' }],
    })
    const inside = await change('setCreditLimit', { environment: 'staging', currency: 'n7', limit: '3' })
    expect(inside.answer.currency.creditLimit).toBe('3')
  })
})

describe('grantTier and grantXp', () => {
  it('answer the wallet entries that they wrote, also when a key is repeated', async () => {
    const reward = {
      id: 'bonus',
      type: 'reward',
      data: { rewards: [gold(7), item('hat'), { currency: 'gems', amount: 2 }], repeat: 'always' },
    }
    const definition = scenario(
      [
        passNode('pass', {
          tiers: [tier(1, 'free', [gold(1), { currency: 'gems', amount: 3 }]), tier(2, 'free', [item('hat')])],
        }),
        reward,
      ] as never,
      [
        { from: 'start', handle: 'onStart', to: 'pass' },
        { from: 'pass', handle: 'onLevelUp', to: 'bonus' },
      ],
    )
    await game.publish('paying', JSON.parse(print(definition)))
    const target = await game.player()
    await target.start('paying')
    const grant = async (mutation: string, input: Input) => {
      const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
      const rows = 'error result { __typename } walletEntries { currency amount balance cause reference }'
      const sent = { playerId: target.playerId, reason: 'x', scenarioId: 'paying', nodeId: 'pass', ...input }
      const document = `mutation ($input: ${type}!) { ${mutation}(input: $input) { ${rows} } }`
      const ask = async () => (await game.graphql(operator.key, document, { input: sent })).data[mutation]
      const both = await Promise.all([ask(), ask()])
      expect(both[1]).toEqual(both[0])
      return both[0]
    }
    const tierOne = await grant('grantTier', { level: 1, track: 'FREE', idempotencyKey: 'a' })
    expect(tierOne.walletEntries).toEqual([
      { currency: 'gold', amount: '1', balance: '1', cause: 'TIER_CLAIM', reference: 'paying/pass/free/1' },
      { currency: 'gems', amount: '3', balance: '3', cause: 'TIER_CLAIM', reference: 'paying/pass/free/1' },
    ])
    const items = await grant('grantTier', { level: 2, track: 'FREE', idempotencyKey: 'b' })
    expect(items).toMatchObject({ error: null, walletEntries: [] })
    const claimed = await grant('grantTier', { level: 1, track: 'FREE', idempotencyKey: 'c' })
    expect(claimed.walletEntries).toEqual([])
    const xp = await grant('grantXp', { amount: '100', idempotencyKey: 'd' })
    expect(xp.walletEntries).toMatchObject([
      { currency: 'gold', amount: '7', balance: '8', cause: 'REWARD_NODE' },
      { currency: 'gems', amount: '2', balance: '5', cause: 'REWARD_NODE' },
    ])
    const stranger = await game.player()
    const none = await grant('grantXp', { playerId: stranger.playerId, amount: '1', idempotencyKey: 'e' })
    expect(none).toEqual({ error: 'RUN_NOT_ACTIVE', result: null, walletEntries: [] })
  })
})

describe('the nearest names', () => {
  it('are up to three different known names, including the same name in another case', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, maxLength: 64 }),
        fc.array(fc.string({ minLength: 1, maxLength: 64 })),
        (name, others) => {
          const names = [...others, name.toUpperCase()]
          const nearest = nearestOf(name, names)
          expect(nearest.length).toBe(Math.min(3, new Set(names).size))
          expect(new Set(nearest).size).toBe(nearest.length)
          for (const one of nearest) expect(names).toContain(one)
          expect(nearest.map((one) => one.toLowerCase())).toContain(name.toUpperCase().toLowerCase())
        },
      ),
    )
  })

  it.each([
    ['gmes', ['silver', 'gold', 'gems'], ['gems', 'gold', 'silver']],
    ['GEMS', ['gold', 'gems', 'games'], ['gems', 'games', 'gold']],
    ['diamond', ['gems', 'gold', 'diamonds'], ['diamonds', 'gold', 'gems']],
    ['coin', ['a long name', 'loins', 'joint', 'Coin'], ['Coin', 'joint', 'loins']],
    ['c', ['e', 'b', 'd', 'a'], ['a', 'b', 'd']],
  ])('of %s in %j are %j: the nearest first, then in the order of the names', (name, names, nearest) => {
    expect(nearestOf(name, names)).toEqual(nearest)
  })
})
