import { randomsFrom } from '../db/ids.ts'
import type { Group, Premise } from './group.ts'
import type { Player } from './player.ts'
import type { Insertion, Row, Statement } from './statement.ts'
import { arrayOf, type Read, text } from './table.ts'

/** The answer of the proving statement. */
export interface Proof {
  readonly unproven: ReadonlySet<Player>
  /**
   * The unproven players with another version. The others may be as remembered: a scenario or the clock differed, or a
   * row that was assumed absent exists.
   */
  readonly outdated: readonly Player[]
  /** The database's clock, in milliseconds since 1970. */
  readonly clockMs: number
}

/** A remembered clock may be this far from the database's. A frozen instance learns the time before it decides. */
const CLOCK_TOLERANCE_MS = 1_000

/**
 * The statement that proves and writes (architecture: remember, decide, prove). It gives a new version to the changed
 * players whose version is still the remembered one, and writes the rows of these players only. It answers the numbers of
 * those who were not proven. Players whose commands changed nothing are proven without a new version.
 *
 * An UPDATE that has waited for another one reads the row again and compares its new version. Rows that were assumed
 * absent are looked up in the snapshot from before the wait. That is enough: such a row comes only with a new version
 * of its player, so a row that the snapshot misses fails the comparison.
 */
export function writeStatement(
  group: Group,
  take: (proof: Proof) => void,
): { statement: Statement; changed: readonly Player[] } {
  const changed = group.changed()
  const checked = group.mode === 'locks' ? [] : [...group.players].filter((player) => changed[player.n - 1] !== player)
  for (let index = 0; index < checked.length; index += 1) (checked[index] as Player).n = -1 - index
  // Nothing is proven for a player whose commands all wait for rows.
  const absent = group.absent.filter(({ player }) => group.players.has(player))
  const tables = [...group.rows()].sort(([a], [b]) => a.index - b.index)
  const insertions = group.insertions()
  const premises = group.mode === 'locks' ? [] : [...group.premises.values()]
  const kind: Kind = {
    isWriting: changed.length > 0 || tables.length > 0 || insertions.length > 0,
    isLone: changed.length === 1,
    isChecking: checked.length > 0,
    isProving: group.mode !== 'locks',
    restsOn: premises[0]?.table,
    absent: absent[0]?.read,
  }
  const traits = [kind.isLone, kind.isChecking, kind.isProving, kind.restsOn, kind.isWriting, kind.absent]
  let bits = traits.reduce<number>((sum, trait, index) => (trait ? sum | (1 << index) : sum), 0)
  for (const { index } of [...tables.map(([table]) => table), ...insertions]) bits |= 1 << (traits.length + index)
  group.version = String(nextVersion())

  const environments = [...new Set([...changed, ...checked].map(({ environmentId }) => environmentId))]
  const owners = (players: readonly Player[]): string[] => [
    arrayOf(players, ({ environmentId }) => String(environments.indexOf(environmentId) + 1)),
    arrayOf(players, ({ playerId }) => playerId),
    arrayOf(players, ({ version }) => version ?? 'NULL'),
  ]
  const values = [
    arrayOf(environments, String),
    String(group.clockMs),
    arrayOf(premises, ({ environmentId }) => environmentId),
    arrayOf(premises, ({ id }: Premise) => text.encode(id)),
    arrayOf(premises, ({ revision }) => revision),
    group.version,
    ...(kind.absent ? [...kind.absent.keys(absent), arrayOf(absent, ({ player }) => String(player.n))] : []),
    ...(kind.isWriting ? owners(changed) : []),
    ...(checked.length > 0 ? owners(checked) : []),
  ]
  for (const [table, rows] of tables) values.push(...table.insertValues(rows, kind.isLone))
  for (const insertion of insertions) values.push(...insertion.values(kind.isLone))

  let prepared = statements.get(bits)
  if (!prepared) {
    prepared = compose(bits, kind, [...tables.map(([table]) => table), ...insertions])
    statements.set(bits, prepared)
  }
  return {
    changed,
    statement: {
      name: prepared.name,
      text: prepared.text,
      values,
      take([row]: Row[]) {
        const [numbers, isHeld, clock, present] = row ?? []
        const unproven = new Set<Player>()
        const outdated: Player[] = []
        for (const n of numbers) {
          const player = (n > 0 ? changed[n - 1] : checked[-n - 1]) as Player
          unproven.add(player)
          if (isHeld && !present?.includes(n)) outdated.push(player)
        }
        take({ clockMs: Number(clock), unproven, outdated })
      },
    },
  }
}

