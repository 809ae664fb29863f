import type { Json } from '../../base/json.ts'
import { askBoosts, endBoostOf, giveBoost, type PlayerBoost, takeBoostOf } from '../../game/boosts/player-boosts.ts'
import type { RewardBoost } from '../../game/definition/definition.ts'
import type { Command } from '../../transactions/command.ts'
import { act, type Changed, type KeyedCall, type Recorded, type SupportCall } from './support-action.ts'

export interface GrantedBoost extends Recorded {
  readonly boostId: string
}

/** Gives a player a boost from now on, by the rules of boosts as rewards: one of the same percentage is made longer. */
export const grantPlayerBoost = (call: KeyedCall, { percent, minutes }: RewardBoost): Command<GrantedBoost> =>
  act(call, {
    name: 'grant_boost',
    request: { percent, minutes },
    ask: askBoosts,
    decide(player, group, { auditId }) {
      const { before, after } = giveBoost(player, { percent, minutes }, `support/${auditId}`, group.now)
      return { outcome: { boostId: after.id }, before: shown(before), after: shown(after) }
    },
  })

/**
 * Ends a personal boost at once. Xp that it has given stays. Changes nothing when no such boost runs. An undo takes what is
 * left of what the entry gave, and leaves the player what others gave.
 */
export const endPlayerBoost = (call: SupportCall, { boostId }: { readonly boostId: string }): Command<Changed> =>
  act(call, {
    name: 'end_boost',
    request: { boostId },
    ask: askBoosts,
    decide(player, group) {
      const { now } = group
      const taken = call.undoes
        ? takeBoostOf(player, { id: boostId, reference: `support/${call.undoes}`, now })
        : { before: endBoostOf(player, boostId, now), after: null }
      const { before = null, after = null } = taken ?? {}
      return { outcome: { changed: before !== null }, before: shown(before), after: shown(after) }
    },
  })

/** For the audit log. */
const shown = (boost: PlayerBoost | null): Json =>
  boost && { boostId: boost.id, percent: boost.percent, endsAt: boost.endsAt.toISOString() }
