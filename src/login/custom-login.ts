import type { Pool } from 'pg'
import { type Fault, Refusal, type RefusalKind } from '../base/errors.ts'
import type { Secrets } from '../base/secrets.ts'
import type { ClientRef, PlayerCaller } from '../callers/callers.ts'
import { askClient } from '../callers/keys.ts'
import { toRefusal } from '../db/failures.ts'
import type { RequestOf } from '../declare/shape.ts'
import { addPlayer, Profiles } from '../players/create-player.ts'
import { admitPlayer, askStatus, requireActive } from '../players/player-status.ts'
import { askKeys, bytesOf, hasRoomFor, putValues, TOO_MANY_KEYS } from '../players/storage.ts'
import { askProvider, type CustomProvider, DEFAULT_PROVIDER, findCustomProvider } from '../providers/custom-provider.ts'
import type { Command } from '../transactions/command.ts'
import type { Group } from '../transactions/group.ts'
import type { Player, PlayerRef } from '../transactions/player.ts'
import { newWebhookId, type Webhook, type WebhookAttempt, type WebhookResult } from '../webhook/webhook.ts'
import { type LoginNote, readWebhookAnswer, requireStorable, type WebhookAnswer } from '../webhook/webhook-answer.ts'
import { addIdentity, askOwner, type IdentityRef, identityProvider } from './identities.ts'
import { LastLogins } from './last-logins.ts'
import { LOGIN_OUTCOMES, type LoginAttempt, LoginLog, type LoginOutcome, logAttempt } from './log/login-log.ts'
import { oddBodyOf } from './odd-body.ts'
import { issueTokenPair, RefreshTokens, type Session, type TokenDesk, type TokenPair } from './refresh-tokens.ts'
import type { linkCustomRequest, loginCustomRequest } from './requests.ts'

/** `customData` is the text of a JSON object, passed on as it is. */
export type CustomCredentials = RequestOf<typeof linkCustomRequest>
export type LoginCustom = RequestOf<typeof loginCustomRequest>

export interface LoginDesk extends TokenDesk {
  readonly pool: Pool
  readonly secrets: Secrets
  readonly webhook: Webhook
  /** Called for a secret that cannot be decrypted, and for a log entry that could not be written. */
  readonly warn: (message: string, detail: unknown) => void
  /** Called once for each login and link with `ok` or the code that the client receives. */
  readonly countLogin: (operation: LoginAttempt['operation'], result: string) => void
}

/** A webhook's approval, on the way into a transaction. */
interface Approval {
  readonly client: ClientRef
  readonly identity: IdentityRef
  readonly answer: WebhookAnswer
  /** The entry of the login log, without the outcome and the player. */
  readonly attempt: Omit<LoginAttempt, 'outcome' | 'playerId'>
}

const MEANINGS: Readonly<Record<Exclude<WebhookResult['kind'], 'answered'>, RefusalKind>> = {
  rejected: 'customAuthRejected',
  unavailable: 'customAuthUnavailable',
  invalidResponse: 'customAuthInvalidResponse',
}

/** A custom login (spec 3): the webhook names the subject, and one transaction creates or finds the player. */
export async function loginCustom(desk: LoginDesk, client: ClientRef, input: LoginCustom): Promise<TokenPair> {
  return counted(desk, 'login', async () => {
    const approval = await askWebhook(desk, { operation: 'login', playerId: null }, client, input)
    return issueTokenPair(desk.tokens, client, settled(await desk.run(logIn(approval, input))))
  })
}

/** Links the subject that the webhook names to a player (spec 3): no player is created, and there are no tokens. */
export async function linkCustom(
  desk: LoginDesk,
  client: ClientRef,
  player: PlayerCaller,
  input: CustomCredentials,
): Promise<IdentityRef> {
  return counted(desk, 'link', async () => {
    // Checked here to spare the webhook; the transaction checks again.
    await desk.run(admitPlayer(player))
    const approval = await askWebhook(desk, { operation: 'link', playerId: player.playerId }, client, input)
    settled(await desk.run(linkIdentity(approval, player)))
    return approval.identity
  })
}

async function counted<T>(desk: LoginDesk, operation: LoginAttempt['operation'], work: () => Promise<T>): Promise<T> {
  try {
    const result = await work()
    desk.countLogin(operation, 'ok')
    return result
  } catch (error) {
    desk.countLogin(operation, toRefusal(error)?.code ?? 'internal_error')
    throw error
  }
}

/** The judgement of the webhook's result: an answer, or the reason why there is none. */
interface Judged {
  /** Null when it names no player, or when the answer could not be read. */
  readonly answer: WebhookAnswer | null
  readonly refusal: Refusal | null
  /** The attempts, the last one with the cause of an invalid answer. */
  readonly attempts: readonly WebhookAttempt[]
}

