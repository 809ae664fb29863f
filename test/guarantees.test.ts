import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import faults from '../vitest.faults.config.ts'
import chosen from '../vitest.guarantees.config.ts'
import rest from '../vitest.rest.config.ts'
import { FAULT_GUARANTEES, GUARANTEE_FILES, LONG_FILES } from './guarantees.ts'
import { reasonsOf } from './harness/skipped.ts'

const TESTS = fileURLToPath(new URL('.', import.meta.url))

/** The placeholders of a title, as sources write them. */
const VALUES = /\$\{[^}]*\}|%[sijdfo]|\$\w+/g

const sources = new Map<string, string>()
function sourceOf(file: string): string {
  const path = `${TESTS}${file}`
  const source =
    sources.get(file) ??
    (existsSync(path) ? readFileSync(path, 'utf8').replaceAll(VALUES, '…').replaceAll("\\'", "'") : '')
  sources.set(file, source)
  return source
}

describe('the tables of test/README.md', () => {
  it('name files that exist', () => {
    expect(GUARANTEE_FILES.length).toBeGreaterThan(60)
    expect(GUARANTEE_FILES.filter((file) => !existsSync(`${TESTS}${file}`))).toEqual([])
  })

  it('name tests that exist', () => {
    const missing = FAULT_GUARANTEES.flatMap(({ number, tests }) =>
      tests
        .filter(
          ({ file, title }) => !["'", '"', '`'].some((quote) => sourceOf(file).includes(`${quote}${title}${quote}`)),
        )
        .map(({ file, title }) => `${number}: ${file}: ${title}`),
    )
    expect(missing, 'correct the row of test/README.md, or the title').toEqual([])
  })

  it('number the guarantees under faults from 1 on', () => {
    expect(FAULT_GUARANTEES.map(({ number }) => number)).toEqual(FAULT_GUARANTEES.map((_, index) => index + 1))
    expect(FAULT_GUARANTEES.length).toBeGreaterThanOrEqual(40)
  })

  it('have every file of test/faults', () => {
    // The tests of the tools.
    const tools = ['mutations.test.ts', 'proxy.test.ts']
    const files = readdirSync(`${TESTS}faults`).filter((name) => name.endsWith('.test.ts') && !tools.includes(name))
    expect(
      files.filter((name) => !GUARANTEE_FILES.includes(`faults/${name}`)),
      'add a row to test/README.md',
    ).toEqual([])
  })

  it('leave out of `npm test` only files that they name', () => {
    expect(LONG_FILES.length).toBeGreaterThan(0)
    expect(LONG_FILES.filter((file) => !GUARANTEE_FILES.includes(file))).toEqual([])
  })
})

describe('the files of', () => {
  const paths = (files: readonly string[]) => files.map((file) => `test/${file}`).toSorted()

  it('`npm test` are those of the tables without the long ones, and `npm run test:rest` runs all others', () => {
    expect([...chosen.test.include, ...paths(LONG_FILES)].toSorted()).toEqual(paths(GUARANTEE_FILES))
    expect(rest.test.exclude).toEqual(expect.arrayContaining(chosen.test.include))
    expect(rest.test.include).toEqual(['test/**/*.test.ts'])
  })

  it('`npm run test:faults` are those of the numbered guarantees', () => {
    const named = FAULT_GUARANTEES.flatMap(({ tests }) => tests.map(({ file }) => file))
    expect(faults.test.include.toSorted()).toEqual(paths([...new Set(named)]))
  })
})

it('a run says in one line which programs its skipped tests need, each once, and other reasons', () => {
  const reasons = reasonsOf([
    'SKIPPED, redis-server is not installed: a stream > delivers',
    'SKIPPED, curl and openssl are not installed: prints commands that work',
    'the pages > SKIPPED, curl is not installed: run',
    'SKIPPED, the user is not root: a start on a full disk',
  ])
  expect(reasons).toBe('redis-server, curl, openssl are not installed; the user is not root')
})
