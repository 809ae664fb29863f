import { Refusal } from '../base/errors.ts'
import { databaseNow } from '../db/ids.ts'
import { boolean, type Column, instant, nullable, text } from '../transactions/columns.ts'
import type { Command } from '../transactions/command.ts'
import type { Group, Steps } from '../transactions/group.ts'
import type { One, Player, PlayerRef } from '../transactions/player.ts'
import { table } from '../transactions/table.ts'

export type { PlayerRef } from '../transactions/player.ts'

export const STATUSES = ['active', 'banned', 'deleted'] as const
export type Status = (typeof STATUSES)[number]

export const BAN_KINDS = ['everything', 'login'] as const
/** With `login`, the player cannot log in, and plays on until its access token expires. */
export type BanKind = (typeof BAN_KINDS)[number]

export interface Ban {
  readonly kind: BanKind
  /** Null for a ban without an end. */
  readonly until: Date | null
  /** For the player; null without one. */
  readonly reason: string | null
}

/** The columns of `players` that say whether a player may play. Those of a ban count only with the status `banned`. */
export interface Standing {
  readonly status: Status
  readonly banKind: string | null
  readonly banUntil: Date | null
  readonly banReason: string | null
}

const ACTIVE: Standing = { status: 'active', banKind: null, banUntil: null, banReason: null }

/** What is remembered of a player's row. */
interface Remembered extends Standing {
  /** An imported player that has not logged in yet. */
  readonly awaitsLogin: boolean
}

/** The columns of a {@link Standing}, in SQL, of the player `p`. */
export const STANDING = 'p.status, p.ban_kind AS "banKind", p.ban_until AS "banUntil", p.ban_reason AS "banReason"'
/** Whether the player `p` has a ban of any kind, in SQL: a ban ends by time. */
export const IS_BANNED = "p.status = 'banned' AND (p.ban_until IS NULL OR p.ban_until > now())"
/** The present status of the player `p`, in SQL. */
export const STATUS = "CASE WHEN p.status = 'banned' AND p.ban_until <= now() THEN 'active' ELSE p.status END"

/** The ban of a player that has not ended; null without one. It ends by the clock of the database. */
export function banOf({ status, banKind, banUntil, banReason }: Standing): Ban | null {
  if (status !== 'banned' || (banUntil !== null && banUntil.getTime() <= databaseNow())) return null
  return { kind: banKind === 'login' ? 'login' : 'everything', until: banUntil, reason: banReason }
}

/** The present status of a player: a ban ends by time. */
export const statusOf = (standing: Standing): Status =>
  standing.status === 'banned' && !banOf(standing) ? 'active' : standing.status

const standings = table('players', {
  owner: ['environment_id', 'id'],
  key: {},
  columns: {
    status: text as Column<Status>,
    banKind: nullable(text),
    banUntil: nullable(instant),
    banReason: nullable(text),
    awaitsLogin: boolean,
  },
  kind: 'state',
})
const standingRead = standings.one()

/** A player's status. Null for an unknown player. */
export function askStatus(player: Player): One<Remembered> {
  return player.one(standingRead)
}

/** Notes that a player is active, in the group that creates it. */
export function admitNew(player: Player, awaitsLogin: boolean): void {
  player.slot(standingRead, '').note({ ...ACTIVE, awaitsLogin })
}

/** Sets the status of a player. Ask for it first, as for a ban. */
export function setStatus(player: Player, status: Exclude<Status, 'banned'>): void {
  change(player, { ...ACTIVE, status })
}

export function ban(player: Player, { kind, until, reason }: Ban): void {
  change(player, {
    status: 'banned',
    banKind: kind === 'everything' ? null : kind,
    banUntil: until,
    banReason: reason,
  })
}

/** Notes the first login of an imported player. Ask for its status first. */
export function endAwaiting(player: Player): void {
  change(player, { awaitsLogin: false })
}

function change(player: Player, changed: Partial<Remembered>): void {
  const row = player.one(standingRead)
  row.set({ ...ACTIVE, awaitsLogin: false, ...row.value, ...changed })
}

/** Refuses a banned, deleted or unknown player (contract 7.1). A ban of logins does not count. */
export function requireActive(player: Player): void {
  refuseStanding(player.one(standingRead).value)
}

/**
 * The same for a player that logs in, continues with a new token, or changes what logs it in: every ban counts. What a
 * ban holds, the player cannot free.
 */
export function requireMayLogIn(player: Player): void {
  const standing = player.one(standingRead).value
  const found = standing && banOf(standing)
  if (found) throw banned(found)
  refuseStanding(standing)
}

/** As `requireActive`, for a status that was read in another way. */
export function refuseStanding(standing: Standing | null | undefined): void {
  if (!standing) throw new Refusal('invalidToken')
  if (standing.status === 'deleted') throw new Refusal('playerDeleted')
  const found = banOf(standing)
  if (found?.kind === 'everything') throw banned(found)
}

/** A ban that says nothing but itself has no details, as contract 7.1 shows it. */
function banned({ kind, until, reason }: Ban): Refusal {
  if (kind === 'everything' && until === null && reason === null) return new Refusal('playerBanned')
  return new Refusal('playerBanned', { facts: { ban: { kind, until: until?.toISOString() ?? null, reason } } })
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
