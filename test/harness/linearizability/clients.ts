import { decodeJwt } from 'jose'
import { inEnums, inWords } from '../surfaces.ts'
import { planOf } from './books.ts'
import type { Cluster, Instance } from './cluster.ts'
import {
  CLIENT_HANDLES,
  type Definition,
  enteredText,
  PLACES,
  rewardText,
  SCENARIOS,
  type ScenarioId,
} from './definitions.ts'
import type { Answer, Request } from './model.ts'
import type { Random } from './random.ts'

// The clients: what they know, their random requests, and the answers that they receive.

/** A player's client and the operator who supports it: what they know so far. */
export interface Client {
  readonly index: number
  readonly environmentId: string
  readonly playerId: string
  readonly subject: string
  /** Access tokens, the newest first, with the start of their login. */
  tokens: { readonly token: string; readonly since: number }[]
  /** Ids of the runs that the client knows, the newest first. */
  runs: Record<ScenarioId, string[]>
  /** Calls with a key, the newest first: they can be sent again. */
  keyed: Request[]
  /** Whether the last answer said that the player is banned. */
  looksBanned: boolean
  /** Calls that may have ended earlier logins, whose tokens can be refused. */
  readonly endings: { readonly invoked: number; readonly call?: { readonly answered: number } }[]
  /** Old runs, which the client no longer requests. */
  readonly forgotten: Set<string>
}

const TIMEOUT_MS = 20_000
const PASS_PATH = '/sdk/v1/battlepass'

/** `unsent` when the call had certainly no effect, `unknown` when its outcome is unknown. */
export type Heard = Answer | 'unknown' | 'unsent'

interface Response {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
  readonly body: any
}

async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  body: unknown,
): Promise<Response | 'unknown' | 'unsent'> {
  try {
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? null : JSON.parse(text) }
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as { code?: string }
    return code === 'ECONNREFUSED' ? 'unsent' : 'unknown'
  }
}

/** Creates a player by a login. */
export async function createClient(cluster: Cluster, index: number): Promise<Client> {
  const subject = `player-${index}`
  const since = performance.now()
  const token = await logIn(cluster, cluster.instances[0], subject, {})
  if (typeof token !== 'string') throw new Error(`a login was refused: ${JSON.stringify(token)}`)
  return {
    index,
    environmentId: cluster.environmentId,
    playerId: decodeJwt(token).sub ?? '',
    subject,
    tokens: [{ token, since }],
    runs: { season: [], side: [] },
    keyed: [],
    looksBanned: false,
    endings: [],
    forgotten: new Set(),
  }
}

async function logIn(
  { sdkKey }: Cluster,
  { service }: Instance,
  player: string,
  answer: unknown,
): Promise<string | { heard: Heard }> {
  const url = `${service.baseUrl}/sdk/v1/authorization/custom`
  const response = await send(url, 'POST', { 'x-sdk-key': sdkKey }, { customData: { player, answer } })
  if (typeof response !== 'string' && response.status === 200) return response.body.accessToken
  return { heard: heardOf(response, () => null) }
}

/** Publishes a definition, and returns the answered version. */
export async function publish(
  { projectId, platformKey }: Cluster,
  { service }: Instance,
  scenario: ScenarioId,
  definition: Definition,
): Promise<number | 'unknown' | 'unsent'> {
  const url = `${service.baseUrl}/platform/v1/projects/${projectId}/scenarios/${scenario}?environment=production`
  const response = await send(url, 'PUT', { authorization: `Bearer ${platformKey}` }, definition)
  if (typeof response === 'string') return response
  if (response.status === 503) return 'unknown'
  if (response.status !== 200) throw new Error(`an edit was refused: ${JSON.stringify(response.body)}`)
  return response.body.version
}

/** Makes a call, and keeps what a client would keep of its answer. */
export async function ask(
  cluster: Cluster,
  instance: Instance,
  client: Client,
  request: Request,
  token: string,
): Promise<Heard> {
  if (request.kind === 'login') {
    const since = performance.now()
    const { nickname, data } = request
    const values = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, JSON.parse(text)]))
    const made = await logIn(cluster, instance, client.subject, { nickname: nickname ?? '', data: values })
    if (typeof made !== 'string') return made.heard
    client.tokens = [{ token: made, since }, ...client.tokens].slice(0, 2)
    return { ok: null }
  }
  const heard = isSupport(request)
    ? await support(cluster, instance, client, request)
    : await play(instance, request, token)
  if (typeof heard === 'string') return heard
  client.looksBanned = 'no' in heard && heard.no === 'player_banned'
  if (request.kind === 'ban') client.looksBanned = true
  if (request.kind === 'start' && 'ok' in heard) {
    const { runId } = heard.ok as { runId: string }
    const known = client.runs[request.scenario]
    if (!known.includes(runId)) client.runs[request.scenario] = [runId, ...known].slice(0, 2)
  }
  return heard
}

