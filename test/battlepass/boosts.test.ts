import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { MAX_BOOST_PERCENT, MAX_BOOSTS } from '../../src/base/limits.ts'
import { newId } from '../../src/db/ids.ts'
import { addServerXp, addXp } from '../../src/game/battlepass/add-xp.ts'
import { bonusOf } from '../../src/game/battlepass/decide.ts'
import type { XpOrigin } from '../../src/game/battlepass/xp-limits.ts'
import { boostPercentAt } from '../../src/game/boosts/percent.ts'
import { AUDIENCES, type Boost } from '../../src/game/boosts/stored.ts'
import { season } from '../harness/definitions.ts'
import { startInstance, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import { overRest } from '../operators/over-rest.ts'
import { enter, game, MAX_INT64, startPassGame, stopPassGame } from './pass-game.ts'

// Boosts: more xp for a time, without an edit of a scenario.

beforeAll(startPassGame)
afterAll(stopPassGame)

const HOUR = 3_600_000
const from = (hours: number) => new Date(Date.now() + hours * HOUR).toISOString()
const WEEKEND = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }

let count = 0
async function publish(definition: Json = season(), scenarioId = `boosted-${++count}`): Promise<string> {
  const { status, text } = await game.publish(scenarioId, definition)
  expect(status, text).toBe(200)
  return scenarioId
}

const BOOST = 'boostId name state percent startsAt endsAt endedAt scenarios sources audience environment createdAt'
const AUDIT = 'auditEntry { action target before after reason environment }'

async function send(mutation: 'createBoost' | 'updateBoost' | 'endBoost', input: object, key = game.platformKey) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const { data, errors } = await game.graphql(
    key,
    `mutation ($input: ${type}!) { ${mutation}(input: $input) { boost { ${BOOST} } ${AUDIT} } }`,
    { input: { environment: 'production', reason: 'weekend', ...input } },
  )
  return { ...data?.[mutation], error: errors?.[0]?.extensions }
}

/** Makes a boost of one scenario, which runs unless the input says otherwise. */
async function boost(scenario: string, input: object = {}) {
  const made = await send('createBoost', {
    name: 'Double xp',
    percent: 100,
    ...WEEKEND,
    scenarios: [scenario],
    ...input,
  })
  expect(made.error).toBeUndefined()
  return made.boost
}
const end = async (boostId: string) => expect((await send('endBoost', { boostId })).error).toBeUndefined()

type Pass = Awaited<ReturnType<typeof enter>>
const refOf = ({ player: { playerId } }: Pass) => ({ environmentId: game.environmentId, playerId })

/** Each row of a player's xp ledger: the whole, the bonus, and the limit. */
async function entriesOf({ player }: Pass) {
  const { rows } = await game.app.pool.query(
    'SELECT amount::int, bonus::int, limited_by FROM xp_ledger WHERE player_id = $1 ORDER BY id',
    [player.playerId],
  )
  return rows.map(({ amount, bonus, limited_by }) => (limited_by ? [amount, bonus, limited_by] : [amount, bonus]))
}

const boosts = fc.array(
  fc.record({
    percent: fc.bigInt(1n, 1_000n),
    startsAt: fc.integer({ min: 0, max: 20 }),
    length: fc.integer({ min: 1, max: 20 }),
    sources: fc.subarray(['match', 'quest', '']),
    audience: fc.constantFrom(...AUDIENCES),
  }),
  { maxLength: 6 },
)
const boostsOf = (made: readonly (Omit<Boost, 'endsAt'> & { length: number })[]): Boost[] =>
  made.map(({ length, ...one }) => ({ ...one, endsAt: one.startsAt + length }))
const xp = fc.record({ source: fc.constantFrom('match', 'quest', '', 'other'), isOwner: fc.boolean() })
const moments = fc.integer({ min: -1, max: 42 })

