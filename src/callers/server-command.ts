import type { Command } from '../transactions/command.ts'
import type { Group } from '../transactions/group.ts'
import type { ServerCaller } from './callers.ts'
import { askServerKey } from './keys.ts'

/**
 * A command that a game server runs. It refuses a key that was revoked while the call waited: for its body, its turn or
 * the player's lock.
 */
export function asServer<Outcome>(caller: ServerCaller, command: Command<Outcome>): Command<Outcome> {
  const { once } = command
  return {
    ...command,
    ...(once && {
      once: {
        ...once,
        *admit(group: Group) {
          const requireKey = yield* group.rows(() => askServerKey(group, caller))
          requireKey()
          if (once.admit) yield* once.admit(group)
        },
      },
    }),
    *decide(group) {
      const decision = command.decide(group)
      const requireKey = yield* group.rowsBefore(decision, () => askServerKey(group, caller))
      requireKey()
      return yield* decision
    },
  }
}
