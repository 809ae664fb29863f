import { type JsonArray, type JsonNode, type JsonObject, memberOf, type Place } from './json-tree.ts'

// Edits of a JSON text by ranges of its syntax tree. Everything outside of a range stays byte for byte, and new values
// are written as their neighbours are. `modify` of jsonc-parser does neither, and reads the whole text for each edit.

/** The text of `from` to `to`, exclusive, becomes another. */
export interface Change extends Place {
  readonly insert: string
}

/** JSON text that is taken as it is, such as a number that a `number` would round. */
export class RawText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value that is written into a text. Integers are `bigint`. */
export type Value =
  | string
  | boolean
  | null
  | bigint
  | RawText
  | readonly Value[]
  | { readonly [member: string]: Value | undefined }

/** Carries out changes, which must not overlap. */
export function applyChanges(text: string, changes: readonly Change[]): string {
  let result = ''
  let at = 0
  for (const { from, to, insert } of [...changes].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (from < at) throw new Error('changes of a text overlap')
    result += text.slice(at, from) + insert
    at = to
  }
  return result + text.slice(at)
}

/** Whether a text is written without spaces. New values are then written without spaces, too. */
const isCompact = (text: string): boolean => !text.includes('\n') && !/":\s/.test(text)

export function printValue(value: Value, compact: boolean): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (value instanceof RawText) return value.text
  if (Array.isArray(value)) return `[${value.map((one) => printValue(one, compact)).join(compact ? ',' : ', ')}]`
  const members = Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [`${JSON.stringify(name)}:${compact ? '' : ' '}${printValue(member, compact)}`],
  )
  if (members.length === 0) return '{}'
  return compact ? `{${members.join(',')}}` : `{ ${members.join(', ')} }`
}

export const replace = (text: string, { from, to }: Place, value: Value): Change => ({
  from,
  to,
  insert: printValue(value, isCompact(text)),
})

/** Sets a member: in place if it exists, otherwise after the last one. */
export function setMember(text: string, object: JsonObject, name: string, value: Value): Change {
  const member = memberOf(object, name)
  if (member) return replace(text, member.value, value)
  const compact = isCompact(text)
  return insertItems(text, object, object.items.length, [
    `${JSON.stringify(name)}:${compact ? '' : ' '}${printValue(value, compact)}`,
  ])
}

/** Renames every member of this name, so that the one that counts stays the same. */
export function renameMembers(text: string, object: JsonObject, name: string, newName: string): Change[] {
  return object.items.flatMap((member) =>
    member.name === name
      ? [{ from: member.from, to: member.from + nameText(text, member.from).length, insert: JSON.stringify(newName) }]
      : [],
  )
}

/** Removes every member of these names. */
export function removeMembers(object: JsonObject, names: readonly string[]): Change[] {
  return removeItems(
    object,
    new Set([...object.items.keys()].filter((at) => names.includes(object.items[at]?.name ?? ''))),
  )
}

export function insertValues(text: string, array: JsonArray, index: number, values: readonly Value[]): Change {
  const compact = isCompact(text)
  return insertItems(
    text,
    array,
    index,
    values.map((value) => printValue(value, compact)),
  )
}

/** Inserts items, separated as their neighbours are. */
function insertItems(text: string, container: JsonObject | JsonArray, index: number, items: readonly string[]): Change {
  const places: readonly Place[] = container.items
  const last = places.at(-1)
  const compact = isCompact(text)
  if (!last) {
    const isBlock = container.kind === 'array' && text.includes('\n')
    const indent = isBlock ? indentOf(text, container.from) : ''
    const [open, between, close] = isBlock
      ? [`\n${indent}  `, `,\n${indent}  `, `\n${indent}`]
      : compact
        ? ['', ',', '']
        : [container.kind === 'object' ? ' ' : '', ', ', container.kind === 'object' ? ' ' : '']
    return { from: container.from + 1, to: container.to - 1, insert: `${open}${items.join(between)}${close}` }
  }
  const [first, second] = places as [Place, Place?]
  const lead = text.slice(container.from + 1, first.from)
  const separator = second ? text.slice(first.to, second.from) : `,${lead === '' && !compact ? ' ' : lead}`
  const next = places[index]
  if (next) return { from: next.from, to: next.from, insert: items.map((item) => item + separator).join('') }
  return { from: last.to, to: last.to, insert: items.map((item) => separator + item).join('') }
}

/** Removes items with the commas that separated them. */
export function removeItems(container: JsonObject | JsonArray, indexes: ReadonlySet<number>): Change[] {
  const places: readonly Place[] = container.items
  const kept = [...places.keys()].filter((index) => !indexes.has(index))
  if (kept.length === places.length) return []
  if (kept.length === 0) return [{ from: container.from + 1, to: container.to - 1, insert: '' }]
  const changes: Change[] = []
  for (let index = 0; index < places.length; index += 1) {
    if (!indexes.has(index)) continue
    let end = index
    while (indexes.has(end + 1) && end + 1 < places.length) end += 1
    const [before, after] = [places[index - 1], places[end + 1]]
    const [from, to] = [places[index]?.from ?? 0, places[end]?.to ?? 0]
    if (after) changes.push({ from, to: after.from, insert: '' })
    else changes.push({ from: before?.to ?? from, to, insert: '' })
    index = end
  }
  return changes
}

/** The spaces before the first character of the line. */
function indentOf(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] ?? ''
}

/** The one range in which two texts differ. */
export function changeBetween(before: string, after: string): Change {
  const shorter = Math.min(before.length, after.length)
  let from = 0
  while (from < shorter && before.charCodeAt(from) === after.charCodeAt(from)) from += 1
  let end = 0
  while (
    end < shorter - from &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  )
    end += 1
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) }
}

const LINE = 110

/** The text with one value on each line, except for those that are short. Numbers and escapes stay as they are. */
export function formatJson(text: string, root: JsonNode): string {
  return `${format(text, root, '')}\n`
}

function format(text: string, node: JsonNode, indent: string): string {
  if (node.kind !== 'object' && node.kind !== 'array') return node.raw
  if (node.items.length === 0) return node.kind === 'object' ? '{}' : '[]'
  const inner = `${indent}  `
  const isRoot = indent === ''
  const line = isRoot || node.to - node.from > 3 * LINE ? undefined : oneLine(text, node)
  if (line !== undefined && indent.length + line.length <= LINE && !hasLists(node)) return line
  const items =
    node.kind === 'object'
      ? node.items.map(({ from, value }) => `${nameText(text, from)}: ${format(text, value, inner)}`)
      : node.items.map((item) => format(text, item, inner))
  const [open, close] = node.kind === 'object' ? ['{', '}'] : ['[', ']']
  return `${open}\n${items.map((item) => inner + item).join(',\n')}\n${indent}${close}`
}

function oneLine(text: string, node: JsonNode): string {
  if (node.kind === 'array') return `[${node.items.map((item) => oneLine(text, item)).join(', ')}]`
  if (node.kind !== 'object') return node.raw
  if (node.items.length === 0) return '{}'
  return `{ ${node.items.map(({ from, value }) => `${nameText(text, from)}: ${oneLine(text, value)}`).join(', ')} }`
}

/** Lists of several objects, such as levels, have a line for each. */
function hasLists(node: JsonNode): boolean {
  if (node.kind === 'array') return node.items.filter(({ kind }) => kind === 'object').length > 2
  return node.kind === 'object' && node.items.some(({ value }) => hasLists(value))
}

/** A name as it stands in the text, with its quotation marks. */
function nameText(text: string, from: number): string {
  let end = from + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return text.slice(from, end + 1)
}
