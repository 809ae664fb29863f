import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { season } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'

// What needs a person in an environment.

let game: Game
const QUERY = `query ($environment: String! = "production") {
  problems(environment: $environment) { kind at text provider scenarioId nodeId grantJobId publicationId } }`

const read = async (environment = 'production') => {
  const { data, errors } = await game.graphql(game.platformKey, QUERY, { environment })
  expect(errors).toBeUndefined()
  return data.problems
}
const run = (text: string, values: unknown[] = []) => game.app.pool.query(text, values)

/** Counts of this hour, as if calls had made them. */
const count = (measure: string, times: number, { scenario = '', node = 'custom', detail = '' } = {}) =>
  run(
    `INSERT INTO insight_changes (environment_id, scenario_id, node_id, measure, bucket, level, detail, count, amount)
     VALUES ($1, $2, $3, $4, date_trunc('hour', now(), 'UTC'), 0, $5, $6, 0)`,
    [game.environmentId, scenario, node, measure, detail, times],
  )

beforeEach(async () => {
  await game?.stop()
  game = await startGame()
})
afterAll(() => game.stop())

describe('problems', () => {
  it('are none in an environment without any', async () => {
    expect(await read()).toEqual([])
    const { errors = [] } = await game.graphql(game.platformKey, QUERY, { environment: 'nowhere' })
    expect(errors[0]?.extensions.code).toBe('ENVIRONMENT_NOT_FOUND')
  })

  it.each([
    ['many of few fail', 12, 90, true],
    ['few fail', 9, 0, false],
    ['one of a hundred fails', 12, 1_200, false],
  ])('tell of a provider whose logins fail by its own fault when %s', async (_, failed, ok, isTold) => {
    await count('login', failed, { detail: 'custom_auth_unavailable' })
    await count('login', ok, { detail: 'ok' })
    // Refusals of the studio are no failures.
    await count('login', 30, { node: 'strict', detail: 'custom_auth_rejected' })
    const told = await read()
    expect(told).toMatchObject(
      isTold
        ? [
            {
              kind: 'LOGINS_FAIL',
              provider: 'custom',
              text: 'Logins through custom fail: 12 of 102 since the hour before.',
            },
          ]
        : [],
    )
    expect(told).toHaveLength(isTold ? 1 : 0)
  })

  it('tell of limits that hold back xp of many calls', async () => {
    const pass = { scenario: 'winter', node: 'pass' }
    await count('xp', 500, pass)
    await count('xp_clipped', 49, pass)
    expect(await read()).toEqual([])
    await count('xp_clipped', 11, pass)
    expect(await read()).toMatchObject([
      { kind: 'XP_LIMITED', text: 'Limits held back xp of 60 calls since the hour before, while 500 granted some.' },
    ])
  })

  it('tell of settlements that are late or incomplete, failed publications, and grant jobs that wait or failed, in order, each with its object', async () => {
    await game.publish('winter', season())
    await game.publish('autumn', season())
    await run(
      `INSERT INTO season_settlements (environment_id, scenario_id, node_id, due_at, started_at, finished_at, failed)
       VALUES ($1, 'winter', 'pass', now() - interval '1 hour', now(), NULL, 0),
         ($1, 'winter', 'soon', now() - interval '1 minute', NULL, NULL, 0),
         ($1, 'autumn', 'pass', now() - interval '2 days', now(), now() - interval '1 day', 3),
         ($1, 'autumn', 'long ago', now() - interval '20 days', now(), now() - interval '19 days', 3)`,
      [game.environmentId],
    )
    await run(
      `INSERT INTO scheduled_publications (environment_id, id, scenario_id, definition, publish_at, state, failure, project_id, key_id, reason, ended_at)
       SELECT $1, gen_random_uuid(), 'winter', '{}', now(), state, failure, $2, gen_random_uuid(), 'test', now() - age
       FROM (VALUES ('failed', 'version 3 is current', interval '1 hour'), ('failed', 'old', interval '8 days'),
         ('cancelled', NULL, interval '1 hour')) AS planned (state, failure, age)`,
      [game.environmentId, game.projectId],
    )
    await run(
      `INSERT INTO grant_jobs (environment_id, id, state, note, target, gift, most, reason, project_id, key_id, idempotency_key, request_sha256, finished_at)
       SELECT $1, gen_random_uuid(), state, note, '{}', '{}', 1, 'an outage', $2, gen_random_uuid(), state || note, '', finished_at
       FROM (VALUES ('failed', 'no such pass', now()), ('failed', 'long ago', now() - interval '9 days'), ('paused', '', NULL),
         ('awaiting approval', '', NULL), ('done', '', now())) AS job (state, note, finished_at)`,
      [game.environmentId, game.projectId],
    )
    const told = await read()
    expect(told.map(({ kind, text }: { kind: string; text: string }) => [kind, text])).toEqual([
      ['SETTLEMENT_LATE', 'The season winter is closed and not settled.'],
      ['SETTLEMENT_INCOMPLETE', 'The season autumn is settled, but 3 rewards, currencies or crossings did not fit.'],
      ['PUBLICATION_FAILED', 'The planned publication of winter failed: version 3 is current'],
      ['GRANT_JOB_FAILED', 'A grant job failed: no such pass'],
      ['GRANT_JOB_PAUSED', 'A grant job is paused: '],
      ['GRANT_JOB_AWAITS_APPROVAL', 'A grant job awaits the approval of a second person: '],
    ])
    expect(told[0]).toMatchObject({ scenarioId: 'winter', nodeId: 'pass', provider: null })
    expect(told[2]).toMatchObject({ scenarioId: 'winter', nodeId: null, publicationId: expect.any(String) })
    expect(told[3]).toMatchObject({ grantJobId: expect.any(String), scenarioId: null })
    expect(await read('staging')).toEqual([])
  })
})
