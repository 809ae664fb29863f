const LOOK_EVERY_MS = 10
/** Timers are late by some milliseconds on any machine. */
const USUAL_MS = 30

let paused = 0
let last = performance.now()

const pauseUntil = (now: number): number => Math.max(0, now - last - USUAL_MS)

setInterval(() => {
  const now = performance.now()
  paused += pauseUntil(now)
  last = now
}, LOOK_EVERY_MS).unref()

/**
 * How many milliseconds this process has stood still so far. A test of the clock cannot tell a machine that stands
 * still from a service that is late: what must happen within a time gets these on top.
 */
export const pausedTime = (): number => paused + pauseUntil(performance.now())

/** Tells the milliseconds since it was started, but for those in which this process stood still. */
export function startStopwatch(): () => number {
  const ran = () => performance.now() - pausedTime()
  const started = ran()
  return () => ran() - started
}
