import { keepText } from '../ui/storage.ts'

// A sign-in with the studio's own accounts. The service does it by redirects; the page begins it and fetches the token.

const PATH = '/console/sign-on'
/** After it, the sign-in page has platform keys alone. */
const DEADLINE_MS = 10_000
/** The project whose button was shown last. A link can name another one, as `?project=`. */
const PROJECT = 'tierway.sign-on-project'

export interface SignOnOption {
  readonly projectId: string
  readonly title: string
}

/** The button of the sign-in page. Null where people sign in by platform keys alone. */
export async function readOption(projectId?: string): Promise<SignOnOption | null> {
  if (projectId !== undefined) return optionAt(`?project=${encodeURIComponent(projectId)}`)
  const named = new URLSearchParams(location.search).get('project')
  const known = named ?? localStorage.getItem(PROJECT)
  const found = (known && (await optionAt(`?project=${encodeURIComponent(known)}`))) || (await optionAt(''))
  if (found) keepText(localStorage, PROJECT, found.projectId)
  return found
}

async function optionAt(query: string): Promise<SignOnOption | null> {
  const response = await fetch(`${PATH}/option${query}`, { signal: AbortSignal.timeout(DEADLINE_MS) })
  if (!response.ok) return null
  const { projectId, title } = await response.json()
  return typeof projectId === 'string' && typeof title === 'string' ? { projectId, title } : null
}

/** The address that begins a sign-in. It ends on the present page, or renews the session in a window of its own. */
export function startHref({ projectId }: SignOnOption, renews = false): string {
  const page = renews ? RENEWAL : isEnd() ? '/console' : location.pathname + location.search
  return `${PATH}/start?${new URLSearchParams({ project: projectId, return: page })}`
}

const RENEWAL = '/console/signed-on-again'

/** Whether this window was opened to renew the session of another one. */
export const isRenewal = (): boolean => location.pathname === RENEWAL

/** Whether this is the page on which a sign-in ends. */
export const isEnd = (): boolean => location.pathname === '/console/signed-on'

const FAULTS: Readonly<Record<string, string>> = {
  off: 'Sign-in with this account is not set up, or was switched off.',
  unavailable: 'The account service did not answer as it must. Try again; the log of Tierway has the reason.',
  refused: 'The account service did not sign you in.',
  expired: 'The sign-in took too long, or was begun in another browser. Try again.',
  no_role: 'Your account has no role here. Ask an admin to add one of your groups.',
  no_name: 'Your account has no name that the audit log could have.',
}

/** The end of a sign-in: a token and the page to go on with, or the reason why there is none. */
export async function finishSignOn(): Promise<{ readonly token: string; readonly returnTo: string } | string> {
  const fault = new URLSearchParams(location.search).get('fault')
  if (fault !== null) return (Object.hasOwn(FAULTS, fault) && FAULTS[fault]) || 'The sign-in failed.'
  const response = await fetch(`${PATH}/token`, { method: 'POST', signal: AbortSignal.timeout(DEADLINE_MS) })
  return response.ok ? await response.json() : (FAULTS.expired ?? '')
}
