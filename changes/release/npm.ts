import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readJson, writeJson } from './edit.ts'
import { licensesOf, productionOf } from './production.ts'
import { run } from './run.ts'

/** What the repository needs and an installed package does not. `prepare` would build in the reader's folder. */
const OF_THE_REPOSITORY = ['scripts', 'devDependencies', 'workspaces', 'allowScripts', 'scarfSettings']
/**
 * Packed with the packages that they need: `overrides` do not reach who installs `tierway`, and npm would give these two
 * other versions, some of which refuse Node 20. npm-shrinkwrap.json would not help: npm reads that of a package from a
 * registry alone, and not that of a file.
 */
const BUNDLED = ['graphql-yoga', '@graphql-yoga/render-graphiql']

/** Packs a package in a folder. Scripts would build again. */
export function packNpm(folder: string, to: string): void {
  run(folder, 'npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', to)
}

/** Makes package.json and the lockfile of a built copy those of an installation. */
export function preparePackage(copy: string): void {
  const manifest = readJson(join(copy, 'package.json'))
  for (const name of OF_THE_REPOSITORY) delete manifest[name]
  writeJson(join(copy, 'package.json'), manifest)
  const lock = readJson(join(copy, 'package-lock.json'))
  lock.packages = { '': manifest, ...Object.fromEntries(productionOf(lock)) }
  writeJson(join(copy, 'package-lock.json'), lock)
}

/** The bill of materials and the licenses of a prepared package. */
export function describePackage(copy: string, version: string, to: string): void {
  const bill = run(copy, 'npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only')
  writeFileSync(join(to, `tierway-${version}.cdx.json`), `${bill}\n`)
  const ofConsole = readFileSync(join(copy, 'dist/console/licenses.md'), 'utf8')
  const page = licensesOf(version, productionOf(readJson(join(copy, 'package-lock.json'))), ofConsole)
  writeFileSync(join(to, `tierway-${version}-licenses.md`), page)
}

/** Packs the prepared `tierway`, with packages that the repository has installed. */
export function packService(root: string, copy: string, to: string): void {
  writeJson(join(copy, 'package.json'), { ...readJson(join(copy, 'package.json')), bundleDependencies: BUNDLED })
  // npm packs nothing that lies behind a link.
  rmSync(join(copy, 'node_modules'))
  const lock = readJson(join(copy, 'package-lock.json'))
  for (const name of BUNDLED) {
    const own = join('node_modules', name)
    for (const folder of [own, ...productionOf(lock, own).keys()]) {
      const { version } = readJson(join(root, folder, 'package.json'))
      if (version !== lock.packages[folder].version)
        throw new Error(
          `${folder} is ${version}, and ${lock.packages[folder].version} in the lockfile: run npm ci first`,
        )
      cpSync(join(root, folder), join(copy, folder), { recursive: true })
    }
  }
  packNpm(copy, to)
}