const PATHS = {
  xp: `${PASS_PATH}/xp`,
  claim: `${PASS_PATH}/claim`,
  premium: `${PASS_PATH}/premium`,
  progress: `${PASS_PATH}/progress`,
  me: '/sdk/v1/player/get',
  start: '/sdk/v1/scenarios/start',
  cross: '/sdk/v1/scenarios/cross',
  run: '/sdk/v1/scenarios/run',
  store: '/sdk/v1/storage/set',
  stored: '/sdk/v1/storage/get',
} as const

type Played = Extract<Request, { kind: keyof typeof PATHS }>

async function play({ service }: Instance, request: Request, token: string): Promise<Heard> {
  const { kind } = request as Played
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if ((request.kind === 'xp' || request.kind === 'claim') && request.key !== undefined) {
    headers['idempotency-key'] = request.key
  }
  const response = await send(`${service.baseUrl}${PATHS[kind]}`, 'POST', headers, bodyOf(request as Played))
  return heardOf(response, (body) => resultOf(request as Played, body))
}

function bodyOf(request: Played): unknown {
  const at = 'node' in request ? { scenarioId: request.scenario, nodeId: request.node } : {}
  const within = 'run' in request ? { ...at, runId: request.run } : at
  switch (request.kind) {
    case 'xp':
      return { ...within, amount: request.amount, source: request.source }
    case 'claim':
      return { ...within, level: request.level, track: request.track }
    case 'premium':
      return { ...within, ...(request.key !== undefined && { idempotencyKey: request.key }) }
    case 'cross':
      return { ...within, handle: request.handle }
    case 'start':
      return { scenarioId: request.scenario }
    case 'store':
      return {
        values: Object.fromEntries(Object.entries(request.values).map(([key, text]) => [key, JSON.parse(text)])),
      }
    default:
      return within
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
function resultOf({ kind }: Request, body: any): unknown {
  switch (kind) {
    case 'xp':
    case 'grantXp': {
      const { level, xp, leveledUp, maxLevel, plan } = body
      return { level, xp: Number(xp), leveledUp, maxLevel, plan: planOf(plan) }
    }
    case 'claim':
    case 'grantTier': {
      const { success, alreadyClaimed, error, granted } = body
      return { success, alreadyClaimed, error, granted: granted.map(rewardText) }
    }
    case 'premium':
      return { success: body.success, error: body.error, plan: planOf(body.plan) }
    case 'progress': {
      const { level, xp, premiumOwned, claimedTiers } = body
      const claimed = claimedTiers.map((tier: { level: number; track: string }) => `${tier.track}:${tier.level}`)
      return { level, xp, premiumOwned, claimedTiers: claimed.sort() }
    }
    case 'me': {
      const { nickname, wallet, inventory } = body
      return {
        nickname,
        wallet: Object.fromEntries(
          wallet.map(({ currency, balance }: { currency: string; balance: number }) => [currency, balance]),
        ),
        items: Object.fromEntries(
          inventory.map(({ itemId, amount }: { itemId: string; amount: number }) => [itemId, amount]),
        ),
      }
    }
    case 'start':
      return { runId: body.runId, resumed: body.resumed, plan: planOf(body.plan) }
    case 'cross':
      return { plan: planOf(body.plan) }
    case 'run': {
      const active: { nodeId: string; type: string; data: unknown }[] = body.active
      return {
        runId: body.runId,
        scenario: body.scenarioId,
        status: body.status,
        active: active
          .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1))
          .map(({ nodeId, type, data }) => enteredText(nodeId, type, data)),
        plan: planOf(body.plan),
      }
    }
    case 'stored':
      return Object.fromEntries(Object.entries(body.values).map(([key, value]) => [key, JSON.stringify(value)]))
    case 'credit':
    case 'debit':
      return { balance: Number(body.balance) }
    case 'resetTier':
    case 'grantPremium':
    case 'resetPass':
      return { changed: body.changed }
    default:
      return null
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
function heardOf(response: Response | 'unknown' | 'unsent', read: (body: any) => unknown): Heard {
  if (typeof response === 'string') return response
  const { status, body } = response
  if (status < 300) return { ok: read(body) }
  return status === 503 ? 'unknown' : { no: body.code }
}

const PLAN =
  'plan { runId status crossed { nodeId handle } entered { nodeId type data } granted { amount currency itemId } }'

/** The mutation of each action of support, with the selection of its payload. */
const MUTATIONS = {
  ban: ['banPlayer', 'player { id }'],
  unban: ['unbanPlayer', 'player { id }'],
  endSessions: ['endSessions', 'player { id }'],
  credit: ['creditWallet', 'balance'],
  debit: ['debitWallet', 'balance'],
  grantXp: ['grantXp', `result { level xp leveledUp maxLevel ${PLAN} }`],
  grantTier: ['grantTier', 'result { success alreadyClaimed error granted { amount currency itemId } }'],
  resetTier: ['resetTier', 'changed'],
  grantPremium: ['grantPremium', 'changed'],
  resetPass: ['resetPass', 'changed'],
  cancelRun: ['cancelRun', 'player { id }'],
} as const

type Supported = Extract<Request, { kind: keyof typeof MUTATIONS }>

const isSupport = (request: Request): request is Supported => request.kind in MUTATIONS

async function support(
  { platformKey }: Cluster,
  { service }: Instance,
  client: Client,
  request: Supported,
): Promise<Heard> {
  const [mutation, selection] = MUTATIONS[request.kind]
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const { kind: _, scenario, node, key, run, ...more } = { ...request } as Record<string, unknown>
  const input = {
    playerId: client.playerId,
    ...(request.kind === 'credit' && { allowNew: true }),
    ...inEnums(more),
    ...('amount' in more && { amount: String(more.amount) }),
    ...(node !== undefined && { scenarioId: scenario, nodeId: node }),
    ...(key !== undefined && { idempotencyKey: key }),
    ...(run !== undefined && { runId: run }),
  }
  const response = await send(
    `${service.baseUrl}/graphql`,
    'POST',
    { authorization: `Bearer ${platformKey}` },
    {
      query: `mutation ($input: ${type}!) { ${mutation}(input: $input) { error ${selection} } }`,
      variables: { input },
    },
  )
  if (typeof response === 'string') return response
  const [error] = response.body?.errors ?? []
  if (!error) {
    const payload = response.body.data[mutation]
    if (payload.error !== null) return { no: payload.error.toLowerCase() }
    return { ok: resultOf(request, inWords(payload.result ?? payload)) }
  }
  const code = String(error.extensions?.code).toLowerCase()
  return code === 'unavailable' ? 'unknown' : { no: code }
}

const WEIGHTS = {
  again: 9,
  xp: 24,
  claim: 13,
  premium: 5,
  progress: 9,
  me: 7,
  start: 4,
  cross: 4,
  run: 4,
  login: 3,
  store: 3,
  stored: 3,
  ban: 1.5,
  unban: 0.5,
  endSessions: 1,
  credit: 4,
  debit: 3,
  grantXp: 3,
  grantTier: 2,
  resetTier: 2,
  grantPremium: 1,
  resetPass: 1,
  cancelRun: 1.5,
}

const NO_RUN = '00000000-0000-4000-8000-000000000000'
const STORAGE_KEYS = ['a', 'b', 'c']

/** The next request of a player or its operator. The label is unique. */
export function drawRequest(random: Random, client: Client, label: string): Request {
  const reason = label
  // Dashboards distinguish a hundred sources of a pass.
  const source = `s${random.int(1, 60)}`
  // A banned player gets no other answer.
  if (client.looksBanned && random.chance(0.35)) return { kind: 'unban', reason }
  const kind = random.weighted(WEIGHTS)
  const place = random.one(PLACES)
  const [run = NO_RUN, earlier = run] = client.runs[place.scenario]
  const within = { ...place, run: random.chance(0.9) ? run : earlier }
  const level = place.node === 'third' ? 3 : random.int(1, 5)
  const track = random.one(['free', 'premium'] as const)
  const key = random.chance(0.45) ? label : undefined
  const keyed = key === undefined ? {} : { key }
  switch (kind) {
    case 'again': {
      const sent = client.keyed[random.int(0, Math.min(5, client.keyed.length - 1))]
      if (!sent) return { kind: 'me' }
      // Sometimes a key is sent again with another request.
      const differs = random.chance(0.12)
      return differs && sent.kind === 'xp' ? { ...sent, amount: sent.amount + 1 } : sent
    }
    case 'xp':
      return { kind, ...within, amount: random.int(1, 45), source, ...keyed }
    case 'claim':
      return { kind, ...within, level, track, ...keyed }
    case 'premium':
      return { kind, ...within, ...keyed }
    case 'progress':
      return { kind, ...place }
    case 'start':
      return { kind, scenario: random.one(SCENARIOS) }
    case 'cross': {
      const [season = NO_RUN] = client.runs.season
      return { kind, scenario: 'season', run: season, ...random.one(CLIENT_HANDLES) }
    }
    case 'run':
      return run === NO_RUN ? { kind: 'start', scenario: place.scenario } : { kind, scenario: place.scenario, run }
    case 'login':
      return { kind, nickname: random.chance(0.6) ? label : null, data: random.chance(0.4) ? { a: `"${label}"` } : {} }
    case 'store':
      return { kind, values: { [random.one(STORAGE_KEYS)]: `"${label}"` } }
    case 'me':
    case 'stored':
      return { kind }
    case 'ban':
    case 'unban':
    case 'endSessions':
      return { kind, reason }
    case 'credit':
    case 'debit':
      return { kind, currency: random.one(['gems', 'gold']), amount: random.int(1, 60), key: label, reason }
    case 'grantXp':
      // The source separates this ledger row from those of the player's own calls.
      return { kind, ...place, amount: random.int(1, 45), source: 's0', key: label, reason }
    case 'grantTier':
      return { kind, ...place, level, track, key: label, reason }
    case 'resetTier':
      return { kind, ...place, level, track, reason }
    case 'grantPremium':
    case 'resetPass':
      return { kind, ...place, reason }
    case 'cancelRun':
      return { kind, run, reason }
  }
}

/** The label by which the books show whether a call took effect; undefined when they do not. */
export function labelOf(request: Request): string | undefined {
  if ('reason' in request) return request.reason
  return request.kind === 'xp' ? `${request.source} ${request.amount}` : undefined
}
