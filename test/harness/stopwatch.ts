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
 * How many milliseconds this process was paused so far. A test of a deadline cannot distinguish a paused machine from a
 * late service: it adds these milliseconds to the deadline.
 */
export const pausedTime = (): number => paused + pauseUntil(performance.now())

/** Returns a function that gives the milliseconds since now, except those in which this process was paused. */
export function startStopwatch(): () => number {
  const ran = () => performance.now() - pausedTime()
  const started = ran()
  return () => ran() - started
}
