import { groupBy } from '../base/group-by.ts'
import { arrayOf, text } from './columns.ts'
import type { Group } from './group.ts'
import type { One, Player } from './player.ts'
import { compose, type Form, join, plain, type Sql, sql } from './sql.ts'
import type { Row, Statement } from './statement.ts'

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

/** The players of a group in the order of their numbers: from 1, the changed ones first. */
export interface Numbered {
  readonly changed: readonly Player[]
  readonly checked: readonly Player[]
  of(player: Player): number
}

/** A remembered clock may be this far from the database's. A frozen instance learns the time before it decides. */
const CLOCK_TOLERANCE_MS = 1_000

/**
 * The statement that proves and writes. It gives a new version to the changed
 * players whose version is still the remembered one, and writes the rows of these players only. It answers the numbers of
 * those who were not proven. Players whose commands changed nothing are proven without a new version. Undefined when
 * there is nothing to prove or to write.
 *
 * An UPDATE that has waited for another one reads the row again and compares its new version. Rows that were assumed
 * absent are looked up in the snapshot from before the wait. That is enough: such a row comes only with a new version
 * of its player, so a row that the snapshot misses fails the comparison.
 */
export function writeStatement(
  group: Group,
  take: (proof: Proof) => void,
): { statement: Statement; changed: readonly Player[] } | undefined {
  const isProving = group.path === 'memory'
  const players = numbered(group, isProving)
  const { changed, checked } = players
  // Nothing is proven for a player whose commands all wait for rows.
  const absent = group.absent.filter(({ player }) => group.players.has(player))
  const insertions = group.insertions((player) => players.of(player))

  if (!isProving && changed.length === 0 && insertions.length === 0) return undefined

  const isProven = absent.length > 0 ? presentIsNot : held
  const sections: Sql[] = [
    sql`held AS MATERIALIZED (SELECT ${join(conditions(group, isProving), ' AND ')} AS yes)`,
    ...(absent.length > 0 ? [present(absent, players)] : []),
    ...(changed.length > 0 || insertions.length > 0 ? [prove(group, changed, isProven)] : []),
    ...(checked.length > 0 ? [check(checked, changed.length, isProven)] : []),
    ...insertions.map((insertion, index) => sql`${plain(`w${index} AS (`)}${insertion})`),
  ]
  const { form, values } = compose(sql`WITH ${join(sections, ',\n  ')}
  SELECT ARRAY (${unproven(players)}), (SELECT yes FROM held), extract(epoch FROM clock_timestamp()) * 1000
    ${absent.length > 0 ? plain(', (SELECT players FROM present)') : NOTHING}`)
  return {
    changed,
    statement: {
      name: nameOf(form),
      text: form.text,
      values,
      take([row]: Row[]) {
        const [numbers, isHeld, clock, existing] = row ?? []
        const unproven = new Set<Player>()
        const outdated: Player[] = []
        for (const n of numbers) {
          const player = (n <= changed.length ? changed[n - 1] : checked[n - 1 - changed.length]) as Player
          unproven.add(player)
          if (isHeld && !existing?.includes(n)) outdated.push(player)
        }
        take({ clockMs: Number(clock), unproven, outdated })
      },
    },
  }
}

function numbered(group: Group, isProving: boolean): Numbered {
  const changed = group.changed()
  const numbers = new Map(changed.map((player, index) => [player, index + 1]))
  const checked = isProving ? [...group.players].filter((player) => !numbers.has(player)) : []
  for (const player of checked) numbers.set(player, numbers.size + 1)
  return {
    changed,
    checked,
    of(player) {
      const n = numbers.get(player)
      if (n === undefined) throw new Error('a row is written for a player that the group does not prove')
      return n
    },
  }
}

/** What must hold for the whole group: the clock, and the rows without a player that it rests on. */
function conditions(group: Group, isProving: boolean): Sql[] {
  if (!isProving) return [plain('true')]
  const clock = sql`abs(extract(epoch FROM now()) * 1000 - ${String(group.clockMs)}::float8) < ${plain(String(CLOCK_TOLERANCE_MS))}`
  return [
    clock,
    ...[...groupBy(group.preconditions.values(), ({ table }) => table)].map(
      ([table, rows]) => sql`NOT EXISTS (
      SELECT FROM unnest(${arrayOf(rows, ({ environmentId }) => environmentId)}::uuid[],
        ${arrayOf(rows, ({ id }) => text.encode(id))}::text[],
        ${arrayOf(rows, ({ revision }) => revision)}::bigint[]) AS p(environment_id, id, revision)
      WHERE p.revision IS DISTINCT FROM (
        SELECT revision FROM ${plain(table)} s WHERE s.environment_id = p.environment_id AND s.id = p.id
      )
    )`,
    ),
  ]
}

/** The numbers of the players for whom a row exists that was assumed absent. */
function present(absent: readonly One<unknown>[], players: Numbered): Sql {
  const found = [...groupBy(absent, ({ read }) => read)].map(([read, slots]) =>
    read.present(
      slots,
      slots.map(({ player }) => players.of(player)),
    ),
  )
  return sql`present AS MATERIALIZED (SELECT ARRAY (${join(found, ' UNION ALL ')}) AS players)`
}

/** Gives the new version to the changed players whose version is the remembered one. */
const prove = (group: Group, changed: readonly Player[], isProven: IsProven): Sql => sql`proven AS (
    UPDATE player_versions v SET version = ${group.version}::bigint FROM ${found(changed)}
    WHERE v.ctid = f.at AND v.version = k.version AND ${isProven(plain('k.n'))}
    RETURNING k.n, v.environment_id, v.player_id
  )`

/** Compares the versions of players whose commands changed nothing. Their numbers follow those of the changed ones. */
function check(checked: readonly Player[], changed: number, isProven: IsProven): Sql {
  const n = sql`(k.n + ${String(changed)}::int)`
  return sql`checked AS (
    SELECT ${n} AS n FROM ${found(checked)} WHERE f.version = k.version AND ${isProven(n)}
  )`
}

/** The remembered versions `k` of players, numbered from 1, each with its row `f`. */
function found(players: readonly Player[]): Sql {
  const environments = [...new Set(players.map(({ environmentId }) => environmentId))]
  return sql`unnest(${arrayOf(players, ({ environmentId }) => String(environments.indexOf(environmentId) + 1))}::int[],
      ${arrayOf(players, ({ playerId }) => playerId)}::uuid[],
      ${arrayOf(players, ({ version }) => version ?? 'NULL')}::bigint[])
      WITH ORDINALITY AS k(environment, player_id, version, n)
    CROSS JOIN LATERAL (
      SELECT ctid AS at, version FROM player_versions f
      WHERE f.environment_id = (${arrayOf(environments, String)}::uuid[])[k.environment] AND f.player_id = k.player_id
      LIMIT 1
    ) AS f`
}

type IsProven = (n: Sql) => Sql

const held: IsProven = () => plain('(SELECT yes FROM held)')
const presentIsNot: IsProven = (n) => sql`(SELECT yes FROM held) AND ${n} <> ALL ((SELECT players FROM present)::int[])`

/** The numbers of the players who were not proven. */
function unproven({ changed, checked }: Numbered): Sql {
  const all = sql`SELECT n::int FROM generate_series(1, ${String(changed.length + checked.length)}::int) AS n`
  const proven = [
    ...(changed.length > 0 ? [plain('SELECT n::int FROM proven')] : []),
    ...(checked.length > 0 ? [plain('SELECT n::int FROM checked')] : []),
  ]
  return join([all, ...proven], ' EXCEPT ')
}

const NOTHING = plain('')

/** Most groups write a few combinations of tables. Rarer ones are not prepared: each takes memory per connection. */
const MAX_PREPARED = 64
let prepared = 0

/** The name under which connections prepare a statement, if it is one of the first. */
function nameOf(form: Form): string | undefined {
  if (form.name === undefined && prepared < MAX_PREPARED) {
    form.name = `write-${prepared}`
    prepared += 1
  }
  return form.name
}
