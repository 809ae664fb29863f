import { type Config, ConfigError, misspeltVariables, readConfig } from '../base/config.ts'
import { print } from '../base/json.ts'
import { causeText, createLog, type Logger, rateLimited, terminalLines } from '../base/log.ts'
import { createSecrets } from '../base/secrets.ts'
import { setTracing, tracing } from '../base/tracing.ts'
import { VERSION } from '../base/version.ts'
import { loadSecretsKeys, loadTokenKeys } from '../callers/key-ring.ts'
import { IncompatibleError, requireCompatible } from '../db/compatibility.ts'
import { faultOfFiles } from '../db/embedded-fault.ts'
import { isTurnedAway, rightsFault, tlsFault, toRefusal } from '../db/failures.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { poolerFault } from '../db/pool.ts'
import { unreadableSecrets } from '../db/sealed-secrets.ts'
import { untilReachable } from '../db/until-reachable.ts'
import { consoleLink } from '../dev/console-link.ts'
import { type DemoOperator, startDemoOperator } from '../dev/demo-operator.ts'
import { type Demo, readDemo, type SharedDemo, shareDemo } from '../dev/seed.ts'
import { listenWhileStarting } from '../serve/http/starting.ts'
import { type App, createApp } from './app.ts'
import { createTraces, wantsTraces } from './traces.ts'

/** A stop that takes longer than this, after the configured grace period, ends the process. */
const STOP_DEADLINE_MS = 15_000

/**
 * Runs the service until SIGTERM, SIGINT, or the end of its terminal. All faults of the configuration are printed at
 * once, with exit code 1. With `json`, standard output gets only one JSON object, once the service is ready.
 */
export async function serve(
  env: Readonly<Record<string, string | undefined>>,
  { json = false }: { json?: boolean } = {},
): Promise<void> {
  let config: Config
  try {
    config = readConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 1
    return
  }
  // The reader of stdout may be gone (`npm start | head`). An unhandled EPIPE would end the process.
  process.stdout.on('error', () => undefined)
  const log = createLog(config.logLevel, json ? process.stderr : await terminalLines())
  for (const sentence of misspeltVariables(env)) log.warn(sentence)
  try {
    await start(config, log, json, env)
  } catch (error) {
    if (error instanceof ConfigError) {
      process.stderr.write(`${error.message}\n`)
      process.exit(1)
    }
    if (error instanceof IncompatibleError) {
      log.fatal(`Tierway could not start: ${error.message}`)
      process.exit(1)
    }
    // Keys and the demo are in the data directory, too.
    const fault = await faultOfFiles(error, config.dataDir, config.databaseUrl === null)
    if (fault) {
      process.stderr.write(`Tierway could not start: ${fault.message}\n`)
      process.exit(1)
    }
    const isDatabase = isTurnedAway(String((error as { code?: unknown }).code)) || toRefusal(error) !== undefined
    const reason = tlsFault(error) ?? rightsFault(error) ?? 'Postgres cannot be used'
    if (isDatabase) log.fatal({ err: causeText(error) }, `Tierway could not start: ${reason}`)
    else log.fatal({ err: error }, 'Tierway could not start')
    process.exit(1)
  }
}

