import type { Json } from '../base/json.ts'
import { type Member, out } from '../declare/answer.ts'
import { boolean, type Column, nullable, text, uuid } from '../transactions/columns.ts'

/** The kinds of events of a player (contract 6). */
export const PLAYER_EVENT_TYPES = [
  'crossing',
  'inbox.received',
  'player.created',
  'run.cancelled',
  'season.settled',
  'tiers.claimed',
  'xp.limited',
] as const
/** The kinds of events of a season, which are no player's: a phase begins. */
export const SEASON_EVENT_TYPES = [
  'season.announced',
  'season.started',
  'season.ending',
  'season.ended',
  'season.closed',
] as const
export type SeasonEventType = (typeof SEASON_EVENT_TYPES)[number]

/** The kind of events of grant jobs, which are no player's. */
export const JOB_EVENT_TYPE = 'grant_job.changed'

/** The states of a grant job, as its events report them. */
export const JOB_STATES = [
  'planned',
  'collecting',
  'awaiting approval',
  'running',
  'paused',
  'done',
  'cancelled',
  'failed',
] as const
export type JobState = (typeof JOB_STATES)[number]

/** The kinds of events in an environment's stream. */
export const EVENT_TYPES = [...PLAYER_EVENT_TYPES, ...SEASON_EVENT_TYPES, JOB_EVENT_TYPE] as const
export type EventType = (typeof EVENT_TYPES)[number]

const NO_CROSSING = 'null for an event that is no crossing.'
const field = <T>(column: Column<T>, member: Member<unknown>) => ({ column, member })

/**
 * The fields of an event, in the order in which they are written, read and sent to other instances: each with its column
 * and with what GraphQL and the client library say of it.
 */
const FIELDS = {
  type: field(text as Column<EventType>, out.oneOf(EVENT_TYPES, { description: 'The kind of event.' })),
  handle: field(nullable(text), out.orNull(out.text(`The crossed handle; ${NO_CROSSING}`))),
  playerId: field(
    nullable(uuid),
    out.orNull(out.id("A player's id; null for an event of a season or of a grant job, which is no player's.")),
  ),
  scenarioId: field(
    nullable(text),
    out.orNull(
      out.text(
        'The scenario of the run or of the season; null for `PLAYER_CREATED`, and for a message that is about no season.',
      ),
    ),
  ),
  nodeId: field(
    nullable(text),
    out.orNull(
      out.text(
        'The node of the crossed handle, or the pass of the tiers, of the xp, of the season or of a message about it; null for any other event.',
      ),
    ),
  ),
  runId: field(
    nullable(uuid),
    out.orNull(out.id('The run; null for `PLAYER_CREATED`, `INBOX_RECEIVED` and events of a season.')),
  ),
  byClient: field(
    boolean,
    out.flag('True when a client crossed the handle of a node that the client runs: the service has not verified it.'),
  ),
  /** JSON text. */
  data: field(
    text,
    out.object(
      "The event's data. Each type of event has it as fields, too. Xp and amounts are decimal strings, as Int64.",
    ),
  ),
}

export type EventField = keyof typeof FIELDS
export const EVENT_FIELDS = Object.keys(FIELDS) as EventField[]

type Fields = typeof FIELDS
const each = <Part extends 'column' | 'member'>(part: Part) =>
  Object.fromEntries(EVENT_FIELDS.map((name) => [name, FIELDS[name][part]])) as {
    readonly [Name in EventField]: Fields[Name][Part]
  }
export const EVENT_COLUMNS = each('column')
export const EVENT_MEMBERS = each('member')

type Values = { readonly [Name in EventField]: Fields[Name]['column'] extends Column<infer T> ? T : never }

/** An event of a player that a transaction is about to append. */
export interface NewEvent extends Omit<Values, 'data' | 'playerId'> {
  readonly environmentId: string
  readonly playerId: string
  /** The event's own data, such as `fromLevel` and `toLevel`. */
  readonly data: Json
}

/** An event at its place in the stream: positions are gapless and in commit order. */
export interface StreamEvent extends Values {
  readonly environmentId: string
  readonly position: bigint
  readonly occurredAt: Date
  /** When the event before it occurred, in milliseconds. Null when that is not known. */
  readonly follows: number | null
}

export const columnOf = (field: EventField): string =>
  field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
