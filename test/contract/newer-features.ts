import { expect } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { call } from '../harness/call.ts'
import { gold, item, passNode, scenario, tier } from '../harness/definitions.ts'
import { inputTypeOf } from '../serve/graphql/documents.ts'
import type { Stage } from './play.ts'

// Every feature that the contract does not know, in use: those of a scenario in scenarios that the corpus does not name,
// those of an environment in one that it does not name, each set up by the calls that anybody would make.

const ENVIRONMENT = 'newer'
const BEFORE = 'newer-before'
const SEASON = 'newer-season'
const NEWER_ACCOUNTS = { linkTickets: true, identitiesAtDeletion: 'FREE', clientProfile: 'ALLOW' }
const DATES = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }

const newerSeason = scenario(
  [
    passNode('pass', {
      levels: [0, 100, 250],
      tiers: [
        tier(1, 'free', [{ choice: [[item('red')], [item('blue')]] }]),
        tier(2, 'free', [gold(20), { boost: { percent: 100, minutes: 60 } }]),
        tier(2, 'premium'),
      ],
      more: {
        ...DATES,
        announcedAt: '2019-12-01T00:00:00Z',
        endingHours: 72,
        atEnd: 'grant',
        autoClaim: 'always',
        beyond: { every: 50, rewards: [gold(6)], max: 2, perDay: 1 },
        premium: { price: { currency: 'gems', amount: 5 }, xpPercent: 20, instant: [gold(5)] },
        xp: {
          sources: { match: { from: 'client', max: 500, perDay: 1000 } },
          others: false,
          perDay: 2000,
          over: 'clip',
        },
        text: { en: { name: 'Newer' }, de: { name: 'Neuer' } },
        image: 'ui/newer',
      },
    }),
    { id: 'gems', type: 'reward', data: { rewards: [{ currency: 'gems', amount: 50 }] } },
    { id: 'boss', type: 'fight', handles: { onComplete: { from: 'server' } } },
  ],
  ['pass', 'gems', 'boss'].map((to) => ({ from: 'start', handle: 'onStart', to })),
)
const seasonBefore = scenario(
  [
    passNode('pass', {
      more: {
        ...DATES,
        endsAt: '2020-02-01T00:00:00Z',
        claimUntil: '2099-01-01T00:00:00Z',
        next: { scenarioId: SEASON, carry: { xpPercent: 10, premium: true } },
      },
    }),
  ],
  [{ from: 'start', handle: 'onStart', to: 'pass' }],
)

