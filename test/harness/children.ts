import type { ChildProcess } from 'node:child_process'

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Ends a process with the test run, so that a run that ends early leaves no process behind. */
export function endWithTests(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
}
