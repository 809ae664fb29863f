import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node'

/**
 * Ends the output of a run with one line that a script can read: `12 passed, 0 failed, 1 skipped`. A failure outside a
 * test (a file that does not load, a hook, an unhandled error) counts as failed: the line agrees with the exit code.
 * With `TEST_TOTAL`, a file in which it keeps the counts, the line is that of all runs so far.
 */
export default class ClosingLine implements Reporter {
  private passed = 0
  private failed = 0
  private skipped = 0

  onInit(vitest: Vitest): void {
    // At exit, since teardown and other reporters may print after the end of the run.
    if (!vitest.config.watch) process.once('exit', (code) => writeSync(1, `${this.line(code)}\n`))
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.failed = unhandledErrors.length
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') this.passed += 1
        else if (state === 'failed') this.failed += 1
        else this.skipped += 1
      }
      for (const part of [module, ...module.children.allSuites()]) if (part.errors().length > 0) this.failed += 1
    }
  }

  private line(code: number): string {
    if (code !== 0) this.failed = Math.max(this.failed, 1)
    const counts = [this.passed, this.failed, this.skipped]
    const file = process.env.TEST_TOTAL
    if (file) {
      const before: number[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []
      for (const [index, count] of before.entries()) counts[index] = (counts[index] ?? 0) + count
      writeFileSync(file, JSON.stringify(counts))
    }
    const [passed, failed, skipped = 0] = counts
    return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
  }
}
