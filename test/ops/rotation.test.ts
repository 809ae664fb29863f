import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { startCommandLine } from '../harness/command-line.ts'
import { season } from '../harness/definitions.ts'
import { type Operator, signatureOf, startOperator } from '../harness/operator.ts'
import { COMMAND_LINE, type PageShell, startPageShell } from '../harness/page-shell.ts'
import { type Service, spawnService, startService, stopService, type World } from '../harness/service.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/world.ts'

const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Rotating keys'), page.indexOf('## Updates'))
const [rotate = '', seal = '', remove = ''] = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(
  ([, commands]) => commands,
)

// Replaces Docker. `up` creates a file, and ends once the test has restarted its instances and removed the file. Each
// shell has a file of its own.
const DOCKER = `case "$*" in
  'run --rm tierway node dist/cli.js '*) shift 5; exec ${COMMAND_LINE} "$@" ;;
  'compose exec -T tierway node dist/cli.js '*) shift 6; export SECRETS_KEYS="$(sed -n "s/^SECRETS_KEYS='\\(.*\\)'$/\\1/p" .env)"; exec ${COMMAND_LINE} "$@" ;;
  'compose up --detach --wait') touch "$UP"; while [ -e "$UP" ]; do sleep 0.05; done ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac`

const DEVICE = 'a device that made this id by itself'

type KeysName = 'TOKEN_KEYS' | 'SECRETS_KEYS'

let world: World
let webhook: Operator
let shell: PageShell
let credentials: { readonly projectId: string; readonly platformKey: string; readonly sdkKey: string }
let instances: Service[] = []

beforeAll(async () => {
  world = await openWorld()
  await world.publish('season', season())
  webhook = await startOperator()
  shell = await startPageShell({ programs: { docker: DOCKER } })
  const { pool, environmentId } = world
  const { rows } = await pool.query<{ project_id: string }>('SELECT project_id FROM environments')
  const projectId = rows[0]?.project_id ?? ''
  credentials = {
    projectId,
    platformKey: (await createPlatformKey(pool, projectId, 'admin')).key,
    sdkKey: (await createSdkKey(pool, environmentId)).key,
  }
  const { TOKEN_KEYS, SECRETS_KEYS } = world.env
  writeFileSync(environmentFile(), `TOKEN_KEYS='${TOKEN_KEYS}'\nSECRETS_KEYS='${SECRETS_KEYS}'\nMETRICS_TOKEN=a\n`)
  instances = await Promise.all([start(), start()])
  // The key of guests' ids is never set again.
  await setSecret(instances[0] as Service, { device: { enabled: true } })
})
afterAll(async () => {
  for (const instance of instances) await stopService(instance)
  await shell?.close()
  await webhook?.close()
  await world?.close()
})

const environmentFile = (): string => join(shell.home, '.env')

function keysIn(name: KeysName): { readonly kid: string }[] {
  const [, text = ''] = new RegExp(`^${name}='(.*)'$`, 'm').exec(readFileSync(environmentFile(), 'utf8')) ?? []
  return JSON.parse(text)
}

/** Starts an instance with the keys of the file. */
const start = (): Promise<Service> =>
  startService({
    ...world.env,
    TOKEN_KEYS: JSON.stringify(keysIn('TOKEN_KEYS')),
    SECRETS_KEYS: JSON.stringify(keysIn('SECRETS_KEYS')),
    WEBHOOK_PRIVATE_ADDRESSES: 'allow',
  })

