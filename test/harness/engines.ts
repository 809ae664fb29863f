import { createPool } from '../../src/db/pool.ts'
import type { Path } from '../../src/transactions/group.ts'
import { createGroupCommit, type GroupCommit } from '../../src/transactions/group-commit.ts'
import { createMemory, type Memory } from '../../src/transactions/memory.ts'
import { auditBooks } from './audit.ts'
import { createDatabase } from './database.ts'
import { createWorld, type World } from './service.ts'

export interface Engines {
  readonly writes: GroupCommit
  readonly reads: GroupCommit
  readonly memory: Memory
  groups: number
  /** The path of each committed group, in their order. */
  readonly paths: Path[]
}

export interface TwoInstances {
  readonly world: World
  readonly databaseUrl: string
  readonly here: Engines
  readonly there: Engines
  /** Stops both instances, and checks the books. */
  stop(): Promise<void>
}

/** Two instances in this process, on a database of their own. */
export async function startEngines(): Promise<TwoInstances> {
  const database = await createDatabase()
  const world = await createWorld(database.url)
  const pool = createPool({ url: database.url, connections: 6, isForGroups: true, onError: () => undefined })

  function create(): Engines {
    const memory = createMemory()
    const observe = () => {
      engines.groups += 1
    }
    const committed = ({ path }: { path: Path }) => void engines.paths.push(path)
    const engines: Engines = {
      memory,
      writes: createGroupCommit({ pool, memory, connections: 3, observe, committed }),
      reads: createGroupCommit({ pool, memory, readOnly: true }),
      groups: 0,
      paths: [],
    }
    return engines
  }

  const instances = { here: create(), there: create() }
  return {
    world,
    databaseUrl: database.url,
    ...instances,
    async stop() {
      for (const { writes, reads } of Object.values(instances)) {
        await writes.close()
        await reads.close()
      }
      await auditBooks(world.pool)
      await pool.end()
      await world.close()
      await database.drop()
    },
  }
}
