const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.0{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** The value of a field for dates and times, in UTC. Undefined for a text that the field would change. */
export function momentValue(text: string): string | undefined {
  if (text === '') return ''
  if (!RFC_3339.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 19)
}

/** The text of a moment that was chosen. Empty for none. */
export const momentText = (value: string): string =>
  value === '' ? '' : `${value.length === 16 ? `${value}:00` : value.slice(0, 19)}Z`
