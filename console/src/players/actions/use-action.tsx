import { type ReactNode, useState } from 'react'
import { type ButtonProps, RoleButton } from '../../ui/button.tsx'
import type { PlayerData, SupportAction } from './support-action.ts'
import { SupportDialog } from './support-dialog.tsx'

/** Opens dialogs of actions. The page renders `dialog` anywhere. */
export function useAction(player: PlayerData): {
  readonly open: (action: SupportAction) => void
  readonly dialog: ReactNode
} {
  const [action, setAction] = useState<SupportAction>()
  return {
    open: setAction,
    dialog: action && (
      <SupportDialog key={action.title} player={player} action={action} onClose={() => setAction(undefined)} />
    ),
  }
}

/** A button for an action of support, which needs the role operator. */
export const ActionButton = (props: ButtonProps) => <RoleButton needs="act" {...props} />
