import { kindOf } from '../../base/json.ts'
import { localTimeFault, momentFault, parseLocalTime, parseMoment } from '../../base/moment.ts'
import { isTimeZone, TimeZone } from '../../base/time-zone.ts'
import { named, object, type Part, part } from './parts.ts'
import { stringOf } from './reader.ts'

const YEAR_DAY =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))'
const LEAP_DAY = '(\\d\\d(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29'
const TIME = '([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)'

/** A time zone by its name. A stored name may be of a newer database than this process has: then UTC counts. */
export const timeZone = (description: string): Part<string> =>
  part({ type: 'string', description }, (reader, place) => {
    const name = stringOf(place)
    if (name === undefined) reader.unfit(place, 'must be a string')
    else if (isTimeZone(name)) return name
    else reader.lateFault(place.path, 'must be a time zone of the IANA database, such as Europe/Berlin')
    return 'UTC'
  })

const dateTime = named(
  'dateTime',
  part(
    {
      type: 'string',
      format: 'date-time',
      description: 'RFC 3339 with an offset, such as 2026-12-01T00:00:00Z.',
      pattern: `^(${YEAR_DAY}|${LEAP_DAY})[Tt]${TIME}$`,
    },
    (reader, place): Date | null => {
      const text = stringOf(place)
      const date = text === undefined ? undefined : parseMoment(text)
      if (!date) reader.unfit(place, momentFault(text ?? ''))
      return date ?? null
    },
  ),
)

/** In milliseconds as if it were in UTC. */
const localDateTime = part(
  {
    type: 'string',
    description:
      'A local date and time, such as 2027-03-28T02:30. Where clocks are set back and show it twice, the first time counts. Where clocks skip it, it counts as if they did not: 02:30 becomes 03:30.',
    pattern: `^(${YEAR_DAY}|${LEAP_DAY})[Tt]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$`,
  },
  (reader, place): number | undefined => {
    const text = stringOf(place)
    const local = text === undefined ? undefined : parseLocalTime(text)
    if (local === undefined) reader.unfit(place, localTimeFault(text ?? ''))
    return local
  },
)

const localTime = named(
  'localTime',
  object(
    'A local time and its time zone.',
    { at: localDateTime, timeZone: timeZone('A time zone of the IANA database, such as Europe/Berlin.') },
    (given): Date | null => {
      const local = given.read('at')
      const zone = given.read('timeZone')
      return local === undefined ? null : new Date(new TimeZone(zone).momentOf(local))
    },
  ),
)

/** A moment: a date and time with its offset, or a local time and its zone. Null for a faulty one. */
export const moment: Part<Date | null> = named(
  'moment',
  part(
    {
      description: 'A moment, by its offset or by its time zone.',
      anyOf: [dateTime.schema, localTime.schema],
    },
    (reader, place) =>
      (place.raw !== undefined && kindOf(place.raw) === 'object' ? localTime : dateTime).read(reader, place),
    { ...dateTime.named, ...localTime.named },
  ),
)
