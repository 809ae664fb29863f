import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Definition, PassNode } from '../scenario/definition.ts'
import { parseDefinition } from '../scenario/parse-definition.ts'

/** The currencies and items that one version of a scenario grants or charges. */
interface Assets {
  readonly currencies: ReadonlySet<string>
  readonly items: ReadonlySet<string>
}

/** The scenarios that name a currency or an item, by its name. */
export type Uses = ReadonlyMap<string, readonly string[]>

/** Definitions are parsed once for each revision. A revision never changes, so nothing here can be stale. */
const parsed = new LRUCache<string, Assets>({
  maxSize: 200_000,
  sizeCalculation: ({ currencies, items }) => 1 + currencies.size + items.size,
})

/** Definitions are long, so at most this many are in memory at once. */
const BATCH = 20

interface Head {
  readonly id: string
  readonly revision: string
}

/** The currencies and items of the current version of every scenario of an environment. */
export async function readAssets(pool: Pool, environmentId: string): Promise<{ currencies: Uses; items: Uses }> {
  const { rows: heads } = await pool.query<Head>({
    name: 'scenario-heads',
    text: 'SELECT id, revision::text FROM scenarios WHERE environment_id = $1 ORDER BY id COLLATE "C"',
    values: [environmentId],
  })
  const found = new Map<string, Assets>()
  const missing: string[] = []
  for (const { id, revision } of heads) {
    const assets = parsed.get(keyOf(environmentId, { id, revision }))
    if (assets) found.set(id, assets)
    else missing.push(id)
  }
  for (let at = 0; at < missing.length; at += BATCH)
    await parse(pool, environmentId, missing.slice(at, at + BATCH), found)

  const currencies = new Map<string, string[]>()
  const items = new Map<string, string[]>()
  for (const { id } of heads) {
    const assets = found.get(id)
    for (const name of assets?.currencies ?? []) note(currencies, name, id)
    for (const name of assets?.items ?? []) note(items, name, id)
  }
  return { currencies, items }
}

/** A revision is random, and belongs to one scenario. The scenario is part of the key nevertheless. */
const keyOf = (environmentId: string, { id, revision }: Head): string => `${environmentId}/${revision}/${id}`

async function parse(
  pool: Pool,
  environmentId: string,
  ids: readonly string[],
  found: Map<string, Assets>,
): Promise<void> {
  const { rows } = await pool.query<Head & { definition: string }>({
    name: 'current-definitions',
    text: `SELECT s.id, s.revision::text, v.definition FROM scenarios s
      JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
      WHERE s.environment_id = $1 AND s.id = ANY($2)`,
    values: [environmentId, ids],
  })
  for (const row of rows) {
    // Parsing a long definition takes milliseconds: other calls go first.
    await new Promise(setImmediate)
    const result = parseDefinition(row.definition, { isStored: true })
    if (!result.ok) throw new Error(`the current version of scenario ${row.id} does not parse`)
    const assets = assetsOf(result.definition)
    parsed.set(keyOf(environmentId, row), assets)
    found.set(row.id, assets)
  }
}

function assetsOf({ nodes }: Definition): Assets {
  const currencies = new Set<string>()
  const items = new Set<string>()
  for (const node of nodes.values()) {
    const lists =
      node.type === 'battle-pass'
        ? [...[...node.tiers.values()].map(({ rewards }) => rewards), node.premiumInstant, bonusRewards(node)]
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

const bonusRewards = ({ beyond }: PassNode) => (beyond?.kind === 'tiers' ? beyond.rewards : [])

function note(uses: Map<string, string[]>, name: string, scenarioId: string): void {
  const scenarios = uses.get(name)
  if (scenarios) scenarios.push(scenarioId)
  else uses.set(name, [scenarioId])
}
