import { expect } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { type Answer, type Game, type LoginOptions, startGame } from '../harness/game.ts'

// A game whose providers the tests add one by one. Each file starts it once, by `beforeAll(startWebhookGame)`.

export const MIB = 2 ** 20
/** A tolerance for timers and other load on a busy machine. */
export const CLOCK_TOLERANCE_MS = 300
/** A timer may fire this much early. */
export const EARLY_MS = 5

export const REJECTED = [401, 'custom auth rejected', 'custom_auth_rejected']
export const INVALID_RESPONSE = [502, 'custom auth invalid response', 'custom_auth_invalid_response']
export const UNAVAILABLE = [503, 'custom auth unavailable', 'custom_auth_unavailable']

export let game: Game

export const startWebhookGame = (): Promise<void> => startWebhookGameWith({})

export async function startWebhookGameWith(env: Record<string, string>): Promise<void> {
  custom = {}
  game = await startGame(env)
}

export async function stopWebhookGame(): Promise<void> {
  await game.stop()
}

let custom: Record<string, Json> = {}
let providersSet: Promise<unknown> = Promise.resolve()

/** Adds or replaces a provider and keeps those of other tests: a PUT replaces the whole map. */
export async function provide(
  name: string,
  url: string,
  secret = 'a shared secret',
  more: { readonly [setting: string]: Json } = {},
): Promise<void> {
  custom[name] = { enabled: true, url, secret, ...more }
  const all = { ...custom }
  providersSet = providersSet.then(async () => expect((await game.setProviders(all)).status).toBe(200))
  await providersSet
}

export interface Timed {
  readonly answer: Answer
  readonly milliseconds: number
}

export async function timedLogin(customData: Json | string, options?: LoginOptions): Promise<Timed> {
  const started = performance.now()
  const answer = await game.login(customData, options)
  return { answer, milliseconds: performance.now() - started }
}

/** Status, text and code of a refusal. Expects that it does not reveal the cause. */
export function refusalOf({ status, text, body }: Answer): unknown[] {
  expect(Object.keys(body).sort()).toEqual(['code', 'error', 'requestId'])
  expect(text).not.toMatch(/127\.0\.0\.1|secret|ECONN|undici/i)
  return [status, body.error, body.code]
}

export function expectTokens({ status, body }: Answer): void {
  expect([status, typeof body.accessToken, typeof body.refreshToken]).toEqual([200, 'string', 'string'])
}

/** The error classes in the login log for a provider's last login, one for each attempt. */
export async function errorsOf(provider: string): Promise<(string | null)[]> {
  const { rows } = await game.app.pool.query(
    'SELECT attempts FROM login_log WHERE provider = $1 ORDER BY id DESC LIMIT 1',
    [provider],
  )
  return JSON.parse(rows[0].attempts).map(({ error }: { error: string | null }) => error)
}

/** The players that a subject is bound to, with their profile and their storage. */
export async function playersOf(
  subject: string,
): Promise<{ id: string; nickname: string | null; avatar: string | null }[]> {
  const { rows } = await game.app.pool.query(
    `SELECT p.id, p.nickname, p.avatar_url AS avatar FROM identities i
     JOIN players p ON p.environment_id = i.environment_id AND p.id = i.player_id WHERE i.subject = $1`,
    [subject],
  )
  return rows
}

export async function storageOf(subject: string): Promise<Record<string, string>> {
  const { rows } = await game.app.pool.query(
    `SELECT s.key, s.value FROM identities i
     JOIN player_storage s ON s.environment_id = i.environment_id AND s.player_id = i.player_id WHERE i.subject = $1`,
    [subject],
  )
  return Object.fromEntries(rows.map(({ key, value }) => [key, value]))
}

/** What a call of `createWebhook` needs to know of its provider. */
export const target = (url: string, more: { key?: string; projectId?: string } = {}) => ({
  ...{ key: 'key', projectId: 'project', url, secret: 'secret', replacedSecrets: [], ...more },
})