describe('the percentage of boosts, by its rule', () => {
  it('is the sum of those that apply at the moment, with the end left out, and at most the limit', () => {
    fc.assert(
      fc.property(boosts, xp, moments, (made, { source, isOwner }, now) => {
        const all = boostsOf(made)
        const applying = all.filter(
          ({ startsAt, endsAt, sources, audience }) =>
            now >= startsAt &&
            now < endsAt &&
            (sources.length === 0 || sources.includes(source)) &&
            (audience === 'everybody' || isOwner),
        )
        const sum = applying.reduce((percent, boost) => percent + boost.percent, 0n)
        const expected = sum > BigInt(MAX_BOOST_PERCENT) ? BigInt(MAX_BOOST_PERCENT) : sum
        expect(boostPercentAt(all, { source, isOwner }, new Date(now))).toBe(expected)
      }),
    )
  })

  it('does not depend on the order of the boosts', () => {
    fc.assert(
      fc.property(
        boosts.chain((made) => fc.tuple(fc.constant(made), fc.shuffledSubarray(made, { minLength: made.length }))),
        xp,
        moments,
        ([made, shuffled], one, now) => {
          const [a, b] = [made, shuffled].map((all) => boostPercentAt(boostsOf(all), one, new Date(now)))
          expect(a).toBe(b)
        },
      ),
    )
  })

  it('is added to that of premium, and the bonus is rounded down once', () => {
    const origins = fc.constantFrom<XpOrigin>('client', 'server', 'operator', 'season')
    const amounts = fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, MAX_INT64))
    const ofPremium = fc.option(fc.bigInt(1n, 1_000n))
    fc.assert(
      fc.property(boosts, xp, moments, origins, amounts, ofPremium, (made, one, at, origin, amount, premium) => {
        const [all, now] = [boostsOf(made), new Date(at)]
        const { source, isOwner } = one
        const pass = { premiumOwned: isOwner }
        const bonus = bonusOf({ premiumXpPercent: premium }, pass, { amount, source, origin }, { boosts: all, now })
        const isGiven = origin === 'operator' || origin === 'season'
        const percent = isGiven ? 0n : boostPercentAt(all, one, now) + (isOwner ? (premium ?? 0n) : 0n)
        expect(bonus * 100n <= amount * percent).toBe(true)
        expect((bonus + 1n) * 100n > amount * percent).toBe(true)
      }),
    )
  })
})

