import { readFileSync } from 'node:fs'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

/** The version of this build, from `package.json`. */
export const { version: VERSION } = JSON.parse(read('../../package.json')) as { readonly version: string }

/** The commit of this build, as `build.js` wrote it. Empty where it is not known. */
export const COMMIT = commit()

function commit(): string {
  try {
    return read('../commit.txt')
  } catch {
    return ''
  }
}
