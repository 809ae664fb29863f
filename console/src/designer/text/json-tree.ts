import { type ParseErrorCode, printParseErrorCode, visit } from 'jsonc-parser'
import { MAX_DEPTH } from '../../../../src/base/limits.ts'

// The syntax of a JSON text with the place of each value. Numbers stay texts, and members with the same name all stay,
// so that an edit can change one place of the text and leave the rest as it is.

/** `to` is exclusive. */
export interface Place {
  readonly from: number
  readonly to: number
}

export interface JsonMember extends Place {
  readonly name: string
  readonly value: JsonNode
}

export interface JsonObject extends Place {
  readonly kind: 'object'
  readonly items: readonly JsonMember[]
}

export interface JsonArray extends Place {
  readonly kind: 'array'
  readonly items: readonly JsonNode[]
}

export interface JsonScalar extends Place {
  readonly kind: 'string' | 'number' | 'boolean' | 'null'
  /** As it stands in the text. */
  readonly raw: string
}

export type JsonNode = JsonObject | JsonArray | JsonScalar

export interface SyntaxFault {
  readonly at: number
  readonly message: string
}

export type ParsedJson =
  | { readonly root: JsonNode; readonly fault?: undefined }
  | { readonly root?: undefined; readonly fault: SyntaxFault }

/** The first fault of a text, which ends its reading. */
class Unexpected extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** A list or object whose end is not read yet. */
interface Open {
  readonly kind: 'array' | 'object'
  readonly from: number
  readonly items: (JsonNode | JsonMember)[]
  /** The name of the member of an object that is being read, and its place. */
  name: string
  nameAt: number
}

export function parseJson(text: string): ParsedJson {
  const opened = (kind: Open['kind'], from: number): Open => ({ kind, from, items: [], name: '', nameAt: 0 })
  // The outermost list has the one value of the text.
  const open: [Open, ...Open[]] = [opened('array', 0)]
  const inner = () => open.at(-1) as Open
  const begin = (kind: Open['kind']) => (from: number) => {
    if (open.length > MAX_DEPTH) throw new Unexpected(from, `Values must not nest deeper than ${MAX_DEPTH}.`)
    open.push(opened(kind, from))
  }
  const add = (value: JsonNode) => {
    const { kind, items, name, nameAt } = inner()
    items.push(kind === 'array' ? value : { from: nameAt, to: value.to, name, value })
  }
  const end = (at: number) => {
    const { kind, from, items } = open.pop() as Open
    add({ kind, from, to: at + 1, items } as JsonArray | JsonObject)
  }
  try {
    visit(
      text,
      {
        onObjectBegin: begin('object'),
        onObjectProperty(name, nameAt) {
          const object = inner()
          object.name = name
          object.nameAt = nameAt
        },
        onObjectEnd: end,
        onArrayBegin: begin('array'),
        onArrayEnd: end,
        onLiteralValue(value, from, length) {
          const kind = value === null ? 'null' : (typeof value as 'string' | 'number' | 'boolean')
          add({ kind, from, to: from + length, raw: text.slice(from, from + length) })
        },
        onError(code, at) {
          throw faultOf(text, code, at)
        },
      },
      { disallowComments: true },
    )
  } catch (error) {
    if (error instanceof Unexpected) return { fault: { at: error.at, message: error.message } }
    throw error
  }
  return { root: open[0].items[0] as JsonNode }
}

/** Faults of the parser in words. All others are of strings. */
const MESSAGES: Readonly<Record<string, string>> = {
  InvalidSymbol: 'This is neither a value nor a name in quotation marks.',
  PropertyNameExpected: 'A name in quotation marks must stand here.',
  ValueExpected: 'A value must stand here.',
  ColonExpected: 'A colon must stand after the name.',
  CommaExpected: 'A comma, or the end of the list or object, must stand here.',
  EndOfFileExpected: 'There is text after the end of the JSON.',
  InvalidCommentToken: 'JSON has no comments.',
  UnexpectedEndOfNumber: 'This number is not complete.',
}

function faultOf(text: string, code: ParseErrorCode, at: number): Unexpected {
  if (at >= text.length) return new Unexpected(at, 'The text ends too early.')
  const before = text.slice(0, at).trimEnd()
  if (before.endsWith(',') && /[\]}]/.test(text[at] ?? ''))
    return new Unexpected(before.length - 1, 'There is a comma, and nothing behind it.')
  const message = MESSAGES[printParseErrorCode(code)]
  return new Unexpected(at, message ?? 'This string does not end, or has an escape that JSON does not know.')
}

const decode = (raw: string): string => (raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1))

/** A member of an object; undefined when absent. The last of several members with the same name counts. */
export function memberOf(node: JsonNode | undefined, name: string): JsonMember | undefined {
  return node?.kind === 'object' ? node.items.findLast((member) => member.name === name) : undefined
}

/** The value of a member; undefined where it is absent or null, which means the same. */
export function valueAt(node: JsonNode | undefined, name: string): JsonNode | undefined {
  const value = memberOf(node, name)?.value
  return value?.kind === 'null' ? undefined : value
}

export const itemsOf = (node: JsonNode | undefined): readonly JsonNode[] => (node?.kind === 'array' ? node.items : [])

export function stringOf(node: JsonNode | undefined): string | undefined {
  return node?.kind === 'string' ? decode(node.raw) : undefined
}

/** The text of a number, unrounded; undefined for another kind of value. */
export const numberTextOf = (node: JsonNode | undefined): string | undefined =>
  node?.kind === 'number' ? node.raw : undefined

/** The value in one form, independent of spaces, the order of members and escapes. Numbers stay texts. */
export function canonical(node: JsonNode): string {
  switch (node.kind) {
    case 'object': {
      const members = new Map(node.items.map(({ name, value }) => [name, value]))
      const names = [...members.keys()].sort()
      return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(members.get(name) as JsonNode)}`).join(',')}}`
    }
    case 'array':
      return `[${node.items.map(canonical).join(',')}]`
    case 'string':
      return JSON.stringify(decode(node.raw))
    default:
      return node.raw
  }
}
