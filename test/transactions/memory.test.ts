import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPool } from '../../src/db/pool.ts'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { purchasePremium } from '../../src/game/battlepass/purchase-premium.ts'
import { readProgress } from '../../src/game/battlepass/read-progress.ts'
import { askStatus } from '../../src/players/player-status.ts'
import type { Command } from '../../src/transactions/command.ts'
import { createGroupCommit } from '../../src/transactions/group-commit.ts'
import { createMemory } from '../../src/transactions/memory.ts'
import type { PlayerRef } from '../../src/transactions/player.ts'
import { gold, passNode, scenario } from '../harness/definitions.ts'
import { type Engines, startEngines, type TwoInstances } from '../harness/engines.ts'
import { resetModules } from '../harness/fresh-modules.ts'
import { times } from '../harness/game.ts'
import type { World } from '../harness/service.ts'

// Rows of active players stay in memory. Changes by others count at once, an
// exception fails only its own command, and memory is bounded.

type Subject = PlayerRef & { readonly runId: string }

let instances: TwoInstances
let world: World
let here: Engines
let there: Engines

const PASS = { scenarioId: 'season', nodeId: 'pass' }
const season = (gems: number) =>
  scenario(
    [
      passNode('pass', { levels: [0, 100, 200] }),
      { id: 'gift', type: 'reward', data: { rewards: [{ currency: 'gems', amount: gems }, gold(1)] } },
    ],
    [
      { from: 'start', handle: 'onStart', to: 'pass' },
      { from: 'pass', handle: 'onLevelUp', to: 'gift' },
    ],
  )

beforeAll(async () => {
  instances = await startEngines()
  world = instances.world
  here = instances.here
  there = instances.there
  await world.publish('season', season(5))
})
afterAll(() => instances?.stop())

const give = ({ writes }: Engines, { runId, ...player }: Subject, amount: number) =>
  writes.run(addXp(player, { ...PASS, runId, amount: BigInt(amount), source: 'match' }))
const xpOf = async ({ reads }: Engines, { runId: _, ...player }: Subject) =>
  (await reads.run(readProgress(player, PASS))).xp
/** A statement that a person runs in psql. */
const byHand = (text: string, { playerId }: PlayerRef) => world.pool.query(text, [playerId])

describe('the next call of a remembered player', () => {
  it('sees an edit between its first read of the scenario and its write', async () => {
    const ladder = (first: number) => scenario([passNode('pass', { levels: [0, first] })], [])
    await world.publish('unseen', ladder(100))
    const { runId, ...player } = await world.player('unseen')
    // An instance that has seen no scenario yet.
    resetModules()
    const fresh = {
      ...(await import('../../src/transactions/group-commit.ts')),
      ...(await import('../../src/transactions/memory.ts')),
      ...(await import('../../src/game/battlepass/add-xp.ts')),
      ...(await import('../../src/players/player-status.ts')),
    }
    const own = createPool({ url: instances.databaseUrl, connections: 1, isForGroups: true, onError: () => undefined })
    const engine = fresh.createGroupCommit({ pool: own, memory: fresh.createMemory() })
    let edits = 0
    const client = await own.connect()
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
    client.query = (async (...args: [{ text: string }]) => {
      if (edits === 1 && args[0].text.includes('player_versions v SET')) {
        edits += 1
        await world.publish('unseen', ladder(5))
      }
      return query(...args)
    }) as never
    client.release()
    await engine.run(fresh.admitPlayer(player))
    edits = 1
    const at = { scenarioId: 'unseen', nodeId: 'pass', runId }
    const { level } = await engine.run(fresh.addXp(player, { ...at, amount: 10n, source: 'match' }))
    expect([level, edits]).toEqual([2, 2])
    await engine.close()
    await own.end()
  })

  it('takes turns on the only connection with calls of players who are not remembered', async () => {
    const pool = createPool({ url: instances.databaseUrl, connections: 1, isForGroups: true, onError: () => undefined })
    const engine = createGroupCommit({ pool, memory: createMemory(), connections: 1 })
    const give = ({ runId, ...player }: Subject) =>
      engine.run(addXp(player, { ...PASS, runId, amount: 1n, source: 'match' }))
    const known = await Promise.all(times(8, () => world.player('season')))
    const unknown = await Promise.all(times(8, () => world.player('season')))
    await Promise.all(known.map(give))
    const given = await Promise.all([...known, ...unknown, ...known, ...unknown].map(give))
    expect(given.map(({ xp }) => xp)).toEqual([2n, 1n, 3n, 2n].flatMap((xp) => known.map(() => xp)))
    await engine.close()
    await pool.end()
  })

  it('sees changes that a person makes in psql', async () => {
    const player = await world.player('season')
    expect((await give(here, player, 10)).xp).toBe(10n)
    expect(await xpOf(here, player)).toBe(10n)
    await byHand('UPDATE passes SET xp = xp + 30 WHERE player_id = $1', player)
    expect(await xpOf(here, player)).toBe(40n)
    expect((await give(here, player, 1)).xp).toBe(41n)
    await byHand('UPDATE passes SET xp = xp - 30 WHERE player_id = $1', player)
    expect(await xpOf(here, player)).toBe(11n)

    await byHand("UPDATE players SET status = 'banned' WHERE id = $1", player)
    await expect(give(here, player, 1)).rejects.toMatchObject({ kind: 'playerBanned' })
    await expect(xpOf(here, player)).rejects.toMatchObject({ kind: 'playerBanned' })
    await byHand("UPDATE players SET status = 'active' WHERE id = $1", player)
    await byHand("UPDATE runs SET status = 'cancelled' WHERE player_id = $1", player)
    await expect(give(here, player, 1)).rejects.toMatchObject({ kind: 'runNotActive' })
  })

  it('sees changes by another instance, one by one and concurrently', async () => {
    const player = await world.player('season')
    for (const index of times(20, (number) => number))
      expect((await give(index % 2 === 0 ? here : there, player, 1)).xp).toBe(BigInt(index + 1))
    await Promise.all(times(100, (index) => give(index % 2 === 0 ? here : there, player, 1)))
    expect(await xpOf(here, player)).toBe(120n)
    expect(await xpOf(there, player)).toBe(120n)
  })

  it('sees an edit of the scenario', async () => {
    const player = await world.player('season')
    await give(here, player, 10)
    await world.publish('season', season(7))
    const { plan } = await give(here, player, 100)
    expect(plan?.granted[0]).toEqual({ amount: 7n, currency: 'gems', itemId: null })
  })
})

