import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { MODULE } from '../changes/release/archives.ts'
import { findTaggedFaults } from '../changes/release/faults.ts'
import { type CommandLine, startCommandLine } from './harness/command-line.ts'
import { removeDataDir } from './harness/data-dir.ts'
import { withoutMonoHttp } from './harness/mono.ts'
import { without } from './harness/needs.ts'
import { GAME, GAME_SERVER, GO_PROGRAM, UNITY_PROGRAM } from './harness/release-programs.ts'
import { until } from './harness/until.ts'

// A release as its readers get it: each file is installed in an empty project, and plays a season against the service
// that comes with it. npm fetches the packages of `tierway` and `tierway-server` from where `npm ci` has them from.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const VERSION = '0.9.7'
const withoutGo = without('go')
const withoutMono = withoutMonoHttp()
const withoutHelm = without('helm')
const execute = promisify(execFile)

let work: string
/** A repository with a clean tree: that of ROOT with the changes that are not committed. */
let repository: string
let files: string
let printed: string

async function run(folder: string, program: string, ...args: string[]): Promise<string> {
  const { stdout } = await execute(program, args, { cwd: folder, maxBuffer: 2 ** 26 })
  return stdout.trim()
}
const git = (...args: string[]) => run(repository, 'git', ...args)
/** Runs the script. Resolves with its status and all that it prints. */
const release = (...args: string[]) =>
  execute('npm', ['run', '--silent', 'release', '--', ...args], { cwd: repository }).then(
    ({ stdout, stderr }) => ({ status: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ status: Number(code), said: `${stdout}${stderr}` }),
  )

async function copyRepository(): Promise<void> {
  await run(work, 'git', 'clone', '--quiet', ROOT, repository)
  const listed = await run(ROOT, 'git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
  for (const name of listed.split('\0').filter(Boolean)) {
    if (existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(repository, name))
    else rmSync(join(repository, name), { force: true })
  }
  // It is a link here, and .gitignore names the folder.
  symlinkSync(join(ROOT, 'node_modules'), join(repository, 'node_modules'), 'dir')
  await appendFile(join(repository, '.git/info/exclude'), 'node_modules\n')
  await writeFile(join(repository, 'changes/of-the-test.md'), 'Added\n\n- A change of the test.\n')
  await git('config', 'user.name', 'Ada')
  await git('config', 'user.email', 'ada@example.com')
  await git('add', '--all')
  await git('commit', '--quiet', '--message', 'test: the present tree')
}

const file = (name: string) => join(files, name)
const inside = (name: string, path: string) => run(work, 'tar', '-xzOf', file(name), path)
const listed = async (name: string) => (await run(work, 'tar', '-tzf', file(name))).split('\n')

beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'tierway-release-test-'))
  // Under root, Postgres runs as another user, who must be able to enter the folder.
  await chmod(work, 0o711)
  repository = join(work, 'repository')
  files = join(repository, 'artifacts/release')
  await copyRepository()
  const { status, said } = await release(VERSION, '--dry-run', '--no-image')
  printed = said
  expect([status, said]).toEqual([0, said])
})
afterAll(() => rm(work, { recursive: true, force: true }))

const MADE = [
  `com.tierway.client-${VERSION}.tgz`,
  `tierway-${VERSION}-licenses.md`,
  `tierway-${VERSION}.cdx.json`,
  `tierway-${VERSION}.tgz`,
  `tierway-chart-${VERSION}.tgz`,
  `tierway-client-${VERSION}.tgz`,
  `tierway-go-${VERSION}.zip`,
  `tierway-go-proxy-${VERSION}.tgz`,
  `tierway-server-${VERSION}.tgz`,
]

