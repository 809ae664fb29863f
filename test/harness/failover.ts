import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, readFileSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithTests } from './children.ts'
import { freePort } from './free-port.ts'
import { without } from './needs.ts'
import { execute } from './sql.ts'
import { bin, NOBODY, withoutSystemPostgres } from './system-postgres.ts'
import { until } from './until.ts'

const DEADLINE_MS = 120_000

/** Why tests of a failover cannot run here, as a prefix of their titles; an empty text when they can. */
export const withoutFailover = without('patroni', 'etcd', 'haproxy') || withoutSystemPostgres

/** How a primary dies. */
export type Death = 'its Postgres' | 'its machine'

/** A primary and a synchronous standby, with the configuration of ops/failover. */
export interface Cluster {
  /** Of the primary, by way of HAProxy. */
  readonly url: string
  /** Kills the primary. Resolves with the moment when `url` leads to its successor, by `performance.now()`. */
  killPrimary(death: Death): Promise<number>
  /** Starts what was killed, and resolves once a standby has all that the primary commits. */
  heal(): Promise<void>
  stop(): Promise<void>
}

interface Member {
  readonly name: string
  readonly data: string
  readonly url: string
  readonly patroniUrl: string
  readonly start: () => ChildProcess
  patroni: ChildProcess
}

const never = (): boolean => false

const read = (name: string): string => readFileSync(new URL(`../../ops/failover/${name}`, import.meta.url), 'utf8')

