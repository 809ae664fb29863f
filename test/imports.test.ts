import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

// Imports go one way. The folder of a file says what it may import.

/**
 * The folders of src/ from the bottom up, those of one row side by side: a file imports from its own row and those below.
 * Files of features that are `rest*.ts` or `graphql*.ts` are edges.
 */
const ORDER = {
  sdk: ['sdk', 'client'],
  base: ['base'],
  db: ['db'],
  transactions: ['transactions'],
  declare: ['declare', 'callers'],
  features: [
    ...[
      'alerts',
      'audit',
      'battlepass',
      'boosts',
      'calendar',
      'catalogue',
      'events',
      'figures',
      'grants',
      'id-tokens',
      'inbox',
      'listing',
      'login',
      'operators',
      'players',
      'problems',
      'projects',
      'providers',
      'roles',
    ],
    ...['scenario', 'shared-views', 'single-sign-on', 'support', 'wallet', 'webhook'],
  ],
  edges: [],
  contents: ['operator-calls.ts', 'routes.ts', 'schema.ts'],
  serve: ['serve'],
  dev: ['dev'],
  app: ['app'],
  entries: ['cli.ts', 'server.ts'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type Row = keyof typeof ORDER
const ROWS = Object.keys(ORDER) as Row[]

/** What every call gets: types of nearly all features, as types alone. */
const TYPES_FROM_ABOVE = [/ imports app\/service\.ts$/, /^declare\/graphql\/context\.ts imports /]

/** Files that may read the environment: the entries, which pass it to `readConfig`, and two without a configuration. */
const READS_ENVIRONMENT = [
  'cli.ts',
  'dev/demo.ts',
  'server.ts',
  // The embedded Postgres inherits PATH and others.
  'db/embedded-server.ts',
  // The builder runs before the configuration is read; it is stricter in tests.
  'declare/graphql/builder.ts',
]

const READS_GENERATED = ['db/prisma.ts', 'declare/graphql/builder.ts']

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url))
const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts') && !path.startsWith('db/generated/'))
  .sort()
const texts = new Map(files.map((file) => [file, readFileSync(join(SOURCE, file), 'utf8')]))
const imports = files.flatMap((file) => importsOf(file, texts.get(file) ?? ''))
const ours = imports.filter(({ to }) => texts.has(to))

/** The relative imports of a file. Biome's format makes them easy to find: at the start of a line, in single quotes. */
function importsOf(from: string, text: string): Import[] {
  const statements = text.matchAll(/^(?:import|export)\s(?:([^'"`;=]*?)\sfrom\s)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)
  return [...statements].map(([, names = '', target, loaded]) => ({
    from,
    to: posix.join(dirname(from), target ?? loaded ?? ''),
    typeOnly: names.startsWith('type ') || /^\{(\s*type [^,}]+,?)+\s*\}$/.test(names),
  }))
}

const isEdgeName = (file: string): boolean => /\/(rest|graphql)(-[a-z]+)*\.ts$/.test(file)

/** Undefined when the folder is in no row. */
function rowOf(file: string): Row | undefined {
  const [top = ''] = file.split('/')
  const row = ROWS.find((one) => (ORDER[one] as readonly string[]).includes(top))
  return row === 'features' && isEdgeName(file) ? 'edges' : row
}

function heightOf(file: string): number {
  const row = rowOf(file)
  return row === undefined ? Number.NaN : ROWS.indexOf(row)
}

/** The folder of a feature; its own folders belong to it. */
const folderOf = (file: string): string => file.split('/')[0] ?? ''
const isEdge = (file: string): boolean => rowOf(file) === 'edges'
const show = ({ from, to }: Import): string => `${from} imports ${to}`

/** The nodes of the first cycle, or undefined. */
function findCircle(edges: readonly (readonly [from: string, to: string])[]): string[] | undefined {
  const next = new Map<string, Set<string>>()
  for (const [from, to] of edges) next.set(from, (next.get(from) ?? new Set()).add(to))
  const done = new Set<string>()
  function walk(node: string, way: readonly string[]): string[] | undefined {
    if (way.includes(node)) return [...way.slice(way.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const to of next.get(node) ?? []) {
      const circle = walk(to, [...way, node])
      if (circle) return circle
    }
    done.add(node)
    return undefined
  }
  for (const node of next.keys()) {
    const circle = walk(node, [])
    if (circle) return circle
  }
  return undefined
}

describe('the files of src/', () => {
  test('have relative imports that this test finds and that lead to a file', () => {
    for (const [file, text] of texts) {
      const mentioned = text.match(/(?<=\bfrom |\bimport |\bimport\()'\.[^'\n]+'/g) ?? []
      expect(importsOf(file, text).length, file).toBe(mentioned.length)
    }
    expect(imports.filter(({ to }) => !texts.has(to) && !to.startsWith('db/generated/')).map(show)).toEqual([])
    expect(imports.map(show)).toContain('app/open-servers.ts imports routes.ts')
    expect(imports.map(show)).toContain('cli.ts imports app/serve.ts')
  })

  test('are each in a folder with a place in the order', () => {
    expect(files.filter((file) => rowOf(file) === undefined)).toEqual([])
  })

  test('import only from their own row of folders and the rows below', () => {
    const upward = ours.filter(({ from, to }) => heightOf(to) > heightOf(from))
    const free = (one: Import) => one.typeOnly && TYPES_FROM_ABOVE.some((form) => form.test(show(one)))
    expect(upward.filter((one) => !free(one)).map(show)).toEqual([])
  })

  test('do not import HTTP or GraphQL in operations', () => {
    const operations = ours.filter(({ from }) => rowOf(from) === 'features')
    const isOfAnEdge = (file: string) => /^declare\/(graphql\/|route|request|respond)/.test(file) || isEdge(file)
    expect(operations.filter(({ to }) => isOfAnEdge(to)).map(show)).toEqual([])
  })

  test('import rest.ts of a feature only in routes.ts, and its GraphQL types only in schema.ts and edges', () => {
    const edges = ours.filter(({ to }) => isEdge(to))
    const strangers = edges.filter(({ from, to }) => {
      if (/\/rest(-[a-z]+)*\.ts$/.test(to)) return from !== 'routes.ts'
      return from !== 'schema.ts' && !isEdge(from)
    })
    expect(strangers.map(show)).toEqual([])
  })

  test('have no cycle of imports, types included', () => {
    expect(findCircle(ours.map(({ from, to }) => [from, to]))).toBeUndefined()
  })

  test('have no cycle of imports between the folders of features, types aside', () => {
    // An import of a type, such as a reward's, is no call.
    const calls = ours.filter(
      ({ from, to, typeOnly }) => !typeOnly && [from, to].every((file) => rowOf(file) === 'features'),
    )
    const between = calls.filter(({ from, to }) => folderOf(from) !== folderOf(to))
    expect(between.length).toBeGreaterThan(0)
    expect(findCircle(between.map(({ from, to }) => [folderOf(from), folderOf(to)]))).toBeUndefined()
  })

  test('import generated code only in db/prisma.ts and declare/graphql/builder.ts', () => {
    const users = imports.filter(({ to }) => to.startsWith('db/generated/')).map(({ from }) => from)
    expect([...new Set(users)].sort()).toEqual(READS_GENERATED)
  })

  test('read the environment only in the entries and two listed files', () => {
    const readers = files.filter((file) =>
      /\bprocess\s*\.\s*env\b|\benv\b[^;]*from 'node:process'/.test(texts.get(file) ?? ''),
    )
    expect(readers.filter((file) => !READS_ENVIRONMENT.includes(file))).toEqual([])
  })
})
