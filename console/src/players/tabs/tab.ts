import type { PlayerData, SupportAction } from '../actions/support-action.ts'

export interface TabProps {
  readonly player: PlayerData
  readonly open: (action: SupportAction) => void
}