const nextVersion = randomsFrom(new BigInt64Array(512))

/** Most groups write a few combinations of tables. Rarer ones are not prepared: each takes memory per connection. */
const MAX_PREPARED = 64
const statements = new Map<number, { readonly name?: string; readonly text: string }>()

interface Kind {
  /** It changes one player. Most groups do so under low load, and joins are then most of their cost. */
  readonly isLone: boolean
  readonly isWriting: boolean
  readonly isChecking: boolean
  readonly isProving: boolean
  /** The table of the premises. */
  readonly restsOn: string | undefined
  /** The read of the rows that are assumed absent. */
  readonly absent: Read<unknown> | undefined
}

function compose(
  bits: number,
  { isLone, isWriting, isChecking, isProving, restsOn, absent }: Kind,
  insertions: readonly Pick<Insertion, 'insert'>[],
): { name?: string; text: string } {
  let parameters = 6
  const parameter = () => {
    parameters += 1
    return parameters
  }
  const owners = () => `unnest($${parameter()}::int[], $${parameter()}::uuid[], $${parameter()}::bigint[])
      WITH ORDINALITY AS k(environment, player_id, version, n)`
  const found = `CROSS JOIN LATERAL (
      SELECT ctid AS at, version FROM player_versions f
      WHERE f.environment_id = ($1::uuid[])[k.environment] AND f.player_id = k.player_id LIMIT 1
    ) AS f`
  const owner =
    () => `(SELECT ($1::uuid[])[($${parameter()}::int[])[1]] AS environment_id, ($${parameter()}::uuid[])[1] AS player_id,
      ($${parameter()}::bigint[])[1] AS version, 1 AS n) AS k`
  const unproven: string[] = []
  const tell = (cte: string, n: string) =>
    unproven.push(
      `ARRAY (SELECT ${n}::int FROM generate_series(1, cardinality($${parameters}::bigint[])) AS n EXCEPT SELECT ${n}::int FROM ${cte})`,
    )

  const clock = `abs(extract(epoch FROM now()) * 1000 - $2::float8) < ${CLOCK_TOLERANCE_MS}`
  const premises = `NOT EXISTS (
      SELECT FROM unnest($3::uuid[], $4::text[], $5::bigint[]) AS p(environment_id, id, revision)
      WHERE p.revision IS DISTINCT FROM (
        SELECT revision FROM ${restsOn} s WHERE s.environment_id = p.environment_id AND s.id = p.id
      )
    )`
  const conditions = [
    '$6::bigint IS NOT NULL',
    isProving ? clock : '$2::float8 IS NOT NULL',
    restsOn ? premises : '($3::uuid[], $4::text[], $5::bigint[]) IS NOT NULL',
  ]
  const ctes = [`held AS MATERIALIZED (SELECT ${conditions.join(' AND ')} AS yes)`]
  if (absent) ctes.push(`present AS MATERIALIZED (SELECT ARRAY (${absent.present(parameter)}) AS players)`)
  const isProven = (n: string): string =>
    `(SELECT yes FROM held)${absent ? ` AND ${n} <> ALL ((SELECT players FROM present)::int[])` : ''}`
  if (isWriting) {
    ctes.push(`proven AS (
    UPDATE player_versions v SET version = $6::bigint FROM ${isLone ? owner() : `${owners()} ${found}`}
    WHERE ${isLone ? 'v.environment_id = k.environment_id AND v.player_id = k.player_id' : 'v.ctid = f.at'}
      AND v.version = k.version AND ${isProven('k.n')}
    RETURNING k.n, v.environment_id, v.player_id
  )`)
    tell('proven', 'n')
  }
  if (isChecking) {
    ctes.push(`checked AS (SELECT k.n FROM ${owners()} ${found} WHERE f.version = k.version AND ${isProven('-k.n')})`)
    tell('checked', '-n')
  }
  for (const [index, insertion] of insertions.entries())
    ctes.push(`w${index} AS (${insertion.insert(parameter, isLone)})`)
  return {
    name: statements.size < MAX_PREPARED ? `write-${bits}` : undefined,
    text: `WITH ${ctes.join(',\n  ')}
  SELECT ${unproven.join(' || ')}, (SELECT yes FROM held), extract(epoch FROM clock_timestamp()) * 1000
    ${absent ? ', (SELECT players FROM present)' : ''}`,
  }
}