export async function startCluster(database: string): Promise<Cluster> {
  const home = await mkdtemp(join(tmpdir(), 'tierway-failover-'))
  if (NOBODY.uid !== undefined) chownSync(home, NOBODY.uid, NOBODY.gid)
  await chmod(home, 0o700)
  const output: string[] = []
  const children = new Set<ChildProcess>()
  function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const options = { ...NOBODY, cwd: home, env: { PATH: process.env.PATH, HOME: home, ...env } }
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output.push(String(chunk))
        output.splice(0, output.length - 200)
      })
    endWithTests(child)
    children.add(child)
    return child
  }
  async function file(name: string, text: string): Promise<string> {
    const path = join(home, name)
    await writeFile(path, text, { mode: 0o644 })
    return path
  }

  const [etcdPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const etcd = `http://127.0.0.1:${etcdPort}`
  const peer = `http://127.0.0.1:${peerPort}`
  run('etcd', [
    ...['--name', 'etcd', '--data-dir', join(home, 'etcd'), '--log-level', 'error', '--unsafe-no-fsync'],
    ...['--listen-client-urls', etcd, '--advertise-client-urls', etcd, '--listen-peer-urls', peer],
    ...['--initial-advertise-peer-urls', peer, '--initial-cluster', `etcd=${peer}`],
  ])

  const password = randomBytes(12).toString('hex')
  const shared = {
    PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcdPort}`,
    PATRONI_SUPERUSER_USERNAME: 'postgres',
    PATRONI_SUPERUSER_PASSWORD: password,
    PATRONI_REPLICATION_USERNAME: 'replicator',
    PATRONI_REPLICATION_PASSWORD: password,
    PATRONI_POSTGRESQL_BIN_DIR: bin ?? '',
  }
  // Deaths are noticed sooner than in production.
  const quick = { ttl: 5, loop_wait: 1, retry_timeout: 2 }
  const settings = Object.entries(quick).reduce(
    (text, [name, value]) => text.replace(new RegExp(`^( +${name}): \\d+$`, 'm'), `$1: ${value}`),
    // Sockets in the folder of the system belong to its own Postgres.
    `${read('patroni.yml')}  parameters:\n    unix_socket_directories: ''\n`,
  )
  let proxied = read('haproxy.cfg').replace('bind :5432', `bind 127.0.0.1:${port}`)
  const members: Member[] = []
  for (const name of ['postgres-1', 'postgres-2']) {
    const [own, rest] = [await freePort(), await freePort()]
    const data = join(home, name)
    const config = await file(`${name}.yml`, settings)
    const env = {
      ...shared,
      PATRONI_NAME: name,
      PATRONI_RESTAPI_LISTEN: `127.0.0.1:${rest}`,
      PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${rest}`,
      PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${own}`,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${own}`,
      PATRONI_POSTGRESQL_DATA_DIR: data,
      PATRONI_POSTGRESQL_PGPASS: join(home, `${name}.pgpass`),
    }
    proxied = proxied.replace(`${name}:5432 check port 8008`, `127.0.0.1:${own} check port ${rest}`)
    const start = () => run('patroni', [config], env)
    const url = `postgres://postgres:${password}@127.0.0.1:${own}/postgres`
    members.push({ name, data, url, patroniUrl: `http://127.0.0.1:${rest}`, start, patroni: start() })
  }
  run('haproxy', ['-db', '-f', await file('haproxy.cfg', proxied)])
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/${database}`

  const wait = (what: string, condition: () => Promise<boolean>) =>
    until(what, condition, { deadlineMs: DEADLINE_MS }).catch((error) => {
      throw new Error(`${error.message}\n${output.slice(-40).join('')}`)
    })
  const isPrimary = ({ url }: Pick<Member, 'url'>): Promise<boolean> =>
    execute(url, 'SELECT pg_is_in_recovery() AS is_standby').then(({ rows: [row] }) => row.is_standby === false, never)
  async function primary(): Promise<Member | undefined> {
    const found = await Promise.all(members.map(isPrimary))
    return members.find((_, index) => found[index])
  }
  const heal = async () => {
    for (const member of members) {
      const { exitCode, signalCode } = member.patroni
      if (exitCode !== null || signalCode !== null) member.patroni = member.start()
    }
    await wait('a synchronous standby follows the primary', async () => {
      const leader = await primary()
      const standby = members.find((member) => member !== leader)
      if (!leader || !standby) return false
      const follows = execute(leader.url, `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)
      // Patroni must have recorded it, too: else it promotes nobody.
      const [isFollowed, isRecorded] = await Promise.all([
        follows.then(({ rowCount }) => rowCount === 1, never),
        fetch(`${standby.patroniUrl}/sync`).then(({ ok }) => ok, never),
      ])
      return isFollowed && isRecorded
    })
  }

  await heal()
  await wait('HAProxy knows the primary', () =>
    execute(url.replace(/[^/]+$/, 'postgres'), `CREATE DATABASE ${database}`).then(() => true, never),
  )
  return {
    url,
    heal,
    async killPrimary(death) {
      const leader = await primary()
      if (!leader) throw new Error('there is no primary')
      const postmaster = postmasterOf(leader.data)
      if (postmaster === undefined) throw new Error('the primary does not run')
      if (death === 'its machine') {
        leader.patroni.kill('SIGKILL')
        for (const pid of childrenOf(postmaster)) kill(pid)
      }
      kill(postmaster)
      await wait('another server is the primary', async () => {
        const next = await primary()
        return next !== undefined && next !== leader
      })
      await wait('HAProxy leads to the new primary', () => isPrimary({ url }))
      return performance.now()
    },
    async stop() {
      for (const { patroni, data } of members) {
        patroni.kill('SIGKILL')
        const pid = postmasterOf(data)
        if (pid !== undefined) for (const each of [...childrenOf(pid), pid]) kill(each)
      }
      await Promise.all(
        [...children].map(async (child) => {
          if (child.exitCode !== null || child.signalCode !== null) return
          const ended = new Promise((resolve) => child.once('exit', resolve))
          child.kill('SIGKILL')
          await ended
        }),
      )
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    },
  }
}

function postmasterOf(data: string): number | undefined {
  const path = join(data, 'postmaster.pid')
  return existsSync(path) ? Number.parseInt(readFileSync(path, 'utf8'), 10) : undefined
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
