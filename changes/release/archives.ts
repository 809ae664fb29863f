import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { zipSync } from 'fflate'
import { run } from './run.ts'

// These archives have what the commit has, and no file that lies beside it.

export const MODULE = 'github.com/tierway/tierway/sdk/go'

/**
 * The module as Go itself packs it: with the license of the repository, and without entries of folders, which Git's
 * archives have. Else its checksum would not be that of the tag.
 */
export function packGo(copy: string, version: string, to: string): void {
  const zip = join(to, `tierway-go-${version}.zip`)
  const names = run(copy, 'git', 'ls-tree', '-r', '--name-only', 'HEAD:sdk/go').split('\n')
  const paths = [['LICENSE', 'LICENSE'] as const, ...names.map((name) => [name, `sdk/go/${name}`] as const)]
  const entries = paths.map(([name, path]) => [`${MODULE}@v${version}/${name}`, readFileSync(join(copy, path))])
  // The oldest time of the format: the same commit gives the same bytes.
  writeFileSync(zip, zipSync(Object.fromEntries(entries), { mtime: '1980-01-02' }))
  // The files of https://go.dev/ref/mod#goproxy-protocol.
  const proxy = mkdtempSync(join(tmpdir(), 'tierway-goproxy-'))
  try {
    const files = {
      list: `v${version}\n`,
      [`v${version}.info`]: JSON.stringify({ Version: `v${version}`, Time: commitTime(copy) }),
      [`v${version}.mod`]: `${run(copy, 'git', 'show', 'HEAD:sdk/go/go.mod')}\n`,
    }
    for (const [name, text] of Object.entries(files)) {
      const file = join(proxy, MODULE, '@v', name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    copyFileSync(zip, join(proxy, MODULE, '@v', `v${version}.zip`))
    run(proxy, 'tar', '-czf', join(to, `tierway-go-proxy-${version}.tgz`), 'github.com')
  } finally {
    rmSync(proxy, { recursive: true })
  }
}

const commitTime = (copy: string) => new Date(run(copy, 'git', 'show', '-s', '--format=%cI')).toISOString()

/** The package for Unity, which takes the form of npm's packages. */
export function packUnity(copy: string, version: string, to: string): void {
  const file = join(to, `com.tierway.client-${version}.tgz`)
  run(copy, 'git', 'archive', '--format=tar.gz', '-o', file, '--prefix=package/', 'HEAD:sdk/unity', '.', ':!Tests~')
}

/** The Helm chart, which `helm package` would give the name of the npm package. */
export function packChart(copy: string, version: string, to: string): void {
  const file = join(to, `tierway-chart-${version}.tgz`)
  run(copy, 'git', 'archive', '--format=tar.gz', '-o', file, '--prefix=tierway/', 'HEAD:ops/helm/tierway')
}
