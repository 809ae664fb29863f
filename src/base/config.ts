import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { faultsOfDatabaseUrl } from './database-url.ts'
import { nearestName } from './nearest-name.ts'
import { type ConnectionLimitSettings, readConnectionLimits } from './rate-limits/connection-limits.ts'
import { type RateLimitSettings, readRateLimits } from './rate-limits/rate-limits.ts'
import type { SecretsKey } from './secrets.ts'
import { Variables } from './variables.ts'

/** A private Ed25519 key as a JWK with its `kid`. */
export interface TokenKey {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly kid: string
  readonly x: string
  readonly d: string
}

/** The configuration from environment variables. Read once at start, and passed on. */
export interface Config {
  readonly production: boolean
  /** Null for all addresses of IPv4 and IPv6. */
  readonly host: string | null
  readonly port: number
  /** Null starts an embedded Postgres under `dataDir` (development only). */
  readonly databaseUrl: string | null
  /** The certificates of the authorities that sign the certificate of Postgres, in PEM. Null takes the machine's. */
  readonly databaseCa: string | null
  /** A streaming replica for lists, figures, exports and previews. Null reads them from the primary. */
  readonly databaseReplicaUrl: string | null
  /** How old the answers of the replica may be, in seconds. */
  readonly replicaMaxAge: number
  readonly databaseConnections: number
  /** The longest time for which a call waits for Postgres, in milliseconds. */
  readonly callDeadlineMs: number
  readonly migrateOnStart: boolean
  /** Whether a start answers probes. A proxy without health checks learns by a closed port that an instance starts. */
  readonly answerWhileStarting: boolean
  /** Refuses a Postgres that can lose commits in a crash. */
  readonly requireFsync: boolean
  /** Whether the first calls come once made-up ones have warmed the process up. */
  readonly warmUp: boolean
  /** Refuses to start without a key that seals a secret of the database. */
  readonly requireSecrets: boolean
  /** Carries the live signal between instances. Null keeps it within this instance. */
  readonly redisUrl: string | null
  /** How long events are kept, for subscriptions that resume from a cursor. */
  readonly eventRetentionDays: number
  /** How long the ledgers of xp and of wallets are kept. Null keeps them for ever. */
  readonly ledgerRetentionMonths: number | null
  /** Where rows of ledgers and events are written before they are dropped. Null writes none. */
  readonly archiveDir: string | null
  readonly dataDir: string
  /** Null creates a key and stores it under `dataDir` (development only). The first key signs, all verify. */
  readonly tokenKeys: readonly TokenKey[] | null
  readonly tokenIssuer: string
  readonly tokenAudience: string
  /** Null creates a key and stores it under `dataDir` (development only). The first key encrypts, all decrypt. */
  readonly secretsKeys: readonly SecretsKey[] | null
  /** Whether webhooks may have private, loopback and other addresses that are not public. */
  readonly allowPrivateWebhooks: boolean
  /** Where the public keys of Google and Apple are, for their ID tokens. Null takes the platforms' own addresses. */
  readonly googleKeysUrl: string | null
  readonly appleKeysUrl: string | null
  readonly maxBodyBytes: number
  readonly rateLimits: RateLimitSettings
  readonly connectionLimits: ConnectionLimitSettings
  /** The number of proxies in front of the service that append their client's address to `X-Forwarded-For`. */
  readonly trustedProxies: number
  /** Browser origins that may call and subscribe. Native clients send no origin and are always allowed. */
  readonly allowedOrigins: readonly string[]
  readonly graphiql: boolean
  readonly introspection: boolean
  /** Whether the page of the REST contract is at `/docs`. */
  readonly docs: boolean
  /** Whether the console is at `/console`. */
  readonly console: boolean
  /** Files of the GraphQL documents that clients may name by their hash. */
  readonly persistedOperations: readonly string[]
  /** Refuses every document that is not in these files. */
  readonly persistedOperationsOnly: boolean
  /** The most that one GraphQL operation may cost. */
  readonly graphqlMaxCost: number
  /** A separate port for metrics. Null serves them on the main port, with `metricsToken` or, in development, openly. */
  readonly metricsPort: number | null
  readonly metricsToken: string | null
  /** How long calls are still served after the signal to stop, while `/readyz` is 503. */
  readonly shutdownGraceMs: number
  readonly logLevel: LogLevel
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Thrown by `readConfig`; its message names every fault and what to set instead. */
export class ConfigError extends Error {
  constructor(faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    )
    this.name = 'ConfigError'
  }
}

