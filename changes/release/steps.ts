import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Step {
  readonly title: string
  readonly run: () => void
}

/** Runs steps one after another, each with a line of its own that ends with its time. */
export function runSteps(steps: readonly Step[]): void {
  for (const [index, { title, run }] of steps.entries()) {
    const begun = performance.now()
    process.stdout.write(`[${index + 1}/${steps.length}] ${title} … `)
    try {
      run()
    } catch (error) {
      process.stdout.write('failed\n')
      throw error
    }
    process.stdout.write(`${((performance.now() - begun) / 1_000).toFixed(1)} s\n`)
  }
}

/** The files of a folder with their sizes, one a line. */
export function listFiles(folder: string): string {
  const sizes = readdirSync(folder)
    .sort()
    .map((name) => [name, `${(statSync(join(folder, name)).size / 1_024).toFixed(0)} KB`] as const)
  const width = Math.max(...sizes.map(([name]) => name.length))
  return sizes.map(([name, size]) => `  ${name.padEnd(width)}  ${size.padStart(9)}\n`).join('')
}
