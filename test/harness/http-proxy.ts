import { type Fate, type Gateway, startGateway } from './gateway.ts'

/** What happens to calls on their way through a bad network. */
const FATES = {
  /** It never reaches the service; the connection breaks. */
  lost: 'cut',
  /** The service handles it; the answer never comes back, and the connection breaks. */
  unanswered: 'lose',
  /** The service handles it; the answer breaks off in the middle. */
  cut: 'tear',
  /** It reaches the service twice, at once. */
  doubled: 'double',
  /** It takes a while. */
  delayed: { after: () => new Promise((resolve) => setTimeout(resolve, 20)) },
  /** A proxy answers that the service is unavailable. */
  refused: { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>away</h1>' },
  /** The service answers with status 200 that it is unavailable, as GraphQL does. */
  away: {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"errors":[{"message":"unavailable","extensions":{"code":"UNAVAILABLE"}}]}',
  },
  /** It is above the rate limit: the answer says to retry after a second. */
  limited: { status: 429, headers: { 'retry-after': '1' }, body: '{}' },
  /** The service has no turn for it, and says so. */
  undone: {
    status: 503,
    headers: { 'content-type': 'application/json', 'retry-after': '1' },
    body: '{"error":"unavailable","code":"unavailable","requestId":"1","details":[{"path":"","message":"nothing was done: busy"}]}',
  },
  /** It reaches the service, and nothing comes back while the caller waits. */
  hung: 'mute',
  /** Something else answers for the service, with status 200 and JSON. */
  hollow: { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' },
  maintained: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"status":"maintenance"}' },
  nulled: { status: 200, headers: { 'content-type': 'application/json' }, body: 'null' },
  /** Something else answers with status 200 and nothing. */
  blank: { status: 200, body: '' },
  /** Something else refuses the call, with JSON of its own. */
  blocked: { status: 403, headers: { 'content-type': 'application/json' }, body: '{"code":"WAF-17","error":"no"}' },
  /** A page of the network comes back with status 200. */
  captured: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Wi-Fi</h1>' },
} as const satisfies Record<string, Fate>

export type Mishap = keyof typeof FATES | Extract<Fate, { readonly after: unknown }>

/** A proxy to the service that fails on demand. */
export interface HttpProxy extends Pick<Gateway, 'cut' | 'close'> {
  readonly baseUrl: string
  /** The mishap of a call to a path; undefined when the call passes. A WebSocket is a GET, whose connection breaks. */
  mishap: (path: string, method: string) => Mishap | undefined
  /** The paths of all calls so far. */
  readonly seen: readonly string[]
}

export async function startHttpProxy(target: () => string): Promise<HttpProxy> {
  const gateway = await startGateway(target)
  const proxy: HttpProxy = {
    baseUrl: gateway.url,
    mishap: () => undefined,
    get seen() {
      return gateway.passed.map(({ path }) => path)
    },
    cut: gateway.cut,
    close: gateway.close,
  }
  gateway.decide(({ path, method }) => {
    const mishap = proxy.mishap(path, method)
    return mishap === undefined ? 'pass' : typeof mishap === 'string' ? FATES[mishap] : mishap
  })
  return proxy
}
