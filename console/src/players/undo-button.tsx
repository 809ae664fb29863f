import { useDenial } from '../session/permission.tsx'
import { DeniedButton } from '../ui/button.tsx'
import { type UndoableEntry, undoOf } from './actions/undo.ts'
import { undoAction } from './actions/undo-action.ts'
import { ActionButton } from './actions/use-action.tsx'
import type { TabProps } from './tabs/tab.ts'

/** The ids of the entries that other ones of a list undo. The list must be the latest first, from its beginning. */
export const undoneBy = (entries: readonly ({ readonly undoes: string | null } | null)[]): ReadonlySet<string> =>
  new Set(entries.flatMap((entry) => entry?.undoes ?? []))

/** Opens the action that undoes an entry. Where there is none it stays, and says why when it is pressed. */
export function UndoButton(
  props: TabProps & { readonly entry: UndoableEntry; readonly undone: ReadonlySet<string>; readonly title: string },
) {
  const { entry, undone, player, open, title } = props
  const isDenied = useDenial('act') !== undefined
  if (undone.has(entry.id)) return <span className="badge">undone</span>
  const now = Date.now()
  const undo = undoOf(entry, player, now)
  if (undo === undefined || isDenied) return null
  const button = { tone: 'quiet', label: `Undo: ${title}`, children: 'Undo' } as const
  return typeof undo === 'string' ? (
    <DeniedButton denial={undo} {...button} />
  ) : (
    <ActionButton onClick={() => open(undoAction(entry, undo, player, now))} {...button} />
  )
}
