import type { Service } from '../../app/service.ts'
import { Refusal, type RefusalKind } from '../../base/errors.ts'
import { MAX_NOTES } from '../../base/limits.ts'
import { noteDenied, UNKNOWN } from '../../callers/access.ts'
import { newId } from '../../db/ids.ts'
import { type AnswerOf, type Member, out } from '../../declare/answer.ts'
import { type OperatorCall, operatorAct, payload } from '../../declare/operator-call.ts'
import type { Check, Fields, RequestOf, Shape } from '../../declare/shape.ts'
import { findPlayer } from '../../players/find-player.ts'
import type { PlayerRef } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import { countGift, type Limits, requireChangeable } from '../calls/role-limits.ts'
import type { moneyRequest, whom } from './requests.ts'
import {
  type KeyedCall,
  type Recorded,
  SUPPORT_ERRORS,
  type SupportAction,
  type SupportError,
} from './support-action.ts'

// An action of support on a player of the operator's project, declared once.

/** What each refusal says, unless it says more by itself. */
export const ERRORS: Readonly<Record<SupportError, string>> = {
  'player banned': 'The player is banned. Unban it first.',
  'player deleted': 'The player is deleted.',
  'run not active': 'The player has no active run of the scenario, or the run has ended.',
  'node not active': 'The node is not active in the run of the player.',
  'season closed': 'Xp can be added from `startsAt` to `endsAt`.',
  'xp limit exceeded': 'The xp would pass the largest 64-bit integer.',
  'balance limit exceeded': 'The balance would pass the largest 64-bit integer.',
  'insufficient funds': 'The wallet has less than the amount.',
  'unknown currency': 'The environment does not know the currency.',
  'credit limit exceeded': 'The amount is above the credit limit of the currency or of the role.',
  'role limit exceeded': "The call exceeds a limit of the caller's role: of what it gives at once, or of gifts a day.",
  'premium tiers claimed': 'Premium tiers are claimed. Reset them first, or revoke premium with them.',
  'premium not available': 'The pass sells no premium.',
  'tier not found': 'The published version has no such tier.',
  'premium required': 'The player does not own premium. Grant premium first.',
  'inbox full': 'The player has as many messages as an inbox holds.',
  'too many notes': `The player has ${MAX_NOTES} notes. Delete one first.`,
  'already undone': 'Another action has undone it already.',
  'last identity':
    'It is the only identity of the player, who could not log in again. To unlink it all the same, send `allowLast: true`.',
}

type Members = Readonly<Record<string, Member<unknown>>>

/** What an action of support answers. */
interface ActionAnswer<Outcome> {
  readonly answer: ReturnType<typeof payloadOf>
  /** The members beside those that every action has. The outcome of a refused action is null. */
  readonly shown: (
    outcome: Outcome | null,
    of: { readonly player: PlayerRef; readonly refusal: Refusal | null },
  ) => object
}

const payloadOf = (name: string, own: Members, description?: string) =>
  payload(
    name,
    {
      player: out.keptAt<{ readonly environmentId: string; readonly id: string }>('Player'),
      error: out.orNull(out.oneOf(SUPPORT_ERRORS), 'The reason of a refusal; then nothing changed. Null on success.'),
      message: out.orNull(out.text(), 'The refusal as a sentence for the operator.'),
      ...own,
    },
    'Null for an action that was refused. A repeated key returns the first entry.',
    description,
  )

/** The payload of an action, with members of its own and their values. Outcomes are stored with keys, so they keep their form. */
export const actionAnswer = <M extends Members, Outcome = unknown>(
  name: string,
  own: M,
  shown: (
    outcome: Outcome | null,
    of: { readonly player: PlayerRef; readonly refusal: Refusal | null },
  ) => { readonly [Name in keyof M]: M[Name] extends Member<infer T> ? T : never },
  description?: string,
): ActionAnswer<Outcome> => ({ answer: payloadOf(name, own, description), shown })

type ActionFields = Fields & typeof whom

interface ActionCall<F extends ActionFields, Outcome> {
  readonly name: string
  readonly formerly?: string
  readonly summary: string
  readonly action: SupportAction
  readonly title?: string
  readonly request: Shape<F>
  readonly check?: Check<RequestOf<Shape<F>>>
  readonly answer: ActionAnswer<Outcome>
  /** Whether it gives something, or lets a player claim it again: gifts of a day are limited by role. */
  readonly isGift?: (asked: RequestOf<Shape<F>>) => boolean
  readonly command: (
    call: KeyedCall,
    asked: RequestOf<Shape<F>>,
    by: { readonly service: Service; readonly limits: Limits },
  ) => Command<Outcome & Recorded> | Promise<Command<Outcome & Recorded>>
}

/** Refusals because of the role. */
const OF_ROLES: readonly SupportError[] = ['credit limit exceeded', 'role limit exceeded']

/** After these, the gift of the key may have been given: by this call, or by an earlier one. */
const MAY_BE_DONE: readonly RefusalKind[] = ['unavailable', 'idempotencyKeyReused']

/**
 * An action of support on a player. A player of another project counts as missing, and the attempt is in the audit log. A
 * refusal that an operator can act on is data of the payload.
 */
export function actionCall<F extends ActionFields, Outcome>(call: ActionCall<F, Outcome>): OperatorCall {
  const { name, formerly, summary, title, request, check, answer, isGift, command } = call
  const action = `player.${call.action}`
  return operatorAct<F, AnswerOf<typeof answer.answer>>({
    name,
    formerly,
    summary,
    title,
    request,
    check,
    action,
    answer: answer.answer,
    right: 'act',
    target: 'playerId',
    refusals: ['playerNotFound', 'scenarioNotFound', 'nodeNotFound', 'runNotFound', 'storageLimitExceeded'],
    async act({ caller, service }, asked) {
      const { playerId, reason, idempotencyKey, undoes = null } = asked as unknown as RequestOf<typeof moneyRequest>
      const attempt = { action, target: playerId }
      const find = () => findPlayer(service.pool, caller.projectId, playerId)
      const player = await noteDenied(service, caller, attempt, UNKNOWN, find)
      const { environmentId } = player
      const limits = await requireChangeable(service.pool, caller, environmentId)
      const found = { environmentId, id: player.playerId }
      let takeBack: (() => Promise<void>) | undefined
      try {
        if (isGift?.(asked)) {
          // Without a key, each call is a gift of its own.
          const gift = { environmentId, idempotencyKey: idempotencyKey ?? newId() }
          takeBack = await countGift(service.pool, limits, caller, gift)
        }
        const made = await command({ caller, reason, idempotencyKey, undoes, player }, asked, { service, limits })
        const outcome = await service.run(made)
        const own = answer.shown(outcome, { player, refusal: null })
        return { outcome: { player: found, error: null, message: null, ...own }, auditId: outcome.auditId }
      } catch (refusal) {
        if (!(refusal instanceof Refusal)) throw refusal
        if (!MAY_BE_DONE.includes(refusal.kind)) await takeBack?.()
        const error = SUPPORT_ERRORS.find((known) => known === refusal.message)
        if (!error) throw refusal
        if (OF_ROLES.includes(error)) await service.auditDenied(caller, action, player.playerId)
        const message = refusal.faults[0]?.message ?? ERRORS[error]
        return { outcome: { player: found, error, message, ...answer.shown(null, { player, refusal }) } }
      }
    },
  })
}
