import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { LRUCache } from 'lru-cache'
import { DocumentFault, type GuardedJson } from './guarded-json.ts'

/** Keys are read again after this time, so that a key that an issuer has withdrawn ends. */
const MAX_AGE_MS = 10 * 60_000
/** Keys that cannot be read again stay valid until then. */
const MAX_STALE_MS = 6 * 60 * 60_000
/** A token with an unknown key makes the service read the keys again, at most this often. */
const SEEK_MS = 60_000
/** Unknown keys of an issuer that are remembered. */
const MAX_UNKNOWN = 1_000
/** After a failure, the keys are not read again for this long: an issuer that hangs must not slow down each login. */
const PAUSE_MS = 2_000
const MAX_SETS = 1_000

/** Where an issuer's keys are. */
export interface KeySource {
  /** Null when the issuer's configuration names the address (OpenID Connect Discovery). */
  readonly jwksUrl: string | null
  /** The issuer whose configuration that is. */
  readonly issuer: string
}

/** The public keys of issuers, in memory. */
export interface KeySets {
  /**
   * The keys of an issuer, as jose takes them. Finding a key fails with a {@link DocumentFault} when the keys cannot be
   * had, or when they were read too short a time ago to look for a key that is none of them; and with
   * `JWKSNoMatchingKey` for a key that a later reading did not have either.
   */
  keysOf(source: KeySource): JWTVerifyGetKey
}

export function createKeySets(documents: Pick<GuardedJson, 'read'>, now = Date.now): KeySets {
  const sets = new LRUCache<string, KeySet>({ max: MAX_SETS })

  return {
    keysOf(source) {
      const id = JSON.stringify([source.jwksUrl, source.issuer])
      const known = sets.get(id) ?? new KeySet(() => readKeys(documents, source), now)
      sets.set(id, known)
      return (...token) => known.find(...token)
    },
  }
}

class KeySet {
  private readonly read: () => Promise<JSONWebKeySet>
  private readonly now: () => number
  private keys: JWTVerifyGetKey | undefined
  private readAt = Number.NEGATIVE_INFINITY
  private soughtAt = Number.NEGATIVE_INFINITY
  private failed: { readonly at: number; readonly fault: unknown } | undefined
  /** Ids of keys that a reading did not have, with its time. A forged token must not use up the reading of a good one. */
  private readonly unknown = new LRUCache<string, number>({ max: MAX_UNKNOWN })
  private reading: Promise<JWTVerifyGetKey> | undefined

  constructor(read: () => Promise<JSONWebKeySet>, now: () => number) {
    this.read = read
    this.now = now
  }

  async find(...token: Parameters<JWTVerifyGetKey>): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
    const keys = await this.current()
    try {
      return await keys(...token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
      const [{ alg, kid = '' }] = token
      const key = `${alg} ${kid}`
      if (this.now() - (this.unknown.get(key) ?? Number.NEGATIVE_INFINITY) < SEEK_MS) throw error
      if (this.now() - this.soughtAt < SEEK_MS)
        throw new DocumentFault('the token has an unknown key, and the keys were read less than a minute ago')
      // The issuer may have begun to sign with a new key.
      this.soughtAt = this.now()
      const newer = await this.reload()
      this.unknown.set(key, this.now())
      const found = await newer(...token)
      this.unknown.delete(key)
      return found
    }
  }

  private async current(): Promise<JWTVerifyGetKey> {
    const age = this.now() - this.readAt
    if (this.keys && age < MAX_AGE_MS) return this.keys
    try {
      return await this.reload()
    } catch (fault) {
      if (this.keys && age < MAX_STALE_MS) return this.keys
      throw fault
    }
  }

  /** Reads the keys, once for all who wait for them. */
  private reload(): Promise<JWTVerifyGetKey> {
    const { failed } = this
    if (failed && this.now() - failed.at < PAUSE_MS) return Promise.reject(failed.fault)
    this.reading ??= this.readOnce().finally(() => {
      this.reading = undefined
    })
    return this.reading
  }

  private async readOnce(): Promise<JWTVerifyGetKey> {
    try {
      this.keys = createLocalJWKSet(await this.read())
      this.readAt = this.now()
      this.failed = undefined
      return this.keys
    } catch (thrown) {
      const fault = thrown instanceof DocumentFault ? thrown : new DocumentFault('the document is no key set')
      this.failed = { at: this.now(), fault }
      throw fault
    }
  }
}

async function readKeys({ read }: Pick<GuardedJson, 'read'>, { jwksUrl, issuer }: KeySource): Promise<JSONWebKeySet> {
  return (await read(jwksUrl ?? (await discover(read, issuer)))) as JSONWebKeySet
}

/** The address of an issuer's keys by its configuration, which must be its own. */
async function discover(read: GuardedJson['read'], issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const found = (await read(url)) as { readonly issuer?: unknown; readonly jwks_uri?: unknown } | null
  if (typeof found !== 'object' || found === null || typeof found.jwks_uri !== 'string')
    throw new DocumentFault(`no jwks_uri at ${url}`)
  if (found.issuer !== issuer) throw new DocumentFault(`another issuer at ${url}`)
  if (!URL.canParse(found.jwks_uri) || !/^https?:$/.test(new URL(found.jwks_uri).protocol))
    throw new DocumentFault(`a jwks_uri that is no http or https URL at ${url}`)
  return found.jwks_uri
}
