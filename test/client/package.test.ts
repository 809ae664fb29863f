import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildService } from '../harness/service.ts'

// The client library as a game installs it: from the archives that npm would publish, and as a copied folder.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const OWN = /node_modules\/tierway\/dist\/client\/[a-z-]+\.js$/
const run = promisify(execFile)

/** The names by which games import the library: inside the service's package, and as a package of its own. */
const NAMES = ['tierway/client', 'tierway-client']

let game: string

beforeAll(async () => {
  await buildService()
  game = await mkdtemp(join(tmpdir(), 'tierway-consumer-'))
  await unpack('tierway', [])
  for (const name of ['tierway-client', 'tierway-server']) await unpack(name, ['--workspace', name])
  await cp(join(ROOT, 'dist/client'), join(game, 'copied'), { recursive: true })
  await mkdir(join(game, 'node_modules/@types'))
  await symlink(join(ROOT, 'node_modules/@types/node'), join(game, 'node_modules/@types/node'), 'dir')
  await writeFile(join(game, 'package.json'), '{"private":true,"type":"module"}')
  await writeFile(join(game, 'game.ts'), GAME)
  await writeFile(join(game, 'faults.ts'), FAULTS)
})
afterAll(() => rm(game, { recursive: true, force: true }))

/** Packs a package, and unpacks it where npm would install it. */
async function unpack(name: string, which: readonly string[]): Promise<void> {
  const options = { cwd: ROOT, env: { ...process.env, npm_config_update_notifier: 'false' } }
  // Scripts would build again, while other tests run the last build.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', game, ...which]
  const { stdout } = await run('npm', pack, options)
  const folder = join(game, 'node_modules', name)
  await mkdir(folder, { recursive: true })
  await run('tar', ['-xzf', join(game, nameOf(stdout)), '-C', folder, '--strip-components=1'])
}

/** npm lists the packed files. Later versions list them by the name of the package. */
function nameOf(json: string): string {
  const [{ filename }] = Object.values(JSON.parse(json)) as [{ filename: string }]
  return filename
}

/** Bundles a program of a game as for a web page. A module of Node is an error of the bundler. */
async function bundle(program: string) {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: game },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    write: false,
    metafile: true,
  })
  return { bytes: gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length, metafile }
}

describe.each(NAMES)('a bundle of %s', (name) => {
  it('has the size that its pages say, minified and compressed', async () => {
    const { bytes } = await bundle(`export * from '${name}'`)
    for (const page of ['docs/client.md', 'sdk/js/README.md'])
      expect(await readFile(join(ROOT, page), 'utf8')).toContain(`takes ${Math.round(bytes / 1_024)} KB`)
  })

  it('consists of its own modules alone, without modules of Node or other packages', async () => {
    const { metafile } = await bundle(`export * from '${name}'`)
    const inputs = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>')
    expect(inputs.length).toBeGreaterThan(5)
    const own = name === 'tierway-client' ? /node_modules\/tierway-client\/dist\/[a-z-]+\.js$/ : OWN
    expect(inputs.filter((path) => !own.test(path))).toEqual([])
    expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([])
  })

  it('leaves out modules that a game does not import', async () => {
    const all = await bundle(`export * from '${name}'`)
    const some = await bundle(`import { Tierway } from '${name}'; globalThis.tierway = Tierway`)
    expect(some.bytes).toBeLessThan(all.bytes - 500)
    const used = Object.values(some.metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs))
    expect(used.some((path) => path.endsWith('/tierway.js'))).toBe(true)
    expect(used.filter((path) => path.endsWith('/outbox.js'))).toEqual([])
  })
})

const EXPORTS = 'Outbox Tierway TierwayError localStorage memoryStorage parseExact printExact'