describe('a boost', () => {
  it('gives more of each xp from the answer of its creation on, and nothing after its end', async () => {
    const pass = await enter(await publish())
    await pass.xp(10)
    const { boostId } = await boost(pass.place.scenarioId, { percent: 50 })
    expect((await pass.xp(11)).body.xp).toBe(26)
    await end(boostId)
    expect((await pass.xp(10)).body.xp).toBe(36)
    expect(await entriesOf(pass)).toEqual([
      [10, null],
      [16, 5],
      [10, null],
    ])
  })

  it('gives the level that its xp reaches, and the books agree', async () => {
    const pass = await enter(await publish())
    await boost(pass.place.scenarioId)
    expect((await pass.xp(50)).body).toMatchObject({ level: 2, xp: 100, leveledUp: true })
    expect((await pass.crossings()).at(-1)).toMatchObject({ handle: 'onLevelUp', data: { toLevel: 2, xp: 100 } })
  })

  it('completes the pass when only the boost reaches the last level', async () => {
    const pass = await enter(await publish(season({ levels: [0, 200], tiers: [] })))
    await pass.xp(1)
    await boost(pass.place.scenarioId)
    expect((await pass.xp(100)).body).toMatchObject({ maxLevel: true })
    expect((await pass.crossings()).map(({ handle }) => handle)).toEqual(['onLevelUp', 'onMaxLevel', 'onComplete'])
  })

  it('runs by the clock of the database, and stops at its end without any call', async () => {
    const pass = await enter(await publish())
    const planned = await boost(pass.place.scenarioId, { startsAt: from(1), endsAt: from(2) })
    expect(planned.state).toBe('PLANNED')
    await pass.xp(1)
    // Time for its answer and one call, on a busy machine, too.
    const endsAt = Date.now() + 4_000
    const short = await boost(pass.place.scenarioId, { endsAt: new Date(endsAt).toISOString() })
    expect(short.state).toBe('RUNNING')
    await pass.xp(1)
    await until('the boost is over', async () => {
      await pass.xp(1)
      return (await entriesOf(pass)).at(-1)?.[1] === null
    })
    const [first, ...rest] = await entriesOf(pass)
    expect(first).toEqual([1, null])
    // Nothing of it comes back.
    const over = rest.findIndex(([, bonus]) => bonus === null)
    expect(rest.slice(0, over).every(([amount]) => amount === 2)).toBe(true)
    expect(over).toBe(rest.length - 1)
    expect(Date.now()).toBeGreaterThanOrEqual(endsAt - 1_000)
    expect(await stateOf(short.boostId)).toBe('ENDED')
  })

  it('is for the scenarios and the sources that it names', async () => {
    const [one, other] = [await enter(await publish()), await enter(await publish())]
    await boost(one.place.scenarioId, { sources: ['match', ''] })
    for (const source of ['match', '', 'quest']) await one.xp(10, {}, source)
    await other.xp(10, {}, 'match')
    expect(await entriesOf(one)).toEqual([
      [20, 10],
      [20, 10],
      [10, null],
    ])
    expect(await entriesOf(other)).toEqual([[10, null]])
  })

  it('is for owners of premium where its audience says so, and is added to what premium brings', async () => {
    const premium = { price: { currency: 'gems', amount: 950 }, xpPercent: 15 }
    const pass = await enter(await publish(season({ price: null, more: { premium } })), { wallet: { gems: 950n } })
    await boost(pass.place.scenarioId, { audience: 'PREMIUM', percent: 20 })
    await pass.xp(10)
    await pass.premium()
    // 35 percent of 19 are 6.65. Rounded one by one they would be 5.
    await pass.xp(19)
    expect(await entriesOf(pass)).toEqual([
      [10, null],
      [25, 6],
    ])
  })

  it('is added to others up to the limit', async () => {
    const pass = await enter(await publish())
    const [first] = await Promise.all([
      boost(pass.place.scenarioId, { percent: 600 }),
      boost(pass.place.scenarioId, { percent: 30 }),
    ])
    await pass.xp(10)
    await boost(pass.place.scenarioId, { percent: 600 })
    await pass.xp(10)
    await end(first.boostId)
    await pass.xp(10)
    expect(await entriesOf(pass)).toEqual([
      [73, 63],
      [110, 100],
      [73, 63],
    ])
  })

  it('comes on top of what limits grant, and counts towards none of them', async () => {
    const xp = { sources: { match: { perDay: 15 } } }
    const clipped = await enter(await publish(season({ more: { xp } })))
    const refused = await enter(await publish(season({ more: { xp: { ...xp, over: 'refuse' } } })))
    for (const pass of [clipped, refused]) {
      await boost(pass.place.scenarioId)
      await pass.xp(10, {}, 'match')
    }
    expect((await clipped.xp(10, {}, 'match')).body.xp).toBe(30)
    expect((await refused.xp(10, {}, 'match')).status).toBe(409)
    expect((await refused.xp(5, {}, 'match')).body.xp).toBe(30)
    expect(await entriesOf(clipped)).toEqual([
      [20, 10],
      [10, 5, 'source.perDay'],
    ])
    expect(await entriesOf(refused)).toEqual([
      [20, 10],
      [10, 5],
    ])
  })

  it('refuses a total beyond int64, and changes nothing then', async () => {
    const pass = await enter(await publish())
    await pass.xp(MAX_INT64 - 10n)
    await boost(pass.place.scenarioId)
    const details = [
      { path: 'amount', message: expect.stringMatching(/^with its bonus of \d+ would raise the xp \d+ above/) },
    ]
    expect(await pass.xp(6)).toMatchObject({ status: 409, body: { error: 'xp limit exceeded', details } })
    expect((await pass.xp(5)).status).toBe(200)
  })

  it('gives nothing on xp of operators, and does on xp of game servers', async () => {
    const pass = await enter(await publish())
    await boost(pass.place.scenarioId)
    const { player, place } = pass
    const { errors } = await game.graphql(
      game.platformKey,
      'mutation ($input: GrantXpInput!) { grantXp(input: $input) { result { xp } } }',
      { input: { playerId: player.playerId, ...place, amount: 10, reason: 'test', idempotencyKey: 'one' } },
    )
    expect(errors).toBeUndefined()
    const input = { ...place, amount: 10n, source: 'match', runId: null, idempotencyKey: null }
    await game.app.service.run(addServerXp(refOf(pass), input, {}))
    expect(await entriesOf(pass)).toEqual([
      [10, null],
      [20, 10],
    ])
  })

  it('gives a repeated call its first answer, and once', async () => {
    const pass = await enter(await publish())
    const first = (await pass.xp(10, { 'idempotency-key': 'k' })).text
    await boost(pass.place.scenarioId)
    expect((await pass.xp(10, { 'idempotency-key': 'k' })).text).toBe(first)
    const boosted = (await pass.xp(10, { 'idempotency-key': 'l' })).text
    expect((await pass.xp(10, { 'idempotency-key': 'l' })).text).toBe(boosted)
    expect(await entriesOf(pass)).toEqual([
      [10, null],
      [20, 10],
    ])
  })

  it('gives each of twenty calls at once its bonus', async () => {
    const pass = await enter(await publish())
    await boost(pass.place.scenarioId)
    const answers = await Promise.all(times(20, () => pass.xp(5)))
    expect(answers.map(({ body }) => body.xp).sort((a, b) => a - b)).toEqual(times(20, (index) => 10 * (index + 1)))
    expect(await entriesOf(pass)).toEqual(times(20, () => [10, 5]))
  })

  it('counts for every call that begins after the answer of a change, while calls run from memory on two instances', async () => {
    const there = await startInstance(game.databaseUrl, {})
    const scenarioId = await publish()
    const passes = await Promise.all(times(4, () => enter(scenarioId)))
    const give = async ({ app }: Pick<typeof game, 'app'>, pass: Pass) => {
      const entryId = newId()
      const input = { ...pass.place, runId: pass.runId, amount: 10n, source: 'match' }
      await app.service.run(addXp(refOf(pass), input, { origin: 'client', entryId }))
      return entryId
    }
    /** Makes calls all the time, and gives the rows of those that began after the answer to the change. */
    async function callDuring(change: Promise<unknown>): Promise<string[]> {
      let isAnswered = false
      const answered = change.then(() => {
        isAnswered = true
      })
      const later: string[] = []
      // Each instance has two players of its own, so that its calls are decided from memory.
      const lines = passes.map(async (pass, index) => {
        for (let left = 3; left > 0; ) {
          const isAfter = isAnswered
          const entryId = await give(index % 2 === 0 ? game : there, pass)
          if (!isAfter) continue
          later.push(entryId)
          left -= 1
        }
      })
      await Promise.all([answered, ...lines])
      return later
    }
    try {
      for (const pass of passes) await give(game, pass)
      for (const _ of times(4, () => 0)) {
        const made = boost(scenarioId)
        const boosted = await callDuring(made)
        const plain = await callDuring(end((await made).boostId))
        const bonuses = async (ids: readonly string[]) =>
          (await game.app.pool.query('SELECT DISTINCT bonus::int FROM xp_ledger WHERE id = ANY ($1)', [ids])).rows
        expect([boosted.length, plain.length]).toEqual([12, 12])
        expect(await bonuses(boosted)).toEqual([{ bonus: 10 }])
        expect(await bonuses(plain)).toEqual([{ bonus: null }])
      }
    } finally {
      await there.stop()
    }
  })

  it('is for a scenario that is published later, when it is for all', async () => {
    const { boostId } = await boost('', { scenarios: [] })
    const pass = await enter(await publish())
    await pass.xp(10)
    await publish(season({ levels: [0, 50] }), pass.place.scenarioId)
    await pass.xp(10)
    await end(boostId)
    await pass.xp(10)
    expect(await entriesOf(pass)).toEqual([
      [20, 10],
      [20, 10],
      [10, null],
    ])
  })
})

