import type { Reporter, TestModule } from 'vitest/node'

const REASON = /SKIPPED, (.+?): /
const NOT_INSTALLED = /^(.+) (?:is|are) not installed$/

/** Prints one line before the summary: how many tests were skipped, and why (`148 skipped: go, mono are not installed`). */
export default class Skipped implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    // Tests that `-t` leaves out have no reason.
    const titles = modules
      .flatMap((module) => [...module.children.allTests('skipped')])
      .map(({ fullName }) => fullName)
      .filter((title) => REASON.test(title))
    if (titles.length > 0) console.log(`\n${titles.length} skipped: ${reasonsOf(titles)}`)
  }
}

/** The reasons in the titles of skipped tests, each once; programs that are missing are one reason. */
export function reasonsOf(titles: readonly string[]): string {
  const reasons = titles.map((title) => REASON.exec(title)?.[1] ?? title)
  const programs = new Set(reasons.flatMap((reason) => NOT_INSTALLED.exec(reason)?.[1]?.split(' and ') ?? []))
  const others = new Set(reasons.filter((reason) => !NOT_INSTALLED.test(reason)))
  const missing =
    programs.size > 0 ? [`${[...programs].join(', ')} ${programs.size === 1 ? 'is' : 'are'} not installed`] : []
  return [...missing, ...others].join('; ')
}
