import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildService } from '../harness/service.ts'

// `node build.js --stale`, with which `npm start` begins, in a copy of the repository that has been built.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FILES = ['build.js', 'package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json']
const COPIED = [
  ...FILES,
  'prisma.config.ts',
  'prisma',
  'src',
  'console',
  'sdk/js',
  'sdk/server',
  'schema.graphql',
  'dist',
]

let copy: string
let staleSteps: (root: string) => readonly { readonly name: string }[]

beforeAll(async () => {
  await buildService()
  copy = mkdtempSync(join(tmpdir(), 'tierway-build-copy-'))
  for (const path of COPIED) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir')
  ;({ staleSteps } = await import(pathToFileURL(join(ROOT, 'build.js')).href))
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

const stale = () => staleSteps(copy).map(({ name }) => name)
const ALL = ['Prisma client', 'server', 'libraries', 'console', 'page of the API']
const append = (path: string, text: string) => writeFileSync(join(copy, path), text, { flag: 'a' })

function build(env: Record<string, string> = {}): { status: number | null; output: string } {
  const options = { cwd: copy, encoding: 'utf8', env: { ...process.env, ...env } } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, ['build.js', '--stale'], options)
  return { status, output: stdout + stderr }
}

/** The names have hashes of the contents. */
const scriptsOf = (root: string) =>
  readdirSync(join(root, 'dist/console/assets')).filter((name) => name.endsWith('.js'))

const changes: readonly (readonly [
  what: string,
  path: string,
  change: (path: string) => void,
  steps: readonly string[],
])[] = [
  ['a changed source of the service', 'src/server.ts', (path) => append(path, '//\n'), ['server', 'console']],
  ['an added source', 'src/dev/added.ts', (path) => append(path, ''), ['server', 'console']],
  ['a deleted source', 'src/dev/copy.ts', (path) => rmSync(join(copy, path)), ['server', 'console']],
  ['a source of the library', 'src/client/added.ts', (path) => append(path, ''), ['server', 'libraries', 'console']],
  ['a page of the console', 'console/index.html', (path) => append(path, '\n'), ['console']],
  ['the schema of the database', 'prisma/schema.prisma', (path) => append(path, '\n'), ['Prisma client', 'server']],
  ['another version of a package', 'package-lock.json', (path) => append(path, '\n'), ALL],
  ['the build itself', 'build.js', (path) => append(path, '\n'), ALL],
  ['a deleted build', 'dist', (path) => rmSync(join(copy, path), { recursive: true }), ALL],
  ['a deleted page', 'dist/console/operations.json', (path) => rmSync(join(copy, path)), ['console']],
]

describe('a start builds what has other sources than its last build', () => {
  it.each(changes)('%s', (_what, path, change, steps) => {
    expect(stale()).toEqual([])
    change(path)
    try {
      expect(stale()).toEqual(steps)
    } finally {
      rmSync(join(copy, path), { recursive: true, force: true })
      if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path), { recursive: true })
    }
  })

  it('and nothing after a checkout that gave every file another time', () => {
    const now = new Date()
    for (const path of FILES) utimesSync(join(copy, path), now, now)
    const names = readdirSync(join(copy, 'src'), { recursive: true, encoding: 'utf8' })
    for (const name of names) utimesSync(join(copy, 'src', name), now, now)
    expect(build()).toEqual({ status: 0, output: expect.stringMatching(/^the build is up to date: \d\.\d s\n$/) })
  })

  it('a step that fails ends the start, and is built again', () => {
    const path = 'sdk/js/package.json'
    const before = readFileSync(join(copy, path), 'utf8')
    append(path, 'x')
    const { status, output } = build()
    expect([status, output]).toEqual([1, expect.stringContaining('the build failed: node dist/dev/libraries.pack.js')])
    writeFileSync(join(copy, path), before)
    expect(stale()).toEqual(['libraries'])
    expect(build()).toEqual({ status: 0, output: expect.stringMatching(/^building: libraries … \d+\.\d s\n$/) })
    expect(stale()).toEqual([])
  })

  it('the console is that of production under every NODE_ENV', () => {
    append('console/index.html', '<!-- -->\n')
    expect(build({ NODE_ENV: 'test' })).toEqual({ status: 0, output: expect.stringMatching(/^building: console … /) })
    expect(scriptsOf(copy)).toEqual(scriptsOf(ROOT))
  })
})
