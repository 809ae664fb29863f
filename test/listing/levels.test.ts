import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import { auditBooks } from '../harness/audit.ts'
import { BEGIN } from '../harness/begin.ts'
import { scenario, season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import { random } from '../support/desk.ts'

// A player has one level: that of the current version. An edit moves players to other levels without a call of theirs.

let game: Game
let operator: string
beforeAll(async () => {
  game = await startGame()
  operator = await game.key('operator')
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

/** Five levels, so many xp apart. */
const apart = (xp: number) => season({ levels: times(5, (index) => index * xp) })

async function publish(scenarioId: string, definition: unknown): Promise<void> {
  expect((await game.publish(scenarioId, definition as never)).status).toBe(200)
}

/** Stores the levels after an edit, as the service does within seconds. */
const store = (scenarioId: string): Promise<void> =>
  until(`the levels of ${scenarioId} are stored`, async () => {
    await storeLevels(game.app.pool, { settledMs: 0 })
    return (await rowsOf('SELECT FROM scenarios WHERE id = $1 AND leveled_version = version', scenarioId)).length === 1
  })

async function rowsOf(sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> {
  return (await game.app.pool.query(sql, values)).rows
}

interface Playing {
  readonly player: TestPlayer
  readonly id: string
  xp(amount: number): Promise<{ readonly level: number }>
}

async function play(scenarioId: string, amount?: number): Promise<Playing> {
  const player = await game.player()
  const runId = await player.start(scenarioId)
  const xp = async (amount: number) => {
    const { status, body } = await player.post('/sdk/v1/battlepass/xp', { scenarioId, nodeId: 'pass', runId, amount })
    expect([status, body]).toEqual([200, expect.anything()])
    return body
  }
  if (amount !== undefined) await xp(amount)
  return { player, id: player.playerId, xp }
}

const LIST = `query ($filter: PlayerFilterInput, $sort: PlayerSortInput, $first: Int = 100, $after: String) {
  players(environment: "production", filter: $filter, sort: $sort, first: $first, after: $after) {
    edges { node { playerId passes { scenarioId level } } } pageInfo { hasNextPage endCursor } totalCount } }`

type Asked = Readonly<Record<string, unknown>>

/** The players of a list as `id level`, on pages of this size. */
async function listed(scenarioId: string, { by, direction, ...asked }: Asked = {}, first = 100): Promise<string[]> {
  const found: string[] = []
  const list = { filter: { scenarioId, nodeId: 'pass', ...asked }, sort: { by, direction }, first }
  for (let after: string | null = null; ; ) {
    const { data, errors } = await game.graphql(operator, LIST, { ...list, after })
    expect(errors).toBeUndefined()
    const { edges, pageInfo, totalCount } = data.players
    for (const { node } of edges) {
      const pass = node.passes.find((one: { scenarioId: string }) => one.scenarioId === scenarioId)
      found.push(`${node.playerId} ${pass?.level ?? '-'}`)
    }
    after = pageInfo.endCursor
    if (pageInfo.hasNextPage) continue
    expect(totalCount).toBe(found.length)
    return found
  }
}

/** The players of an export as `id level`. */
async function exported(scenarioId: string, asked: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const query = new URLSearchParams({ environment: 'production', scenarioId, nodeId: 'pass', ...asked })
  const response = await fetch(`${game.baseUrl}/platform/v1/projects/${game.projectId}/players.ndjson?${query}`, {
    headers: { authorization: `Bearer ${operator}` },
  })
  expect(response.status).toBe(200)
  const lines = (await response.text()).split('\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line)).map(({ playerId, level }) => `${playerId} ${level ?? '-'}`)
}

const OWN = `query ($scenarioId: String!) { battlePass(scenarioId: $scenarioId, nodeId: "pass") { level }
  me { passes { scenarioId level } } }`
const OPERATED = `query ($id: ID!) { player(id: $id) { passes { id scenarioId level } } }`
const NODE = 'query ($id: ID!) { node(id: $id) { ... on BattlePass { level } } }'

/** The level of a player, by every way to ask for it. */
async function levelsOf({ player, id }: Playing, scenarioId: string): Promise<Record<string, unknown>> {
  const rest = await player.post('/sdk/v1/battlepass/progress', { scenarioId, nodeId: 'pass' })
  const own = (await player.graphql(OWN, { scenarioId })).data
  const { passes } = (await game.graphql(operator, OPERATED, { id })).data.player
  const isHere = (pass: { scenarioId: string }) => pass.scenarioId === scenarioId
  const pass = passes.find(isHere)
  const { node } = (await game.graphql(operator, NODE, { id: pass.id })).data
  const line = (await exported(scenarioId)).find((one) => one.startsWith(id)) ?? ''
  return {
    progress: rest.body.level,
    battlePass: own.battlePass.level,
    me: own.me.passes.find(isHere).level,
    player: pass.level,
    node: node.level,
    export: Number(line.split(' ')[1]),
  }
}

const all = (level: number) => ({
  progress: level,
  battlePass: level,
  me: level,
  player: level,
  node: level,
  export: level,
})

describe('the level of a player after an edit', () => {
  it.each<[what: string, before: number, after: number, level: number]>([
    ['more xp', 100, 1_000, 1],
    ['less xp', 1_000, 100, 5],
  ])('is that of the current version everywhere, at once: %s for each level', async (what, before, after, level) => {
    const scenarioId = what.replace(' ', '-')
    await publish(scenarioId, apart(before))
    const ann = await play(scenarioId, 400)
    const earlier = 6 - level
    expect(await levelsOf(ann, scenarioId)).toEqual(all(earlier))
    await publish(scenarioId, apart(after))
    expect(await levelsOf(ann, scenarioId)).toEqual(all(level))
    // Nobody is listed under a level that it does not have.
    for (const asked of [{ levelFrom: 5 }, { levelTo: 1 }, { levelFrom: earlier, levelTo: earlier }]) {
      const texts = Object.fromEntries(Object.entries(asked).map(([name, value]) => [name, String(value)]))
      expect([asked, await listed(scenarioId, asked), await exported(scenarioId, texts)]).toEqual([asked, [], []])
    }
    // A list without a filter by level leaves nobody out.
    expect(await listed(scenarioId, { by: 'LEVEL' })).toEqual([`${ann.id} ${level}`])

    await store(scenarioId)
    expect(await levelsOf(ann, scenarioId)).toEqual(all(level))
    const found = [`${ann.id} ${level}`]
    const at = { levelFrom: level, levelTo: level }
    expect(await listed(scenarioId, at)).toEqual(found)
    expect(await exported(scenarioId, { levelFrom: String(level), levelTo: String(level) })).toEqual(found)
    expect(await listed(scenarioId, { levelFrom: earlier, levelTo: earlier })).toEqual([])
  })

  it('is in lists at once for a player who plays after the edit, and no level is crossed twice', async () => {
    await publish('played', apart(100))
    const ann = await play('played', 400)
    await publish('played', apart(1_000))
    expect((await ann.xp(600)).level).toBe(2)
    expect(await listed('played', { levelFrom: 2, levelTo: 2 })).toEqual([`${ann.id} 2`])
    await store('played')
    expect(await listed('played', { levelFrom: 2, levelTo: 2 })).toEqual([`${ann.id} 2`])
    expect((await ann.xp(9_000)).level).toBe(5)
    expect(await listed('played', { levelFrom: 5 })).toEqual([`${ann.id} 5`])
    const crossed = `SELECT data::json ->> 'toLevel' AS level FROM events WHERE player_id = $1 AND handle = 'onLevelUp'`
    await settled(game.app.pool)
    expect(await rowsOf(crossed, ann.id)).toEqual([{ level: '5' }])
  })

  it('is the last one that it had for a pass that the current version no longer has', async () => {
    await publish('removed', apart(100))
    const ann = await play('removed', 400)
    await publish('removed', apart(200))
    await store('removed')
    await publish('removed', scenario([], []))
    await store('removed')
    const { passes } = (await game.graphql(operator, OPERATED, { id: ann.id })).data.player
    expect(passes).toMatchObject([{ scenarioId: 'removed', level: 3 }])
    const line = `${ann.id} 3`
    expect(await listed('removed', { levelFrom: 3, levelTo: 3 })).toEqual([line])
    expect((await exported('removed')).filter((one) => one.startsWith(ann.id))).toEqual([line])
  })

  it('is before and after in the audit log', async () => {
    await publish('audited', apart(100))
    const ann = await play('audited', 400)
    await publish('audited', apart(1_000))
    const place = { playerId: ann.id, scenarioId: 'audited', nodeId: 'pass', reason: 'a test' }
    const act = async (action: string, input: Asked) => {
      const type = `${action[0]?.toUpperCase()}${action.slice(1)}Input!`
      const query = `mutation ($input: ${type}) { ${action}(input: $input) { auditEntry { before after } } }`
      const { data, errors } = await game.graphql(operator, query, { input: { ...place, ...input } })
      expect(errors).toBeUndefined()
      return data[action].auditEntry
    }
    expect(await act('grantXp', { amount: 600, source: 's', idempotencyKey: 'k' })).toMatchObject({
      before: { xp: 400, level: 1 },
      after: { xp: 1_000, level: 2 },
    })
    expect(await act('resetPass', {})).toMatchObject({ before: { xp: 1_000, level: 2 } })
  })
})

describe('lists by level after an edit', () => {
  it('are in order on pages of any size, in both directions, once the levels are stored', async () => {
    await publish('sorted', apart(1_000))
    const playing = await Promise.all(times(11, (index) => play('sorted', 1 + 45 * index)))
    await publish('sorted', apart(100))
    await store('sorted')
    const levels = playing.map(({ id }, index) => ({ id, level: 1 + Math.floor((1 + 45 * index) / 100) }))
    const up = levels
      .sort((a, b) => a.level - b.level || (a.id < b.id ? -1 : 1))
      .map(({ id, level }) => `${id} ${level}`)
    for (const size of [1, 3, 100]) {
      expect(await listed('sorted', { by: 'LEVEL', direction: 'ASCENDING' }, size)).toEqual(up)
      expect(await listed('sorted', { by: 'LEVEL' }, size)).toEqual(up.toReversed())
      const middle = up.filter((line) => / [23]$/.test(line))
      const asked = { by: 'LEVEL', direction: 'ASCENDING', levelFrom: 2, levelTo: 3 }
      expect(await listed('sorted', asked, size)).toEqual(middle)
    }
  })
})

describe('storeLevels', () => {
  it('changes no version of a player, and writes only passes whose level differs', async () => {
    await publish('still', apart(100))
    const [ann, bob] = [await play('still', 400), await play('still', 50)]
    await publish('still', apart(1_000))
    const state = () =>
      rowsOf(
        `SELECT v.version, p.xmin::text AS writer, p.level, p.current_level FROM player_versions v
         JOIN passes p USING (player_id) WHERE player_id = ANY ($1) ORDER BY p.xp`,
        [ann?.id, bob?.id],
      )
    const [bobBefore, annBefore] = await state()
    await store('still')
    const [bobAfter, annAfter] = await state()
    expect(bobAfter).toEqual(bobBefore)
    expect(annAfter).toEqual({ ...annBefore, writer: expect.anything(), level: 5, current_level: 1 })
    // The next edit gives the crossed level back.
    await publish('still', apart(100))
    await store('still')
    expect((await state())[1]).toMatchObject({ level: 5, current_level: null })
  })

  it('does not wait for a pass that is being written, and goes on later', async () => {
    await publish('locked', apart(100))
    const [ann, bob] = [await play('locked', 400), await play('locked', 300)]
    await publish('locked', apart(1_000))
    const writer = await game.app.pool.connect()
    try {
      await writer.query(BEGIN)
      await writer.query('SELECT FROM passes WHERE player_id = $1 FOR UPDATE', [ann.id])
      await until('the other pass is stored', async () => {
        await storeLevels(game.app.pool, { settledMs: 0 })
        return (await rowsOf('SELECT FROM passes WHERE player_id = $1 AND current_level = 1', bob.id)).length === 1
      })
    } finally {
      await writer.query('ROLLBACK')
      writer.release()
    }
    await store('locked')
    expect((await listed('locked', { levelTo: 1 })).sort()).toEqual([`${ann.id} 1`, `${bob.id} 1`].sort())
  })

  it('ends with the levels of the last edit while players play and three of it race', async () => {
    await publish('busy', apart(100))
    const playing = await Promise.all(times(12, (index) => play('busy', 1 + index)))
    const dice = random(7)
    let isOver = false
    const played = playing.map(async ({ xp }) => {
      while (!isOver) await xp(1 + Math.floor(dice() * 5))
    })
    try {
      for (const step of [10, 200, 40, 1_000, 25]) {
        await publish('busy', apart(step))
        // The running calls with the old definition have ended then.
        for (const _ of times(2, () => 0)) await Promise.all(playing.map(({ xp }) => xp(1)))
        await Promise.all(times(3, () => storeLevels(game.app.pool, { settledMs: 0 })))
      }
    } finally {
      isOver = true
      await Promise.all(played)
    }
    await store('busy')
    await auditBooks(game.app.pool)
  })

  it('leaves a pass with another level than the stored one out of lists, and the next call lists it again', async () => {
    await publish('older', apart(100))
    const ann = await play('older', 400)
    await publish('older', apart(1_000))
    await ann.xp(600)
    await store('older')
    // As by hand.
    await game.app.pool.query('UPDATE passes SET current_level = 1 WHERE player_id = $1', [ann.id])
    expect(await levelsOf(ann, 'older')).toEqual(all(2))
    expect([await listed('older', { levelTo: 1 }), await listed('older', { levelFrom: 2 })]).toEqual([[], []])
    await ann.xp(1)
    expect(await listed('older', { levelFrom: 2 })).toEqual([`${ann.id} 2`])
  })
})
