import type { ResultOf } from '../graphql.ts'
import type { Role } from '../session/roles.ts'
import { number } from '../ui/words.ts'
import type { limitsFragment } from './operations.ts'

export type RoleLimits = ResultOf<typeof limitsFragment>

/** What each role reads and changes. */
export const ROLE_WORDS: readonly (readonly [role: Role, reads: string, changes: string])[] = [
  ['ANALYST', 'Scenarios, seasons, figures and settings. No player, no event, no name.', 'Nothing.'],
  ['DESIGNER', 'As an analyst.', 'Scenarios, planned publications, boosts and currencies.'],
  ['VIEWER', 'Also players, events, logins and grants.', 'Nothing.'],
  ['SUPPORT', 'Also what was done to a player.', 'Players, one by one.'],
  ['OPERATOR', 'As support.', 'Also many players at once: grants, segments, lists, exports.'],
  ['ADMIN', 'Everything, with the audit log and the keys.', 'Everything.'],
]

/** The limits that a role can have in addition to reading only: its gifts. */
export const LIMITS_OF: Readonly<Record<RoleLimits['role'], readonly LimitName[]>> = {
  DESIGNER: [],
  SUPPORT: ['maxCredit', 'maxXp', 'maxGiftsPerDay'],
  OPERATOR: ['maxCredit', 'maxXp', 'maxGiftsPerDay', 'maxJobPlayers'],
}

export type LimitName = 'maxCredit' | 'maxXp' | 'maxGiftsPerDay' | 'maxJobPlayers'

export const LIMIT_LABELS: Readonly<Record<LimitName, readonly [label: string, unit: string]>> = {
  maxCredit: ['Most of a currency at once', 'of a currency at once'],
  maxXp: ['Most xp at once', 'xp at once'],
  maxGiftsPerDay: ['Most gifts a day', 'gifts a day'],
  maxJobPlayers: ['Most players of a grant', 'players of a grant'],
}

/** The limits of a role in a sentence. */
export function limitsText(limits: RoleLimits): string {
  if (limits.readsOnly) return 'Only reads.'
  const given = LIMITS_OF[limits.role].flatMap((name) => {
    const most = limits[name]
    return most === null ? [] : [`${number(most)} ${LIMIT_LABELS[name][1]}`]
  })
  return given.length === 0 ? 'No limits.' : `At most ${given.join(', ')}.`
}
