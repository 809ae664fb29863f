import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { changeFiles, readChangeFile, unreleasedIn } from './changelog.ts'
import { readJson } from './edit.ts'
import { run } from './run.ts'

/** The tags of a release. Go looks for the second one, since the module is in the folder sdk/go. */
export const tagsOf = (version: string): string[] => [`v${version}`, `sdk/go/v${version}`]

/** Everything that stands against a release, each in a sentence. */
export function findFaults(root: string, version: string): string[] {
  const present: string = readJson(join(root, 'package.json')).version
  const isGreater = compare(version, present) > 0
  return [
    ...dirtyFaults(root),
    ...(isGreater ? [] : [`${version} is not greater than ${present}, the version in package.json.`]),
    ...tagsOf(version)
      .filter((tag) => run(root, 'git', 'tag', '--list', tag) !== '')
      .map((tag) => `The tag ${tag} exists.`),
    ...changeFaults(root),
  ]
}

/** What stands against making the files of a release that is tagged. */
export function findTaggedFaults(root: string, version: string): string[] {
  const present: string = readJson(join(root, 'package.json')).version
  const [tag = ''] = tagsOf(version)
  const isTagged = run(root, 'git', 'tag', '--points-at', 'HEAD').split('\n').includes(tag)
  return [
    ...dirtyFaults(root),
    ...(present === version ? [] : [`The version in package.json is ${present}, not ${version}.`]),
    ...(isTagged ? [] : [`The present commit does not have the tag ${tag}.`]),
  ]
}

function dirtyFaults(root: string): string[] {
  const changed = run(root, 'git', 'status', '--porcelain').split('\n').filter(Boolean)
  if (changed.length === 0) return []
  const names = changed.slice(0, 5).map((line) => line.replace(/^\s*\S+\s+/, ''))
  const more = changed.length > names.length ? ` and ${changed.length - names.length} more` : ''
  return [`The tree has changes that are not committed: ${names.join(', ')}${more}.`]
}

function changeFaults(root: string): string[] {
  const names = changeFiles(root)
  const hasText = unreleasedIn(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) !== undefined
  if (names.length === 0 && !hasText) return ['There is nothing to release: changes/ has no entry.']
  return names.flatMap((name) => {
    try {
      readChangeFile(root, name)
      return []
    } catch (error) {
      return [`${(error as Error).message}.`]
    }
  })
}

function compare(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number))
  const at = a?.findIndex((part, index) => part !== b?.[index]) ?? -1
  return at < 0 ? 0 : Number(a?.[at]) - Number(b?.[at])
}
