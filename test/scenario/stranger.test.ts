import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { HANDLES_OF } from '../../src/game/definition/handles.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { auditBooks } from '../harness/audit.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import { CLAIM_ALL, graphqlOf, type Outcome, outcomeOfGraphql, restOf, type Surface } from '../harness/surfaces.ts'
import { codeOf, type Mutation, newOperator, type Operator, support } from '../support/desk.ts'
import { definitions, type RandomDefinition, type RandomNode } from './arbitraries.ts'

// A player with a modified game client sends random calls, concurrently and repeatedly, while designers edit and
// support acts. Each tier and each reward node pays one unit of a separate currency, so the wallet shows how often each
// has paid.

const MOST_RUNS = 60
const RUNS = Number(process.env.STRANGER_RUNS ?? atScale(MOST_RUNS, 12))

const NODES = ['pass', 'bonus', 'view-1', 'view-2', 'view-3', 'gift', 'swap', 'shop', 'start']
const PASSES = ['pass', 'bonus']
const TRACKS = ['free', 'premium'] as const
const HANDLES = ['onBought', 'onComplete', 'onStart', 'onLevelUp', 'onMaxLevel', 'onPremiumPurchase']
const LEVELS = 6

interface Edge {
  readonly from: string
  readonly handle: string
  readonly to: string
}

/** Edges that would be rare in random definitions. None can close a cycle of reward nodes. */
const WIRES: Edge[] = [
  { from: 'start', handle: 'onStart', to: 'pass' },
  { from: 'start', handle: 'onStart', to: 'shop' },
  { from: 'start', handle: 'onStart', to: 'gift' },
  { from: 'shop', handle: 'onBought', to: 'gift' },
  { from: 'gift', handle: 'onComplete', to: 'swap' },
  { from: 'pass', handle: 'onLevelUp', to: 'gift' },
  { from: 'pass', handle: 'onLevelUp', to: 'swap' },
  { from: 'view-1', handle: 'onComplete', to: 'swap' },
]

interface Tier {
  readonly level: number
  readonly track: string
}

const tierOf = (passId: string, { level, track }: Tier): string => `tier ${passId} ${track} ${level}`
const pays = (currency: string): Json => [{ currency, amount: 1 }]

/** The same definition without dates, with levels in reach, and with a separate currency for each source. */
function relabel(
  definition: RandomDefinition,
  { repeats, wires }: { repeats: readonly (string | undefined)[]; wires: readonly Edge[] },
): RandomDefinition {
  // Levels are numbered from 1, so that random claims hit them.
  const rankOf = (passNodeId: string, level: number): number => {
    const passNode = definition.nodes.find(({ id }) => id === passNodeId)
    const { levels = [] } = (passNode?.data ?? {}) as { levels?: readonly Tier[] }
    return 1 + levels.findIndex((one) => one.level === level)
  }
  const nodes = definition.nodes.map((node): RandomNode => {
    // biome-ignore lint/suspicious/noExplicitAny: the data of a node has many shapes.
    const data = (node.data ?? {}) as any
    switch (node.type) {
      case 'battle-pass':
        return {
          ...node,
          data: {
            levels: data.levels.map((_: Tier, index: number) => ({ level: index + 1, xp: index * 10 })),
            tiers: data.tiers.map(({ level, track }: Tier) => {
              const tier = { level: rankOf(node.id, level), track }
              return { ...tier, rewards: pays(tierOf(node.id, tier)) }
            }),
            ...(data.premium && { premium: { price: { currency: 'gems', amount: 1 } } }),
          },
        }
      case 'battle-pass-level': {
        const { levelNumber, passNodeId, rewards } = data
        const level = rankOf(passNodeId, Number(levelNumber))
        const own = TRACKS.flatMap((track) =>
          rewards?.[track] ? [[track, pays(tierOf(passNodeId, { level, track }))] as const] : [],
        )
        return { ...node, data: { levelNumber: level, passNodeId, rewards: Object.fromEntries(own) } }
      }
      case 'reward':
        return {
          ...node,
          data: { rewards: pays(`node ${node.id}`), repeat: repeats[node.id === 'gift' ? 0 : 1] ?? null },
        }
      default:
        return node
    }
  })
  const types = new Map(nodes.map(({ id, type }) => [id, type]))
  const edges = [...(definition.edges as unknown as Edge[])]
  for (const { from, handle, to } of wires) {
    const isThere = edges.some((edge) => edge.from === from && edge.handle === handle && edge.to === to)
    const handles: Readonly<Record<string, readonly string[]>> = HANDLES_OF
    const fits = types.has(to) && (handles[types.get(from) ?? 'none']?.includes(handle) ?? types.has(from))
    if (fits && !isThere) edges.push({ from, handle, to })
  }
  return { ...definition, nodes, edges: edges as never }
}

