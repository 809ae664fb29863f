/** What a platform key can be allowed to do. */
export type Right =
  /** To read what is no player's: scenarios, seasons, figures, settings. */
  | 'read'
  /** To read the data of players. */
  | 'players'
  /** To act on a player. */
  | 'act'
  /** To act on many players at once: grant jobs, lists, segments, exports. */
  | 'jobs'
  /** To change the game: scenarios, boosts, currencies. */
  | 'design'
  /** To change settings, keys and limits. */
  | 'manage'

export const ROLES = ['analyst', 'designer', 'viewer', 'support', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

const RIGHTS: Readonly<Record<Role, readonly Right[]>> = {
  analyst: ['read'],
  designer: ['read', 'design'],
  viewer: ['read', 'players'],
  support: ['read', 'players', 'act'],
  operator: ['read', 'players', 'act', 'jobs'],
  admin: ['read', 'players', 'act', 'jobs', 'design', 'manage'],
}

export const hasRight = (role: Role, right: Right): boolean => RIGHTS[role].includes(right)

/** Whether a role has all rights of another. */
export const roleIncludes = (role: Role, other: Role): boolean => RIGHTS[other].every((right) => hasRight(role, right))

/** The roles that have a right. */
export const rolesWith = (right: Right): readonly Role[] => ROLES.filter((role) => hasRight(role, right))
