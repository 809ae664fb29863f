import fc from 'fast-check'
import { type Json, MAX_INT64 } from '../../src/base/json.ts'
import { HANDLES_OF } from '../../src/game/definition/handles.ts'

// Random definitions that can be published. They use few ids, so that two of them share nodes, levels, tiers and edges.

type Members = { readonly [name: string]: Json | undefined }

export interface RandomDefinition extends Members {
  readonly nodes: readonly RandomNode[]
  readonly edges: readonly Members[]
}

export interface RandomNode extends Members {
  readonly id: string
  readonly type: string
}

/** Dates far in the past and in the future. None passes while a test runs. */
const DATES = ['2001-01-01T00:00:00Z', '2002-01-01T00:00:00.5+01:00', '2998-01-01T00:00:00Z', '2999-01-01T00:00:00Z']

const asset = fc.constantFrom('gold', 'gems', 'ash', 'é😀')
const amount = fc.oneof(fc.bigInt(1n, 5n), fc.bigInt(2n ** 53n - 2n, 2n ** 53n + 2n), fc.constant(MAX_INT64))
const boost = fc
  .record({
    percent: fc.integer({ min: 1, max: 1_000 }),
    minutes: fc.constantFrom(1, 60, 43_200),
    isExplicit: fc.boolean(),
  })
  .map(({ isExplicit, ...boost }): Members => ({ boost, ...(isExplicit && { amount: null, currency: null }) }))
const money = fc
  .record({ kind: fc.constantFrom('currency', 'itemId'), asset, amount, isExplicit: fc.boolean() })
  .map(({ kind, asset, amount, isExplicit }): Members => {
    const other = kind === 'currency' ? 'itemId' : 'currency'
    return { [kind]: asset, amount, ...(isExplicit && { [other]: null }) }
  })
const grant = fc.oneof({ weight: 3, arbitrary: money }, boost)
const text = fc.dictionary(
  fc.constantFrom('en', 'pt-BR', 'zh-Hant'),
  fc.record({ name: fc.constantFrom('Frost', 'é😀'), description: fc.constantFrom('Cold.', null) }),
  { minKeys: 1, maxKeys: 2, noNullPrototype: true },
)
/** `text` and `image`, mostly absent. */
const display = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Members>({}) },
  fc.record({ text: fc.oneof(text, fc.constant(null)), image: fc.constantFrom('ui/frost', null, undefined) }),
) as fc.Arbitrary<Members>
const shown = fc.tuple(grant, display).map(([one, more]): Members => ({ ...one, ...more }))
const rewards = fc.array(shown, { minLength: 1, maxLength: 3 })
const choice = fc.array(rewards, { minLength: 2, maxLength: 3 }).map((options): Members => ({ choice: options }))
/** The rewards of a tier: with at most one choice. */
const tierRewards = fc.oneof(
  { weight: 3, arbitrary: rewards },
  fc.tuple(fc.array(shown, { maxLength: 2 }), choice).map(([fixed, one]) => [...fixed, one]),
)

/** Members that the service does not know, as clients and editors keep them. */
const unknown = fc.dictionary(
  fc.constantFrom('note', 'icon', '__proto__', 'a.b', '1', 'ü'),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  { maxKeys: 2, noNullPrototype: true },
)

const optional = <T extends Json>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null | undefined> =>
  fc.oneof(value, fc.constant(null), fc.constant(undefined))

/** Up to three dates in order. */
const dates = fc.subarray(DATES, { maxLength: 3 }).chain((chosen) =>
  fc.constantFrom(
    { startsAt: chosen[0], endsAt: chosen[1], claimUntil: chosen[2] },
    { startsAt: chosen[0], endsAt: chosen[1] },
    { endsAt: chosen[0], claimUntil: chosen[1] },
    { startsAt: chosen[0], endsAt: null },
    { announcedAt: chosen.length > 1 ? chosen[0] : null, startsAt: chosen[1] },
    { startsAt: { at: '2026-10-25T02:30', timeZone: 'Europe/Berlin' } },
    { endingHours: chosen.length > 0 ? 24 : null, endsAt: chosen[0] },
    { endsAt: chosen[0], atEnd: chosen.length > 0 ? 'grant' : 'lose', autoClaim: 'always' },
    {
      endsAt: chosen[0],
      atEnd: chosen.length > 0 ? 'mail' : 'lose',
      mail:
        chosen.length > 0
          ? {
              text: { en: { title: 'The end', body: 'Yours.' }, 'pt-BR': { title: 'O fim', body: null } },
              image: 'end',
              days: 7,
            }
          : null,
    },
    {
      endsAt: chosen[0],
      next:
        chosen.length > 0
          ? { scenarioId: 'next', carry: { xpPercent: 50 }, convert: [{ currency: 'stars', to: 'gold', rate: '2:3' }] }
          : null,
    },
    {},
  ),
)

