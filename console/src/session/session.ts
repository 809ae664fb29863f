import { useSyncExternalStore } from 'react'
import { keepText } from '../ui/storage.ts'
import { ROLES, type Role } from './roles.ts'
import { isEnd } from './sign-on.ts'
import { joinTabs, type TabMessage } from './tabs.ts'

export interface Session {
  readonly token: string
  /** The id of the token. It is no secret. */
  readonly id: string
  /** The name in the audit log. */
  readonly actor: string
  readonly role: Role
  readonly projectId: string
  /** The platform key that made the token, which ends with it. */
  readonly keyId: string
  /** When the service begins to refuse the token, in milliseconds. */
  readonly expiresAt: number
}

// The storage of this tab, for when its page is loaded again. Other tabs get the token by messages, in memory.
const KEY = 'tierway.operator-token'
/** The id of the session that a person ended last, for tabs that were not running then. */
const ENDED = 'tierway.ended-session'
/** Other tabs answer within some milliseconds. One that answers later still signs this tab in. */
const ANSWER_MS = 300

export const EXPIRED = 'Your session has expired. Sign in to continue where you were.'
const SIGNED_OUT = 'You have signed out, in every tab of this browser.'
const NOT_SIGNED_IN = 'You are not signed in in this browser. Sign in to see the page that you have opened.'
const BAD_LINK = 'The link has expired, or is incomplete. Sign in with a platform key, or ask for a new link.'

const listeners = new Set<() => void>()
/** The reason why nobody is signed in, for the sign-in page. */
let ending: string | null = null
let session: Session | null = keptSession()
/**
 * Why the service no longer accepts the token of the session. Its page stays, under a dialog that signs in again: what
 * was typed is kept.
 */
let suspension: string | null = null
/** Requests that wait for the next sign-in. */
let waiting: ((renewed: Session | null) => void)[] = []
/** The session of a link that was followed while another person is signed in. */
let offer: Session | null = null
/** The session of a link, while other tabs are asked for theirs. */
let linked: Session | null = null
let isAsking = false
const tabs = joinTabs(receive)
followLink()
addEventListener('hashchange', followLink)
if (session === null && !isAsking) askTabs(null)

/** The session of this browser; null when nobody is signed in. */
export const useSession = (): Session | null => useSyncExternalStore(listen, () => session)

export const currentSession = (): Session | null => session

/** Why the person must sign in again, over the page. Null while the session is valid. */
export const useSuspension = (): string | null => useSyncExternalStore(listen, () => suspension)

export const sessionEnding = (): string | null => ending

/** Whether other tabs are being asked for their session. */
export const useIsAsking = (): boolean => useSyncExternalStore(listen, () => isAsking)

/** The session that a link offers in place of this one; null when there is nothing to ask. */
export const useOffer = (): Session | null => useSyncExternalStore(listen, () => offer)

export function declineOffer(): void {
  offer = null
  notify()
}

/**
 * Begins a session with an operator token, in every tab where nobody or the person before is signed in. Throws an error
 * for any other text.
 */
export function beginSession(token: string): void {
  const before = session
  take(readToken(token))
  tabs.send({ kind: 'began', token, inPlaceOf: before?.id ?? null })
}

/** Ends the session in every tab. */
export function endSession(why = SIGNED_OUT): void {
  if (session !== null) {
    keepText(localStorage, ENDED, session.id)
    tabs.send({ kind: 'ended', id: session.id, why })
  }
  leave(why)
}

/** Asks the person to sign in again over the page, unless another session has begun meanwhile. */
export function suspendSession({ id }: Session, why: string): void {
  if (session?.id !== id || suspension !== null) return
  suspension = why
  notify()
}

/** The session once it is valid: that of the next sign-in, if it must be renewed. Null after a sign-out. */
export const validAgain = (): Promise<Session | null> =>
  suspension === null ? Promise.resolve(session) : new Promise((resolve) => waiting.push(resolve))

/** Ends a suspension, after a sign-in or a sign-out. */
function release(): void {
  suspension = null
  const released = waiting
  waiting = []
  for (const resolve of released) resolve(session)
}