const seasons = fc
  .record({
    definition: definitions,
    repeats: fc.tuple(
      ...Array.from({ length: 2 }, () => fc.constantFrom(undefined, undefined, undefined, 'never', 'run', 'always')),
    ),
    wires: fc.subarray(WIRES),
  })
  .map(({ definition, ...more }) => relabel(definition, more))

type Step =
  | { readonly kind: 'call'; readonly call: Call; readonly key: number | null; readonly overGraphql: boolean }
  | { readonly kind: 'again'; readonly back: number }
  | { readonly kind: 'support'; readonly mutation: Mutation; readonly input: Readonly<Record<string, unknown>> }
  | { readonly kind: 'edit'; readonly version: number }

interface Call {
  readonly name: 'start' | 'cross' | 'addXp' | 'claim' | 'claimAll' | 'premium'
  readonly input: Readonly<Record<string, unknown>>
}

const nodeId = fc.constantFrom(...NODES)
const VIEWS = ['view-1', 'view-2', 'view-3']
const passId = fc.constantFrom(...PASSES, ...VIEWS)
const level = fc.integer({ min: 1, max: LEVELS })
const track = fc.constantFrom(...TRACKS)
const named = <T extends string>(name: T, input: fc.Arbitrary<Readonly<Record<string, unknown>>>) =>
  input.map((sent) => ({ name, input: sent }))
const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 2, arbitrary: named('start', fc.constant({})) },
  {
    weight: 3,
    arbitrary: named(
      'cross',
      fc.constantFrom('onBought', 'onComplete').map((handle) => ({ nodeId: 'shop', handle })),
    ),
  },
  { weight: 3, arbitrary: named('claimAll', fc.record({ nodeId: passId })) },
  { weight: 3, arbitrary: named('cross', fc.record({ nodeId, handle: fc.constantFrom(...HANDLES) })) },
  { weight: 4, arbitrary: named('addXp', fc.record({ nodeId: passId, amount: fc.integer({ min: 1, max: 60 }) })) },
  { weight: 5, arbitrary: named('claim', fc.record({ nodeId: passId, level: fc.option(level), track })) },
  {
    weight: 4,
    arbitrary: named('claim', fc.record({ nodeId: fc.constantFrom(...VIEWS), level: fc.constant(null), track })),
  },
  { weight: 2, arbitrary: named('premium', fc.record({ nodeId: passId })) },
)
const action = (mutation: Mutation, input: fc.Arbitrary<Readonly<Record<string, unknown>>>) =>
  input.map((sent): Step => ({ kind: 'support', mutation, input: sent }))
const pass = fc.constantFrom(...PASSES)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      kind: fc.constant('call' as const),
      call,
      key: fc.option(fc.nat(5)),
      overGraphql: fc.boolean(),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('again' as const), back: fc.nat(8) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('edit' as const), version: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.oneof(
      action('resetReward', fc.record({ nodeId: fc.constantFrom('gift', 'swap') })),
      action('resetTier', fc.record({ nodeId: pass, level, track })),
      action('resetPass', fc.record({ nodeId: pass })),
      action('grantTier', fc.record({ nodeId: pass, level, track })),
      action('grantPremium', fc.record({ nodeId: pass })),
      action('revokePremium', fc.record({ nodeId: pass })),
      action('cancelRun', fc.constant({})),
    ),
  },
)
/** Steps of one batch run concurrently. */
const script = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 6, maxLength: 14 })