const stateOf = async (boostId: string) =>
  (
    await game.graphql(game.platformKey, 'query ($id: ID!) { node(id: $id) { ... on Boost { state } } }', {
      id: `Boost:${boostId}`,
    })
  ).data.node?.state

describe('createBoost, updateBoost and endBoost', () => {
  it('answer the boost and the entry of the audit log', async () => {
    const id = await publish()
    const made = await send('createBoost', {
      ...{ name: 'Double xp', percent: 100, ...WEEKEND, scenarios: [id, id], sources: ['match'], audience: 'PREMIUM' },
    })
    const { boostId } = made.boost
    const values = {
      ...{ name: 'Double xp', percent: 100, scenarios: [id], sources: ['match'] },
      startsAt: '2020-01-01T00:00:00.000Z',
      endsAt: '2099-01-01T00:00:00.000Z',
    }
    const shown = { ...values, boostId, environment: 'production', audience: 'PREMIUM', endedAt: null }
    const entry = { target: boostId, environment: 'production', reason: 'weekend' }
    const logged = { ...values, audience: 'premium' }
    expect(made.boost).toEqual({ ...shown, state: 'RUNNING', createdAt: expect.any(String) })
    expect(made.auditEntry).toEqual({ ...entry, action: 'boost.create', before: null, after: logged })

    const longer = { endsAt: '2098-01-01T00:00:00.000Z', name: 'Longer' }
    const updated = await send('updateBoost', { boostId, ...longer })
    expect(updated.boost).toMatchObject({ ...shown, ...longer, state: 'RUNNING' })
    expect(updated.auditEntry).toEqual({
      ...{ ...entry, action: 'boost.update' },
      ...{ before: logged, after: { ...logged, ...longer } },
    })
    const ended = await send('endBoost', { boostId: `Boost:${boostId}` })
    expect(ended.boost).toMatchObject({ state: 'ENDED', endedAt: expect.any(String) })
    expect(ended.auditEntry).toMatchObject({ ...entry, action: 'boost.end', after: { endedAt: ended.boost.endedAt } })
  })

  it('are made over REST, too', async () => {
    const of = { environment: 'production', reason: 'weekend' }
    const week = { name: 'week', percent: 50, startsAt: from(1), endsAt: from(168), audience: 'premium' }
    const made = await overRest(game, game.platformKey, 'createBoost', { ...of, ...week, idempotencyKey: 'a week' })
    expect(made.boost).toMatchObject({ name: 'week', state: 'planned', audience: 'premium', endedAt: null })
    const { boostId } = made.boost
    await overRest(game, game.platformKey, 'updateBoost', { ...of, boostId, percent: 60 })
    const ended = await overRest(game, game.platformKey, 'endBoost', { ...of, boostId })
    expect(ended).toMatchObject({ boost: { state: 'ended', percent: 60 } })
  })

  it('change nothing when they are repeated, and have no entry then', async () => {
    const id = await publish()
    const input = { name: 'Once', percent: 10, ...WEEKEND, scenarios: [id], idempotencyKey: 'weekend 1' }
    const answers = await Promise.all(times(5, () => send('createBoost', input)))
    const [boostId, ...others] = new Set(answers.map(({ boost }) => boost.boostId))
    expect(others).toEqual([])
    expect(answers.filter(({ auditEntry }) => auditEntry !== null)).toHaveLength(1)
    expect((await send('createBoost', { ...input, percent: 11 })).error.code).toBe('IDEMPOTENCY_KEY_REUSED')

    expect((await send('updateBoost', { boostId, name: 'Once', scenarios: [id, id] })).auditEntry).toBeNull()
    const first = await send('endBoost', { boostId })
    const second = await send('endBoost', { boostId })
    expect([second.boost, second.auditEntry]).toEqual([first.boost, null])
    // The key still answers the boost, as it is now.
    expect((await send('createBoost', input)).boost).toEqual(first.boost)
  })

  it('cancel a boost that is planned, and change all of it until it starts', async () => {
    const pass = await enter(await publish())
    const { boostId } = await boost('', { scenarios: [], startsAt: from(1), endsAt: from(2) })
    const change = { percent: 30, startsAt: '2020-01-01T00:00:00.000Z', sources: ['match'], audience: 'PREMIUM' }
    const changed = { ...change, scenarios: [pass.place.scenarioId] }
    expect((await send('updateBoost', { boostId, ...changed })).boost).toMatchObject({ ...changed, state: 'RUNNING' })
    await pass.xp(10, {}, 'match')
    const planned = await boost(pass.place.scenarioId, { startsAt: from(1) })
    await end(planned.boostId)
    expect(await stateOf(planned.boostId)).toBe('ENDED')
    await pass.xp(10)
    expect(await entriesOf(pass)).toEqual([
      [10, null],
      [10, null],
    ])
    await end(boostId)
  })

  it('refuse all that is wrong at once, and each by its place', async () => {
    const id = await publish()
    const pathsOf = async (sent: ReturnType<typeof send>) => {
      const { error } = await sent
      return [error.code, ...error.details.map(({ path }: { path: string }) => path)]
    }
    const faulty = {
      ...{ name: ' x', percent: 1_001, startsAt: WEEKEND.endsAt, endsAt: WEEKEND.endsAt, reason: '' },
      ...{ scenarios: times(101, () => id), sources: ['x'.repeat(64), 'x'.repeat(65)], idempotencyKey: '' },
    }
    expect((await pathsOf(send('createBoost', faulty))).sort()).toEqual(
      ['INVALID_REQUEST', 'name', 'percent', 'endsAt', 'reason', 'scenarios', 'sources[1]', 'idempotencyKey'].sort(),
    )
    const past = { name: 'Past', percent: 1, startsAt: '2020-01-01T00:00:00Z', endsAt: '2020-01-02T00:00:00Z' }
    expect(await pathsOf(send('createBoost', { ...past, scenarios: [id, 'none'] }))).toEqual([
      ...['INVALID_REQUEST', 'endsAt', 'scenarios[1]'],
    ])
    const early = { name: 'Early', percent: 1, startsAt: '0000-01-01T00:00:00Z', endsAt: WEEKEND.endsAt }
    expect(await pathsOf(send('createBoost', early))).toEqual(['INVALID_REQUEST', 'startsAt'])
    const { boostId } = await boost(id)
    const everything = {
      ...{ name: 'Other', percent: 1, startsAt: '2021-01-01T00:00:00Z', endsAt: '2020-06-01T00:00:00Z' },
      ...{ scenarios: ['none'], sources: ['x'], audience: 'PREMIUM' },
    }
    expect(await pathsOf(send('updateBoost', { boostId, ...everything }))).toEqual([
      ...['INVALID_REQUEST', 'percent', 'startsAt', 'scenarios', 'sources', 'audience'],
      ...['endsAt', 'endsAt', 'scenarios[0]'],
    ])
    await end(boostId)
    expect(await pathsOf(send('updateBoost', { boostId, name: 'Late' }))).toEqual(['INVALID_REQUEST', 'boostId'])
    for (const mutation of ['updateBoost', 'endBoost'] as const) {
      expect((await send(mutation, { boostId: newId() })).error.code).toBe('NOT_FOUND')
      expect((await send(mutation, { boostId, environment: 'staging' })).error.code).toBe('NOT_FOUND')
      expect((await send(mutation, { boostId, environment: 'nowhere' })).error.code).toBe('ENVIRONMENT_NOT_FOUND')
    }
  })

  it('leave room for boosts that have not ended', async () => {
    const create = (name: string) => send('createBoost', { environment: 'staging', name, percent: 1, ...WEEKEND })
    const answers: Awaited<ReturnType<typeof create>>[] = []
    // Fifteen at once: the last of a hundred would wait for their turn longer than a call may.
    while (answers.length < MAX_BOOSTS + 5)
      answers.push(...(await Promise.all(times(15, (index) => create(`Boost ${answers.length + index}`)))))
    const made = answers.flatMap(({ boost }) => (boost ? [boost.boostId] : []))
    expect(made).toHaveLength(MAX_BOOSTS)
    const refused = answers.find(({ error }) => error)
    expect(refused?.error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'environment' }] })
    await send('endBoost', { environment: 'staging', boostId: made[0] })
    expect((await create('One more')).error).toBeUndefined()
  })
})

