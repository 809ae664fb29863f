import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// `npm run check` for schema.graphql. The first run installs graphql-eslint in this folder.

const run = (command, args, cwd) =>
  execFileSync(command, args, { cwd: fileURLToPath(cwd), stdio: 'inherit', shell: process.platform === 'win32' })
const here = new URL('./', import.meta.url)

if (!existsSync(new URL('node_modules/', here))) run('npm', ['ci', '--ignore-scripts', '--silent'], here)
try {
  run(
    'node',
    ['lint/node_modules/eslint/bin/eslint.js', '-c', 'lint/eslint.config.js', 'schema.graphql'],
    new URL('../', here),
  )
} catch {
  process.exit(1)
}
