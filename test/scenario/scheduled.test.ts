import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { publishDue } from '../../src/operations/publishing/scheduled.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, startInstance, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'

// Publications at a later time.

const FIELDS = `publicationId scenarioId publishAt state version expectedVersion failure reason endedAt definitionText`
const SCHEDULE = `mutation ($input: SchedulePublicationInput!) {
  schedulePublication(input: $input) { publication { id ${FIELDS} } notices { path } auditEntry { action target reason } } }`
const CANCEL = `mutation ($input: CancelPublicationInput!) {
  cancelPublication(input: $input) { publication { ${FIELDS} } auditEntry { action target } } }`
const LIST = `query ($scenarioId: String) {
  scheduledPublications(environment: "production", scenarioId: $scenarioId) {
    ${FIELDS} diff { from to nodesChanged { nodeId changes { path before after } } } } }`
const NEVER = '2099-01-01T00:00:00Z'

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game.stop())

let count = 0
const newId = (): string => {
  count += 1
  return `planned-${count}`
}
const endingAt = (endsAt: string): string => print(season({ more: { endsAt, startsAt: '2020-01-01T00:00:00Z' } }))
const ask = (query: string, variables: object, key = game.platformKey) => game.graphql(key, query, { ...variables })

async function plan(scenarioId: string, more: object = {}, key = game.platformKey) {
  const input = { environment: 'production', scenarioId, publishAt: NEVER, reason: 'a new season', ...more }
  const { data, errors } = await ask(
    SCHEDULE,
    { input: { definition: endingAt('2098-01-01T00:00:00Z'), ...input } },
    key,
  )
  expect(errors).toBeUndefined()
  return data.schedulePublication
}
const list = async (scenarioId: string) => (await ask(LIST, { scenarioId })).data.scheduledPublications
const versionOf = async (scenarioId: string) =>
  (
    await ask(
      'query ($id: String!) { scenario(environment: "production", scenarioId: $id) { version definitionText } }',
      { id: scenarioId },
    )
  ).data.scenario
/** As if their time had come, in their order. */
const bring = (...ids: string[]) =>
  game.app.pool.query(
    `UPDATE scheduled_publications p SET publish_at = now() - (100 - o.place) * interval '1 second'
     FROM unnest($1::uuid[]) WITH ORDINALITY AS o (id, place) WHERE p.id = o.id`,
    [ids],
  )

