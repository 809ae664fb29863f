#!/usr/bin/env node
import { Command, InvalidArgumentError, Option } from 'commander'
import { ConfigError, readConfig } from './base/config.ts'
import { type Fault, Refusal } from './base/errors.ts'
import { type Json, MAX_INT64, print, readInt } from './base/json.ts'
import { MAX_NAME, MAX_SLUG } from './base/limits.ts'
import { causeText } from './base/log.ts'
import { createSecrets, generateSecretsKey } from './base/secrets.ts'
import { COMMIT, VERSION } from './base/version.ts'
import { loadSecretsKeys } from './callers/key-ring.ts'
import { createPlatformKey, createSdkKey, createServerKey } from './callers/keys.ts'
import { createProject, findEnvironment, isEnvironmentName, isProjectName } from './callers/projects.ts'
import { ROLES, type Role } from './callers/roles.ts'
import { generateTokenKey } from './callers/tokens.ts'
import { isTurnedAway, rightsFault, tlsFault, toRefusal } from './db/failures.ts'
import { migrate } from './db/migrate.ts'
import { withDatabase } from './db/open.ts'
import { poolerFault } from './db/pool.ts'
import { rotateSecrets } from './db/sealed-secrets.ts'
import { untilReachable } from './db/until-reachable.ts'
import { keyLabel } from './declare/common.ts'
import { isUuid, shape } from './declare/shape.ts'
import { InputSource } from './declare/source.ts'
import { withDevelopmentPlayers } from './dev/development-players.ts'
import { ensureScenario, requireDemo } from './dev/seed.ts'

const program = new Command('tierway')
  .description('A GraphQL gateway for live games.')
  .version(COMMIT ? `${VERSION} (${COMMIT})` : VERSION, '--version', 'print the version and the commit of the build')
  .showHelpAfterError()
const json = () => new Option('--json', 'print one JSON object')

program
  .command('serve')
  .description('run the service')
  .addOption(new Option('--json', 'print one JSON object once it is ready; the log goes to standard error'))
  .action(async ({ json = false }) => {
    // Loaded only here: the other commands do not need it.
    const { serve } = await import('./app/serve.ts')
    await serve(process.env, { json })
  })