/** Reads the configuration from environment variables. Every fault is named in one error. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const variables = new Variables(env)
  const { faults } = variables
  const production = variables.oneOf('NODE_ENV', ['production', 'development', 'test'], 'development') === 'production'
  const database = readDatabase(variables, production)
  const isEmbedded = database.databaseUrl === null
  const redisUrl = readRedisUrl(variables)
  const keys = readKeyRings(variables, isEmbedded && !production)
  const allowedOrigins = readOrigins(variables)
  const persisted = readPersisted(variables)
  const metricsToken = readMetricsToken(variables)
  const metricsPort = variables.text('METRICS_PORT') === null ? null : variables.integer('METRICS_PORT', 0, 0, 65_535)

  const config: Config = {
    production,
    ...database,
    redisUrl,
    ...keys,
    allowedOrigins,
    ...persisted,
    metricsToken,
    metricsPort,
    host: variables.text('HOST') ?? (production ? null : '127.0.0.1'),
    port: variables.integer('PORT', 4000, 0, 65_535),
    replicaMaxAge: variables.integer('REPLICA_MAX_AGE', 10, 3, 3_600),
    databaseConnections: variables.integer('DATABASE_CONNECTIONS', 10, 4, 1000),
    callDeadlineMs: variables.integer('CALL_DEADLINE_MS', 5_000, 1_000, 60_000),
    migrateOnStart: variables.flag('MIGRATE_ON_START', true),
    answerWhileStarting: variables.flag('ANSWER_WHILE_STARTING', false),
    requireFsync: variables.flag('REQUIRE_FSYNC', production),
    warmUp: variables.flag('WARM_UP', production),
    requireSecrets: variables.flag('REQUIRE_SECRETS', true),
    eventRetentionDays: variables.integer('EVENT_RETENTION_DAYS', 30, 1, 3650),
    ledgerRetentionMonths:
      variables.text('LEDGER_RETENTION_MONTHS') === null
        ? null
        : variables.integer('LEDGER_RETENTION_MONTHS', 0, 1, 1200),
    archiveDir: variables.text('ARCHIVE_DIR'),
    dataDir: variables.text('TIERWAY_DATA_DIR') ?? '.tierway',
    tokenIssuer: variables.text('TOKEN_ISSUER') ?? 'tierway',
    tokenAudience: variables.text('TOKEN_AUDIENCE') ?? 'tierway',
    googleKeysUrl: keysUrl('GOOGLE_KEYS_URL', variables),
    appleKeysUrl: keysUrl('APPLE_KEYS_URL', variables),
    allowPrivateWebhooks:
      variables.oneOf('WEBHOOK_PRIVATE_ADDRESSES', ['allow', 'deny'], isEmbedded ? 'allow' : 'deny') === 'allow',
    maxBodyBytes: variables.integer('MAX_BODY_BYTES', 1_048_576, 1024, 64 * 1_048_576),
    rateLimits: readRateLimits(variables.text('RATE_LIMITS'), faults),
    connectionLimits: readConnectionLimits(variables.text('CONNECTION_LIMITS'), faults),
    trustedProxies: variables.integer('TRUSTED_PROXIES', 0, 0, 10),
    graphiql: variables.flag('GRAPHIQL', !production),
    introspection: variables.flag('INTROSPECTION', !production),
    docs: variables.flag('DOCS', true),
    console: variables.flag('CONSOLE', true),
    graphqlMaxCost: variables.integer('GRAPHQL_MAX_COST', 20_000, 1, 1_000_000_000),
    shutdownGraceMs: variables.integer('SHUTDOWN_GRACE_MS', 0, 0, 300_000),
    logLevel: variables.oneOf('LOG_LEVEL', LOG_LEVELS, 'info'),
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return config
}

function readDatabase(
  variables: Variables,
  production: boolean,
): Pick<Config, 'databaseUrl' | 'databaseCa' | 'databaseReplicaUrl'> {
  const { faults } = variables
  const databaseUrl = variables.text('DATABASE_URL')
  if (databaseUrl !== null) faults.push(...faultsOfDatabaseUrl('DATABASE_URL', databaseUrl))
  if (databaseUrl === null && production) {
    faults.push('DATABASE_URL must be set in production: the embedded Postgres is for development')
  }

  const ca = variables.text('DATABASE_CA')
  const databaseCa = ca === null ? null : readCertificates(ca, faults)
  const tlsFault = (name: string) =>
    `${name} must have no sslmode but require, verify-ca or verify-full, and no sslrootcert, sslcert or sslkey, when DATABASE_CA is set`
  if (ca !== null && databaseUrl !== null && !leavesTlsToUs(databaseUrl)) faults.push(tlsFault('DATABASE_URL'))

  const databaseReplicaUrl = variables.text('DATABASE_REPLICA_URL')
  if (databaseReplicaUrl !== null) {
    faults.push(...faultsOfDatabaseUrl('DATABASE_REPLICA_URL', databaseReplicaUrl))
    if (databaseUrl === null)
      faults.push('DATABASE_REPLICA_URL needs DATABASE_URL: the embedded Postgres has no replica')
    else if (ca !== null && !leavesTlsToUs(databaseReplicaUrl)) faults.push(tlsFault('DATABASE_REPLICA_URL'))
  }
  return { databaseUrl, databaseCa, databaseReplicaUrl }
}

function readRedisUrl(variables: Variables): string | null {
  const redisUrl = variables.text('REDIS_URL')
  if (redisUrl !== null && !isUrlOf(redisUrl, ['redis:', 'rediss:'])) {
    variables.faults.push('REDIS_URL must be a redis:// or rediss:// URL, such as redis://host:6379')
  }
  return redisUrl
}

/** The keys of tokens and of secrets. The service makes its own only where `mayMake`. */
function readKeyRings(variables: Variables, mayMake: boolean): Pick<Config, 'tokenKeys' | 'secretsKeys'> {
  const { faults } = variables
  const keys = variables.text('TOKEN_KEYS')
  const tokenKeys = keys === null ? null : readTokenKeys(keys, faults)
  if (keys === null && !mayMake) {
    faults.push(
      'TOKEN_KEYS must be set unless the database is the embedded one: make a key with `npx tierway key token`',
    )
  }
  const secrets = variables.text('SECRETS_KEYS')
  const secretsKeys = secrets === null ? null : readSecretsKeys(secrets, faults)
  if (secrets === null && !mayMake) {
    faults.push(
      'SECRETS_KEYS must be set unless the database is the embedded one: make a key with `npx tierway key secrets`',
    )
  }
  return { tokenKeys, secretsKeys }
}

