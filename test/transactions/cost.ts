import { PerformanceObserver } from 'node:perf_hooks'
import type { PoolClient } from 'pg'
import { copyPlayers } from '../../bench/players.ts'
import { print } from '../../src/base/json.ts'
import type { Command } from '../../src/transactions/command.ts'
import { gold, passNode, scenario, tier } from '../harness/definitions.ts'
import { createWorld } from '../harness/service.ts'

// The built service, since what runs the tests' TypeScript gives each function its name at run time, and so allocates more.
const built = <Module>(path: string): Promise<Module> => import(new URL(`../../dist/${path}`, import.meta.url).href)
const { addXp } = await built<typeof import('../../src/game/battlepass/add-xp.ts')>('game/battlepass/add-xp.js')
const { claimTier } = await built<typeof import('../../src/game/battlepass/claim-tier.ts')>(
  'game/battlepass/claim-tier.js',
)
const { decideClaim, decidePurchase, decideXp, newPass } =
  await built<typeof import('../../src/game/battlepass/decide.ts')>('game/battlepass/decide.js')
const { purchasePremium } = await built<typeof import('../../src/game/battlepass/purchase-premium.ts')>(
  'game/battlepass/purchase-premium.js',
)
const { readProgress } = await built<typeof import('../../src/game/battlepass/read-progress.ts')>(
  'game/battlepass/read-progress.js',
)
const { createPool } = await built<typeof import('../../src/db/pool.ts')>('db/pool.js')
const { parseDefinition } = await built<typeof import('../../src/game/definition/parse.ts')>('game/definition/parse.js')
const { createGroupCommit } =
  await built<typeof import('../../src/transactions/group-commit.ts')>('transactions/group-commit.js')
const { createMemory } = await built<typeof import('../../src/transactions/memory.ts')>('transactions/memory.js')

// Measures what calls cost, but for time: the bytes that they allocate, and what they send to Postgres. `cost.test.ts`
// starts it, as a process of its own: its young memory is large, so that nothing is collected meanwhile.

/** What one call costs. */
export interface CallCost {
  /** Bytes of the heap. */
  readonly bytes: number
}

/** What one group costs; `bytes` are those of each of its calls. */
export interface GroupCost extends CallCost {
  readonly statements: number
  readonly parameters: number
  /** Bytes sent to Postgres. */
  readonly sent: number
}

const SIZES = [1, 32, 256] as const
const CALLS = ['xp', 'claim', 'premium', 'progress'] as const
export type Call = (typeof CALLS)[number]

/** The costs of decisions, and those of groups by the number of their calls. */
export interface Costs {
  readonly decide: Readonly<Record<Exclude<Call, 'progress'>, CallCost>>
  readonly groups: Readonly<Record<Call, Readonly<Record<string, GroupCost>>>>
}

const DECISIONS = 100_000
const WARM_UP = 20_000
const CHUNK = 10_000
/** The number of groups of each size that are measured, after so many that are not. */
const GROUPS: Readonly<Record<(typeof SIZES)[number], number>> = { 1: 600, 32: 60, 256: 20 }
const WARM_GROUPS = 0.5
const CHUNKS = 5
const LEVELS = 100
const PLACE = { scenarioId: 'season', nodeId: 'pass' }

const SEASON = scenario(
  [
    passNode('pass', {
      levels: Array.from({ length: LEVELS }, (_, index) => index * 1_000_000),
      price: { currency: 'gems', amount: 10 },
      tiers: Array.from({ length: LEVELS }, (_, index) => tier(index + 1, 'free', [gold(5)])),
    }),
  ],
  [{ from: 'start', handle: 'onStart', to: 'pass' }],
)

let collections = 0
new PerformanceObserver((list) => {
  collections += list.getEntries().length
}).observe({ entryTypes: ['gc'] })

