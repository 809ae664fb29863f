import { LRUCache } from 'lru-cache'
import type { ClientBase } from 'pg'
import type { Definition } from './definition.ts'
import { parseDefinition } from './parse.ts'

/** Definitions are long, so at most this many are in memory at once. */
const BATCH = 20

export interface DerivedOptions<T> {
  readonly derive: (definition: Definition, scenarioId: string) => T
  /** The size of a value, 1 or more. */
  readonly sizeOf: (value: T) => number
  readonly maxSize: number
}

/** What one current version of an environment's scenarios leads to. */
export interface Derived<T> {
  readonly scenarioId: string
  readonly version: number
  readonly value: T
}

interface Head {
  readonly id: string
  readonly revision: string
  readonly version: number
}

/**
 * Values that are derived from the current versions of scenarios. A definition is parsed once for each revision, which
 * never changes, so nothing here can be stale.
 */
export class DerivedValues<T extends object> {
  private readonly derive: DerivedOptions<T>['derive']
  private readonly known: LRUCache<string, T>

  constructor({ derive, sizeOf, maxSize }: DerivedOptions<T>) {
    this.derive = derive
    this.known = new LRUCache({ maxSize, sizeCalculation: sizeOf })
  }

  /** Reads them for every scenario of an environment, by id. */
  async read(pool: Pick<ClientBase, 'query'>, environmentId: string): Promise<readonly Derived<T>[]> {
    const { rows: heads } = await pool.query<Head>({
      name: 'scenario-heads',
      text: 'SELECT id, revision::text, version FROM scenarios WHERE environment_id = $1 ORDER BY id COLLATE "C"',
      values: [environmentId],
    })
    const found = new Map<string, T>()
    const missing: string[] = []
    for (const head of heads) {
      const value = this.known.get(keyOf(environmentId, head))
      if (value) found.set(head.id, value)
      else missing.push(head.id)
    }
    for (let at = 0; at < missing.length; at += BATCH)
      await this.parse(pool, environmentId, missing.slice(at, at + BATCH), found)
    return heads.flatMap(({ id, version }) => {
      const value = found.get(id)
      return value ? [{ scenarioId: id, version, value }] : []
    })
  }

  private async parse(
    pool: Pick<ClientBase, 'query'>,
    environmentId: string,
    ids: readonly string[],
    found: Map<string, T>,
  ): Promise<void> {
    const { rows } = await pool.query<Head & { definition: string }>({
      name: 'current-definitions',
      text: `SELECT s.id, s.revision::text, s.version, v.definition FROM scenarios s
        JOIN scenario_versions v ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
        WHERE s.environment_id = $1 AND s.id = ANY($2)`,
      values: [environmentId, ids],
    })
    for (const row of rows) {
      // Parsing a long definition takes milliseconds: other calls go first.
      await new Promise(setImmediate)
      const result = parseDefinition(row.definition, { isStored: true })
      if (!result.ok) throw new Error(`the current version of scenario ${row.id} does not parse`)
      const value = this.derive(result.definition, row.id)
      this.known.set(keyOf(environmentId, row), value)
      found.set(row.id, value)
    }
  }
}

/** A revision is random, and belongs to one scenario. The scenario is part of the key nevertheless. */
const keyOf = (environmentId: string, { id, revision }: Pick<Head, 'id' | 'revision'>): string =>
  `${environmentId}/${revision}/${id}`
