import type { Pool } from 'pg'
import { type Fault, Refusal, type RefusalKind } from '../../base/errors.ts'
import type { Secrets } from '../../base/secrets.ts'
import type { ClientRef, PlayerCaller } from '../../callers/callers.ts'
import type { RequestOf } from '../../declare/shape.ts'
import { admitPlayer } from '../../players/player-status.ts'
import { bytesOf, MAX_READ_BYTES } from '../../players/storage.ts'
import { type CustomProvider, findCustomProvider } from '../providers/custom-provider.ts'
import { DEFAULT_PROVIDER } from '../providers/provider-ref.ts'
import type { DenialReason } from '../webhook/denial.ts'
import {
  type CallOptions,
  newWebhookId,
  type Webhook,
  type WebhookAttempt,
  type WebhookResult,
} from '../webhook/webhook.ts'
import { type LoginNote, readWebhookAnswer, requireStorable, type WebhookAnswer } from '../webhook/webhook-answer.ts'
import { type IdentityRef, identityProvider } from './identities.ts'
import { explain, LOGIN_OUTCOMES, type LoginAttempt, type LoginOutcome, logAttempt } from './log/login-log.ts'
import { oddBodyOf } from './odd-body.ts'
import { issueTokenPair, type TokenDeps, type TokenPair } from './refresh-tokens.ts'
import type { linkCustomRequest, loginCustomRequest } from './requests.ts'
import { type Approval, type CountDeps, counted, logIn } from './sign-in.ts'
import { link } from './switch-player.ts'

/** `customData` is the text of a JSON object, passed on as it is. */
export type CustomCredentials = RequestOf<typeof linkCustomRequest>
export type LoginCustom = RequestOf<typeof loginCustomRequest>

export interface LoginDeps extends TokenDeps, CountDeps {
  readonly pool: Pool
  readonly secrets: Secrets
  readonly webhook: Webhook
  /** Called for a secret that cannot be decrypted, and for a log entry that could not be written. */
  readonly warn: (message: string, detail: unknown) => void
}

const MEANINGS: Readonly<Record<Exclude<WebhookResult['kind'], 'answered'>, RefusalKind>> = {
  rejected: 'customAuthRejected',
  unavailable: 'customAuthUnavailable',
  invalidResponse: 'customAuthInvalidResponse',
}

/** A custom login (contract 3): the webhook names the subject, and one transaction creates or finds the player. */
export async function loginCustom(deps: LoginDeps, client: ClientRef, input: LoginCustom): Promise<TokenPair> {
  return counted(deps, 'login', () =>
    withApproval(deps, { operation: 'login', playerId: null }, client, input, async (approval) =>
      issueTokenPair(deps.tokens, client, await deps.run(logIn(approval, input))),
    ),
  )
}

/** Links the subject that the webhook names to a player (contract 3): no player is created, and there are no tokens. */
export async function linkCustom(
  deps: LoginDeps,
  client: ClientRef,
  player: PlayerCaller,
  input: CustomCredentials,
): Promise<IdentityRef> {
  return counted(deps, 'link', async () => {
    // Checked here to spare the webhook; the transaction checks again.
    await deps.run(admitPlayer(player))
    return withApproval(deps, { operation: 'link', playerId: player.playerId }, client, input, (approval) =>
      link(deps, approval, player),
    )
  })
}

/** The judgement of the webhook's result: an answer, or the reason why there is none. */
interface Judged {
  /** Null when it names no player, or when the answer could not be read. */
  readonly answer: WebhookAnswer | null
  readonly refusal: Refusal | null
  /** The attempts, the last one with the cause of an invalid answer. */
  readonly attempts: readonly WebhookAttempt[]
}

/** What a provider's settings say about its answers. */
type AnswerSettings = Pick<CustomProvider, 'claims' | 'denialReasons'>

/** Reads the webhook's answer, and refuses every answer that is no approval (contract 7.1). */
function judge(result: WebhookResult, settings: AnswerSettings): Judged {
  const { attempts } = result
  if (result.kind !== 'answered') {
    const { status = null, error = null } = attempts.at(-1) ?? {}
    const reason = reasonOf(result, settings)
    const refusal = new Refusal(MEANINGS[result.kind], {
      cause: error ?? `status ${status}`,
      ...(reason && { facts: { reason: { ...reason } } }),
    })
    return { answer: null, refusal, attempts }
  }
  const { text, clean } = result
  let answer: WebhookAnswer | null = null
  try {
    answer = readWebhookAnswer(text, settings)
    requireStorable(answer)
    return { answer, refusal: null, attempts }
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal
    const explained = explain(attempts, { cause: clean(String(refusal.cause)), excerpt: clean(text) })
    return { answer, refusal, attempts: explained }
  }
}

