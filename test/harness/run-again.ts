import type { Reporter, TestCase, TestModule } from 'vitest/node'

/** Prints for each failed test the command that runs it alone, with the seed of this run. */
export default class RunAgain implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules.flatMap((module) => [...module.children.allTests('failed')])
    if (failed.length === 0) return
    console.log(['Run a failed test alone:', ...failed.map(commandOf), ''].join('\n'))
  }
}

function commandOf(test: TestCase): string {
  const names = [test.name]
  for (let parent = test.parent; parent.type === 'suite'; parent = parent.parent) names.unshift(parent.name)
  // A pattern that a shell passes on unchanged: a dot replaces each character that is special in a pattern or ends the
  // quotes.
  const pattern = names.join(' ').replaceAll(/[^\p{L}\p{N} ,:;-]/gu, '.')
  return `  SEED=${process.env.SEED} npx vitest run ${test.module.relativeModuleId} -t '${pattern}$'`
}
