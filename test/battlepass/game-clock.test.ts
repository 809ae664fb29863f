import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gameTimeAt } from '../../src/base/game-clock.ts'
import { type Json, print } from '../../src/base/json.ts'
import { createServerKey } from '../../src/callers/keys.ts'
import { newId } from '../../src/db/ids.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { readGameNow } from '../../src/game/clock/game-clock.ts'
import { season } from '../harness/definitions.ts'
import { startInstance, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import { at, game, startPassGame, stopPassGame, XP } from './pass-game.ts'

// The clock of an environment for tests: what follows it, and what keeps the real time.

beforeAll(startPassGame)
afterAll(stopPassGame)

/** A season of June 2031. */
const JUNE = {
  announcedAt: '2031-05-20T00:00:00Z',
  startsAt: '2031-06-01T00:00:00Z',
  endingHours: 48,
  endsAt: '2031-07-01T00:00:00Z',
  claimUntil: '2031-07-08T00:00:00Z',
}
const DURING = '2031-06-10T12:00:00.000Z'
const ENDED = '2031-07-02T00:00:00.000Z'
const CLOSED = '2031-07-09T00:00:00.000Z'
const CLOCK = 'clock { now rate aheadSeconds setAt }'

async function setClock(input: object, environment = 'staging') {
  const { data, errors } = await game.graphql(
    game.platformKey,
    `mutation ($input: SetEnvironmentClockInput!) {
      setEnvironmentClock(input: $input) { environment { name ${CLOCK} } auditEntry { action target before after } }
    }`,
    { input: { environment, reason: 'test', ...input } },
  )
  return { ...data?.setEnvironmentClock, error: errors?.[0]?.extensions }
}
const jump = async (to: string | null, more: object = {}) =>
  expect((await setClock({ at: to, ...more })).error).toBeUndefined()

let count = 0
async function publish(more: { readonly [key: string]: Json } = JUNE, definition = season({ more })): Promise<string> {
  count += 1
  const { status, text } = await game.publish(`clock-${count}`, definition, 'staging')
  expect(status, text).toBe(200)
  return `clock-${count}`
}
async function enter(scenarioId: string) {
  const player = await game.player({ environmentId: game.stagingId })
  return at(player, scenarioId, await player.start(scenarioId))
}
type Pass = Awaited<ReturnType<typeof enter>>

const errorOf = ({ status, body }: { status: number; body: { error?: string } }) => (status === 200 ? null : body.error)
const bonuses = async ({ player }: Pass) =>
  (
    await game.app.pool.query('SELECT bonus::int FROM xp_ledger WHERE player_id = $1 ORDER BY id', [player.playerId])
  ).rows.map(({ bonus }) => bonus)
const seasonOf = async ({ player, place }: Pass) => (await player.post('/sdk/v1/battlepass/season', place)).body
const settlementOf = async (scenarioId: string) =>
  (
    await game.graphql(
      game.platformKey,
      'query ($id: String) { seasonSettlements(environment: "staging", scenarioId: $id) { finishedAt tiers } }',
      { id: scenarioId },
    )
  ).data.seasonSettlements[0]

describe('what follows the clock', () => {
  it('a season takes xp, premium and claims in its time, whichever way the clock was set', async () => {
    const pass = await enter(await publish())
    const tried = async () => ({
      phase: (await seasonOf(pass)).phase,
      xp: errorOf(await pass.xp(1)),
      premium: (await pass.premium()).body.error,
      claim: (await pass.claim(1, 'free')).body.error,
    })
    const refused = { xp: 'season closed', premium: 'season closed', claim: 'season closed' }
    await jump('2031-05-21T00:00:00Z')
    expect(await tried()).toEqual({ phase: 'announced', ...refused })
    await jump(ENDED)
    expect(await tried()).toEqual({ phase: 'ended', ...refused, claim: null })
    await jump(DURING)
    expect(await tried()).toEqual({ phase: 'running', xp: null, premium: 'insufficient funds', claim: null })
    await jump(CLOSED)
    expect(await tried()).toMatchObject({ phase: 'closed', xp: 'season closed' })
    expect((await pass.claim(2, 'free')).body.error).toBe('season closed')
    await jump('2031-06-30T00:00:00Z')
    expect(await tried()).toMatchObject({ phase: 'ending', xp: null })
    // The real time is before the season.
    await jump(null)
    expect(await tried()).toMatchObject({ phase: 'planned', xp: 'season closed' })
    // A scenario that is published later follows the clock that was set before.
    await jump(DURING)
    expect(errorOf(await (await enter(await publish())).xp(1))).toBeNull()
  })

  it('the answer about a season has the time of the game, and the real seconds until the next phase', async () => {
    const pass = await enter(await publish())
    await jump('2031-06-28T23:00:00Z', { rate: 60 })
    const first = await seasonOf(pass)
    expect(first).toMatchObject({ phase: 'running', nextPhase: 'ending', nextPhaseAt: '2031-06-29T00:00:00.000Z' })
    expect(first.secondsToNextPhase).toBeLessThanOrEqual(60)
    expect(first.secondsToNextPhase).toBe(
      Math.ceil((Date.parse(first.nextPhaseAt) - Date.parse(first.now)) / 60 / 1_000),
    )
    // Faster, from where it is: the phase comes while the test waits.
    await setClock({ rate: 10_000 })
    await until('the season is about to end', async () => (await seasonOf(pass)).phase === 'ending')
  })

  it('a boost gives more in its time, again after the clock was set back', async () => {
    const scenarioId = await publish()
    await jump('2031-06-05T00:00:00Z')
    const { data } = await game.graphql(
      game.platformKey,
      'mutation ($input: CreateBoostInput!) { createBoost(input: $input) { boost { id state } } }',
      {
        input: {
          ...{ environment: 'staging', name: 'Weekend', percent: 100, scenarios: [scenarioId], reason: 'test' },
          ...{ startsAt: '2031-06-07T00:00:00Z', endsAt: '2031-06-09T00:00:00Z' },
        },
      },
    )
    const { id, state } = data.createBoost.boost
    const states = [state]
    const pass = await enter(scenarioId)
    await pass.xp(10)
    for (const to of ['2031-06-08T00:00:00Z', '2031-06-09T00:00:00Z', '2031-06-08T00:00:00Z', '2031-06-06T00:00:00Z']) {
      await jump(to)
      await pass.xp(10)
      const found = await game.graphql(
        game.platformKey,
        'query ($id: ID!) { node(id: $id) { ... on Boost { state } } }',
        {
          id,
        },
      )
      states.push(found.data.node.state)
    }
    expect(await bonuses(pass)).toEqual([null, 10, null, 10, null])
    expect(states).toEqual(['PLANNED', 'RUNNING', 'ENDED', 'RUNNING', 'PLANNED'])
  })

  it('a limit of a day is that of the game, and a later day stays when the clock is set back', async () => {
    const pass = await enter(await publish({ ...JUNE, xp: { perDay: 10 } }))
    const days: number[] = []
    for (const day of ['2031-06-10', '2031-06-10', '2031-06-11', '2031-06-10']) {
      await jump(`${day}T12:00:00Z`)
      days.push((await pass.xp(7)).body.xp)
    }
    expect(days).toEqual([7, 10, 17, 20])
  })

  it('phases are told once and in order after a jump ahead, and not again', async () => {
    await jump('2031-05-01T00:00:00Z')
    const scenarioId = await publish()
    const told = async () => {
      const { data } = await game.graphql(
        game.platformKey,
        `query ($id: String) {
          events(environment: "staging", scenarioId: $id, first: 100) { nodes { type occurredAt ... on SeasonEvent { at } } }
        }`,
        { id: scenarioId },
      )
      return data.events.nodes as { type: string; occurredAt: string; at: string }[]
    }
    await jump(CLOSED)
    await until('all phases are told', async () => (await told()).length === 5)
    const events = await told()
    expect(events.map(({ type }) => type.replace('SEASON_', ''))).toEqual([
      ...['ANNOUNCED', 'STARTED', 'ENDING', 'ENDED', 'CLOSED'],
    ])
    expect(events[1]?.at).toBe('2031-06-01T00:00:00.000Z')
    // The stream keeps the real time.
    expect(events.every(({ occurredAt }) => Date.parse(occurredAt) <= Date.now() + 60_000)).toBe(true)
    await jump(DURING)
    await jump(CLOSED)
    const other = await publish()
    await until('a later season is told', async () => {
      const { rows } = await game.app.pool.query(
        "SELECT FROM season_phases WHERE scenario_id = $1 AND phase = 'closed' AND told_at IS NOT NULL",
        [other],
      )
      return rows.length === 1
    })
    expect(await told()).toHaveLength(5)
  })

  it('a season is settled after a jump over its end, and once more for what was earned since', async () => {
    await jump(DURING)
    const scenarioId = await publish({ ...JUNE, atEnd: 'grant' })
    const pass = await enter(scenarioId)
    await pass.xp(100)
    expect(await settlementOf(scenarioId)).toEqual({ finishedAt: null, tiers: 0 })
    const settles = async () => {
      await jump(CLOSED)
      await until('the season is settled', async () => (await settlementOf(scenarioId)).finishedAt !== null)
      return (await settlementOf(scenarioId)).tiers
    }
    expect(await settles()).toBe(2)
    await jump(DURING)
    expect((await settlementOf(scenarioId)).finishedAt).toBeNull()
    await pass.xp(100)
    expect(await settles()).toBe(3)
    expect((await pass.holdings()).wallet).toEqual({ gold: '60' })
  })

  it('a planned publication is made at its time of the game', async () => {
    await jump(DURING)
    const { data } = await game.graphql(
      game.platformKey,
      `mutation ($input: SchedulePublicationInput!) {
        schedulePublication(input: $input) { publication { state } }
      }`,
      {
        input: {
          ...{ environment: 'staging', scenarioId: 'clock-planned', definition: print(season({ more: JUNE })) },
          ...{ publishAt: '2031-06-12T00:00:00Z', reason: 'test' },
        },
      },
    )
    expect(data.schedulePublication.publication.state).toBe('PLANNED')
    await jump('2031-06-12T00:00:00Z')
    await until('the scenario is published', async () => {
      const list = 'query { scheduledPublications(environment: "staging", scenarioId: "clock-planned") { state } }'
      const { data } = await game.graphql(game.platformKey, list)
      return data.scheduledPublications[0].state === 'PUBLISHED'
    })
  })

  it('counts for every call that begins after the answer, while calls run from memory on two instances', async () => {
    const there = await startInstance(game.databaseUrl, {})
    await jump(DURING)
    const passes = await (async () => {
      const scenarioId = await publish()
      return Promise.all(times(4, () => enter(scenarioId)))
    })()
    /** Whether a call was in the season. */
    const give = async ({ app }: Pick<typeof game, 'app'>, { place, runId, player: { playerId } }: Pass) => {
      const input = { ...place, runId, amount: 1n, source: 'match' }
      const ref = { environmentId: game.stagingId, playerId }
      return app.service.run(addXp(ref, input, { origin: 'client', entryId: newId() })).then(
        () => true,
        () => false,
      )
    }
    /** Makes calls all the time, and tells what became of those that began after the answer to the change. */
    async function callDuring(change: Promise<unknown>): Promise<boolean[]> {
      let isAnswered = false
      const answered = change.then(() => {
        isAnswered = true
      })
      const later: boolean[] = []
      const lines = passes.map(async (pass, index) => {
        for (let left = 3; left > 0; ) {
          const isAfter = isAnswered
          const isTaken = await give(index % 2 === 0 ? game : there, pass)
          if (!isAfter) continue
          later.push(isTaken)
          left -= 1
        }
      })
      await Promise.all([answered, ...lines])
      return later
    }
    try {
      for (const pass of passes) expect(await give(game, pass)).toBe(true)
      for (const _ of times(4, () => 0)) {
        expect(await callDuring(jump(ENDED))).toEqual(times(12, () => false))
        expect(await callDuring(jump(DURING))).toEqual(times(12, () => true))
      }
    } finally {
      await there.stop()
    }
  })
})

describe('what keeps the real time', () => {
  it('tokens stay valid and ledgers have the real time, however far the clock is ahead', async () => {
    await jump(DURING)
    const pass = await enter(await publish())
    await jump('2031-06-30T00:00:00Z', { rate: 1_000 })
    expect((await pass.xp(10)).status).toBe(200)
    const { rows } = await game.app.pool.query(
      "SELECT created_at > now() - interval '1 hour' AND created_at <= clock_timestamp() AS real FROM xp_ledger WHERE player_id = $1",
      [pass.player.playerId],
    )
    expect(rows).toEqual([{ real: true }])
  })
})

describe('the header Tierway-Game-Time', () => {
  const HEADER = 'tierway-game-time'
  const graphql = (token: string, init: { method?: 'GET'; query: string }) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return init.method === 'GET'
      ? fetch(`${game.baseUrl}/graphql?query=${encodeURIComponent(init.query)}`, { headers })
      : fetch(`${game.baseUrl}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: init.query }) })
  }

  it('is in each answer to a caller of the environment, and in none of another one', async () => {
    await jump(DURING)
    const scenarioId = await publish()
    const pass = await enter(scenarioId)
    const server = (await createServerKey(game.app.pool, game.stagingId)).key
    const other = await game.player()
    const answers = async (token: string, serverKey: string | null, sdkKey: string) => {
      const query = '{ me { playerId } }'
      const found = [
        await game.request('POST', XP, {
          headers: { authorization: `Bearer ${token}` },
          body: JSON.stringify({ scenarioId, nodeId: 'pass', runId: pass.runId, amount: 1, source: 'a' }),
        }),
        await game.request('POST', XP, { headers: { authorization: `Bearer ${token}` }, body: '{}' }),
        await game.login({ player: 'ada' }, { sdkKey }),
        // The first is answered by Yoga, the second one is not.
        await graphql(token, { query }),
        await graphql(token, { query }),
        await graphql(token, { query, method: 'GET' }),
        ...(serverKey === null
          ? []
          : [
              await game.request('POST', '/server/v1/battlepass/xp', {
                headers: { authorization: `Bearer ${serverKey}` },
                body: '{}',
              }),
            ]),
      ]
      return found.map(({ headers }) => headers.get(HEADER))
    }
    for (const value of await answers(pass.player.token, server, game.stagingSdkKey)) {
      expect(value).toMatch(/^2031-06-10T12:\d\d:\d\d\.\d{3}Z$/)
    }
    expect(new Set(await answers(other.token, null, game.sdkKey))).toEqual(new Set([null]))
    expect((await game.request('POST', XP, { body: '{}' })).headers.get(HEADER)).toBeNull()
    await jump(null)
    expect(new Set(await answers(pass.player.token, server, game.stagingSdkKey))).toEqual(new Set([null]))
  })
})

describe('setEnvironmentClock', () => {
  it('answers the clock and the entry of the audit log, goes on from where it is, and back to the real time', async () => {
    await jump(null)
    const set = await setClock({ at: DURING })
    expect(set.environment).toMatchObject({ name: 'staging', clock: { rate: 1, setAt: expect.any(String) } })
    expect(set.environment.clock.now.slice(0, 16)).toBe(DURING.slice(0, 16))
    const after = { now: DURING, rate: 1 }
    expect(set.auditEntry).toEqual({ action: 'environment.set_clock', target: 'staging', before: null, after })
    const faster = await setClock({ rate: 60 })
    expect(faster.environment.clock.now.slice(0, 13)).toBe(DURING.slice(0, 13))
    expect(faster.auditEntry).toMatchObject({ after: { rate: 60 } })
    expect(faster.auditEntry.after.now).toBe(faster.auditEntry.before.now)
    const { clock } = faster.environment
    const ahead = (Date.parse(clock.now) - Date.now()) / 1_000
    expect(Math.abs(Number(clock.aheadSeconds) - ahead)).toBeLessThan(60 * 60)
    const back = await setClock({})
    expect([back.environment.clock, back.auditEntry.after]).toEqual([null, null])
    expect((await setClock({})).auditEntry).toBeNull()
  })

  it('refuses environments of real players, rates out of range and times before 1970', async () => {
    const refused = async (input: object, environment?: string) => {
      const { error } = await setClock(input, environment)
      return [error.code, ...(error.details ?? []).map(({ path }: { path: string }) => path)]
    }
    expect(await refused({ at: DURING }, 'production')).toEqual(['INVALID_REQUEST', 'environment'])
    expect(await refused({}, 'production')).toEqual(['INVALID_REQUEST', 'environment'])
    expect(await refused({ rate: 0 })).toEqual(['INVALID_REQUEST', 'rate'])
    expect(await refused({ at: '1969-12-31T23:59:59Z', rate: 10_001 })).toEqual(['INVALID_REQUEST', 'rate', 'at'])
    expect(await refused({ at: DURING }, 'nowhere')).toEqual(['ENVIRONMENT_NOT_FOUND'])
  })

  it('has one rule in SQL and in TypeScript', async () => {
    for (const [rate, to] of [
      [1, '1999-01-01T00:00:00.000Z'],
      [7, DURING],
      [10_000, '9999-12-31T23:59:59.999Z'],
    ] as const) {
      await jump(to, { rate })
      const { rows } = await game.app.pool.query(
        'SELECT clock_at, clock_set_at, clock_rate, clock_timestamp() AS now FROM environments WHERE id = $1',
        [game.stagingId],
      )
      const { clock_at: clockAt, clock_set_at: setAt, clock_rate, now } = rows[0]
      const clock = { at: clockAt.getTime(), setAt: setAt.getTime(), rate: clock_rate }
      const found = (await readGameNow(game.app.pool, game.stagingId)).getTime()
      const { rows: later } = await game.app.pool.query('SELECT clock_timestamp() AS now')
      expect(found).toBeGreaterThanOrEqual(gameTimeAt(clock, now.getTime()))
      expect(found).toBeLessThanOrEqual(gameTimeAt(clock, later[0].now.getTime() + 1))
    }
    await jump(null)
  })
})
