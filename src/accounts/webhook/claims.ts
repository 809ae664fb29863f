import type { Fault } from '../../base/errors.ts'
import { depthExceeds, elements, kindOf, memberNames, members } from '../../base/json.ts'
import { MAX_CLAIMS_BYTES, MAX_CLAIMS_DEPTH } from '../../base/limits.ts'

/**
 * The faults of the claims of an answer, an object. Game servers in any language read them, so they must mean the same
 * to every parser of JSON.
 */
export function claimFaults(raw: string): Fault[] {
  const bytes = Buffer.byteLength(raw)
  if (bytes > MAX_CLAIMS_BYTES)
    return [{ path: 'claims', message: `must be at most ${MAX_CLAIMS_BYTES} bytes of JSON, was ${bytes}` }]
  const isDeep = depthExceeds(raw, MAX_CLAIMS_DEPTH)
  const faults = isDeep ? [{ path: 'claims', message: `must not nest deeper than ${MAX_CLAIMS_DEPTH}` }] : []
  check({ path: 'claims', raw, depth: 1 }, faults)
  return faults
}

interface Place {
  readonly path: string
  readonly raw: string
  readonly depth: number
}

function check({ path, raw, depth }: Place, faults: Fault[]): void {
  const kind = kindOf(raw)
  if ((kind !== 'object' && kind !== 'array') || depth > MAX_CLAIMS_DEPTH) return
  if (kind === 'array') {
    for (const [index, element] of elements(raw).entries())
      check({ path: `${path}[${index}]`, raw: element, depth: depth + 1 }, faults)
    return
  }
  const names = memberNames(raw)
  for (const [name, value] of members(raw)) {
    const place = `${path}.${name}`
    // A reader in JavaScript that copies members would change the prototype of its object.
    if (name === '__proto__') faults.push({ path: place, message: 'must have another name' })
    if (names.indexOf(name) !== names.lastIndexOf(name)) faults.push({ path: place, message: 'must stand once' })
    check({ path: place, raw: value, depth: depth + 1 }, faults)
  }
}
