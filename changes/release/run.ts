import { spawnSync } from 'node:child_process'

/** Runs a program in a folder. Returns what it prints. Throws with all of its output when it fails. */
export function run(folder: string, program: string, ...args: string[]): string {
  const options = { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 } as const
  const { status, stdout, stderr, error } = spawnSync(program, args, options)
  if (status !== 0)
    throw new Error(`this command failed: ${program} ${args.join(' ')}\n${stdout}${stderr}${error?.message ?? ''}`)
  return stdout.trim()
}

/** Whether the system has a program, and it answers these arguments. */
export const answers = (program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore' }).status === 0
