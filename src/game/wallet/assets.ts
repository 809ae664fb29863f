import type { ClientBase, Pool } from 'pg'
import { allRewards, type Definition, type PassNode } from '../definition/definition.ts'
import { DerivedValues } from '../definition/derived.ts'

/** The currencies and items that one version of a scenario grants or charges. */
interface Assets {
  readonly currencies: ReadonlySet<string>
  readonly items: ReadonlySet<string>
}

/** The scenarios that name a currency or an item, by its name. */
export type Uses = ReadonlyMap<string, readonly string[]>

const assets = new DerivedValues<Assets>({
  derive: (definition) => assetsOf(definition),
  sizeOf: ({ currencies, items }) => 1 + currencies.size + items.size,
  maxSize: 200_000,
})

/** The currencies and items of the current version of every scenario of an environment. */
export async function readAssets(
  pool: Pool | ClientBase,
  environmentId: string,
): Promise<{ currencies: Uses; items: Uses }> {
  const currencies = new Map<string, string[]>()
  const items = new Map<string, string[]>()
  for (const { scenarioId, value } of await assets.read(pool, environmentId)) {
    for (const name of value.currencies) note(currencies, name, scenarioId)
    for (const name of value.items) note(items, name, scenarioId)
  }
  return { currencies, items }
}

function assetsOf({ nodes }: Definition): Assets {
  const currencies = new Set<string>()
  const items = new Set<string>()
  for (const node of nodes.values()) {
    const lists =
      node.type === 'battle-pass'
        ? [...[...node.tiers.values()].map(allRewards), node.premiumInstant, bonusRewards(node)]
        : [node.type === 'reward' ? node.rewards : []]
    for (const { currency, itemId } of lists.flat()) {
      if (currency !== null) currencies.add(currency)
      if (itemId !== null) items.add(itemId)
    }
    if (node.type !== 'battle-pass') continue
    if (node.premium) currencies.add(node.premium.currency)
    if (node.beyond?.kind === 'conversion') currencies.add(node.beyond.currency)
    for (const { currency, to } of node.next?.convert ?? []) {
      currencies.add(currency)
      if (to !== null) currencies.add(to)
    }
  }
  return { currencies, items }
}

const bonusRewards = ({ beyond }: PassNode) => (beyond?.kind === 'tiers' ? allRewards(beyond) : [])

function note(uses: Map<string, string[]>, name: string, scenarioId: string): void {
  const scenarios = uses.get(name)
  if (scenarios) scenarios.push(scenarioId)
  else uses.set(name, [scenarioId])
}
