import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import Order from './test/harness/order.ts'

// One seed for all that is random in a run: workers inherit it, and the command that repeats a failure names it.
process.env.SEED ??= String(Math.floor(Math.random() * 2 ** 31))

export const reporters = [
  './test/harness/progress.ts',
  './test/harness/skipped.ts',
  'default',
  './test/harness/run-again.ts',
  './test/harness/closing-line.ts',
]

export default defineConfig({
  // Vite would take graphql's ES modules and Node its CommonJS ones: two copies, whose types do not know each other.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: './test/harness/postgres.ts',
    setupFiles: './test/harness/seed.ts',
    pool: 'forks',
    // The files of a worker share its process and its modules: loading the service for each file would take a third of
    // the suite's CPU time. So a file puts back what it changes of the process, and shared modules register no hooks.
    isolate: false,
    // Room for what a test parses and drops: else a sixth of a worker's CPU time goes to collecting it.
    execArgv: ['--min-semi-space-size=32', '--max-semi-space-size=64'],
    // Statements wait for disks and for neighbours on a busy machine; the limits are for what hangs.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // A worker waits most of its time, for clocks, processes and Postgres, so there are more workers than cores. All share
    // one Postgres, and each file may have several instances of the service, with ten connections and more. With three
    // workers a core, a slow machine refuses calls that wait for five seconds, and the suite is hardly faster.
    maxWorkers: Math.min(4, 2 * availableParallelism()),
    sequence: { sequencer: Order },
    // A file prints one line, and one for each test that takes longer than this.
    slowTestThreshold: 10_000,
    reporters,
  },
})
