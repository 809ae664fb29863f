import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { RawJson } from '../../src/base/json.ts'
import { plainJson } from '../../src/declare/graphql/scalars.ts'
import type { Answer, GraphqlAnswer, TestPlayer } from './game.ts'

/** A call's outcome in one form for both surfaces: int64 as text, runs and scenarios without their ids. */
export type Outcome =
  | { readonly ok: unknown }
  | { readonly code: string; readonly message: string; readonly details?: unknown }

export interface Place {
  readonly scenarioId: string
  readonly nodeId: string
}

/** The calls of a player on either surface. Inputs are sent unchanged: tests also send invalid ones. */
export interface Surface {
  start(input: { scenarioId: unknown; idempotencyKey?: string }): Promise<Outcome>
  cross(input: Record<string, unknown>): Promise<Outcome>
  run(input: { runId: unknown }): Promise<Outcome>
  progress(input: { scenarioId: unknown; nodeId: unknown }): Promise<Outcome>
  season(input: { scenarioId: unknown; nodeId: unknown }): Promise<Outcome>
  seasons(): Promise<Outcome>
  view(input: { scenarioId: unknown; language?: unknown }): Promise<Outcome>
  addXp(input: Record<string, unknown>): Promise<Outcome>
  claim(input: Record<string, unknown>): Promise<Outcome>
  premium(input: Record<string, unknown>): Promise<Outcome>
}

export const REWARD = '{ amount currency itemId }'
export const PLAN = `plan { runId status crossed { nodeId handle } entered { nodeId type data } granted ${REWARD} }`

export const START = `mutation ($input: StartRunInput!) { startRun(input: $input) { runId resumed ${PLAN} } }`
export const CROSS = `mutation ($input: CrossHandleInput!) { crossHandle(input: $input) { ${PLAN} } }`
export const RUN = `query ($runId: ID!) { run(runId: $runId) { runId scenarioId status active { nodeId type data } ${PLAN} cause } }`
export const PROGRESS = `query ($scenarioId: String!, $nodeId: String!) {
  battlePass(scenarioId: $scenarioId, nodeId: $nodeId) { level xp premiumOwned claimedTiers { level track } } }`
export const SEASON = `query ($scenarioId: String!, $nodeId: String!) {
  season(scenarioId: $scenarioId, nodeId: $nodeId) {
    phase announcedAt startsAt endingAt endsAt claimUntil nextPhase nextPhaseAt secondsToNextPhase now
    boosts { percent startsAt endsAt secondsLeft audience sources } } }`
export const SEASONS = `{ seasons {
  scenarioId nodeId phase startsAt endsAt claimUntil level topLevel xp premiumOwned claimed } }`
const SHOWN = 'name description image'
const OFFER = `rewards { amount currency itemId ${SHOWN} } choice { rewards { amount currency itemId ${SHOWN} } }`
export const VIEW = `query ($scenarioId: String!, $language: String) { scenarioView(scenarioId: $scenarioId, language: $language) {
  scenarioId version ${SHOWN} language
  passes {
    nodeId ${SHOWN} announcedAt startsAt endingAt endsAt claimUntil
    premium { currency amount xpPercent instant { amount currency itemId ${SHOWN} } }
    levels { level xp ${SHOWN} } tiers { level track ${SHOWN} ${OFFER} }
    bonus { every max perDay ${OFFER} } conversion { currency per }
    state {
      phase nextPhase nextPhaseAt secondsToNextPhase level xp nextLevelXp premiumOwned
      claimed { level track } claimable { level track }
      boosts { percent startsAt endsAt secondsLeft audience sources } } } } }`
export const ADD_XP = `mutation ($input: AddXpInput!) { addXp(input: $input) { level xp leveledUp maxLevel ${PLAN} } }`
export const CLAIM = `mutation ($input: ClaimTierInput!) {
  claimTier(input: $input) { success alreadyClaimed error granted ${REWARD} } }`
export const CLAIM_ALL = `mutation ($input: ClaimAllInput!) {
  claimAll(input: $input) { claimed { level track granted ${REWARD} } } }`
export const PREMIUM = `mutation ($input: PurchasePremiumInput!) { purchasePremium(input: $input) { success error ${PLAN} } }`