/** The bytes that work allocates for each of its parts. Undefined when something was collected meanwhile. */
async function allocated(parts: number, work: () => unknown): Promise<number | undefined> {
  globalThis.gc?.()
  await observed()
  const before = collections
  const from = process.memoryUsage().heapUsed
  await work()
  const bytes = process.memoryUsage().heapUsed - from
  await observed()
  return collections === before ? bytes / parts : undefined
}

/** The observer is called after a turn of the event loop. */
const observed = () => new Promise((resolve) => setTimeout(resolve, 2))

function meanOf(measured: readonly (number | undefined)[]): number {
  const known = measured.filter((bytes) => bytes !== undefined)
  if (known.length === 0) throw new Error('the young memory is too small for the measurement')
  return known.reduce((sum, bytes) => sum + bytes, 0) / known.length
}

/**
 * The cost of most groups. A group that the machine holds for longer than the clock's tolerance is decided again in a
 * transaction, which is right and says nothing about the cost of the others.
 */
function medianOf(measured: readonly (number | undefined)[]): number {
  const known = measured.filter((cost) => cost !== undefined).sort((one, other) => one - other)
  const middle = known[Math.floor(known.length / 2)]
  if (middle === undefined) throw new Error('the young memory is too small for the measurement')
  return middle
}

async function costOf(decide: (turn: number) => unknown): Promise<CallCost> {
  let kept: unknown
  for (let turn = 0; turn < WARM_UP; turn += 1) kept = decide(turn)
  const bytes: (number | undefined)[] = []
  for (let start = 0; start < DECISIONS; start += CHUNK)
    bytes.push(
      await allocated(CHUNK, () => {
        for (let turn = start; turn < start + CHUNK; turn += 1) kept = decide(turn)
      }),
    )
  if (kept === undefined) throw new Error('nothing was decided')
  return { bytes: meanOf(bytes) }
}

async function decisions(): Promise<Costs['decide']> {
  const parsed = parseDefinition(print(SEASON), { isStored: true })
  const node = parsed.ok ? parsed.definition.nodes.get('pass') : undefined
  if (node?.type !== 'battle-pass') throw new Error('the season has no pass')
  const now = new Date()
  const pass = { ...newPass(node), xp: 50_500_000n, level: 51, activeOn: now.toISOString().slice(0, 10) }
  const sent = { amount: 25n, source: 'match', origin: 'client' } as const
  const offer = node.tiers.get('free:7' as never)
  return {
    xp: await costOf(() => decideXp(node, pass, sent, now)),
    claim: await costOf(() => decideClaim(node, pass, { level: 7, track: 'free', offer }, now)),
    premium: await costOf(() => decidePurchase(node, pass, () => 100n, now)),
  }
}