/** Calls of an admin and of players. Each fails unless it is answered with a success. */
interface Caller {
  rest(method: string, path: string, headers: Record<string, string>, body: Json | string): Promise<Answered>
  /** A mutation of the admin that takes an input, and gives its payload's members. */
  mutate(field: string, input: Record<string, unknown>, select?: string): Promise<Answered>
  readonly values: ReadonlyMap<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape.
type Answered = any

const reason = 'newer features'
const platform = ({ values }: Caller, path: string) => `/platform/v1/projects/${values.get('projectId')}/${path}`
const admin = ({ values }: Caller) => ({ authorization: `Bearer ${values.get('adminKey')}` })

const publish = (caller: Caller, environment: string, scenarioId: string, definition: Json) =>
  caller.rest('PUT', platform(caller, `scenarios/${scenarioId}?environment=${environment}`), admin(caller), definition)

/** A player of the season before and of the newer one: xp, a choice, a bonus tier, premium, automatic claims. */
async function playNewerSeason(caller: Caller, token: string): Promise<void> {
  const post = (path: string, body: Json) =>
    caller.rest('POST', `/sdk/v1/${path}`, { authorization: `Bearer ${token}` }, body)
  const { next } = await post('scenarios/start', { scenarioId: BEFORE })
  const place = { scenarioId: SEASON, nodeId: 'pass', runId: next.runId }
  await post('battlepass/premium', place)
  await post('battlepass/xp', { ...place, amount: 400, source: 'match' })
  for (const claim of [
    { level: 1, track: 'free', choice: 1 },
    { level: 1, track: 'bonus' },
  ])
    await post('battlepass/claim', { ...place, ...claim })
  await post('battlepass/season', { scenarioId: SEASON, nodeId: 'pass' })
  await post('scenarios/view', { scenarioId: SEASON })
  await post('seasons/list', {})
}

async function login(caller: Caller, sdkKey: string, path: string, body: Json): Promise<{ token: string; id: string }> {
  const { accessToken: token } = await caller.rest(
    'POST',
    `/sdk/v1/authorization/${path}`,
    { 'x-sdk-key': sdkKey },
    body,
  )
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url').toString())
  return { token, id: sub }
}

/** Puts every newer feature to use on a service. */
export async function useNewerFeatures({ baseUrl, operator, values }: Stage): Promise<void> {
  const caller: Caller = {
    values,
    async rest(method, path, headers, body) {
      const sent = typeof body === 'string' ? body : print(body)
      const { status, text } = await call(`${baseUrl}${path}`, { method, headers, body: sent })
      const isDone = status < 300 && !/"success":false|"error":"/.test(text)
      expect(isDone, `${method} ${path} of newer features: ${text}`).toBe(true)
      return text === '' ? null : JSON.parse(text)
    },
    async mutate(field, input, select = '__typename') {
      const query = `mutation($input: ${inputTypeOf(field)}!) { ${field}(input: $input) { ${select} } }`
      const variables = { input: { reason, ...input } } as unknown as Json
      const { data, errors } = await caller.rest('POST', '/graphql', JSON_OF_ADMIN, { query, variables })
      expect(errors, `${field} of newer features`).toBeUndefined()
      return data[field]
    },
  }
  const JSON_OF_ADMIN = { 'content-type': 'application/json', ...admin(caller) }
  const inNewer = (field: string, input: Record<string, unknown>, select?: string) =>
    caller.mutate(field, { environment: ENVIRONMENT, ...input }, select)
  const once = () => ({ idempotencyKey: crypto.randomUUID() })

  // Environments, and seasons with all that a pass can have.
  await caller.mutate('createEnvironment', { name: ENVIRONMENT })
  const { key: sdkKey } = await inNewer('createSdkKey', {}, 'key')
  for (const environment of [ENVIRONMENT, 'production']) {
    await publish(caller, environment, SEASON, newerSeason)
    await publish(caller, environment, BEFORE, seasonBefore)
    await caller.mutate('createBoost', {
      ...{ environment, name: 'Weekend', percent: 50, ...once() },
      ...{ ...DATES, scenarios: environment === ENVIRONMENT ? undefined : [SEASON] },
    })
    await caller.mutate('createSegment', { environment, name: 'all', filter: {} })
    await caller.mutate('createScenarioDraft', {
      ...{ environment, scenarioId: SEASON, name: 'draft', baseVersion: 1, definition: print(newerSeason) },
      reason: undefined,
    })
    await caller.mutate('schedulePublication', {
      ...{ environment, scenarioId: 'newer-later', publishAt: '2098-01-01T00:00:00Z', definition: print(newerSeason) },
    })
  }

  // Sign-in without a webhook, and webhooks with all that a provider can have.
  const { url, secret } = operator
  const clientIds = ['newer']
  await caller.rest('PUT', platform(caller, 'auth-providers'), admin(caller), {
    environment: ENVIRONMENT,
    authProviders: {
      custom: {
        default: {
          ...{ enabled: true, url, secret, timeoutMs: 2000, attempts: 2, breakerAfter: 5, ed25519: true },
          ...{ claims: true, denialReasons: true },
        },
      },
      google: { enabled: true, clientIds },
      apple: { enabled: true, clientIds },
      oidc: { studio: { enabled: true, issuer: 'https://id.example.com', audiences: clientIds } },
      device: { enabled: true },
    },
  })
  await inNewer('rotateProviderSecret', { name: 'default', secret: 'another secret of the studio' })
  await inNewer('setAccountPolicy', { maxSessions: 2, whenFull: 'END_OLDEST', deletionDays: 7, ...NEWER_ACCOUNTS })
  const lines = `${JSON.stringify({ subject: 'imported', nickname: 'Imported' })}\n`
  await caller.rest('POST', platform(caller, `players.ndjson?environment=${ENVIRONMENT}`), admin(caller), lines)

  // Players who use them. The one of production is in no file of the corpus.
  const guest = await login(caller, sdkKey, 'device', { deviceId: 'the-device-of-a-guest-0123456789abcdef' })
  const claims = { answer: { subject: 'newer', claims: { vip: true } } }
  const player = await login(caller, sdkKey, 'custom', { customData: claims })
  await caller.rest('PUT', platform(caller, 'auth-providers'), admin(caller), {
    ...{ environment: 'production', authProviders: { custom: { newer: { enabled: true, url, secret } } } },
  })
  const neighbour = await login(caller, values.get('sdkKey') ?? '', 'custom', { provider: 'newer', customData: claims })
  await caller.rest('PUT', platform(caller, 'auth-providers'), admin(caller), {
    ...{ environment: 'production', authProviders: { custom: {} } },
  })
  for (const { token } of [guest, player, neighbour]) await playNewerSeason(caller, token)

  // Game servers.
  const { key } = await inNewer('createServerKey', {}, 'key')
  const grant = { player: { playerId: player.id }, scenarioId: SEASON, nodeId: 'pass', amount: 10, source: 'match' }
  await caller.rest(
    'POST',
    '/server/v1/battlepass/xp',
    { authorization: `Bearer ${key}` },
    {
      ...{ grants: [grant], idempotencyKey: 'match-1' },
    },
  )

  // Live-ops: the inbox, personal boosts, grants, notes, roles and alerts.
  for (const { id: playerId } of [player, neighbour]) {
    const text = [{ language: 'en', title: 'Hello', body: 'A gift.' }]
    const rewards = [{ currency: 'gold', amount: '5' }]
    await caller.mutate('sendMessage', { playerId, ...once(), text, rewards, allowNew: true })
    await caller.mutate('grantPlayerBoost', { playerId, ...once(), percent: 10, minutes: 600 })
    await caller.mutate('addPlayerNote', { playerId, ...once(), text: 'a note' })
  }
  await caller.rest('POST', '/sdk/v1/inbox/claim-all', { authorization: `Bearer ${player.token}` }, {})
  await inNewer('createGrantJob', {
    ...{ to: { filter: {} }, give: { rewards: [{ currency: 'gold', amount: '1' }] } },
    ...{ allowNew: true, ...once() },
  })
  await inNewer('setGrantPolicy', { approvalAboveAmount: '10' })
  await inNewer('setRoleLimits', { role: 'OPERATOR', maxCredit: '5', maxXp: '5', maxGiftsPerDay: 1 })
  await inNewer('setPublishPolicy', { requiresApproval: true })
  await inNewer('createAlertWebhook', { name: 'alerts', format: 'SLACK', url })
  await caller.mutate('createOperatorToken', { actor: 'ada@example.com', role: 'VIEWER' })
  await caller.mutate('shareView', { name: 'mine', page: 'PLAYERS', query: 'status=ACTIVE' })
  await inNewer('setEnvironmentClock', { at: '2098-12-01T00:00:00Z', rate: 60 })
}
