import { itemsText, type Json, type JsonMembers, membersText, parseJson, print, RawJson } from './json.ts'

/**
 * Plain JSON text from which `thaw` restores the same value: the form of stored results. Values that plain JSON lacks
 * become objects with one member, `$int` or `$raw`; a real object of that form is wrapped in `$object`.
 */
export function freeze(value: Json): string {
  if (typeof value === 'bigint') return `{"$int":"${value}"}`
  if (typeof value !== 'object' || value === null) return print(value)
  if (value instanceof RawJson) return `{"$raw":${JSON.stringify(value.text)}}`
  if (Array.isArray(value)) return itemsText(value, freeze)
  const text = membersText(value as JsonMembers, freeze)
  return isLikeTag(text, value as JsonMembers) ? `{"$object":${text}}` : text
}

const TAGS = new Set(['$int', '$raw', '$object'])

/** Whether a frozen object has a tag's name as its one member. Undefined members are not printed. */
function isLikeTag(text: string, members: JsonMembers): boolean {
  if (!text.startsWith('{"$')) return false
  const [key, ...others] = Object.keys(members).filter((name) => members[name] !== undefined)
  return others.length === 0 && TAGS.has(key as string)
}

export function thaw(text: string): Json {
  return thawValue(parseJson(text))
}

function thawValue(value: unknown): Json {
  if (typeof value !== 'object' || value === null) return value as Json
  if (Array.isArray(value)) return value.map(thawValue)
  const entries = Object.entries(value)
  const [first, ...others] = entries
  if (first && others.length === 0) {
    const [tag, member] = first
    if (tag === '$int') return BigInt(member)
    if (tag === '$raw') return new RawJson(member)
    if (tag === '$object') return thawMembers(Object.entries(member))
  }
  return thawMembers(entries)
}

function thawMembers(entries: [string, unknown][]): Json {
  return Object.fromEntries(entries.map(([key, member]) => [key, thawValue(member)]))
}