describe('a command on a remembered player', () => {
  it('that throws fails alone, and the other commands of its group succeed', async () => {
    const players = await Promise.all(times(5, () => world.player('season')))
    for (const player of players) await give(here, player, 1)
    const [first] = players
    const bug: Command<void> = {
      player: first as PlayerRef,
      *decide(group) {
        yield* group.rows(() => askStatus(group.player(first as PlayerRef)))
        throw new TypeError('a bug')
      },
    }
    const results = await Promise.allSettled([here.writes.run(bug), ...players.map((player) => give(here, player, 1))])
    expect(results[0]).toMatchObject({ status: 'rejected', reason: { message: 'a bug' } })
    for (const result of results.slice(1)) expect(result).toMatchObject({ status: 'fulfilled', value: { xp: 2n } })
  })

  it('does not starve commands on other players under constant load', async () => {
    const players = await Promise.all(times(200, () => world.player('season')))
    await Promise.all(players.map((player) => give(here, player, 1)))
    let isDone = false
    let calls = 0
    const load = Promise.all(
      players.map(async (player) => {
        while (!isDone) {
          await give(here, player, 1)
          calls += 1
        }
      }),
    )
    const news = await Promise.all(times(5, () => world.player('season')))
    for (const player of news) expect((await give(here, player, 3)).xp).toBe(3n)
    isDone = true
    await load
    expect(calls).toBeGreaterThan(0)
  })

  it('reads rows that memory does not have, and its group still uses remembered rows', async () => {
    const players = await Promise.all(times(20, () => world.player('season', { gems: 950n })))
    await Promise.all(players.map((player) => give(here, player, 1)))
    const before = here.paths.length
    const answers = await Promise.all(
      players.map(({ runId, ...player }) => here.writes.run(purchasePremium(player, { ...PASS, runId }))),
    )
    expect(answers.filter(({ success }) => success)).toHaveLength(20)
    expect(new Set(here.paths.slice(before))).toEqual(new Set(['memory']))
  })

  it('shares few groups with 150 waiting commands, in their order', async () => {
    const player = await world.player('season')
    await give(here, player, 1)
    const before = here.groups
    const answers = await Promise.all(times(150, () => give(here, player, 1)))
    expect(answers.map(({ xp }) => xp)).toEqual(times(150, (index) => BigInt(index + 2)))
    expect(here.groups - before).toBeLessThan(10)
  })
})

describe('memory', () => {
  const refs = times(1_000, (index) => ({ environmentId: 'environment', playerId: `player ${index}` }))

  it('is bounded by weight: a player in use stays, others are forgotten', () => {
    const memory = createMemory({ maxBytes: 100_000 })
    const [often] = refs
    const kept = memory.player(often as PlayerRef)
    for (const ref of refs) {
      memory.player(ref)
      expect(memory.player(often as PlayerRef)).toBe(kept)
    }
    expect(memory.size).toBeLessThan(400)
  })

  it('is bounded by idle time', () => {
    const memory = createMemory({ idleMs: -1 })
    for (const ref of refs) memory.player(ref)
    expect(memory.size).toBeLessThanOrEqual(2)
  })

  it('keeps players of two environments apart', () => {
    const memory = createMemory()
    const id = { playerId: 'player' }
    expect(memory.player({ environmentId: 'a', ...id })).not.toBe(memory.player({ environmentId: 'b', ...id }))
  })

  it('is bounded for a player who names many unknown runs', async () => {
    const player = await world.player('season')
    const { memory } = here
    await give(here, player, 1)
    for (let round = 0; round < 30; round += 1)
      await Promise.allSettled(times(200, () => give(here, { ...player, runId: crypto.randomUUID() }, 1)))
    expect(memory.player(player).weight).toBeLessThan(1.1 * 2 ** 20)
    expect((await give(here, player, 1)).xp).toBe(2n)
  })
})