let game: Game
let operator: Operator
let played = 0
let paidInAll = 0

beforeAll(async () => {
  game = await startGame()
  operator = await newOperator(game.app.pool, game.projectId)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await game.stop()
})

/** A player with a modified client, and the support actions on this player. */
class Stranger {
  /** Ids of the player's runs, active or not. */
  readonly begun = new Set<string>()
  readonly resets: Readonly<Record<string, unknown>>[] = []
  private readonly player: TestPlayer
  private readonly scenarioId: string
  private readonly rest: Surface
  private readonly graphql: Surface
  private readonly sent: (() => Promise<void>)[] = []
  private runId = '01900000-0000-7000-8000-000000000000'

  constructor(player: TestPlayer, scenarioId: string) {
    this.player = player
    this.scenarioId = scenarioId
    this.rest = restOf(player)
    this.graphql = graphqlOf(player)
  }

  async make(step: Exclude<Step, { kind: 'edit' }>): Promise<void> {
    switch (step.kind) {
      case 'call': {
        const { name, input } = step.call
        const { scenarioId, runId } = this
        const place = name === 'start' ? { scenarioId } : { scenarioId, runId, ...input }
        const keyed = step.key === null ? place : { ...place, idempotencyKey: `${name} ${step.key}` }
        const surface = step.overGraphql ? this.graphql : this.rest
        const send = async () =>
          answered(await (name === 'claimAll' ? this.claimAll(keyed) : surface[name](keyed as never)))
        this.sent.push(send)
        await send()
        if (name === 'start') await this.findRun()
        return
      }
      case 'again':
        await this.sent.at(-1 - step.back)?.()
        return
      case 'support': {
        const { mutation, input } = step
        const { playerId } = this.player
        const place = mutation === 'cancelRun' ? { runId: this.runId } : { scenarioId: this.scenarioId, ...input }
        const key = mutation === 'grantTier' ? { idempotencyKey: String(this.resets.length) } : {}
        this.resets.push({ mutation, ...input })
        answered(await support(game, operator.key, mutation, { playerId, ...place, ...key, reason: 'test' }))
      }
    }
  }

  private async claimAll(input: object): Promise<Outcome> {
    return outcomeOfGraphql(await this.player.graphql(CLAIM_ALL, { input }))
  }

  async findRun(): Promise<void> {
    const { rows } = await game.app.pool.query(
      'SELECT id, status FROM runs WHERE player_id = $1 AND scenario_id = $2 ORDER BY id',
      [this.player.playerId, this.scenarioId],
    )
    for (const { id, status } of rows) {
      this.begun.add(id)
      if (status === 'active') this.runId = id
    }
  }

  async wallet(): Promise<Map<string, number>> {
    const { rows } = await game.app.pool.query('SELECT currency, balance FROM wallets WHERE player_id = $1', [
      this.player.playerId,
    ])
    return new Map(rows.map(({ currency, balance }) => [currency, Number(balance)]))
  }

  /** How often support has reset a source, so that it may pay again. */
  countResets(mutation: Mutation, matches: (input: Readonly<Record<string, unknown>>) => boolean): number {
    return this.resets.filter((reset) => reset.mutation === mutation && matches(reset)).length
  }
}

/** Every call succeeds or is refused. A constraint of the database must not be all that protects the ledgers. */
const answered = (outcome: Outcome): void => expect(codeOf(outcome)).not.toBe('INTERNAL_ERROR')

/** The repeat rule of a reward node in one version; null when the version has no such reward node. */
function ruleOf(definition: RandomDefinition, id: string): string | null {
  const node = definition.nodes.find((one) => one.id === id)
  if (node?.type !== 'reward') return null
  const { repeat } = node.data as { repeat: string | null }
  return repeat ?? (isReached(definition, id) ? 'never' : 'always')
}

/** Whether a client can reach a reward node by itself. Walks the edges backwards. */
function isReached({ nodes, edges }: RandomDefinition, id: string, seen: readonly string[] = []): boolean {
  const typeOf = (nodeId: string) => nodes.find((one) => one.id === nodeId)?.type ?? ''
  return (edges as unknown as Edge[])
    .filter(({ to }) => to === id)
    .some(({ from }) => {
      if (typeOf(from) === 'reward') return !seen.includes(from) && isReached({ nodes, edges }, from, [...seen, id])
      return !['battle-pass', 'battle-pass-level'].includes(typeOf(from))
    })
}

