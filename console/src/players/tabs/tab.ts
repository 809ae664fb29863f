import type { PlayerData, SupportAction } from '../actions/support-action.ts'

/** What each tab of a player gets. */
export interface TabProps {
  readonly player: PlayerData
  /** Opens the dialog of an action. */
  readonly open: (action: SupportAction) => void
}
