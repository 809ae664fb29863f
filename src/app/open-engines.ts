import type { Config } from '../base/config.ts'
import type { Metrics } from '../base/metrics.ts'
import type { Numbering } from '../events/numbering.ts'
import { countLimited } from '../game/battlepass/limited-calls.ts'
import type { Engine } from '../transactions/command.ts'
import type { Group } from '../transactions/group.ts'
import { createGroupCommit, type GroupCommit } from '../transactions/group-commit.ts'
import { createMemory } from '../transactions/memory.ts'
import type { Database } from './open-database.ts'

/** The engines, each of which runs commands in groups, and the rows that they remember. */
export function openEngines({ callDeadlineMs }: Config, metrics: Metrics, { pools }: Database, numbering: Numbering) {
  const countXp = countLimited(({ player: { environmentId }, origin, reason }) =>
    metrics.xpLimited.inc({ environment: environmentId, origin, reason }),
  )
  const committed = (group: Group) => {
    numbering.committed(group)
    countXp(group)
  }
  const memory = createMemory()
  const groups = { pool: pools.game, deadlineMs: callDeadlineMs }
  const observe = metrics.observerOf
  const engines: Readonly<Record<Engine, GroupCommit>> = {
    game: createGroupCommit({ ...groups, memory, connections: 3, observe: observe('write'), committed }),
    reads: createGroupCommit({ ...groups, memory, readOnly: true, observe: observe('read') }),
    // Answers can be long, so few are built at once.
    storage: createGroupCommit({
      ...groups,
      readOnly: true,
      connections: 1,
      maxBatch: 16,
      observe: observe('storage'),
    }),
    // Separate from the game's writes: both lock players, each in its own order.
    logins: createGroupCommit({ ...groups, observe: observe('login'), committed }),
  }
  const run: GroupCommit['run'] = (command, admit) => engines[command.engine ?? 'game'].run(command, admit)
  return { engines, memory, run }
}
