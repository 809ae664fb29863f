import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Frees all memory of this process, and so of the service, that nothing refers to. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