describe('Query.boosts', () => {
  it('lists the boosts of an environment by state, the last created first', async () => {
    const id = await publish()
    const [planned, running, ended] = [
      await boost(id, { name: 'planned', startsAt: from(1) }),
      await boost(id, { name: 'running' }),
      await boost(id, { name: 'ended' }),
    ]
    await end(ended.boostId)
    const list = async (args: string) => {
      const query = `{ boosts(environment: "production", ${args}) { nodes { boostId state } pageInfo { endCursor } } }`
      return (await game.graphql(await game.key('viewer'), query)).data.boosts
    }
    const last = await list('first: 3')
    expect(last.nodes).toEqual([
      { boostId: ended.boostId, state: 'ENDED' },
      { boostId: running.boostId, state: 'RUNNING' },
      { boostId: planned.boostId, state: 'PLANNED' },
    ])
    const rest = await list(`after: "${last.pageInfo.endCursor}"`)
    expect(rest.nodes.length).toBeGreaterThan(0)
    expect(rest.nodes).not.toContainEqual(last.nodes[2])
    expect((await list('states: [PLANNED], first: 1')).nodes).toEqual([last.nodes[2]])
    const both = await list('states: [RUNNING, ENDED], first: 200')
    expect(both.nodes).toEqual(expect.arrayContaining([last.nodes[0], last.nodes[1]]))
    expect(both.nodes).not.toContainEqual(last.nodes[2])
  })
})

