import { distance } from 'fastest-levenshtein'

/**
 * The known name that a misspelt one most likely means; undefined when none is like it. `most` limits the letters that
 * differ.
 */
export function nearestName(name: string, known: readonly string[], most = Infinity): string | undefined {
  // The distance takes time by the product of the lengths.
  if (name.length > 64) return undefined
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/g, '')
  const own = plain(name)
  const [best] = known
    .map((one) => ({ one, far: isSwapped(own, plain(one)) ? 1 : distance(own, plain(one)) }))
    .filter(({ one, far }) => far <= Math.min(most, Math.max(1, Math.floor(one.length / 3))))
    .sort((a, b) => a.far - b.far)
  return best?.one
}

/** Whether two names have the same letters, with two changes at most: `egdes` and `edges`. */
const isSwapped = (one: string, other: string): boolean =>
  distance(one, other) === 2 && [...one].sort().join('') === [...other].sort().join('')