function take(begun: Session): void {
  session = begun
  release()
  ending = null
  offer = null
  isAsking = false
  // Without it, a page that is loaded again asks for a sign-in when it is the only one.
  keepText(sessionStorage, KEY, begun.token)
  notify()
}

/** Says why nobody was signed in. An existing session continues. */
export function failSignIn(why: string): void {
  if (session === null) leave(why)
}

function leave(why: string): void {
  session = null
  release()
  ending = why
  offer = null
  isAsking = false
  sessionStorage.removeItem(KEY)
  notify()
}

/** Asks the other tabs for their session. Without an answer, the session of the link begins, if there is one. */
function askTabs(ofLink: Session | null): void {
  isAsking = true
  linked = ofLink
  tabs.send({ kind: 'ask' })
  setTimeout(() => {
    if (!isAsking) return
    if (linked !== null) {
      beginSession(linked.token)
      return
    }
    isAsking = false
    if (location.pathname.replace(/\/$/, '') !== '/console' && !isEnd()) ending ??= NOT_SIGNED_IN
    notify()
  }, ANSWER_MS)
  notify()
}

function receive(message: TabMessage): void {
  switch (message.kind) {
    case 'ask':
      if (session !== null && suspension === null) tabs.send({ kind: 'session', token: session.token })
      return
    case 'session': {
      const theirs = validSession(message.token)
      if (session !== null || theirs === null || theirs.id === localStorage.getItem(ENDED)) return
      take(theirs)
      if (linked !== null) follow(linked)
      return
    }
    case 'began': {
      const theirs = validSession(message.token)
      // A tab of a person whom nobody has replaced keeps its session.
      if (theirs !== null && (session === null || session.id === message.inPlaceOf || renews(theirs))) take(theirs)
      return
    }
    case 'ended':
      if (session?.id === message.id) leave(message.why)
  }
}

/** Whether a sign-in of another tab renews the suspended session of this one. */
const renews = ({ projectId }: Session): boolean => suspension !== null && session?.projectId === projectId

function keptSession(): Session | null {
  const token = sessionStorage.getItem(KEY)
  if (token === null) return null
  const kept = validSession(token)
  if (kept !== null && kept.id !== localStorage.getItem(ENDED)) return kept
  sessionStorage.removeItem(KEY)
  ending = kept === null ? EXPIRED : SIGNED_OUT
  return null
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
  const valid = validSession(token)
  if (session === null && valid === null) ending = BAD_LINK
  receiveSession(valid)
}

/**
 * A session that a link or a sign-in elsewhere brings. It begins when nobody is signed in, here or in other tabs;
 * otherwise the person is asked.
 */
export function receiveSession(brought: Session | null): void {
  if (session === null) askTabs(brought)
  else if (brought !== null) follow(brought)
}

/** Replaces the session by that of a link if both are of one person by one key. Otherwise it asks. */
function follow(ofLink: Session): void {
  const isSame = (['actor', 'role', 'projectId', 'keyId'] as const).every((claim) => ofLink[claim] === session?.[claim])
  if (isSame) beginSession(ofLink.token)
  else {
    offer = ofLink
    notify()
  }
}

export function validSession(token: string): Session | null {
  try {
    const read = readToken(token)
    return read.expiresAt > Date.now() ? read : null
  } catch {
    return null
  }
}

/** The claims of an operator token. The service checks the signature at each call. */
export function readToken(token: string): Session {
  const [, payload = ''] = token.split('.')
  const bytes = Uint8Array.from(atob(payload.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0))
  const { jti, sub, act, role, prj, exp } = JSON.parse(new TextDecoder().decode(bytes))
  const known = ROLES.find((one) => one === String(role).toUpperCase())
  if (typeof act !== 'string' || known === undefined || typeof exp !== 'number')
    throw new Error('this is not an operator token')
  const expiresAt = exp * 1000
  return { token, id: String(jti), actor: act, role: known, projectId: String(prj), keyId: String(sub), expiresAt }
}

function notify(): void {
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
