import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { edit } from './edit.ts'

/** The kinds of changes, in the order of CHANGELOG.md. */
export const KINDS = ['Upgrade', 'Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'] as const
type Kind = (typeof KINDS)[number]

export interface Change {
  readonly kind: Kind
  /** Items of a list in Markdown. */
  readonly items: string
}

/** The entry of a file. Throws when it has another form. */
export function readChange(name: string, text: string): Change {
  const [, first = '', items = ''] = /^([^\n]*)\n\n(- [\s\S]*?)\n*$/.exec(text) ?? []
  const kind = KINDS.find((known) => known === first)
  if (!kind) throw new Error(`changes/${name} must be one of ${KINDS.join(', ')}, a blank line, and items of a list`)
  return { kind, items }
}

/** The files with entries in a repository, by name. */
export const changeFiles = (root: string): string[] =>
  readdirSync(join(root, 'changes'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort()

export const readChangeFile = (root: string, name: string): Change =>
  readChange(name, readFileSync(join(root, 'changes', name), 'utf8'))

/** What CHANGELOG.md has under "Unreleased", such as an introduction: it begins the section of the next release. */
const UNRELEASED = /^## \[Unreleased\]\n\n([\s\S]*?)\n*(?=^## \[|(?![\s\S]))/m

export const unreleasedIn = (changelog: string): string | undefined => UNRELEASED.exec(changelog)?.[1]

/** The section of a release. */
export function sectionOf(version: string, day: string, changes: readonly Change[], begun?: string): string {
  const parts = KINDS.flatMap((kind) => {
    const items = changes.filter((change) => change.kind === kind).map((change) => change.items)
    return items.length > 0 ? [`### ${kind}\n\n${items.join('\n')}\n`] : []
  })
  if (begun !== undefined) parts.unshift(`${begun}\n`)
  return `## [${version}] - ${day}\n\n${parts.join('\n')}\n`
}

/** Moves the entries of changes/ into CHANGELOG.md. */
export function gatherChanges(root: string, version: string): void {
  const names = changeFiles(root)
  const changes = names.map((name) => readChangeFile(root, name))
  const changelog = join(root, 'CHANGELOG.md')
  const begun = unreleasedIn(readFileSync(changelog, 'utf8'))
  const section = sectionOf(version, new Date().toISOString().slice(0, 10), changes, begun)
  edit(changelog, begun === undefined ? /^(?=## \[)/m : UNRELEASED, section)
  for (const name of names) rmSync(join(root, 'changes', name))
}
