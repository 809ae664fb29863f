import findMyWay from 'find-my-way'
import type { Metrics } from '../../base/metrics.ts'
import type { Route } from '../../declare/route.ts'

/** The routes of one path. */
export interface Endpoint {
  readonly path: string
  readonly respond: ReadonlyMap<string, Route['respond']>
  /** The methods that a preflight allows; null where OPTIONS is refused. */
  readonly methods: string | null
  /** The methods that OPTIONS and a 405 list. */
  readonly allow: string
  /** Whether every origin is refused, also a listed one. */
  readonly isOfServers: boolean
  readonly count: (status: number, milliseconds: number) => void
}

export type Params = Readonly<Record<string, string>>

/** The endpoint of a target, with the parameters of its path. */
export interface Found {
  readonly endpoint: Endpoint
  readonly params: Params
}

/** Finds the endpoint of a target. */
export class Endpoints {
  /** The endpoint of every other path. */
  readonly nowhere: Endpoint
  private readonly router = findMyWay({
    // Node limits the whole target. The handler reports faults of a parameter.
    maxParamLength: Number.MAX_SAFE_INTEGER,
    querystringParser: () => ({}),
  })

  constructor(routes: readonly Route[], answersOf: Metrics['answersOf']) {
    // One tree for all methods, so that a wrong method differs from a wrong path.
    for (const path of new Set(routes.map((route) => route.path))) {
      this.router.on('GET', path, () => undefined, endpointOf(path, answersOf, routes))
    }
    this.nowhere = endpointOf('*', answersOf, [])
  }

  find(url: string): Found {
    const { router, nowhere } = this
    // Text that is not valid percent-encoding is taken literally.
    const found = router.find('GET', url) ?? (url.includes('%') ? router.find('GET', url.replaceAll('%', '%25')) : null)
    const params = (found?.params ?? {}) as Params
    for (const name in params) if (params[name] === '') return { endpoint: nowhere, params }
    return { endpoint: found?.store ?? nowhere, params }
  }
}

function endpointOf(path: string, answersOf: Metrics['answersOf'], routes: readonly Route[]): Endpoint {
  const here = routes.filter((route) => route.path === path)
  const respond = new Map<string, Route['respond']>(here.map((route) => [route.method, route.respond]))
  const get = respond.get('GET')
  if (get) respond.set('HEAD', get)
  const all = [...respond.keys()].sort().join(', ')
  const isPage = here.some((route) => route.isPage)
  return {
    path,
    respond,
    methods: isPage ? null : here.map(({ method }) => method).join(', '),
    allow: isPage ? all : `${all}, OPTIONS`,
    isOfServers: here.some((route) => route.isOfServers),
    count: answersOf(path),
  }
}
