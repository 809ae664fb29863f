import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// `npm run release -- 0.2.0` moves the entries of this folder into CHANGELOG.md and sets the version.

/** The kinds of changes, in the order of CHANGELOG.md. */
export const KINDS = ['Upgrade', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const
type Kind = (typeof KINDS)[number]

export interface Change {
  readonly kind: Kind
  /** Items of a list in Markdown. */
  readonly items: string
}

const ROOT = fileURLToPath(new URL('../', import.meta.url))
/** The files with the version of a release, which each has once beside `"version": `. */
const VERSIONED = ['package.json', 'sdk/js/package.json', 'sdk/server/package.json', 'sdk/unity/package.json']

/** The entry of a file. Throws when it has another form. */
export function readChange(name: string, text: string): Change {
  const [, first = '', items = ''] = /^([^\n]*)\n\n(- [\s\S]*?)\n*$/.exec(text) ?? []
  const kind = KINDS.find((known) => known === first)
  if (!kind) throw new Error(`changes/${name} must be one of ${KINDS.join(', ')}, a blank line, and items of a list`)
  return { kind, items }
}

/** The files with entries, by name. */
export const changeFiles = (folder: string = join(ROOT, 'changes')): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()

/** The section of a release. */
export function sectionOf(version: string, day: string, changes: readonly Change[]): string {
  const parts = KINDS.flatMap((kind) => {
    const items = changes.filter((change) => change.kind === kind).map((change) => change.items)
    return items.length > 0 ? [`### ${kind}\n\n${items.join('\n')}\n`] : []
  })
  return `## [${version}] - ${day}\n\n${parts.join('\n')}\n`
}

function release(version: string): void {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('usage: npm run release -- <version>, such as 0.2.0')
  const names = changeFiles()
  const changes = names.map((name) => readChange(name, readFileSync(join(ROOT, 'changes', name), 'utf8')))
  if (changes.length === 0) throw new Error('there are no changes to release')
  edit('CHANGELOG.md', /^(?=## \[)/m, sectionOf(version, new Date().toISOString().slice(0, 10), changes))
  for (const file of VERSIONED) edit(file, /(?<=^ {2}"version": ")[^"]+/m, version)
  for (const name of names) rmSync(join(ROOT, 'changes', name))
  console.log(
    `${names.length} entries are in CHANGELOG.md under ${version}. Next: npm install --package-lock-only, tag.`,
  )
}

function edit(file: string, place: RegExp, by: string): void {
  const text = readFileSync(join(ROOT, file), 'utf8')
  if (!place.test(text)) throw new Error(`${file} has no place for it`)
  writeFileSync(
    join(ROOT, file),
    text.replace(place, () => by),
  )
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) release(process.argv[2] ?? '')
