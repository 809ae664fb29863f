import { answer, enumName, out } from '../declare/answer.ts'
import { EVENT_MEMBERS, PLAYER_EVENT_TYPES } from './catalogue.ts'

const { data: _data, byClient: _byClient, type: _type, playerId: _playerId, handle, ...place } = EVENT_MEMBERS

/** The fields of every event that the client library asks for, over GraphQL. A player's stream has its own events. */
export const clientEvent = answer('The fields of every event, except its data.', {
  cursor: out.text('Its place in the stream. Store it, and pass it as `after` to continue from there.'),
  type: out.oneOf(PLAYER_EVENT_TYPES.map(enumName)),
  occurredAt: out.time('RFC 3339, UTC.'),
  playerId: out.id("A player's id."),
  ...place,
  handle,
})