async function call(instance: Service, method: string, path: string, headers: Record<string, string>, body: object) {
  const response = await fetch(`${instance.baseUrl}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

async function setSecret(instance: Service, more: object = {}): Promise<void> {
  const { projectId, platformKey } = credentials
  const { url, secret } = webhook
  const { status } = await call(
    instance,
    'PUT',
    `/platform/v1/projects/${projectId}/auth-providers`,
    { authorization: `Bearer ${platformKey}` },
    {
      environment: 'production',
      authProviders: { custom: { default: { enabled: true, url, secret } }, ...more },
    },
  )
  expect(status).toBe(200)
}

const client = (instance: Service, path: string, body: object) =>
  call(instance, 'POST', `/sdk/v1/authorization/${path}`, { 'x-sdk-key': credentials.sdkKey }, body)

/** Logs in through the webhook, whose request must be signed with the provider's secret. */
async function logIn(instance: Service): Promise<{ accessToken: string; refreshToken: string }> {
  const { status, body } = await client(instance, 'custom', { customData: { player: 'ada' } })
  expect(status).toBe(200)
  const hit = webhook.hits.at(-1)
  expect(hit?.headers['x-signature']).toBe(signatureOf(webhook.secret, hit?.body ?? Buffer.of()))
  return body
}

/** The player of a device. */
async function guestAt(instance: Service): Promise<string | undefined> {
  const { status, body } = await client(instance, 'device', { deviceId: DEVICE })
  expect(status).toBe(200)
  return decodeJwt(body.accessToken).sub
}

async function progress(instance: Service, token: string): Promise<number> {
  const place = { scenarioId: 'season', nodeId: 'pass' }
  const path = '/sdk/v1/battlepass/progress'
  return (await call(instance, 'POST', path, { authorization: `Bearer ${token}` }, place)).status
}

/** Expects every instance to verify the tokens and to decrypt the secrets of every other. */
async function expectUnderstood(earlier: string): Promise<void> {
  for (const instance of instances) {
    await setSecret(instance)
    for (const other of instances) {
      const { accessToken } = await logIn(other)
      for (const one of instances)
        expect([await progress(one, accessToken), await progress(one, earlier)]).toEqual([200, 200])
    }
  }
}

/** The page says where to write another name. */
const forSecrets = (commands: string) =>
  commands
    .replace('NAME=TOKEN_KEYS KIND=token', 'NAME=SECRETS_KEYS KIND=secrets')
    .replace('NAME=TOKEN_KEYS', 'NAME=SECRETS_KEYS')

/**
 * Runs commands of the page for both kinds of keys, the one after the other up to each `docker compose up`. There, the
 * instances restart one by one, for both.
 */
async function follow(commands: string, restarted: () => Promise<void>): Promise<number> {
  const runs: { readonly up: string; isOver: boolean; readonly run: Promise<unknown> }[] = []
  /** Waits until a shell has changed the file of the environment, or has ended. */
  const goesOn = (run: (typeof runs)[number]) =>
    until('the commands go on', () => run.isOver || existsSync(join(shell.home, run.up)))
  for (const [up, own] of [
    ['token-up', commands],
    ['secrets-up', forSecrets(commands)],
  ] as const) {
    const started = { up, isOver: false, run: Promise.resolve<unknown>(undefined) }
    started.run = shell.run(own, { UP: up }).finally(() => {
      started.isOver = true
    })
    // A failure is reported at the end.
    started.run.catch(() => undefined)
    runs.push(started)
    await goesOn(started)
  }
  let restarts = 0
  while (runs.some(({ isOver }) => !isOver)) {
    for (const index of instances.keys()) {
      await stopService(instances[index])
      instances[index] = await start()
      await restarted()
    }
    restarts += 1
    for (const run of runs) {
      rmSync(join(shell.home, run.up), { force: true })
      await goesOn(run)
    }
  }
  await Promise.all(runs.map(({ run }) => run))
  return restarts
}

describe('keys that are rotated by the commands of docs/operations.md', () => {
  it('keep every token valid and every secret readable on every instance until the old key is removed; then logins can refresh, guests are the same players, and all secrets are readable', async () => {
    const [oldToken] = keysIn('TOKEN_KEYS')
    const [oldSecret] = keysIn('SECRETS_KEYS')
    const { accessToken: earlier, refreshToken } = await logIn(instances[0] as Service)
    expect(decodeProtectedHeader(earlier).kid).toBe(oldToken?.kid)
    const guest = await guestAt(instances[0] as Service)
    expect(await follow(rotate, () => expectUnderstood(earlier))).toBe(2)
    const [token, ...otherTokens] = keysIn('TOKEN_KEYS')
    const [secret, ...otherSecrets] = keysIn('SECRETS_KEYS')
    expect([otherTokens, otherSecrets]).toEqual([[oldToken], [oldSecret]])
    const { accessToken } = await logIn(instances[0] as Service)
    expect(decodeProtectedHeader(accessToken).kid).toBe(token?.kid)

    const { DATABASE_URL, TOKEN_KEYS } = world.env
    const printed = await shell.run(seal, { DATABASE_URL, TOKEN_KEYS })
    expect(printed).toMatch(new RegExp(`^Secrets sealed with the key ${secret?.kid}: [1-9]\\d* now, `))
    expect(await follow(remove, async () => void (await logIn(instances[0] as Service)))).toBe(1)
    expect([keysIn('TOKEN_KEYS'), keysIn('SECRETS_KEYS')]).toEqual([[token], [secret]])
    for (const instance of instances) {
      expect([await progress(instance, accessToken), await progress(instance, earlier)]).toEqual([200, 401])
      await logIn(instance)
      expect(await guestAt(instance)).toBe(guest)
    }
    const refreshed = await client(instances[1] as Service, 'refresh', { refreshToken })
    expect([refreshed.status, await progress(instances[0] as Service, refreshed.body.accessToken)]).toEqual([200, 200])
    const { rows } = await world.pool.query<{ sealed: string }>(
      `SELECT p::text AS sealed FROM auth_providers p WHERE p::text LIKE '%v1.%'`,
    )
    expect(rows.length).toBeGreaterThan(0)
    for (const { sealed } of rows) expect(sealed).toContain(`v1.${secret?.kid}.`)
  })
  it('are named when one is missing that seals a secret: the start is refused, REQUIRE_SECRETS=false allows it, and `secrets rotate` ends with 1', async () => {
    const [{ kid } = { kid: '' }] = keysIn('SECRETS_KEYS')
    const env = { ...world.env, SECRETS_KEYS: JSON.stringify([generateSecretsKey()]) }
    const missing = `SECRETS_KEYS lacks the key ${kid}, which seals the key of guests' ids (production of `
    const refused = spawnService(env)
    expect(await refused.exited).toEqual({ code: 1, signal: null })
    expect(refused.errors).toContain(`  - ${missing}`)
    expect(refused.errors).toContain('Add the key again, or set REQUIRE_SECRETS=false')
    const forced = await startService({ ...env, REQUIRE_SECRETS: 'false' })
    expect(forced.output).toContain(missing)
    await stopService(forced)
    const { output, exited } = startCommandLine(['secrets', 'rotate', '--json'], env)
    expect((await exited)[0]).toBe(1)
    expect(JSON.parse(output.out).unreadable[0]).toContain(missing)
  })
})
