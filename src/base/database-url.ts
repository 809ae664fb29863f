import { nearestName } from './nearest-name.ts'

/** Parameters of a URL that the driver takes, and those of libpq without an effect here. */
const KNOWN = [
  'application_name',
  'channel_binding',
  'client_encoding',
  'connect_timeout',
  'encoding',
  'fallback_application_name',
  'gssencmode',
  'host',
  'keepalives',
  'keepalives_count',
  'keepalives_idle',
  'keepalives_interval',
  'options',
  'password',
  'port',
  'replication',
  'ssl',
  'ssl_min_protocol_version',
  'sslcert',
  'sslcrl',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'sslsni',
  'target_session_attrs',
  'tcp_user_timeout',
  'uselibpqcompat',
  'user',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'statement_timeout',
]

const OWN_POOL = 'set DATABASE_CONNECTIONS instead'

/** Parameters of other clients, such as Prisma, and what to do instead. */
const FOREIGN: Readonly<Record<string, string>> = {
  schema: 'the tables are in the schema public: give Tierway a database of its own',
  pgbouncer: 'the service needs sessions: use Postgres itself, or a pooler with pool_mode = session',
  connection_limit: OWN_POOL,
  max: OWN_POOL,
  pool_timeout: 'set CALL_DEADLINE_MS instead',
  statement_cache_size: 'the service prepares its statements, and needs sessions',
}

/** What some of them say by default changes nothing. */
const HARMLESS: Readonly<Record<string, string>> = { schema: 'public', pgbouncer: 'false' }

/**
 * The faults of the URL of a Postgres: what is ignored there would be missed. They repeat nothing of the URL but the names
 * of parameters, since it has a password.
 */
export function faultsOfDatabaseUrl(name: string, text: string): readonly string[] {
  const shape = `${name} must be a postgres:// URL, such as postgres://user:password@host:5432/tierway`
  if (!/^postgres(ql)?:\/\//.test(text)) return [shape]
  const encoded = `${shape}. In a user or password, write @ : / ? # % as %40 %3A %2F %3F %23 %25`
  if (!URL.canParse(text)) return [encoded]
  const url = new URL(text)
  const { hostname, pathname, hash, search, searchParams, username, password } = url
  // What follows an unencoded / ? or # would be a path, parameters or nothing at all.
  if (hash !== '' || pathname.includes('@') || search.includes('@') || !isDecodable(username + password))
    return [encoded]
  // For a Postgres on a socket the host is empty, and `?host=` names the directory.
  if (hostname === '' && !searchParams.get('host')?.startsWith('/')) return [shape]
  const faults: string[] = []
  if (pathname.length < 2) faults.push(`${name} must name a database at its end, such as /tierway`)
  for (const parameter of new Set(searchParams.keys())) {
    const advice = Object.hasOwn(FOREIGN, parameter) ? FOREIGN[parameter] : undefined
    if (advice !== undefined) {
      if (searchParams.get(parameter) !== HARMLESS[parameter])
        faults.push(`${name} must not have the parameter ${parameter}: ${advice}`)
    } else if (!KNOWN.includes(parameter)) {
      const nearest = nearestName(parameter, KNOWN)
      const meant = nearest === undefined ? '' : `; did you mean ${nearest}?`
      faults.push(`${name} has the parameter ${parameter.slice(0, 64)}, which nothing here knows${meant}`)
    }
  }
  return faults
}

/** The driver takes a lone % as it is. */
function isDecodable(text: string): boolean {
  if (/%(?![0-9a-f]{2})/i.test(text)) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
