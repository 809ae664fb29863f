import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

// `npm run build` makes dist/client a package that a game can copy, and fills sdk/js and sdk/server, the workspaces from
// which `tierway-client` and `tierway-server` are packed.
const root = fileURLToPath(new URL('../../', import.meta.url))
const client = join(root, 'dist/client')

const { files: _, ...manifest } = JSON.parse(
  readFileSync(join(root, 'sdk/js/package.json'), 'utf8').replaceAll('./dist/', './'),
)
writeFileSync(join(client, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
writeFileSync(join(client, 'cjs/package.json'), '{ "type": "commonjs" }\n')

fill('sdk/js', { '.': client })
// The library for servers imports modules of that for games.
fill('sdk/server', { sdk: join(root, 'dist/sdk'), client }, /[/\\]client[/\\](cjs|package\.json)/)

/** Fills the folder `dist` of a workspace with these folders. */
function fill(workspace: string, folders: Readonly<Record<string, string>>, without?: RegExp): void {
  const dist = join(root, workspace, 'dist')
  rmSync(dist, { recursive: true, force: true })
  for (const [name, from] of Object.entries(folders))
    cpSync(from, join(dist, name), {
      recursive: true,
      filter: (path) => !path.endsWith('.map') && !without?.test(path),
    })
}
