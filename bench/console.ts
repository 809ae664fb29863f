import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import type { Browser, Request } from 'playwright-core'
import { createPlatformKey } from '../src/callers/keys.ts'
import { createProgressBar } from '../src/dev/progress-bar.ts'
import { ensureScenario } from '../src/dev/seed.ts'
import { seedSeason } from '../src/dev/seed-season.ts'
import { sharedBrowser, withoutChromium } from '../test/harness/browser.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { buildService, createWorld, spawnService, stopService } from '../test/harness/service.ts'
import { until } from '../test/harness/until.ts'
import { withClient } from './database.ts'

// How fast the pages of the console are with many players. README.md explains the figures.

const { values: options } = parseArgs({
  options: {
    players: { type: 'string', default: '100000' },
    /** Each page is opened so often, and the median counts. */
    visits: { type: 'string', default: '5' },
  },
})
const PLAYERS = Number(options.players)
const VISITS = Number(options.visits)
const QUERY_LIMIT_MS = 150
const PAINT_LIMIT_MS = 1_000
const SCENARIO = 'season-1'
/** Without a call for so long, a page is complete. */
const QUIET_MS = 500

const ENVIRONMENT = '/env/production'
const pages = (playerId: string): readonly string[] => [
  ...['today', 'live', 'battle-pass', 'battle-pass?view=xp', 'battle-pass?view=tiers'],
  ...['players', 'players?search=an', `players/${playerId}`, `players/${playerId}/passes`, 'segments', 'grants'],
  ...['scenarios', `scenarios/${SCENARIO}`, `scenarios/${SCENARIO}/review`, 'calendar', 'boosts', 'providers', 'roles'],
]

interface Visit {
  readonly paintMs: number
  /** The slowest query: its name, and from the request to the end of its answer. */
  readonly query: string
  readonly queryMs: number
}

const median = <T>(values: readonly T[], of: (value: T) => number): T =>
  [...values].sort((a, b) => of(a) - of(b))[values.length >> 1] as T

async function fill(url: string, environmentId: string): Promise<void> {
  const bar = createProgressBar()
  await seedSeason({
    ...{ url, environmentId, scenarioId: SCENARIO, players: PLAYERS, days: 60, seed: 1, eventRetentionDays: 30 },
    onProgress: ({ doing, done, of }) => bar.draw(done, of, `${done.toLocaleString('en')} ${doing}`),
  })
  bar.clear()
  await withClient(url, async (client) => {
    // The service writes the ledger in the order of time, and the seed player by player: reads of a day rely on it.
    await client.query('CREATE INDEX by_time ON xp_ledger_first (created_at)')
    await client.query('CLUSTER xp_ledger_first USING by_time')
    await client.query('DROP INDEX by_time')
    await client.query('VACUUM ANALYZE')
  })
}

const nameOf = (request: Request): string => {
  const sent = request.postDataJSON() as { operationName?: string; query?: string } | null
  return sent?.operationName ?? /\b(?:query|mutation) (\w+)/.exec(sent?.query ?? '')?.[1] ?? ''
}

async function visit(browser: Browser, address: string, token: string): Promise<Visit> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  try {
    const page = await context.newPage()
    await page.addInitScript((text) => sessionStorage.setItem('tierway.operator-token', text), token)
    const queries: (readonly [name: string, ms: number])[] = []
    let last = performance.now()
    page.on('requestfinished', (request) => {
      last = performance.now()
      if (!request.url().endsWith('/graphql') || request.method() !== 'POST') return
      const { requestStart, responseEnd } = request.timing()
      queries.push([nameOf(request), responseEnd - requestStart])
    })
    await page.goto(address, { waitUntil: 'load' })
    await until('the page is complete', () => queries.length > 0 && performance.now() - last > QUIET_MS)
    const paintMs = await page.evaluate(
      `performance.getEntriesByType('paint').find(({ name }) => name === 'first-contentful-paint')?.startTime ?? NaN`,
    )
    const [query = '', queryMs = 0] = queries.sort(([, a], [, b]) => b - a)[0] ?? []
    return { paintMs: Number(paintMs), query, queryMs }
  } finally {
    await context.close()
  }
}

async function graphql(baseUrl: string, key: string, query: string) {
  const response = await fetch(`${baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ query }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: the queries say what is there.
  return ((await response.json()) as any).data
}

if (withoutChromium !== '') throw new Error(withoutChromium)
console.log('building')
await buildService()
const postgres = await startDurablePostgres()
const world = await createWorld(postgres.url)
let service: ReturnType<typeof spawnService> | undefined
let browser: Browser | undefined
try {
  const { rows } = await world.pool.query<{ url: string }>('SELECT current_database() AS url')
  const url = new URL(postgres.url)
  url.pathname = `/${rows[0]?.url}`
  await ensureScenario(world.pool, world.environmentId, SCENARIO)
  await fill(url.href, world.environmentId)
  const { rows: projects } = await world.pool.query<{ id: string }>(
    'SELECT project_id AS id FROM environments WHERE id = $1',
    [world.environmentId],
  )
  const { key } = await createPlatformKey(world.pool, projects[0]?.id ?? '', 'admin')
  const started = spawnService(world.env)
  service = started
  await until('the service is ready', () => started.baseUrl !== '' || started.exit !== undefined)
  const { baseUrl } = started
  const made = await graphql(
    baseUrl,
    key,
    'mutation { createOperatorToken(input: { actor: "bench", reason: "bench" }) { token } }',
  )
  const { token } = made.createOperatorToken
  const { players } = await graphql(
    baseUrl,
    key,
    '{ players(environment: "production", first: 1) { nodes { playerId } } }',
  )

  console.log(
    `${PLAYERS.toLocaleString('en')} players with sixty days of play, on ${cpus().length} cores (${cpus()[0]?.model.trim()}); load ${loadavg()[0]?.toFixed(1)}. The median of ${VISITS} visits with an empty cache.\n`,
  )
  console.log(`${'page'.padEnd(28)} ${'first paint'.padStart(12)} ${'slowest query'.padStart(14)}`)
  browser = await sharedBrowser()
  await visit(browser, `${baseUrl}/console${ENVIRONMENT}/today`, token)
  let above = 0
  for (const path of pages(players.nodes[0].playerId)) {
    const visits: Visit[] = []
    for (let time = 0; time < VISITS; time += 1)
      visits.push(await visit(browser, `${baseUrl}/console${ENVIRONMENT}/${path}`, token))
    const paint = median(visits, ({ paintMs }) => paintMs).paintMs
    const { query, queryMs } = median(visits, (one) => one.queryMs)
    const isAbove = paint > PAINT_LIMIT_MS || queryMs > QUERY_LIMIT_MS
    if (isAbove) above += 1
    const shown = path.replace(/players\/[\w-]{36}/, 'players/…')
    const figures = `${`${paint.toFixed(0)} ms`.padStart(12)} ${`${queryMs.toFixed(0)} ms`.padStart(14)}`
    console.log(`${shown.padEnd(28)} ${figures}  ${query}${isAbove ? ' ABOVE THE LIMIT' : ''}`)
  }
  console.log(
    `\nLimits: ${PAINT_LIMIT_MS} ms to the first paint, ${QUERY_LIMIT_MS} ms for a query. ${above} pages are above.`,
  )
} finally {
  await browser?.close()
  if (service) await stopService(service)
  await world.close()
  await postgres.remove()
}
