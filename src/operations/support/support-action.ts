import { AuditLog, askUndo } from '../../audit/audit-log.ts'
import { invalidRequest, type REFUSALS, Refusal, type RefusalKind } from '../../base/errors.ts'
import { type Json, parseJson } from '../../base/json.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { askKey } from '../../callers/keys.ts'
import { newId } from '../../db/ids.ts'
import { askStatus } from '../../players/player-status.ts'
import type { About, Command } from '../../transactions/command.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'

// Actions of support on a player. They use the locks and rules of the player's own calls, and write one audit row each.

export interface SupportCall {
  readonly caller: PlatformCaller
  readonly player: PlayerRef
  readonly reason: string
  /** The same key and request takes effect once and gets the same answer. */
  readonly idempotencyKey?: string | null
  /** The entry of the audit log whose action this one undoes. */
  readonly undoes?: string | null
}

/** A call of an action that moves value, which needs a key. */
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
  | 'cross_handle'
  | 'grant_boost'
  | 'end_boost'
  | 'set_storage'
  | 'delete_storage'
  | 'send_message'
  | 'withdraw_message'
  | 'add_note'
  | 'remove_note'

/** The action that an action can undo. */
export const UNDOES: Partial<Readonly<Record<SupportAction, SupportAction>>> = {
  ban: 'unban',
  unban: 'ban',
  credit_wallet: 'debit_wallet',
  debit_wallet: 'credit_wallet',
  grant_tier: 'reset_tier',
  reset_tier: 'grant_tier',
  grant_premium: 'revoke_premium',
  revoke_premium: 'grant_premium',
  grant_boost: 'end_boost',
  end_boost: 'grant_boost',
  withdraw_message: 'send_message',
  remove_note: 'add_note',
}

/** Refusals that an operator can act on. They are data of the payload; any other refusal is an error of the request. */
export const SUPPORT_ERRORS = [
  'player banned',
  'player deleted',
  'run not active',
  'node not active',
  'season closed',
  'xp limit exceeded',
  'balance limit exceeded',
  'insufficient funds',
  'unknown currency',
  'credit limit exceeded',
  'role limit exceeded',
  'premium tiers claimed',
  'premium not available',
  'tier not found',
  'premium required',
  'inbox full',
  'too many notes',
  'already undone',
  'last identity',
] as const satisfies readonly (typeof REFUSALS)[RefusalKind][1][]
export type SupportError = (typeof SUPPORT_ERRORS)[number]

export interface Recorded {
  readonly auditId: string
}

/** The result of an action on a player, for the audit row and for the operator. */
export interface Done<Outcome> {
  readonly outcome: Outcome
  readonly before: Json
  readonly after: Json
}

export interface Action<Outcome, Asked> {
  readonly name: SupportAction
  /** The request without the player, the reason and the key. A key stands for one request. */
  readonly request: Json
  /** Asks for the rows that the action needs in addition to the player. */
  readonly ask?: (player: Player, group: Group) => Asked
  /** Refuses or changes. Asks for further rows in steps, if it needs any. */
  readonly decide: (player: Player, group: Group, context: Context<Asked>) => Done<Outcome> | Steps<Done<Outcome>>
  /** What the action's stored answer is about, if another action undoes it. */
  readonly about?: (group: Group, outcome: Outcome) => About
}

export interface Context<Asked> {
  readonly asked: Asked
  readonly auditId: string
  /** Null for an action that undoes none. */
  readonly undone: Undone | null
}

/** The entry that an action undoes: the state before and after it, `{}` where the entry has none. */
export interface Undone {
  readonly before: { readonly [name: string]: unknown }
  readonly after: { readonly [name: string]: unknown }
}

/** Balances are read as texts, since they may be larger than numbers are exact. */
const readState = (text: string | null): Undone['before'] =>
  (parseJson((text ?? '{}').replaceAll(/"balance":(-?\d+)/g, '"balance":"$1"')) as Undone['before'] | null) ?? {}

/** Refuses an undo of something else than its entry did. */
export function requireUndoOf(entry: Undone['before'], asked: Readonly<Record<string, unknown>>): void {
  const faults = Object.keys(asked)
    .filter((path) => asked[path] !== entry[path])
    .map((path) => ({ path, message: `must be ${entry[path]}, as in the entry that it undoes` }))
  if (faults.length > 0) throw invalidRequest(...faults)
}

/**
 * Runs an action on a player that is not deleted, and adds its audit entry. Repeated with its key, it runs once. One that
 * undoes an entry refuses another action's entry, and one that is undone already.
 */
export function act<Outcome extends object, Asked = undefined>(
  call: SupportCall,
  action: Action<Outcome, Asked>,
): Command<Outcome & Recorded> {
  const { caller, reason, idempotencyKey: key, undoes = null } = call
  const { name, about } = action
  const request = undoes === null ? action.request : { undoes, of: action.request }
  return {
    player: call.player,
    once: {
      operation: `support.${name}`,
      key,
      request,
      *admit(group) {
        const requireKey = yield* group.rows(() => askKey(group, caller))
        requireKey()
      },
      ...(about && { about: (outcome, group) => about(group, outcome) }),
    },
    fresh: true,
    ...(undoes !== null && { apart: true }),
    *decide(group) {
      const { player, status, asked, requireKey, undone } = yield* group.rows(() => {
        const player = group.player(call.player)
        const status = askStatus(player)
        const asked = action.ask?.(player, group) as Asked
        const undone = undoes === null ? null : askUndo(group, caller.projectId, undoes)
        return { player, status, asked, requireKey: askKey(group, caller), undone }
      })
      requireKey()
      if (!status.value) throw new Refusal('playerNotFound')
      if (status.value.status === 'deleted') throw new Refusal('playerDeleted')
      if (undone) {
        const { entry, isUndone } = undone
        if (entry?.target !== player.playerId || entry.action !== `player.${UNDOES[name]}`)
          throw invalidRequest({ path: 'undoes', message: 'must be an entry of the player that this action undoes' })
        if (isUndone) throw new Refusal('alreadyUndone')
      }
      const auditId = newId()
      const entryOf = undone?.entry && { before: readState(undone.entry.before), after: readState(undone.entry.after) }
      const decision = action.decide(player, group, { asked, auditId, undone: entryOf ?? null })
      const done = 'outcome' in decision ? decision : yield* decision
      const { environmentId, playerId: target } = player
      const { before, after } = done
      const entry = { environmentId, action: `player.${name}`, target, before, after, reason, undoes }
      group.of(AuditLog).add(caller, entry, auditId)
      return { ...done.outcome, auditId }
    },
  }
}

export interface Changed extends Recorded {
  readonly changed: boolean
}
