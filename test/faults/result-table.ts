import type { Reporter, TestModule } from 'vitest/node'
import { FAULT_GUARANTEES, type NamedTest, patternOf } from '../guarantees.ts'

/** Ends a run of the fault suite with its table: number, result, guarantee. */
export default class ResultTable implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const results = modules.flatMap((module) =>
      [...module.children.allTests()].map((test) => ({
        file: module.relativeModuleId.replace(/^test\//, ''),
        title: test.name,
        state: test.result().state,
      })),
    )
    const statesOf = ({ file, title }: NamedTest) => {
      const pattern = new RegExp(`^${patternOf(title)}$`)
      return results.filter((result) => result.file === file && pattern.test(result.title)).map(({ state }) => state)
    }
    const lines = FAULT_GUARANTEES.map(({ number, guarantee, tests }) => {
      const states = tests.map(statesOf)
      const all = states.flat()
      const isMissing = states.some((found) => found.length === 0)
      const result = all.includes('failed')
        ? 'FAILED'
        : isMissing
          ? 'MISSING'
          : all.every((state) => state === 'passed')
            ? 'passed'
            : 'SKIPPED'
      return `${String(number).padStart(3)}  ${result.padEnd(8)} ${String(all.length).padStart(4)} tests  ${guarantee}`
    })
    console.log(['', `The fault suite, SEED=${process.env.SEED}`, ...lines, ''].join('\n'))
    if (lines.some((line) => / MISSING /.test(line))) process.exitCode = 1
  }
}
