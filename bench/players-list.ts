import { cpus, loadavg } from 'node:os'
import type { Pool } from 'pg'
import { countPlayers, type PlayerSearch, searchPlayers } from '../src/accounts/lists/search-players.ts'
import type { ListPosition, PlayerPage } from '../src/accounts/lists/statements.ts'
import { createPool } from '../src/db/pool.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { createWorld } from '../test/harness/service.ts'
import { withClient } from './database.ts'

// The speed of each filter, order and search of `Query.players` with a million players in an environment. README.md
// explains the table.

const LIMIT_MS = 20
const SAMPLES = 21
const WARM_UPS = 3
const BATCH = 100_000
const PAGE = 51
const PASS = {
  scenarioId: 'season-1',
  nodeId: 'pass',
  levels: Array.from({ length: 99 }, (_, index) => ({ level: index + 1, xp: BigInt(index + 1) * 100n })),
}
const DAY_MS = 86_400_000

const number = (flag: string, otherwise: number): number => {
  const at = process.argv.indexOf(flag)
  const given = at === -1 ? otherwise : Number(process.argv[at + 1])
  if (Number.isInteger(given) && given > 0) return given
  throw new Error(`${flag} takes a whole number`)
}
const players = number('--players', 1_000_000)
const print = (text: string): void => void process.stdout.write(`${text}\n`)
const cleanUps: (() => unknown)[] = []

/** A year of players: names of two words and a number, one in five with premium, high levels rare. */
async function fill(url: string, environmentId: string): Promise<void> {
  const started = performance.now()
  const now = Date.now()
  await withClient(url, async (client) => {
    await client.query('SET synchronous_commit = off')
    await client.query('SET tierway.keeps_versions = on')
    for (let from = 0; from < players; from += BATCH) {
      const values = [environmentId, from, Math.min(from + BATCH, players), players, new Date(now)]
      // The same for every statement: the values of player n.
      const player = `generate_series($2::int, $3::int - 1) n, LATERAL (SELECT
        $5::timestamptz - (($4::int - n) * interval '365 days' / $4::int) AS at) a, LATERAL (SELECT
        (lpad(to_hex((extract(epoch FROM a.at) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || substr(md5(n::text), 18))::uuid AS id) i`
      await client.query(
        `INSERT INTO players (environment_id, id, nickname, region, language, status, created_at)
         SELECT $1, i.id,
           (ARRAY['Brave','Silent','Crimson','Élan','Shadow','Lucky','Iron','Frost'])[1 + hashint4(n) & 7] || ' ' ||
           (ARRAY['Wolf','Knight','Dragon','Piñata','Falcon','Ranger','Witch','Titan'])[1 + (hashint4(n + 7) & 7)] || ' ' ||
           substr(md5(n::text), 1, 4),
           CASE WHEN n % 50000 = 0 THEN 'antarctica' ELSE (ARRAY['eu','us','asia','latam'])[1 + n % 4] END,
           (ARRAY['en','de','fr','pt-BR','ja'])[1 + n % 5], CASE WHEN n % 1000 = 7 THEN 'banned' ELSE 'active' END, a.at
         FROM ${player}`,
        values,
      )
      await client.query(
        `INSERT INTO last_logins (environment_id, player_id, logged_in_at)
         SELECT $1, i.id, a.at + ($5::timestamptz - a.at) * power((hashint4(n + 3) & 65535) / 65536.0, 3) FROM ${player} WHERE n % 20 > 0`,
        values,
      )
      await client.query(
        `INSERT INTO passes (environment_id, player_id, scenario_id, node_id, xp, level, premium_owned)
         SELECT $1, i.id, 'season-1', 'pass', l.level * 100, l.level, n % 5 = 1
         FROM ${player}, LATERAL (SELECT floor(100 * power((hashint4(n + 5) & 65535) / 65536.0, 4))::int AS level) l WHERE n % 10 > 0`,
        values,
      )
    }
    print(
      `filled with ${players.toLocaleString('en')} players in ${((performance.now() - started) / 1000).toFixed(0)} s`,
    )
    await client.query('VACUUM ANALYZE')
  })
}

interface Row {
  readonly name: string
  readonly search: Partial<PlayerSearch>
  readonly page?: Partial<PlayerPage>
}

const ago = (days: number): Date => new Date(Date.now() - days * DAY_MS)