export function restOf(player: Pick<TestPlayer, 'post'>): Surface {
  const call = (path: string) => async (input: Record<string, unknown>) => {
    const { idempotencyKey, ...body } = input
    // xp and claim take the key as a header, the purchase as a field.
    const asHeader = typeof idempotencyKey === 'string' && !path.endsWith('premium')
    return outcomeOfRest(
      await player.post(path, asHeader ? body : input, asHeader ? { 'idempotency-key': idempotencyKey } : {}),
    )
  }
  return {
    start: call('/sdk/v1/scenarios/start'),
    cross: call('/sdk/v1/scenarios/cross'),
    run: call('/sdk/v1/scenarios/run'),
    progress: call('/sdk/v1/battlepass/progress'),
    season: call('/sdk/v1/battlepass/season'),
    async seasons() {
      const outcome = await call('/sdk/v1/seasons/list')({})
      return 'ok' in outcome ? { ok: (outcome.ok as { seasons: unknown }).seasons } : outcome
    },
    view: call('/sdk/v1/scenarios/view'),
    addXp: call('/sdk/v1/battlepass/xp'),
    claim: call('/sdk/v1/battlepass/claim'),
    premium: call('/sdk/v1/battlepass/premium'),
  }
}

export function graphqlOf(player: Pick<TestPlayer, 'graphql'>): Surface {
  const call = (query: string) => async (input: Record<string, unknown>) =>
    outcomeOfGraphql(await player.graphql(query, jsonSafe({ input: inEnums(input) })))
  const ask = (query: string) => async (input: Record<string, unknown>) =>
    outcomeOfGraphql(await player.graphql(query, jsonSafe(input)), 'run not found')
  return {
    start: call(START),
    cross: call(CROSS),
    run: ask(RUN),
    progress: ask(PROGRESS),
    season: ask(SEASON),
    seasons: () => ask(SEASONS)({}),
    view: ask(VIEW),
    addXp: call(ADD_XP),
    claim: call(CLAIM),
    premium: call(PREMIUM),
  }
}

/** The answer to one document over a WebSocket of its own. */
export async function askSocket(
  { baseUrl }: { readonly baseUrl: string },
  connectionParams: Record<string, unknown>,
  query: string,
  variables: Record<string, unknown> = {},
): Promise<GraphqlAnswer> {
  const client = createClient({
    url: `${baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams,
    retryAttempts: 0,
  })
  try {
    const { value } = await client.iterate({ query, variables }).next()
    return value as GraphqlAnswer
  } catch (errors) {
    if (!Array.isArray(errors)) throw errors
    return { data: null, errors }
  } finally {
    await client.dispose()
  }
}

export function outcomeOfRest({ status, text, body }: Answer): Outcome {
  if (status === 200) return { ok: plain(plainJson(new RawJson(text))) }
  return { code: body.code.toUpperCase(), message: body.error, ...(body.details && { details: body.details }) }
}

/** A lookup that finds nothing answers null in GraphQL, and is refused over REST. */
export function outcomeOfGraphql({ data, errors }: GraphqlAnswer, absent?: string): Outcome {
  const [error] = errors ?? []
  if (!error && absent !== undefined && Object.values(data)[0] === null)
    return { code: absent.toUpperCase().replaceAll(' ', '_'), message: absent }
  if (!error) return { ok: plain(inWords(Object.values(data)[0])) }
  const { code, details } = error.extensions
  return { code, message: error.message, ...(details && { details }) }
}

/**
 * The members whose values are enums in GraphQL. REST has them in words: `level not reached` is `LEVEL_NOT_REACHED`.
 */
const ENUMS = new Set(['track', 'status', 'cause', 'error', 'phase', 'nextPhase'])

/** A GraphQL answer with the words of REST. Data of nodes is the game's own. */
export function inWords(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => inWords(element))
  if (typeof value === 'object' && value !== null && key !== 'data') {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inWords(member, name)]))
  }
  return ENUMS.has(key) && typeof value === 'string' ? value.toLowerCase().replaceAll('_', ' ') : value
}

export const inEnums = (input: Record<string, unknown>): Record<string, unknown> =>
  typeof input.track === 'string' ? { ...input, track: input.track.toUpperCase() } : input

/** Int64 values are strings in variables. */
function jsonSafe(variables: Record<string, unknown>): Record<string, unknown> {
  return JSON.parse(JSON.stringify(variables, (_key, value) => (typeof value === 'bigint' ? String(value) : value)))
}

const INT64 = new Set(['xp', 'amount', 'balance'])
const IDS = new Set(['runId', 'scenarioId'])

/** The same value for both surfaces. */
export function plain(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((element) => plain(element))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member, name)]))
  }
  if (typeof value === 'bigint' || (INT64.has(key) && typeof value === 'number')) return String(value)
  return IDS.has(key) && typeof value === 'string' ? key : value
}
