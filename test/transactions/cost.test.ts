import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import type { Call, Costs, GroupCost } from './cost.ts'

// What a call costs, without a clock: the bytes that it allocates, and what its group sends to Postgres. A change that
// raises one of these bounds says why. The bytes vary by some percent, since V8 compiles a function when it likes.

let database: TestDatabase
let costs: Costs

beforeAll(async () => {
  database = await createDatabase()
  const memory = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256']
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...memory,
    ...['--import', 'tsx', 'test/transactions/cost.ts', database.url],
  ])
  costs = JSON.parse(stdout)
})
afterAll(() => database?.drop())

/** At most so many bytes of the heap, for each call. */
const DECISIONS = { xp: 700, claim: 550, premium: 450 }

type Bound = readonly [bytes: number, statements: number, parameters: number, sent: number]

/**
 * At most: bytes of the heap for each call of a group, and for the group its statements, their parameters, and bytes sent
 * to Postgres. A purchase first reads the wallet and the ownership of rewards, which the calls before it did not need.
 */
const GROUPS: Readonly<Record<Call, Readonly<Record<string, Bound>>>> = {
  xp: { 1: [62_000, 1, 39, 750], 32: [13_500, 1, 39, 7_400], 256: [12_000, 1, 39, 56_000] },
  claim: { 1: [70_000, 1, 49, 960], 32: [20_500, 1, 49, 11_900], 256: [18_500, 1, 49, 92_500] },
  premium: { 1: [130_000, 3, 75, 2_480], 32: [45_500, 3, 75, 43_200], 256: [43_500, 3, 75, 340_000] },
  progress: { 1: [40_000, 1, 10, 300], 32: [5_300, 1, 10, 2_250], 256: [4_400, 1, 10, 16_000] },
}

describe('a call of the game', () => {
  it.for(Object.entries(DECISIONS))('decides %s within its bytes', ([call, most]) => {
    const { bytes } = costs.decide[call as keyof Costs['decide']]
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThan(most)
  })

  const groups = Object.entries(GROUPS).flatMap(([call, sizes]) =>
    Object.entries(sizes).map(([size, bound]) => ({ call: call as Call, size, bound })),
  )
  it.for(groups)(
    'stays within its bytes, statements and parameters: $call in a group of $size',
    ({ call, size, bound }) => {
      const { bytes, statements, parameters, sent } = costs.groups[call][size] as GroupCost
      expect(statements).toBeGreaterThan(0)
      const found = { bytes, statements, parameters, sent }
      for (const [index, [name, count]] of Object.entries(found).entries())
        expect(count, name).toBeLessThanOrEqual(bound[index] as number)
    },
  )
})
