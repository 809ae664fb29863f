import { distance } from 'fastest-levenshtein'
import type { Fault } from '../errors.ts'
import { memberNames } from '../json.ts'
import { REPEATED } from './blanks.ts'

/** The known name that a misspelt one most likely means; undefined when none is like it. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  // The distance takes time by the product of the lengths.
  if (name.length > 64) return undefined
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/g, '')
  const own = plain(name)
  const [best] = known
    .map((one) => ({ one, far: isSwapped(own, plain(one)) ? 1 : distance(own, plain(one)) }))
    .filter(({ one, far }) => far <= Math.max(1, Math.floor(one.length / 3)))
    .sort((a, b) => a.far - b.far)
  return best?.one
}

/** Whether two names have the same letters, with two changes at most: `egdes` and `edges`. */
const isSwapped = (one: string, other: string): boolean =>
  distance(one, other) === 2 && [...one].sort().join('') === [...other].sort().join('')

/** The text of a notice about a member that no rule knows. */
export function unknownMember(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  const meant = nearest === undefined ? `known are ${known.join(', ')}` : `did you mean ${nearest}?`
  return `is ignored: no rule knows this member; ${meant}`
}

/**
 * Notices about the members of a JSON object: those that are repeated, and those that no rule knows. With `onlyAlike`,
 * unknown members are named only if they look like a known one: the others can belong to the game.
 */
export function memberNotices(
  json: string,
  known: readonly string[],
  {
    prefix = '',
    onlyAlike = false,
    answered = [],
  }: {
    readonly prefix?: string
    readonly onlyAlike?: boolean
    /** Members of an answer: what was read may be sent back. */
    readonly answered?: readonly string[]
  } = {},
): Fault[] {
  const seen = new Map<string, number>()
  for (const name of memberNames(json)) seen.set(name, (seen.get(name) ?? 0) + 1)
  return [...seen].flatMap(([name, count]) => {
    const path = `${prefix}${name.slice(0, 64)}`
    const isUnknown = ![...known, ...answered].includes(name) && (!onlyAlike || nearestName(name, known) !== undefined)
    return [
      ...(isUnknown ? [{ path, message: unknownMember(name, known) }] : []),
      ...(count > 1 ? [{ path, message: REPEATED }] : []),
    ]
  })
}
