import { removePlayerNoteMutation } from './operations.ts'
import type { SupportAction } from './support-action.ts'

export const removeNoteAction = (noteId: string): SupportAction => ({
  title: 'Remove the note',
  effect: () => 'Nobody can read the note any more. The audit log keeps who wrote and removed it, not its text.',
  confirm: 'Remove',
  tone: 'danger',
  mutation: removePlayerNoteMutation,
  input: () => ({ noteId }),
  done: () => 'The note is removed.',
})
