import { randomFillSync } from 'node:crypto'
import { V7Generator } from 'uuidv7'

/** Gives random numbers out of an array, which is filled anew when it is used up: asking for each alone costs more. */
export function randomsFrom<Value>(numbers: NodeJS.ArrayBufferView & ArrayLike<Value>): () => Value {
  let taken = numbers.length
  return () => {
    if (taken === numbers.length) {
      randomFillSync(numbers)
      taken = 0
    }
    const number = numbers[taken] as Value
    taken += 1
    return number
  }
}

const generator = new V7Generator({ nextUint32: randomsFrom(new Uint32Array(1_024)) })

/** A UUID of version 7: ids that are made later sort later, so that indexes grow at their end. */
export const newId = (): string => generator.generate().toString()
