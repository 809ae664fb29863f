import { spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type NamedTest, patternOf } from '../guarantees.ts'
import { apply, MUTATIONS } from './mutations.ts'

// `npm run test:mutations`: applies each mutation to a copy of the product, runs the tests that must fail, and prints a
// table. The tests must first pass on the unchanged copy, so that a failure comes from the mutation.
// `npm run test:mutations -- draft replay` tries only those whose names have one of these words.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const NOT_COPIED = new Set(['.git', '.tierway', 'dist', 'node_modules'])

interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly title: string; readonly status: string }[]
  }[]
}

interface Verdict {
  readonly what: string
  readonly isAsExpected: boolean
  readonly seconds: number
  readonly states: readonly string[]
}

const words = process.argv.slice(2)
const tried = MUTATIONS.filter(({ what }) => words.length === 0 || words.some((word) => what.includes(word)))
const copy = await mkdtemp(join(tmpdir(), 'tierway-mutations-'))
const verdicts: Verdict[] = []
try {
  await cp(ROOT, copy, { recursive: true, filter: (path) => path === ROOT || !NOT_COPIED.has(basename(path)) })
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  verdicts.push(
    await judge(
      'nothing',
      tried.flatMap(({ tests }) => tests),
      'passed',
    ),
  )
  for (const mutation of tried) {
    const takeBack = await apply(copy, mutation)
    verdicts.push(await judge(mutation.what, mutation.tests, 'failed'))
    await takeBack()
  }
} finally {
  await rm(copy, { recursive: true, force: true })
}
console.log('\nBroken by                                          the tests are  as expected  seconds')
for (const { what, states, isAsExpected, seconds } of verdicts) {
  const found = [...new Set(states)].join(', ') || 'not run'
  console.log(
    `${what.padEnd(50)} ${found.padEnd(14)} ${(isAsExpected ? 'yes' : 'NO').padEnd(12)} ${Math.round(seconds)}`,
  )
}
process.exitCode = verdicts.every(({ isAsExpected }) => isAsExpected) ? 0 : 1

/** Runs tests on the copy. Each must exist, and end as expected. */
async function judge(what: string, tests: readonly NamedTest[], expected: 'passed' | 'failed'): Promise<Verdict> {
  console.log(`\nBroken by: ${what}`)
  const report = join(copy, 'report.json')
  const files = [...new Set(tests.map(({ file }) => `test/${file}`))]
  const pattern = `(${tests.map(({ title }) => patternOf(title)).join('|')})$`
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', pattern, ...reporters]
  const started = performance.now()
  const child = spawn(process.execPath, args, { cwd: copy, stdio: 'inherit' })
  await new Promise((resolve) => child.once('close', resolve))
  const { testResults }: Report = JSON.parse(await readFile(report, 'utf8'))
  await rm(report)
  const all = testResults.flatMap(({ assertionResults }) => assertionResults)
  const statesOf = ({ title }: NamedTest) =>
    all.filter((result) => new RegExp(`^${patternOf(title)}$`).test(result.title)).map(({ status }) => status)
  const found = tests.map(statesOf)
  return {
    what,
    states: found.flat(),
    isAsExpected: found.every((states) => states.length > 0 && states.every((state) => state === expected)),
    seconds: (performance.now() - started) / 1000,
  }
}
