import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { endWithTests } from './children.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The built `npx tierway`. Files that start it call `buildService` first. */
export interface CommandLine {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  readonly output: { out: string; error: string }
  /** The code with which it ended, or the signal. */
  readonly exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>
}

export function startCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  root = ROOT,
): CommandLine {
  const child = spawn(process.execPath, ['dist/cli.js', ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithTests(child)
  const output = { out: '', error: '' }
  child.stdout.on('data', (chunk) => {
    output.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.error += chunk
  })
  return { child, output, exited: once(child, 'close') as CommandLine['exited'] }
}