async function start(
  config: Config,
  log: Logger,
  json: boolean,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const started = performance.now()
  if (wantsTraces(env)) {
    const warn = rateLimited(log)
    setTracing(await createTraces({ onError: (error) => warn(error, 'spans could not be sent') }))
  }
  const opening = open(config, log)

  let stopping = false
  async function stop(signal: string): Promise<void> {
    // A second signal ends the process at once.
    if (stopping) process.exit(1)
    stopping = true
    const { shutdownGraceMs } = config
    if (shutdownGraceMs > 0) log.info(`${signal}: not ready any more, stopping in ${shutdownGraceMs} ms`)
    else log.info(`${signal}: answering the running calls, then stopping`)
    setTimeout(() => process.exit(1), shutdownGraceMs + STOP_DEADLINE_MS).unref()
    const opened = await opening.catch(() => undefined)
    const inUse = await opened?.close()
    log.info(inUse ? 'stopped; the embedded Postgres runs on for another process' : 'stopped')
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', stop)

  const { app, folder, shareDemo, close } = await opening
  let freePort: (() => Promise<void>) | undefined
  try {
    if (config.migrateOnStart) {
      let reason = 'Postgres does not answer'
      if (config.answerWhileStarting) freePort = await listenWhileStarting(config, () => reason)
      await untilReachable(app.pool, {
        onWait: (error) =>
          log.warn({ err: causeText(error) }, 'Postgres cannot be reached yet; waiting up to a minute'),
        isOver: () => stopping,
      })
      if (stopping) return
      await refuseUnsafe(app)
      reason = 'the database is being migrated'
      await migrate(app.pool, {
        folder,
        onApplied: (name) => log.info(`migrated ${name}`),
        onWait: (line) => log.warn(line),
      })
    } else {
      // An unreachable database is no reason to end: `/readyz` asks again.
      await Promise.all([requireCompatible(app.pool, folder), refuseUnsafe(app)]).catch((error) => {
        if (error instanceof IncompatibleError || error instanceof ConfigError || poolerFault(error) !== undefined)
          throw error
      })
    }
    await refuseUnreadable(app, config, log)
    const port = await app.listen(freePort)
    const baseUrl = `http://${hostToCall(config.host)}:${port}`
    const demo = await shareDemo(baseUrl)
    const console = demo && config.console ? await consoleLink(app.service, { ...demo, baseUrl }) : undefined
    log.info(`Tierway ${VERSION} is ready at ${baseUrl} after ${((performance.now() - started) / 1000).toFixed(1)} s`)
    process.stdout.write(
      json
        ? `${print({ baseUrl, demo: demo ? { ...demo } : null, console: console ?? null })}\n`
        : describe(baseUrl, config, demo, console),
    )
  } catch (error) {
    // An error during a stop comes from the stop.
    if (stopping) return
    await close()
    const pooler = poolerFault(error)
    if (pooler !== undefined) throw new ConfigError([pooler])
    throw faultOfListening(error, config) ?? error
  }
}

async function refuseUnsafe(app: App): Promise<void> {
  const fault = await app.whyNotDurable()
  if (fault !== undefined) throw new ConfigError([fault])
}

/** A start that misses a key of SECRETS_KEYS would log nobody in: say it before the earlier instances have ended. */
async function refuseUnreadable({ pool, service }: App, { requireSecrets }: Config, log: Logger): Promise<void> {
  const sentences = await unreadableSecrets(pool, service.secrets).catch((error) => {
    // Without a migration, Postgres may be unreachable or lack a table yet. The list of problems looks again.
    log.warn({ err: causeText(error) }, 'the secrets in the database could not be checked')
    return []
  })
  if (sentences.length === 0) return
  const advice = 'Add the key again, or set REQUIRE_SECRETS=false to start without these secrets and set them anew'
  if (requireSecrets) throw new ConfigError(sentences.map((sentence) => `${sentence}. ${advice}`))
  for (const sentence of sentences) log.error(sentence)
}

/** The fault of an address that cannot be listened on; undefined for any other error. */
function faultOfListening(error: unknown, { host, port, metricsPort }: Config): ConfigError | undefined {
  const {
    code,
    hostname,
    port: refused,
    syscall,
  } = error as NodeJS.ErrnoException & { hostname?: string; port?: number }
  if (code === 'EADDRNOTAVAIL' || (code === 'ENOTFOUND' && hostname === host)) {
    const fault = `HOST ${host} is no address of this machine: set HOST to one of them, or to :: for all`
    return new ConfigError([fault])
  }
  if (syscall !== 'listen') return undefined
  const [name, number] = refused === metricsPort ? ['METRICS_PORT', refused] : ['PORT', port]
  if (code === 'EADDRINUSE') {
    const fault = `${name} ${number} is in use: stop the process that listens there, or set ${name} to another port`
    return new ConfigError([fault])
  }
  if (code !== 'EACCES') return undefined
  return new ConfigError([`this user has no right to ${name} ${number}: set ${name} to another port, such as 4000`])
}

/** The host that reaches the service from the same machine. */
function hostToCall(host: string | null): string {
  if (host === null || host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Opens the app and the resources that it needs. When one cannot be opened, those already open are closed. */
async function open(config: Config, log: Logger) {
  if (config.databaseUrl === null) log.info(`starting the embedded Postgres in ${config.dataDir}`)
  const database = await openDatabase(config, (message) => log.info(message))
  let app: App | undefined
  let operator: DemoOperator | undefined
  let shared: SharedDemo | undefined
  /** Returns whether another process still uses the embedded database. */
  async function close(): Promise<boolean> {
    await app?.stop()
    await operator?.close()
    await shared?.close()
    await tracing()?.close()
    return (await database.stop()).inUse
  }
  try {
    const tokenKeys = await loadTokenKeys(config)
    const secretsKeys = await loadSecretsKeys(config)
    const opened = await createApp({
      config,
      log,
      databaseUrl: database.url,
      tokenKeys,
      secretsKeys,
      // The demo is in the embedded database, which production refuses.
      readDemo: database.folder !== null ? () => readDemo(config.dataDir) : undefined,
    })
    app = opened
    if (database.folder !== null) operator = await startDemoOperator()
    return {
      app: opened,
      folder: database.folder,
      /** The demo of the embedded database, once this service answers at the address. */
      async shareDemo(baseUrl: string): Promise<Demo | undefined> {
        if (!operator) return undefined
        const { pool } = opened
        const options = { pool, secrets: createSecrets(secretsKeys), dataDir: config.dataDir, baseUrl, operator }
        shared = await shareDemo(database.url, options, () => log.info('this service runs the demo from now on'))
        return shared.demo
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** The addresses of the service, and what to try next. Empty in production, where programs read the output. */
function describe(baseUrl: string, config: Config, demo: Demo | undefined, console: string | undefined): string {
  if (config.production) return ''
  const lines = [
    '',
    `  REST       ${baseUrl}/sdk/v1          contract: ${baseUrl}${config.docs ? '/docs, ' : ''}/openapi.json`,
    `  GraphQL    ${baseUrl}/graphql${config.graphiql ? '         GraphiQL in a browser' : ''}`,
    `  WebSocket  ${baseUrl.replace('http', 'ws')}/graphql           graphql-transport-ws`,
    `  Metrics    ${baseUrl}/metrics         health: /livez, /readyz`,
  ]
  if (config.console) lines.push(`  Console    ${baseUrl}/console         live operations in a browser`)
  if (demo) {
    const { scenarioId, passNodeId, environment, sdkKey, platformKey, customData } = demo
    lines.push(
      `  Play       ${baseUrl}/play            the demo season in a browser`,
      ...(console ? ['', '  Console, signed in for 12 hours', `    ${console}`] : []),
      '',
      `  Demo keys (kept in ${config.dataDir}/demo.json)`,
      `    SDK key       ${sdkKey}`,
      `    Platform key  ${platformKey}`,
      '',
      "  A first login, through the demo studio's own webhook, and a first call:",
      `    TOKEN=$(curl -s ${baseUrl}/sdk/v1/authorization/custom -H 'X-SDK-Key: ${sdkKey}' \\`,
      `      -d '{"customData":${JSON.stringify(customData)}}' | sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')`,
      `    curl ${baseUrl}/sdk/v1/battlepass/progress -H "Authorization: Bearer $TOKEN" \\`,
      `      -d '{"scenarioId":"${scenarioId}","nodeId":"${passNodeId}"}'`,
      '',
      '  A first subscription, then play: npx tierway demo',
      `    curl -N ${baseUrl}/graphql -H 'Authorization: Bearer ${platformKey}' \\`,
      `      -H 'Content-Type: application/json' -H 'Accept: text/event-stream' \\`,
      `      -d '{"query":"subscription { onEvent(environment: \\"${environment}\\") { occurredAt handle playerId data } }"}'`,
    )
  }
  return `${lines.join('\n')}\n\n`
}
