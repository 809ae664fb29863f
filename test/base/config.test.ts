import { Writable } from 'node:stream'
import { beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, misspeltVariables, readConfig } from '../../src/base/config.ts'
import { createLog, type Logger } from '../../src/base/log.ts'
import { generateSecretsKey } from '../../src/base/secrets.ts'
import { generateTokenKey } from '../../src/callers/tokens.ts'

type Env = Readonly<Record<string, string | undefined>>

let keys: string
let secret: string

beforeAll(async () => {
  const key = await generateTokenKey()
  secret = key.d
  keys = JSON.stringify([key])
})

/** The message of the one error; empty when the configuration is accepted. */
function faultsOf(env: Env): string {
  try {
    readConfig(env)
    return ''
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
}

const url = 'postgres://tierway:hunter2@db.example.com:5432/tierway'
const complete = (env: Env = {}): Env => ({
  NODE_ENV: 'production',
  DATABASE_URL: url,
  TOKEN_KEYS: keys,
  SECRETS_KEYS: JSON.stringify([generateSecretsKey()]),
  ...env,
})

describe('the defaults of the configuration', () => {
  it('are enough to run in development without any variable', () => {
    expect(readConfig({})).toMatchObject({
      production: false,
      host: '127.0.0.1',
      port: 4000,
      databaseUrl: null,
      tokenKeys: null,
      secretsKeys: null,
      allowPrivateWebhooks: true,
      redisUrl: null,
      graphiql: true,
      introspection: true,
    })
  })

  it('apply to blank variables', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '  ', TOKEN_KEYS: '', LOG_LEVEL: ' ' })).toEqual(readConfig({}))
  })

  it('are strict in production', () => {
    expect(readConfig(complete())).toMatchObject({
      production: true,
      host: null,
      graphiql: false,
      introspection: false,
      allowPrivateWebhooks: false,
      allowedOrigins: [],
    })
  })
})

describe('rate limits', () => {
  it('keep their defaults, except those that RATE_LIMITS names', () => {
    const { rateLimits } = readConfig({ RATE_LIMITS: ' login=5/s, player = 100/h ,operator=off' })
    expect(rateLimits).toEqual({
      login: { calls: 5, seconds: 1 },
      sdk_key: { calls: 120_000, seconds: 60 },
      player: { calls: 100, seconds: 3_600 },
      operator: null,
      server: { calls: 60_000, seconds: 60 },
      graphql: { calls: 600_000, seconds: 60 },
    })
  })

  it('can all be turned off', () => {
    expect(Object.values(readConfig({ RATE_LIMITS: 'off' }).rateLimits)).toEqual([null, null, null, null, null, null])
  })
})

describe('DATABASE_URL', () => {
  it.each([
    'postgres://tierway:hunter2@[::1]:5432/tierway',
    'postgres://tierway:hunter2@%2Fvar%2Frun%2Fpostgresql/tierway',
    'postgresql:///tierway?host=/var/run/postgresql&user=tierway',
    'postgres://tierway:p%40%3A%2F%3F%23@db/tierway?sslmode=verify-full&application_name=a&options=-c%20jit%3Doff',
    'postgres://tierway:50%off@db/tierway?schema=public&pgbouncer=false&connect_timeout=10&channel_binding=require',
  ])('can be %s', (databaseUrl) => {
    expect(readConfig(complete({ DATABASE_URL: databaseUrl })).databaseUrl).toBe(databaseUrl)
  })
})

describe.each(['DATABASE_URL', 'DATABASE_REPLICA_URL'])('%s', (name) => {
  const of = (given: string) => faultsOf(complete({ [name]: given }))

  it.each([
    ['schema=game', 'must not have the parameter schema: the tables are in the schema public'],
    ['connection_limit=1', 'must not have the parameter connection_limit: set DATABASE_CONNECTIONS instead'],
    ['pgbouncer=true', 'must not have the parameter pgbouncer: the service needs sessions'],
    ['sslmod=require', 'has the parameter sslmod, which nothing here knows; did you mean sslmode?'],
    ['constructor=1', 'has the parameter constructor, which nothing here knows'],
  ])('is refused with ?%s, which would have no effect', (query, fault) => {
    expect(of(`${url}?${query}`)).toContain(`  - ${name} ${fault}`)
    expect(of(`${url}?${query}&max=9`).split('\n')).toHaveLength(3)
  })

  it.each(['postgres://tierway:hunter2@db', 'postgres://tierway:hunter2@db:5432/', 'postgres://db?sslmode=require'])(
    'is refused without a database, which would be one with the name of the role: %s',
    (given) => expect(of(given)).toContain(`${name} must name a database at its end, such as /tierway`),
  )

  it.each(['hunter2#1', 'hunter2/1', 'hunter2?1', '1#hunter2', '1/hunter2', '1?hunter2', 'hunter2%E4'])(
    'says what to do about a password with a special character, and does not repeat it: %s',
    (password) => {
      const message = of(`postgres://tierway:${password}@db/tierway`)
      expect(message).toContain('In a user or password, write @ : / ? # % as %40 %3A %2F %3F %23 %25')
      expect(message).not.toContain('hunter2')
    },
  )
})

