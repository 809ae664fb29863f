import type { Pass } from '../running-pass.ts'
import { banAction, deleteAction, endSessionsAction, unbanAction } from './account-actions.ts'
import { grantPlayerBoostAction } from './boost-actions.ts'
import { sendMessageAction } from './message-actions.ts'
import {
  grantPremiumAction,
  grantTierAction,
  grantXpAction,
  resetPassAction,
  revokePremiumAction,
} from './pass-actions.ts'
import type { PassRef, PlayerData, SupportAction } from './support-action.ts'
import { creditAction, debitAction, type KnownCurrency } from './wallet-actions.ts'

/** An action of the player's page, with the pass that it is about. */
export interface PlayerAction {
  readonly action: SupportAction
  readonly note?: string
}

/** What the header of a player offers: one button, and two menus. */
export interface PlayerActions {
  readonly credit: PlayerAction
  readonly grants: readonly PlayerAction[]
  readonly more: readonly PlayerAction[]
}

export function actionsOf(
  player: PlayerData,
  pass: (Pass & PassRef) | undefined,
  known: readonly KnownCurrency[] | undefined,
  most: string | null,
): PlayerActions {
  const onPass = (...actions: readonly SupportAction[]): readonly PlayerAction[] =>
    actions.map((action) => ({ action, note: `${pass?.scenarioId} / ${pass?.nodeId}` }))
  return {
    credit: { action: creditAction(player, known, most) },
    grants: [
      ...(pass ? onPass(grantXpAction(pass), grantTierAction(pass)) : []),
      ...(pass && !pass.premiumOwned ? onPass(grantPremiumAction(pass)) : []),
      { action: grantPlayerBoostAction(player) },
      { action: sendMessageAction(player.language) },
    ],
    more: [
      ...(player.wallet.length > 0 ? [{ action: debitAction(player) }] : []),
      { action: endSessionsAction },
      { action: player.status === 'BANNED' ? unbanAction(player) : banAction(player) },
      ...(pass?.premiumOwned ? onPass(revokePremiumAction(pass)) : []),
      ...(pass && pass.id !== null ? onPass(resetPassAction(pass)) : []),
      { action: deleteAction(player) },
    ],
  }
}
