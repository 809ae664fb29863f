import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// The table of test/faults/README.md, as data.

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

const ROW = /^\| (\d+) \| (.+?) \| (.+) \|$/gm
const TEST = /^`([^`]+)` (.+)$/

export function readTable(): Guarantee[] {
  const page = readFileSync(fileURLToPath(new URL('README.md', import.meta.url)), 'utf8')
  return [...page.matchAll(ROW)].map(([, number, guarantee = '', tests = '']) => ({
    number: Number(number),
    guarantee,
    tests: tests.split('<br>').map((test) => {
      const [, file = '', title = ''] = TEST.exec(test) ?? []
      return { file, title }
    }),
  }))
}

/** A pattern that matches the titles of a test with its values filled in. */
export const patternOf = (title: string): string =>
  title
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*')
