import { applyChanges, insertValues, RawText, removeItems, removeMembers, setMember } from '../text/json-edit.ts'
import { canonical, itemsOf, type JsonNode, parseJson } from '../text/json-tree.ts'
import { type Difference, differences, entriesOf, findAt, type Step } from './differences.ts'

/** A value that both sides have changed differently. */
export interface Conflict {
  readonly mine: Difference
  readonly theirs: Difference
}

export interface Merge {
  /** Their text with my changes. */
  readonly text: string
  readonly conflicts: readonly Conflict[]
  /** My changes whose place is gone. */
  readonly lost: readonly Difference[]
}

/**
 * Carries my changes of a definition over to a version that was published meanwhile. Where both have changed the same
 * value, `prefer` decides. Undefined when a text is not JSON.
 */
export function mergeDefinitions(
  base: string,
  mine: string,
  theirs: string,
  prefer: 'mine' | 'theirs',
): Merge | undefined {
  const [old, own, other] = [parseJson(base).root, parseJson(mine).root, parseJson(theirs).root]
  if (!old || !own || !other) return undefined
  const changed = differences(old, other)
  const conflicts: Conflict[] = []
  let text = theirs
  const lost: Difference[] = []
  for (const change of differences(old, own)) {
    const clash = changed.find((one) => overlap(one.path, change.path) && !isSame(one, change))
    if (clash) conflicts.push({ mine: change, theirs: clash })
    if (clash && prefer === 'theirs') continue
    const next = carry(text, mine, change)
    if (next === undefined) lost.push(change)
    else text = next
  }
  return { text, conflicts, lost }
}

const stepText = (step: Step): string => ('member' in step ? `.${step.member}` : `[${step.entry}]`)

function overlap(one: readonly Step[], two: readonly Step[]): boolean {
  const shorter = Math.min(one.length, two.length)
  return one.slice(0, shorter).every((step, at) => stepText(step) === stepText(two[at] as Step))
}

function isSame(one: Difference, two: Difference): boolean {
  if (one.path.length !== two.path.length) return false
  return one.after && two.after ? canonical(one.after) === canonical(two.after) : one.after === two.after
}

/** Makes one change in a text. Undefined where its place is gone. */
function carry(text: string, source: string, { path, after }: Difference): string | undefined {
  const { root } = parseJson(text)
  const last = path.at(-1)
  if (!root || last === undefined) return undefined
  const parentPath = path.slice(0, -1)
  const parent = findAt(root, parentPath)
  const value = after && new RawText(source.slice(after.from, after.to))
  if ('member' in last) {
    if (parent?.kind !== 'object') return undefined
    if (!value) return applyChanges(text, removeMembers(parent, [last.member]))
    return applyChanges(text, [setMember(text, parent, last.member, value)])
  }
  if (parent?.kind !== 'array') return undefined
  const entries = entriesOf(parentPath, parent)
  if (!entries) return undefined
  const entry = entries.get(last.entry)
  if (entry) {
    const index = itemsOf(parent).indexOf(entry)
    if (value) return applyChanges(text, [{ from: entry.from, to: entry.to, insert: value.text }])
    return applyChanges(text, removeItems(parent, new Set([index])))
  }
  return value && applyChanges(text, [insertValues(text, parent, placeOf(parent, parentPath, last.entry), [value])])
}

/** Levels and tiers are placed by their numbers. Other entries are added at the end. */
function placeOf(list: JsonNode, path: readonly Step[], key: string): number {
  const number = (text: string) => (/^\d+( |$)/.test(text) ? BigInt(text.split(' ')[0] ?? '0') : undefined)
  const [own, entries] = [number(key), [...(entriesOf(path, list)?.keys() ?? [])]]
  const track = key.split(' ')[1]
  const before = entries.findLastIndex((other) => {
    const at = number(other)
    return own !== undefined && at !== undefined && other.split(' ')[1] === track && at < own
  })
  if (own === undefined) return entries.length
  return before < 0 && track === undefined ? 0 : before < 0 ? entries.length : before + 1
}
