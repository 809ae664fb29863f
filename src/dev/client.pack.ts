import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// `npm run build` makes dist/client a package that a game can copy, and copies it to sdk/js, the workspace from which
// `tierway-client` is packed.
const folder = fileURLToPath(new URL('../client/', import.meta.url))
const workspace = fileURLToPath(new URL('../../sdk/js/', import.meta.url))

const { files: _, ...manifest } = JSON.parse(
  readFileSync(`${workspace}package.json`, 'utf8').replaceAll('./dist/', './'),
)
writeFileSync(`${folder}package.json`, `${JSON.stringify(manifest, null, 2)}\n`)
writeFileSync(`${folder}cjs/package.json`, '{ "type": "commonjs" }\n')

rmSync(`${workspace}dist`, { recursive: true, force: true })
cpSync(folder, `${workspace}dist`, { recursive: true, filter: (path) => !path.endsWith('.map') })
