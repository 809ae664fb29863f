import { spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../src/base/config.ts'
import { startCommandLine } from '../harness/command-line.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { generateKeys, type Keys } from '../harness/game.ts'
import { without } from '../harness/needs.ts'
import { buildService, type Service, spawnService, startService, stopService } from '../harness/service.ts'
import { execute } from '../harness/sql.ts'
import { type SystemPostgres, startSystemPostgres, withoutSystemPostgres } from '../harness/system-postgres.ts'

const skipped = withoutSystemPostgres || without('openssl')

let folder: string
/** The path of the file with the certificate of the authority, and of one that has signed nothing. */
let authority: string
let stranger: string
let postgres: SystemPostgres
let plain: TestDatabase
let keys: Keys

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', cwd: folder })
  if (status !== 0) throw new Error(stderr)
}

function makeAuthority(name: string): string {
  const subject = ['-subj', `/CN=${name}`]
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    ...subject,
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.pem`,
  )
  return join(folder, `${name}.pem`)
}

/** The lines that say why a start failed. */
async function failureOf(env: Readonly<Record<string, string>>): Promise<string> {
  const service = spawnService({ ...keys, ...env })
  expect(await service.exited).toEqual({ code: 1, signal: null })
  const lines = service.output.trim().split('\n')
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0] ?? '').msg
}

describe.skipIf(skipped !== '')(`${skipped}TLS to Postgres (docs/operations.md)`, () => {
  beforeAll(async () => {
    await buildService()
    keys = await generateKeys()
    folder = await mkdtemp(join(tmpdir(), 'tierway-tls-'))
    authority = makeAuthority('authority')
    stranger = makeAuthority('stranger')
    openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=postgres',
      '-keyout',
      'server.key',
      '-out',
      'server.csr',
    )
    // Not for 127.0.0.1, where it listens, too.
    await writeFile(join(folder, 'names'), 'subjectAltName=DNS:localhost')
    const signed = [
      '-CA',
      'authority.pem',
      '-CAkey',
      'authority.key',
      '-CAcreateserial',
      '-days',
      '1',
      '-extfile',
      'names',
    ]
    openssl('x509', '-req', '-in', 'server.csr', ...signed, '-out', 'server.crt')
    const read = (name: string) => readFile(join(folder, name), 'utf8')
    postgres = await startSystemPostgres('tierway', { key: await read('server.key'), cert: await read('server.crt') })
    plain = await createDatabase()
  })
  afterAll(async () => {
    await postgres?.stop()
    await plain?.drop()
    if (folder) await rm(folder, { recursive: true })
  })

  const urlOf = (host: string, query = '') => `postgres://tierway@${host}:${postgres.port}/tierway${query}`

  it('is used by every connection with the certificate of a private authority, by its path or as text', async () => {
    const pem = await readFile(authority, 'utf8')
    const DATABASE_URL = urlOf('localhost')
    const { exited, output } = startCommandLine(['migrate'], {
      ...{ ...keys, DATABASE_URL },
      DATABASE_CA: pem.replaceAll('\n', '\\n'),
    })
    expect([await exited, output.error]).toEqual([[0, null], ''])
    const services: Service[] = []
    try {
      for (const [DATABASE_CA, url] of [
        [authority, DATABASE_URL],
        [pem, urlOf('localhost', '?sslmode=verify-full')],
      ] as const) {
        const service = await startService({ ...keys, DATABASE_URL: url, DATABASE_CA })
        services.push(service)
        expect((await fetch(`${service.baseUrl}/readyz`)).status).toBe(200)
      }
      const { rows } = await execute(
        urlOf('127.0.0.1', '?sslmode=no-verify'),
        "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name LIKE 'tierway%'",
      )
      expect(rows).toEqual([{ ssl: true }])
    } finally {
      for (const service of services) await stopService(service)
    }
  })

  it.each<[what: string, env: () => Record<string, string>, sentence: string]>([
    [
      'the authority is not known',
      () => ({ DATABASE_URL: urlOf('localhost', '?sslmode=verify-full') }),
      'the certificate of Postgres is not from an authority that this machine knows: set DATABASE_CA to the certificate of its authority',
    ],
    [
      'another authority is given',
      () => ({ DATABASE_URL: urlOf('localhost'), DATABASE_CA: stranger }),
      'the certificate of Postgres is not from an authority that this machine knows: set DATABASE_CA to the certificate of its authority',
    ],
    [
      'the certificate is for another host',
      () => ({ DATABASE_URL: urlOf('127.0.0.1'), DATABASE_CA: authority }),
      'the certificate of Postgres is for another host than that of DATABASE_URL: use a name that the certificate lists',
    ],
    [
      'Postgres takes nothing else, and TLS is not asked for',
      () => ({ DATABASE_URL: urlOf('127.0.0.1') }),
      'Postgres takes only connections with TLS: add ?sslmode=verify-full to DATABASE_URL',
    ],
    [
      'Postgres does not offer it',
      () => {
        const url = new URL(plain.url)
        url.searchParams.delete('sslmode')
        return { DATABASE_URL: url.href, DATABASE_CA: authority }
      },
      'Postgres does not offer TLS, and DATABASE_URL or DATABASE_CA asks for it: turn on `ssl` in Postgres',
    ],
  ])('says in one sentence what to do when %s', async (_what, env, sentence) => {
    expect(await failureOf(env())).toBe(`Tierway could not start: ${sentence}`)
    const { exited, output } = startCommandLine(['migrate'], { ...keys, ...env() })
    expect([await exited, output.error]).toEqual([[1, null], `The database cannot be used: ${sentence}\n`])
  })

  it.each<[what: string, env: () => Record<string, string>, fault: string]>([
    ['a file that does not exist', () => ({ DATABASE_CA: '/nowhere/ca.pem' }), 'the file cannot be read (ENOENT)'],
    ['a file without certificates', () => ({ DATABASE_CA: join(folder, 'authority.key') }), 'DATABASE_CA must be the'],
    [
      'a certificate that is cut off',
      () => ({ DATABASE_CA: '-----BEGIN CERTIFICATE-----\nMII' }),
      'DATABASE_CA must be the',
    ],
    [
      'settings of TLS in the URL that would win',
      () => ({ DATABASE_CA: authority, DATABASE_URL: 'postgres://a@b/c?sslmode=disable' }),
      'DATABASE_URL must have no sslmode but require',
    ],
  ])('refuses %s before it connects', (_what, env, fault) => {
    const read = () => readConfig({ ...keys, DATABASE_URL: urlOf('localhost'), ...env() })
    expect(read).toThrow(ConfigError)
    expect(read).toThrow(fault)
  })
})
