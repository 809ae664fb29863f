// The weights of operations. Fields are named `Type.field`; a test compares the names with the schema.

/** Root fields that cost more than others: long reads, and calls of a studio's webhook. Declared calls have theirs. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  'Mutation.loginCustom': 50,
  'Mutation.linkCustom': 50,
}

/** The arguments that give the size of a plain list: a number, or a list with a value for each entry. */
export const SIZE_ARGUMENTS: Readonly<Record<string, string>> = {
  'BattlePassInsight.clippedXp': 'sources',
  'BattlePassInsight.xp': 'sources',
  'Player.storage': 'keys',
  'Query.nodes': 'ids',
}

/** The size of a plain list without a declared one. */
export const LIST_SIZE = 10
export const MUTATION = 10
export const SUBSCRIPTION = 10
/** `totalCount` reads beyond the page. */
export const TOTAL_COUNT = 10
/** `__schema` and `__type`, with any selections. */
export const INTROSPECTION = 100