describe('a dry run of a release', () => {
  it('makes every file that is published, and lists them with their sizes', () => {
    expect(readdirSync(files).sort()).toEqual(['SHA256SUMS', ...MADE])
    for (const name of MADE) expect(printed).toMatch(new RegExp(`^ {2}${name.replaceAll('.', '\\.')} +\\d+ KB$`, 'm'))
  })

  it('prints a line for each step, and what would come next', () => {
    const steps = printed.split('\n').filter((line) => /^\[\d+\/\d+\] .+ … \d+\.\d s$/.test(line))
    expect(steps.length).toBeGreaterThan(8)
    expect(steps.at(-1)).toContain(`[${steps.length}/${steps.length}]`)
    expect(printed).toContain(`Without --dry-run, this commits and makes the tags v${VERSION} and sdk/go/v${VERSION}.`)
  })

  it('leaves the tree, the history and the tags as they were', async () => {
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('log', '-1', '--format=%s')).toBe('test: the present tree')
    expect(await git('tag', '--list', `*${VERSION}`)).toBe('')
    expect((await git('worktree', 'list')).split('\n')).toHaveLength(1)
  })

  it('writes the SHA-256 of every file', () => {
    const sums = MADE.map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(file(name)))
          .digest('hex')}  ${name}\n`,
    )
    expect(readFileSync(file('SHA256SUMS'), 'utf8')).toBe(sums.join(''))
  })

  it('names every package that an installation brings, with its version and its license', async () => {
    const bill = JSON.parse(await readFile(file(`tierway-${VERSION}.cdx.json`), 'utf8'))
    expect(bill.metadata.component).toMatchObject({ name: 'tierway', version: VERSION })
    const page = await readFile(file(`tierway-${VERSION}-licenses.md`), 'utf8')
    const rows = page.split('\n').filter((line) => /^\| (?!package|-)/.test(line))
    const named = (bill.components as readonly { group?: string; name: string; version: string }[]).map(
      ({ group, name, version }) => `| ${group ? `${group}/` : ''}${name} | ${version} |`,
    )
    expect(new Set(rows.map((row) => row.split('|').slice(0, 3).join('|').concat('|')))).toEqual(new Set(named))
    expect(named.join('\n')).toMatch(/\| graphql-yoga \|[\s\S]*\| pg \|/)
    // They are for development, or an optional part of a package.
    expect(named.join('\n')).not.toMatch(/\| (vitest|prisma|react|typescript) \|/)
    expect(page).toMatch(/# Packages in the console[\s\S]*react - /)
  })

  it('writes the version and the changes into what it publishes', async () => {
    const name = `tierway-${VERSION}.tgz`
    expect(await inside(name, 'package/docs/client.md')).toContain(`/v${VERSION}/tierway-client-${VERSION}.tgz`)
    expect(await inside(`tierway-server-${VERSION}.tgz`, 'package/README.md')).toContain(
      `tierway-server-${VERSION}.tgz`,
    )
    expect(await inside(`com.tierway.client-${VERSION}.tgz`, 'package/README.md')).toContain(`#v${VERSION}`)
  })

  it('packs no file of the repository, and no script that an installation would run', async () => {
    for (const name of MADE.filter((made) => /\.tgz$/.test(made) && !/chart|proxy/.test(made))) {
      const stray = (await listed(name)).filter((path) =>
        /^package\/(src|test|bench|sdk|Tests~)\/|^package\/dist\/.*\.map$/.test(path),
      )
      const manifest = JSON.parse(await inside(name, 'package/package.json'))
      expect([name, stray, manifest.scripts, manifest.devDependencies]).toEqual([name, [], undefined, undefined])
      expect(manifest).toMatchObject({ version: VERSION, license: 'MIT' })
      expect(manifest.repository.url).toContain('github.com/tierway/tierway')
    }
  })
})