const pass = fc
  .record({
    levels: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
    totals: fc.uniqueArray(fc.oneof(fc.bigInt(0n, 60n), fc.bigInt(MAX_INT64 - 3n, MAX_INT64)), {
      minLength: 6,
      maxLength: 6,
    }),
    price: optional(fc.record({ currency: asset, amount })),
    xpPercent: optional(fc.integer({ min: 1, max: 1_000 })),
    instant: optional(fc.oneof(rewards, fc.constant([]))),
    isTiered: fc.infiniteStream(fc.boolean()),
    rewards: fc.infiniteStream(tierRewards),
    displays: fc.infiniteStream(display),
    dates,
    beyond: optional(
      fc.oneof(
        fc.record({
          every: amount,
          rewards: tierRewards,
          max: optional(fc.constantFrom(1, 1_000)),
          perDay: optional(fc.constant(2)),
        }),
        fc.record({ convert: fc.record({ currency: asset, per: amount }), every: optional(fc.constant(null)) }),
      ),
    ),
    unknown,
  })
  .map(
    ({ levels, totals, price, xpPercent, instant, isTiered, rewards, displays, dates, beyond, unknown }): Members => {
      const rising = [...levels].sort((one, two) => one - two)
      const xps = [...totals].sort((one, two) => (one < two ? -1 : 1))
      const tracks = price ? ['free', 'premium'] : ['free']
      const tiers = rising.flatMap((level) =>
        tracks.flatMap((track) =>
          isTiered.next().value
            ? [{ ...displays.next().value, level, track, rewards: rewards.next().value ?? [] }]
            : [],
        ),
      )
      return {
        ...unknown,
        ...displays.next().value,
        levels: rising.map((level, index) => ({ ...displays.next().value, level, xp: xps[index] ?? 0n })),
        tiers,
        ...(price !== undefined && { premium: price && { price, xpPercent, instant } }),
        ...dates,
        beyond,
      }
    },
  )

interface PassData {
  readonly levels: readonly { readonly level: number }[]
  readonly tiers: readonly { readonly level: number }[]
  readonly premium?: Json
}

function levelNode(passNodeId: string, data: PassData): fc.Arbitrary<Members> {
  const tiered = new Set(data.tiers.map(({ level }) => level))
  return fc
    .record({
      level: fc.constantFrom(...data.levels.map(({ level }) => level)),
      isText: fc.boolean(),
      free: optional(tierRewards),
      premium: data.premium ? optional(tierRewards) : fc.constant(undefined),
      fallback: tierRewards,
    })
    .map(({ level, isText, free, premium, fallback }) => {
      const hasAny = Boolean(free) || Boolean(premium) || tiered.has(level)
      const own = hasAny ? { free, premium } : { free: fallback, premium }
      return { passNodeId, levelNumber: isText ? String(level) : level, rewards: own }
    })
}

const startNode: RandomNode = { id: 'start', type: 'start' }

/** A definition of up to two passes, three level nodes, two reward nodes and two nodes of the client. */
export const definitions: fc.Arbitrary<RandomDefinition> = fc
  .record({
    passes: fc
      .subarray(['pass', 'bonus'])
      .chain((ids) => fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), pass)))),
    gifts: fc
      .subarray(['gift', 'swap'])
      .chain((ids) => fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), rewards)))),
    clients: fc
      .subarray(['shop', 'swap'])
      .chain((ids) =>
        fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), fc.constantFrom('shop', 'popup'), unknown))),
      ),
    unknown,
    name: fc.constantFrom('Season', 'Saison é'),
  })
  .chain(({ passes, gifts, clients, unknown: rest, name }) => {
    const views = passes.length === 0 ? [] : ['view-1', 'view-2', 'view-3']
    return fc
      .record({
        views: fc.subarray(views).chain((ids) =>
          fc.tuple(
            ...ids.map((id) =>
              fc
                .constantFrom(...passes)
                .chain(([passNodeId, data]) => levelNode(passNodeId, data as unknown as PassData))
                .map((data): RandomNode => ({ id, type: 'battle-pass-level', data })),
            ),
          ),
        ),
        order: fc.array(fc.nat(1_000), { minLength: 8, maxLength: 8 }),
        edges: fc.array(fc.tuple(fc.nat(20), fc.nat(3), fc.nat(20), unknown), { maxLength: 10 }),
      })
      .map(({ views, order, edges }) => {
        const nodes = [
          startNode,
          ...passes.map(([id, data]): RandomNode => ({ id, type: 'battle-pass', data })),
          ...views.map((view) => likeFirst(view, views)),
          ...gifts.map(([id, rewards]): RandomNode => ({ id, type: 'reward', data: { rewards } })),
          ...clients
            // The same node may be of another type in another definition.
            .filter(([id]) => !gifts.some(([gift]) => gift === id))
            .map(([id, type, data]): RandomNode => ({ id, type, data })),
        ]
        const shuffled = nodes
          .map((node, index) => ({ node, at: order[index % order.length] ?? 0 }))
          .sort((one, two) => one.at - two.at)
          .map(({ node }) => node)
        return { ...rest, name, start: 'start', nodes: shuffled, edges: edgesBetween(nodes, edges) }
      })
  })

/** A tier has one list of rewards, so level nodes of the same tier list the same rewards. */
function likeFirst(view: RandomNode, views: readonly RandomNode[]): RandomNode {
  const levelOf = ({ data }: RandomNode) => {
    const { passNodeId, levelNumber } = data as Members
    return `${passNodeId} ${levelNumber}`
  }
  const first = views.find((other) => levelOf(other) === levelOf(view)) ?? view
  return { ...view, data: { ...(view.data as Members), rewards: (first.data as Members).rewards } }
}

function edgesBetween(
  nodes: readonly RandomNode[],
  choices: readonly (readonly [from: number, handle: number, to: number, unknown: Members])[],
): Members[] {
  const found = new Map<string, Members>()
  for (const [fromAt, handleAt, toAt, unknown] of choices) {
    const from = nodes[fromAt % nodes.length] ?? startNode
    const to = nodes[toAt % nodes.length] ?? startNode
    const handles: readonly string[] =
      from.type in HANDLES_OF ? HANDLES_OF[from.type as keyof typeof HANDLES_OF] : ['onBought', 'onComplete']
    const handle = handles[handleAt % handles.length] ?? ''
    // Edges between reward nodes could form a cycle.
    if (to.type === 'start' || (from.type === 'reward' && to.type === 'reward')) continue
    found.set(`${from.id}/${handle}/${to.id}`, { ...unknown, from: from.id, handle, to: to.id })
  }
  return [...found.values()]
}
