import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endWithTests } from './children.ts'
import { freePort } from './free-port.ts'
import { execute } from './sql.ts'
import { until } from './until.ts'

const DEBIAN = '/usr/lib/postgresql'
export const [bin] = (existsSync(DEBIAN) ? readdirSync(DEBIAN) : [])
  .sort((a, b) => Number(b) - Number(a))
  .map((version) => `${DEBIAN}/${version}/bin`)
  .filter((path) =>
    ['initdb', 'postgres', 'pg_basebackup', 'pg_dump', 'pg_restore'].every((name) => existsSync(join(path, name))),
  )
/** Postgres does not run as root. */
export const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Why tests with Debian's Postgres cannot run here; an empty text when they can. */
export const withoutSystemPostgres = bin === undefined ? 'SKIPPED, postgresql is not installed: ' : ''

/** Debian's Postgres with its tools, for one test. The embedded Postgres has no pg_dump. */
export interface SystemPostgres {
  readonly url: string
  /** The folder of pg_dump and pg_restore. */
  readonly bin: string
  readonly port: number
  stop(): Promise<void>
}

/** In PEM. */
export interface ServerCertificate {
  readonly key: string
  readonly cert: string
}

/** Starts it with a database and a superuser of one name. With a certificate, it takes only connections with TLS. */
export async function startSystemPostgres(name: string, certificate?: ServerCertificate): Promise<SystemPostgres> {
  const path = bin ?? ''
  const home = await mkdtemp(join(tmpdir(), 'tierway-postgres-'))
  if (NOBODY.uid !== undefined) await chown(home, NOBODY.uid, NOBODY.gid)
  await chmod(home, 0o700)
  const data = join(home, 'data')
  const options = ['--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', `--username=${name}`]
  const made = spawnSync(join(path, 'initdb'), [...options, '-D', data], { ...NOBODY, encoding: 'utf8', cwd: home })
  if (made.status !== 0) throw new Error(`initdb failed:\n${made.stderr}`)
  if (certificate) {
    for (const [file, text] of Object.entries({ 'server.key': certificate.key, 'server.crt': certificate.cert })) {
      await writeFile(join(data, file), text, { mode: 0o600 })
      if (NOBODY.uid !== undefined) await chown(join(data, file), NOBODY.uid, NOBODY.gid)
    }
    await writeFile(join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 trust\n')
  }
  const port = await freePort()
  const settings = [
    `ssl=${certificate ? 'on' : 'off'}`,
    'fsync=off',
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
  ]
  const child = spawn(join(path, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
    ...NOBODY,
    cwd: home,
    stdio: 'ignore',
  })
  endWithTests(child)
  const admin = `postgres://${name}@127.0.0.1:${port}/postgres${certificate ? '?sslmode=no-verify' : ''}`
  await until('Postgres accepts connections', () => execute(admin, 'SELECT 1').then(always, never))
  await execute(admin, `CREATE DATABASE ${name}`)
  return {
    url: `postgres://${name}@127.0.0.1:${port}/${name}`,
    bin: path,
    port,
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve))
      // The fast shutdown: sessions end at once.
      child.kill('SIGINT')
      await ended
      await rm(home, { recursive: true, force: true })
    },
  }
}

const always = (): boolean => true
const never = (): boolean => false
