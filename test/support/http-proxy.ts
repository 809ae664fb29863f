import { type Fate, type Gateway, startGateway } from './gateway.ts'

/** What happens to calls on their way through a bad network. */
const FATES = {
  /** It never reaches the service; the connection breaks. */
  lost: 'cut',
  /** The service does it; the answer never comes back, and the connection breaks. */
  unanswered: 'lose',
  /** The service does it; the answer breaks off in its midst. */
  cut: 'tear',
  /** It reaches the service twice, at once. */
  doubled: 'double',
  /** It takes a while. */
  delayed: { after: () => new Promise((resolve) => setTimeout(resolve, 20)) },
  /** A proxy says that the service is away. */
  refused: { status: 503, headers: { 'content-type': 'text/html' }, body: '<h1>away</h1>' },
  /** The service answers with status 200 that it is away, as GraphQL does. */
  away: {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: '{"errors":[{"message":"unavailable","extensions":{"code":"UNAVAILABLE"}}]}',
  },
  /** It is one too many: the answer says to come back in a second. */
  limited: { status: 429, headers: { 'retry-after': '1' }, body: '{}' },
  /** It reaches the service, and nothing comes back while the caller waits. */
  hung: 'mute',
  /** A network's own page comes back, with success. */
  captured: { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Wi-Fi</h1>' },
} as const satisfies Record<string, Fate>

export type Mishap = keyof typeof FATES

/** A way to the service on which things happen. */
export interface HttpProxy extends Pick<Gateway, 'cut' | 'close'> {
  readonly baseUrl: string
  /** Says what happens to a call; nothing, unless it names something. */
  mishap: (path: string) => Mishap | undefined
  /** The paths of all calls that came. */
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
  gateway.decide(({ path }) => {
    const mishap = proxy.mishap(path)
    return mishap === undefined ? 'pass' : FATES[mishap]
  })
  return proxy
}
