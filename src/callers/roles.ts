/** What a platform key can be allowed to do. */
export const RIGHTS = [
  /** To read what is no player's: scenarios, seasons, figures, settings. */
  'read',
  /** To read the data of players. */
  'players',
  /** To act on a player. */
  'act',
  /** To act on many players at once: grant jobs, lists, segments, exports. */
  'jobs',
  /** To change the game: scenarios, boosts, currencies. */
  'design',
  /** To change settings, keys and limits. */
  'manage',
] as const
export type Right = (typeof RIGHTS)[number]

export const ROLES = ['analyst', 'designer', 'viewer', 'support', 'operator', 'admin'] as const
export type Role = (typeof ROLES)[number]

const RIGHTS_OF: Readonly<Record<Role, readonly Right[]>> = {
  analyst: ['read'],
  designer: ['read', 'design'],
  viewer: ['read', 'players'],
  support: ['read', 'players', 'act'],
  operator: ['read', 'players', 'act', 'jobs'],
  admin: RIGHTS,
}

export const hasRight = (role: Role, right: Right): boolean => RIGHTS_OF[role].includes(right)

/** Whether a role has all rights of another. */
export const roleIncludes = (role: Role, other: Role): boolean =>
  RIGHTS_OF[other].every((right) => hasRight(role, right))

/** The roles that have a right. */
export const rolesWith = (right: Right): readonly Role[] => ROLES.filter((role) => hasRight(role, right))
