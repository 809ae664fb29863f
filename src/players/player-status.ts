import { Refusal } from '../base/errors.ts'
import type { Command } from '../transactions/command.ts'
import type { Group, Steps } from '../transactions/group.ts'
import type { One, Player, PlayerRef } from '../transactions/player.ts'
import { type Column, table, text } from '../transactions/table.ts'

export type { PlayerRef } from '../transactions/player.ts'

export const STATUSES = ['active', 'banned', 'deleted'] as const
export type Status = (typeof STATUSES)[number]

interface StatusRow {
  readonly status: Status
}

const statuses = table('players', {
  owner: ['environment_id', 'id'],
  key: {},
  columns: { status: text as Column<Status> },
  kind: 'state',
})
const statusRead = statuses.one()

/** A player's status. Null for an unknown player. */
export function askStatus(player: Player): One<StatusRow> {
  return player.one(statusRead)
}

/** Notes that a player is active, in the group that creates it. */
export function admitNew(player: Player): void {
  player.slot(statusRead, '').note({ status: 'active' })
}

export function setStatus(player: Player, status: Status): void {
  player.one(statusRead).set({ status })
}

/** Refuses a banned, deleted or unknown player (spec 7.1). */
export function requireActive(player: Player): void {
  refuseStatus(player.one(statusRead).value?.status)
}

/** The same for a status that was read in another way. */
export function refuseStatus(status: Status | undefined): void {
  if (status === 'active') return
  if (status === 'banned') throw new Refusal('playerBanned')
  throw new Refusal(status === 'deleted' ? 'playerDeleted' : 'invalidToken')
}

/** Asks for a player by itself, and refuses it as `requireActive` does. */
export function* admitActive(group: Group, ref: PlayerRef): Steps<Player> {
  const player = yield* group.rows(() => {
    const asked = group.player(ref)
    askStatus(asked)
    return asked
  })
  requireActive(player)
  return player
}

/** Checks a player's status, for calls that read nothing else of the player. */
export function admitPlayer(ref: PlayerRef): Command<Player> {
  return {
    engine: 'reads',
    player: ref,
    decide: (group) => admitActive(group, ref),
  }
}