async function groups(databaseUrl: string): Promise<Costs['groups']> {
  const world = await createWorld(databaseUrl)
  await world.publish(PLACE.scenarioId, SEASON)
  const pool = createPool({ url: databaseUrl, connections: 1, isForGroups: true, onError: () => undefined })
  const memory = createMemory()
  const engines = {
    writes: createGroupCommit({ pool, memory, connections: 1 }),
    reads: createGroupCommit({ pool, memory, connections: 1, readOnly: true }),
  }

  const original = await world.player(PLACE.scenarioId, { gems: 10n })
  const climber = await world.player(PLACE.scenarioId)
  const give = (amount: bigint) => addXp(climber, { ...PLACE, runId: climber.runId, amount, source: 'match' })
  await engines.writes.run(give(BigInt(LEVELS) * 1_000_000n))
  const largest = Math.max(...SIZES)
  const buyersNeeded = SIZES.reduce((sum, size) => sum + Math.ceil(GROUPS[size] * (1 + WARM_GROUPS)) * size, 0)
  const client = await world.pool.connect()
  const [players, claimants, buyers] = [
    await copyPlayers(world, client, [original], largest),
    await copyPlayers(world, client, [climber], largest),
    await copyPlayers(world, client, [original], buyersNeeded),
  ]
  client.release(true)

  // What is sent is counted at the one connection.
  const counts = { statements: 0, parameters: 0 }
  const connection = await pool.connect()
  const { stream } = connection.connection as unknown as { stream: { bytesWritten: number } }
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown
  connection.query = ((...args: [{ values?: unknown[] }]) => {
    counts.statements += 1
    counts.parameters += args[0].values?.length ?? 0
    return query(...args)
  }) as PoolClient['query']
  connection.release()

  const ref = ({ playerId }: { playerId: string }) => ({ environmentId: world.environmentId, playerId })
  let bought = 0
  let claimed = 0
  const turns: Record<Call, (size: number) => Promise<unknown>> = {
    xp: (size) =>
      run(engines.writes, players.slice(0, size), (player) =>
        addXp(ref(player), { ...PLACE, runId: player.runId, amount: 25n, source: 'match' }),
      ),
    claim: (size) => {
      const turns = Array.from({ length: size }, (_, index) => claimed + index)
      claimed += size
      return run(engines.writes, turns, (turn) => {
        const { playerId, runId } = claimants[turn % largest] as (typeof claimants)[number]
        const level = 1 + Math.floor(turn / largest)
        return claimTier(ref({ playerId }), { ...PLACE, runId, level, track: 'free', choice: null })
      })
    },
    premium: (size) => {
      bought += size
      return run(engines.writes, buyers.slice(bought - size, bought), (player, index) =>
        purchasePremium(ref(player), {
          ...PLACE,
          runId: player.runId,
          idempotencyKey: `premium-${bought - size + index}`,
        } as never),
      )
    },
    progress: (size) =>
      run(engines.reads, players.slice(0, size), (player) => readProgress(ref(player), PLACE as never)),
  }
  function run<Player>(
    engine: typeof engines.writes,
    callers: readonly Player[],
    command: (player: Player, index: number) => Command<unknown>,
  ): Promise<unknown> {
    return Promise.all(callers.map((player, index) => engine.run(command(player, index))))
  }

  // All players are remembered.
  for (const set of [players, claimants, buyers])
    for (let start = 0; start < set.length; start += largest)
      await run(engines.reads, set.slice(start, start + largest), (player) => readProgress(ref(player), PLACE as never))

  const costs: Record<string, Record<string, GroupCost>> = {}
  for (const call of CALLS) {
    const ofCall: Record<string, GroupCost> = {}
    for (const size of SIZES) {
      const count = GROUPS[size]
      for (let group = 0; group < Math.ceil(count * WARM_GROUPS); group += 1) await turns[call](size)
      const chunk = Math.ceil(count / CHUNKS)
      const chunks: Record<keyof GroupCost, number | undefined>[] = []
      for (let done = 0; done < count; done += chunk) {
        Object.assign(counts, { statements: 0, parameters: 0 })
        const from = stream.bytesWritten
        const bytes = await allocated(chunk * size, async () => {
          for (let group = 0; group < chunk; group += 1) await turns[call](size)
        })
        const { statements, parameters } = counts
        const sent = stream.bytesWritten - from
        chunks.push({ bytes, statements: statements / chunk, parameters: parameters / chunk, sent: sent / chunk })
      }
      ofCall[size] = {
        bytes: medianOf(chunks.map((cost) => cost.bytes)),
        statements: medianOf(chunks.map((cost) => cost.statements)),
        parameters: medianOf(chunks.map((cost) => cost.parameters)),
        sent: medianOf(chunks.map((cost) => cost.sent)),
      }
    }
    costs[call] = ofCall
  }
  await engines.writes.close()
  await engines.reads.close()
  await pool.end()
  await world.close()
  return costs as Costs['groups']
}

const [, , databaseUrl] = process.argv
if (databaseUrl !== undefined) {
  const costs: Costs = { decide: await decisions(), groups: await groups(databaseUrl) }
  process.stdout.write(JSON.stringify(costs))
}
