/** A random source with a seed: the same seed gives the same numbers, on any machine. */
export interface Random {
  /** A number from 0 up to, not including, 1. */
  next(): number
  chance(probability: number): boolean
  /** A number from low up to, not including, high. */
  between(low: number, high: number): number
  /** A whole number from low to high. */
  whole(low: number, high: number): number
  /** Mostly small, now and then large, with this mean. */
  exponential(mean: number): number
  /** A number around 1, never below 0, with a long tail, as durations have. */
  spread(width: number): number
  pick<T>(values: readonly T[]): T
}

/** Each pair of numbers gives a different source. */
export function createRandom(seed: number, index: number): Random {
  let a = mix(seed ^ 0x9e3779b9)
  let b = mix(index + 0x85ebca6b)
  let c = mix(a ^ b)
  let counter = 1

  // sfc32
  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum
    c |= 0
    return (sum >>> 0) / 2 ** 32
  }
  for (let round = 0; round < 12; round += 1) next()

  return {
    next,
    chance: (probability) => next() < probability,
    between: (low, high) => low + next() * (high - low),
    whole: (low, high) => low + Math.floor(next() * (high - low + 1)),
    exponential: (mean) => -Math.log(1 - next()) * mean,
    spread: (width) => Math.exp((next() + next() + next() - 1.5) * width),
    pick(values) {
      const [first] = values
      if (first === undefined) throw new Error('there is nothing to pick from')
      return values[Math.floor(next() * values.length)] ?? first
    },
  }
}

function mix(value: number): number {
  let mixed = value | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return mixed ^ (mixed >>> 15)
}

export function createChoice<T>(values: readonly T[], weight: (value: T) => number): (random: Random) => T {
  const [first] = values
  if (first === undefined) throw new Error('there is nothing to choose from')
  const bounds: number[] = []
  let total = 0
  for (const value of values) {
    total += weight(value)
    bounds.push(total)
  }
  return (random) => {
    const at = random.next() * total
    let low = 0
    let high = bounds.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((bounds[middle] ?? 0) <= at) low = middle + 1
      else high = middle
    }
    return values[low] ?? first
  }
}
