import type { IncomingMessage } from 'node:http'
import { Refusal } from '../../base/errors.ts'
import { clientAddress } from '../../base/rate-limits/client-address.ts'
import { json, type Reply } from '../../declare/respond.ts'
import type { RestContext, Route } from '../../declare/route.ts'
import { isUuid } from '../../declare/shape.ts'
import { isOn, readOnlySignOn, readSignOn } from '../../project/single-sign-on/settings.ts'
import {
  beginSignOn,
  finishSignOn,
  openPass,
  PASS_SECONDS,
  SignOnError,
  TICKET_SECONDS,
} from '../../project/single-sign-on/sign-on.ts'
import { getPage, SECURITY } from './page-files.ts'

// The addresses of a sign-in by single sign-on. No address has a token: what the next step needs is in a cookie that
// scripts cannot read, and the page fetches its token by a POST of its own origin.

const PATH = '/console/sign-on'
/** Followed by the beginning of the state: two tabs may sign in at once. */
const TICKET = 'tierway_sign_on_'
const PASS = 'tierway_signed_on'
/** Maximum number of sign-ins of a browser at a time. A cookie has up to 2 KB, and all headers 16. */
const MOST_TICKETS = 3

/** The page of the console that finishes a sign-in, or says why it failed. */
const END = '/console/signed-on'

interface Cookie {
  readonly name: string
  readonly value: string
  readonly seconds: number
  /** Lax where the issuer sends the browser, strict where only the page itself calls. */
  readonly sameSite: 'Lax' | 'Strict'
  readonly isSecure: boolean
}

const cookie = ({ name, value, seconds, sameSite, isSecure }: Cookie): readonly string[] => [
  'set-cookie',
  `${name}=${value}; Path=${PATH}; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`,
]

const gone = (name: string): readonly string[] => ['set-cookie', `${name}=; Path=${PATH}; Max-Age=0; HttpOnly`]

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const pairs = (headers.cookie ?? '').split('; ')
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1)
}

const ticketOf = (state: string | null): string => `${TICKET}${state?.replace(/[^\w-]/g, '').slice(0, 16) ?? ''}`

/** The cookies of earlier sign-ins that would be too many with one more. Browsers send the oldest first. */
const surplus = ({ headers }: IncomingMessage): readonly string[] =>
  (headers.cookie ?? '')
    .split('; ')
    .filter((pair) => pair.startsWith(TICKET))
    .slice(0, -(MOST_TICKETS - 1))
    .map((pair) => pair.slice(0, pair.indexOf('=')))

const redirect = (location: string, ...headers: readonly string[]): Reply => ({
  status: 302,
  body: '',
  headers: [...SECURITY, 'location', location, 'cache-control', 'no-store', ...headers],
})

const isSecure = (consoleUrl: string): boolean => consoleUrl.startsWith('https:')
const queryOf = ({ url }: IncomingMessage) => new URLSearchParams(url?.split('?', 2)[1])

/** Runs a step of a sign-in. A failure ends on a page of the console, which says why. */
async function step(context: RestContext, request: IncomingMessage, run: () => Promise<Reply>): Promise<Reply> {
  await context.service.rateLimits.countLogin(clientAddress(request, context.trustedProxies))
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof SignOnError)) throw error
    return redirect(`${END}?fault=${error.fault}`, ...gone(ticketOf(queryOf(request).get('state'))))
  }
}

export const signOnRoutes: readonly Route[] = [
  // The sign-in page asks whether there is a button to show. It learns nothing of a service with several projects.
  getPage(`${PATH}/option`, async (context, request) => {
    const { pool, rateLimits } = context.service
    await rateLimits.countLogin(clientAddress(request, context.trustedProxies))
    const projectId = queryOf(request).get('project')
    if (projectId !== null && !isUuid(projectId)) return json({ projectId: null, title: null })
    const found = projectId === null ? await readOnlySignOn(pool) : await readSignOn(pool, projectId)
    return json(
      found && isOn(found) ? { projectId: found.projectId, title: found.title } : { projectId: null, title: null },
    )
  }),

  getPage(`${PATH}/start`, (context, request) =>
    step(context, request, async () => {
      const query = queryOf(request)
      const projectId = query.get('project') ?? ''
      if (!isUuid(projectId)) throw new SignOnError('off')
      const begun = await beginSignOn(context.service, { projectId, returnTo: query.get('return') })
      const ticket = {
        name: ticketOf(begun.state),
        value: begun.ticket,
        seconds: TICKET_SECONDS,
        sameSite: 'Lax',
      } as const
      const own = cookie({ ...ticket, isSecure: isSecure(begun.consoleUrl) })
      return redirect(begun.url, ...surplus(request).flatMap(gone), ...own)
    }),
  ),

  getPage(`${PATH}/callback/:projectId`, (context, request, { projectId = '' }) =>
    step(context, request, async () => {
      const answer = queryOf(request)
      const ticket = ticketOf(answer.get('state'))
      const finished = await finishSignOn(context.service, { answer, projectId }, cookieOf(request, ticket))
      const pass = { name: PASS, value: finished.pass, seconds: PASS_SECONDS, sameSite: 'Strict' } as const
      return redirect(END, ...gone(ticket), ...cookie({ ...pass, isSecure: isSecure(finished.consoleUrl) }))
    }),
  ),

  {
    method: 'POST',
    path: `${PATH}/token`,
    isPage: true,
    async respond({ service }, request) {
      try {
        const { token, returnTo } = openPass(service.secrets, cookieOf(request, PASS))
        const answer = json({ token, returnTo })
        return { ...answer, headers: [...answer.headers, ...gone(PASS)] }
      } catch (error) {
        if (error instanceof SignOnError) throw new Refusal('invalidToken')
        throw error
      }
    },
  },
]
