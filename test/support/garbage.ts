import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Frees the memory of this process, and so of the service, that nothing refers to: all of it, or with `minor` only
 * young memory to which old memory does not refer.
 */
export function collectGarbage(type: 'major' | 'minor' = 'major'): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')({ type })
}
