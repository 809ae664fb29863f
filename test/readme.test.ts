import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildSchema, parse, validate } from 'graphql'
import { describe, expect, test } from 'vitest'
import { RawJson } from '../src/base/json.ts'
import { ROLES } from '../src/callers/roles.ts'
import { demoSeason, rankedSeason } from '../src/dev/season.ts'
import { cursorAt, positionOf } from './events/cursors.ts'
import { generateKeys, startGame } from './harness/game.ts'
import { without } from './harness/needs.ts'
import { startPageShell } from './harness/page-shell.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const readme = read('README.md')
const schema = buildSchema(read('schema.graphql'))
const pages = [
  ...readdirSync(ROOT),
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((name) => `docs/${name}`),
].filter((name) => name.endsWith('.md'))
const withoutCode = (page: string) => read(page).replaceAll(/^```[\s\S]*?^```$/gm, '')
const withoutCurl = without('curl')

describe('the pages', () => {
  // A column of the least role that is needed leaves out those that are never it.
  test.each(pages)('%s names every role where it lists roles', (page) => {
    for (const block of withoutCode(page).split(/\n\n+/)) {
      const named = ROLES.filter((role) => block.includes(`\`${role}\``) || block.includes(`| ${role} |`))
      if (named.length > 2 && !block.includes('role, at least')) expect([block, named]).toEqual([block, ROLES])
    }
  })

  test.each(pages)('%s links only to files and headings that exist', (page) => {
    for (const [, target = ''] of withoutCode(page).matchAll(/\]\(([^)]+)\)/g)) {
      if (target.startsWith('https://')) continue
      const [path = '', heading] = target.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      expect([target, existsSync(join(ROOT, file))]).toEqual([target, true])
      if (heading === undefined) continue
      const headings = [...withoutCode(file).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
        title
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      )
      expect(headings).toContain(heading)
    }
  })

  test.each(pages)('%s has lines of up to 120 columns, except in tables', (page) => {
    const long = withoutCode(page)
      .split('\n')
      .filter((line) => line.length > 120 && !line.startsWith('|'))
    expect(long).toEqual([])
  })

  test.each(pages)('%s shows only valid GraphQL documents', (page) => {
    for (const [, document = ''] of read(page).matchAll(/^```graphql\n([\s\S]*?)^```$/gm)) {
      expect([document, validate(schema, parse(document))]).toEqual([document, []])
    }
  })

  // The name is free in the registry: readers would install whatever another author publishes under it.
  test.each(pages)('%s does not tell readers to install tierway from the registry', (page) => {
    expect(read(page)).not.toMatch(/npm (install|i|add) tierway\b/)
  })
})

test('docs/operations.md and .env.example have every variable that the configuration reads, and no other', () => {
  const reads = read('src/base/config.ts').matchAll(/\b(?:text|flag|integer|oneOf|keysUrl)\(\s*'([A-Z_]+)'/g)
  const known = [...new Set([...reads].map(([, name]) => name))]
  expect(known.length).toBeGreaterThan(20)
  const operations = read('docs/operations.md')
  const table = operations.slice(operations.indexOf('| variable |')).split('\n\n')[0] ?? ''
  const first = table.split('\n').map((row) => row.split('|')[1] ?? '')
  const told = first.flatMap((cell) => [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name))
  expect(told.toSorted()).toEqual(known.toSorted())
  // The packages of OpenTelemetry read the OTEL_ variables.
  const example = [...read('.env.example').matchAll(/^#(?!OTEL_)([A-Z_]+)=/gm)].map(([, name]) => name)
  expect(example.toSorted()).toEqual(known.toSorted())
})

test.skipIf(withoutCurl !== '')(`${withoutCurl}the README's first calls work`, async () => {
  const game = await startGame()
  const shell = await startPageShell({ demo: game })
  try {
    await game.publish('season-1', new RawJson(demoSeason()))
    const { token } = await game.player({ wallet: { gems: 1000n } })
    const [, commands = ''] = /### A first call\n\n```sh\n([\s\S]*?)^```$/m.exec(readme) ?? []
    // The login needs the demo studio, which only `npm start` runs.
    const printed = await shell.run(commands.replace(/^TOKEN=.*\n.*$/m, `TOKEN=${token}`))
    const answers = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(answers).toMatchObject([
      { level: 1 },
      { xp: 600, level: 2, leveledUp: true },
      { success: true },
      { success: true },
    ])
  } finally {
    await game.stop()
    await shell.close()
  }
})

test("the README's subscription runs as it is, and receives an event", async () => {
  const game = await startGame()
  try {
    await game.publish('season-1', new RawJson(demoSeason()))
    await (await game.player()).start('season-1')
    const [, code = ''] = /### A first subscription[\s\S]*?```ts\n([\s\S]*?)^```$/m.exec(readme) ?? []
    const given = `const key = '${game.platformKey}', lastCursor = '${cursorAt(game.environmentId, 0n)}'
      const remember = (cursor) => { console.log(cursor); process.exit() }`
    const program = `${given}\n${code.replace('ws://127.0.0.1:4000', game.baseUrl.replace('http', 'ws'))}`
    // Its packages are those of this folder.
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      cwd: ROOT,
    })
    expect(positionOf(stdout.trim())).toBe(1)
  } finally {
    await game.stop()
  }
})

test.skipIf(withoutCurl !== '')(`${withoutCurl}the commands of docs/server.md work`, async () => {
  const game = await startGame()
  const shell = await startPageShell({ demo: game })
  try {
    await game.publish('ranked-1', new RawJson(rankedSeason()))
    const { playerId } = await game.player()
    await game.app.pool.query("INSERT INTO identities VALUES ($1, 'custom', 'demo:ada', $2)", [
      game.environmentId,
      playerId,
    ])
    const commands = [...read('docs/server.md').matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
    const printed = await shell.run(commands.join('\necho\n'), {
      DATABASE_URL: game.databaseUrl,
      ...(await generateKeys()),
    })
    const answers = printed
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(answers.slice(0, 2)).toMatchObject([
      { playerId },
      {
        results: [
          { playerId, level: 1, error: null },
          { playerId: null, error: 'player not found' },
        ],
      },
    ])
    for (const answer of answers) expect(answer).not.toHaveProperty('code')
  } finally {
    await game.stop()
    await shell.close()
  }
})
