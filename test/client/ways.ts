import { afterEach, beforeEach, describe, vi } from 'vitest'
import { WebSocket } from 'ws'

const WAYS = [
  { way: 'over server-sent events', socket: undefined },
  { way: 'over a WebSocket', socket: WebSocket },
] as const

/** Describes what holds for events in the same way where the platform has WebSockets, and where it has none. */
export function describeWays(title: string, define: () => void): void {
  describe.each(WAYS)(`${title} $way`, ({ socket }) => {
    beforeEach(() => void vi.stubGlobal('WebSocket', socket))
    afterEach(() => void vi.unstubAllGlobals())
    define()
  })
}
