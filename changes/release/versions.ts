import { join } from 'node:path'
import { edit, readJson, writeJson } from './edit.ts'

const MANIFESTS = ['package.json', 'sdk/js/package.json', 'sdk/server/package.json', 'sdk/unity/package.json']
/** Pages that say how a file of the last release is installed. */
const PAGES = [
  'docs/client.md',
  'docs/server.md',
  'docs/webhook.md',
  'docs/operations.md',
  'sdk/js/README.md',
  'sdk/server/README.md',
  'sdk/unity/README.md',
  'sdk/go/README.md',
]
/** A version that stands in an address of a release, in the name of its file, or after its chart, tag or Go module. */
const INSTALLED =
  /(?<=releases\/download\/v|\btierway[a-z-]*-|com\.tierway\.client-|tierway:|#v|--version |sdk\/go@v)\d+\.\d+\.\d+/g

/** Writes the version everywhere it stands. The OpenAPI document reads it from package.json, and Go from the tag. */
export function writeVersion(root: string, version: string): void {
  for (const file of MANIFESTS) edit(join(root, file), /(?<=^ {2}"version": ")[^"]+/m, version)
  const chart = join(root, 'ops/helm/tierway/Chart.yaml')
  edit(chart, /(?<=^version: ).+/m, version)
  edit(chart, /(?<=^appVersion: ").+(?=")/m, version)
  for (const page of PAGES) edit(join(root, page), INSTALLED, version)
  const lockfile = join(root, 'package-lock.json')
  const lock = readJson(lockfile)
  for (const one of [lock, ...['', 'sdk/js', 'sdk/server'].map((path) => lock.packages[path])]) one.version = version
  writeJson(lockfile, lock)
}
