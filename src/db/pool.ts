import pg from 'pg'

/** Longer than our statements take, shorter than callers wait. */
const STATEMENT_TIMEOUT_MS = 4_000
const LOCK_TIMEOUT_MS = 2_000
/** A frozen instance holds its locks for this long. The calls of other instances wait longer, and then go on. */
const IDLE_TRANSACTION_TIMEOUT_MS = 2_500
/** A frozen or unreachable server cannot enforce its own timeouts. Then the connection is given up. */
export const ANSWER_TIMEOUT_MS = 4_500
const CONNECT_TIMEOUT_MS = 5_000

/** The settings of all our sessions. They override those of the server, its database and its role. */
const SESSION = [
  // Statements with arrays look cheaper when planned for the actual array, so Postgres would plan them every time,
  // which costs more than running them.
  'plan_cache_mode=force_generic_plan',
  // Prisma's adapter reads local times as UTC.
  'timezone=UTC',
  // Dates are read in ISO order only.
  'datestyle=ISO',
  // A statement that waited for a row continues with the current row. Reads that must see one moment use a snapshot.
  'default_transaction_isolation=read\\ committed',
  'array_nulls=on',
  // An acknowledged call must survive a crash of the server.
  'synchronous_commit=on',
  // Plans with many lookups by key look expensive, so that JIT would start, and take longer than it saves.
  'jit=off',
  // Shows that the session has these settings: see `requireSettings`.
  'tierway.session=on',
]

/**
 * Further settings of the game's connections. Their groups write the versions of players themselves, and look rows up
 * by whole keys: a scan looks cheaper only while a table is nearly empty, and its plan would be kept.
 */
const GAME_SESSION = ['tierway.keeps_versions=on', 'enable_seqscan=off']

export interface PoolOptions {
  readonly url: string
  /** The certificates of the authorities that sign the server's, in PEM. The URL then leaves TLS to us. */
  readonly ca?: string | null
  readonly connections: number
  /** The pool serves only groups of commands. They have their own timer for `ANSWER_TIMEOUT_MS`. */
  readonly isForGroups?: boolean
  readonly onError: (error: Error) => void
  /** Called with the SQLSTATE whenever Postgres refuses a statement because it takes no writes. */
  readonly onWriteRefused?: (state: WriteRefusal) => void
}

/** A full disk, and a server or database that is read-only. */
export type WriteRefusal = '53100' | '25006'

/** A pool of connections with our settings. */
export function createPool({
  url,
  ca,
  connections,
  isForGroups = false,
  onError,
  onWriteRefused,
}: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...targetOf({ url, ca }, isForGroups ? GAME_SESSION : []),
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 300_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    // With the driver's timer for each query, what a group used stays in memory until a full garbage collection. That
    // took a quarter of the CPU time of groups.
    query_timeout: isForGroups ? 0 : ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    application_name: isForGroups ? 'tierway game' : 'tierway service',
    keepAlive: true,
    onConnect: requireSettings,
    // Statements are sent without waiting for the answers to earlier ones.
    pipeline: true,
  } as pg.PoolConfig)
  // A broken connection is replaced, and its query fails by itself. An unhandled event would end the process: the pool
  // handles errors of idle connections, and the second listener those of connections in use.
  pool.on('error', onError)
  pool.on('connect', (client) => {
    client.on('error', () => void gone.add(client))
    if (onWriteRefused) {
      client.connection.on('errorMessage', ({ code }: { code?: string }) => {
        if (code === '53100' || code === '25006') onWriteRefused(code)
      })
    }
  })
  return pool
}

const gone = new WeakSet<pg.ClientBase>()

/** Whether the connection of a pool is known to have ended: a statement that is sent on it now reaches no server. */
export const isGone = (client: pg.ClientBase): boolean => gone.has(client)

/** The target of a URL, and the options of its sessions. The URL's own options come before ours. */
export function targetOf(
  { url, ca }: Pick<PoolOptions, 'url' | 'ca'>,
  further: readonly string[] = [],
): Pick<pg.PoolConfig, 'connectionString' | 'options' | 'ssl'> {
  const target = new URL(url)
  // Options that stay in the URL would replace ours.
  const own = target.searchParams.get('options')
  target.searchParams.delete('options')
  const options = [own ?? '', ...[...SESSION, ...further].map((setting) => `-c ${setting}`)].join(' ').trim()
  if (ca) {
    // The driver would make settings of its own from it.
    target.searchParams.delete('sslmode')
    return { connectionString: target.href, options, ssl: { ca } }
  }
  return { connectionString: own === null ? url : target.href, options }
}

/** A connection outside the pools, to the same target. It ends with its owner. */
export async function openClient(target: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(target)
  // The query on a broken connection fails by itself. An unhandled event would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    await requireSettings(client)
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}

/**
 * Throws for a session without our settings: a pooler dropped them, and may change the session between two statements.
 * Every connection is asked before its first use, so that no statement runs with foreign settings, and no lock stays
 * with a session that belongs to others.
 */
async function requireSettings(client: pg.ClientBase): Promise<void> {
  const text = "SELECT current_setting('tierway.session', true) AS value"
  const { rows } = await client.query<{ value: string | null }>({
    text,
    query_timeout: ANSWER_TIMEOUT_MS,
  } as pg.QueryConfig)
  if (rows[0]?.value !== 'on') throw new Error(POOLER)
}

const POOLER =
  'DATABASE_URL leads to a connection pooler that does not keep the settings of a session: connect to Postgres itself, since Tierway pools its connections'
/** The answer of PgBouncer where it neither takes nor ignores settings. */
const REFUSED_SETTINGS = 'unsupported startup parameter'

/** The fault of a connection that leads to a pooler, and what to do; undefined for any other error. */
export const poolerFault = (error: unknown): string | undefined =>
  error instanceof Error && (error.message === POOLER || error.message.includes(REFUSED_SETTINGS)) ? POOLER : undefined

/** The settings with which a crash of the server's machine can lose commits. */
export async function unsafeSettings(pool: pg.Pool): Promise<readonly ('fsync' | 'full_page_writes')[]> {
  const { rows } = await pool.query(
    "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name",
  )
  return rows.map(({ name }) => name)
}

/** Whether Postgres refuses writes: a standby, or a server or database that is set to be read-only. */
export async function refusesWrites(pool: pg.Pool): Promise<boolean> {
  const { rows } = await pool.query<{ refuses: boolean }>(
    "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS refuses",
  )
  return rows[0]?.refuses ?? false
}
