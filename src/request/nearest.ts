import { distance } from 'fastest-levenshtein'

/** The known name that a misspelt one most likely means; undefined when none is like it. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  // The distance takes time by the product of the lengths.
  if (name.length > 64) return undefined
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/g, '')
  const own = plain(name)
  const [best] = known
    .map((one) => ({ one, far: distance(own, plain(one)) }))
    .filter(({ one, far }) => far <= Math.max(1, Math.floor(one.length / 3)))
    .sort((a, b) => a.far - b.far)
  return best?.one
}

/** The text of a notice about a member that no rule knows. */
export function unknownMember(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known)
  const meant = nearest === undefined ? `known are ${known.join(', ')}` : `did you mean ${nearest}?`
  return `is ignored: no rule knows this member; ${meant}`
}
