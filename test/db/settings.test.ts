import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { seedSeason } from '../../src/dev/seed-season.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { setOnDatabase } from '../harness/database.ts'
import { season } from '../harness/definitions.ts'
import { type Game, generateKeys, type Instance, startGame, startInstance, times } from '../harness/game.ts'

// A database or its role can have settings that differ from the defaults of Postgres.

describe.each([
  ['datestyle', 'German, DMY'],
  ['default_transaction_isolation', 'serializable'],
  ['default_transaction_isolation', 'repeatable read'],
  ['array_nulls', 'off'],
  ['statement_timeout', '1ms'],
  ['lock_timeout', '1ms'],
  ['idle_in_transaction_session_timeout', '1ms'],
])('on a Postgres whose %s is %s', (name, value) => {
  let game: Game
  let instance: Instance
  beforeAll(async () => {
    const keys = await generateKeys()
    game = await startGame(keys)
    await game.publish('season-1', season())
    await setOnDatabase(game.databaseUrl, name, `'${value}'`)
    // Its sessions start with the setting.
    instance = await startInstance(game.databaseUrl, keys)
  })
  afterAll(async () => {
    await instance?.stop()
    await game?.stop()
  })

  const send = (method: string, path: string, credentials: string, body: string) =>
    fetch(`${instance.baseUrl}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${credentials}` },
      body,
    })

  it('a season can be played, and dashboards show it', async () => {
    const player = await instance.app.service.run(createPlayer(game.environmentId, null))
    const token = await instance.app.tokens.issueAccessToken({ ...player, projectId: game.projectId })
    const call = async (path: string, body: object) => {
      const answer = await send('POST', `/sdk/v1/${path}`, token, JSON.stringify(body))
      expect(answer.status, await answer.clone().text()).toBe(200)
      return answer.json()
    }
    const place = { scenarioId: 'season-1', nodeId: 'pass' }
    const { runId } = await call('scenarios/start', { scenarioId: 'season-1' })
    await call('battlepass/xp', { ...place, runId, amount: 100, source: 'match' })
    const { level } = await call('battlepass/xp', { ...place, runId, amount: 100, source: 'match' })
    expect(level).toBe(3)

    const query = `{ player(id: "${player.playerId}") { createdAt passes { xp } }
      battlePassInsight(environment: "production", scenarioId: "season-1", nodeId: "pass") { days { startsAt players } } }`
    const answer = await send('POST', '/graphql', game.platformKey, JSON.stringify({ query }))
    const { data, errors } = await answer.json()
    expect(errors).toBeUndefined()
    expect(data.player.passes).toEqual([{ xp: '200' }])
    expect(Math.abs(Date.now() - Date.parse(data.player.createdAt))).toBeLessThan(60_000)
    expect(data.battlePassInsight.days.at(-1).players).toBe(1)
  })

  it('concurrent publications have consecutive versions, and concurrent seeds succeed', async () => {
    const path = `/platform/v1/projects/${game.projectId}/scenarios/season-2?environment=production`
    const versions = await Promise.all(
      times(8, async (index) => {
        const definition = print(season({ levels: [0, 100 + index] }))
        const answer = await send('PUT', path, game.platformKey, definition)
        return (await answer.json()).version
      }),
    )
    expect(versions.sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])

    const { databaseUrl: url, environmentId } = game
    const options = { url, environmentId, scenarioId: 'season-1', days: 5, eventRetentionDays: 30 }
    const seeded = await Promise.all([1, 2].map((seed) => seedSeason({ ...options, seed, players: 60 })))
    expect(seeded.map(({ players }) => players)).toEqual([60, 60])
  })
})

describe('on a Postgres whose synchronous_commit is off', () => {
  it('every pool of the service turns synchronous_commit on, so that commits wait for the disk', async () => {
    const keys = await generateKeys()
    const game = await startGame(keys)
    await setOnDatabase(game.databaseUrl, 'synchronous_commit', 'off')
    const instance = await startInstance(game.databaseUrl, keys)
    try {
      const { pool, groupPool } = instance.app
      for (const own of [pool, groupPool, instance.app.service.operatorPool]) {
        const { rows } = await own.query('SHOW synchronous_commit')
        expect(rows).toEqual([{ synchronous_commit: 'on' }])
      }
    } finally {
      await instance.stop()
      await game.stop()
    }
  })
})
