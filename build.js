import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

// `npm run build` builds everything anew. `node build.js --stale`, before a start and before tests, builds what has other
// sources than its last build had. It compares names and contents: a checkout gives files new times, and a deleted file
// has none.

/** The sources of every step: the tools and their versions. */
const COMMON = ['build.js', 'package.json', 'package-lock.json', 'tsconfig.json']
const PRISMA = ['prisma/schema.prisma', 'prisma/generate.js', 'prisma.config.ts']
/** Written by a step into `src`. */
const GENERATED = 'src/db/generated'

/** In the order of the build. `made` is the last file of a step, or of each folder that it fills. */
const STEPS = [
  { name: 'Prisma client', sources: PRISMA, commands: ['node prisma/generate.js'], made: `${GENERATED}/pothos.ts` },
  {
    ...{ name: 'server', sources: [...PRISMA, 'src', 'tsconfig.build.json'] },
    ...{ commands: ['tsc -p tsconfig.build.json'], made: 'dist/server.js' },
  },
  {
    ...{ name: 'libraries', sources: ['src/client', 'src/sdk', 'src/dev/libraries.pack.ts', 'sdk/js/package.json'] },
    commands: ['tsc -p src/client/tsconfig.cjs.json', 'node dist/dev/libraries.pack.js'],
    made: ['sdk/js/dist/package.json', 'sdk/server/dist/sdk/server.js'],
  },
  {
    // Its pages import rules of the service.
    ...{ name: 'console', sources: ['console', 'src'] },
    commands: ['vite build -c console/vite.config.ts --logLevel warn', 'tsx console/collect-operations.ts'],
    made: 'dist/console/operations.json',
  },
  {
    ...{ name: 'page of the API', sources: ['src/dev/docs.copy.ts', 'src/serve/http/docs.ts'] },
    ...{ commands: ['node dist/dev/docs.copy.js'], made: 'dist/serve/http/docs/swagger-ui.css' },
  },
]

/** The steps of a folder that must be built again, with the hash of their sources. */
export function staleSteps(root) {
  const built = readRecord(root)
  const hashes = new Map()
  const hashOf = (path) => {
    if (!hashes.has(path)) hashes.set(path, hashOfFiles(root, path))
    return hashes.get(path)
  }
  return STEPS.map((step) => ({ ...step, hash: [...COMMON, ...step.sources].map(hashOf).join() })).filter(
    ({ name, hash, made }) => built[name] !== hash || [made].flat().some((file) => !existsSync(join(root, file))),
  )
}

/** Of a file, or of all files below a folder. */
function hashOfFiles(root, path) {
  const hash = createHash('sha256')
  const whole = join(root, path)
  for (const file of statSync(whole).isDirectory() ? filesBelow(whole) : [whole]) {
    const name = relative(root, file).replaceAll('\\', '/')
    if (name.startsWith(`${GENERATED}/`) || name.startsWith('console/generated/')) continue
    hash.update(`${name}\n`).update(createHash('sha256').update(readFileSync(file)).digest())
  }
  return hash.digest('base64url')
}

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

const recordOf = (root) => join(root, 'dist/.built.json')
const readRecord = (root) => (existsSync(recordOf(root)) ? JSON.parse(readFileSync(recordOf(root), 'utf8')) : {})

function build(root, isStale) {
  const started = performance.now()
  // Files of deleted sources, and what the compiler takes for done.
  if (!isStale) rmSync(join(root, 'dist'), { recursive: true, force: true })
  const steps = staleSteps(root)
  for (const step of steps) {
    const begun = performance.now()
    process.stdout.write(`building: ${step.name} … `)
    // A step that is interrupted or fails is built again.
    note(root, step.name, undefined)
    for (const command of step.commands) run(root, command)
    if (step.name === 'server') chmodSync(join(root, 'dist/cli.js'), 0o755)
    note(root, step.name, step.hash)
    process.stdout.write(`${seconds(begun)}\n`)
  }
  noteCommit(root)
  if (steps.length === 0) process.stdout.write(`the build is up to date: ${seconds(started)}\n`)
}

/** Nothing is written where nothing has changed: the folder may be read-only. */
function noteCommit(root) {
  const [file, commit] = [join(root, 'dist/commit.txt'), commitOf(root)]
  if (!existsSync(file) || readFileSync(file, 'utf8') !== commit) writeFileSync(file, commit)
}

/** Two builds of one version differ by it. An image is built without the repository, and has it as REVISION. */
function commitOf(root) {
  const { REVISION } = process.env
  if (REVISION && REVISION !== 'unknown') return REVISION.slice(0, 12)
  if (!existsSync(join(root, '.git'))) return ''
  const asked = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']
  const { status, stdout } = spawnSync('git', asked, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : ''
}

function note(root, name, hash) {
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(recordOf(root), JSON.stringify({ ...readRecord(root), [name]: hash }))
}

function run(root, command) {
  const path = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  // With another NODE_ENV, Vite would build the console with React's slower development code.
  const env = { ...process.env, PATH: path, NODE_ENV: 'production' }
  const { status } = spawnSync(command, { cwd: root, env, stdio: 'inherit', shell: true })
  if (status !== 0) {
    process.stderr.write(`the build failed: ${command}\n`)
    process.exit(1)
  }
}

const seconds = (since) => `${((performance.now() - since) / 1_000).toFixed(1)} s`

if (resolve(process.argv[1] ?? '') === fileURLToPath(import.meta.url))
  build(fileURLToPath(new URL('.', import.meta.url)), process.argv.includes('--stale'))
