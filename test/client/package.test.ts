import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildService } from '../support/service.ts'

// The client library as a game installs it: from the archive that npm would publish.

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_BYTES = 12 * 1024
const run = promisify(execFile)

let game: string

beforeAll(async () => {
  await buildService()
  game = await mkdtemp(join(tmpdir(), 'tierway-consumer-'))
  const options = { cwd: ROOT, env: { ...process.env, npm_config_update_notifier: 'false' } }
  // Scripts would build again, while other tests run the last build.
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', game]
  const { stdout } = await run('npm', pack, options)
  const packed = join(game, 'node_modules/tierway')
  await mkdir(packed, { recursive: true })
  await run('tar', ['-xzf', join(game, nameOf(stdout)), '-C', packed, '--strip-components=1'])
  await mkdir(join(game, 'node_modules/@types'))
  await symlink(join(ROOT, 'node_modules/@types/node'), join(game, 'node_modules/@types/node'), 'dir')
  await writeFile(join(game, 'package.json'), '{"private":true,"type":"module"}')
  await writeFile(join(game, 'game.ts'), GAME)
  await writeFile(join(game, 'faults.ts'), FAULTS)
})
afterAll(() => rm(game, { recursive: true, force: true }))

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

describe('a bundle of the library', () => {
  it(`has at most ${MAX_BYTES} bytes, minified and compressed`, async () => {
    const { bytes } = await bundle(`export * from 'tierway/client'`)
    expect(bytes).toBeGreaterThan(2_000)
    expect(bytes).toBeLessThanOrEqual(MAX_BYTES)
  })

  it('consists of its own modules alone, without modules of Node or other packages', async () => {
    const { metafile } = await bundle(`export * from 'tierway/client'`)
    const inputs = Object.keys(metafile.inputs).filter((path) => path !== '<stdin>')
    expect(inputs.length).toBeGreaterThan(5)
    expect(inputs.filter((path) => !path.includes('node_modules/tierway/dist/client/'))).toEqual([])
    expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([])
  })

  it('leaves out modules that a game does not import', async () => {
    const all = await bundle(`export * from 'tierway/client'`)
    const some = await bundle(`import { Tierway } from 'tierway/client'; globalThis.tierway = Tierway`)
    expect(some.bytes).toBeLessThan(all.bytes - 500)
    const used = Object.values(some.metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs))
    expect(used.some((path) => path.endsWith('/tierway.js'))).toBe(true)
    expect(used.filter((path) => path.endsWith('/outbox.js'))).toEqual([])
  })
})

describe('the archive that npm publishes', () => {
  it('has the library and the license, and its modules load in Node', async () => {
    const packed = join(game, 'node_modules/tierway')
    for (const name of ['LICENSE', 'dist/client/index.js', 'dist/client/index.d.ts'])
      expect([name, (await readFile(join(packed, name))).length > 0]).toEqual([name, true])
    const program = `import * as all from 'tierway/client'; console.log(Object.keys(all).sort().join(' '))`
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: game })
    expect(stdout.trim()).toBe('Outbox Tierway TierwayError localStorage memoryStorage parseExact printExact')
  })
})

/** A program of a game that uses the public types. */
const GAME = `
import {
  type AddXpResponse, type BattlePassSession, type ErrorCode, type LevelUp, localStorage, memoryStorage, Outbox,
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

export async function play(signal: AbortSignal): Promise<bigint> {
  await tierway.login({ customData: { ticket: 'of ada', steamId: 76561198000000001n }, nickname: 'Ada' }, { signal })
  const player: Player = await tierway.player()
  const session: ScenarioSession = await tierway.scenario('season-1').start({ idempotencyKey: 'first' })
  const pass: BattlePassSession = session.battlePass('pass')
  const stop: () => void = pass.on('onLevelUp', ({ fromLevel, toLevel, xp }: LevelUp) => [fromLevel, toLevel, xp])
  session.on('granted', ({ rewards }) => rewards.map(({ amount }): bigint => amount))
  const answer: AddXpResponse = await pass.addXp(120, { source: 'match', signal })
  const claim = await pass.claim(answer.level, 'free')
  if (!claim.success && claim.error === 'premium required') await pass.buyPremium()
  for (const { track } of (await pass.claimAll()).claimed) track satisfies 'free' | 'premium'
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

const compilers = { 'TypeScript 5': 'typescript-5', 'TypeScript 7': 'typescript' }
const resolutions = {
  node16: { module: 'node16', moduleResolution: 'node16' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
}
const platforms = {
  'with the DOM and no types of Node': { lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'], types: [] },
  'with types of Node and no DOM': { lib: ['es2022'], types: ['node'] },
}
const consumers = Object.entries(compilers).flatMap(([compiler, name]) =>
  Object.entries(resolutions).flatMap(([resolution, module]) =>
    Object.entries(platforms).map(
      ([platform, lib]) => [`${compiler}, ${resolution}, ${platform}`, { compiler, name, module, lib }] as const,
    ),
  ),
)

describe('the types of the library', () => {
  it.each(consumers)('compile in a game: %s', async (title, { compiler, name, module, lib }) => {
    const project = join(game, `${name}-${module.module}-${lib.types.length}`)
    await mkdir(project)
    for (const file of ['package.json', 'game.ts', 'faults.ts']) await cp(join(game, file), join(project, file))
    const compilerOptions = {
      ...module,
      ...lib,
      target: 'es2022',
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      verbatimModuleSyntax: true,
      skipLibCheck: false,
      noEmit: true,
    }
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    const root = join(ROOT, 'node_modules', name)
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    expect(`TypeScript ${version}`).toMatch(`${compiler}.`)
    const compile = run(process.execPath, [join(root, 'bin/tsc'), '-p', project, '--listFiles'], { cwd: project })
    const { stdout } = await compile.catch((error) => {
      throw new Error(`${title}:\n${error.stdout}`)
    })
    // A type that was not found would be `any`, and the program would compile all the same.
    expect(stdout).toContain('node_modules/tierway/dist/client/contract.d.ts')
    const hasDom = /lib\.dom\.d\.ts/.test(stdout)
    expect([hasDom, stdout.includes('@types/node/')]).toEqual([lib.types.length === 0, lib.types.length > 0])
  })
})
