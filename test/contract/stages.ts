import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { type Game, generateKeys, startGame } from '../harness/game.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { spawnService, stopService } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { execute } from '../harness/sql.ts'
import { until } from '../harness/until.ts'
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

/** The build of another version, in a folder with its packages. */
export async function openVersion(root: string): Promise<OpenStage> {
  const { url: admin } = inject('postgres')
  const name = `tierway_version_${randomBytes(8).toString('hex')}`
  await execute(admin, `CREATE DATABASE ${name}`)
  const url = new URL(admin)
  url.pathname = `/${name}`
  const env = { DATABASE_URL: url.href, WEBHOOK_PRIVATE_ADDRESSES: 'allow', ...(await generateKeys()) }
  const command = async (...words: string[]) => {
    const options = { cwd: root, env: { ...process.env, ...env } }
    const { stdout } = await promisify(execFile)(process.execPath, ['dist/cli.js', ...words, '--json'], options)
    return JSON.parse(stdout)
  }
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
  const service = spawnService(env, root)
  await until('the service is ready', () => service.baseUrl !== '' || service.exit !== undefined)
  if (service.exit) throw new Error(service.output)
  return {
    // Before 0.2.0, events had their position with the call.
    ...stage(service.baseUrl, operator, values, async () => {}),
    async close() {
      await stopService(service)
      await operator.close()
      await execute(admin, `DROP DATABASE ${name} WITH (FORCE)`)
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