program
  .command('migrate')
  .description('bring the database up to date')
  .addOption(json())
  .action((options) =>
    withDatabase(readConfig(process.env), async (pool) => {
      const print = (line: string) => process.stderr.write(`${line}\n`)
      await untilReachable(pool, {
        onWait: (error) => print(`Postgres cannot be reached yet; waiting up to a minute: ${causeText(error)}`),
      })
      const applied = await migrate(pool, { onWait: print })
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
  .action((name: string, options) => {
    if (!isProjectName(name)) throw new Error(`The name of a project has 1 to ${MAX_NAME} characters.`)
    const wrong = options.environment.find((environment: string) => !isEnvironmentName(environment))
    if (wrong !== undefined) {
      throw new Error(
        `"${wrong}" cannot name an environment: a-z or 0-9, then up to ${MAX_SLUG - 1} of a-z, 0-9, _ and -`,
      )
    }
    return withDatabase(readConfig(process.env), async (pool) => {
      const { projectId, environments } = await createProject(pool, { name, environments: options.environment })
      report(options, { projectId, environments: Object.fromEntries(environments) }, `project ${projectId}`)
    })
  })

const key = program.command('key').description('keys')
key
  .command('create')
  .description('make an SDK key, a server key or a platform key; it is shown once')
  .addOption(
    new Option('--kind <kind>', 'the callers: game clients, game servers, or dashboards and tools')
      .choices(['sdk', 'server', 'platform'])
      .makeOptionMandatory(),
  )
  .requiredOption('--project <id>', 'the id of the project, from `project create`', readProjectId)
  .option('--environment <name>', 'the environment of an SDK key or a server key', 'production')
  .addOption(new Option('--role <role>', 'the role of a platform key').choices(ROLES).default('admin'))
  .option('--label <text>', 'what the key is for, shown in lists and in the audit log', readLabel)
  .addOption(json())
  .action((options) =>
    withDatabase(readConfig(process.env), async (pool) => {
      const { label = null } = options
      if (options.kind === 'platform') {
        const made = await createPlatformKey(pool, options.project, options.role as Role, { label })
        return report(options, { ...made, ...(label !== null && { label }) }, made.key)
      }
      const environmentId = await findEnvironment(pool, options.project, options.environment)
      const made = await (options.kind === 'sdk' ? createSdkKey : createServerKey)(pool, environmentId, { label })
      report(options, { ...made, environmentId, ...(label !== null && { label }) }, made.key)
    }),
  )
key
  .command('token')
  .description('make a signing key for TOKEN_KEYS')
  .addOption(json())
  .action(async (options) => {
    const keys = [{ ...(await generateTokenKey()) }]
    report(options, { tokenKeys: keys }, print(keys))
  })

key
  .command('secrets')
  .description('make an encryption key for SECRETS_KEYS')
  .addOption(json())
  .action((options) => {
    const keys = [{ ...generateSecretsKey() }]
    report(options, { secretsKeys: keys }, print(keys))
  })

program
  .command('secrets')
  .description('the secrets in the database')
  .command('rotate')
  .description('seal every secret in the database with the first key of SECRETS_KEYS; the service may run meanwhile')
  .addOption(json())
  .action(async (options) => {
    const config = readConfig(process.env)
    const secrets = createSecrets(await loadSecretsKeys(config))
    const { kid, sealed, kept, unreadable } = await withDatabase(config, (pool) => rotateSecrets(pool, secrets))
    const text = `Secrets sealed with the key ${kid}: ${sealed} now, ${kept} before.`
    const fault = unreadable.map((sentence) => `\nNot sealed anew: ${sentence}.`).join('')
    report(options, { kid, sealed, kept, unreadable: [...unreadable] }, text + fault)
    if (unreadable.length > 0) process.exitCode = 1
  })

program
  .command('env')
  .description('print the address and the keys of the running demo, for a shell: eval "$(npx tierway env)"')
  .addOption(json())
  .action(async (options) => {
    const demo = await requireDemo(readConfig(process.env).dataDir)
    const variables = {
      TIERWAY_URL: demo.baseUrl,
      TIERWAY_KEY: demo.platformKey,
      SDK_KEY: demo.sdkKey,
      PROJECT_ID: demo.projectId,
      ENVIRONMENT_ID: demo.environmentId,
    }
    const lines = Object.entries(variables).map(([name, value]) => `export ${name}='${value}'`)
    report(options, variables, lines.join('\n'))
  })

program
  .command('schema')
  .description('print the GraphQL schema, for code generators and editors')
  .addOption(json())
  .action(async (options) => {
    const { printedSchema } = await import('./schema.ts')
    const schema = printedSchema()
    report(options, { schema }, schema.trimEnd())
  })

program
  .command('player')
  .description('players')
  .command('token')
  .description('make a player and print its access token, for development')
  .option('--project <id>', 'a project; default: that of the demo', readProjectId)
  .option('--environment <name>', 'the environment of the player', 'production')
  .option('--nickname <name>', 'its nickname')
  .option('--credit <currency=amount...>', 'the first balances of its wallet, such as gems=1000')
  .addOption(json())
  .action(async (options) => {
    const config = readConfig(process.env)
    const projectId = options.project ?? (await requireDemo(config.dataDir)).projectId
    const credits = (options.credit ?? []).map(readCredit)
    const { playerId, token } = await withDevelopmentPlayers(config, projectId, options.environment, (create) =>
      create({ nickname: options.nickname, credits }),
    )
    report(options, { playerId, accessToken: token }, token)
  })

program
  .command('demo')
  .description('play the demo season on the running service, with its events as they happen')
  .option('--season', 'play a season from its announcement to the next one instead, with a fast clock')
  .option('--seconds <count>', 'about how long that takes', '60')
  .action(async () => {
    await import('./dev/demo.ts')
  })

program
  .command('seed')
  .description('add players who have played a season up to now, for demos, dashboards and benchmarks')
  .option('--players <count>', 'how many', readCount(1, 1_000_000), 10_000)
  .option('--days <count>', 'how long the season has been running', readCount(1, 366), 60)
  .option('--seed <number>', 'the same seed plays the same season', readCount(0, 2 ** 31 - 1), 1)
  .option('--project <id>', 'a project; default: that of the demo', readProjectId)
  .option('--environment <name>', 'the environment of the players', 'production')
  .option(
    '--scenario <id>',
    'a scenario with a battle pass; the demo season is published if it does not exist',
    'season-1',
  )
  .option('--force', 'also with NODE_ENV=production')
  .addOption(json())
  .action(async (options) => {
    const config = readConfig(process.env)
    if (config.production && !options.force) {
      throw new Error('Seeded players look like real ones: with NODE_ENV=production this needs --force.')
    }
    const projectId = options.project ?? (await requireDemo(config.dataDir)).projectId
    const { seedSeason } = await import('./dev/seed-season.ts')
    const { createProgressBar } = await import('./dev/progress-bar.ts')
    const bar = createProgressBar()
    const stop = new AbortController()
    // A second Ctrl-C ends the process at once.
    process.once('SIGINT', () => stop.abort())
    const { players, days, seed, scenario: scenarioId } = options
    const started = performance.now()
    const counts = await withDatabase(config, async (pool, { url, ca }) => {
      const environmentId = await findEnvironment(pool, projectId, options.environment)
      await ensureScenario(pool, environmentId, scenarioId)
      return seedSeason({
        url,
        ca,
        environmentId,
        scenarioId,
        players,
        days,
        seed,
        eventRetentionDays: config.eventRetentionDays,
        onProgress: ({ doing, done, of }) => bar.draw(done, of, `${done.toLocaleString('en')} ${doing}`),
        signal: stop.signal,
      })
    })
    bar.clear()
    const seconds = Math.round((performance.now() - started) / 100) / 10
    const { players: made, xpGrants, claims, events } = counts
    const text = `${made} players, ${xpGrants} grants of xp, ${claims} claims and ${events} events in ${seconds} s`
    report(options, { ...counts, seconds }, counts.complete ? text : `${text}; stopped before all were there`)
    if (!counts.complete) process.exitCode = 130
  })

try {
  await program.parseAsync()
} catch (error) {
  process.stderr.write(`${describe(error)}\n`)
  process.exitCode = 1
}

/** One line for a fault that the user can fix: wrong arguments, an unreachable database. A bug shows its stack. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const fault = tlsFault(error) ?? rightsFault(error) ?? poolerFault(error)
  if (fault !== undefined) return `The database cannot be used: ${fault}`
  if (error instanceof ConfigError || error instanceof Refusal || !('code' in error)) return error.message
  if (!isTurnedAway(String(error.code)) && toRefusal(error) === undefined) return error.stack ?? error.message
  return `The database cannot be used: ${error.message || error.code}`
}

function readProjectId(text: string): string {
  if (isUuid(text)) return text
  throw new InvalidArgumentError('It must be the id of a project.')
}

function readLabel(label: string): string {
  const faults: Fault[] = []
  shape({ label: keyLabel }).gather(new InputSource({ label }), faults)
  if (faults[0]) throw new InvalidArgumentError(`It ${faults[0].message}.`)
  return label
}

function readCount(low: number, high: number): (text: string) => number {
  return (text) => {
    const count = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (count >= low && count <= high) return count
    throw new InvalidArgumentError(`It must be a whole number from ${low} to ${high}.`)
  }
}

function readCredit(text: string): { currency: string; amount: bigint } {
  const [currency = '', digits = ''] = text.split('=')
  const amount = readInt(digits)
  if (currency === '' || amount === undefined || amount < 1n || amount > MAX_INT64) {
    throw new Error(`--credit takes currency=amount, such as gems=1000, not "${text}"`)
  }
  return { currency, amount }
}

function report(options: { json?: boolean }, result: Json, text: string): void {
  process.stdout.write(`${options.json ? print(result) : text}\n`)
}
