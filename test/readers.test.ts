import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openapi } from '../src/serve/openapi/document.ts'

/** Names of documents that no user has, and places in them. */
const SECTION = /\b(?:spec|specification|decisions|architecture)(?:\.md| \d)/i

const IGNORED = new Set(['node_modules', 'generated', 'dist', 'target', 'obj', 'bin'])

/** The files of a folder and all folders below it; a file itself. */
function filesOf(path: string): string[] {
  if (/\.[a-z]+$/.test(path)) return [path]
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    if (IGNORED.has(entry.name)) return []
    const found = join(path, entry.name)
    return entry.isDirectory() ? filesOf(found) : [found]
  })
}

const withoutComments = (source: string): string =>
  source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(?<=^|\s)\/\/.*$/gm, '')

const linesWith = (text: string): string[] => text.split('\n').filter((line) => SECTION.test(line))

describe('citations of docs/contract.md', () => {
  const sections = new Set(
    [...readFileSync('docs/contract.md', 'utf8').matchAll(/^##+ (\d+(?:\.\d+)?)\.? /gm)].map(([, number]) => number),
  )
  const sources = ['src', 'test', 'sdk', 'examples']
    .flatMap(filesOf)
    .filter((path) => /\.(?:tsx?|md|http|go|cs)$/.test(path))

  it('name sections that it has, and no document that is not there', () => {
    const found = sources.flatMap((path) => {
      const text = readFileSync(path, 'utf8')
      const cited = [...text.matchAll(/\bcontract ((?:\d+(?:\.\d+)?(?:, )?)+)/gi)].flatMap(([, list = '']) =>
        list.match(/[\d.]+/g),
      )
      const missing = cited.filter((number) => !sections.has(String(number)))
      const foreign = path.endsWith('readers.test.ts') ? [] : linesWith(text)
      return [...missing, ...foreign].map((place) => [path, place])
    })
    expect(found).toEqual([])
    expect(sections.size).toBeGreaterThan(20)
  })
})

describe('what users read names no section of a document that they do not have', () => {
  it('openapi.json', () => {
    expect(linesWith(JSON.stringify(openapi, null, 1))).toEqual([])
  })

  it.each([
    'schema.graphql',
    'docs',
    'README.md',
    'SECURITY.md',
    'CHANGELOG.md',
    '.env.example',
    'examples',
    'ops',
    'sdk',
    'src/client',
    'src/sdk',
  ])('%s', (place) => {
    const found = filesOf(place).flatMap((path) => linesWith(readFileSync(path, 'utf8')).map((line) => [path, line]))
    expect(found).toEqual([])
  })

  it.each(['src', 'console/src'])('the texts of %s: errors, descriptions, logs and the command line', (place) => {
    const sources = filesOf(place).filter((path) => /\.tsx?$/.test(path))
    const found = sources.flatMap((path) =>
      linesWith(withoutComments(readFileSync(path, 'utf8'))).map((line) => [path, line]),
    )
    expect(found).toEqual([])
    expect(sources.length).toBeGreaterThan(20)
  })
})
