// Fields of times in UTC, as `2027-01-15T18:00`.

/** The moment of a time field in UTC; undefined while it is incomplete. */
export function momentOf(text: string): string | undefined {
  const at = new Date(`${text}Z`)
  return text === '' || Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** The text of a time field for a moment. */
export const fieldOf = (at: string): string => new Date(at).toISOString().replace(/(:00)?\.\d+Z$/, '')
