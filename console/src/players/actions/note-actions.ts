import { deletePlayerNoteMutation } from './operations.ts'
import type { SupportAction } from './support-action.ts'

export const deleteNoteAction = (noteId: string): SupportAction => ({
  title: 'Delete the note',
  effect: () => 'Nobody can read the note any more. The audit log keeps who wrote and deleted it, not its text.',
  confirm: 'Delete',
  tone: 'danger',
  mutation: deletePlayerNoteMutation,
  input: () => ({ noteId }),
  done: () => 'The note is deleted.',
})
