import { setTimeout as pause } from 'node:timers/promises'
import { createPlatformKey, createSdkKey } from '../../../src/callers/keys.ts'
import { createDatabase, type TestDatabase } from '../database.ts'
import { type Operator, startOperator } from '../operator.ts'
import { type PostgresProxy, type Saboteur, startProxy } from '../proxy.ts'
import { buildService, createWorld, type Service, startService, stopService, type World } from '../service.ts'
import { until } from '../until.ts'
import type { Random } from './random.ts'

// Two instances of the service as it is shipped, on one database, each through a proxy that fails on demand.

export interface Instance {
  readonly name: string
  readonly proxy: PostgresProxy
  service: Service
  /** False while it is down or starts. */
  isUp: boolean
}

export interface Cluster {
  readonly world: World
  readonly databaseUrl: string
  readonly projectId: string
  readonly environmentId: string
  readonly sdkKey: string
  readonly platformKey: string
  readonly instances: readonly [Instance, Instance]
  /** Ends an instance and starts another in its place, on the same proxy. */
  restart(instance: Instance, signal: NodeJS.Signals): Promise<void>
  /** Waits until the database has finished the work of all instances and closed every broken connection. */
  quiet(): Promise<void>
  close(): Promise<void>
}

/** Approves the player that `customData.player` names. The members of `customData.answer` are added to the answer. */
function startStudio(): Promise<Operator> {
  return startOperator((hit, response) => {
    const { player, answer } = JSON.parse(hit.customData)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ subject: player, ...answer }))
  })
}

export interface ClusterOptions {
  readonly saboteur?: Saboteur
  /** More variables of both services. */
  readonly env?: Readonly<Record<string, string>>
}

export async function startCluster({ saboteur, env = {} }: ClusterOptions = {}): Promise<Cluster> {
  await buildService()
  const database: TestDatabase = await createDatabase()
  const world = await createWorld(database.url)
  const { pool, environmentId } = world
  const studio = await startStudio()
  const { rows } = await pool.query<{ project_id: string }>('SELECT project_id FROM environments WHERE id = $1', [
    environmentId,
  ])
  const projectId = rows[0]?.project_id ?? ''
  const platformKey = (await createPlatformKey(pool, projectId, 'admin')).key
  const sdkKey = (await createSdkKey(pool, environmentId)).key

  const start = (proxy: PostgresProxy) =>
    startService({ ...world.env, DATABASE_URL: proxy.url, WEBHOOK_PRIVATE_ADDRESSES: 'allow', ...env })

  async function startInstance(name: string): Promise<Instance> {
    const proxy = await startProxy(database.url, { saboteur })
    return { name, proxy, service: await start(proxy), isUp: true }
  }
  const instances = await Promise.all([startInstance('a'), startInstance('b')])

  const provided = await fetch(`${instances[0].service.baseUrl}/platform/v1/projects/${projectId}/auth-providers`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${platformKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      environment: 'production',
      authProviders: { custom: { default: { enabled: true, url: studio.url, secret: studio.secret } } },
    }),
  })
  if (provided.status !== 200) throw new Error(`the studio's webhook was not accepted: ${await provided.text()}`)

  return {
    world,
    databaseUrl: database.url,
    projectId,
    environmentId,
    sdkKey,
    platformKey,
    instances,
    async restart(instance, signal) {
      // An instance that stops in order answers calls until it ends.
      if (signal === 'SIGKILL') instance.isUp = false
      instance.service.kill(signal)
      await instance.service.exited
      instance.isUp = false
      instance.service = await start(instance.proxy)
      instance.isUp = true
    },
    async quiet() {
      const broken = instances.flatMap(({ proxy }) => [...proxy.broken])
      const values = [broken.map(([port]) => port), broken.map(([, at]) => at)]
      let calm = 0
      let busy: unknown[] = []
      await until('the database has done all that it was sent', async () => {
        const { rows } = await pool.query(
          `SELECT state, wait_event, client_port, left(query, 60) AS query FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
             AND (state <> 'idle' OR EXISTS (
               SELECT FROM unnest($1::int[], $2::float8[]) AS b (port, at)
               WHERE b.port = client_port AND backend_start <= to_timestamp(b.at / 1000)
             ))`,
          values,
        )
        busy = rows
        calm = busy.length === 0 ? calm + 1 : 0
        return calm > 1
      }).catch((error: Error) => {
        throw new Error(`${error.message}: ${JSON.stringify(busy)}`)
      })
      for (const { proxy } of instances) proxy.broken.clear()
    },
    async close() {
      await Promise.all(instances.map(({ service }) => stopService(service)))
      await Promise.all(instances.map(({ proxy }) => proxy.close()))
      await studio.close()
      await world.close()
      await database.drop()
    },
  }
}

/** The faults that a round can have. */
export const FAULTS = [
  'none',
  'cut',
  'cut within messages',
  'lost answers',
  'frozen',
  'all',
  'killed',
  'stopped',
] as const
export type Fault = (typeof FAULTS)[number]

type Blow = Extract<Fault, 'cut' | 'cut within messages' | 'lost answers' | 'frozen'>
const BLOWS: readonly Blow[] = ['cut', 'cut within messages', 'lost answers', 'frozen']

/**
 * Breaks connections of the instances in one way, or in all, until `isOver`. `acknowledged` counts the calls that were
 * answered: one more comes before the next fault, or no call would ever come through on a slow machine.
 */
export async function breakConnections(
  { instances }: Cluster,
  fault: Fault,
  random: Random,
  isOver: () => boolean,
  tell: (what: string) => void,
  acknowledged: () => number,
): Promise<void> {
  if (fault === 'none' || fault === 'killed' || fault === 'stopped') return
  let before = -1
  while (!isOver()) {
    await pause(random.int(20, 120))
    const now = acknowledged()
    if (now === before) continue
    before = now
    const { proxy, name } = random.one(instances)
    const blow = fault === 'all' ? random.one(BLOWS) : fault
    tell(`${blow} (${name})`)
    if (blow === 'cut') proxy.cut()
    if (blow === 'cut within messages') proxy.cutAfter(random.int(1, 6_000), random.one(['sent', 'answered']))
    if (blow === 'lost answers') proxy.swallowWrites(1)
    if (blow === 'frozen') {
      proxy.pause()
      await pause(random.int(20, 250))
      proxy.resume()
    }
  }
  for (const { proxy } of instances) proxy.calm()
}