describe('a variable that is misspelt', () => {
  it("is named with the one that was meant, and others are nobody's business", () => {
    const env = { DATABASE_CONECTIONS: '5', REDIS_URL: 'redis://a', SECRET_KEYS: '', TOKENS_KEYS: '', RATE_LIMIT: '' }
    expect(
      misspeltVariables({ ...env, PATH: '', HOSTNAME: '', DATABASE_HOST: '', PORTS: '', TIERWAY_URL: '' }),
    ).toEqual([
      'the variable DATABASE_CONECTIONS has no effect: did you mean DATABASE_CONNECTIONS?',
      'the variable SECRET_KEYS has no effect: did you mean SECRETS_KEYS?',
      'the variable TOKENS_KEYS has no effect: did you mean TOKEN_KEYS?',
      'the variable RATE_LIMIT has no effect: did you mean RATE_LIMITS?',
    ])
    expect(misspeltVariables(complete())).toEqual([])
  })
})

describe('the configuration', () => {
  const faults: [fault: string, env: Env][] = [
    ['NODE_ENV must be one of production, development, test', { NODE_ENV: 'prod' }],
    ['PORT must be a whole number from 0 to 65535', { PORT: 'http' }],
    ['PORT must be a whole number from 0 to 65535', { PORT: '65536' }],
    ['PORT must be a whole number from 0 to 65535', { PORT: '-1' }],
    ['PORT must be a whole number from 0 to 65535', { PORT: '4000.5' }],
    ['PORT must be a whole number from 0 to 65535', { PORT: '0x10' }],
    ['DATABASE_URL must be a postgres:// URL', { DATABASE_URL: 'mysql://root@db/tierway' }],
    ['DATABASE_URL must be a postgres:// URL', { DATABASE_URL: 'db.example.com:5432' }],
    ['DATABASE_URL must be a postgres:// URL', { DATABASE_URL: 'postgres:///tierway' }],
    ['REDIS_URL must be a redis:// or rediss:// URL', { REDIS_URL: 'redis.example.com:6379' }],
    ['EVENT_RETENTION_DAYS must be a whole number from 1 to 3650', { EVENT_RETENTION_DAYS: '0' }],
    ['LEDGER_RETENTION_MONTHS must be a whole number from 1 to 1200', { LEDGER_RETENTION_MONTHS: '0' }],
    ['DATABASE_CONNECTIONS must be a whole number from 4 to 1000', { DATABASE_CONNECTIONS: '3' }],
    ['DATABASE_CONNECTIONS must be a whole number from 4 to 1000', { DATABASE_CONNECTIONS: 'many' }],
    ['MIGRATE_ON_START must be true or false', { MIGRATE_ON_START: 'yes' }],
    ['GRAPHIQL must be true or false', { GRAPHIQL: '1' }],
    ['INTROSPECTION must be true or false', { INTROSPECTION: 'TRUE' }],
    ['DOCS must be true or false', { DOCS: 'on' }],
    ['PERSISTED_OPERATIONS_ONLY must be true or false', { PERSISTED_OPERATIONS_ONLY: 'yes' }],
    ['PERSISTED_OPERATIONS must name a file of documents', { PERSISTED_OPERATIONS_ONLY: 'true' }],
    ['TOKEN_KEYS must be a JSON list of private Ed25519 JWKs', { TOKEN_KEYS: 'not json' }],
    ['TOKEN_KEYS must be a JSON list of private Ed25519 JWKs', { TOKEN_KEYS: '[]' }],
    ['TOKEN_KEYS must be a JSON list of private Ed25519 JWKs', { TOKEN_KEYS: '{"kty":"OKP"}' }],
    ['TOKEN_KEYS must be a JSON list of private Ed25519 JWKs', { TOKEN_KEYS: '[{"kty":"RSA","kid":"a"}]' }],
    ['SECRETS_KEYS must be a JSON list of {"kid", "key"}', { SECRETS_KEYS: 'not json' }],
    ['SECRETS_KEYS must be a JSON list of {"kid", "key"}', { SECRETS_KEYS: '[]' }],
    ['SECRETS_KEYS must be a JSON list of {"kid", "key"}', { SECRETS_KEYS: '[null]' }],
    ['SECRETS_KEYS must be a JSON list of {"kid", "key"}', { SECRETS_KEYS: '[{"kid":"a","key":"too-short"}]' }],
    [
      'SECRETS_KEYS must be a JSON list of {"kid", "key"}',
      { SECRETS_KEYS: `[{"kid":"a.b","key":"${'k'.repeat(43)}"}]` },
    ],
    ['WEBHOOK_PRIVATE_ADDRESSES must be one of allow, deny', { WEBHOOK_PRIVATE_ADDRESSES: 'true' }],
    ['MAX_BODY_BYTES must be a whole number from 1024 to 67108864', { MAX_BODY_BYTES: '1000' }],
    ['RATE_LIMITS must be off, or a list such as login=1000/m,player=off; "100" is no entry', { RATE_LIMITS: '100' }],
    ['RATE_LIMITS must be off, or a list', { RATE_LIMITS: 'xp=3/s' }],
    ['RATE_LIMITS must be off, or a list', { RATE_LIMITS: 'player=3/d' }],
    ['RATE_LIMITS must be off, or a list', { RATE_LIMITS: 'player=3/s,' }],
    ['RATE_LIMITS must name player once', { RATE_LIMITS: 'player=3/s, player=off' }],
    ['RATE_LIMITS must allow 1 to 1000000000 calls for login', { RATE_LIMITS: 'login=0/s' }],
    ['TRUSTED_PROXIES must be a whole number from 0 to 10', { TRUSTED_PROXIES: 'all' }],
    ['ALLOWED_ORIGINS must list origins', { ALLOWED_ORIGINS: '*' }],
    ['ALLOWED_ORIGINS must list origins', { ALLOWED_ORIGINS: 'https://a.example.com/, https://b.example.com' }],
    ['METRICS_TOKEN must have at least 16 characters', { METRICS_TOKEN: 'short' }],
    ['METRICS_PORT must be a whole number from 0 to 65535', { METRICS_PORT: 'metrics' }],
    [
      'METRICS_PORT must be a whole number from 0 to 65535: Kubernetes sets it for a service of that name, unless the pod has enableServiceLinks: false',
      { METRICS_PORT: 'tcp://10.0.0.7:9100' },
    ],
    ['SHUTDOWN_GRACE_MS must be a whole number from 0 to 300000', { SHUTDOWN_GRACE_MS: '5s' }],
    ['LOG_LEVEL must be one of trace, debug, info, warn, error, silent', { LOG_LEVEL: 'loud' }],
  ]

  for (const [fault, env] of faults) {
    it(`refuses ${JSON.stringify(env)}: ${fault}`, () => {
      const message = faultsOf(complete(env))
      expect(message).toContain('The configuration has a fault:')
      expect(message).toContain(fault)
    })
  }

  for (const text of ['postgres://', 'postgres://user:password@host:port/tierway']) {
    it(`refuses ${text}, which is not the URL of a database`, () => {
      expect(faultsOf(complete({ DATABASE_URL: text }))).toContain('DATABASE_URL must be a postgres:// URL')
    })
  }

  it('refuses the embedded database in production', () => {
    expect(faultsOf({ NODE_ENV: 'production', TOKEN_KEYS: keys })).toContain(
      'DATABASE_URL must be set in production: the embedded Postgres is for development',
    )
  })

  it('requires TOKEN_KEYS with DATABASE_URL and in production', () => {
    expect(faultsOf({ DATABASE_URL: url })).toContain('TOKEN_KEYS must be set')
    expect(faultsOf({ NODE_ENV: 'production' })).toContain('TOKEN_KEYS must be set')
  })

  it('requires SECRETS_KEYS with DATABASE_URL and in production', () => {
    expect(faultsOf({ DATABASE_URL: url })).toContain('SECRETS_KEYS must be set')
    expect(faultsOf({ NODE_ENV: 'production' })).toContain('SECRETS_KEYS must be set')
  })

  it('refuses two secrets keys with the same kid', () => {
    const key = generateSecretsKey()
    expect(faultsOf(complete({ SECRETS_KEYS: JSON.stringify([key, key]) }))).toContain(
      'SECRETS_KEYS must not repeat a kid',
    )
  })

  it('refuses two token keys with the same kid', () => {
    const [key] = JSON.parse(keys)
    expect(faultsOf(complete({ TOKEN_KEYS: JSON.stringify([key, key]) }))).toContain('TOKEN_KEYS must not repeat a kid')
  })

  it('reports every fault in one message', () => {
    const env = {
      NODE_ENV: 'production',
      PORT: 'http',
      DATABASE_CONNECTIONS: '0',
      MIGRATE_ON_START: 'perhaps',
      ALLOWED_ORIGINS: 'everyone',
      METRICS_TOKEN: 'short',
      LOG_LEVEL: 'loud',
    }
    const message = faultsOf(env)
    expect(message).toContain('The configuration has 9 faults:')
    for (const name of Object.keys(env)) if (name !== 'NODE_ENV') expect(message).toContain(`  - ${name} must`)
    expect(message).toContain('  - DATABASE_URL must')
    expect(message).toContain('  - TOKEN_KEYS must')
    expect(message).toContain('  - SECRETS_KEYS must')
  })
})