/** The most that a source may have paid a player; infinite where the definition sets no limit. */
function limitOf(source: string, versions: readonly RandomDefinition[], stranger: Stranger): number {
  const [kind = '', id = '', track, level] = source.split(' ')
  const resetPass = stranger.countResets('resetPass', ({ nodeId }) => kind !== 'tier' || nodeId === id)
  if (kind === 'tier') {
    const isThis = (reset: Readonly<Record<string, unknown>>) =>
      reset.nodeId === id && reset.track === track && String(reset.level) === level
    return 1 + stranger.countResets('resetTier', isThis) + resetPass
  }
  const rules = versions.map((version) => ruleOf(version, id))
  const runs = rules.includes('run') ? stranger.begun.size : 0
  const limit = (1 + runs) * (1 + stranger.countResets('resetReward', ({ nodeId }) => nodeId === id))
  if (!rules.includes('always')) return limit
  const isOpen = versions.some((version) => ruleOf(version, id) === 'always' && isReached(version, id))
  if (isOpen) return Number.POSITIVE_INFINITY
  // Each level up reaches a new level. The other verified crossings happen once for each pass and level node.
  const revoked = stranger.countResets('revokePremium', () => true)
  const verified = PASSES.length * (LEVELS + 3) + 3
  return limit + verified * (1 + resetPass) + revoked
}

describe('random calls by a player (contract 12 to 11.3)', () => {
  it('pay no more than the definitions allow', async () => {
    const isWithinLimits = fc.asyncProperty(fc.tuple(seasons, seasons, seasons), script, async (versions, batches) => {
      played += 1
      const scenarioId = `stranger ${played}`
      const publish = async (version: number) => {
        const { status, text } = await game.publish(scenarioId, versions[version] as Json)
        expect(status, text).toBe(200)
      }
      const published = new Set([0])
      await publish(0)
      const strangers = await Promise.all(
        [1, 2].map(async () => new Stranger(await game.player({ wallet: { gems: 3n } }), scenarioId)),
      )
      for (const stranger of strangers)
        await stranger.make({ kind: 'call', call: { name: 'start', input: {} }, key: null, overGraphql: false })
      for (const batch of batches) {
        await Promise.all(
          batch.flatMap((step) => {
            if (step.kind !== 'edit') return strangers.map((stranger) => stranger.make(step))
            published.add(step.version)
            return [publish(step.version)]
          }),
        )
        for (const stranger of strangers) await stranger.findRun()
      }
      const edits = [...published].flatMap((version) => versions[version] ?? [])
      for (const stranger of strangers) {
        for (const [source, paid] of await stranger.wallet()) {
          if (source === 'gems') {
            expect(paid).toBeLessThanOrEqual(3)
            continue
          }
          paidInAll += paid
          expect(paid, `${source} paid ${paid}`).toBeLessThanOrEqual(limitOf(source, edits, stranger))
        }
      }
    })
    // Few scenarios may happen to pay little. Then others are played too, so that the limits are tested by payments.
    for (let round = 0; round === 0 || (paidInAll <= played && played < MOST_RUNS); round += 1)
      await fc.assert(isWithinLimits, { numRuns: RUNS, endOnFailure: true, seed: SEED + round })
    console.log(`${played} scenarios paid ${paidInAll} times`)
    expect(paidInAll).toBeGreaterThan(played)
  })

  it('are checked with the repeat rule that validation finds for each reward node', () => {
    fc.assert(
      fc.property(seasons, (definition) => {
        const parsed = parseDefinition(print(definition))
        expect(parsed).toHaveProperty('ok', true)
        if (!parsed.ok) return
        for (const node of parsed.definition.nodes.values())
          if (node.type === 'reward') expect([node.id, node.repeat]).toEqual([node.id, ruleOf(definition, node.id)])
      }),
      { numRuns: 300 },
    )
  })
})
