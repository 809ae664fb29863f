/** For tests of the clock, which cannot tell a machine that stands still from a service that is late. */
export interface Pauses {
  /** How long this process has stood still so far, all pauses together. */
  milliseconds(): number
  stop(): void
}

const LOOK_EVERY_MS = 10
/** Timers are late by some milliseconds on any machine. */
const USUAL_MS = 30

export function watchPauses(): Pauses {
  let paused = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    paused += Math.max(0, now - last - USUAL_MS)
    last = now
  }, LOOK_EVERY_MS)
  return { milliseconds: () => paused, stop: () => clearInterval(timer) }
}
