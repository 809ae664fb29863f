import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// `npm run site` makes the documentation site in artifacts/site; with --serve it also shows it. The first run installs
// VitePress in this folder.

const here = fileURLToPath(new URL('./', import.meta.url))
const run = (command, args) =>
  execFileSync(command, args, { cwd: here, stdio: 'inherit', shell: process.platform === 'win32' })
const vitepress = (command) => run('node', ['node_modules/vitepress/bin/vitepress.js', command])

if (!existsSync(new URL('node_modules/', import.meta.url))) run('npm', ['ci', '--ignore-scripts', '--silent'])
try {
  vitepress('build')
  if (process.argv.includes('--serve')) vitepress('preview')
} catch {
  process.exit(1)
}
