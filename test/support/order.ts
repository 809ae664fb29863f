import { existsSync } from 'node:fs'
import { BaseSequencer, type TestSpecification, type Vitest } from 'vitest/node'

/** These files wait most of the time, without CPU time. At the end they would run alone, with idle cores. */
const FIRST = ['test/faults/slow-sockets.test.ts', 'test/faults/frozen-postgres.test.ts']

/** Runs the files that wait long first, and the others in vitest's own order. */
export default class Order extends BaseSequencer {
  constructor(vitest: Vitest) {
    super(vitest)
    const missing = FIRST.filter((name) => !existsSync(name))
    if (missing.length > 0) throw new Error(`test/support/order.ts names files that are not there: ${missing}`)
  }

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isFirst = ({ moduleId }: TestSpecification) => FIRST.some((name) => moduleId.endsWith(name))
    const sorted = await super.sort(files)
    return [...sorted.filter(isFirst), ...sorted.filter((file) => !isFirst(file))]
  }
}
