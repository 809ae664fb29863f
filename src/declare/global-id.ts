// Global ids: `Player:0192…`, `Run:<player>/<run>`. Each part is percent-encoded, so names may hold any character.

export const globalId = (type: string, ...parts: readonly (string | number)[]): string =>
  `${type}:${parts.map((part) => encodeURIComponent(part)).join('/')}`

/** The plain id of either form: `0192…` of `Player:0192…`. Any other text is returned unchanged. */
export const bareId = (type: string, id: string): string => (id.startsWith(`${type}:`) ? id.slice(type.length + 1) : id)
