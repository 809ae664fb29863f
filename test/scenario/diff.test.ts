import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elements, type Json, kindOf, MAX_INT64, members, print } from '../../src/base/json.ts'
import { demoSeason } from '../../src/dev/season.ts'
import { diffPasses, type PassDiff } from '../../src/game/battlepass/diff-passes.ts'
import type { Choice, PassNode, Reward } from '../../src/game/definition/definition.ts'
import { diffScenarios, type ValueChange } from '../../src/game/definition/diff.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { definitions, type RandomDefinition } from './arbitraries.ts'

const popup = (data: Json): Json => ({ id: 'popup', type: 'popup', data })
const edge = (from: string, handle: string, to: string, more: Json = {}): Json => ({
  ...(more as object),
  from,
  handle,
  to,
})

/** The difference, with the difference of each battle pass. */
function diff(before: Json | string, after: Json | string) {
  const [one, two] = [before, after].map((text) => (typeof text === 'string' ? text : print(text)))
  const { nodesChanged, ...found } = diffScenarios(one ?? '', two ?? '')
  return {
    ...found,
    nodesChanged: nodesChanged.map(({ before, after, ...node }) => ({ ...node, pass: diffPasses(before, after) })),
  }
}

const NOTHING = {
  isSameText: false,
  changes: [],
  nodesAdded: [],
  nodesRemoved: [],
  nodesChanged: [],
  edgesAdded: [],
  edgesRemoved: [],
  edgesChanged: [],
  edgesReordered: [],
  hasMoreChanges: false,
}

const NO_PASS_DIFF: PassDiff = {
  levelsAdded: [],
  levelsRemoved: [],
  levelsChanged: [],
  tiersAdded: [],
  tiersRemoved: [],
  tiersChanged: [],
  price: null,
  announcedAt: null,
  startsAt: null,
  endingAt: null,
  endsAt: null,
  claimUntil: null,
}

/** The content of a text: members and entries by their path segments, leaves as raw text, strings decoded. */
type Tree = Map<string, Tree> | string

function treeOf(raw: string, path = ''): Tree {
  switch (kindOf(raw)) {
    case 'object':
      return new Map(
        [...members(raw)].map(([name, value]) => [name, treeOf(value, path === '' ? name : `${path}.${name}`)]),
      )
    case 'array':
      return new Map(elements(raw).map((value, at) => [placeOf(path, value) ?? `[${at}]`, treeOf(value, `${path}[]`)]))
    case 'string':
      return JSON.stringify(JSON.parse(raw))
    default:
      return raw
  }
}

/** The path segment of a level or tier, which names its level and track; undefined for other entries. */
function placeOf(path: string, raw: string): string | undefined {
  if (path !== 'data.levels' && path !== 'data.tiers') return undefined
  const { level, track } = JSON.parse(raw)
  return track === undefined ? `[level=${level}]` : `[level=${level},track=${track}]`
}

function apply(tree: Tree, changes: readonly ValueChange[]): Tree {
  for (const { path, before, after } of changes) {
    const places = [...path.matchAll(/\["(?:[^"\\]|\\.)*"\]|\[[^\]]*\]|[^.[]+/g)].map(([place]) =>
      place.startsWith('["') ? (JSON.parse(place.slice(1, -1)) as string) : place,
    )
    const last = places.pop() ?? ''
    let at = tree
    for (const place of places) at = (at as Map<string, Tree>).get(place) ?? ''
    const holder = at as Map<string, Tree>
    const had = holder.get(last)
    expect(had === undefined ? null : had).toEqual(before === null ? null : treeOf(before))
    if (after === null) holder.delete(last)
    else holder.set(last, treeOf(after))
  }
  return tree
}

interface Text {
  readonly rest: Tree
  readonly nodes: Map<string, Tree>
  readonly edges: Map<string, Tree>
}

const edgeKey = ({ from, handle, to }: { from: string; handle: string; to: string }) => `${from}/${handle}/${to}`

/** Reads a text. The levels and tiers of the given passes are keyed by level and track. */
function read(text: string, passes: ReadonlySet<string>): Text {
  const scenario = members(text)
  const nodes = elements(scenario.get('nodes') ?? '').map((raw): [string, Tree] => {
    const { id } = JSON.parse(raw)
    return [id, passes.has(id) ? treeOf(raw) : treeOf(raw, 'node')]
  })
  const edges = elements(scenario.get('edges') ?? '').map((raw): [string, Tree] => [
    edgeKey(JSON.parse(raw)),
    treeOf(raw),
  ])
  const rest = new Map([...scenario].filter(([name]) => name !== 'nodes' && name !== 'edges'))
  return {
    rest: new Map([...rest].map(([name, raw]) => [name, treeOf(raw)])),
    nodes: new Map(nodes),
    edges: new Map(edges),
  }
}

