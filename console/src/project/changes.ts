/** A member of a state, with its text before and after. Undefined when absent. */
export interface Change {
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
  readonly isChanged: boolean
}

const MAX_DEPTH = 4

/**
 * The members of two states in the order of the later one, then those that are gone. Values are the texts of the JSON:
 * no number is rounded.
 */
export function changesOf(before: string | null, after: string | null): readonly Change[] {
  const [one, two] = [membersOf(before), membersOf(after)]
  return [...new Set([...two.keys(), ...one.keys()])].map((path) => {
    const [was, is] = [one.get(path), two.get(path)]
    return { path, before: was, after: is, isChanged: was !== is }
  })
}

function membersOf(text: string | null): ReadonlyMap<string, string> {
  const members = new Map<string, string>()
  if (text === null) return members
  try {
    // Numbers become marked strings first, so that their digits survive.
    collect(JSON.parse(markNumbers(text)), '', 0, members)
  } catch {
    members.set('', text)
  }
  return members
}

function collect(value: unknown, path: string, depth: number, members: Map<string, string>): void {
  if (typeof value !== 'object' || value === null || depth === MAX_DEPTH || Object.keys(value).length === 0) {
    members.set(path === '' ? 'value' : path, printed(value))
    return
  }
  for (const [name, member] of Object.entries(value)) {
    const isIndex = Array.isArray(value)
    collect(member, isIndex ? `${path}[${name}]` : path + nameOf(name, path), depth + 1, members)
  }
}

/** Names that look like a path are quoted, so that no two members have the same path. */
const nameOf = (name: string, path: string): string => {
  if (!/^[\w-]+$/.test(name)) return `[${JSON.stringify(name)}]`
  return path === '' ? name : `.${name}`
}

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

const markNumbers = (text: string): string =>
  text.replace(TOKENS, (token) => (token.startsWith('"') ? token : `"\\u0000${token}"`))

const printed = (value: unknown): string => JSON.stringify(value).replaceAll(/"\\u0000(-?[\d.eE+-]+)"/g, '$1')
