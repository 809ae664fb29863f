import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg, { type Pool } from 'pg'
import { DEFAULT_PROVIDER } from '../accounts/providers/provider-ref.ts'
import { Refusal } from '../base/errors.ts'
import type { Secrets } from '../base/secrets.ts'
import { createPlatformKey, createSdkKey } from '../callers/keys.ts'
import { createProject } from '../callers/projects.ts'
import { publishScenario, readScenario } from '../operations/publishing/publish.ts'
import { DEMO_LOGIN_PATH, type DemoOperator } from './demo-operator.ts'
import { demoSeason, rankedSeason } from './season.ts'

/** The contents of `.tierway/demo.json`: everything that a first call needs. */
export interface Demo {
  readonly baseUrl: string
  readonly projectId: string
  readonly environment: string
  readonly environmentId: string
  readonly sdkKey: string
  readonly platformKey: string
  /** A season that takes any xp from clients, and one that leaves most of it to game servers. */
  readonly scenarioId: string
  readonly rankedScenarioId: string
  /** The pass of either. */
  readonly passNodeId: string
  readonly customData: Readonly<Record<string, string>>
}

const ENVIRONMENT = 'production'
const SCENARIO = 'season-1'
const RANKED = 'ranked-1'

const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

export async function readDemo(dataDir: string): Promise<Demo | undefined> {
  const text = await readFile(demoFile(dataDir), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

/** The demo. Throws an error that says how to start it. */
export async function requireDemo(dataDir: string): Promise<Demo> {
  const demo = await readDemo(dataDir)
  if (demo) return demo
  throw new Error(
    `There is no demo in ${dataDir}: run \`npx tierway serve\` (or \`npm start\`) in another terminal first. ` +
      'If the service runs with another TIERWAY_DATA_DIR, set the same one here.',
  )
}

export interface SeedOptions {
  readonly pool: Pool
  readonly secrets: Secrets
  readonly dataDir: string
  readonly baseUrl: string
  /** The demo studio, which names the players of logins. */
  readonly operator: DemoOperator
}

/** An advisory lock of our database. The migrator has another one. */
const DEMO_LOCK = 4_001

export interface SharedDemo {
  /** Undefined while another service still creates it. */
  readonly demo: Demo | undefined
  close(): Promise<void>
}

/**
 * One of the services with the same folder runs the demo: its webhook answers the logins, and its address is in
 * `demo.json`. When it ends, the next one takes over.
 */
export async function shareDemo(url: string, options: SeedOptions, onTaken: () => void): Promise<SharedDemo> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const close = () => client.end().catch(() => undefined)
  const { rows } = await client.query('SELECT pg_try_advisory_lock($1) AS first', [DEMO_LOCK])
  if (rows[0]?.first) return { demo: await seedDemo(options), close }
  client
    .query('SELECT pg_advisory_lock($1)', [DEMO_LOCK])
    .then(() => seedDemo(options))
    // The connection was closed meanwhile, or lost in a crash: then another service takes the demo.
    .then(onTaken, () => undefined)
  return { demo: await readDemo(options.dataDir), close }
}

/** Creates the demo project unless it exists. Writes its keys and the service's address to `demo.json`. */
export async function seedDemo({ pool, secrets, dataDir, baseUrl, operator }: SeedOptions): Promise<Demo> {
  const known = await readDemo(dataDir)
  const there = known && (await isThere(pool, known)) ? known : await createDemo(pool)
  const demo = { ...there, baseUrl }
  await setOperator(pool, secrets, demo, operator)
  await mkdir(dataDir, { recursive: true })
  // Moved into place as a whole: a reader never sees half of it.
  const draft = `${demoFile(dataDir)}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, demoFile(dataDir))
  return demo
}

/** Publishes the season of the demo, unless the scenario exists. */
export async function ensureScenario(pool: Pool, environmentId: string, scenarioId: string): Promise<void> {
  try {
    await readScenario(pool, { environmentId, scenarioId }, null)
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind !== 'scenarioNotFound') throw error
    await publishScenario(pool, { environmentId, scenarioId }, demoSeason())
  }
}

/** The file may have outlived its database. */
async function isThere(pool: Pool, { projectId }: Demo): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM projects WHERE id = $1', [projectId])
  return rowCount === 1
}

/** Points the provider `default` to the operator's current address, unless another provider was set in its place. */
async function setOperator(
  pool: Pool,
  secrets: Secrets,
  { projectId, environmentId }: Demo,
  { url, secret }: DemoOperator,
): Promise<void> {
  const name = DEFAULT_PROVIDER
  const sealed = secrets.seal(secret, { projectId, environmentId, kind: 'custom', name })
  await pool.query(
    `INSERT INTO auth_providers AS p (environment_id, kind, name, enabled, url, secret)
     VALUES ($1, 'custom', $2, true, $3, $4)
     ON CONFLICT (environment_id, kind, name) DO UPDATE
     SET url = excluded.url, secret = excluded.secret, updated_at = now() WHERE p.url LIKE $5`,
    [environmentId, name, url, sealed, `http://127.0.0.1:%${DEMO_LOGIN_PATH}`],
  )
}

async function createDemo(pool: Pool): Promise<Omit<Demo, 'baseUrl'>> {
  const { projectId, environments } = await createProject(pool, {
    name: 'Demo',
    environments: [ENVIRONMENT, 'staging'],
  })
  const environmentId = environments.get(ENVIRONMENT) ?? ''
  await publishScenario(pool, { environmentId, scenarioId: SCENARIO }, demoSeason())
  await publishScenario(pool, { environmentId, scenarioId: RANKED }, rankedSeason())
  const sdk = await createSdkKey(pool, environmentId)
  const platform = await createPlatformKey(pool, projectId, 'admin')
  return {
    projectId,
    environment: ENVIRONMENT,
    environmentId,
    sdkKey: sdk.key,
    platformKey: platform.key,
    scenarioId: SCENARIO,
    rankedScenarioId: RANKED,
    passNodeId: 'pass',
    customData: { player: 'demo' },
  }
}
