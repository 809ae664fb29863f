import { AuditLog } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import { askKey } from '../auth/keys.ts'
import type { Command } from '../commit/command.ts'
import { type Group, LATER } from '../commit/group.ts'
import type { Player, PlayerRef } from '../commit/player.ts'
import { newId } from '../db/ids.ts'
import { type REFUSALS, Refusal, type RefusalKind } from '../errors.ts'
import type { Json } from '../json.ts'
import { askStatus } from '../players/player-status.ts'

// Actions of support on a player. They use the locks and rules of the player's own calls, and write one audit row each.

/** The operator, the player and the reason. */
export interface SupportCall {
  readonly caller: PlatformCaller
  readonly player: PlayerRef
  readonly reason: string
}

/** An action that moves value needs a key: the same key and request takes effect once and gets the same answer. */
export interface KeyedCall extends SupportCall {
  readonly idempotencyKey: string
}

/** The names of the actions: `ban` is `player.ban` in the audit log, and `player.ban.denied` when it is refused. */
export type SupportAction =
  | 'ban'
  | 'unban'
  | 'delete'
  | 'end_sessions'
  | 'unlink_identity'
  | 'credit_wallet'
  | 'debit_wallet'
  | 'grant_xp'
  | 'grant_tier'
  | 'reset_tier'
  | 'reset_reward'
  | 'grant_premium'
  | 'revoke_premium'
  | 'reset_pass'
  | 'cancel_run'
  | 'set_storage'
  | 'delete_storage'

/** Refusals that an operator can act on. They are data of the payload; any other refusal is an error of the request. */
export const SUPPORT_ERRORS = [
  'player banned',
  'player deleted',
  'run not active',
  'season closed',
  'xp limit exceeded',
  'balance limit exceeded',
  'insufficient funds',
  'unknown currency',
  'credit limit exceeded',
  'premium tiers claimed',
  'premium not available',
] as const satisfies readonly (typeof REFUSALS)[RefusalKind][1][]
export type SupportError = (typeof SUPPORT_ERRORS)[number]

/** The common part of every action's answer. */
export interface Recorded {
  /** Its entry in the audit log. Missing in answers that an earlier version stored. */
  readonly auditId?: string
}

/** The result of an action on a player, for the audit row and for the operator. */
export interface Done<Outcome> {
  readonly outcome: Outcome
  readonly before: Json
  readonly after: Json
}

export interface Action<Outcome> {
  readonly name: SupportAction
  /** Asks for the rows that the action needs in addition to the player. */
  readonly ask?: (player: Player, group: Group) => void
  readonly decide: (player: Player, group: Group, auditId: string) => Done<Outcome> | typeof LATER
}

/** Runs an action on a player that is not deleted, and adds its audit entry. */
export function act<Outcome extends object>(call: SupportCall, action: Action<Outcome>): Command<Outcome & Recorded> {
  const { caller, reason } = call
  return {
    player: call.player,
    locks: true,
    decide(group) {
      const player = group.player(call.player)
      const status = askStatus(player)
      action.ask?.(player, group)
      const requireKey = askKey(group, caller)
      if (group.waits) return LATER
      requireKey()
      if (!status.value) throw new Refusal('playerNotFound')
      if (status.value.status === 'deleted') throw new Refusal('playerDeleted')
      const id = newId()
      const done = action.decide(player, group, id)
      if (done === LATER) return LATER
      const { environmentId, playerId: target } = player
      const { before, after } = done
      const entry = { environmentId, action: `player.${action.name}`, target, before, after, reason }
      group.of(AuditLog).add(caller, entry, id)
      return { ...done.outcome, auditId: id }
    },
  }
}

export function once<Outcome extends object>(
  call: KeyedCall,
  action: Action<Outcome>,
  request: Json,
  tookEffect: (outcome: Outcome) => boolean = () => true,
): Command<Outcome & Recorded> {
  const operation = `support.${action.name}`
  const admit = (group: Group): typeof LATER | undefined => {
    const requireKey = askKey(group, call.caller)
    if (group.waits) return LATER
    requireKey()
  }
  return { ...act(call, action), once: { operation, key: call.idempotencyKey, request, admit, tookEffect } }
}

export interface Changed extends Recorded {
  /** Whether anything changed. */
  readonly changed: boolean
}