describe('secrets', () => {
  it('never appear in a message about a fault', () => {
    const [key] = JSON.parse(keys)
    const broken: Env[] = [
      complete({ DATABASE_URL: 'mysql://tierway:hunter2@db/tierway', PORT: 'x' }),
      complete({ TOKEN_KEYS: keys.slice(0, -1) }),
      complete({ TOKEN_KEYS: JSON.stringify([{ ...key, kid: 7 }]) }),
      complete({ TOKEN_KEYS: JSON.stringify([key, key]) }),
      complete({ SECRETS_KEYS: '[{"kid":"a","key":"hunter2"}]' }),
      complete({ METRICS_TOKEN: 'hunter2' }),
      complete({ REDIS_URL: 'http://:hunter2@redis:6379' }),
    ]
    for (const env of broken) {
      const message = faultsOf(env)
      expect(message).toContain('The configuration has')
      expect(message).not.toContain('hunter2')
      expect(message).not.toContain(secret)
    }
  })

  it('never appear in a message about an origin', () => {
    expect(faultsOf(complete({ ALLOWED_ORIGINS: 'https://user:hunter2@dashboard.example.com' }))).not.toContain(
      'hunter2',
    )
  })

  const SECRET = 'a-secret-value'
  const objects: [what: string, log: (log: Logger) => void][] = [
    ['an authorization header', (log) => log.info({ headers: { authorization: `Bearer ${SECRET}` } }, 'call')],
    [
      'a capitalized authorization header',
      (log) => log.info({ headers: { Authorization: `Bearer ${SECRET}` } }, 'call'),
    ],
    ['an SDK key', (log) => log.info({ sdkKey: SECRET }, 'call')],
    ['the header of an SDK key', (log) => log.info({ request: { headers: { 'x-sdk-key': SECRET } } }, 'call')],
    ['a platform key', (log) => log.info({ body: { platformKey: SECRET } }, 'call')],
    ['tokens', (log) => log.info({ session: { accessToken: SECRET, refreshToken: SECRET } }, 'call')],
    ["a provider's secret", (log) => log.info({ provider: { settings: { secret: SECRET } } }, 'call')],
    ['the configuration', (log) => log.info({ config: { databaseUrl: SECRET, tokenKeys: [{ d: SECRET }] } }, 'call')],
    ['the secrets keys', (log) => log.info({ config: { secretsKeys: [{ key: SECRET }] } }, 'call')],
    ['the metrics token', (log) => log.info({ config: { metricsToken: SECRET } }, 'call')],
    ["a login's custom data", (log) => log.info({ body: { customData: { password: SECRET } } }, 'call')],
    ['a member of an error', (log) => log.error({ err: Object.assign(new Error('no'), { secret: SECRET }) }, 'call')],
    ['the cause of an error', (log) => log.error({ err: new Error('no', { cause: { password: SECRET } }) }, 'call')],
  ]

  for (const [what, write] of objects) {
    it(`never reach a log: ${what}`, () => {
      const lines: string[] = []
      const destination = new Writable({
        write(chunk, _encoding, done) {
          lines.push(String(chunk))
          done()
        },
      })
      write(createLog('info', destination))
      expect(lines.join('')).toContain('call')
      expect(lines.join('')).not.toContain(SECRET)
    })
  }
})
