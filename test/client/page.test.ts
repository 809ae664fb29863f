import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { Outbox, Tierway } from '../../src/client/index.ts'
import { BattlePassSession, LevelSession, ScenarioSession } from '../../src/client/scenario.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Declarations that the examples of the page leave to the game. */
const GAME = `import type { BattlePassSession, Tierway as Client } from 'tierway-client'
declare global {
  const tierway: Client
  const pass: BattlePassSession
  const sdkKey: string
  const baseUrl: string
  const ticket: string
  const after: string | undefined
  function celebrate(level: number): void
  function showLogin(why: 'logout' | 'expired' | 'replaced'): void
  function report(source: string, code: string): void
  function show(handle: string | null, data: object): void
  function remember(cursor: string): void
}
`

it('every example of docs/client.md compiles', { timeout: 60_000 }, async () => {
  const page = await readFile(join(ROOT, 'docs/client.md'), 'utf8')
  const examples = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code ?? '')
  expect(examples.length).toBeGreaterThan(3)
  const folder = await mkdtemp(join(tmpdir(), 'tierway-page-'))
  try {
    await writeFile(join(folder, 'game.ts'), GAME)
    for (const [index, code] of examples.entries())
      await writeFile(join(folder, `example-${index}.ts`), `${code}\nexport {}\n`)
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      module: 'nodenext',
      moduleDetection: 'force',
      lib: ['es2022', 'dom', 'dom.iterable'],
      types: [],
      allowImportingTsExtensions: true,
      paths: {
        'tierway-client': [join(ROOT, 'src/client/index.ts')],
        react: [join(ROOT, 'node_modules/@types/react/index.d.ts')],
      },
    }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    const checked = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder])
    await checked.catch(({ stdout }) => {
      throw new Error(stdout)
    })
  } finally {
    await rm(folder, { recursive: true })
  }
})

it('docs/client.md names every member of the classes that a game uses', async () => {
  const [page, reference] = await Promise.all(
    ['docs/client.md', 'docs/reference.md'].map((name) => readFile(join(ROOT, name), 'utf8')),
  )
  const code = [...(page ?? '').matchAll(/```[\s\S]*?```|`[^`]+`/g)].map(([text]) => text).join('\n')
  const { storage } = new Tierway({ baseUrl: 'http://127.0.0.1', sdkKey: 'twsdk_' })
  const classes = [Tierway, Outbox, ScenarioSession, BattlePassSession, LevelSession, storage.constructor]
  const members = classes.flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
  // The reference has those for games alone.
  const own = members.filter(
    (name) => name !== 'constructor' && new RegExp(`^- \`([a-z]+ )*${name}\\b`, 'm').test(reference ?? ''),
  )
  expect(own.length).toBeGreaterThan(50)
  expect(own.filter((name) => !new RegExp(`\\b${name}\\b`).test(code))).toEqual([])
})
