import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { Load, LoadSetup, Step, Tally } from './load.ts'
import { lossOf, startProcess } from './processes.ts'

/** Runs a load. It waits for `begin` between its connections and its first call. */
export type RunLoad = (task: Load, begin?: () => Promise<unknown>) => Promise<Tally>

/** Long enough for a server to accept the connections that the system has made. */
const ACCEPT_MS = 50

/** Starts a process that makes calls. */
export function startLoad(setup: LoadSetup, signal: AbortSignal): RunLoad {
  const child = startProcess('load.ts')
  const lost = lossOf(child, 'the load generator')
  child.send(setup)
  const answer = async () => (await Promise.race([once(child, 'message'), lost]))[0]
  return async (task, begin) => {
    signal.throwIfAborted()
    child.send(task)
    await answer()
    await pause(ACCEPT_MS)
    await begin?.()
    child.send('go' satisfies Step)
    const tally: Tally = await answer()
    if (tally.failed > 0) throw new Error(`${tally.failed} of ${tally.calls} calls failed: ${tally.firstFailure}`)
    return tally
  }
}
