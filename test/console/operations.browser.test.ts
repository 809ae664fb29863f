import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/base/config.ts'
import { schema } from '../../src/schema.ts'
import { readPersistedOperations } from '../../src/serve/graphql/persisted-operations.ts'
import { findConsole } from '../../src/serve/http/console.ts'
import { withoutChromium } from '../harness/browser.ts'
import { type ConsoleStage, startConsole } from '../harness/console.ts'
import { generateKeys } from '../harness/game.ts'
import { buildService } from '../harness/service.ts'

const ONLY = '{ streamCursor(environment: "production") }'
let home: string
let stage: ConsoleStage

beforeAll(async () => {
  await buildService()
  home = await mkdtemp(join(tmpdir(), 'tierway-console-'))
  const file = join(home, 'documents.json')
  await writeFile(file, JSON.stringify({ [createHash('sha256').update(ONLY).digest('hex')]: ONLY }))
  if (withoutChromium !== '') return
  stage = await startConsole({ env: { PERSISTED_OPERATIONS: file, PERSISTED_OPERATIONS_ONLY: 'true' } })
})
afterAll(async () => {
  await stage?.stop()
  if (home) await rm(home, { recursive: true })
})

describe('documents of the console', () => {
  it('are valid by the schema and within the limits of documents', async () => {
    const path = new URL('operations.json', findConsole())
    const file = join(home, 'console.json')
    await writeFile(file, await readFile(path))
    const keys = await generateKeys()
    const config = readConfig({
      NODE_ENV: 'test',
      DATABASE_URL: 'postgres://x/tierway',
      ...keys,
      PERSISTED_OPERATIONS: file,
    })
    expect((await readPersistedOperations(config, schema)).size).toBeGreaterThan(4)
  })

  it.skipIf(withoutChromium !== '')(
    `${withoutChromium}run with PERSISTED_OPERATIONS_ONLY, which refuses unknown documents`,
    async () => {
      const { game } = stage
      const refused = await game.graphql(game.platformKey, '{ project { name } }')
      expect(refused.errors?.[0]).toMatchObject({ extensions: { code: 'PERSISTED_QUERY_REQUIRED' } })
      const { page, close } = await stage.blank()
      await page.goto(`${game.baseUrl}/console/env/production/players`)
      await page.getByLabel('Platform key').fill(game.platformKey)
      await page.getByLabel('Your name').fill('Ada')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('heading', { name: 'Players' }).waitFor()
      await close()
    },
  )
})