/** Reads the webhook's answer, and refuses every answer that is no approval (spec 7.1). */
function judge(result: WebhookResult): Judged {
  const { attempts } = result
  if (result.kind !== 'answered') {
    const { status = null, error = null } = attempts.at(-1) ?? {}
    const refusal = new Refusal(MEANINGS[result.kind], { cause: error ?? `status ${status}` })
    return { answer: null, refusal, attempts }
  }
  const { text, clean } = result
  let answer: WebhookAnswer | null = null
  try {
    answer = readWebhookAnswer(text)
    requireStorable(answer)
    return { answer, refusal: null, attempts }
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal
    const explained = explain(attempts, { cause: clean(String(refusal.cause)), excerpt: clean(text) })
    return { answer, refusal, attempts: explained }
  }
}

function explain(
  attempts: readonly WebhookAttempt[],
  why: Partial<Pick<WebhookAttempt, 'cause' | 'excerpt'>>,
): WebhookAttempt[] {
  return attempts.map((attempt, index) => (index === attempts.length - 1 ? { ...attempt, ...why } : attempt))
}

/** The result of a rehearsed login, with each attempt. */
export interface Rehearsal {
  /** The status that a client would receive. */
  readonly status: number
  readonly outcome: LoginOutcome
  /** The answer that the login would store. Null when it would fail. */
  readonly answer: WebhookAnswer | null
  readonly attempts: readonly WebhookAttempt[]
  readonly notes: readonly LoginNote[]
  readonly notices: readonly Fault[]
  /** Null when the login would fail. */
  readonly oddBody: OddBodyCheck | null
}

/** Calls a provider's webhook as a login would, and stops there: no player is created, looked up or logged. */
export async function rehearseLogin(
  desk: LoginDesk,
  { projectId, environmentId }: Omit<ClientRef, 'keyId'>,
  { customData, provider }: CustomCredentials,
): Promise<Rehearsal> {
  const target = await findCustomProvider(desk, { projectId, environmentId, name: provider ?? DEFAULT_PROVIDER })
  const id = newWebhookId()
  const { answer, refusal, attempts } = target
    ? judge(await desk.webhook.call(target, customData, id))
    : { answer: null, refusal: new Refusal('customAuthDisabled'), attempts: [] }
  const outcome = refusal === null ? 'ok' : LOGIN_OUTCOMES.find((known) => known === refusal.code)
  if (outcome === undefined) throw refusal
  const oddBody =
    target && answer && refusal === null ? await sendOddBody(desk, target, { id, customData, answer }) : null
  return {
    status: refusal?.status ?? 200,
    outcome,
    answer: refusal === null ? answer : null,
    attempts,
    notes: answer?.notes ?? [],
    notices: answer?.notices ?? [],
    oddBody,
  }
}

export const ODD_BODY_RESULTS = ['accepted', 'refused', 'other subject', 'failed'] as const

/** What the webhook made of a body with the same values, written in another way. */
export interface OddBodyCheck {
  readonly result: (typeof ODD_BODY_RESULTS)[number]
  /** The text that was sent. */
  readonly customData: string
  readonly attempts: readonly WebhookAttempt[]
}

/**
 * Sends the same call again, as a repeated attempt with a body that JSON libraries would write differently. A webhook
 * that verifies the signature over JSON that it has parsed and printed again refuses it.
 */
async function sendOddBody(
  desk: LoginDesk,
  target: CustomProvider,
  { id, customData, answer }: { readonly id: string; readonly customData: string; readonly answer: WebhookAnswer },
): Promise<OddBodyCheck> {
  const odd = oddBodyOf(customData)
  const called = await desk.webhook.call(target, odd, id)
  const judged = judge(called)
  const result =
    called.kind === 'unavailable'
      ? 'failed'
      : judged.refusal !== null
        ? 'refused'
        : judged.answer?.subject === answer.subject
          ? 'accepted'
          : 'other subject'
  return { result, customData: odd, attempts: judged.attempts }
}

/**
 * Calls the provider's webhook while no connection to the database is held. Refuses every answer that is no approval.
 */
async function askWebhook(
  desk: LoginDesk,
  { operation, playerId }: Pick<LoginAttempt, 'operation' | 'playerId'>,
  client: ClientRef,
  { customData, provider }: CustomCredentials,
): Promise<Approval> {
  const { projectId, environmentId } = client
  const name = provider ?? DEFAULT_PROVIDER
  const target = await findCustomProvider(desk, { projectId, environmentId, name })
  if (!target) throw new Refusal('customAuthDisabled')

  const { answer, refusal, attempts } = judge(await desk.webhook.call(target, customData))
  const milliseconds = attempts.reduce((sum, attempt) => sum + attempt.milliseconds, 0)
  const { subject = null, notes = [] } = answer ?? {}
  const attempt = { environmentId, operation, provider: name, milliseconds, attempts, subject, notes }
  if (refusal === null && answer !== null) {
    const identity = { environmentId, provider: identityProvider(name), subject: answer.subject }
    return { client, identity, answer, attempt }
  }
  const { kind, code, cause } = refusal ?? new Refusal('customAuthInvalidResponse')
  // The client receives the webhook's decision even when it cannot be logged.
  const entry = { ...attempt, playerId, outcome: code }
  await desk.run(logAttempt(entry)).catch((failure) => desk.warn('a login could not be logged', failure))
  const about = { project: projectId, environment: environmentId, provider: name }
  throw new Refusal(kind, { about, cause })
}

