import {
  MAX_BOOST_PERCENT,
  MAX_BOOST_PREVIEW_DAYS,
  MAX_BOOST_SCENARIOS,
  MAX_LABEL,
  MAX_LISTED_SOURCES,
  MAX_SOURCE,
  nameFault,
} from '../../base/limits.ts'
import { environment, idempotencyKey, reason } from '../../declare/common.ts'
import { someOf, texts } from '../../declare/list-fields.ts'
import {
  type Check,
  described,
  int32,
  mapped,
  moment,
  oneOf,
  optional,
  type RequestOf,
  shape,
  text,
  uuid,
} from '../../declare/shape.ts'
import { AUDIENCES } from './stored.ts'

/** Where a boost stands: before its time, within it, or past it or ended early. */
export const BOOST_STATES = ['planned', 'running', 'ended'] as const
export type BoostState = (typeof BOOST_STATES)[number]

const name = text(`The name, for operators: 1 to ${MAX_LABEL} characters. Players do not see it.`, {
  max: MAX_LABEL,
  check: nameFault,
})
const percent = int32(`The percentage that is added to each xp: 1 to ${MAX_BOOST_PERCENT}.`, {
  min: 1,
  max: MAX_BOOST_PERCENT,
})
const startsAt = moment('When it starts. A time that has passed starts it at once.')
const endsAt = moment('When it ends: the first time without it. It must be to come.')
const scenarios = texts(`The scenarios that it is for, up to ${MAX_BOOST_SCENARIOS}, by id. Empty for all.`, {
  max: MAX_BOOST_SCENARIOS,
})
const sources = texts(`The sources of xp that it is for, up to ${MAX_LISTED_SOURCES}. Empty for all.`, {
  max: MAX_LISTED_SOURCES,
  form: {
    pattern: new RegExp(`^[^]{0,${MAX_SOURCE}}$`, 'u'),
    maxLength: 2 * MAX_SOURCE,
    message: `must be at most ${MAX_SOURCE} characters`,
  },
})
const audience = oneOf('Who gets it.', AUDIENCES)
const boostId = mapped(uuid("A boost's id.", 'Boost'), (id) => id.toLowerCase())

const NONE: readonly string[] = []
const EVERYBODY = 'everybody'
const effect = {
  percent,
  scenarios: optional(scenarios, NONE),
  sources: optional(sources, NONE),
  audience: optional(described(audience, 'Who gets it. Default: everybody.'), EVERYBODY),
}

export const createBoostRequest = shape({
  environment,
  name,
  ...effect,
  startsAt,
  endsAt,
  reason,
  idempotencyKey: described(
    idempotencyKey,
    'The same key makes one boost: a call that is repeated with it answers the boost as it is now.',
  ),
})
export const updateBoostRequest = shape({
  environment,
  boostId,
  name: optional(name),
  percent: optional(percent),
  startsAt: optional(startsAt),
  endsAt: optional(endsAt),
  scenarios: optional(scenarios),
  sources: optional(sources),
  audience: optional(audience),
  reason,
})
export const endBoostRequest = shape({ environment, boostId, reason })
export const boostsRequest = shape({
  environment,
  states: optional(someOf('Only boosts in one of these states. Default: all.', BOOST_STATES)),
})
export const previewBoostRequest = shape({
  environment,
  ...effect,
  days: optional(
    int32(`The days of xp to look at: the last 1 to ${MAX_BOOST_PREVIEW_DAYS}. Default: 1.`, {
      min: 1,
      max: MAX_BOOST_PREVIEW_DAYS,
    }),
    1,
  ),
})

export type BoostEffect = Pick<RequestOf<typeof createBoostRequest>, 'percent' | 'scenarios' | 'sources' | 'audience'>

/** The faults of a boost that ends before it starts, or starts before there were boosts. */
export const checkWindow: Check<{ readonly startsAt: Date; readonly endsAt: Date }> = ({ startsAt, endsAt }) => [
  ...(startsAt.getTime() < 0 ? [{ path: 'startsAt', message: 'must not be before 1970' }] : []),
  ...(startsAt >= endsAt ? [{ path: 'endsAt', message: 'must be after startsAt' }] : []),
]
