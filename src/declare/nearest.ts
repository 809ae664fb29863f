import type { Fault } from '../base/errors.ts'
import { memberNames } from '../base/json.ts'
import { nearestName } from '../base/nearest-name.ts'
import { REPEATED } from './blanks.ts'

/** What the sender of an unknown name may have meant. */
export function meantBy(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  return nearest === undefined ? `known are ${known.join(', ')}` : `did you mean ${nearest}?`
}

export const unknownMember = (name: string, known: readonly string[]): string =>
  `is ignored: no rule knows this member; ${meantBy(name, known)}`

/** What an answer names at most. A request of a megabyte can have a hundred thousand members. */
export const MAX_NOTICES = 100
/** How many unknown members of one object are compared with the known ones, which takes microseconds each. */
const MAX_COMPARED = 1_000
/** The characters of a name that an answer repeats. */
export const MAX_NAME = 64

/**
 * Notices about the members of a JSON object: those that are repeated, and those that no rule knows. With `onlyAlike`,
 * unknown members are named only if they look like a known one: the others can belong to the game. Without `known`, all
 * names are free.
 */
export function memberNotices(
  json: string,
  known: readonly string[] | null,
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
  const accepted = known && new Set([...known, ...answered])
  const seen = new Set<string>()
  const repeated = new Set<string>()
  const notices: Fault[] = []
  let compared = 0
  const isAlike = (name: string): boolean =>
    known !== null && ++compared <= MAX_COMPARED && nearestName(name, known) !== undefined
  for (const name of memberNames(json)) {
    if (notices.length >= MAX_NOTICES) break
    const path = `${prefix}${name.slice(0, MAX_NAME)}`
    if (seen.has(name)) {
      if (!repeated.has(name)) notices.push({ path, message: REPEATED })
      repeated.add(name)
    } else if (known && !accepted?.has(name) && (!onlyAlike || isAlike(name)))
      notices.push({ path, message: unknownMember(name, known) })
    seen.add(name)
  }
  return notices
}
