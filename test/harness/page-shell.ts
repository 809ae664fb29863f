import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Game } from './game.ts'
import { buildService } from './service.ts'

/** Runs the built command line with the arguments that follow. */
export const COMMAND_LINE = `'${process.execPath}' '${fileURLToPath(new URL('../../dist/cli.js', import.meta.url))}'`

/** A folder in which a reader runs the commands of a page. */
export interface PageShell {
  readonly home: string
  /** Runs commands of a page verbatim. Resolves with their output, and fails with the first command that fails. */
  run(commands: string, env?: Readonly<Record<string, string>>): Promise<string>
  close(): Promise<void>
}

export interface PageShellOptions {
  /** The service whose demo.json is in the folder. */
  readonly demo?: Pick<Game, 'baseUrl' | 'projectId' | 'environmentId' | 'platformKey' | 'sdkKey'>
  /** Shell scripts that replace programs, by the name of the program. */
  readonly programs?: Readonly<Record<string, string>>
}

export async function startPageShell({ demo, programs }: PageShellOptions): Promise<PageShell> {
  await buildService()
  const home = await mkdtemp(join(tmpdir(), 'tierway-page-'))
  if (demo) {
    const { baseUrl, projectId, environmentId, platformKey, sdkKey } = demo
    await mkdir(join(home, '.tierway'))
    const kept = { baseUrl, projectId, environmentId, platformKey, sdkKey }
    await writeFile(join(home, '.tierway/demo.json'), JSON.stringify(kept))
  }
  // In a checkout npx finds the command line by the folder.
  const scripts = { npx: `shift\nexec ${COMMAND_LINE} "$@"`, ...programs }
  const bin = join(home, 'bin')
  await mkdir(bin)
  for (const [name, script] of Object.entries(scripts))
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const path = [bin, process.env.PATH].join(delimiter)

  return {
    home,
    async run(commands, env = {}) {
      const shell = spawn('sh', ['-eu'], {
        cwd: home,
        env: { ...process.env, ...env, PATH: path },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      shell.stdin.end(commands)
      const [printed, [status]] = await Promise.all([text(shell.stdout), once(shell, 'close')])
      if (status !== 0) throw new Error(`The commands ended with ${status}, after:\n${printed}`)
      return printed
    },
    close: () => rm(home, { recursive: true, force: true }),
  }
}
