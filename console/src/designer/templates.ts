import { startAt } from './model/dates.ts'
import { readDefinition } from './model/definition.ts'
import { type Edit, inTurn, setName, setValue } from './model/edits.ts'
import { formatJson, printValue, type Value } from './text/json-edit.ts'
import { findNode, type Path } from './text/json-path.ts'
import { parseJson, stringOf, valueAt } from './text/json-tree.ts'

const edge = (from: string, handle: string, to: string): Value => ({ from, handle, to })
const gold = (amount: bigint): Value => ({ currency: 'gold', amount })

const LEVELS = Array.from({ length: 30 }, (_, index) => BigInt(index + 1))

/** A season like the demo's: a pass with both tracks, and the nodes around it. */
const season = (name: string): Value => ({
  name,
  start: 'start',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'welcome', type: 'reward', data: { rewards: [gold(250n)] } },
    {
      id: 'pass',
      type: 'battle-pass',
      data: {
        levels: LEVELS.map((level) => ({ level, xp: (level - 1n) * 500n })),
        tiers: [
          ...LEVELS.map((level) => ({ level, track: 'free', rewards: [gold(50n + level * 5n)] })),
          ...LEVELS.map((level) => ({ level, track: 'premium', rewards: [gold(100n + level * 10n)] })),
        ],
        premium: { price: { currency: 'gems', amount: 950n } },
      },
    },
    { id: 'level-up', type: 'popup', data: { title: 'Level up!' } },
    { id: 'premium-thanks', type: 'reward', data: { rewards: [{ itemId: 'banner', amount: 1n }] } },
    { id: 'champion', type: 'reward', data: { rewards: [{ itemId: 'trophy', amount: 1n }, gold(10_000n)] } },
    { id: 'finale', type: 'cutscene', data: { clip: 'finale' } },
  ],
  edges: [
    edge('start', 'onStart', 'welcome'),
    edge('start', 'onStart', 'pass'),
    edge('pass', 'onLevelUp', 'level-up'),
    edge('pass', 'onPremiumPurchase', 'premium-thanks'),
    edge('pass', 'onMaxLevel', 'champion'),
    edge('pass', 'onComplete', 'finale'),
  ],
})

const empty = (name: string): Value => ({ name, start: 'start', nodes: [{ id: 'start', type: 'start' }], edges: [] })

export const TEMPLATES = { season, empty } as const
export type Template = keyof typeof TEMPLATES

export function textOfTemplate(template: Template, name: string): string {
  const text = printValue(TEMPLATES[template](name), false)
  const { root } = parseJson(text)
  return root ? formatJson(text, root) : text
}

interface Copy {
  /** The id of the copy, which does not follow itself. */
  readonly id: string
  readonly name: string
  /** Empty for the dates of the other scenario. */
  readonly start: string
}

/** The text of another scenario under a new name, with its dates moved to another start. The rest stays byte for byte. */
export function copyOf(text: string, { id, name, start }: Copy): string {
  const { definition } = readDefinition(text)
  const edits = [setName(name), ...(start === '' ? [] : [startAt(start)]), followsNot(id)]
  return definition ? inTurn(...edits)(definition) : text
}

/** Removes what leads to this scenario from all passes. Currencies that end with them still do. */
function followsNot(id: string): Edit {
  return (definition) => {
    const edits = definition.nodes.flatMap(({ index }) => {
      const path: Path = ['nodes', index, 'data', 'next']
      const next = findNode(definition.root, path)
      if (next?.kind !== 'object' || stringOf(valueAt(next, 'scenarioId')) !== id) return []
      if (!valueAt(next, 'convert')) return [setValue(path, undefined)]
      return ['scenarioId', 'nodeId', 'carry'].map((name) => setValue([...path, name], undefined))
    })
    return inTurn(...edits)(definition)
  }
}