describe('the package of the Helm chart', () => {
  it('has the files of the chart, the version, and the image of the release', async () => {
    const name = `tierway-chart-${VERSION}.tgz`
    const chart = join(ROOT, 'ops/helm/tierway')
    const own = readdirSync(chart, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    const paths = own.map((entry) => join('tierway', entry.parentPath.slice(chart.length), entry.name))
    expect((await listed(name)).filter((path) => !path.endsWith('/')).sort()).toEqual(paths.sort())
    const about = parse(await inside(name, 'tierway/Chart.yaml'))
    expect(about).toMatchObject({ name: 'tierway', version: VERSION, appVersion: VERSION })
    const { image } = parse(await inside(name, 'tierway/values.yaml'))
    expect(image).toMatchObject({ repository: 'ghcr.io/tierway/tierway', tag: '' })
  })

  it.skipIf(withoutHelm !== '')(`${withoutHelm}is what helm renders`, async () => {
    const rendered = await run(
      work,
      'helm',
      'template',
      file(`tierway-chart-${VERSION}.tgz`),
      '--set',
      'existingSecret=x',
    )
    expect(rendered).toContain(`image: "ghcr.io/tierway/tierway:${VERSION}"`)
  })
})

describe('the workflow of releases', () => {
  const workflow = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8')

  it('publishes files that a release has, of the tag alone', () => {
    const { on, jobs } = parse(workflow)
    expect(on).toEqual({ push: { tags: ['v*'] } })
    expect(jobs.publish.permissions).toMatchObject({ 'id-token': 'write' })
    const names = /for name in ([a-z -]+);/.exec(workflow)?.[1]?.split(' ') ?? []
    expect(names.toSorted()).toEqual(['tierway', 'tierway-client', 'tierway-server'])
    for (const name of [...names, 'tierway-chart']) expect(MADE).toContain(`${name}-${VERSION}.tgz`)
    expect(workflow).toContain('artifacts/release/tierway-chart-$VERSION.tgz')
    expect(workflow).toContain('"./artifacts/release/$name-$VERSION.tgz"')
  })
})

interface Demo {
  readonly baseUrl: string
  readonly projectId: string
  readonly environmentId: string
  readonly sdkKey: string
}

/** An empty project in which npm has installed a file of the release. */
async function install(name: string): Promise<{ folder: string; warnings: string }> {
  const folder = join(work, `with-${name}`)
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{"private":true,"type":"module"}')
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', file(`${name}-${VERSION}.tgz`)]
  const { stderr } = await execute('npm', args, { cwd: folder })
  return { folder, warnings: stderr }
}

describe('what a release publishes, in empty projects', () => {
  let dataDir: string
  let service: CommandLine
  let demo: Demo
  let installed: { folder: string; warnings: string }
  /** Of a player that has logged in by `tierway-client`. */
  let token: string

  beforeAll(async () => {
    installed = await install('tierway')
    dataDir = await mkdtemp(join(work, 'data-'))
    await chmod(dataDir, 0o711)
    const env = { TIERWAY_DATA_DIR: dataDir, PORT: '0', RATE_LIMITS: 'off' }
    service = startCommandLine(['serve'], env, join(installed.folder, 'node_modules/tierway'))
    const hasEnded = () => service.child.exitCode !== null
    const isUp = () => service.output.out.includes('is ready at') && existsSync(join(dataDir, 'demo.json'))
    await until('the demo can be played', () => isUp() || hasEnded(), { deadlineMs: 60_000 })
    expect([hasEnded(), service.output.error]).toEqual([false, service.output.error])
    demo = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'))
  })
  afterAll(async () => {
    service?.child.kill('SIGTERM')
    await service?.exited
    if (dataDir) await removeDataDir(dataDir)
  })

  /** Runs a program of a project against the service. */
  async function play(folder: string, program: string, args: readonly string[], env: Record<string, string> = {}) {
    const own = { TIERWAY_URL: demo.baseUrl, SDK_KEY: demo.sdkKey, ENVIRONMENT_ID: demo.environmentId, ...env }
    const { stdout } = await execute(program, args, { cwd: folder, env: { ...process.env, ...own } })
    return stdout.trim()
  }
  const commandLine = (...args: string[]) =>
    play(installed.folder, 'npx', ['--offline', 'tierway', ...args], { TIERWAY_DATA_DIR: dataDir })

  it('tierway is installed without a warning about Node, and its command knows the version', async () => {
    expect(installed.warnings).not.toContain('EBADENGINE')
    // Those of graphql-yoga are inside of it, as `overrides` chose them.
    expect(readdirSync(join(installed.folder, 'node_modules'))).not.toContain('@graphql-tools')
    expect(await commandLine('--version')).toMatch(new RegExp(`^${VERSION.replaceAll('.', '\\.')} \\([0-9a-f]{12}\\)$`))
    expect((await (await fetch(`${demo.baseUrl}/openapi.json`)).json()).info.version).toBe(VERSION)
  })

  it('tierway-client logs in, adds xp and claims', async () => {
    const { folder } = await install('tierway-client')
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
      'tierway-client',
    ])
    await writeFile(join(folder, 'game.js'), GAME)
    const answer = JSON.parse(await play(folder, process.execPath, ['game.js']))
    expect(answer).toMatchObject({ level: 2, leveledUp: true, success: true })
    token = answer.token
  })

  it('tierway-server verifies a webhook and a token, and grants xp', async () => {
    const { folder } = await install('tierway-server')
    const brought = readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(brought).toEqual(['jose', 'tierway-server'])
    await writeFile(join(folder, 'server.js'), GAME_SERVER)
    const made = ['key', 'create', '--kind', 'server', '--project', demo.projectId, '--label', 'test', '--json']
    const { key } = JSON.parse(await commandLine(...made))
    const answer = await play(folder, process.execPath, ['server.js'], { SERVER_KEY: key, TOKEN: token })
    expect(JSON.parse(answer)).toEqual({ signed: true, forged: false, isSame: true, errors: [null] })
  })

  it.skipIf(withoutGo !== '')(
    `${withoutGo}the Go module comes from its proxy, and verifies a webhook and a token`,
    async () => {
      const [proxy, folder] = [join(work, 'goproxy'), join(work, 'with-go')]
      await mkdir(proxy)
      await mkdir(folder)
      await run(proxy, 'tar', '-xzf', file(`tierway-go-proxy-${VERSION}.tgz`))
      const zip = await readFile(join(proxy, MODULE, '@v', `v${VERSION}.zip`))
      expect(zip.equals(await readFile(file(`tierway-go-${VERSION}.zip`)))).toBe(true)
      await writeFile(join(folder, 'go.mod'), `module example.com/game\n\ngo 1.19\n\nrequire ${MODULE} v${VERSION}\n`)
      await writeFile(join(folder, 'main.go'), GO_PROGRAM)
      const env = {
        ...{ GOPROXY: `file://${proxy}`, GONOSUMDB: 'github.com/tierway', GOFLAGS: '-mod=mod -modcacherw' },
        ...{ GOTOOLCHAIN: 'local', GOWORK: 'off', CGO_ENABLED: '0', GOMODCACHE: join(work, 'gomodcache') },
      }
      expect(await play(folder, 'go', ['run', '.'], { ...env, TOKEN: token })).toBe('true false true')
    },
  )

  it.skipIf(withoutMono !== '')(`${withoutMono}the package for Unity logs in, adds xp and claims`, async () => {
    const folder = join(work, 'with-unity')
    await mkdir(folder)
    await run(folder, 'tar', '-xzf', file(`com.tierway.client-${VERSION}.tgz`))
    await writeFile(join(folder, 'Game.cs'), UNITY_PROGRAM)
    const args = ['-langversion:7', '-r:System.Net.Http.dll', '-out:game.exe', 'Game.cs', 'package/Runtime/*.cs']
    await run(folder, 'mcs', ...args)
    expect(await play(folder, 'mono', ['game.exe'])).toBe('level 2, claimed True')
  })
})