/** Applies a difference to the old text. */
function patch({ rest, nodes, edges }: Text, found: ReturnType<typeof diff>): Text {
  apply(rest, found.changes)
  for (const { nodeId } of found.nodesRemoved) nodes.delete(nodeId)
  for (const { nodeId, text } of found.nodesAdded) nodes.set(nodeId, treeOf(text, 'node'))
  for (const { nodeId, changes } of found.nodesChanged) apply(nodes.get(nodeId) ?? '', changes)
  for (const gone of found.edgesRemoved) edges.delete(edgeKey(gone))
  for (const { changes, ...changed } of found.edgesChanged) apply(edges.get(edgeKey(changed)) ?? '', changes)
  for (const added of found.edgesAdded) edges.set(edgeKey(added), 'added')
  return { rest, nodes, edges }
}

const passIds = ({ nodes }: RandomDefinition): string[] =>
  nodes.filter(({ type }) => type === 'battle-pass').map(({ id }) => id)

/** JSON text with other whitespace, the members of each object reversed, and strings escaped. */
function rewrite(value: Json | undefined): string {
  if (typeof value === 'string')
    return `"${[...value].map((char) => (/[a-z]/.test(char) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}` : JSON.stringify(char).slice(1, -1))).join('')}"`
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[ ${value.map(rewrite).join(' ,\n ')} ]`
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{ ${entries
    .reverse()
    .map(([name, member]) => `${rewrite(name)} : ${rewrite(member as Json)}`)
    .join(' ,\t')} }`
}

/** What a tier grants: the same for tiers without a choice, however they say so. */
const offerOf = ({ rewards, choice = [] }: { rewards: readonly Reward[]; choice?: Choice | undefined }) => ({
  rewards,
  choice,
})

function passOf(text: string, nodeId: string): PassNode {
  const parsed = parseDefinition(text)
  const node = parsed.ok ? parsed.definition.nodes.get(nodeId) : undefined
  if (node?.type !== 'battle-pass') throw new Error('no pass')
  return node
}

