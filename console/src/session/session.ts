import { useSyncExternalStore } from 'react'

/** The roles of callers. Each has the rights of the roles before it, too. */
export const ROLES = ['VIEWER', 'OPERATOR', 'ADMIN'] as const
export type Role = (typeof ROLES)[number]

/** A signed-in person. */
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
let session: Session | null = readSession()
/** The reason why the last session ended, for the sign-in page. */
let ending: string | null = null

/** The session of this tab; null when nobody is signed in. */
export const useSession = (): Session | null => useSyncExternalStore(listen, () => session)

export const sessionEnding = (): string | null => ending

/** Begins a session with an operator token. Throws an error for any other text. */
export function beginSession(token: string): void {
  session = readToken(token)
  ending = null
  sessionStorage.setItem(KEY, token)
  tell()
}

export function endSession(why: string | null = null): void {
  session = null
  ending = why
  sessionStorage.removeItem(KEY)
  tell()
}

/** Whether a role has the rights of another. */
export const includesRole = (role: Role, needed: Role): boolean => ROLES.indexOf(role) >= ROLES.indexOf(needed)

function readSession(): Session | null {
  // The link that `npm start` prints. A fragment is never sent, and the history must not keep the token.
  const linked = new URLSearchParams(location.hash.slice(1)).get('token')
  if (linked !== null) {
    history.replaceState(null, '', location.pathname + location.search)
    sessionStorage.setItem(KEY, linked)
  }
  const token = sessionStorage.getItem(KEY)
  try {
    const kept = token === null ? null : readToken(token)
    return kept !== null && kept.expiresAt > Date.now() ? kept : null
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