// After the others: they read the files of the dry run.
describe('a release', () => {
  it('is refused with every fault at once, and makes nothing', async () => {
    const before = readFileSync(file('SHA256SUMS'), 'utf8')
    await writeFile(join(repository, 'changes/broken.md'), 'Mended\n\n- A fault.\n')
    await git('tag', 'v0.1.0')
    await git('tag', 'sdk/go/v0.1.0')
    const { status, said } = await release('0.1.0', '--dry-run')
    expect([status, said.trim().split('\n')]).toEqual([
      1,
      [
        'The tree has changes that are not committed: changes/broken.md.',
        '0.1.0 is not greater than 0.1.0, the version in package.json.',
        'The tag v0.1.0 exists.',
        'The tag sdk/go/v0.1.0 exists.',
        expect.stringMatching(/^changes\/broken\.md must be one of Upgrade, Added, .* a list\.$/),
      ],
    ])
    await rm(join(repository, 'changes/broken.md'))
    expect((await release(VERSION, '--tagged')).said).toContain(`does not have the tag v${VERSION}.`)
    for (const wrong of [[], ['0.2'], ['v0.2.0'], ['01.2.0'], ['0.2.0', '0.3.0'], ['0.2.0', '--force']])
      expect(await release(...wrong)).toEqual({ status: 1, said: expect.stringMatching(/^usage: npm run release/) })
    expect(readFileSync(file('SHA256SUMS'), 'utf8')).toBe(before)
  })

  it('commits the version and CHANGELOG.md, makes both tags, and leaves a clean tree', async () => {
    const { status, said } = await release(VERSION, '--no-image')
    expect([status, said]).toEqual([0, expect.stringContaining(`git push origin HEAD v${VERSION} sdk/go/v${VERSION}`)])
    expect(await git('status', '--porcelain')).toBe('')
    expect(await git('log', '-2', '--format=%s')).toBe(`release: ${VERSION}\ntest: the present tree`)
    expect((await git('tag', '--points-at', 'HEAD')).split('\n')).toEqual([`sdk/go/v${VERSION}`, `v${VERSION}`])
    expect(readdirSync(join(repository, 'changes')).sort()).toEqual(['README.md', 'release', 'release.ts'])
    const log = await readFile(join(repository, 'CHANGELOG.md'), 'utf8')
    expect(log).toMatch(
      new RegExp(`^## \\[${VERSION}\\] - \\d{4}-\\d\\d-\\d\\d\n[\\s\\S]*- A change of the test\\.\n`, 'm'),
    )
    // What the workflow asks before it makes the files again.
    expect(findTaggedFaults(repository, VERSION)).toEqual([])
    const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8'))
    const versions = ['', 'sdk/js', 'sdk/server'].map((path) => lock.packages[path].version)
    expect([lock.version, ...versions]).toEqual([VERSION, VERSION, VERSION, VERSION])
    // npm finds nothing to change in it.
    expect(await git('diff', '--stat', 'HEAD~', '--', 'package-lock.json')).toMatch(/4 insertions.*4 deletions/)
  })

  it.skipIf(withoutGo !== '')(`${withoutGo}has the tag of which Go makes the module that is in its files`, async () => {
    const proxy = join(work, 'goproxy-of-files')
    await mkdir(proxy)
    await run(proxy, 'tar', '-xzf', file(`tierway-go-proxy-${VERSION}.tgz`))
    // Git takes the address of the module to the repository of the test.
    const instead = {
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: `url.file://${repository}.insteadOf`,
      GIT_CONFIG_VALUE_0: 'https://github.com/tierway/tierway',
    }
    const sums = async (name: string, from: string) => {
      const own = { GOPROXY: from, GONOSUMDB: '*', GOFLAGS: '-modcacherw', GOTOOLCHAIN: 'local' }
      const env = { ...process.env, ...instead, ...own, GOMODCACHE: join(work, name) }
      const download = ['mod', 'download', '-json', `${MODULE}@v${VERSION}`]
      const { Sum, GoModSum } = JSON.parse((await execute('go', download, { cwd: proxy, env })).stdout)
      return { Sum, GoModSum }
    }
    expect(await sums('cache-of-tag', 'direct')).toEqual(await sums('cache-of-files', `file://${proxy}`))
  })
})
