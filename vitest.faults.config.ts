import { FAULT_GUARANTEES, patternOf } from './test/guarantees.ts'
import base, { reporters } from './vitest.config.ts'

// `npm run test:faults`: the tests that test/README.md names with a number, and their results by it.

// Workers inherit it.
process.env.FULL_SCALE = '1'
const tests = FAULT_GUARANTEES.flatMap((guarantee) => guarantee.tests)
const { test, ...config } = base

export default {
  ...config,
  test: {
    ...test,
    include: [...new Set(tests.map(({ file }) => `test/${file}`))],
    testNamePattern: `(${[...new Set(tests.map(({ title }) => patternOf(title)))].join('|')})$`,
    reporters: [...reporters, './test/faults/result-table.ts'],
  },
}