function readOrigins(variables: Variables): readonly string[] {
  const origins = listOf(variables.text('ALLOWED_ORIGINS'))
  for (const [index, origin] of origins.entries()) {
    // Named by its position: a URL given by mistake may contain a password.
    if (!isOrigin(origin))
      variables.faults.push(
        `ALLOWED_ORIGINS must list origins such as https://dashboard.example.com; entry ${index + 1} is none`,
      )
  }
  return origins
}

function readPersisted(variables: Variables): Pick<Config, 'persistedOperations' | 'persistedOperationsOnly'> {
  const persistedOperations = listOf(variables.text('PERSISTED_OPERATIONS'))
  const persistedOperationsOnly = variables.flag('PERSISTED_OPERATIONS_ONLY', false)
  if (persistedOperationsOnly && persistedOperations.length === 0) {
    variables.faults.push('PERSISTED_OPERATIONS must name a file of documents when PERSISTED_OPERATIONS_ONLY is true')
  }
  return { persistedOperations, persistedOperationsOnly }
}

function readMetricsToken(variables: Variables): string | null {
  const token = variables.text('METRICS_TOKEN')
  if (token !== null && token.length < 16) variables.faults.push('METRICS_TOKEN must have at least 16 characters')
  return token
}

/** The entries of a text with commas. */
const listOf = (text: string | null): string[] => (text ?? '').split(',').flatMap((entry) => entry.trim() || [])

function keysUrl(name: string, variables: Variables): string | null {
  const url = variables.text(name)
  if (url !== null && !isUrlOf(url, ['http:', 'https:'])) variables.faults.push(`${name} must be an http or https URL`)
  return url
}

