import type { Fault } from '../../base/errors.ts'
import { MAX_GIFTS_PER_DAY, MAX_GRANT_PLAYERS } from '../../base/limits.ts'
import { environment, reason } from '../../declare/common.ts'
import { type Check, flag, int32, int64, oneOf, optional, type RequestOf, shape } from '../../declare/shape.ts'
import { LIMITED_ROLES } from '../../operations/calls/role-limits.ts'

export const limitsRequest = shape({
  environment,
  role: oneOf('The role.', LIMITED_ROLES),
  readsOnly: optional(flag('True lets the role change nothing in the environment. Default: false.'), false),
  maxCredit: optional(
    int64(
      'The largest amount of a currency or of an item that it gives a player at once. Premium counts by its price. The credit limit of the currency holds, too. Null: no limit.',
      { min: 0n },
    ),
  ),
  maxXp: optional(int64('The most xp that it gives a player at once. Null: no limit.', { min: 0n })),
  maxGiftsPerDay: optional(
    int32(
      'How often a person gives something in a UTC day: credits, xp, tiers, premium, boosts, messages with rewards, crossed handles, resets, grant jobs. Null: no limit.',
      { min: 0, max: MAX_GIFTS_PER_DAY },
    ),
  ),
  maxJobPlayers: optional(
    int32('The largest `limit` of a grant job that it makes. Null: no limit.', { min: 0, max: MAX_GRANT_PLAYERS }),
  ),
  reason,
})

/** Only limits on what the role does at all. */
export const checkLimits: Check<RequestOf<typeof limitsRequest>> = ({ role, ...limits }) => {
  const given = ['maxCredit', 'maxXp', 'maxGiftsPerDay', 'maxJobPlayers'] as const
  const idle = role === 'designer' ? given : role === 'support' ? (['maxJobPlayers'] as const) : []
  return idle.flatMap((name): Fault[] =>
    limits[name] === null ? [] : [{ path: name, message: `must be left out: the role ${role} does no such thing` }],
  )
}
