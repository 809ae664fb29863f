import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

// Imports go one way. The folder of a file says what it may import.

const within = (area: string, rooms: readonly string[]): string[] => rooms.map((room) => `${area}/${room}`)

/**
 * The rooms of src/ from the bottom up, each a folder or a file: a file imports from its own room and those above it in
 * this list. Only `declare` and `callers` import each other.
 */
const ROOMS = [
  'client',
  'sdk',
  'base',
  'db',
  'transactions',
  'declare callers',
  'audit',
  'events',
  'players',
  ...within('game', ['clock', 'definition', 'boosts', 'wallet', 'inbox', 'runs', 'battlepass', 'seasons', 'stream']),
  ...within('accounts', ['webhook', 'id-tokens', 'providers', 'login', 'lists']),
  ...within('operations', ['calls', 'publishing', 'calendar', 'figures', 'problems', 'alerts', 'support', 'grants']),
  ...within('project', ['projects', 'roles', 'shared-views', 'single-sign-on']),
  'operator-calls.ts',
  'schema.ts',
  'routes.ts',
  'serve',
  'dev',
  'app',
  'cli.ts',
  'server.ts',
]
const HEIGHTS = new Map(ROOMS.flatMap((rooms, height) => rooms.split(' ').map((room) => [room, height] as const)))

/** Rooms with features. Their files that are `rest*.ts` or `graphql*.ts` are edges. */
const FEATURES = /^(audit|events|players|game|accounts|operations|project)\//

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

const heightOf = (file: string): number | undefined =>
  HEIGHTS.get(file) ?? HEIGHTS.get(file.split('/')[0] ?? '') ?? HEIGHTS.get(file.split('/').slice(0, 2).join('/'))

const isEdge = (file: string): boolean => FEATURES.test(file) && /\/(rest|graphql)(-[a-z]+)*\.ts$/.test(file)
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

  test('are each in a room with a place in the order', () => {
    expect(files.filter((file) => heightOf(file) === undefined)).toEqual([])
    const isUsed = (room: string) => files.some((file) => file === room || file.startsWith(`${room}/`))
    expect([...HEIGHTS.keys()].filter((room) => !isUsed(room))).toEqual([])
  })

  test('import only from their own room and the rooms below', () => {
    const upward = ours.filter(({ from, to }) => Number(heightOf(to)) > Number(heightOf(from)))
    const free = (one: Import) => one.typeOnly && TYPES_FROM_ABOVE.some((form) => form.test(show(one)))
    expect(upward.filter((one) => !free(one)).map(show)).toEqual([])
  })

  test('do not import HTTP or GraphQL in operations', () => {
    const operations = ours.filter(({ from }) => FEATURES.test(from) && !isEdge(from))
    const isOfAnEdge = (file: string) => /^declare\/(graphql\/|route|request|respond)/.test(file) || isEdge(file)
    expect(operations.filter(({ to }) => isOfAnEdge(to)).map(show)).toEqual([])
  })

  test('have no SQL in edges', () => {
    const edges = files.filter(isEdge)
    expect(edges.length).toBeGreaterThan(0)
    expect(edges.filter((file) => /\bSELECT\b|\w\.query[<(]/.test(texts.get(file) ?? ''))).toEqual([])
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

describe('the files of console/src/', () => {
  test('have no cycle of imports, types included', () => {
    const folder = fileURLToPath(new URL('../console/src/', import.meta.url))
    const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path))
    const arrows = found.flatMap((file) => importsOf(file, readFileSync(join(folder, file), 'utf8')))
    expect(arrows.map(show)).toContain('main.tsx imports app.tsx')
    expect(findCircle(arrows.map(({ from, to }) => [from, to]))).toBeUndefined()
  })
})
