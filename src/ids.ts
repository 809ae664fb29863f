import { randomFillSync } from 'node:crypto'
import { V7Generator } from 'uuidv7'

/** Random numbers are asked for in bulk: asking costs more than making an id. */
const random = new Uint32Array(1_024)
let taken = random.length

function nextUint32(): number {
  if (taken === random.length) {
    randomFillSync(random)
    taken = 0
  }
  const number = random[taken] as number
  taken += 1
  return number
}

const generator = new V7Generator({ nextUint32 })

/** A UUID of version 7: ids that are made later sort later, so that indexes grow at their end. */
export const newId = (): string => generator.generate().toString()
