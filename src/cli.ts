#!/usr/bin/env node
import { Command, Option } from 'commander'
import { ROLES, type Role } from './auth/callers.ts'
import { createPlatformKey, createSdkKey } from './auth/keys.ts'
import { generateTokenKey } from './auth/tokens.ts'
import { ConfigError, readConfig } from './config.ts'
import { migrate } from './db/migrate.ts'
import { withDatabase } from './db/open.ts'
import { withDevelopmentPlayers } from './development-players.ts'
import { Refusal } from './errors.ts'
import { type Json, MAX_INT64, print, readInt } from './json.ts'
import { createProject, findEnvironment } from './projects/projects.ts'
import { generateSecretsKey } from './providers/secrets.ts'
import { readDemo } from './seed.ts'

const program = new Command('tierway').description('A GraphQL gateway for live games.').showHelpAfterError()
const json = () => new Option('--json', 'print one JSON object')

program
  .command('serve')
  .description('run the service')
  .action(async () => {
    // Loaded here only: the other commands need none of it.
    const { serve } = await import('./serve.ts')
    await serve(process.env)
  })

program
  .command('migrate')
  .description('bring the database up to date')
  .addOption(json())
  .action((options) =>
    withDatabase(readConfig(process.env), async (pool) => {
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
    withDatabase(readConfig(process.env), async (pool) => {
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
    withDatabase(readConfig(process.env), async (pool) => {
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

key
  .command('secrets')
  .description('make an encryption key for SECRETS_KEYS')
  .action(() => {
    process.stdout.write(`${JSON.stringify([generateSecretsKey()])}\n`)
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
  .action(async (options) => {
    const config = readConfig(process.env)
    const projectId = options.project ?? (await readDemo(config.dataDir))?.projectId
    if (projectId === undefined) throw new Error('There is no demo project: start the service once, or give --project.')
    const credits = (options.credit ?? []).map(readCredit)
    const { playerId, token } = await withDevelopmentPlayers(config, projectId, options.environment, (create) =>
      create({ nickname: options.nickname, credits }),
    )
    report(options, { playerId, accessToken: token }, token)
  })

try {
  await program.parseAsync()
} catch (error) {
  // What a person did wrong is told in a line; anything else is a bug and shows where.
  const isPlain =
    error instanceof ConfigError || error instanceof Refusal || (error instanceof Error && !('code' in error))
  process.stderr.write(`${isPlain ? error.message : error instanceof Error ? (error.stack ?? error.message) : error}\n`)
  process.exitCode = 1
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
