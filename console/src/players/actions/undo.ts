import { isDenied } from '../../project/actions.ts'

/** An entry of the audit log about a player, as far as its undo depends on it. */
export interface UndoableEntry {
  readonly id: string
  readonly action: string
  readonly occurredAt: string
  readonly reason: string | null
  readonly beforeText: string | null
  readonly afterText: string | null
}

interface Place {
  readonly scenarioId: string
  readonly nodeId: string
}

/** The player now, as far as an undo depends on it. */
export interface UndoPlayer {
  readonly status: 'ACTIVE' | 'BANNED' | 'DELETED'
  readonly wallet: readonly { readonly currency: string; readonly balance: string }[]
  readonly passes: readonly Place[]
}

/** The action that undoes an entry. */
export type Undo =
  | { readonly by: 'debit' | 'credit'; readonly currency: string; readonly amount: string }
  | {
      readonly by: 'reset tier'
      readonly at: Place
      readonly level: number
      readonly track: 'FREE' | 'PREMIUM' | 'BONUS'
    }
  | { readonly by: 'grant premium' | 'revoke premium'; readonly at: Place }
  | { readonly by: 'end boost'; readonly boostId: string; readonly percent: number }
  | {
      readonly by: 'restore tier'
      readonly at: Place
      readonly level: number
      readonly track: 'FREE' | 'PREMIUM' | 'BONUS'
    }
  | { readonly by: 'grant boost'; readonly percent: number; readonly minutes: number }
  | { readonly by: 'cancel message'; readonly messageId: string }
  | { readonly by: 'unban' }
  | { readonly by: 'ban'; readonly kind: string; readonly publicReason: string; readonly until: string | undefined }

/**
 * The action that undoes an entry, or a sentence that says why there is none. Undefined for an attempt that was denied: it
 * changed nothing.
 */
export function undoOf(entry: UndoableEntry, player: UndoPlayer, now: number): Undo | string | undefined {
  if (isDenied(entry.action) || !entry.action.startsWith('player.')) return undefined
  if (player.status === 'DELETED') return 'The player is deleted.'
  const before = readFacts(entry.beforeText)
  const after = readFacts(entry.afterText)
  const at = { scenarioId: String(after.scenarioId), nodeId: String(after.nodeId) }
  switch (entry.action) {
    case 'player.credit_wallet': {
      const { currency, amount } = moved(before, after)
      const isSpent = player.wallet.every((one) => one.currency !== currency || one.balance === '0')
      return isSpent ? `The player has no ${currency} left.` : { by: 'debit', currency, amount }
    }
    case 'player.debit_wallet':
      return { by: 'credit', ...moved(after, before) }
    case 'player.grant_tier': {
      if (before.claimed === true) return 'The tier was claimed before: nothing was paid.'
      const track = String(after.track).toUpperCase() as 'FREE' | 'PREMIUM' | 'BONUS'
      return has(player, at) ? { by: 'reset tier', at, level: Number(after.level), track } : NO_PASS
    }
    case 'player.reset_tier': {
      if (before.claimed !== true) return 'The tier was not claimed.'
      const track = String(after.track).toUpperCase() as 'FREE' | 'PREMIUM' | 'BONUS'
      return has(player, at) ? { by: 'restore tier', at, level: Number(after.level), track } : NO_PASS
    }
    case 'player.grant_premium':
      if (before.premiumOwned === true) return 'The player had premium before.'
      return has(player, at) ? { by: 'revoke premium', at } : NO_PASS
    case 'player.revoke_premium':
      if (before.premiumOwned !== true) return 'The player had no premium.'
      return has(player, at) ? { by: 'grant premium', at } : NO_PASS
    case 'player.grant_boost':
      return { by: 'end boost', boostId: String(after.boostId), percent: Number(after.percent) }
    case 'player.end_boost': {
      if (entry.beforeText === null) return 'No boost had to be ended.'
      const leftMs = Date.parse(String(before.endsAt)) - Date.parse(String(after.endsAt ?? entry.occurredAt))
      return { by: 'grant boost', percent: Number(before.percent), minutes: Math.max(1, Math.round(leftMs / 60_000)) }
    }
    case 'player.send_message':
      return { by: 'cancel message', messageId: String(after.messageId) }
    case 'player.ban':
      return player.status === 'BANNED' ? { by: 'unban' } : 'The player is not banned any more.'
    case 'player.unban': {
      const { status, kind = 'everything', publicReason = '', until } = before
      if (status !== 'banned') return 'The player was not banned.'
      if (player.status === 'BANNED') return 'The player is banned again.'
      if (until !== undefined && Date.parse(String(until)) <= now) return 'The ban would have ended by now.'
      return {
        by: 'ban',
        kind: String(kind).toUpperCase(),
        publicReason: String(publicReason),
        until: until === undefined ? until : String(until),
      }
    }
    default:
      return FINAL[entry.action] ?? 'This cannot be undone.'
  }
}

const NO_PASS = 'The player has no such pass.'

/** What cannot be undone, and what can be done instead. */
const FINAL: Readonly<Record<string, string>> = {
  'player.grant_xp': 'Xp cannot be taken back alone. The pass can be reset, with all of its xp.',
  'player.reset_pass': 'The xp, the premium and the claims of before are in the entry: grant them again.',
  'player.withdraw_message': 'The text is not kept. Send a message again.',
  'player.remove_note': 'The text is not kept.',
  'player.end_sessions': 'The player logs in again.',
  'player.cancel_run': 'The player may start another run.',
}

const has = ({ passes }: UndoPlayer, { scenarioId, nodeId }: Place): boolean =>
  passes.some((pass) => pass.scenarioId === scenarioId && pass.nodeId === nodeId)

type Facts = Readonly<Record<string, unknown>>

/** The state of an entry. Its balances are read as texts, since they may be larger than numbers are exact. */
function readFacts(text: string | null): Facts {
  const value: unknown = JSON.parse((text ?? '{}').replace(/"balance":(-?\d+)/g, '"balance":"$1"'))
  return typeof value === 'object' && value !== null ? (value as Facts) : {}
}

/** The money by which the second state has more. */
const moved = (from: Facts, to: Facts) => ({
  currency: String(to.currency),
  amount: String(BigInt(String(to.balance)) - BigInt(String(from.balance))),
})
