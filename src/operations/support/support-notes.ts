import { actorOf, operatorOf } from '../../audit/audit-log.ts'
import { Refusal } from '../../base/errors.ts'
import { askNote, askNotes, hasRoomForNote, putNote, removeNote } from '../../players/notes.ts'
import type { Command } from '../../transactions/command.ts'
import { act, type Changed, type KeyedCall, type Recorded, type SupportCall } from './support-action.ts'

export interface AddedNote extends Recorded {
  readonly noteId: string
}

/**
 * Adds a note about a player for other operators. Its id is that of its audit entry. Refuses a note above the limit.
 */
export function addPlayerNote(call: KeyedCall, { text }: { readonly text: string }): Command<AddedNote> {
  return act(call, {
    name: 'add_note',
    request: { text },
    ask: askNotes,
    decide(player, group, { auditId: noteId }) {
      if (!hasRoomForNote(player)) throw new Refusal('tooManyNotes')
      const { caller } = call
      putNote(player, { id: noteId, text, actor: actorOf(caller), ...operatorOf(caller), createdAt: group.now })
      // The text is not in the log, which is kept when the player is deleted.
      return { outcome: { noteId }, before: null, after: { noteId, characters: [...text].length } }
    },
  })
}

/** Deletes a note. Nothing changes when it is not there. */
export function deletePlayerNote(call: SupportCall, { noteId }: { readonly noteId: string }): Command<Changed> {
  return act(call, {
    name: 'remove_note',
    request: { noteId },
    ask(player) {
      askNotes(player)
      return askNote(player, noteId)
    },
    decide(player, _group, { asked }) {
      const note = asked.value
      if (note) removeNote(player, noteId)
      const before = note && { noteId, characters: [...note.text].length }
      return { outcome: { changed: note !== null }, before, after: null }
    },
  })
}