describe('a planned publication', () => {
  it('is published when its time comes, and not before, with its audit entry', async () => {
    const id = newId()
    const { publication, auditEntry } = await plan(id, { expectedVersion: 0 })
    expect(publication).toMatchObject({
      scenarioId: id,
      state: 'PLANNED',
      publishAt: '2099-01-01T00:00:00.000Z',
      version: null,
    })
    expect(auditEntry).toEqual({ action: 'scenario.schedule', target: id, reason: 'a new season' })
    await publishDue(game.app.pool)
    expect([await versionOf(id), (await list(id))[0]]).toMatchObject([null, { state: 'PLANNED', endedAt: null }])

    const soon = new Date(Date.now() + 1_500).toISOString()
    const { publication: other } = await plan(id, { publishAt: soon, definition: endingAt('2097-01-01T00:00:00Z') })
    await until('the service has published it', async () => (await versionOf(id)) !== null)
    expect(await versionOf(id)).toEqual({ version: 1, definitionText: other.definitionText })
    expect((await list(id)).map(({ state, version }: Record<string, unknown>) => [state, version])).toEqual([
      ['PLANNED', null],
      ['PUBLISHED', 1],
    ])
    const { data } = await ask(
      `query ($id: String!) { auditLog(target: $id, first: 1) { nodes { action reason after } } }`,
      { id },
    )
    expect(data.auditLog.nodes[0]).toMatchObject({
      ...{ action: 'scenario.publish', reason: 'a new season' },
      after: { version: 1, planned: other.publicationId },
    })
  })

  it('tells the phases of its season', async () => {
    const id = newId()
    const { publication } = await plan(id, { definition: endingAt('2020-02-01T00:00:00Z') })
    await bring(publication.publicationId)
    await until('it has ended', async () => {
      const { rows } = await game.app.pool.query(
        `SELECT type FROM events WHERE scenario_id = $1 AND type = 'season.closed'`,
        [id],
      )
      return rows.length === 1
    })
  })

  it('fails where another version is current then, and says so; others go on', async () => {
    const [id, other] = [newId(), newId()]
    await game.publish(id, season())
    const stale = await plan(id, { expectedVersion: 1 })
    const fresh = await plan(other)
    await game.publish(id, season({ levels: [0, 50] }))
    await bring(stale.publication.publicationId, fresh.publication.publicationId)
    await publishDue(game.app.pool)
    await until('both have ended', async () => (await list(other))[0].state !== 'PLANNED')
    expect(await list(id)).toMatchObject([
      {
        ...{ state: 'FAILED', version: null, endedAt: expect.any(String) },
        failure: 'version conflict; expectedVersion: the current version is 2, not 1',
      },
    ])
    expect((await versionOf(id)).version).toBe(2)
    expect(await list(other)).toMatchObject([{ state: 'PUBLISHED', version: 1, failure: null }])
  })

  it('belongs to the project: it takes place when the key that planned it was revoked, which shows it before, in the name of its planner', async () => {
    const id = newId()
    const { data } = await ask(
      'mutation { createPlatformKey(input: { role: ADMIN, reason: "test" }) { key platformKey { id } } }',
      {},
    )
    const { key, platformKey } = data.createPlatformKey
    const { publication } = await plan(id, {}, key)
    const shown = await ask(
      '{ platformKeys(first: 50) { nodes { id plannedPublications { publicationId environment } } } }',
      {},
    )
    expect(shown.data.platformKeys.nodes.find(({ id }: { id: string }) => id === platformKey.id)).toEqual({
      ...{
        id: platformKey.id,
        plannedPublications: [{ publicationId: publication.publicationId, environment: 'production' }],
      },
    })
    const revoked = await ask(
      'mutation ($input: RevokePlatformKeyInput!) { revokePlatformKey(input: $input) { auditEntry { id } } }',
      {
        input: { id: platformKey.id, reason: 'test' },
      },
    )
    expect(revoked.errors).toBeUndefined()
    await bring(publication.publicationId)
    await publishDue(game.app.pool)
    await until('it has ended', async () => (await list(id))[0].state !== 'PLANNED')
    expect(await list(id)).toMatchObject([{ state: 'PUBLISHED', version: 1, failure: null }])
    const { rows } = await game.app.pool.query(
      "SELECT count(DISTINCT actor)::int AS actors FROM audit_log WHERE target = $1 AND action LIKE 'scenario.%'",
      [id],
    )
    expect(rows).toEqual([{ actors: 1 }])
  })

  it('can be cancelled until it has ended', async () => {
    const id = newId()
    const { publication } = await plan(id)
    const input = { environment: 'production', publicationId: publication.publicationId, reason: 'not yet' }
    const cancelled = await ask(CANCEL, { input })
    expect(cancelled.data.cancelPublication).toMatchObject({
      publication: { state: 'CANCELLED', endedAt: expect.any(String) },
      auditEntry: { action: 'scenario.cancel_schedule', target: id },
    })
    const again = await ask(CANCEL, { input })
    expect(again.data.cancelPublication).toMatchObject({ publication: { state: 'CANCELLED' }, auditEntry: null })
    await bring(publication.publicationId)
    await publishDue(game.app.pool)
    expect(await versionOf(id)).toBeNull()
    const unknown = await ask(CANCEL, { input: { ...input, publicationId: '019aa4c5-7a10-7f42-9a55-3c1b7a0f9e21' } })
    expect(unknown.errors?.[0]?.extensions.code).toBe('NOT_FOUND')
  })

  it('is refused with every fault at once, and then nothing is planned', async () => {
    const id = newId()
    const input = { environment: 'production', scenarioId: id, reason: 'test', publishAt: '2020-01-01T00:00:00Z' }
    const { errors } = await ask(SCHEDULE, { input: { ...input, definition: '{"name":"","start":"a","nodes":[]}' } })
    const details = (errors?.[0]?.extensions.details ?? []) as { path: string }[]
    const paths = details.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['name', 'nodes', 'publishAt']))
    expect(await list(id)).toEqual([])
  })

  it('shows what it would change as of now', async () => {
    const id = newId()
    await game.publish(id, season({ more: { startsAt: '2020-01-01T00:00:00Z', endsAt: '2097-01-01T00:00:00Z' } }))
    await plan(id)
    expect((await list(id))[0].diff).toMatchObject({
      ...{ from: 1, to: 2 },
      nodesChanged: [
        {
          nodeId: 'pass',
          changes: [{ path: 'data.endsAt', before: '2097-01-01T00:00:00Z', after: '2098-01-01T00:00:00Z' }],
        },
      ],
    })
  })

  it('is published once by many instances, and several of one scenario in the order of their times', async () => {
    const id = newId()
    const plans = await Promise.all(
      times(6, (index) => plan(id, { definition: endingAt(`209${index}-01-01T00:00:00Z`) })),
    )
    const other = await startInstance(game.databaseUrl, {})
    await bring(...plans.map(({ publication }) => publication.publicationId))
    await Promise.all(times(6, (index) => publishDue((index % 2 === 0 ? game.app : other.app).pool)))
    await other.stop()
    const { rows } = await game.app.pool.query(
      'SELECT definition FROM scenario_versions WHERE scenario_id = $1 ORDER BY version',
      [id],
    )
    expect(rows.map(({ definition }) => definition)).toEqual(plans.map(({ publication }) => publication.definitionText))
    expect((await list(id)).map(({ state }: { state: string }) => state)).toEqual(times(6, () => 'PUBLISHED'))
  })

  it('is one of 100 in an environment', async () => {
    const id = newId()
    await game.app.pool.query(
      `INSERT INTO scheduled_publications (environment_id, id, scenario_id, definition, publish_at, project_id, key_id, reason)
       SELECT $1, gen_random_uuid(), $2, '{}', '2099-01-01', $1, $1, 'test' FROM generate_series(1, 100)`,
      [game.environmentId, id],
    )
    const input = { environment: 'production', scenarioId: id, reason: 'test', publishAt: NEVER }
    const { errors } = await ask(SCHEDULE, { input: { ...input, definition: endingAt('2098-01-01T00:00:00Z') } })
    expect(errors?.[0]?.extensions).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: '', message: 'The environment has 100 planned publications.' }],
    })
  })
})
