import { patternOf, readTable } from './test/faults/table.ts'
import base from './vitest.config.ts'

// `npm run test:faults`: the tests that test/faults/README.md names, and their results by its numbers.

// Workers inherit it.
process.env.FULL_SCALE = '1'
const tests = readTable().flatMap((guarantee) => guarantee.tests)
const { test, ...config } = base

export default {
  ...config,
  test: {
    ...test,
    include: [...new Set(tests.map(({ file }) => `test/${file}`))],
    testNamePattern: `(${[...new Set(tests.map(({ title }) => patternOf(title)))].join('|')})$`,
    reporters: [
      'default',
      './test/harness/run-again.ts',
      './test/faults/result-table.ts',
      './test/harness/closing-line.ts',
    ],
  },
}
