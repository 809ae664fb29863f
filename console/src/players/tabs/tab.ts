import type { PlayerData, SupportAction } from '../actions/support-action.ts'

/** The props of each tab of a player. */
export interface TabProps {
  readonly player: PlayerData
  /** Opens the dialog of an action. */
  readonly open: (action: SupportAction) => void
}
