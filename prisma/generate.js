import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

// `prisma generate`, which has no silent mode: its output is printed only when it fails. A start builds first, and shows
// nothing but what concerns the service.

const cli = fileURLToPath(import.meta.resolve('prisma/build/index.js'))
const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'generate', '--no-hints'], { encoding: 'utf8' })
if (status !== 0) {
  process.stderr.write(`${stdout}${stderr}`)
  process.exitCode = 1
}