/** Why the studio denies the player, if the provider lets clients know. */
const reasonOf = (result: WebhookResult | undefined, { denialReasons }: AnswerSettings): DenialReason | null =>
  denialReasons && result?.kind === 'rejected' ? result.reason : null

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
  /** Why the studio denied the player, as the client would receive it; null for no reason. */
  readonly reason: DenialReason | null
  /** Null when the login would fail. */
  readonly oddBody: OddBodyCheck | null
}

/**
 * Calls a provider's webhook as a login would, and stops there: no player is created, looked up or logged. With `oddBody`
 * it calls the webhook a second time, which a ticket that works once does not survive.
 */
export async function rehearseLogin(
  deps: LoginDeps,
  { projectId, environmentId }: Omit<ClientRef, 'keyId'>,
  { customData, provider, oddBody }: CustomCredentials & { readonly oddBody: boolean },
): Promise<Rehearsal> {
  const target = await findCustomProvider(deps, { projectId, environmentId, name: provider ?? DEFAULT_PROVIDER })
  if (!target) return rehearsalOf({ answer: null, refusal: new Refusal('customAuthDisabled'), attempts: [] })
  const id = newWebhookId()
  return withAnswer(deps, target, customData, { purpose: 'test', id }, async (judged, result) => {
    const { answer, refusal } = judged
    const isSent = oddBody && answer !== null && refusal === null
    const odd = isSent ? await sendOddBody(deps, target, { id, customData, answer }) : null
    return rehearsalOf(judged, reasonOf(result, target), odd)
  })
}

function rehearsalOf(
  { answer, refusal, attempts }: Judged,
  reason: DenialReason | null = null,
  oddBody: OddBodyCheck | null = null,
): Rehearsal {
  const outcome = refusal === null ? 'ok' : LOGIN_OUTCOMES.find((known) => known === refusal.code)
  if (outcome === undefined) throw refusal
  const bytes = answer ? bytesOf(answer.data) : 0
  const isShown = bytes <= MAX_READ_BYTES
  const unshown = { path: 'data', message: `is not shown: its ${bytes} characters are more than an answer carries` }
  return {
    status: refusal?.status ?? 200,
    outcome,
    answer: refusal !== null || answer === null ? null : isShown ? answer : { ...answer, data: new Map() },
    attempts,
    notes: answer?.notes ?? [],
    notices: isShown ? (answer?.notices ?? []) : [...(answer?.notices ?? []), unshown],
    reason,
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
  deps: LoginDeps,
  target: CustomProvider,
  { id, customData, answer }: { readonly id: string; readonly customData: string; readonly answer: WebhookAnswer },
): Promise<OddBodyCheck> {
  const odd = oddBodyOf(customData)
  return withAnswer(deps, target, odd, { purpose: 'test', id }, async (judged, { kind }) => {
    const result =
      kind === 'unavailable'
        ? 'failed'
        : judged.refusal !== null
          ? 'refused'
          : judged.answer?.subject === answer.subject
            ? 'accepted'
            : 'other subject'
    return { result, customData: odd, attempts: judged.attempts }
  })
}

/** Calls a webhook, and uses its result. */
async function withAnswer<T>(
  { webhook }: Pick<LoginDeps, 'webhook'>,
  target: CustomProvider,
  customData: string,
  options: CallOptions,
  use: (judged: Judged, result: WebhookResult) => Promise<T>,
): Promise<T> {
  const result = await webhook.call(target, customData, options)
  return use(judge(result, target), result)
}

/**
 * Calls the provider's webhook while no connection to the database is held, and uses its approval. Refuses every answer
 * that is none.
 */
async function withApproval<T>(
  deps: LoginDeps,
  { operation, playerId }: Pick<LoginAttempt, 'operation' | 'playerId'>,
  client: ClientRef,
  { customData, provider }: CustomCredentials,
  use: (approval: Approval) => Promise<T>,
): Promise<T> {
  const { projectId, environmentId } = client
  const name = provider ?? DEFAULT_PROVIDER
  const target = await findCustomProvider(deps, { projectId, environmentId, name })
  if (!target) throw new Refusal('customAuthDisabled')

  return withAnswer(deps, target, customData, { purpose: operation }, async ({ answer, refusal, attempts }) => {
    const milliseconds = attempts.reduce((sum, attempt) => sum + attempt.milliseconds, 0)
    const { subject = null, notes = [] } = answer ?? {}
    const attempt = { environmentId, operation, provider: name, milliseconds, attempts, subject, notes }
    if (refusal === null && answer !== null) {
      const identity = { environmentId, provider: identityProvider(name), subject: answer.subject }
      return use({ client, identity, answer, attempt })
    }
    const { kind, code, cause, facts } = refusal ?? new Refusal('customAuthInvalidResponse')
    // The client receives the webhook's decision even when it cannot be logged.
    const entry = { ...attempt, playerId, outcome: code }
    await deps.run(logAttempt(entry)).catch((failure) => deps.warn('a login could not be logged', failure))
    const about = { project: projectId, environment: environmentId, provider: name }
    throw new Refusal(kind, { about, facts, cause })
  })
}
