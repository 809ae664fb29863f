import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

// Imports go one way: a file imports only from its own level and the levels below.

/** From the bottom up: a file imports from its own level and those below. */
const LEVELS = {
  /** Studios and games run these files, too: they import nothing else of the service. */
  sdk: /^(sdk|client)\//,
  ground: /^(errors|json|version)\.ts$|^(request|rate-limits)\//,
  engine: /^(transactions|db|events)\/(?!open\.ts|graphql)|^dev\/embedded[a-z-]*\.ts$/,
  features:
    /^(audit|auth|battlepass|catalogue|insight|listing|liveops|players|projects|providers|scenario|wallet)\/(?!rest\.ts|graphql|key-ring\.ts)/,
  startUp: /^(config|app\/(log|metrics)|db\/open|auth\/key-ring)\.ts$/,
  service: /^app\/service\.ts$/,
  mechanics: /^http\/(?!health\.ts)|^graphql\/(?!yoga\.ts)/,
  edges: /^(?!http\/)[a-z]+\/(rest|graphql)(-[a-z]+)*\.ts$/,
  contents: /^(routes|schema|dev\/client-contract)\.ts$|^openapi\//,
  surfaces: /^(http\/health|graphql\/yoga)\.ts$|^live\//,
  app: /^app\/(?!log|metrics|service|serve)[a-z-]+\.ts$/,
  development:
    /^dev\/(season|seed(-[a-z]+)?|progress-bar|demo-operator|console-link|development-players|adjust-wallet|copy)\.ts$/,
  serve: /^app\/serve\.ts$/,
  entries: /^(server|cli|dev\/(demo|schema\.print|docs\.copy|client\.pack))\.ts$/,
} as const

type Level = keyof typeof LEVELS
const ORDER = Object.keys(LEVELS) as Level[]

/** Files that may read the environment: the entries, which pass it to `readConfig`, and two without a configuration. */
const READS_ENVIRONMENT = [
  'cli.ts',
  'dev/demo.ts',
  'server.ts',
  // The embedded Postgres inherits PATH and others.
  'dev/embedded-server.ts',
  // The builder runs before the configuration is read; it is stricter in tests.
  'graphql/builder.ts',
]

const READS_GENERATED = ['db/prisma.ts', 'graphql/builder.ts']

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

/** Undefined when no level matches, or several do. */
function levelOf(file: string): Level | undefined {
  const levels = ORDER.filter((level) => LEVELS[level].test(file))
  return levels.length === 1 ? levels[0] : undefined
}

function heightOf(file: string): number {
  const level = levelOf(file)
  return level === undefined ? Number.NaN : ORDER.indexOf(level)
}

const folderOf = (file: string): string => dirname(file)
const isEdge = (file: string): boolean => levelOf(file) === 'edges'
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
    expect(imports.map(show)).toContain('app/app.ts imports routes.ts')
    expect(imports.map(show)).toContain('cli.ts imports app/serve.ts')
  })

  test('are each on exactly one level', () => {
    expect(files.filter((file) => levelOf(file) === undefined)).toEqual([])
  })

  test('import only from their own level and the levels below', () => {
    expect(ours.filter(({ from, to }) => heightOf(to) > heightOf(from)).map(show)).toEqual([])
  })

  test('do not import HTTP or GraphQL in operations', () => {
    const operations = ours.filter(({ from }) => ['features', 'service'].includes(levelOf(from) ?? ''))
    expect(operations.filter(({ to }) => /^(http|graphql)\//.test(to) || isEdge(to)).map(show)).toEqual([])
  })

  test('import rest.ts of a feature only in routes.ts, and its GraphQL types only in schema.ts and edges', () => {
    const edges = ours.filter(({ to }) => isEdge(to))
    const strangers = edges.filter(({ from, to }) => {
      if (to.endsWith('/rest.ts')) return from !== 'routes.ts'
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
      ({ from, to, typeOnly }) => !typeOnly && [from, to].every((file) => levelOf(file) === 'features'),
    )
    const between = calls.filter(({ from, to }) => folderOf(from) !== folderOf(to))
    expect(between.length).toBeGreaterThan(0)
    expect(findCircle(between.map(({ from, to }) => [folderOf(from), folderOf(to)]))).toBeUndefined()
  })

  test('import generated code only in db/prisma.ts and graphql/builder.ts', () => {
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
