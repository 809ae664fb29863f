import type pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { createTokens, type TokenKey } from '../src/callers/tokens.ts'
import type { World } from '../test/harness/service.ts'
import type { LoadPlayer } from './load.ts'

// Players by the thousand. A few are made through the service; the others are copies of their rows.

/** Players that one statement copies. */
const BATCH = 2_000

/** Makes `count` copies of the players' current rows, in turn, each with a run and a token of its own. */
export async function copyPlayers(
  world: World,
  client: pg.ClientBase,
  originals: readonly { readonly playerId: string }[],
  count: number,
): Promise<LoadPlayer[]> {
  const players = await newPlayers(world, count)
  // New players have new versions from the database.
  await client.query('SET tierway.keeps_versions = on')
  const tables = await tablesOfPlayers(client)
  for (let start = 0; start < count; start += BATCH) {
    const batch = players.slice(start, start + BATCH)
    const ids = [
      batch.map((_, index) => originals[(start + index) % originals.length]?.playerId),
      batch.map(({ playerId }) => playerId),
      batch.map(({ runId }) => runId),
    ]
    const copy = (table: string, owner: string, changes: string) =>
      client.query(
        `INSERT INTO ${table} SELECT copied.*
         FROM unnest($2::uuid[], $3::uuid[], $4::uuid[]) AS k(original_id, player_id, run_id)
         JOIN ${table} AS original ON original.environment_id = $1 AND original.${owner} = k.original_id
         CROSS JOIN LATERAL jsonb_populate_record(original, jsonb_build_object(${changes})) AS copied`,
        [world.environmentId, ...ids],
      )
    await copy('players', 'id', `'id', k.player_id`)
    for (const table of tables) {
      // A run's own id; in other tables, the id of the run in which the row was made.
      const runId = table === 'runs' ? `'id'` : `'run_id'`
      await copy(table, 'player_id', `'player_id', k.player_id, ${runId}, k.run_id`)
    }
  }
  return players
}

/** Logs the players in: a refresh token in the database, and an access token that ends with it. */
export async function logIn(
  { pool, environmentId, env }: World,
  players: readonly LoadPlayer[],
): Promise<LoadPlayer[]> {
  const issue = await issuer({ pool, environmentId, env })
  const families = players.map(() => uuidv7())
  await pool.query(
    `INSERT INTO refresh_tokens (environment_id, hash, player_id, family_id, expires_at)
     SELECT $1, translate(encode(sha256(k.family_id::text::bytea), 'base64'), '+/=', '-_'), k.player_id, k.family_id,
       now() + interval '7 days'
     FROM unnest($2::uuid[], $3::uuid[]) AS k(player_id, family_id)`,
    [environmentId, players.map(({ playerId }) => playerId), families],
  )
  return Promise.all(
    players.map(async (player, index) => {
      const token = await issue(player.playerId, `${families[index]}.${uuidv7()}`)
      return { ...player, token }
    }),
  )
}

/** Ids, runs and tokens of new players. It writes no rows. */
export async function newPlayers(world: World, count: number): Promise<LoadPlayer[]> {
  const issue = await issuer(world)
  return Promise.all(
    Array.from({ length: count }, async () => {
      const playerId = uuidv7()
      return { playerId, runId: uuidv7(), token: await issue(playerId) }
    }),
  )
}

/** Issues access tokens as the service does. */
async function issuer({ pool, environmentId, env }: Pick<World, 'pool' | 'environmentId' | 'env'>) {
  const keys = JSON.parse(env.TOKEN_KEYS) as TokenKey[]
  const tokens = await createTokens({ keys, issuer: 'tierway', audience: 'tierway' })
  const { rows } = await pool.query('SELECT project_id FROM environments WHERE id = $1', [environmentId])
  const projectId: string = rows[0].project_id
  return (playerId: string, tokenId?: string): Promise<string> =>
    tokens.issueAccessToken({ environmentId, playerId, projectId, tokenId })
}

/** The tables with what players own. Events have their place in the stream and stay where they are. */
async function tablesOfPlayers(client: pg.ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c
     WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
       AND c.relname NOT IN ('events', 'unnumbered_events', 'player_versions') AND c.relname NOT LIKE 'bench%'
       AND (SELECT count(*) FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('environment_id', 'player_id')) = 2
     ORDER BY name`,
  )
  return rows.map(({ name }) => name)
}

/** A grant of xp: the node and the amount. */
export interface Gift {
  readonly scenarioId: string
  readonly nodeId: string
  readonly amount: number
}

export async function giveXp(
  { port }: { readonly port: number },
  { runId, token }: { readonly runId: string; readonly token: string },
  gift: Gift,
): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/sdk/v1/battlepass/xp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...gift, runId, source: 'bench' }),
  })
  if (!response.ok) throw new Error(`no xp was given: ${response.status} ${await response.text()}`)
}
