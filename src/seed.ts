import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { createPlatformKey, createSdkKey } from './auth/keys.ts'
import { createProject } from './projects/projects.ts'
import { publishScenario } from './scenario/publish.ts'
import { demoSeason } from './season.ts'

/** What `.tierway/demo.json` holds: all that a first call needs. */
export interface Demo {
  readonly baseUrl: string
  readonly projectId: string
  readonly environment: string
  readonly environmentId: string
  readonly sdkKey: string
  readonly platformKey: string
  readonly scenarioId: string
  readonly passNodeId: string
  readonly customData: Readonly<Record<string, string>>
}

const ENVIRONMENT = 'production'
const SCENARIO = 'season-1'

const demoFile = (dataDir: string): string => join(dataDir, 'demo.json')

export async function readDemo(dataDir: string): Promise<Demo | undefined> {
  const text = await readFile(demoFile(dataDir), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : JSON.parse(text)
}

/** Makes the demo project unless it is there; keeps its keys and the service's address in `demo.json`. */
export async function seedDemo(pool: Pool, dataDir: string, baseUrl: string): Promise<Demo> {
  const known = await readDemo(dataDir)
  const demo = { ...(known && (await isThere(pool, known)) ? known : await createDemo(pool)), baseUrl }
  await mkdir(dataDir, { recursive: true })
  // Moved into place whole: a reader never sees half of it.
  const draft = `${demoFile(dataDir)}.${process.pid}`
  await writeFile(draft, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 })
  await rename(draft, demoFile(dataDir))
  return demo
}

/** The file may have outlived its database. */
async function isThere(pool: Pool, { projectId }: Demo): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM projects WHERE id = $1', [projectId])
  return rowCount === 1
}

async function createDemo(pool: Pool): Promise<Omit<Demo, 'baseUrl'>> {
  const { projectId, environments } = await createProject(pool, {
    name: 'Demo',
    environments: [ENVIRONMENT, 'staging'],
  })
  const environmentId = environments.get(ENVIRONMENT) ?? ''
  await publishScenario(pool, { environmentId, scenarioId: SCENARIO }, demoSeason())
  const sdk = await createSdkKey(pool, environmentId)
  const platform = await createPlatformKey(pool, projectId, 'admin')
  return {
    projectId,
    environment: ENVIRONMENT,
    environmentId,
    sdkKey: sdk.key,
    platformKey: platform.key,
    scenarioId: SCENARIO,
    passNodeId: 'pass',
    customData: { player: 'demo' },
  }
}
