#!/usr/bin/env node
import { Command, Option } from 'commander'
import type { Pool } from 'pg'
import { ROLES, type Role } from './auth/callers.ts'
import { loadTokenKeys } from './auth/key-ring.ts'
import { createPlatformKey, createSdkKey } from './auth/keys.ts'
import { createTokens, generateTokenKey } from './auth/tokens.ts'
import { createGroupCommit } from './commit/group-commit.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { migrate } from './db/migrate.ts'
import { openDatabase } from './db/open.ts'
import { createPool } from './db/pool.ts'
import { Refusal } from './errors.ts'
import { type Json, MAX_INT64, print, readInt } from './json.ts'
import { createOperations } from './operations.ts'
import { createProject, findEnvironment } from './projects/projects.ts'
import { readDemo } from './seed.ts'
import { serve } from './serve.ts'

const program = new Command('tierway').description('A GraphQL gateway for live games.').showHelpAfterError()
const json = () => new Option('--json', 'print one JSON object')

program
  .command('serve')
  .description('run the service')
  .action(() => serve(process.env))

program
  .command('migrate')
  .description('bring the database up to date')
  .addOption(json())
  .action((options) =>
    withDatabase(async ({ pool }) => {
      const applied = await migrate(pool)
      report(
        options,
        { applied },
        applied.length === 0 ? 'The database is up to date.' : applied.map((name) => `applied ${name}`).join('\n'),
      )
    }),
  )

program
  .command('project')
  .description('projects')
  .command('create')
  .description('make a project with its environments')
  .argument('<name>')
  .option('--environment <name...>', 'names of its environments', ['production'])
  .addOption(json())
  .action((name: string, options) =>
    withDatabase(async ({ pool }) => {
      const { projectId, environments } = await createProject(pool, { name, environments: options.environment })
      report(options, { projectId, environments: Object.fromEntries(environments) }, `project ${projectId}`)
    }),
  )

const key = program.command('key').description('keys')
key
  .command('create')
  .description('make an SDK key or a platform key; it is shown once')
  .addOption(new Option('--kind <kind>').choices(['sdk', 'platform']).makeOptionMandatory())
  .requiredOption('--project <id>')
  .option('--environment <name>', 'the environment of an SDK key', 'production')
  .addOption(new Option('--role <role>', 'the role of a platform key').choices(ROLES).default('admin'))
  .addOption(json())
  .action((options) =>
    withDatabase(async ({ pool }) => {
      const made =
        options.kind === 'sdk'
          ? await createSdkKey(pool, await findEnvironment(pool, options.project, options.environment))
          : await createPlatformKey(pool, options.project, options.role as Role)
      report(options, { ...made }, made.key)
    }),
  )
key
  .command('token')
  .description('make a signing key for TOKEN_KEYS')
  .action(async () => {
    process.stdout.write(`${JSON.stringify([await generateTokenKey()])}\n`)
  })

program
  .command('player')
  .description('players')
  .command('token')
  .description('make a player and print its access token, for development')
  .option('--project <id>', 'the demo project unless given')
  .option('--environment <name>', 'the environment of the player', 'production')
  .option('--nickname <name>')
  .option('--credit <currency=amount...>', 'what its wallet starts with, such as gems=1000')
  .addOption(json())
  .action((options) =>
    withDatabase(async ({ pool, config }) => {
      const projectId = options.project ?? (await readDemo(config.dataDir))?.projectId
      if (projectId === undefined)
        throw new Error('There is no demo project: start the service once, or give --project.')
      const environmentId = await findEnvironment(pool, projectId, options.environment)
      const commits = { writes: createGroupCommit({ pool }), reads: createGroupCommit({ pool, readOnly: true }) }
      const operations = createOperations({ pool, ...commits })
      const player = await operations.createPlayer(environmentId, options.nickname ?? null)
      for (const credit of options.credit ?? []) {
        await operations.adjustWallet(player, { ...readCredit(credit), reference: 'npx tierway player token' })
      }
      const tokens = await createTokens({
        keys: await loadTokenKeys(config),
        issuer: config.tokenIssuer,
        audience: config.tokenAudience,
      })
      const accessToken = await tokens.issueAccessToken({ ...player, projectId })
      report(options, { playerId: player.playerId, accessToken }, accessToken)
    }),
  )

try {
  await program.parseAsync()
} catch (error) {
  // What a person did wrong is told in a line; anything else is a bug and shows where.
  const isPlain =
    error instanceof ConfigError || error instanceof Refusal || (error instanceof Error && !('code' in error))
  process.stderr.write(`${isPlain ? error.message : error instanceof Error ? (error.stack ?? error.message) : error}\n`)
  process.exitCode = 1
}

interface Opened {
  readonly config: Config
  readonly pool: Pool
}

/** Beside a running service its database is used; alone, the embedded one is started and stopped again. */
async function withDatabase(work: (opened: Opened) => Promise<void>): Promise<void> {
  const config = readConfig(process.env)
  const database = await openDatabase(config)
  const pool = createPool({ url: database.url, connections: 4, onError: () => {} })
  try {
    if (database.embedded) await migrate(pool)
    await work({ config, pool })
  } finally {
    await pool.end()
    await database.stop()
  }
}

function readCredit(text: string): { currency: string; amount: bigint } {
  const [currency = '', digits = ''] = text.split('=')
  const amount = readInt(digits)
  if (currency === '' || amount === undefined || amount < 1n || amount > MAX_INT64) {
    throw new Error(`--credit takes currency=amount, such as gems=1000; "${text}" is not that`)
  }
  return { currency, amount }
}

function report(options: { json?: boolean }, result: Json, text: string): void {
  process.stdout.write(`${options.json ? print(result) : text}\n`)
}
