import type { PassNode } from '../scenario/definition.ts'

/** The highest level that a total of xp reaches; 0 if none. */
export function levelAt({ levels }: Pick<PassNode, 'levels'>, xp: bigint): number {
  let reached = 0
  let low = 0
  let high = levels.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const entry = levels[middle]
    if (entry !== undefined && entry.xp <= xp) {
      reached = entry.level
      low = middle + 1
    } else {
      high = middle - 1
    }
  }
  return reached
}
