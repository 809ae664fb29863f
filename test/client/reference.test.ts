import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as client from '../../src/client/index.ts'
import { printReference } from '../../src/dev/reference.print.ts'
import * as server from '../../src/sdk/server.ts'
import * as webhook from '../../src/sdk/webhook.ts'

const LIBRARIES = { 'tierway/client': client, 'tierway-server/webhook': webhook, 'tierway-server': server }
const page = readFileSync('docs/reference.md', 'utf8')

it.each(Object.entries(LIBRARIES))('docs/reference.md has every value that %s exports', (name, library) => {
  const [, rest = ''] = page.split(`## ${name}\n`)
  const [part = ''] = rest.split('\n## ')
  const sections = [...part.matchAll(/^### (.+)$/gm)].map(([, title]) => title)
  expect(sections).toEqual(expect.arrayContaining(Object.keys(library)))
})

// It throws for a member that the library for JavaScript or that for Unity lacks.
it('docs/reference.md is what `npm run schema` writes, with each member of the libraries for JavaScript and Unity', () => {
  expect(page).toBe(printReference())
})

const examples = [...page.matchAll(/^```ts\n(import [\s\S]*?)^```$/gm)].map(([, code = '']) => code)

it('the docstrings have examples', () => {
  expect(examples.length).toBeGreaterThan(3)
})

it.each(examples)('the values of an example of docs/reference.md are what it says: %s', (code) => {
  const script = code
    .replaceAll(/^import (\{.*\}) from '(.+)'$/gm, "const $1 = libraries['$2']")
    .replaceAll(/^(\S.*\)) \/\/ (.+)$/gm, 'expect($1).toEqual($2)')
  expect(script).toContain('expect(')
  new Function('libraries', 'expect', script)(LIBRARIES, expect)
})
