import type { Fault } from '../base/errors.ts'
import { memberNames } from '../base/json.ts'
import { nearestName } from '../base/nearest-name.ts'
import { REPEATED } from './blanks.ts'

export function unknownMember(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  const meant = nearest === undefined ? `known are ${known.join(', ')}` : `did you mean ${nearest}?`
  return `is ignored: no rule knows this member; ${meant}`
}

/** What an answer names at most. A request of a megabyte can have a hundred thousand members. */
const MAX_NOTICES = 100

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
  for (const name of memberNames(json)) {
    if (notices.length >= MAX_NOTICES) break
    const path = `${prefix}${name.slice(0, 64)}`
    if (seen.has(name)) {
      if (!repeated.has(name)) notices.push({ path, message: REPEATED })
      repeated.add(name)
    } else if (known && !accepted?.has(name) && (!onlyAlike || nearestName(name, known) !== undefined))
      notices.push({ path, message: unknownMember(name, known) })
    seen.add(name)
  }
  return notices
}