/** The transaction's result. On a refusal it has already written the login log. */
type Settled<T> = T | Refusal

function settled<T>(outcome: Settled<T>): T {
  if (outcome instanceof Refusal) throw outcome
  return outcome
}

/** Asks for a player, with its storage only when there is something to write. */
function askPlayer(group: Group, ref: PlayerRef, { data }: WebhookAnswer): Player {
  const player = group.player(ref)
  askStatus(player)
  if (data.size > 0) askKeys(player)
  return player
}

function logIn(approval: Approval, input: LoginCustom): Command<Settled<Session>> {
  const { identity, answer } = approval
  return {
    engine: 'logins',
    fresh: true,
    bytes: bytesOf(answer.data),
    *decide(group) {
      // The subject is locked before its player, in this order in every group.
      const { owner, requireApproval } = yield* group.rowsFrom(
        () => askOwner(group, identity),
        (ref) => ({
          owner: ref && askPlayer(group, ref, answer),
          requireApproval: askApproval(group, approval),
        }),
      )
      const refusal = refusalOf(() => {
        requireApproval()
        // The limits of `data` itself were checked before, and a new player's storage is empty.
        if (owner) admit(owner, answer)
      })
      if (refusal) return log(group, approval, owner, refusal)

      const player = owner ?? createOwner(group, approval, input)
      if (owner) group.of(Profiles).change(owner, answer)
      putValues(player, answer.data)
      log(group, approval, player)
      group.of(LastLogins).add(player)
      return group.of(RefreshTokens).begin(player, Math.floor(Date.now() / 1000), answer.claims)
    },
  }
}

function createOwner(group: Group, { identity, answer }: Approval, input: LoginCustom): Player {
  const { nickname, avatarUrl } = answer
  const { region, language } = input
  const profile = { nickname: nickname ?? input.nickname, avatarUrl, region, language }
  const player = addPlayer(group, identity, profile)
  addIdentity(group, identity, player)
  return player
}

function linkIdentity(approval: Approval, caller: PlayerCaller): Command<Settled<void>> {
  const { identity, answer } = approval
  return {
    engine: 'logins',
    fresh: true,
    bytes: bytesOf(answer.data),
    *decide(group) {
      const { owner, player, requireApproval, requireLogin } = yield* group.rowsFrom(
        () => askOwner(group, identity),
        (owner) => ({
          owner,
          player: askPlayer(group, caller, answer),
          requireApproval: askApproval(group, approval),
          requireLogin: group.of(RefreshTokens).askLogin(caller),
        }),
      )
      const refusal = refusalOf(() => {
        requireApproval()
        requireActive(player)
        requireLogin()
        if (owner && owner.playerId !== player.playerId) throw new Refusal('identityAlreadyLinked')
        admit(player, answer)
      })
      if (refusal) return log(group, approval, player, refusal)

      if (!owner) addIdentity(group, identity, player)
      putValues(player, answer.data)
      log(group, approval, player)
    },
  }
}

/**
 * Asks again for all that the webhook's call rested on, since it can take ten seconds. The returned function refuses a
 * key or a provider that has ended meanwhile.
 */
function askApproval(group: Group, { client, attempt }: Approval): () => void {
  const requireClient = askClient(group, client)
  const requireProvider = askProvider(group, { ...attempt, name: attempt.provider })
  return () => {
    requireClient()
    requireProvider()
  }
}

/** Refuses a player that cannot log in or whose storage is full, before anything is changed. */
function admit(player: Player, { data }: WebhookAnswer): void {
  requireActive(player)
  if (!hasRoomFor(player, data))
    throw new Refusal('customAuthInvalidData', { cause: `data: ${TOO_MANY_KEYS.message}, with those that it has` })
}

function refusalOf(check: () => void): Refusal | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

function log<T extends Refusal | undefined>(
  group: Group,
  { attempt }: Approval,
  player: PlayerRef | undefined,
  refusal?: T,
): T {
  const { cause } = refusal ?? {}
  const attempts = typeof cause === 'string' ? explain(attempt.attempts, { cause }) : attempt.attempts
  group.of(LoginLog).add({ ...attempt, attempts, playerId: player?.playerId ?? null, outcome: refusal?.code ?? 'ok' })
  return refusal as T
}