describe('the season of a pass', () => {
  it('has the boosts that run now, the first to end first', async () => {
    const { player, place } = await enter(await publish())
    const read = async () => (await player.post('/sdk/v1/battlepass/season', place)).body
    expect((await read()).boosts).toEqual([])
    const [soon, late] = [from(1), from(48)]
    await boost(place.scenarioId, { endsAt: late, percent: 20, audience: 'PREMIUM', sources: ['match'] })
    const { boostId } = await boost(place.scenarioId, { endsAt: soon })
    await boost(place.scenarioId, { startsAt: soon })
    const { boosts, now } = await read()
    const startsAt = '2020-01-01T00:00:00.000Z'
    expect(boosts).toEqual([
      { percent: 100, startsAt, endsAt: soon, secondsLeft: expect.any(Number), audience: 'everybody', sources: [] },
      {
        ...{ percent: 20, startsAt, endsAt: late, secondsLeft: expect.any(Number) },
        ...{ audience: 'premium', sources: ['match'] },
      },
    ])
    expect(boosts[0].secondsLeft).toBe(Math.ceil((Date.parse(soon) - Date.parse(now)) / 1_000))
    await end(boostId)
    const { data } = await player.graphql(
      `query ($scenarioId: String!, $nodeId: String!) {
        season(scenarioId: $scenarioId, nodeId: $nodeId) { boosts { percent audience endsAt } } }`,
      place,
    )
    expect(data.season.boosts).toEqual([{ percent: 20, audience: 'PREMIUM', endsAt: late }])
  })
})

