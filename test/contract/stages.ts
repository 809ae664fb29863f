import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { createDatabase } from '../harness/database.ts'
import { type Game, generateKeys, startGame } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { endService, ready, type Service, spawnService } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { openPool } from '../harness/sql.ts'
import { obey, type Stage } from './play.ts'

export interface OpenStage extends Stage {
  close(): Promise<void>
}

/** This version of the service. */
export async function openStage(): Promise<OpenStage & { readonly game: Game }> {
  const [game, operator] = await Promise.all([startGame(), startOperator(obey)])
  const other = await createProject(game.app.pool, { name: 'Other', environments: ['production', 'staging'] })
  const values = {
    projectId: game.projectId,
    adminKey: game.platformKey,
    operatorKey: await game.key('operator'),
    viewerKey: await game.key('viewer'),
    sdkKey: game.sdkKey,
    stagingSdkKey: game.stagingSdkKey,
    otherProjectId: other.projectId,
    otherAdminKey: (await createPlatformKey(game.app.pool, other.projectId, 'admin')).key,
    otherSdkKey: (await createSdkKey(game.app.pool, other.environments.get('production') ?? '')).key,
  }
  return {
    game,
    ...stage(game.baseUrl, operator, values, () => settled(game.app.pool)),
    async close() {
      await game.stop()
      await operator.close()
    },
  }
}

/** A build of the service: a version in its folder, or an image. */
export interface Build {
  /** What a command of `dist/cli.js` prints. */
  command(words: readonly string[], env: Readonly<Record<string, string>>): Promise<string>
  serve(env: Readonly<Record<string, string>>): Service
}

/** The build of another version, in a folder with its packages. */
export const versionIn = (root: string): Build => ({
  async command(words, env) {
    const options = { cwd: root, env: { ...process.env, ...env } }
    return (await promisify(execFile)(process.execPath, ['dist/cli.js', ...words], options)).stdout
  },
  serve: (env) => spawnService(env, root),
})

/** A build with a database and keys of its own, which it makes by its commands. */
export async function openBuild(build: Build, settle = settled): Promise<OpenStage> {
  const database = await createDatabase('template0')
  const env = { DATABASE_URL: database.url, WEBHOOK_PRIVATE_ADDRESSES: 'allow', ...(await generateKeys()) }
  const command = async (...words: string[]) => JSON.parse(await build.command([...words, '--json'], env))
  await command('migrate')
  const create = (project: string) => command('project', 'create', project, '--environment', 'production', 'staging')
  const { projectId } = await create('Test')
  const { projectId: otherProjectId } = await create('Other')
  const key = async (...words: string[]): Promise<string> => (await command('key', 'create', ...words)).key
  const values = {
    projectId,
    adminKey: await key('--kind', 'platform', '--project', projectId),
    operatorKey: await key('--kind', 'platform', '--project', projectId, '--role', 'operator'),
    viewerKey: await key('--kind', 'platform', '--project', projectId, '--role', 'viewer'),
    sdkKey: await key('--kind', 'sdk', '--project', projectId),
    stagingSdkKey: await key('--kind', 'sdk', '--project', projectId, '--environment', 'staging'),
    otherProjectId,
    otherAdminKey: await key('--kind', 'platform', '--project', otherProjectId),
    otherSdkKey: await key('--kind', 'sdk', '--project', otherProjectId),
  }
  const operator = await startOperator(obey)
  const service = await ready(build.serve(env))
  const pool = openPool(database.url)
  return {
    ...stage(service.baseUrl, operator, values, () => settle(pool)),
    async close() {
      await endService(service)
      await operator.close()
      await pool.end()
      await database.drop()
    },
  }
}

/** One key of storage more than a player may have. */
const keys1001 = Array.from({ length: 1001 }, (_, index) => `"key-${index}":0`).join(',')

function stage(baseUrl: string, operator: Operator, values: Record<string, string>, settle: Stage['settle']): Stage {
  return {
    ...{ baseUrl, operator, settle },
    values: new Map(Object.entries({ ...values, webhook: operator.url, secret: operator.secret, keys1001 })),
  }
}