const ROWS: readonly Row[] = [
  { name: 'nothing', search: {} },
  { name: 'status: banned (0.1 %)', search: { status: 'banned' } },
  { name: 'region: a common one', search: { region: 'eu' } },
  { name: 'region: a rare one', search: { region: 'antarctica' } },
  { name: 'language', search: { language: 'pt-BR' } },
  { name: 'created: a day, long ago', search: { createdFrom: ago(200), createdTo: ago(199) } },
  { name: 'created: until half a year ago', search: { createdTo: ago(182) } },
  { name: 'last login: the last hour', search: { lastLoginFrom: ago(1 / 24) } },
  { name: 'last login: the last 30 days', search: { lastLoginFrom: ago(30) } },
  { name: 'last login: not for 60 days', search: { lastLoginTo: ago(60) } },
  { name: 'premium', search: { pass: PASS, premium: true } },
  { name: 'no premium', search: { pass: PASS, premium: false } },
  { name: 'level: 1 and more', search: { pass: PASS, levelFrom: 1 } },
  { name: 'level: 99 and more (rare)', search: { pass: PASS, levelFrom: 99 } },
  {
    name: 'level: 50 to 60, premium, region',
    search: { pass: PASS, premium: true, levelFrom: 50, levelTo: 60, region: 'us' },
  },
  { name: 'by last login', search: {}, page: { sortBy: 'last login' } },
  { name: 'by last login, ascending', search: {}, page: { sortBy: 'last login', direction: 'ascending' } },
  { name: 'by last login: not for 60 days', search: { lastLoginTo: ago(60) }, page: { sortBy: 'last login' } },
  { name: 'by level', search: { pass: PASS }, page: { sortBy: 'level' } },
  { name: 'by level, ascending', search: { pass: PASS }, page: { sortBy: 'level', direction: 'ascending' } },
  { name: 'by level: premium, region', search: { pass: PASS, premium: true, region: 'eu' }, page: { sortBy: 'level' } },
  { name: 'search anywhere: a common word', search: { text: 'dragon' } },
  { name: 'search anywhere: an accent (1 in 8)', search: { text: 'pinata' } },
  { name: 'search anywhere: one in 4,000', search: { text: '3fa' } },
  { name: 'search anywhere: a whole name', search: { text: 'Wolf 3fa1' } },
  { name: 'search anywhere: nobody', search: { text: 'nobody at all' } },
  { name: 'search prefix: one letter', search: { text: 'b' } },
  { name: 'search prefix: nobody', search: { text: 'qx' } },
  { name: 'search anywhere, by last login', search: { text: '3fa' }, page: { sortBy: 'last login' } },
  { name: 'search anywhere, by level', search: { text: 'dragon', pass: PASS }, page: { sortBy: 'level' } },
  { name: 'by last login: a rare region', search: { region: 'antarctica' }, page: { sortBy: 'last login' } },
  {
    name: 'by level: language, not for 60 days',
    search: { pass: PASS, language: 'ja', lastLoginTo: ago(60) },
    page: { sortBy: 'level' },
  },
  { name: 'two words (1 in 64), by last login', search: { text: 'brave wolf' }, page: { sortBy: 'last login' } },
  {
    name: 'a common word, premium, region',
    search: { text: 'dragon', pass: PASS, premium: true, region: 'us' },
  },
  // Players with premium speak another language. No index covers that, and the page ends early.
  { name: 'nobody, of two that are common', search: { pass: PASS, premium: true, language: 'ja' } },
]

const cell = (text: string, width = 13): string => text.padStart(width)

async function measure(task: (sample: number) => Promise<unknown>): Promise<{ p50: number; p95: number }> {
  const times: number[] = []
  for (let sample = -WARM_UPS; sample < SAMPLES; sample += 1) {
    const started = performance.now()
    await task(sample)
    if (sample >= 0) times.push(performance.now() - started)
  }
  times.sort((a, b) => a - b)
  return { p50: times[SAMPLES >> 1] ?? 0, p95: times[Math.floor(SAMPLES * 0.95)] ?? 0 }
}

/** A place in the middle of a list. */
async function deepPlace(pool: Pool, search: PlayerSearch, page: Partial<PlayerPage>): Promise<ListPosition | null> {
  const { sortBy = 'created', direction = 'descending' } = page
  if (search.text != null) return null
  const found: ListPosition[] = []
  for (let after: ListPosition | null = null; found.length < 20_000; ) {
    const { positions, stoppedAt } = await searchPlayers(pool, search, { after, limit: 1_000, sortBy, direction })
    found.push(...positions)
    after = stoppedAt ?? (positions.length === 1_000 ? (positions.at(-1) ?? null) : null)
    if (!after) break
  }
  return found.length < 2 * PAGE ? null : (found[found.length >> 1] ?? null)
}

const show = ({ p50, p95 }: { p50: number; p95: number }): string =>
  cell(p50.toFixed(1)) + cell(p95.toFixed(1)) + (p50 > LIMIT_MS ? ' *' : '  ')

async function main(): Promise<void> {
  let url = process.env.DATABASE_URL
  if (!url) {
    const postgres = await startDurablePostgres()
    cleanUps.push(() => postgres.remove())
    url = postgres.url
  }
  const world = await createWorld(url)
  cleanUps.push(() => world.close())
  const { environmentId } = world
  await fill(url, environmentId)
  const pool = createPool({ url, connections: 2, onError: () => {} })
  cleanUps.push(() => pool.end())
  print(
    `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}; load ${loadavg()[0]?.toFixed(1)}`,
  )
  print(`Pages of ${PAGE - 1}, in ms; * is above ${LIMIT_MS}.`)
  print(
    `${''.padEnd(40)}${cell('first p50')}${cell('p95')}  ${cell('deep p50')}${cell('p95')}  ${cell('count p50')}${cell('p95')}`,
  )
  for (const { name, search, page = {} } of ROWS) {
    const list: PlayerSearch = { environmentId, text: null, status: null, ...search }
    const ask = (after: ListPosition | null) => () => searchPlayers(pool, list, { limit: PAGE, ...page, after })
    try {
      const first = await measure(ask(null))
      const place = await deepPlace(pool, list, page)
      const deep = place === null ? cell('', 28) : show(await measure(ask(place)))
      const count = await measure(() => countPlayers(pool, list, page.sortBy))
      print(`${name.padEnd(40)}${show(first)}${deep}${show(count)}`)
    } catch (error) {
      print(`${name.padEnd(40)}  ${error instanceof Error ? error.message : error}`)
    }
  }
}

try {
  await main()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`)
  process.exitCode = 1
} finally {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
}
process.exit()
