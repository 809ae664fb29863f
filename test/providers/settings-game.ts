import { pino } from 'pino'
import { expect } from 'vitest'
import { members } from '../../src/base/json.ts'
import { createSecrets, generateSecretsKey, type SecretsKey } from '../../src/base/secrets.ts'
import { generateTokenKey } from '../../src/callers/tokens.ts'
import { type Answer, type Game, type Instance, startGame, startInstance } from '../harness/game.ts'
import { type Hit, type Operator, signatureOf, startOperator } from '../harness/operator.ts'

// Two instances whose provider settings the tests write. Each file starts them once, by `beforeAll(startSettings)`.

export const MIB = 1_048_576

const tokenKey = await generateTokenKey()
export const secretsKey = generateSecretsKey()
export let game: Game
export let operator: Operator
export let second: Instance
/** All log lines of the instances that `startLogged` started. */
export const lines: string[] = []

export async function startSettings(): Promise<void> {
  game = await startGame({ TOKEN_KEYS: JSON.stringify([tokenKey]), SECRETS_KEYS: JSON.stringify([secretsKey]) })
  second = await startLogged([secretsKey])
}

export async function stopSettings(): Promise<void> {
  await second?.stop()
  await game?.stop()
}

export async function startOperators(): Promise<void> {
  operator = await startOperator()
  await sql('TRUNCATE auth_providers, replaced_secrets, audit_log')
}

export async function stopOperators(): Promise<void> {
  await operator?.close()
}

/** An instance on the same database that logs to `lines`. */
export function startLogged(keys: readonly SecretsKey[]): Promise<Instance> {
  const env = { TOKEN_KEYS: JSON.stringify([tokenKey]), SECRETS_KEYS: JSON.stringify(keys) }
  return startInstance(game.databaseUrl, env, pino({ level: 'trace' }, { write: (line) => void lines.push(line) }))
}

export const sql = async (text: string, values: unknown[] = []) => (await game.app.pool.query(text, values)).rows
export const auditRows = () => sql('SELECT * FROM audit_log ORDER BY id')
export const path = () => `/platform/v1/projects/${game.projectId}/auth-providers`
export const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` })
export const put = (body: unknown, headers = bearer(game.platformKey)): Promise<Answer> =>
  game.request('PUT', path(), { body: typeof body === 'string' ? body : JSON.stringify(body), headers })
export const putAt = (baseUrl: string, body: unknown): Promise<Response> =>
  fetch(baseUrl + path(), { method: 'PUT', headers: bearer(game.platformKey), body: JSON.stringify(body) })
export const get = (query = '?environment=production', headers = bearer(game.platformKey)): Promise<Answer> =>
  game.request('GET', path() + query, { headers })
export const provider = (more: object = {}) => ({ enabled: true, url: operator.url, secret: operator.secret, ...more })
export const blocks = (authProviders: object, environment = 'production') => ({ environment, authProviders })
export const custom = (providers: object, environment = 'production') => blocks({ custom: providers }, environment)
/** The body of a PUT with the JSON text of each block, unchanged. */
export const rawBlocks = (texts: Record<string, string>): string =>
  `{"environment":"production","authProviders":{${Object.entries(texts).map(([kind, text]) => `"${kind}":${text}`)}}}`
export const namesOf = ({ body }: Answer): string[] => Object.keys(body.authProviders.custom).sort()

/** A value, and a short form of it for the title of a test. */
export const titled = <T>(value: T): [title: string, value: T] => {
  const text = JSON.stringify(value) ?? 'absent'
  return [text.length > 60 ? `${text.slice(0, 50)}… (${text.length})` : text, value]
}

export function expectSignedWith(secret: string, hit: Hit | undefined): void {
  expect(hit?.headers['x-signature']).toBe(signatureOf(secret, hit?.body ?? Buffer.of()))
}

/** The stored settings of a block, decrypted. */
export async function opened(kind: string): Promise<Map<string, string>> {
  const [row] = await sql('SELECT * FROM auth_providers WHERE kind = $1 AND environment_id = $2', [
    kind,
    game.environmentId,
  ])
  const place = { projectId: game.projectId, environmentId: game.environmentId, kind, name: row?.name }
  return members(createSecrets([secretsKey]).open(row?.secret, place))
}
