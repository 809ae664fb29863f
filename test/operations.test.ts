import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from './harness/database.ts'
import { without } from './harness/needs.ts'
import { approve, type Operator, startOperator } from './harness/operator.ts'
import { COMMAND_LINE, type PageShell, startPageShell } from './harness/page-shell.ts'
import { type Service, startService, stopService } from './harness/service.ts'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const page = read('docs/operations.md')
const withoutTools = without('curl', 'openssl')

/** The commands of the first production steps, by the heading of each. */
const steps = new Map(
  [...page.matchAll(/^### \d\. (.*)\n[\s\S]*?^```sh\n([\s\S]*?)^```$/gm)].map(([, title = '', commands = '']) => [
    title,
    commands,
  ]),
)

// Replaces Docker: its containers are a Postgres and a service that the test runs.
const DOCKER = `case "$*" in
  'build -q -t tierway .' | 'compose up --detach --build --wait') ;;
  'run --rm tierway node dist/cli.js '*) shift 5; exec ${COMMAND_LINE} "$@" ;;
  'compose exec -T tierway node dist/cli.js '*) shift 6; exec ${COMMAND_LINE} "$@" ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac`

let database: TestDatabase
let webhook: Operator
let shell: PageShell
let service: Service | undefined
beforeAll(async () => {
  database = await createDatabase()
  webhook = await startOperator(approve({ subject: 'acct_1001' }))
  shell = await startPageShell({ programs: { docker: DOCKER } })
})
afterAll(async () => {
  await stopService(service)
  await shell?.close()
  await webhook?.close()
  await database?.drop()
})

test.skipIf(withoutTools !== '')(
  `${withoutTools}the first production steps of docs/operations.md work, from the keys to the first login`,
  async () => {
    expect([...steps.keys()]).toEqual([
      'Keys',
      'Start',
      'A project and its keys',
      'A login provider',
      'A scenario',
      'A first login',
    ])
    await shell.run(steps.get('Keys') ?? '')
    const written = readFileSync(join(shell.home, '.env'), 'utf8')
    const env = Object.fromEntries(
      [...written.matchAll(/^([A-Z_]+)='?(.*?)'?$/gm)].map(([, name = '', value = '']) => [name, value]),
    )
    // What compose.yaml takes from `.env`.
    expect(Object.keys(env)).toEqual(['TOKEN_KEYS', 'SECRETS_KEYS', 'METRICS_TOKEN'])
    for (const name of Object.keys(env)) expect(read('compose.yaml')).toContain(`\${${name}:`)

    const settings = { ...env, NODE_ENV: 'production', DATABASE_URL: database.url }
    // The webhook of the test is on loopback.
    service = await startService({ ...settings, WEBHOOK_PRIVATE_ADDRESSES: 'allow' })
    const rest = [...steps.values()].slice(1).join('\n')
    const script = rest
      .replaceAll('http://127.0.0.1:4000', service.baseUrl)
      .replace('https://login.example.com/tierway', webhook.url)
    const printed = await shell.run(script, settings)
    expect(printed).toContain('"status":"ready"')
    expect(printed).toContain('"scenarioId":"season-1"')
    const { accessToken } = JSON.parse(printed.slice(printed.lastIndexOf('{"accessToken"')))
    expect(decodeJwt(accessToken).sub).toMatch(/^[\da-f-]{36}$/)
    expect(webhook.hits).toHaveLength(1)
  },
)
