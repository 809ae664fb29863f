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

class Unexpected extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

export function parseJson(text: string): ParsedJson {
  try {
    return { root: new Parser(text).whole() }
  } catch (error) {
    if (error instanceof Unexpected) return { fault: { at: error.at, message: error.message } }
    throw error
  }
}

const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y
const SPACE = /[ \t\n\r]*/y

class Parser {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text
  }

  whole(): JsonNode {
    this.space()
    const root = this.value(0)
    this.space()
    if (this.at < this.text.length) throw new Unexpected(this.at, 'There is text after the end of the JSON.')
    return root
  }

  private value(depth: number): JsonNode {
    switch (this.text[this.at]) {
      case '{':
        return this.object(depth + 1)
      case '[':
        return this.array(depth + 1)
      case '"':
        return this.scalar('string', STRING, 'This string does not end, or has an escape that JSON does not know.')
      case 't':
      case 'f':
        return this.scalar('boolean', WORD, 'A value must stand here.')
      case 'n':
        return this.scalar('null', WORD, 'A value must stand here.')
      case undefined:
        throw new Unexpected(this.at, 'The text ends too early.')
      default:
        return this.scalar('number', NUMBER, 'A value must stand here.')
    }
  }

  private object(depth: number): JsonObject {
    const from = this.enter(depth)
    const items: JsonMember[] = []
    while (this.goesOn('}', items.length)) {
      const start = this.at
      if (this.text[start] !== '"') throw new Unexpected(start, 'A name in quotation marks must stand here.')
      const { raw } = this.scalar('string', STRING, 'This name does not end.')
      this.space()
      if (this.text[this.at] !== ':') throw new Unexpected(this.at, 'A colon must stand after the name.')
      this.at += 1
      this.space()
      const value = this.value(depth)
      items.push({ from: start, to: this.at, name: decode(raw), value })
    }
    return { kind: 'object', from, to: this.at, items }
  }

  private array(depth: number): JsonArray {
    const from = this.enter(depth)
    const items: JsonNode[] = []
    while (this.goesOn(']', items.length)) items.push(this.value(depth))
    return { kind: 'array', from, to: this.at, items }
  }

  private enter(depth: number): number {
    if (depth > MAX_DEPTH) throw new Unexpected(this.at, `Values must not nest deeper than ${MAX_DEPTH}.`)
    this.at += 1
    return this.at - 1
  }

  /** Whether another item follows. Otherwise the bracket is closed. */
  private goesOn(close: string, count: number): boolean {
    this.space()
    const next = this.text[this.at]
    if (next === close) {
      this.at += 1
      return false
    }
    if (count === 0) return true
    if (next !== ',')
      throw new Unexpected(
        this.at,
        next === undefined ? 'The text ends too early.' : `A comma or ${close} must stand here.`,
      )
    const comma = this.at
    this.at += 1
    this.space()
    if (this.text[this.at] === close) throw new Unexpected(comma, 'There is a comma, and nothing behind it.')
    return true
  }

  private scalar(kind: JsonScalar['kind'], pattern: RegExp, message: string): JsonScalar {
    const from = this.at
    pattern.lastIndex = from
    const raw = pattern.exec(this.text)?.[0]
    if (raw === undefined || raw === '') throw new Unexpected(from, message)
    this.at = from + raw.length
    return { kind, from, to: this.at, raw }
  }

  private space(): void {
    // Most values have no space before them.
    if (this.text.charCodeAt(this.at) > 0x20) return
    SPACE.lastIndex = this.at
    SPACE.exec(this.text)
    this.at = SPACE.lastIndex
  }
}

/** The string that a JSON string stands for. */
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
