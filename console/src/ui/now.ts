import { useSyncExternalStore } from 'react'
import { STEP_MS } from './ago-text.ts'

/** Differences up to this are those of the network. */
const TOLERATED_MS = 5_000

const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let tick = 0
/** By how much the clock of this computer is ahead of the service's. */
let aheadMs = 0

/** Takes the time of the service from the header `Date` of an answer: clocks of computers can be wrong by minutes. */
export function noteServiceTime(date: string | null): void {
  const at = Date.parse(date ?? '')
  if (Number.isNaN(at)) return
  const ahead = Date.now() - at
  aheadMs = Math.abs(ahead) > TOLERATED_MS ? ahead : 0
}

/** The time of the service, in milliseconds. The place that asks is shown again every few seconds, all of them by one timer. */
export function useNow(): number {
  useSyncExternalStore(listen, () => tick)
  return Date.now() - aheadMs
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  if (timer === undefined) {
    timer = setInterval(go, STEP_MS)
    // Browsers slow the timers of hidden pages down.
    addEventListener('visibilitychange', go)
  }
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
    removeEventListener('visibilitychange', go)
  }
}

function go(): void {
  tick += 1
  for (const listener of listeners) listener()
}