describe('previewBoost', () => {
  const COUNTS = 'players xp levelGained'
  async function preview(args: string) {
    const { data, errors } = await game.graphql(
      await game.key('viewer'),
      `{ previewBoost(environment: "production", ${args}) { ${COUNTS} passes { scenarioId nodeId ${COUNTS} } } }`,
    )
    return errors ? errors[0]?.extensions : data.previewBoost
  }
  /** A player who got xp of these sources on a new pass, or on that of another player. */
  async function play(scenarioId: string, ...given: [amount: number, source: string][]) {
    const pass = await enter(scenarioId, { wallet: { gems: 950n } })
    for (const [amount, source] of given) await pass.xp(amount, {}, source)
    return pass
  }

  it('counts the players, the xp and the levels that a boost would have given', async () => {
    const [id, other] = [await publish(), await publish()]
    const first = await play(id, [99, 'match'], [5, 'quest'])
    await play(id, [1, 'match'])
    await play(id)
    await play(other, [60, 'match'])
    const named = (ids: readonly string[]) => `scenarios: ${JSON.stringify(ids)}`
    // Half of 99 and half of 5, each rounded down, are 51 more: 155, which is no higher level.
    const of = { scenarioId: id, nodeId: 'pass' }
    const half = { players: 2, xp: '51', levelGained: 0 }
    expect(await preview(`percent: 50, ${named([id])}`)).toEqual({ ...half, passes: [{ ...of, ...half }] })
    const double = { players: 2, xp: '105', levelGained: 1 }
    const elsewhere = { players: 1, xp: '60', levelGained: 1 }
    expect(await preview(`percent: 100, ${named([id, other])}, days: 14`)).toEqual({
      ...{ players: 3, xp: '165', levelGained: 2 },
      passes: [
        { ...of, ...double },
        { ...of, scenarioId: other, ...elsewhere },
      ],
    })
    expect(await preview(`percent: 100, ${named([id])}, sources: ["quest"]`)).toMatchObject({ players: 1, xp: '5' })
    const owners = `percent: 100, ${named([id])}, audience: PREMIUM`
    expect(await preview(owners)).toEqual({ players: 0, xp: '0', levelGained: 0, passes: [] })
    await first.premium()
    expect(await preview(owners)).toMatchObject({ players: 1, xp: '104', levelGained: 1 })
  })

  it('leaves out what has a bonus already, xp of operators, older xp and deleted players', async () => {
    const id = await publish()
    const { boostId } = await boost(id)
    const pass = await play(id, [10, 'match'])
    await end(boostId)
    const support = async (mutation: string, input: object) => {
      const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
      const document = `mutation ($input: ${type}!) { ${mutation}(input: $input) { player { id } } }`
      const { playerId } = pass.player
      const { errors } = await game.graphql(game.platformKey, document, { input: { playerId, reason: 'x', ...input } })
      expect(errors).toBeUndefined()
    }
    await support('grantXp', { ...pass.place, amount: 7, idempotencyKey: 'preview' })
    const args = `percent: 100, scenarios: ["${id}"]`
    expect(await preview(args)).toMatchObject({ players: 1, xp: '10' })
    // As if it had been two days ago.
    const age = (interval: string) =>
      game.app.pool.query(`UPDATE xp_ledger SET created_at = now() - $2::interval WHERE player_id = $1`, [
        pass.player.playerId,
        interval,
      ])
    await age('25 hours')
    expect(await preview(args)).toMatchObject({ players: 0, xp: '0' })
    expect(await preview(`${args}, days: 2`)).toMatchObject({ players: 1, xp: '10' })
    await age('0')
    await support('deletePlayer', {})
    expect(await preview(args)).toMatchObject({ players: 0, xp: '0', passes: [] })
  })

  it('is exact at the largest xp', async () => {
    const id = await publish(season({ levels: [0, MAX_INT64] }))
    for (const _ of times(2, () => 0)) await (await enter(id)).xp(MAX_INT64 - 1n)
    expect(await preview(`percent: 1000, scenarios: ["${id}"]`)).toMatchObject({
      ...{ players: 2, xp: String(MAX_INT64), levelGained: 2 },
    })
  })

  it('refuses all that is wrong, by its place', async () => {
    const pathsOf = async (args: string) => (await preview(args)).details.map(({ path }: { path: string }) => path)
    expect(await pathsOf('percent: 0, days: 15')).toEqual(['percent', 'days'])
    expect(await pathsOf('percent: 1, scenarios: ["none"]')).toEqual(['scenarios[0]'])
  })
})
