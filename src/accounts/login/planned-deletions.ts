import { instant } from '../../transactions/columns.ts'
import type { Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'

// Deletions that players have asked for. They take place after a delay, and a login before then cancels them.

export const plannedDeletions = table('planned_deletions', {
  key: {},
  columns: { deleteAt: instant },
  kind: 'state',
  isVersioned: false,
})
const planned = plannedDeletions.one()

/** Asks for the deletion that a player has asked for; its value is null without one. */
export const askDeletion = (player: Player) => player.one(planned)

/** Cancels the deletion of a player, if there is one. Ask for it first. */
export function cancelDeletion(player: Player): void {
  const deletion = player.one(planned)
  if (deletion.value) deletion.set(null)
}

/** Plans the deletion of a player. Ask for it first. */
export function planDeletion(player: Player, deleteAt: Date): void {
  player.one(planned).set({ deleteAt })
}
