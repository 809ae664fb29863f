import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MODULE } from './archives.ts'
import { answers, run } from './run.ts'

/** What each package of npm may need at its reader's. `tierway` has more. */
const DEPENDENCIES: Readonly<Record<string, readonly string[]>> = { 'tierway-client': [], 'tierway-server': ['jose'] }
/** Sources, tests and tools of the repository, which no reader needs. */
const OF_THE_REPOSITORY = /^package\/((src|test|bench|Tests~)\/|dist\/(\.|.*(\.map|\.(copy|pack|print)\.js)$))/

/** Reads the files of a release as their readers will. Throws at the first that is not as it should be. */
export function checkFiles(folder: string, version: string): void {
  for (const name of ['tierway', 'tierway-client', 'tierway-server', 'com.tierway.client'])
    checkPackage(join(folder, `${name}-${version}.tgz`), name, version)
  checkChart(join(folder, `tierway-chart-${version}.tgz`), version)
  if (answers('go', 'version')) checkModule(join(folder, `tierway-go-proxy-${version}.tgz`), version)
}

function checkPackage(file: string, name: string, version: string): void {
  const manifest = JSON.parse(run('.', 'tar', '-xzOf', file, 'package/package.json'))
  demand(manifest.name === name && manifest.version === version, `${file} is ${manifest.name} ${manifest.version}`)
  demand(!manifest.scripts && !manifest.devDependencies, `${file} has scripts or packages for development`)
  const needed = DEPENDENCIES[name]
  demand(!needed || Object.keys(manifest.dependencies ?? {}).join() === needed.join(), `${file} has other dependencies`)
  const stray = namesIn(file).filter((path) => OF_THE_REPOSITORY.test(path))
  demand(stray.length === 0, `${file} has files of the repository: ${stray.slice(0, 5).join(', ')}`)
  demand(
    namesIn(file).some((path) => /^package\/LICENSE/.test(path)),
    `${file} has no license`,
  )
}

function checkChart(file: string, version: string): void {
  const about = run('.', 'tar', '-xzOf', file, 'tierway/Chart.yaml')
  demand(about.includes(`\nversion: ${version}\nappVersion: "${version}"`), `${file} has another version`)
  if (answers('helm', 'version')) run('.', 'helm', 'lint', file, '--set', 'existingSecret=tierway')
}

/** Go itself refuses a module of another form. */
function checkModule(file: string, version: string): void {
  const proxy = mkdtempSync(join(tmpdir(), 'tierway-goproxy-'))
  const settings = [`GOPROXY=file://${proxy}`, 'GONOSUMDB=*', 'GOTOOLCHAIN=local', `GOMODCACHE=${proxy}/cache`]
  try {
    run(proxy, 'tar', '-xzf', file)
    run(proxy, 'env', ...settings, 'GOFLAGS=-modcacherw', 'go', 'mod', 'download', `${MODULE}@v${version}`)
  } finally {
    rmSync(proxy, { recursive: true })
  }
}

const namesIn = (file: string) => run('.', 'tar', '-tzf', file).split('\n')

function demand(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise)
}

/** Writes SHA256SUMS, which `sha256sum --check` reads. */
export function writeSums(folder: string): void {
  const sumOf = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  const lines = readdirSync(folder)
    .sort()
    .map((name) => `${sumOf(name)}  ${name}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''))
}
