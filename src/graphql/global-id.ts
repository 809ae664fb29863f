// Global ids: `Player:0192…`, `Run:<player>/<run>`. Each part is percent-encoded, so that names may hold any character.

/** The global id of an object. */
export const globalId = (type: string, ...parts: readonly (string | number)[]): string =>
  `${type}:${parts.map((part) => encodeURIComponent(part)).join('/')}`

/** The id that either id of an object names it by: `0192…` of `Player:0192…`. Any other text is left as it is. */
export const bareId = (type: string, id: string): string => (id.startsWith(`${type}:`) ? id.slice(type.length + 1) : id)
