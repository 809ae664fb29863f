import { Refusal } from '../../base/errors.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { type OperatorCall, operatorAct, payload } from '../../declare/operator-call.ts'
import type { Check, Fields, RequestOf, Shape } from '../../declare/shape.ts'
import { settleAll } from '../../players/batch.ts'
import { findPlayers } from '../../players/find-player.ts'
import type { Command } from '../../transactions/command.ts'
import { requireChangeable } from '../calls/role-limits.ts'
import type { each } from './requests.ts'
import type { Recorded, SupportAction, SupportCall } from './support-action.ts'

// An action of support on a list of players, declared once.

/** Why nothing changed for a player of a list. */
export const EACH_ERRORS = ['player not found', 'player deleted'] as const

export const eachResult = answer('The result of an action of support for one player of a list.', {
  playerId: out.id('The id of the player.'),
  error: out.orNull(out.oneOf(EACH_ERRORS), 'Why nothing changed. Null on success.'),
})

type Result = AnswerOf<typeof eachResult>

interface EachResult extends Result {
  /** The entry of the audit log; null where nothing changed. */
  readonly audit: { readonly projectId: string; readonly id: string } | null
}

type EachFields = Fields & typeof each

interface EachCall<F extends EachFields> {
  readonly name: string
  readonly summary: string
  readonly action: SupportAction
  readonly request: Shape<F>
  readonly check?: Check<RequestOf<Shape<F>>>
  readonly command: (call: SupportCall, asked: RequestOf<Shape<F>>) => Command<Recorded>
}

const playersPayload = payload(
  'PlayersPayload',
  { results: out.list(eachResult, 'A result for each player, in the order of the request.') },
  null,
  'The payload of an action of support for a list of players.',
)

/** An action on each of some players. Each is decided by itself, and all have ended when the call is answered. */
export function eachCall<F extends EachFields>(call: EachCall<F>): OperatorCall {
  const { name, summary, request, check, command } = call
  const action = `player.${call.action}`
  return operatorAct<F, { readonly results: readonly Result[] }>({
    name,
    summary,
    request,
    check,
    action,
    answer: playersPayload,
    right: 'act',
    target: { word: 'players' },
    async act({ caller, service }, asked) {
      const { playerIds, reason, idempotencyKey } = asked as unknown as RequestOf<Shape<typeof each>>
      const players = await findPlayers(service.pool, caller.projectId, playerIds)
      for (const environmentId of new Set([...players.values()].map((player) => player.environmentId)))
        await requireChangeable(service.pool, caller, environmentId)

      async function actOn(playerId: string): Promise<EachResult> {
        const player = players.get(playerId)
        if (!player) {
          await service.auditDenied(caller, action, playerId)
          return { playerId, error: 'player not found', audit: null }
        }
        try {
          const { auditId } = await service.run(command({ caller, reason, idempotencyKey, player }, asked))
          return { playerId, error: null, audit: { projectId: caller.projectId, id: auditId } }
        } catch (refusal) {
          const error = refusal instanceof Refusal && EACH_ERRORS.find((known) => known === refusal.message)
          if (!error) throw refusal
          return { playerId, error, audit: null }
        }
      }

      // A player that is named twice is acted on once.
      const ids = [...new Set(playerIds.map((id) => id.toLowerCase()))]
      const results = new Map((await settleAll(ids.map(actOn))).map((one) => [one.playerId, one]))
      const inOrder = playerIds.map((id) => ({ ...(results.get(id.toLowerCase()) as EachResult), playerId: id }))
      return { outcome: { results: inOrder } }
    },
  })
}
