import { MAX_NOTES } from '../base/limits.ts'
import { boolean, instant, nullable, text, uuid } from '../transactions/columns.ts'
import type { Player } from '../transactions/player.ts'
import { table } from '../transactions/table.ts'

/** Notes of operators about players. Games never see them. Their ids are in the order of their addition. */
export const playerNotes = table('player_notes', {
  key: { id: uuid },
  columns: {
    text,
    /** Who wrote it, as in the audit log. */
    actor: text,
    operator: nullable(text),
    operatorIsClaimed: boolean,
    createdAt: instant,
  },
  kind: 'state',
})
/** Without their texts. Only actions of support need them. */
const all = playerNotes.many([], ({ id }) => id, { columns: ['id'], isKept: false })
const whole = playerNotes.one({ isKept: false })

export interface Note {
  readonly id: string
  readonly text: string
  readonly actor: string
  readonly operator: string | null
  readonly operatorIsClaimed: boolean
  readonly createdAt: Date
}

/** Asks for a player's notes, to count them. */
export const askNotes = (player: Player) => player.many(all)

/** Asks for one note. */
export const askNote = (player: Player, id: string) => player.one(whole, id)

/** Whether one more note fits. Ask for the notes first. */
export const hasRoomForNote = (player: Player): boolean => askNotes(player).keys().length < MAX_NOTES

/** Writes a new note. Ask for the notes first. */
export function putNote(player: Player, note: Note): void {
  player.slot(whole, note.id).set(note)
  askNotes(player).note(note.id, { id: note.id })
}

/** Removes a note, in a transaction. Ask for it and for the notes first. */
export function removeNote(player: Player, id: string): void {
  askNote(player, id).set(null)
  askNotes(player).note(id, null)
}
