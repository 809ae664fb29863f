import { posix } from 'node:path'

// What an installation of `tierway` has, by the lockfile of the repository.

interface Locked {
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}
interface Lockfile {
  readonly version: string
  readonly packages: Readonly<Record<string, Locked>>
}

/** The packages of an installation, by their folders. */
export type Production = ReadonlyMap<string, Locked & { readonly optional?: true }>

/**
 * Follows the dependencies from the root, or from the folder of a package. npm's own marks do not say it: a package that
 * only an optional peer needs, such as Prisma's command line, has the same mark as one that an optional dependency needs.
 */
export function productionOf({ packages }: Lockfile, root = ''): Production {
  const found = new Map<string, Locked & { optional?: true }>()
  function walk(folder: string, isOptional: boolean): void {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[folder] ?? {}
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta?.[name]?.optional)
    const needed = [...Object.keys(dependencies ?? {}), ...peers].filter((name) => !optionalDependencies?.[name])
    for (const name of needed) visit(folder, name, isOptional)
    for (const name of Object.keys(optionalDependencies ?? {})) visit(folder, name, true)
  }
  function visit(from: string, name: string, isOptional: boolean): void {
    const folder = resolve(packages, from, name)
    if (folder === undefined) {
      if (isOptional) return
      throw new Error(`package-lock.json has no ${name}, which ${from || 'package.json'} needs`)
    }
    const known = found.get(folder)
    if (known && (isOptional || !known.optional)) return
    const { dev: _, devOptional: __, optional: ___, peer: ____, ...entry } = packages[folder] as Locked & Marks
    found.set(folder, isOptional ? { ...entry, optional: true } : entry)
    walk(folder, isOptional)
  }
  walk(root, false)
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

type Marks = Partial<Record<'dev' | 'devOptional' | 'optional' | 'peer', true>>

/** Where Node finds a package: in the folder's own node_modules, or in that of a folder above. */
function resolve(packages: Lockfile['packages'], from: string, name: string): string | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(folder.lastIndexOf('node_modules/') - 1, 0))) {
    const own = posix.join(folder, 'node_modules', name)
    if (packages[own]) return own
    if (folder === '') return undefined
  }
}

/** The packages of an installation with their licenses, and those in the files of the console. */
export function licensesOf(version: string, production: Production, consolePage: string): string {
  const rows = [...production].map(([folder, { version, license }]) => {
    if (!license) throw new Error(`package-lock.json has no license of ${folder}`)
    return `| ${folder.split('node_modules/').at(-1)} | ${version} | ${license} |`
  })
  const table = ['| package | version | license |', '|---|---|---|', ...new Set(rows)].join('\n')
  const [, ...ofConsole] = consolePage.split('\n\n')
  return (
    `# Licenses of Tierway ${version}\n\nTierway itself is under the MIT license.\n\n` +
    `## Packages that an installation brings\n\n${table}\n\n# Packages in the console\n\n${ofConsole.join('\n\n')}`
  )
}
