import { useEffect, useRef, useState } from 'react'
import type { FeedState } from './feed.ts'

const EVERY_MS = 1_000
const MINUTE_MS = 60_000

/** How many events arrived in the last minute. Null until a minute has passed. */
export function useEventRate({ heard, status }: Pick<FeedState, 'heard' | 'status'>): number | null {
  const [rate, setRate] = useState<number | null>(null)
  const latest = useRef(heard)
  const isLive = status === 'live'
  latest.current = heard
  useEffect(() => {
    if (!isLive) {
      setRate(null)
      return
    }
    const samples: { readonly at: number; readonly heard: number }[] = []
    const timer = setInterval(() => {
      const now = performance.now()
      samples.push({ at: now, heard: latest.current })
      while (samples[1] && samples[1].at <= now - MINUTE_MS) samples.shift()
      const first = samples[0]
      setRate(first && first.at <= now - MINUTE_MS ? latest.current - first.heard : null)
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [isLive])
  return rate
}