describe('the archives that npm publishes', () => {
  it('have the library and the license, and `tierway-client` has nothing else and no dependency', async () => {
    for (const name of ['LICENSE', 'dist/client/index.js', 'dist/client/index.d.ts']) {
      const { length } = await readFile(join(game, 'node_modules/tierway', name))
      expect([name, length > 0]).toEqual([name, true])
    }
    const own = join(game, 'node_modules/tierway-client')
    expect((await readdir(own)).sort()).toEqual(['LICENSE.md', 'README.md', 'dist', 'package.json'])
    const manifest = JSON.parse(await readFile(join(own, 'package.json'), 'utf8'))
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(manifest).toMatchObject({ name: 'tierway-client', version, license: 'MIT' })
    expect(Object.keys(manifest).filter((key) => /dependencies|scripts/i.test(key))).toEqual([])
    // The service's archive does not have the library twice.
    expect(await readdir(join(game, 'node_modules/tierway'))).not.toContain('sdk')
  })

  it.each([...NAMES, './copied/index.js'])('load as modules in Node: %s', async (name) => {
    const program = `import * as all from '${name}'; console.log(Object.keys(all).sort().join(' '))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: game })
    expect(stdout.trim()).toBe(EXPORTS)
  })

  it.each([...NAMES, './copied'])(
    'load by `require`, also where that takes no modules, as in Jest: %s',
    async (name) => {
      const program = `console.log(Object.keys(require('${name}')).sort().join(' '))`
      const options = ['--no-experimental-require-module', '--input-type=commonjs', '-e', program]
      const { stdout, stderr } = await run(process.execPath, options, { cwd: game })
      expect([stdout.trim(), stderr]).toEqual([EXPORTS, ''])
    },
  )
})

/** A program of a game that uses the public types. */
const GAME = `
import {
  type AddXpResponse, type BattlePassSession, type CallOptions, type ErrorCode, type LevelUp, localStorage, memoryStorage, Outbox,
  parseExact, type Player, type QueuedXp, type ScenarioSession, type Storage, Tierway, TierwayError,
  type TierwayEvent, type TierwayOptions,
} from 'tierway/client'

const own: Storage = { get: async () => null, set: async () => {}, remove: async () => {} }
const options: TierwayOptions = {
  baseUrl: 'https://play.example.com', sdkKey: 'twsdk_…', storage: localStorage(),
  fetch: (url, init) => fetch(url, init), timeoutMs: 5_000, retries: 1,
}
export const tierway = new Tierway(options)
export const other = new Tierway({ ...options, storage: own }), third = new Tierway({ ...options, fetch })

export async function play(signal: NonNullable<CallOptions['signal']>): Promise<bigint> {
  await tierway.login({ customData: { ticket: 'of ada', steamId: 76561198000000001n }, nickname: 'Ada' }, { signal })
  const player: Player = await tierway.player()
  const session: ScenarioSession = await tierway.scenario('season-1').start({ idempotencyKey: 'first' })
  const pass: BattlePassSession = session.battlePass('pass')
  const stop: () => void = pass.on('onLevelUp', ({ fromLevel, toLevel, xp }: LevelUp) => [fromLevel, toLevel, xp])
  session.on('granted', ({ rewards }) => rewards.map(({ amount }): bigint => amount))
  const answer: AddXpResponse = await pass.addXp(120, { source: 'match', signal })
  const claim = await pass.claim(answer.level, 'free')
  if (!claim.success && claim.error === 'premium required') await pass.buyPremium()
  for (const { track } of (await pass.claimAll()).claimed) track satisfies 'free' | 'premium' | 'bonus'
  const plan = await session.cross('hello', 'onComplete')
  plan?.crossed.map(({ nodeId, handle }) => nodeId + handle)
  await tierway.storage.set({ settings: { music: 0.5 } })
  const outbox = new Outbox(tierway)
  outbox.on('refused', ({ xp, error }) => [xp.amount + 1n, error.code])
  const queued: QueuedXp = await outbox.addXp(pass, 10n)
  stop()
  return queued.amount + (player.wallet[0]?.balance ?? 0n)
}

export async function hear(after: string | null): Promise<TierwayEvent | undefined> {
  for await (const event of tierway.events({ after, handles: ['onLevelUp'] })) return event
}

export function tell(error: unknown): ErrorCode | string {
  if (TierwayError.is(error)) return error.code === 'signed_out' ? error.code : error.details.map(({ path }) => path).join()
  return String(parseExact('1')) + String(memoryStorage())
}
`

/** Mistakes that the types refuse. */
const FAULTS = `
import { type ErrorCode, Tierway } from 'tierway/client'

// @ts-expect-error: an SDK key is needed
new Tierway({ baseUrl: '' })
const pass = (await new Tierway({ baseUrl: '', sdkKey: '' }).scenario('').start()).battlePass('')
// @ts-expect-error: xp is a bigint
const xp: number = (await pass.progress()).xp
// @ts-expect-error: there is no such track
await pass.claim(1, 'gold')
// @ts-expect-error: there is no such handle
pass.on('onLevelDown', () => undefined)
// @ts-expect-error: there is no such code
const code: ErrorCode = 'rate limited'
export { code, xp }
`

interface Consumer {
  /** The folder of the compiler. */
  readonly compiler: 'typescript' | 'typescript-5'
  readonly module: { readonly module: string; readonly moduleResolution: string }
  readonly isCommonJs?: boolean
  readonly has: 'DOM' | 'Node' | 'neither'
}

const LIBS = {
  DOM: { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] },
  Node: { lib: ['es2022'], types: ['node'] },
  neither: { lib: ['es2022'], types: [] },
}
const node16 = { module: 'node16', moduleResolution: 'node16' }
const bundler = { module: 'esnext', moduleResolution: 'bundler' }
const node10 = { module: 'commonjs', moduleResolution: 'node10' }
/** Each kind of modules with either compiler that has it, and each platform with either compiler. */
const consumers: readonly Consumer[] = [
  { compiler: 'typescript', module: node16, has: 'neither' },
  { compiler: 'typescript', module: bundler, has: 'DOM' },
  { compiler: 'typescript', module: node16, isCommonJs: true, has: 'Node' },
  { compiler: 'typescript-5', module: node16, has: 'DOM' },
  { compiler: 'typescript-5', module: bundler, has: 'neither' },
  { compiler: 'typescript-5', module: node16, isCommonJs: true, has: 'Node' },
  // Later compilers do not have it.
  { compiler: 'typescript-5', module: node10, isCommonJs: true, has: 'DOM' },
]
const titled = consumers.map((consumer, index) => {
  const { compiler, module, isCommonJs, has } = consumer
  const title = `${compiler}, ${module.moduleResolution}${isCommonJs ? ' in CommonJS' : ''}, types of ${has}`
  return [title, { ...consumer, index }] as const
})

/** The program for platforms of which the compiler knows nothing. */
const withoutPlatform = (program: string) =>
  program.replace('fetch: (url, init) => fetch(url, init), ', '').replace('{ ...options, fetch }', 'options')

describe('the types of the library', () => {
  it.each(titled)('compile in a game: %s', async (title, { index, compiler, module, isCommonJs = false, has }) => {
    const project = join(game, `project-${index}`)
    await mkdir(project)
    await writeFile(join(project, 'package.json'), isCommonJs ? '{}' : '{"type":"module"}')
    for (const [at, name] of NAMES.entries()) {
      const named = (program: string) => program.replaceAll("'tierway/client'", `'${name}'`)
      await writeFile(join(project, `game-${at}.ts`), named(has === 'neither' ? withoutPlatform(GAME) : GAME))
      // It has an `await` outside of functions, which CommonJS does not have.
      if (!isCommonJs) await writeFile(join(project, `faults-${at}.ts`), named(FAULTS))
    }
    const compilerOptions = {
      ...module,
      ...LIBS[has],
      target: 'es2022',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: !isCommonJs,
      skipLibCheck: false,
      // The compiler's own libraries take most of its time.
      skipDefaultLibCheck: true,
      noEmit: true,
    }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    const root = join(ROOT, 'node_modules', compiler)
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    expect(version).toMatch(compiler === 'typescript-5' ? /^5\./ : /^7\./)
    const compile = run(process.execPath, [join(root, 'bin/tsc'), '-p', project, '--listFiles'], { cwd: project })
    const { stdout } = await compile.catch((error) => {
      throw new Error(`${title}:\n${error.stdout}`)
    })
    // A type that was not found would be `any`, and the program would compile all the same.
    const folder = isCommonJs ? 'cjs/' : ''
    expect(stdout).toContain(`node_modules/tierway/dist/client/${folder}contract.d.ts`)
    expect(stdout).toContain(`node_modules/tierway-client/dist/${folder}contract.d.ts`)
    expect([/lib\.dom\.d\.ts/.test(stdout), stdout.includes('@types/node/')]).toEqual([has === 'DOM', has === 'Node'])
  })
})

/** A program of a game server that uses the public types. */
const GAME_SERVER = `
import {
  createServerClient, createTokenVerifier, type Player, type ServerClient, TierwayError, TokenError, type VerifiedPlayer,
} from 'tierway-server'
import { signWebhook, verifyWebhookSignature } from 'tierway-server/webhook'

const verifier = createTokenVerifier({ url: 'http://127.0.0.1:1', environmentId: '00000000-0000-7000-8000-000000000000' })
const client: ServerClient = createServerClient({ url: 'http://127.0.0.1:1', key: 'twsrv_x', retries: 0 })
const named: Promise<VerifiedPlayer> = verifier.verify('junk')
const found: Promise<Player> = client.findPlayer({ provider: 'custom', subject: 'ada' })
const causes: unknown[] = []
for (const one of [named, found]) await one.catch((error: unknown) => causes.push(error))
const [first, second] = causes
console.log(first instanceof TokenError && first.code, TierwayError.is(second) && second.code)
console.log(verifyWebhookSignature('secret', '{}', signWebhook('secret', '{}')))
`

describe('the library for game servers', () => {
  it('works and compiles as it is installed, with no package but jose', async () => {
    const project = join(game, 'game-server')
    const installed = join(project, 'node_modules')
    await mkdir(installed, { recursive: true })
    await cp(join(game, 'node_modules/tierway-server'), join(installed, 'tierway-server'), { recursive: true })
    await symlink(join(ROOT, 'node_modules/jose'), join(installed, 'jose'), 'dir')
    const manifest = JSON.parse(await readFile(join(installed, 'tierway-server/package.json'), 'utf8'))
    const { version, dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(manifest).toMatchObject({ version, dependencies: { jose: dependencies.jose }, license: 'MIT' })
    expect(Object.keys(manifest.dependencies)).toEqual(['jose'])
    await writeFile(join(project, 'package.json'), '{"type":"module"}')
    await writeFile(join(project, 'server.ts'), GAME_SERVER)
    const checked = { strict: true, skipLibCheck: false, skipDefaultLibCheck: true }
    const compilerOptions = { ...node16, ...LIBS.Node, ...checked, target: 'es2022' }
    const typeRoots = [join(game, 'node_modules/@types')]
    await writeFile(
      join(project, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: { ...compilerOptions, typeRoots } }),
    )
    const compile = run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project])
    await compile.catch((error) => {
      throw new Error(error.stdout)
    })
    const { stdout } = await run(process.execPath, [join(project, 'server.js')])
    expect(stdout).toBe('invalid_token network_error\ntrue\n')
  })
})
