import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Refusal } from '../../src/base/errors.ts'
import { type Json, MAX_INT64, print } from '../../src/base/json.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import type { PassPreview } from '../../src/game/battlepass/compare-passes.ts'
import { claimsOpen, decideClaim, levelAt, newPass } from '../../src/game/battlepass/decide.ts'
import type { ScenarioPreview } from '../../src/game/battlepass/preview.ts'
import {
  type Definition,
  type PassNode,
  type Tier,
  TRACKS,
  type Track,
  typeOf,
} from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { publishScenario } from '../../src/operations/publishing/publish.ts'
import { gold, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { atScale } from '../harness/scale.ts'
import { settled } from '../harness/settled.ts'
import { execute } from '../harness/sql.ts'
import { definitions } from './arbitraries.ts'

let game: Game
/** Players of the environment by their number; every seventh is deleted. */
let playerIds: string[]

const PLAYERS = 28
const isDeleted = (player: number): boolean => player % 7 === 6

beforeAll(async () => {
  game = await startGame()
  playerIds = await Promise.all(times(PLAYERS, async () => (await game.player()).playerId))
  const deleted = playerIds.filter((_, player) => isDeleted(player))
  await game.app.pool.query(`UPDATE players SET status = 'deleted' WHERE id = ANY ($1)`, [deleted])
})
afterAll(() => game?.stop())

interface PlayedPass {
  readonly player: number
  readonly nodeId: string
  readonly xp: bigint
  readonly premiumOwned: boolean
  readonly claims: readonly { readonly level: number; readonly track: Track }[]
}

interface PlayedRun {
  readonly player: number
  readonly status: string
  readonly active: readonly string[]
}

interface Played {
  readonly passes: readonly PlayedPass[]
  readonly runs: readonly PlayedRun[]
}

let scenarios = 0
function newScenario() {
  scenarios += 1
  return { environmentId: game.environmentId, scenarioId: `scenario ${scenarios}` }
}

const reader = () => game.app.service.reads.reader('a key')

async function preview(
  scenarioId: string,
  definition: Json,
  projectId = game.projectId,
): Promise<Omit<ScenarioPreview, 'asOf'>> {
  const ref = { environmentId: game.environmentId, scenarioId }
  const { asOf: _, ...counted } = await game.app.service.previewScenario(reader(), projectId, ref, print(definition))
  return counted
}

/** Writes states of players without any rule: edits and support may have led to them. */
async function play(scenarioId: string, { passes, runs }: Played): Promise<void> {
  const at = [game.environmentId, scenarioId]
  await inTransaction(game.app.pool, async (client) => {
    await client.query(
      `INSERT INTO passes (environment_id, scenario_id, player_id, node_id, xp, premium_owned)
       SELECT $1, $2, * FROM unnest($3::uuid[], $4::text[], $5::bigint[], $6::bool[])`,
      [
        ...at,
        passes.map(({ player }) => playerIds[player]),
        passes.map(({ nodeId }) => nodeId),
        passes.map(({ xp }) => xp),
        passes.map(({ premiumOwned }) => premiumOwned),
      ],
    )
    const claims = passes.flatMap(({ player, nodeId, claims }) => claims.map((claim) => ({ player, nodeId, ...claim })))
    await client.query(
      `INSERT INTO tier_claims (environment_id, scenario_id, granted, run_id, player_id, node_id, level, track)
       SELECT $1, $2, '[]', $1, * FROM unnest($3::uuid[], $4::text[], $5::int[], $6::text[])`,
      [
        ...at,
        claims.map(({ player }) => playerIds[player]),
        claims.map(({ nodeId }) => nodeId),
        claims.map(({ level }) => level),
        claims.map(({ track }) => track),
      ],
    )
    await client.query(
      `INSERT INTO runs (environment_id, scenario_id, id, player_id, status, active)
       SELECT $1, $2, gen_random_uuid(), * FROM unnest($3::uuid[], $4::text[], $5::text[])`,
      [
        ...at,
        runs.map(({ player }) => playerIds[player]),
        runs.map(({ status }) => status),
        runs.map(({ active }) => JSON.stringify(active)),
      ],
    )
  })
}

function parse(definition: Json): Definition {
  const parsed = parseDefinition(print(definition))
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
  return parsed.definition
}

/** The expected preview, from the rules of the game for one player after another. */
function naive(
  before: Definition | null,
  after: Definition,
  { passes, runs }: Played,
): Omit<ScenarioPreview, 'asOf' | 'currentVersion'> {
  const passIds = (definition: Definition | null) =>
    [...(definition?.nodes.values() ?? [])].flatMap(({ id, type }) => (type === 'battle-pass' ? [id] : []))
  const removed = [...(before?.nodes.values() ?? [])].filter(({ id }) => !after.nodes.has(id))
  const there = passes.filter(({ player }) => !isDeleted(player))
  return {
    faults: [],
    passes: [...new Set([...passIds(after), ...passIds(before)])].map((nodeId) =>
      naivePass(
        nodeId,
        before,
        after,
        there.filter((pass) => pass.nodeId === nodeId),
      ),
    ),
    removedNodes: removed.map((node) => ({
      nodeId: node.id,
      type: typeOf(node),
      activeRuns: runs.filter(
        ({ player, status, active }) => !isDeleted(player) && status === 'active' && active.includes(node.id),
      ).length,
    })),
  }
}

const LEVELS = times(10, (level) => level)

function naivePass(
  nodeId: string,
  before: Definition | null,
  after: Definition,
  players: readonly PlayedPass[],
): PassPreview {
  const now = new Date()
  const nodeOf = (definition: Definition | null): PassNode | null => {
    const node = definition?.nodes.get(nodeId)
    return node?.type === 'battle-pass' ? node : null
  }
  /** Reads the texts of the nodes, not the parsed definition. */
  const offerAt = (definition: Definition | null, level: number, track: Track) => {
    const texts = [...(definition?.nodes.values() ?? [])].map(({ id, data }) => ({ id, data: JSON.parse(data.text) }))
    const listed = texts.find(({ id }) => id === nodeId)?.data.tiers ?? []
    const isBrought = texts.some(
      ({ data }) => data.passNodeId === nodeId && Number(data.levelNumber) === level && data.rewards?.[track],
    )
    return isBrought || listed.some((one: Tier) => one.level === level && one.track === track)
      ? { rewards: [] }
      : undefined
  }
  const canClaim = (definition: Definition | null, { xp, premiumOwned }: PlayedPass, level: number, track: Track) => {
    const node = nodeOf(definition)
    if (!node) return false
    const pass = { ...newPass(node), xp, premiumOwned }
    return decideClaim(node, pass, { level, track, offer: offerAt(definition, level, track) }, now).kind === 'granted'
  }
  const levelOf = (definition: Definition | null, { xp }: PlayedPass) =>
    levelAt(nodeOf(definition) ?? { levels: [] }, xp)
  const isFresh = (player: PlayedPass, level: number, track: Track) =>
    canClaim(after, player, level, track) &&
    !canClaim(before, player, level, track) &&
    !player.claims.some((claim) => claim.level === level && claim.track === track)
  const count = (matches: (player: PlayedPass) => boolean) => players.filter(matches).length
  const known = [before, after].flatMap((definition) => nodeOf(definition)?.levels.map(({ level }) => level) ?? [])
  const [old, current] = [nodeOf(before), nodeOf(after)]

  return {
    nodeId,
    isAdded: old === null,
    isRemoved: current === null,
    players: players.length,
    premiumOwners: count(({ premiumOwned }) => premiumOwned),
    levelGained: count((player) => levelOf(after, player) > levelOf(before, player)),
    levelLost: count((player) => levelOf(after, player) < levelOf(before, player)),
    levels: [...new Set([0, ...known])]
      .sort((one, two) => one - two)
      .map((level) => ({
        level,
        before: count((player) => levelOf(before, player) === level),
        after: count((player) => levelOf(after, player) === level),
      })),
    priceBefore: old?.premium ?? null,
    priceAfter: current?.premium ?? null,
    claimsOpenBefore: old !== null && claimsOpen(old, now),
    claimsOpenAfter: current !== null && claimsOpen(current, now),
    newlyClaimable: TRACKS.map((track) => ({
      track,
      players: count((player) => LEVELS.some((level) => isFresh(player, level, track))),
      tiers: LEVELS.map((level) => ({ level, players: count((player) => isFresh(player, level, track)) })).filter(
        (tier) => tier.players > 0,
      ),
    })),
    removedClaims: LEVELS.flatMap((level) =>
      TRACKS.map((track) => ({
        level,
        track,
        players:
          offerAt(before, level, track) && !offerAt(after, level, track)
            ? count(({ claims }) => claims.some((claim) => claim.level === level && claim.track === track))
            : 0,
      })),
    ).filter((tier) => tier.players > 0),
  }
}

const claims = fc.uniqueArray(fc.record({ level: fc.integer({ min: 1, max: 9 }), track: fc.constantFrom(...TRACKS) }), {
  selector: ({ level, track }) => `${track}:${level}`,
  maxLength: 12,
})

const played: fc.Arbitrary<Played> = fc.record({
  passes: fc.uniqueArray(
    fc.record({
      player: fc.nat(PLAYERS - 1),
      nodeId: fc.constantFrom('pass', 'bonus', 'swap'),
      xp: fc.oneof(fc.bigInt(0n, 60n), fc.bigInt(MAX_INT64 - 4n, MAX_INT64)),
      premiumOwned: fc.boolean(),
      claims,
    }),
    { selector: ({ player, nodeId }) => `${player}/${nodeId}`, maxLength: 40 },
  ),
  runs: fc.uniqueArray(
    fc.record({
      player: fc.nat(PLAYERS - 1),
      status: fc.constantFrom('active', 'active', 'completed', 'cancelled'),
      active: fc.subarray(['pass', 'bonus', 'view-1', 'shop', 'swap', 'long gone "]']),
    }),
    { selector: ({ player }) => player, maxLength: 20 },
  ),
})

describe('the preview of a definition', () => {
  it('counts what the rules of the game decide for each player, for random definitions, passes, claims and runs', async () => {
    await fc.assert(
      fc.asyncProperty(definitions, definitions, played, async (before, after, players) => {
        const ref = newScenario()
        await publishScenario(game.app.pool, ref, print(before))
        await play(ref.scenarioId, players)
        expect(await preview(ref.scenarioId, after)).toEqual({
          currentVersion: 1,
          ...naive(parse(before), parse(after), players),
        })
      }),
      { numRuns: atScale(150, 25) },
    )
  })

  it('counts what the rules decide for each player when an edit changes levels, tiers and dates of a pass', async () => {
    const xps = fc
      .uniqueArray(fc.bigInt(0n, 12n), { minLength: 9, maxLength: 9 })
      .map((xps) => xps.sort((a, b) => (a < b ? -1 : 1)))
    const edition = fc
      .record({
        xps,
        tiers: fc.subarray(times(9, (at) => at + 1).flatMap((level) => [tier(level, 'free'), tier(level, 'premium')])),
        more: fc.constantFrom<{ [name: string]: Json }>(
          {},
          {},
          {},
          { endsAt: '2001-01-01T00:00:00Z' },
          { startsAt: '2999-01-01T00:00:00Z' },
        ),
      })
      .map(({ xps, tiers, more }) => season({ levels: xps, tiers, more }))
    const crowd = fc
      .array(fc.record({ xp: fc.bigInt(0n, 13n), premiumOwned: fc.boolean(), claims }), {
        minLength: PLAYERS,
        maxLength: PLAYERS,
      })
      .map(
        (passes): Played => ({ passes: passes.map((pass, player) => ({ ...pass, player, nodeId: 'pass' })), runs: [] }),
      )
    await fc.assert(
      fc.asyncProperty(edition, edition, crowd, async (before, after, players) => {
        const ref = newScenario()
        await publishScenario(game.app.pool, ref, print(before))
        await play(ref.scenarioId, players)
        expect(await preview(ref.scenarioId, after)).toEqual({
          currentVersion: 1,
          ...naive(parse(before), parse(after), players),
        })
      }),
      { numRuns: atScale(150, 25) },
    )
  })

  it('counts each pass as added in the first version of a scenario', async () => {
    const ref = newScenario()
    const players: Played = {
      passes: [{ player: 0, nodeId: 'pass', xp: 150n, premiumOwned: true, claims: [] }],
      runs: [],
    }
    // The player has a pass although no version is published.
    await play(ref.scenarioId, players)
    expect(await preview(ref.scenarioId, season())).toEqual({
      currentVersion: null,
      ...naive(null, parse(season()), players),
    })
  })

  it('shows no changes for the current definition', async () => {
    const ref = newScenario()
    await publishScenario(game.app.pool, ref, print(season()))
    await play(ref.scenarioId, {
      passes: times(PLAYERS, (player) => ({
        player,
        nodeId: 'pass',
        xp: BigInt(player * 20),
        premiumOwned: player % 2 === 0,
        claims: [{ level: 1, track: 'free' as const }],
      })),
      runs: [],
    })
    const { passes, removedNodes } = await preview(ref.scenarioId, season())
    expect(removedNodes).toEqual([])
    expect(passes).toMatchObject([
      {
        players: 24,
        levelGained: 0,
        levelLost: 0,
        newlyClaimable: [
          { track: 'free', players: 0, tiers: [] },
          { track: 'premium', players: 0, tiers: [] },
        ],
        removedClaims: [],
      },
    ])
  })

  it('lists the faults and counts nothing when the definition cannot be published', async () => {
    const { faults, ...rest } = await preview(
      'nowhere',
      scenario([], [{ from: 'start', handle: 'onStart', to: 'nowhere' }]),
    )
    expect(faults).toEqual([{ path: 'edges[0].to', message: 'names no node: "nowhere"' }])
    expect(rest).toEqual({ currentVersion: null, passes: [], removedNodes: [] })
  })

  it('is exact for a thousand levels up to the highest xp and five thousand players', async () => {
    const ref = newScenario()
    // The steps grow with the level. The last level is at 2^63 - 1.
    const steps = (shift: bigint) =>
      times(1_000, (at) =>
        at === 999 ? MAX_INT64 : (MAX_INT64 / 1_000_000n) * BigInt(at * at) + (at === 0 ? 0n : shift),
      )
    const before = season({ levels: steps(0n), tiers: times(1_000, (at) => tier(at + 1, 'free')) })
    const after = season({ levels: steps(-1_000n), tiers: times(1_000, (at) => tier(at + 1, 'free', [gold(1)])) })
    await publishScenario(game.app.pool, ref, print(before))
    await execute(
      game.databaseUrl,
      `WITH fresh AS (
         INSERT INTO players (environment_id, id) SELECT $1, gen_random_uuid() FROM generate_series(1, 5000) RETURNING id
       )
       INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp)
       SELECT $1, id, $2, 'pass', CASE n % 5
         WHEN 0 THEN xp
         WHEN 1 THEN greatest(xp - 1, 0)
         WHEN 2 THEN greatest(xp - 1000, 0)
         WHEN 3 THEN greatest(xp - 1001, 0)
         ELSE 9223372036854775807 END
       FROM (SELECT id, n, ($3::bigint[])[(n % 1000) + 1] AS xp FROM (SELECT id, row_number() OVER ()::int AS n FROM fresh) f) p`,
      [game.environmentId, ref.scenarioId, steps(0n)],
    )
    const { rows } = await game.app.pool.query<{ xp: string }>('SELECT xp FROM passes WHERE scenario_id = $1', [
      ref.scenarioId,
    ])
    const xps = rows.map(({ xp }) => BigInt(xp))
    const levels = [before, after].map((definition) => {
      const node = parse(definition).nodes.get('pass')
      return xps.map((xp) => levelAt(node as PassNode, xp))
    })
    const [old = [], current = []] = levels
    const gained = xps.filter((_, at) => (current[at] ?? 0) > (old[at] ?? 0)).length
    const { passes } = await preview(ref.scenarioId, after)
    expect(gained).toBeGreaterThan(1_000)
    expect(passes).toMatchObject([{ players: 5_000, levelGained: gained, levelLost: 0 }])
    const counted = passes[0]?.levels.filter(({ before, after }) => before + after > 0)
    const told = [...new Set([...old, ...current])].sort((one, two) => one - two)
    expect(counted).toEqual(
      told.map((level) => ({
        level,
        before: old.filter((one) => one === level).length,
        after: current.filter((one) => one === level).length,
      })),
    )
    expect(passes[0]?.newlyClaimable[0]?.players).toBe(gained)
    expect(passes[0]?.newlyClaimable[0]?.tiers.reduce((sum, { players }) => sum + players, 0)).toBe(gained)
  })

  it('counts the players of its own environment and scenario only', async () => {
    const { scenarioId } = newScenario()
    const neighbour = newScenario()
    const staging = { environmentId: game.stagingId, scenarioId }
    for (const ref of [staging, neighbour]) await publishScenario(game.app.pool, ref, print(season()))
    // Only in the scenario of the same id in production.
    await play(scenarioId, {
      passes: [{ player: 0, nodeId: 'pass', xp: 150n, premiumOwned: true, claims: [{ level: 1, track: 'free' }] }],
      runs: [{ player: 0, status: 'active', active: ['pass'] }],
    })
    const removing = scenario([], [])
    for (const ref of [staging, neighbour]) {
      const { passes, removedNodes } = await game.app.service.previewScenario(
        reader(),
        game.projectId,
        ref,
        print(removing),
      )
      expect(passes).toMatchObject([{ isRemoved: true, players: 0, premiumOwners: 0, removedClaims: [] }])
      expect(removedNodes).toEqual([{ nodeId: 'pass', type: 'battle-pass', activeRuns: 0 }])
    }
    await publishScenario(game.app.pool, { environmentId: game.environmentId, scenarioId }, print(season()))
    const { passes, removedNodes } = await preview(scenarioId, removing)
    expect(passes).toMatchObject([{ players: 1, premiumOwners: 1, removedClaims: [{ level: 1, players: 1 }] }])
    expect(removedNodes).toMatchObject([{ nodeId: 'pass', activeRuns: 1 }])
  })
})

describe('a preview while others play and publish', () => {
  it('compares with one version while others are published', async () => {
    const ref = newScenario()
    const editions = [
      season(),
      season({ levels: [0, 50, 60, 70, 80] }),
      scenario([passNode('pass', { tiers: [] })], []),
    ]
    const wanted = season({ levels: [0, 90, 250, 260, 270], tiers: [tier(2, 'free'), tier(3, 'premium')] })
    const players: Played = {
      passes: times(PLAYERS, (player) => ({
        player,
        nodeId: 'pass',
        xp: BigInt(player * 15),
        premiumOwned: player % 3 === 0,
        claims: [{ level: (player % 5) + 1, track: 'free' as const }],
      })),
      runs: [],
    }
    await publishScenario(game.app.pool, ref, print(editions[0] ?? null))
    await play(ref.scenarioId, players)
    let isOver = false
    const publish = (async () => {
      for (let version = 2; !isOver; version += 1)
        await publishScenario(game.app.pool, ref, print(editions[(version - 1) % editions.length] ?? null))
    })()
    const found: Awaited<ReturnType<typeof preview>>[] = []
    try {
      while (found.length < 40) found.push(await preview(ref.scenarioId, wanted))
    } finally {
      isOver = true
      await publish
    }
    for (const { currentVersion, ...counted } of found) {
      const current = editions[((currentVersion ?? 0) - 1) % editions.length] ?? null
      expect(counted).toEqual(naive(parse(current), parse(wanted), players))
    }
    expect(new Set(found.map(({ currentVersion }) => currentVersion)).size).toBeGreaterThan(3)
  })

  it('sees xp and claims of the same moment', async () => {
    const ref = newScenario()
    await publishScenario(game.app.pool, ref, print(season({ levels: [0, 900], tiers: [tier(2, 'free')] })))
    const passes = times(PLAYERS, (player) => ({ player, nodeId: 'pass', xp: 0n, premiumOwned: false, claims: [] }))
    await play(ref.scenarioId, { passes, runs: [] })
    // At any moment, every player with the xp of the tier has claimed it.
    const at = [game.environmentId, ref.scenarioId]
    const toggle = () =>
      inTransaction(game.app.pool, async (client) => {
        const { rows } = await client.query(
          'UPDATE passes SET xp = 500 - xp WHERE environment_id = $1 AND scenario_id = $2 RETURNING player_id, xp',
          at,
        )
        await client.query('DELETE FROM tier_claims WHERE environment_id = $1 AND scenario_id = $2', at)
        await client.query(
          `INSERT INTO tier_claims (environment_id, scenario_id, player_id, node_id, level, track, granted, run_id)
           SELECT $1, $2, id, 'pass', 2, 'free', '[]', $1 FROM unnest($3::uuid[]) AS p(id)`,
          [...at, rows.filter(({ xp }) => xp === '500').map(({ player_id }) => player_id)],
        )
      })
    let isOver = false
    const toggling = (async () => {
      while (!isOver) await toggle()
    })()
    const wanted = season({ levels: [0, 400], tiers: [tier(2, 'free')] })
    const gained = new Set<number | undefined>()
    try {
      for (let round = 0; round < 60; round += 1) {
        const { passes } = await preview(ref.scenarioId, wanted)
        gained.add(passes[0]?.levelGained)
        expect(passes[0]?.newlyClaimable[0]).toEqual({ track: 'free', players: 0, tiers: [] })
      }
    } finally {
      isOver = true
      await toggling
    }
    expect([...gained].filter((players) => players !== 0 && players !== 24)).toEqual([])
  })

  it('counts each player at one level before and one level after while xp is earned and tiers are claimed', async () => {
    const { scenarioId } = newScenario()
    await game.publish(scenarioId, season())
    const players = await Promise.all(times(8, () => game.player()))
    const runs = await Promise.all(players.map((player) => player.start(scenarioId)))
    const at = (index: number) => ({ scenarioId, nodeId: 'pass', runId: runs[index] })
    let isOver = false
    const playing = players.map(async (player, index) => {
      for (let level = 1; !isOver; level = (level % 5) + 1) {
        await player.post('/sdk/v1/battlepass/xp', { ...at(index), amount: 7, source: 'match' })
        await player.post('/sdk/v1/battlepass/claim', { ...at(index), level, track: 'free' })
      }
    })
    const wanted = season({ levels: [0, 20, 40, 60, 80], tiers: times(5, (index) => tier(index + 1, 'free')) })
    try {
      for (let round = 0; round < 30; round += 1) {
        const { passes } = await preview(scenarioId, wanted)
        const [pass] = passes
        if (!pass) throw new Error('no pass')
        const sum = (side: 'before' | 'after') => pass.levels.reduce((all, level) => all + level[side], 0)
        expect([sum('before'), sum('after')]).toEqual([pass.players, pass.players])
        const [free] = pass.newlyClaimable
        // Newly claimable tiers are above the old level of a player, who has claimed none of them.
        expect(free?.players).toBe(pass.levelGained)
      }
    } finally {
      isOver = true
      await Promise.all(playing)
    }
  })

  it('writes nothing', async () => {
    await settled(game.app.pool)
    const tables = ['scenarios', 'scenario_versions', 'passes', 'tier_claims', 'runs', 'players', 'audit_log', 'events']
    const hashes = async () =>
      Promise.all(
        tables.map(async (table) => {
          const text = `SELECT md5(string_agg(t::text, '' ORDER BY t::text)) AS hash FROM ${table} t`
          return (await game.app.pool.query<{ hash: string }>(text)).rows[0]?.hash
        }),
      )
    const before = await hashes()
    await preview('scenario 1', scenario([], []))
    await preview('scenario never', season())
    expect(await hashes()).toEqual(before)
  })

  it('is unavailable at once when five others of its project run or wait, and for no other project', async () => {
    const ref = newScenario()
    await publishScenario(game.app.pool, ref, print(season()))
    const asked = await inTransaction(game.app.pool, async (client) => {
      await client.query('LOCK TABLE passes IN ACCESS EXCLUSIVE MODE')
      const ask = (projectId?: string) =>
        preview(ref.scenarioId, season(), projectId).then(
          () => 'counted',
          (error: Refusal) => error,
        )
      const asked = times(8, () => ask())
      const others = ['a', 'b', 'c', 'd'].flatMap((projectId) => [ask(projectId), ask(projectId)])
      // The excess calls are answered while the first still waits for the lock.
      const reason = 'nothing was done: 5 previews of this project run or wait, and no more can'
      for (const refused of await Promise.all(asked.slice(5)))
        expect(refused).toMatchObject({
          message: 'unavailable',
          details: [{ path: '', message: reason }],
          retryAfterSeconds: expect.toSatisfy((seconds: number) => seconds >= 1),
        })
      return [...asked.slice(0, 5), ...others]
    })
    expect(await Promise.all(asked)).toEqual(Array(13).fill('counted'))
    expect((await preview(ref.scenarioId, season())).currentVersion).toBe(1)
  })
})