describe('the difference of two versions', () => {
  it('is empty for equal texts', () => {
    fc.assert(
      fc.property(definitions, (definition) => {
        const text = print(definition)
        expect(diffScenarios(text, text)).toEqual({ ...NOTHING, isSameText: true })
      }),
      { numRuns: 50 },
    )
  })

  it('is only the text when whitespace, escapes and the order of members, nodes and tiers differ', () => {
    fc.assert(
      fc.property(definitions, (definition) => {
        const nodes = definition.nodes.map(({ data, ...node }) => {
          const tiers = (data as { tiers?: readonly Json[] } | undefined)?.tiers
          return data === undefined
            ? node
            : { ...node, data: tiers ? { ...(data as object), tiers: [...tiers].reverse() } : data }
        })
        const other = rewrite({ ...definition, nodes: nodes.reverse() })
        expect(diffScenarios(print(definition), other)).toEqual(NOTHING)
      }),
      { numRuns: 50 },
    )
  })

  it('has every change: applied to the old version, it gives the new one', () => {
    fc.assert(
      fc.property(definitions, definitions, (before, after) => {
        const [one, two] = [print(before), print(after)]
        const found = diff(one, two)
        const passes = new Set(passIds(before).filter((id) => passIds(after).includes(id)))
        const [patched, wanted] = [patch(read(one, passes), found), read(two, passes)]
        expect(patched.rest).toEqual(wanted.rest)
        expect(patched.nodes).toEqual(wanted.nodes)
        expect([...patched.edges.keys()].sort()).toEqual([...wanted.edges.keys()].sort())
        for (const [key, tree] of patched.edges) if (tree !== 'added') expect(tree).toEqual(wanted.edges.get(key))
        expect(found.hasMoreChanges).toBe(false)
      }),
      { numRuns: 120 },
    )
  })

  it('lists every change of the levels, tiers, price and dates of a pass', () => {
    fc.assert(
      fc.property(definitions, definitions, (before, after) => {
        const [one, two] = [print(before), print(after)]
        const { nodesChanged } = diff(one, two)
        for (const nodeId of passIds(before)) {
          if (!passIds(after).includes(nodeId)) continue
          const found = nodesChanged.find((node) => node.nodeId === nodeId)?.pass ?? NO_PASS_DIFF
          const [old, current] = [passOf(one, nodeId), passOf(two, nodeId)]

          const levels = new Map(old.levels.map(({ level, xp }) => [level, xp]))
          for (const { level } of found.levelsRemoved) levels.delete(level)
          for (const { level, xp } of found.levelsAdded) levels.set(level, xp)
          for (const { level, xpBefore, xpAfter } of found.levelsChanged) {
            expect([levels.get(level), xpBefore === xpAfter]).toEqual([xpBefore, false])
            levels.set(level, xpAfter)
          }
          expect(levels).toEqual(new Map(current.levels.map(({ level, xp }) => [level, xp])))

          const tiers = new Map([...old.tiers].map(([key, tier]) => [key as string, offerOf(tier)]))
          for (const { level, track } of found.tiersRemoved) tiers.delete(`${track}:${level}`)
          for (const tier of found.tiersAdded) tiers.set(`${tier.track}:${tier.level}`, offerOf(tier))
          for (const { level, track, rewardsBefore, rewardsAfter, choiceBefore, choiceAfter } of found.tiersChanged) {
            const [was, is] = [
              offerOf({ rewards: rewardsBefore, choice: choiceBefore }),
              offerOf({ rewards: rewardsAfter, choice: choiceAfter }),
            ]
            expect(tiers.get(`${track}:${level}`)).toEqual(was)
            expect(was).not.toEqual(is)
            tiers.set(`${track}:${level}`, is)
          }
          expect(tiers).toEqual(new Map([...current.tiers].map(([key, tier]) => [key, offerOf(tier)])))

          for (const [change, was, is] of [
            [found.price, old.premium, current.premium],
            [found.announcedAt, old.announcedAt, current.announcedAt],
            [found.startsAt, old.startsAt, current.startsAt],
            [found.endingAt, old.endingAt, current.endingAt],
            [found.endsAt, old.endsAt, current.endsAt],
            [found.claimUntil, old.claimUntil, current.claimUntil],
          ] as const) {
            if (change === null) expect(was).toEqual(is)
            else expect([change.before, change.after]).toEqual([was, is])
          }
        }
      }),
      { numRuns: 120 },
    )
  })

  it('has the path and both values of each edit of a season', () => {
    const before = scenario(
      [
        passNode('pass', { levels: [0, 100, 200], tiers: [tier(2, 'free'), tier(3, 'premium')] }),
        popup({ title: 'Hi', sizes: [1, 2] }),
      ],
      [edge('start', 'onStart', 'pass'), edge('pass', 'onLevelUp', 'popup')],
    )
    const after = scenario(
      [
        passNode('pass', {
          levels: [0, 90, 200, 300],
          tiers: [tier(2, 'free', [gold(25)]), tier(4, 'premium', [item('crown')])],
          price: { currency: 'gems', amount: 900 },
          more: { endsAt: '2027-02-01T00:00:00Z' },
        }),
        popup({ title: 'Hello', sizes: [1, 2, 3] }),
        { id: 'gift', type: 'reward', data: { rewards: [gold(5)] } },
      ],
      [edge('start', 'onStart', 'pass'), edge('pass', 'onMaxLevel', 'gift')],
    )
    const found = diff({ ...(before as object), name: 'One' }, { ...(after as object), name: 'Two' })
    expect(found).toMatchObject({
      isSameText: false,
      changes: [{ path: 'name', before: '"One"', after: '"Two"' }],
      nodesAdded: [{ nodeId: 'gift', type: 'reward' }],
      nodesRemoved: [],
      edgesAdded: [{ from: 'pass', handle: 'onMaxLevel', to: 'gift' }],
      edgesRemoved: [{ from: 'pass', handle: 'onLevelUp', to: 'popup' }],
    })
    expect(found.nodesChanged.map(({ nodeId, changes }) => [nodeId, changes])).toEqual([
      [
        'pass',
        [
          { path: 'data.levels[level=2].xp', before: '100', after: '90' },
          { path: 'data.levels[level=4]', before: null, after: '{"level":4,"xp":300}' },
          { path: 'data.tiers[level=2,track=free].rewards[0].amount', before: '20', after: '25' },
          { path: 'data.tiers[level=3,track=premium]', before: print(tier(3, 'premium')), after: null },
          {
            path: 'data.tiers[level=4,track=premium]',
            before: null,
            after: print(tier(4, 'premium', [item('crown')])),
          },
          { path: 'data.premium.price.amount', before: '950', after: '900' },
          { path: 'data.endsAt', before: null, after: '"2027-02-01T00:00:00Z"' },
        ],
      ],
      [
        'popup',
        [
          { path: 'data.title', before: '"Hi"', after: '"Hello"' },
          { path: 'data.sizes[2]', before: null, after: '3' },
        ],
      ],
    ])
    expect(found.nodesChanged[0]?.pass).toMatchObject({
      levelsAdded: [{ level: 4, xp: 300n }],
      levelsChanged: [{ level: 2, xpBefore: 100n, xpAfter: 90n }],
      tiersAdded: [{ level: 4, track: 'premium' }],
      tiersRemoved: [{ level: 3, track: 'premium' }],
      tiersChanged: [{ level: 2, track: 'free', rewardsBefore: [{ amount: 20n }], rewardsAfter: [{ amount: 25n }] }],
      price: { before: { amount: 950n }, after: { amount: 900n } },
      announcedAt: null,
      startsAt: null,
      endingAt: null,
      endsAt: { before: null, after: new Date('2027-02-01T00:00:00Z') },
      claimUntil: { before: null, after: new Date('2027-02-01T00:00:00Z') },
    })
    expect(found.nodesChanged[1]?.pass).toBeNull()
  })

  it('lists what premium brings besides its track, by its place', () => {
    const definition = (extras: Record<string, Json>) =>
      print(
        scenario(
          [passNode('pass', { price: null, more: { premium: { price: { currency: 'gems', amount: 1 }, ...extras } } })],
          [],
        ),
      )
    const found = diffScenarios(
      definition({ xpPercent: 20, instant: [gold(5)] }),
      definition({ xpPercent: 25, instant: [gold(7), item('hat')] }),
    )
    expect(found.nodesChanged[0]?.changes).toEqual([
      { path: 'data.premium.xpPercent', before: '20', after: '25' },
      { path: 'data.premium.instant[0].amount', before: '5', after: '7' },
      { path: 'data.premium.instant[1]', before: null, after: print(item('hat')) },
    ])
  })

  it.each<[string, Json, Json, ValueChange]>([
    ['a number whose text alone differs', 1, { text: '1.0' }, { path: 'data.v', before: '1', after: '1.0' }],
    [
      'an integer past 2^53',
      9007199254740992n,
      9007199254740993n,
      { path: 'data.v', before: '9007199254740992', after: '9007199254740993' },
    ],
    ['a null that is removed', null, { absent: true }, { path: 'data.v', before: 'null', after: null }],
    ['a value of another kind', [1], { a: 1 }, { path: 'data.v', before: '[1]', after: '{"a":1}' }],
    ['a name with a dot', { 'a.b': 1 }, { 'a.b': 2 }, { path: 'data.v["a.b"]', before: '1', after: '2' }],
    ['an empty name', { '': 1 }, { '': 2 }, { path: 'data.v[""]', before: '1', after: '2' }],
    [
      'a name that is cut because of its length',
      { ['k'.repeat(70)]: 1 },
      { ['k'.repeat(70)]: 2 },
      { path: `data.v["${'k'.repeat(64)}…"]`, before: '1', after: '2' },
    ],
    ['`__proto__`', { ['__proto__']: 1 }, { ['__proto__']: 2 }, { path: 'data.v.__proto__', before: '1', after: '2' }],
  ])('shows a change: %s', (_what, before, after, change) => {
    const textOf = (value: Json) => {
      if (typeof value === 'object' && value !== null && 'absent' in value) return '{}'
      const raw = typeof value === 'object' && value !== null && 'text' in value ? String(value.text) : print(value)
      return `{"v":${raw}}`
    }
    const withData = (data: string) => print(scenario([popup({ here: 1 })], [])).replace('{"here":1}', data)
    expect(diff(withData(textOf(before)), withData(textOf(after))).nodesChanged).toEqual([
      { nodeId: 'popup', typeBefore: 'popup', typeAfter: 'popup', changes: [change], pass: null },
    ])
  })

  it('shows a change of the type of a node, without changes of its pass', () => {
    const { nodesChanged } = diff(scenario([passNode('a')], []), scenario([{ id: 'a', type: 'popup' }], []))
    expect(nodesChanged).toMatchObject([{ nodeId: 'a', typeBefore: 'battle-pass', typeAfter: 'popup', pass: null }])
    expect(nodesChanged[0]?.changes.map(({ path }) => path)).toEqual(['type', 'data'])
  })

  it('shows tiers of a pass that only a level node changes (contract 12)', () => {
    const level = (amount: number): Json => ({
      id: 'level',
      type: 'battle-pass-level',
      data: { levelNumber: 2, passNodeId: 'pass', rewards: { free: [gold(amount)] } },
    })
    const pass = passNode('pass', { tiers: [] })
    const { nodesChanged } = diff(scenario([pass, level(1)], []), scenario([pass, level(2)], []))
    expect(nodesChanged).toMatchObject([
      {
        nodeId: 'pass',
        changes: [],
        pass: {
          tiersChanged: [{ level: 2, track: 'free', rewardsBefore: [{ amount: 1n }], rewardsAfter: [{ amount: 2n }] }],
        },
      },
      { nodeId: 'level', pass: null },
    ])
  })

  it('shows a price in another currency', () => {
    const { nodesChanged } = diff(season(), season({ price: { currency: 'ash', amount: 950 } }))
    expect(nodesChanged[0]?.pass?.price).toEqual({
      before: { currency: 'gems', amount: 950n },
      after: { currency: 'ash', amount: 950n },
    })
  })

  it('shows changes in the order of edges and in their unknown members', () => {
    const nodes = ['a', 'b', 'c'].map((id) => ({ id, type: 'popup' }))
    const edges = (ids: readonly string[], color: string) => ids.map((id) => edge('start', 'onStart', id, { color }))
    expect(diff(scenario(nodes, edges(['a', 'b'], 'red')), scenario(nodes, edges(['c', 'b', 'a'], 'red')))).toEqual({
      ...NOTHING,
      edgesAdded: [{ from: 'start', handle: 'onStart', to: 'c' }],
      edgesReordered: [{ from: 'start', handle: 'onStart', before: ['a', 'b'], after: ['c', 'b', 'a'] }],
    })
    expect(diff(scenario(nodes, edges(['a'], 'red')), scenario(nodes, edges(['a'], 'blue')))).toEqual({
      ...NOTHING,
      edgesChanged: [
        { from: 'start', handle: 'onStart', to: 'a', changes: [{ path: 'color', before: '"red"', after: '"blue"' }] },
      ],
    })
  })

  it('lists at most 2,000 values, says that there are more, and still lists every changed node', () => {
    const many = (by: number) => {
      const list = Array.from({ length: 1_000 }, (_, at) => at + by)
      return scenario(
        ['one', 'two', 'three'].map((id) => ({ id, type: 'popup', data: { list } })),
        [],
      )
    }
    const found = diff(many(0), many(1))
    expect(found.hasMoreChanges).toBe(true)
    expect(found.nodesChanged.map(({ nodeId, changes }) => [nodeId, changes.length])).toEqual([
      ['one', 1_000],
      ['two', 1_000],
      ['three', 0],
    ])
    expect(diff(many(0), many(0)).hasMoreChanges).toBe(false)
  })

  it('is exact for a thousand levels up to the highest xp', () => {
    const levels = (more: bigint) => Array.from({ length: 1_000 }, (_, at) => MAX_INT64 - BigInt(1_000 - at) + more)
    const { nodesChanged } = diff(season({ levels: levels(0n), tiers: [] }), season({ levels: levels(1n), tiers: [] }))
    expect(nodesChanged[0]?.pass?.levelsChanged).toHaveLength(1_000)
    expect(nodesChanged[0]?.pass?.levelsChanged.at(-1)).toEqual({
      level: 1_000,
      xpBefore: MAX_INT64 - 1n,
      xpAfter: MAX_INT64,
    })
  })

  it('takes hardly more CPU time for a megabyte that is deeply nested than for one that is not', () => {
    const withData = (data: string) => print(scenario([popup({ here: 1 })], [])).replace('{"here":1}', data)
    const cpuOf = (depth: number) => {
      const text = (leaf: string) =>
        withData(`${'{"a":'.repeat(depth)}[${Array(30_000).fill(leaf).join(',')}]${'}'.repeat(depth)}`)
      const [before, after] = [text('"xxxx"'), text('"yyyy"')]
      const start = process.cpuUsage()
      expect(diff(before, after).nodesChanged[0]?.changes).toHaveLength(2_000)
      return process.cpuUsage(start).user
    }
    const [flat, deep] = [cpuOf(1), cpuOf(60)]
    expect(deep).toBeLessThan(10 * flat)
    expect(diff(demoSeason(), demoSeason())).toEqual({ ...NOTHING, isSameText: true })
  })
})
