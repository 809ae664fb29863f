/** The handles of each type of node that the service runs, in no particular order. */
export const HANDLES_OF = {
  start: ['onStart'],
  'battle-pass': ['onLevelUp', 'onMaxLevel', 'onPremiumPurchase', 'onComplete', 'onSeasonEnd'],
  'battle-pass-level': ['onComplete'],
  reward: ['onComplete'],
} as const satisfies Readonly<Record<string, readonly string[]>>

/** The type of a node that the service runs. */
export type ServiceType = keyof typeof HANDLES_OF

export const SERVICE_TYPES: readonly string[] = Object.keys(HANDLES_OF)

export const isServiceType = (type: string): type is ServiceType => Object.hasOwn(HANDLES_OF, type)

/** The types that the service leaves at once when it enters them, each by one handle. */
const PASSED_BY: Readonly<Partial<Record<ServiceType, string>>> = { reward: 'onComplete' }

/** The handle by which the service leaves a node of this type at once; undefined for one where players stay. */
export const passedBy = (type: string | undefined): string | undefined =>
  type !== undefined && isServiceType(type) ? PASSED_BY[type] : undefined

/** The types at which no client waits: the service leaves them at once. */
export const PASSED_TYPES: readonly string[] = ['start', ...Object.keys(PASSED_BY)]

/** Handles that only the service crosses. Client nodes have the others, too. */
export const SERVICE_HANDLES: readonly string[] = ['onStart', 'onLevelUp', 'onMaxLevel', 'onPremiumPurchase']
