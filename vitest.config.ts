import { defineConfig } from 'vitest/config'

export default defineConfig({
  // Vite would take graphql's ES modules and Node its CommonJS ones: two copies, whose types do not know each other.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: './test/support/postgres.ts',
    pool: 'forks',
    // Statements wait for disks and for neighbours on a busy machine; the limits are for what hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', './test/support/closing-line.ts'],
  },
})
