import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

// `npm run test:steady`: runs what `npm test` runs several times while other processes keep the processor busy. A test
// that fails here but not on a quiet machine depends on the time that something takes.
//
//   npm run test:steady                             three runs at a load of four
//   npm run test:steady -- --runs 10 test/events    ten runs of these files
//   npm run test:steady -- --load 0                 three runs on the machine as it is

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const { values: options, positionals: files } = parseArgs({
  options: {
    runs: { type: 'string', default: '3' },
    load: { type: 'string', default: '4' },
  },
  allowPositionals: true,
})

/** Ends with its parent, also when the parent is killed. */
const BUSY =
  'process.on("disconnect", () => process.exit()); setInterval(() => { for (const end = Date.now() + 90; Date.now() < end; ); }, 100)'

const load: ChildProcess[] = Array.from({ length: Number(options.load) }, () =>
  spawn(process.execPath, ['-e', BUSY], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
)
const failed: number[] = []
const runs = Number(options.runs)
try {
  for (let run = 1; run <= runs; run += 1) {
    console.log(`\n== run ${run} of ${runs}, beside ${load.length} busy processes`)
    const args = files.length > 0 ? files : ['--config', 'vitest.guarantees.config.ts']
    const suite = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
      cwd: ROOT,
      stdio: 'inherit',
    })
    const code = await new Promise((resolve) => suite.once('close', resolve))
    if (code !== 0) failed.push(run)
  }
} finally {
  for (const child of load) child.kill()
}
console.log(
  `\n${runs - failed.length} of ${runs} runs passed${failed.length > 0 ? `; run ${failed.join(', ')} failed` : ''}`,
)
process.exitCode = failed.length > 0 ? 1 : 0
