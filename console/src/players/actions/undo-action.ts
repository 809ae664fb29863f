import { banAction, unbanAction } from './account-actions.ts'
import { endBoostAction, grantPlayerBoostAction } from './boost-actions.ts'
import { cancelMessageAction } from './message-actions.ts'
import { grantPremiumAction, grantTierAction, resetTierAction, revokePremiumAction } from './pass-actions.ts'
import type { PassRef, PlayerData, SupportAction, Values } from './support-action.ts'
import type { Undo, UndoableEntry } from './undo.ts'
import { creditAction, debitAction } from './wallet-actions.ts'

/** The dialog of an undo, filled in. */
export const undoAction = (entry: UndoableEntry, undo: Undo, player: PlayerData, now: number): SupportAction => ({
  ...actionOf(undo, player, now),
  undoes: entry.id,
  reason: `Undo: ${entry.reason ?? ''}`.trim(),
})

function actionOf(undo: Undo, player: PlayerData, now: number): SupportAction {
  switch (undo.by) {
    case 'debit':
      return filled(debitAction(player), { currency: undo.currency, amount: undo.amount })
    case 'credit': {
      const { currency, amount } = undo
      return { ...filled(creditAction(player, undefined, null), { currency, amount, allowNew: 'true' }), fields: [] }
    }
    case 'reset tier':
      return resetTierAction(passAt(undo.at, player, now), undo)
    case 'revoke premium':
      return revokePremiumAction(passAt(undo.at, player, now))
    case 'grant premium':
      return {
        ...grantPremiumAction(passAt(undo.at, player, now)),
        effect: () => 'The player owns premium again. Claims that were removed with it are restored, and pay nothing.',
      }
    case 'restore tier':
      return {
        ...grantTierAction(passAt(undo.at, player, now), undo),
        effect: () => 'The claim of the tier is restored. Nothing is paid: the player has kept its rewards.',
        done: () => 'The claim is restored. Nothing was paid.',
      }
    case 'end boost':
      return {
        ...endBoostAction(undo),
        effect: () => `Takes what is left of this gift from the boost of ${undo.percent}%. What others gave stays.`,
        done: (_values, { changed }) => (changed ? 'What was left was taken.' : 'Nothing of it was left.'),
      }
    case 'grant boost':
      return filled(grantPlayerBoostAction(player), { percent: String(undo.percent), minutes: String(undo.minutes) })
    case 'cancel message':
      return cancelMessageAction(undo.messageId, 'The message')
    case 'unban':
      return unbanAction(player)
    case 'ban': {
      const { kind, publicReason, until } = undo
      const action = filled(banAction(player, now), { kind, publicReason })
      // The end that the ban had, unless the operator chooses another length.
      return {
        ...action,
        input: (values) => ({ ...action.input?.(values), ...(until !== undefined && !values.hours && { until }) }),
      }
    }
  }
}

function passAt(at: { scenarioId: string; nodeId: string }, { passes }: PlayerData, now: number): PassRef {
  const pass = passes.find(({ scenarioId, nodeId }) => scenarioId === at.scenarioId && nodeId === at.nodeId)
  if (!pass) throw new Error(`the player has no pass ${at.scenarioId} / ${at.nodeId}`)
  return { ...pass, view: undefined, hasRun: undefined, now }
}

const filled = (action: SupportAction, values: Values): SupportAction => ({
  ...action,
  initial: { ...action.initial, ...values },
})
