import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// The tables of test/README.md, as data.

export interface NamedTest {
  /** Relative to `test/`. */
  readonly file: string
  /** With `…` where the test fills in a value. */
  readonly title: string
}

export interface Guarantee {
  readonly number: number
  readonly guarantee: string
  readonly tests: readonly NamedTest[]
}

const LEFT_OUT = '## Only in `npm run test:all`'
const FILE = /`([\w/.-]+\.test\.ts)`/g
const LONG = /^\| `([^`]+)` \|/gm
const ROW = /^\| (\d+) \| (.+?) \| (.+) \|$/gm
const TEST = /^`([^`]+)` (.+)$/

const page = readFileSync(fileURLToPath(new URL('README.md', import.meta.url)), 'utf8')

const [held = '', leftOut = ''] = page.split(LEFT_OUT)
const rows = held.split('\n').filter((line) => line.startsWith('| '))

/** All files with tests of guarantees, relative to `test/`. */
export const GUARANTEE_FILES: readonly string[] = [
  ...new Set(rows.flatMap((row) => [...row.matchAll(FILE)].map(([, file = '']) => file))),
]

/** Those of them that take too long for `npm test`. */
export const LONG_FILES: readonly string[] = [...leftOut.matchAll(LONG)].map(([, file = '']) => file)

/** What `npm test` runs, relative to the root. */
export const NPM_TEST: readonly string[] = GUARANTEE_FILES.filter((file) => !LONG_FILES.includes(file)).map(
  (file) => `test/${file}`,
)

/** The guarantees under races, faults and attacks. */
export const FAULT_GUARANTEES: readonly Guarantee[] = [...page.matchAll(ROW)].map(
  ([, number, guarantee = '', tests = '']) => ({
    number: Number(number),
    guarantee,
    tests: tests.split('<br>').map((test) => {
      const [, file = '', title = ''] = TEST.exec(test) ?? []
      return { file, title }
    }),
  }),
)

/** A pattern that matches the titles of a test with its values filled in. */
export const patternOf = (title: string): string =>
  title
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
