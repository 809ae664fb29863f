import { useSyncExternalStore } from 'react'
import { keepText } from '../ui/storage.ts'

/** The roles of callers. Each has the rights of the roles before it, too. */
export const ROLES = ['VIEWER', 'OPERATOR', 'ADMIN'] as const
export type Role = (typeof ROLES)[number]

export interface Session {
  readonly token: string
  /** The name in the audit log. */
  readonly actor: string
  readonly role: Role
  readonly projectId: string
  /** The platform key that made the token, which ends with it. */
  readonly keyId: string
  /** When the service begins to refuse the token, in milliseconds. */
  readonly expiresAt: number
}

// Storage of the tab: another tab, and a browser that is opened again, begin signed out.
const KEY = 'tierway.operator-token'
const listeners = new Set<() => void>()
let session: Session | null = keptSession()
/** The reason why the last session ended, for the sign-in page. */
let ending: string | null = null
/** The session of a link that was followed while another person is signed in. */
let offer: Session | null = null
followLink()
addEventListener('hashchange', followLink)

/** The session of this tab; null when nobody is signed in. */
export const useSession = (): Session | null => useSyncExternalStore(listen, () => session)

export const sessionEnding = (): string | null => ending

/** The session that a link offers in place of this one; null when there is nothing to ask. */
export const useOffer = (): Session | null => useSyncExternalStore(listen, () => offer)

export function declineOffer(): void {
  offer = null
  tell()
}

/** Begins a session with an operator token. Throws an error for any other text. */
export function beginSession(token: string): void {
  session = readToken(token)
  ending = null
  offer = null
  // Without it, a page that is loaded again asks for a sign-in.
  keepText(sessionStorage, KEY, token)
  tell()
}

export function endSession(why: string | null = null): void {
  session = null
  ending = why
  offer = null
  sessionStorage.removeItem(KEY)
  tell()
}

/** Whether a role has the rights of another. */
export const includesRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed)

function keptSession(): Session | null {
  return validSession(sessionStorage.getItem(KEY))
}

/**
 * A link with a token, as the start of a development service prints it. It signs in when nobody is signed in. A stranger
 * can send a link, so it does not replace a session before the person agrees.
 */
function followLink(): void {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return
  // A fragment is never sent, and the history must not keep the token.
  history.replaceState(null, '', location.pathname + location.search)
  const linked = validSession(token)
  if (session !== null) {
    offer = linked?.token === session.token ? null : linked
    tell()
  } else if (linked !== null) beginSession(token)
  else endSession('The link has expired, or is incomplete. Sign in with a platform key, or ask for a new link.')
}

function validSession(token: string | null): Session | null {
  try {
    const read = token === null ? null : readToken(token)
    return read !== null && read.expiresAt > Date.now() ? read : null
  } catch {
    return null
  }
}

/** The claims of an operator token. The service checks the signature at each call. */
function readToken(token: string): Session {
  const [, payload = ''] = token.split('.')
  const bytes = Uint8Array.from(atob(payload.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0))
  const { sub, act, role, prj, exp } = JSON.parse(new TextDecoder().decode(bytes))
  const known = ROLES.find((one) => one === String(role).toUpperCase())
  if (typeof act !== 'string' || known === undefined || typeof exp !== 'number')
    throw new Error('this is not an operator token')
  return { token, actor: act, role: known, projectId: String(prj), keyId: String(sub), expiresAt: exp * 1000 }
}

function tell(): void {
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
