import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startCommandLine } from './support/command-line.ts'
import { type Game, generateKeys, type Keys, startGame } from './support/game.ts'

const _ROOT = fileURLToPath(new URL('..', import.meta.url))
const NOWHERE = '00000000-0000-7000-8000-000000000000'

let game: Game
let dataDir: string
let keys: Keys
beforeAll(async () => {
  game = await startGame()
  keys = await generateKeys()
  dataDir = await mkdtemp(join(tmpdir(), 'tierway-cli-'))
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
  test('makes a project, and keys of it that the service takes at once', async () => {
    const made = await tierway(['project', 'create', 'My game', '--environment', 'production', 'qa-1', '--json'])
    expect(made.code, made.error).toBe(0)
    const { projectId, environments } = JSON.parse(made.out)
    expect(Object.keys(environments)).toEqual(['production', 'qa-1'])
    const { code, out, error } = await tierway(['key', 'create', '--kind', 'platform', '--project', projectId])
    expect(code, error).toBe(0)
    const { data } = await game.graphql(out.trim(), '{ project { name environments { name } } }')
    expect(data.project).toEqual({ name: 'My game', environments: [{ name: 'production' }, { name: 'qa-1' }] })
  })

  test.each([
    [
      'a project id that is none',
      ['key', 'create', '--kind', 'sdk', '--project', 'nope'],
      /must be the id of a project/,
    ],
    ['the same for a player', ['player', 'token', '--project', 'nope'], /must be the id of a project/],
    ['the same for a seed', ['seed', '--project', 'nope'], /must be the id of a project/],
    ['a key of no project', ['key', 'create', '--kind', 'platform', '--project', NOWHERE], /^project not found\n$/],
    ['a name of an environment', ['project', 'create', 'X', '--environment', 'Bad name'], /^"Bad name" names no env/],
    ['a project without a name', ['project', 'create', ''], /^The name of a project has 1 to 128 characters/],
  ])('says in words what is wrong with %s', async (_what, args, message) => {
    const { code, out, error } = await tierway(args)
    expect(code, out).toBe(1)
    expect(error).toMatch(message)
    expect(error).not.toMatch(/^ +at /m)
  })

  test.each([
    ['is away', 'postgres://127.0.0.1:1/tierway'],
    ['turns it away', null],
  ])('tells in one line that the database %s', async (_what, url) => {
    const missing = new URL(game.databaseUrl)
    missing.pathname = '/not_there'
    const { code, error } = await tierway(['migrate'], { DATABASE_URL: url ?? missing.href })
    expect(code).toBe(1)
    expect(error).toMatch(/^The database cannot be used: .+\n$/)
  })

  test('tells in one line that the database turns it away in another language', async () => {
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
