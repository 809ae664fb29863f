import { readFileSync, writeFileSync } from 'node:fs'

/** Replaces what a pattern finds in a file. Throws when it finds nothing, so that no file is forgotten. */
export function edit(file: string, place: RegExp, by: string): void {
  const text = readFileSync(file, 'utf8')
  if (text.search(place) < 0) throw new Error(`${file} has nothing that matches ${place}`)
  writeFileSync(
    file,
    text.replace(place, () => by),
  )
}

// biome-ignore lint/suspicious/noExplicitAny: manifests and lockfiles have members of every shape.
export const readJson = (file: string): any => JSON.parse(readFileSync(file, 'utf8'))
export const writeJson = (file: string, value: unknown): void =>
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
