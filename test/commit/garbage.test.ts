import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Command } from '../../src/commit/command.ts'
import { type Group, LATER, type Part } from '../../src/commit/group.ts'
import { createGroupCommit, type GroupCommit } from '../../src/commit/group-commit.ts'
import type { Statement } from '../../src/commit/statement.ts'
import { createPool } from '../../src/db/pool.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'

const GROUPS = 60
/** Some 200 KB. */
const OBJECTS = 5_000

let database: TestDatabase
let pool: Pool
let engine: GroupCommit
let collect: (options?: { type: 'minor' }) => void

beforeAll(async () => {
  setFlagsFromString('--expose-gc')
  collect = runInNewContext('gc')
  database = await createDatabase()
  pool = createPool({ url: database.url, connections: 1, isForGroups: true, onError: () => undefined })
  engine = createGroupCommit({ pool, connections: 1 })
})
afterAll(async () => {
  setFlagsFromString('--no-expose-gc')
  await engine.close()
  await pool.end()
  await database.drop()
})

/** Holds memory for as long as its group. */
class Ballast implements Part {
  static readonly stage = 'locks'
  readonly objects = Array.from({ length: OBJECTS }, (_, index) => ({ index }))
  isRead = false
  private readonly group: Group

  constructor(group: Group) {
    this.group = group
  }

  ask(): void {
    if (!this.isRead) this.group.waits = true
  }

  load(): Statement[] {
    return this.isRead ? [] : [{ text: 'SELECT', take: () => this.read() }]
  }

  private read(): void {
    this.isRead = true
    // As under load, where collections come while a group is under way.
    collect({ type: 'minor' })
  }
}

const command: Command<number> = {
  decide(group) {
    const ballast = group.of(Ballast)
    ballast.ask()
    return group.waits ? LATER : ballast.objects.length
  },
}

function oldBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0
}

describe('the memory of groups', () => {
  it('is free again after a minor garbage collection, though such a collection came while the group was under way', async () => {
    for (let group = 0; group < GROUPS; group += 1) await engine.run(command)
    collect()
    const before = oldBytes()
    for (let group = 0; group < GROUPS; group += 1) expect(await engine.run(command)).toBe(OBJECTS)
    collect({ type: 'minor' })
    collect({ type: 'minor' })
    expect((oldBytes() - before) / GROUPS).toBeLessThan(OBJECTS * 10)
  })
})
