import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { readTable } from './table.ts'

const TESTS = fileURLToPath(new URL('..', import.meta.url))
const table = readTable()

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

describe('the table of the fault suite', () => {
  it('numbers its guarantees from 1 on', () => {
    expect(table.map(({ number }) => number)).toEqual(table.map((_, index) => index + 1))
    expect(table.length).toBeGreaterThanOrEqual(40)
  })

  it('names tests that exist', () => {
    const missing = table.flatMap(({ number, tests }) =>
      tests
        .filter(
          ({ file, title }) => !["'", '"', '`'].some((quote) => sourceOf(file).includes(`${quote}${title}${quote}`)),
        )
        .map(({ file, title }) => `${number}: ${file}: ${title}`),
    )
    expect(missing, 'correct the row of test/faults/README.md, or the title').toEqual([])
  })

  it('has every file of this folder', () => {
    // The tests of the tools.
    const tools = ['mutations.test.ts', 'proxy.test.ts', 'table.test.ts']
    const named = new Set(table.flatMap(({ tests }) => tests.map(({ file }) => file)))
    const files = readdirSync(`${TESTS}faults`).filter((name) => name.endsWith('.test.ts') && !tools.includes(name))
    expect(
      files.filter((name) => !named.has(`faults/${name}`)),
      'add a row to test/faults/README.md',
    ).toEqual([])
  })
})
