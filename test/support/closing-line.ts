import { writeSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node'

/**
 * Ends the output of a run with one line that a script can read: `12 passed, 0 failed, 1 skipped`. What failed outside
 * a test (a file that does not load, a hook, an unhandled error) counts as failed: the line never says less than the
 * exit code.
 */
export default class ClosingLine implements Reporter {
  /** Stands when the run never came to its end. */
  private line = '0 passed, 1 failed'

  onInit(vitest: Vitest): void {
    // At exit, since teardown and other reporters may print after the end of the run.
    if (!vitest.config.watch) process.once('exit', () => writeSync(1, `${this.line}\n`))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    let passed = 0
    let skipped = 0
    let failed = unhandledErrors.length
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
        else skipped += 1
      }
      for (const part of [module, ...module.children.allSuites()]) if (part.errors().length > 0) failed += 1
    }
    this.line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
  }
}
