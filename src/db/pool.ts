import pg from 'pg'

/** Longer than any statement of ours takes, shorter than any caller waits. */
const STATEMENT_TIMEOUT_MS = 4_000
const LOCK_TIMEOUT_MS = 2_000
/** A server that is frozen or cut off cannot keep its own timeouts: then the connection is given up. */
const ANSWER_TIMEOUT_MS = 4_500
const CONNECT_TIMEOUT_MS = 5_000

/** What every session of ours is set to, whatever the server, its database or its role are set to. */
const SESSION = [
  // Statements that take arrays look cheaper when planned for the very array, so Postgres would plan them every time:
  // that costs more than running them.
  'plan_cache_mode=force_generic_plan',
  // Prisma's adapter takes the time of a zone for the time of UTC.
  'timezone=UTC',
  // Nobody here reads dates in the order of a country.
  'datestyle=ISO',
  // A statement that has waited for a row goes on with the row of then. Reads of one moment ask for a snapshot.
  'default_transaction_isolation=read\\ committed',
  'array_nulls=on',
]

/**
 * What the connections of the game are set to besides. Their groups write the versions of players themselves, and look
 * rows up by whole keys: a scan can only look cheaper while a table is nearly empty, and the plan would be kept.
 */
const GAME_SESSION = ['tierway.keeps_versions=on', 'enable_seqscan=off', 'jit=off']

export interface PoolOptions {
  readonly url: string
  readonly connections: number
  /** For groups of commands alone. */
  readonly isForGroups?: boolean
  readonly onError: (error: Error) => void
}

/** A pool of connections that are set up as ours. */
export function createPool({ url, connections, isForGroups = false, onError }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...targetOf(url, isForGroups ? GAME_SESSION : []),
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 300_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout: 10_000,
    // An instance of version 0.1 was `tierway`, which the database lets write no more.
    application_name: isForGroups ? 'tierway game' : 'tierway service',
    keepAlive: true,
    // Statements go out without waiting for the answers to those before them.
    pipeline: true,
  } as pg.PoolConfig)
  // A connection that breaks is replaced, and the query that it carried fails by itself. Unheard, the event would end
  // the process: the pool listens while a connection is idle, and nobody while it is in use.
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

/** Where a URL leads, and how a session is set there. Options that the URL has come before ours. */
export function targetOf(
  url: string,
  further: readonly string[] = [],
): Pick<pg.PoolConfig, 'connectionString' | 'options'> {
  const target = new URL(url)
  // Left in the URL they would take the place of ours.
  const own = target.searchParams.get('options')
  target.searchParams.delete('options')
  const options = [own ?? '', ...[...SESSION, ...further].map((setting) => `-c ${setting}`)].join(' ').trim()
  return { connectionString: own === null ? url : target.href, options }
}
