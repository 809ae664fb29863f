import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { VERSION } from '../src/base/version.ts'
import { startCommandLine } from './harness/command-line.ts'
import { type Game, generateKeys, type Keys, startGame } from './harness/game.ts'
import { buildService } from './harness/service.ts'
import { until } from './harness/until.ts'

const NOWHERE = '00000000-0000-7000-8000-000000000000'

let game: Game
let dataDir: string
let keys: Keys
beforeAll(async () => {
  await buildService()
  game = await startGame()
  keys = await generateKeys()
  dataDir = await mkdtemp(join(tmpdir(), 'tierway-cli-'))
  const { baseUrl, projectId, environmentId, platformKey, sdkKey } = game
  const demo = { baseUrl, projectId, environmentId, platformKey, sdkKey }
  await writeFile(join(dataDir, 'demo.json'), JSON.stringify(demo))
})
afterAll(async () => {
  await game?.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function tierway(args: readonly string[], env: Record<string, string> = {}) {
  const settings = { DATABASE_URL: game.databaseUrl, TIERWAY_DATA_DIR: dataDir, ...keys, ...env }
  const { output, exited } = startCommandLine(args, settings)
  const [code] = await exited
  return { code, ...output }
}

describe('the command line', () => {
  test('creates a project, and keys for it that the service accepts at once', async () => {
    const made = await tierway(['project', 'create', 'My game', '--environment', 'production', 'qa-1', '--json'])
    expect(made.code, made.error).toBe(0)
    const { projectId, environments } = JSON.parse(made.out)
    expect(Object.keys(environments)).toEqual(['production', 'qa-1'])
    const { code, out, error } = await tierway(['key', 'create', '--kind', 'platform', '--project', projectId])
    expect(code, error).toBe(0)
    const { data } = await game.graphql(out.trim(), '{ project { name environments { name } } }')
    expect(data.project).toEqual({ name: 'My game', environments: [{ name: 'production' }, { name: 'qa-1' }] })
  })

  test('creates keys with a label, which the list of keys shows', async () => {
    for (const kind of ['sdk', 'server', 'platform']) {
      const args = ['key', 'create', '--kind', kind, '--project', game.projectId, '--label', `of ${kind}`, '--json']
      const { code, out, error } = await tierway(args)
      expect(code, error).toBe(0)
      const { id, label, environmentId } = JSON.parse(out)
      const field = `${kind}Keys`
      const { data } = await game.graphql(
        game.platformKey,
        `{ ${field}(first: 200) { nodes { keyId label createdBy } } }`,
      )
      expect(data[field].nodes).toContainEqual({ keyId: id, label, createdBy: null })
      expect(label).toBe(`of ${kind}`)
      expect(environmentId).toBe(kind === 'platform' ? undefined : game.environmentId)
    }
  })

  test.each([
    [
      'a malformed project id for `key create`',
      ['key', 'create', '--kind', 'sdk', '--project', 'nope'],
      /must be the id of a project/,
    ],
    [
      'a malformed project id for `player token`',
      ['player', 'token', '--project', 'nope'],
      /must be the id of a project/,
    ],
    ['a malformed project id for `seed`', ['seed', '--project', 'nope'], /must be the id of a project/],
    [
      'a label that is too long',
      ['key', 'create', '--kind', 'sdk', '--project', NOWHERE, '--label', 'x'.repeat(65)],
      /must be 1 to 64 characters/,
    ],
    [
      'a key for a project that does not exist',
      ['key', 'create', '--kind', 'platform', '--project', NOWHERE],
      /^project not found\n$/,
    ],
    [
      'a malformed name of an environment',
      ['project', 'create', 'X', '--environment', 'Bad name'],
      /^"Bad name" cannot name an env/,
    ],
    ['an empty name of a project', ['project', 'create', ''], /^The name of a project has 1 to 128 characters/],
  ])('refuses %s with a plain message and no stack trace', async (_what, args, message) => {
    const { code, out, error } = await tierway(args)
    expect(code, out).toBe(1)
    expect(error).toMatch(message)
    expect(error).not.toMatch(/^ +at /m)
  })

  test.each([
    ['cannot be reached', ['project', 'create', 'My game'], 'postgres://127.0.0.1:1/tierway'],
    ['does not exist', ['migrate'], null],
  ])('reports in one line that the database %s', async (_what, args, url) => {
    const missing = new URL(game.databaseUrl)
    missing.pathname = '/not_there'
    const { code, error } = await tierway(args, { DATABASE_URL: url ?? missing.href })
    expect(code).toBe(1)
    expect(error).toMatch(/^The database cannot be used: .+\n$/)
  })

  test('reports the reason in one line when Postgres refuses in another language', async () => {
    const said = Buffer.from('SВАЖНО\0C3D000\0Mбаза данных не существует\0\0')
    const head = Buffer.from('E0000')
    head.writeInt32BE(said.length + 4, 1)
    const server = createServer((socket) => socket.once('data', () => socket.end(Buffer.concat([head, said]))))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const { code, error } = await tierway(['migrate'], { DATABASE_URL: `postgres://me@127.0.0.1:${port}/game` })
    server.close()
    expect([code, error]).toEqual([1, 'The database cannot be used: база данных не существует\n'])
  })
})

test('--version prints the version, and the commit by which two builds of it differ', async () => {
  const [, version, commit = ''] = /^(\S+)(?: \((\S+)\))?\n$/.exec((await tierway(['--version'])).out) ?? []
  expect([version, commit]).toEqual([VERSION, await readFile('dist/commit.txt', 'utf8')])
  // A copy without a repository has none.
  if (existsSync('.git')) expect(commit).toMatch(/^[0-9a-f]{12}(-dirty)?$/)
})

describe('a command that needs the demo', () => {
  test('env prints the address and the keys of the demo as shell variables', async () => {
    const { code, out } = await tierway(['env'])
    expect(code).toBe(0)
    const { stdout } = spawnSync('sh', ['-euc', `${out}\nenv`], { encoding: 'utf8', env: {} })
    const { baseUrl, projectId, environmentId, platformKey, sdkKey } = game
    const ids = { PROJECT_ID: projectId, ENVIRONMENT_ID: environmentId }
    const variables = { TIERWAY_URL: baseUrl, TIERWAY_KEY: platformKey, SDK_KEY: sdkKey, ...ids }
    for (const [name, value] of Object.entries(variables)) expect(stdout.split('\n')).toContain(`${name}=${value}`)
  })

  test.each([['env'], ['seed'], ['player', 'token']])(
    '%s %s explains how to start the demo when there is none',
    async (...args) => {
      const { code, out, error } = await tierway(args, { TIERWAY_DATA_DIR: join(dataDir, 'other') })
      expect([code, out]).toEqual([1, ''])
      expect(error).toBe(
        `There is no demo in ${join(dataDir, 'other')}: run \`npx tierway serve\` (or \`npm start\`) in another terminal first. ` +
          'If the service runs with another TIERWAY_DATA_DIR, set the same one here.\n',
      )
    },
  )
})

describe('--json', () => {
  /** What each command prints, except `serve`, which keeps running. */
  const PRINTED: Record<string, () => readonly [args: readonly string[], printed: object]> = {
    migrate: () => [[], { applied: [] }],
    'project create': () => [['Mine'], { projectId: id, environments: { production: id } }],
    'key create': () => [['--kind', 'sdk', '--project', game.projectId], { id, key: expect.stringMatching(/^twsdk_/) }],
    env: () => [[], { TIERWAY_URL: game.baseUrl, SDK_KEY: game.sdkKey }],
    schema: () => [[], { schema: expect.stringContaining('type Query {') }],
    'key token': () => [[], { tokenKeys: [{ kty: 'OKP', crv: 'Ed25519', kid: some, x: some, d: some }] }],
    'key secrets': () => [[], { secretsKeys: [{ kid: some, key: some }] }],
    'secrets rotate': () => [[], { kid: some, sealed: expect.any(Number), unreadable: [] }],
    'player token': () => [['--project', game.projectId], { playerId: id, accessToken: some }],
    seed: () => [
      ['--players', '1', '--days', '1', '--project', game.projectId],
      { players: 1, complete: true, seconds: expect.any(Number) },
    ],
  }
  const id = expect.stringMatching(/^[\da-f-]{36}$/)
  const some = expect.stringMatching(/^.{8,}$/)

  test.each(Object.keys(PRINTED))('makes %s print one JSON object', async (command) => {
    const [args, printed] = PRINTED[command]?.() ?? [[], {}]
    const { code, out, error } = await tierway([...command.split(' '), ...args, '--json'])
    expect(code, error).toBe(0)
    expect(out).toMatch(/^\{.*\}\n$/)
    expect(JSON.parse(out)).toMatchObject(printed)
  })

  test('makes serve print one JSON object once it is ready, and log to standard error, each line with the version', async () => {
    const settings = { DATABASE_URL: game.databaseUrl, TIERWAY_DATA_DIR: dataDir, ...keys, PORT: '0' }
    const { child, output, exited } = startCommandLine(['serve', '--json'], settings)
    await until('it is ready', () => output.out.endsWith('\n') || child.exitCode !== null)
    const { baseUrl, demo } = JSON.parse(output.out)
    const metrics = await (await fetch(`${baseUrl}/metrics`)).text()
    const commit = await readFile('dist/commit.txt', 'utf8')
    const labels = `version="${VERSION}",commit="${commit}",node="${process.versions.node}"`
    expect(metrics).toContain(`tierway_build_info{${labels}} 1`)
    expect(demo).toBeNull()
    child.kill('SIGTERM')
    expect((await exited)[0]).toBe(0)
    expect(output.out.trim().split('\n')).toHaveLength(1)
    expect(output.error).toContain(`Tierway ${VERSION} is ready at http`)
    for (const line of output.error.trim().split('\n'))
      expect(JSON.parse(line)).toMatchObject({ msg: expect.any(String), version: VERSION, ...(commit && { commit }) })
  })

  test('is an option of every command, except those that a person watches', async () => {
    const WATCHED = ['help', 'demo']
    const commandsOf = async (above: readonly string[]): Promise<string[]> => {
      const { out } = await tierway([...above, '--help'])
      const [, listed] = out.split('Commands:\n')
      if (listed === undefined) {
        expect([above, out.includes('--json')]).toEqual([above, true])
        return [above.join(' ')]
      }
      const names = [...listed.matchAll(/^ {2}(\w+)/gm)]
        .map(([, name = '']) => name)
        .filter((name) => !WATCHED.includes(name))
      return (await Promise.all(names.map((name) => commandsOf([...above, name])))).flat()
    }
    expect((await commandsOf([])).sort()).toEqual([...Object.keys(PRINTED), 'serve'].sort())
  })

  test('leaves standard output empty when a command fails, and prints the error to standard error', async () => {
    const { code, out, error } = await tierway(['key', 'create', '--kind', 'sdk', '--project', NOWHERE, '--json'])
    expect([code, out, error]).toEqual([1, '', 'environment not found\n'])
  })
})