/** Letters that differ in a misspelt name. With more, or in a short name, it is most likely another one. */
const MISSPELT = { letters: 2, length: 8 }

/** A sentence about each variable that nobody reads, and whose name is most likely misspelt. */
export function misspeltVariables(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const read = new Set<string>()
  readConfig(new Proxy({}, { get: (_, name) => void read.add(String(name)) }))
  const known = [...read].filter((name) => name.length >= MISSPELT.length)
  return Object.keys(env).flatMap((name) => {
    if (read.has(name) || name.length < MISSPELT.length) return []
    const meant = nearestName(name, known, MISSPELT.letters)
    return meant === undefined ? [] : [`the variable ${name} has no effect: did you mean ${meant}?`]
  })
}

/** Certificates in PEM, or the path of a file with them. Line ends may be written as `\\n`, as in files of variables. */
function readCertificates(given: string, faults: string[]): string | null {
  const fault = 'DATABASE_CA must be the certificates of an authority in PEM, or the path of a file with them'
  let pem = given.replaceAll('\\n', '\n')
  try {
    if (!pem.startsWith('-----BEGIN')) pem = readFileSync(given, 'utf8')
    const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
    for (const certificate of certificates) new X509Certificate(certificate)
    if (certificates.length > 0) return pem
    faults.push(fault)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    faults.push(code && !pem.startsWith('-----BEGIN') ? `${fault}; the file cannot be read (${code})` : fault)
  }
  return null
}

/** With an authority of ours, TLS is always verified. The driver would let the URL's own settings win. */
function leavesTlsToUs(url: string): boolean {
  if (!URL.canParse(url)) return true
  const { searchParams } = new URL(url)
  const mode = searchParams.get('sslmode')
  const isOwn = ['ssl', 'sslrootcert', 'sslcert', 'sslkey'].some((name) => searchParams.has(name))
  return !isOwn && (mode === null || ['require', 'verify-ca', 'verify-full'].includes(mode))
}

function readTokenKeys(text: string, faults: string[]): TokenKey[] {
  const keys = readKeys<TokenKey>(text, isTokenKey)
  if (!keys) {
    faults.push(
      'TOKEN_KEYS must be a JSON list of private Ed25519 JWKs with kid, x and d; make one with `npx tierway key token`',
    )
    return []
  }
  if (repeatsKid(keys)) faults.push('TOKEN_KEYS must not repeat a kid')
  return keys.map(({ kty, crv, kid, x, d }) => ({ kty, crv, kid, x, d }))
}

function isTokenKey(key: Record<string, unknown>): boolean {
  const { kty, crv, kid, x, d } = key
  return kty === 'OKP' && crv === 'Ed25519' && typeof kid === 'string' && kid.length > 0 && is32Bytes(x) && is32Bytes(d)
}

function readSecretsKeys(text: string, faults: string[]): SecretsKey[] {
  const keys = readKeys<SecretsKey>(text, ({ kid, key }) => typeof kid === 'string' && isKid(kid) && is32Bytes(key))
  if (!keys) {
    faults.push(
      'SECRETS_KEYS must be a JSON list of {"kid", "key"} with 32 bytes in base64url as key; make one with `npx tierway key secrets`',
    )
    return []
  }
  if (repeatsKid(keys)) faults.push('SECRETS_KEYS must not repeat a kid')
  return keys.map(({ kid, key }) => ({ kid, key }))
}

/** A list of keys; undefined when the text is no list, is empty, or has an invalid entry. */
function readKeys<Key>(text: string, isKey: (key: Record<string, unknown>) => boolean): Key[] | undefined {
  let keys: unknown
  try {
    keys = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(keys) || keys.length === 0) return undefined
  return keys.every((key) => typeof key === 'object' && key !== null && isKey(key)) ? keys : undefined
}

const isKid = (kid: string): boolean => /^[\w-]{1,64}$/.test(kid)
const is32Bytes = (part: unknown): boolean => typeof part === 'string' && /^[\w-]{43}$/.test(part)
const repeatsKid = (keys: readonly { kid: string }[]): boolean => new Set(keys.map(({ kid }) => kid)).size < keys.length

function isUrlOf(text: string, protocols: readonly string[]): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocols.includes(protocol) && hostname !== ''
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}
