import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

// Imports go one way. The levels say which files a file may import, and which may import it.

/** From the bottom up: a file imports from its own level and those below. */
const LEVELS = {
  /** What studios and games run, too: it rests on nothing of ours. */
  sdk: /^(sdk|client)\//,
  ground: /^(errors|json)\.ts$|^(request|rate-limits)\//,
  engine: /^(commit|db|events)\/(?!open\.ts|graphql)|^dev\/embedded[a-z-]*\.ts$/,
  features:
    /^(audit|auth|battlepass|catalogue|insight|listing|liveops|players|projects|providers|scenario|wallet)\/(?!rest\.ts|graphql|key-ring\.ts)/,
  startUp: /^(config|app\/(log|metrics)|db\/open|auth\/key-ring)\.ts$/,
  service: /^app\/service\.ts$/,
  mechanics: /^http\/(?!health\.ts)|^graphql\/(?!yoga\.ts|socket\.ts)/,
  edges: /^(?!http\/)[a-z]+\/(rest|graphql)(-[a-z]+)*\.ts$/,
  contents: /^(routes|schema|dev\/client-contract)\.ts$|^openapi\//,
  surfaces: /^(http\/health|graphql\/(yoga|socket))\.ts$/,
  app: /^app\/(?!log|metrics|service|serve)[a-z-]+\.ts$/,
  development:
    /^dev\/(season|seed(-[a-z]+)?|progress-bar|demo-operator|console-link|development-players|adjust-wallet|copy)\.ts$/,
  serve: /^app\/serve\.ts$/,
  entries: /^(server|cli|dev\/(demo|schema\.print|docs\.copy))\.ts$/,
} as const

type Level = keyof typeof LEVELS
const ORDER = Object.keys(LEVELS) as Level[]

/** May read the environment: the entries, which hand it to `readConfig`, and the two that no configuration reaches. */
const READS_ENVIRONMENT = [
  'cli.ts',
  'dev/demo.ts',
  'server.ts',
  // What the embedded Postgres inherits: PATH and the like.
  'dev/embedded-server.ts',
  // The builder exists before any configuration does; under test it is stricter.
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

/** The relative imports of a file. Biome's format makes them plain to read: at the start of a line, in single quotes. */
function importsOf(from: string, text: string): Import[] {
  const statements = text.matchAll(/^(?:import|export)\s(?:([^'"`;=]*?)\sfrom\s)?'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)
  return [...statements].map(([, names = '', target, loaded]) => ({
    from,
    to: posix.join(dirname(from), target ?? loaded ?? ''),
    typeOnly: names.startsWith('type ') || /^\{(\s*type [^,}]+,?)+\s*\}$/.test(names),
  }))
}

/** Undefined when none fits, and when more than one does. */
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

/** The first way around a circle, or undefined. */
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

describe('imports go one way', () => {
  test('every relative import is read, and leads to a file', () => {
    for (const [file, text] of texts) {
      const mentioned = text.match(/(?<=\bfrom |\bimport |\bimport\()'\.[^'\n]+'/g) ?? []
      expect(importsOf(file, text).length, file).toBe(mentioned.length)
    }
    expect(imports.filter(({ to }) => !texts.has(to) && !to.startsWith('db/generated/')).map(show)).toEqual([])
    expect(imports.map(show)).toContain('app/app.ts imports routes.ts')
    expect(imports.map(show)).toContain('cli.ts imports app/serve.ts')
  })

  test('every file stands on one level', () => {
    expect(files.filter((file) => levelOf(file) === undefined)).toEqual([])
  })

  test('a file imports from its own level and those below', () => {
    expect(ours.filter(({ from, to }) => heightOf(to) > heightOf(from)).map(show)).toEqual([])
  })

  test('an operation knows neither HTTP nor GraphQL', () => {
    const operations = ours.filter(({ from }) => ['features', 'service'].includes(levelOf(from) ?? ''))
    expect(operations.filter(({ to }) => /^(http|graphql)\//.test(to) || isEdge(to)).map(show)).toEqual([])
  })

  test("nobody imports a feature's rest.ts but routes.ts; another feature's GraphQL types are for graphql.ts alone", () => {
    const edges = ours.filter(({ to }) => isEdge(to))
    const strangers = edges.filter(({ from, to }) => {
      if (to.endsWith('/rest.ts')) return from !== 'routes.ts'
      return from !== 'schema.ts' && !isEdge(from)
    })
    expect(strangers.map(show)).toEqual([])
  })

  test('no file imports itself by any way, types included', () => {
    expect(findCircle(ours.map(({ from, to }) => [from, to]))).toBeUndefined()
  })

  test('features call each other, never in a circle', () => {
    // A shape that is only named, such as a reward's, binds nobody.
    const calls = ours.filter(
      ({ from, to, typeOnly }) => !typeOnly && [from, to].every((file) => levelOf(file) === 'features'),
    )
    const between = calls.filter(({ from, to }) => folderOf(from) !== folderOf(to))
    expect(between.length).toBeGreaterThan(0)
    expect(findCircle(between.map(({ from, to }) => [folderOf(from), folderOf(to)]))).toBeUndefined()
  })

  test('generated code is wrapped in one place for each of its kinds', () => {
    const users = imports.filter(({ to }) => to.startsWith('db/generated/')).map(({ from }) => from)
    expect([...new Set(users)].sort()).toEqual(READS_GENERATED)
  })

  test('nothing but the entries reads the environment', () => {
    const readers = files.filter((file) =>
      /\bprocess\s*\.\s*env\b|\benv\b[^;]*from 'node:process'/.test(texts.get(file) ?? ''),
    )
    expect(readers.filter((file) => !READS_ENVIRONMENT.includes(file))).toEqual([])
  })
})
