// Global ids: `Player:0192…`, `Run:<player>/<run>`. Each part is percent-encoded, so names may hold any character.

/** Types whose ids begin with their owner: the player, or the name of the environment. */
const OWNED: ReadonlySet<string> = new Set([
  'InboxMessage',
  'PlayerBoost',
  'PlayerNote',
  'Run',
  'ScenarioDraft',
  'ScheduledPublication',
])

export const globalId = (type: string, ...parts: readonly (string | number)[]): string =>
  `${type}:${parts.map((part) => encodeURIComponent(part)).join('/')}`

/**
 * The plain id of either form: `0192…` of `Player:0192…`, and of `Run:<player>/0192…`. Any other text is returned
 * unchanged. An owner is not compared: calls look for the object where they look for its plain id.
 */
export function bareId(type: string, id: string): string {
  if (!id.startsWith(`${type}:`)) return id
  const rest = id.slice(type.length + 1)
  return OWNED.has(type) ? (/^[^/]+\/([^/]+)$/.exec(rest)?.[1] ?? id) : rest
}
