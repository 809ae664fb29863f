import type { Reporter, TestCase, TestSpecification } from 'vitest/node'

const EVERY_MS = 15_000

/** Prints how far the run is, every 15 seconds, where vitest shows no line that it keeps up to date. */
export default class Progress implements Reporter {
  private timer: NodeJS.Timeout | undefined
  private readonly counts = { passed: 0, failed: 0, skipped: 0, pending: 0 }
  private files = 0

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    if (process.stdout.isTTY) return
    const started = performance.now()
    this.timer = setInterval(() => {
      const seconds = Math.round((performance.now() - started) / 1000)
      const time = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
      const { passed, failed } = this.counts
      console.log(`${time}  ${this.files} of ${specifications.length} files, ${passed} tests passed, ${failed} failed`)
    }, EVERY_MS)
  }

  onTestCaseResult(test: TestCase): void {
    this.counts[test.result().state] += 1
  }

  onTestModuleEnd(): void {
    this.files += 1
  }

  onTestRunEnd(): void {
    clearInterval(this.timer)
  }
}
