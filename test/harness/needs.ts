import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of the first of these programs that the system has. */
export function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}

/**
 * Why tests that need these programs cannot run here, as the beginning of their titles; an empty text when they can.
 * `skipped.ts` reads it.
 */
export function without(...programs: readonly string[]): string {
  const missing = programs.filter((program) => findProgram([program]) === undefined)
  if (missing.length === 0) return ''
  return `SKIPPED, ${missing.join(' and ')} ${missing.length === 1 ? 'is' : 'are'} not installed: `
}
