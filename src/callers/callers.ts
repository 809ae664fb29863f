import type { PlayerRef } from '../transactions/player.ts'
import type { Role } from './roles.ts'

/** A player, as its access token names it. Commands read its status. */
export interface PlayerCaller extends PlayerRef {
  readonly kind: 'player'
  readonly projectId: string
  /** When the token ends, in milliseconds since 1970. */
  readonly expiresAt: number
  /** The login that the token came from; null for a token without a login. */
  readonly familyId: string | null
}

/** A game client before any login: its SDK key names a project and an environment. */
export interface ClientRef {
  readonly keyId: string
  readonly projectId: string
  readonly environmentId: string
}

/** A game server: its server key opens one environment. */
export interface ServerCaller {
  readonly kind: 'server'
  readonly keyId: string
  readonly projectId: string
  readonly environmentId: string
}

export interface Operator {
  /** A name or an e-mail address. */
  readonly name: string
  /** True when the call itself names the person. False when the token does: a holder of the key vouched for it. */
  readonly isClaimed: boolean
  /** Of a sign-in by an issuer: the same for a person whatever their name is, and another for everybody else. */
  readonly person?: string
}

/**
 * A caller with a platform key of one project (live-ops, support, tools), or with an operator token made by such a key.
 */
export interface PlatformCaller {
  readonly kind: 'platform'
  readonly keyId: string
  readonly projectId: string
  readonly role: Role
  /** The person who acts with the key, if known. */
  readonly operator?: Operator
  /** When the token ends, in milliseconds since 1970. Undefined for a key, which does not expire. */
  readonly expiresAt?: number
}
