import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

function collector(): (options?: { type: 'minor' }) => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

/** Frees all memory of this process, and so of the service, that nothing refers to. */
export const collectGarbage = (): void => collector()()

/** The same for young memory to which old memory does not refer. */
export const collectYoungGarbage = (): void => collector()({ type: 'minor' })
