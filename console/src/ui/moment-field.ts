// Fields of times in UTC, as `2027-01-15T18:00`, and the same times by the clock of this computer.

const textOf = (at: number, like: string): string =>
  Number.isNaN(at) ? '' : new Date(at).toISOString().slice(0, like.length > 16 ? 19 : 16)

/** The text of a field by the clock of this computer, for its text in UTC. Empty for what is no time. */
export function localOf(utc: string): string {
  const at = Date.parse(`${utc}Z`)
  return textOf(at - new Date(at).getTimezoneOffset() * 60_000, utc)
}

/** The text in UTC, for one by the clock of this computer. */
export const utcOf = (local: string): string => textOf(new Date(local).getTime(), local)

/** The moment of a time field in UTC; undefined while it is incomplete. */
export function momentOf(text: string): string | undefined {
  const at = new Date(`${text}Z`)
  return text === '' || Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The text of a time field for a moment. */
export const fieldOf = (at: string): string => new Date(at).toISOString().replace(/(:00)?\.\d+Z$/, '')
