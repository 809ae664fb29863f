import { type Bus, createLocalBus } from '../../src/events/bus.ts'

export function countingBus(): { bus: Bus; count: () => number } {
  const bus = createLocalBus()
  let count = 0
  return {
    count: () => count,
    bus: {
      ...bus,
      async subscribe(environmentId, listener) {
        const leave = await bus.subscribe(environmentId, listener)
        count += 1
        return () => {
          count -= 1
          leave()
        }
      },
    },
  }
}
