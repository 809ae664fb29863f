import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { publishPhases } from '../../src/operations/publishing/season-job.ts'
import { passNode, scenario, tier } from '../harness/definitions.ts'
import { type Game, startGame, startInstance, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'

const HOUR_MS = 3_600_000
/** Enough for what a test does before, on a busy machine. */
const LATER_MS = 3_000

interface SeasonRow {
  readonly type: string
  readonly scenarioId: string
  readonly at: string
}

const EVENTS = `query ($types: [EventType!], $scenarioId: String) {
  events(environment: "production", types: $types, scenarioId: $scenarioId, first: 100) {
    nodes { type scenarioId nodeId playerId runId handle data ... on SeasonEvent { phase at } }
  }
}`
const TYPES = ['SEASON_ANNOUNCED', 'SEASON_STARTED', 'SEASON_ENDING', 'SEASON_ENDED', 'SEASON_CLOSED']

describe('the phases of a season as events', () => {
  let game: Game
  let pool: Pool
  let count = 0
  beforeAll(async () => {
    game = await startGame()
    pool = game.app.pool
  })
  afterAll(() => game.stop())

  const newId = (): string => {
    count += 1
    return `season-${count}`
  }
  /** Moments by the clock of Postgres, in milliseconds from now. */
  async function clock(): Promise<(milliseconds: number) => string> {
    const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
    const now = rows[0]?.now.getTime() ?? 0
    return (milliseconds) => new Date(now + milliseconds).toISOString()
  }
  const definition = (more: object) =>
    scenario([passNode('pass', { levels: [0, 100], tiers: [tier(1, 'free')], more: more as never })], [])
  async function publish(id: string, more: object | null): Promise<void> {
    const { status, body } = await game.publish(id, more === null ? scenario([], []) : definition(more))
    expect([status, body]).toEqual([200, expect.anything()])
  }
  async function told(id: string): Promise<SeasonRow[]> {
    const { data } = await game.graphql(game.platformKey, EVENTS, { types: TYPES, scenarioId: id })
    return data.events.nodes
  }
  const typesOf = async (id: string): Promise<string[]> => (await told(id)).map(({ type }) => type)
  const tells = (id: string, types: readonly string[]) =>
    until(`${id} tells ${types}`, async () => {
      // Sooner than the service looks by itself.
      await publishPhases(pool)
      return (await typesOf(id)).length >= types.length
    })
  /** Resolves when everything that began until this moment was told: a season that begins now was. */
  async function passed(): Promise<void> {
    const marker = newId()
    await publish(marker, { startsAt: (await clock())(0) })
    await tells(marker, ['SEASON_STARTED'])
  }

  /** Everything that a season tells from now on. */
  async function follow(id: string, fields: string) {
    const { data } = await game.graphql(game.platformKey, '{ streamCursor(environment: "production") }')
    const query = `subscription ($id: String, $after: String) {
      onSeasonPhase(environment: "production", scenarioId: $id, after: $after) { ${fields} }
    }`
    return game.subscribe(game.platformKey, query, { id, after: data.streamCursor })
  }

  /** As if hours had passed, in which no instance looked. */
  const pass = (ids: readonly string[], hours: number) =>
    pool.query(
      `UPDATE season_phases SET starts_at = starts_at - $3 * interval '1 hour'
       WHERE environment_id = $1 AND scenario_id = ANY ($2) AND told_at IS NULL`,
      [game.environmentId, ids, hours],
    )

  it('are told in their order, each with its time, its pass and no player', async () => {
    const id = newId()
    const at = await clock()
    const live = await follow(id, 'type phase at occurredAt playerId runId handle scenarioId nodeId byClient data')
    const announced = { announcedAt: at(-HOUR_MS) }
    await publish(id, { ...announced, startsAt: at(HOUR_MS), endsAt: at(2 * HOUR_MS) })
    const events = await live.take(1)
    await publish(id, { ...announced, startsAt: at(-2), endsAt: at(2 * HOUR_MS) })
    events.push(...(await live.take(1)))
    await publish(id, { ...announced, startsAt: at(-2), endsAt: at(-1) })
    events.push(...(await live.take(2)))
    const place = { playerId: null, runId: null, handle: null, scenarioId: id, nodeId: 'pass', byClient: false }
    const event = (type: string, phase: string, time: string) => ({
      ...{ type, phase, at: time, occurredAt: expect.any(String), data: { at: time }, ...place },
    })
    expect(events).toEqual([
      event('SEASON_ANNOUNCED', 'ANNOUNCED', at(-HOUR_MS)),
      event('SEASON_STARTED', 'RUNNING', at(-2)),
      // Claims close with the end.
      event('SEASON_ENDED', 'ENDED', at(-1)),
      event('SEASON_CLOSED', 'CLOSED', at(-1)),
    ])
    await live.close()
  })

  it('are told when their time comes, and not before', async () => {
    const id = newId()
    const at = await clock()
    const live = await follow(id, 'phase at occurredAt')
    await publish(id, { startsAt: at(LATER_MS) })
    const { occurredAt, ...event } = await live.next()
    expect(event).toEqual({ phase: 'RUNNING', at: at(LATER_MS) })
    expect(Date.parse(occurredAt)).toBeGreaterThanOrEqual(Date.parse(event.at))
    await live.close()
  })

  it.each<[string, (at: (milliseconds: number) => string) => object, readonly string[]]>([
    ['its announcement', (at) => ({ announcedAt: at(-1), startsAt: at(HOUR_MS) }), ['SEASON_ANNOUNCED']],
    ['its start, not its announcement', (at) => ({ announcedAt: at(-2), startsAt: at(-1) }), ['SEASON_STARTED']],
    [
      'that it is about to end',
      (at) => ({ startsAt: at(-5 * HOUR_MS), endingHours: 2, endsAt: at(HOUR_MS) }),
      ['SEASON_ENDING'],
    ],
    [
      'its end',
      (at) => ({ startsAt: at(-5 * HOUR_MS), endingHours: 2, endsAt: at(-HOUR_MS), claimUntil: at(HOUR_MS) }),
      ['SEASON_ENDED'],
    ],
    ['its end and that it is closed', (at) => ({ endsAt: at(-HOUR_MS) }), ['SEASON_ENDED', 'SEASON_CLOSED']],
    ['nothing without dates', () => ({}), []],
  ])('of a season that is published when they have begun, only the last: %s', async (_what, dates, types) => {
    const id = newId()
    await publish(id, dates(await clock()))
    await passed()
    expect(await typesOf(id)).toEqual(types)
  })

  it('move with an edit: nothing is told at an old time', async () => {
    const [later, sooner] = [newId(), newId()]
    const at = await clock()
    await publish(later, { endsAt: at(LATER_MS) })
    await publish(sooner, { endsAt: at(HOUR_MS) })
    await publish(later, { endsAt: at(HOUR_MS) })
    await publish(sooner, { endsAt: at(LATER_MS) })
    await tells(sooner, ['SEASON_ENDED', 'SEASON_CLOSED'])
    await passed()
    expect([await typesOf(later), await typesOf(sooner)]).toEqual([[], ['SEASON_ENDED', 'SEASON_CLOSED']])
  })

  it.each<[string, object | null]>([
    ['the date', {}],
    ['the pass', null],
  ])('are withdrawn by an edit that takes away %s', async (_what, edit) => {
    const [id, other] = [newId(), newId()]
    const at = await clock()
    await publish(id, { startsAt: at(LATER_MS) })
    await publish(id, edit)
    await publish(other, { startsAt: at(LATER_MS) })
    await tells(other, ['SEASON_STARTED'])
    expect(await typesOf(id)).toEqual([])
  })

  it('are not told again, whatever edits follow', async () => {
    const id = newId()
    const at = await clock()
    const dates = { startsAt: at(-5 * HOUR_MS), endingHours: 2 }
    await publish(id, { ...dates, endsAt: at(HOUR_MS) })
    await tells(id, ['SEASON_ENDING'])
    await publish(id, null)
    await publish(id, { ...dates, endsAt: at(10 * HOUR_MS) })
    await publish(id, { ...dates, endsAt: at(HOUR_MS) })
    await publish(id, { ...dates, endsAt: at(-1) })
    await tells(id, ['SEASON_ENDING', 'SEASON_ENDED', 'SEASON_CLOSED'])
    await passed()
    expect(await typesOf(id)).toEqual(['SEASON_ENDING', 'SEASON_ENDED', 'SEASON_CLOSED'])
  })

  it('are told once by many instances, while scenarios are published', async () => {
    const other = await startInstance(game.databaseUrl, {})
    // More at once would wait too long for a connection on a busy machine.
    const ids = times(10, newId)
    const at = await clock()
    await Promise.all([
      ...ids.map((id) => publish(id, { startsAt: at(400), endsAt: at(800) })),
      ...ids.map((id, index) => publish(id, { startsAt: at(400), endsAt: at(800), claimUntil: at(900 + index) })),
    ])
    const all = ['SEASON_STARTED', 'SEASON_ENDED', 'SEASON_CLOSED']
    await until('all is told', async () => {
      await Promise.all(
        [game.app.pool, other.app.pool, game.app.pool, other.app.pool].map((from) => publishPhases(from)),
      )
      return (await Promise.all(ids.map(typesOf))).every((types) => types.includes('SEASON_CLOSED'))
    })
    await passed()
    // Those that had begun before the last publication may be passed over.
    for (const types of await Promise.all(ids.map(typesOf)))
      expect(types).toEqual(all.filter((type) => types.includes(type)))
    await other.stop()
  })

  describe('while no instance ran', () => {
    it('are told afterwards, all of them and in order', async () => {
      const id = newId()
      const at = await clock()
      await publish(id, { announcedAt: at(HOUR_MS), startsAt: at(2 * HOUR_MS), endsAt: at(3 * HOUR_MS) })
      await pass([id], 4)
      const all = ['SEASON_ANNOUNCED', 'SEASON_STARTED', 'SEASON_ENDED', 'SEASON_CLOSED']
      await tells(id, all)
      expect(await typesOf(id)).toEqual(all)
    })
  })

  it('are for operators: a player does not receive them, and cannot subscribe to them', async () => {
    const player = await game.player()
    const query = '{ events(first: 100) { nodes { type playerId } } }'
    await passed()
    const { data } = await player.graphql(query)
    expect(data.events.nodes).toEqual([{ type: 'PLAYER_CREATED', playerId: player.playerId }])
    const refused = game.subscribe(player.token, 'subscription { onSeasonPhase(environment: "production") { phase } }')
    await expect(refused.next()).rejects.toMatchObject({ message: 'forbidden' })
    await refused.close()
  })
})
