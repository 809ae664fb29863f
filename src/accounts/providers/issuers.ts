import type { Pool } from 'pg'
import type { Fault } from '../../base/errors.ts'
import { isSlug, MAX_CLAIM, MAX_CLIENT_ID, MAX_CLIENT_IDS, MAX_TOKEN_AGE_SECONDS, MAX_URL } from '../../base/limits.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { texts } from '../../declare/list-fields.ts'
import { flag, int32, optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { JsonSource } from '../../declare/source.ts'
import { ALGORITHMS, type Issuer } from '../id-tokens/id-token.ts'
import { urlFault } from '../webhook/webhook-url.ts'
import { PLATFORM_KINDS, type PlatformKind, providerRef } from './provider-ref.ts'

// Providers that need no webhook: issuers of ID tokens (OpenID Connect), of which Google and Apple are two.

const CLIENT_ID = {
  pattern: /^\S+$/,
  maxLength: MAX_CLIENT_ID,
  message: `must be 1 to ${MAX_CLIENT_ID} characters without white space`,
}
const clientIds = (description: string) => texts(description, { min: 1, max: MAX_CLIENT_IDS, form: CLIENT_ID })

/** What a block of `google` or `apple` needs for logins. Other members are stored and not used. */
export const platformIssuer = shape({
  enabled: flag('The master switch. A block without it is stored only: no login uses it.'),
  clientIds: clientIds('The ids of your apps at the platform: the audiences (`aud`, `azp`) of the tokens to accept.'),
})

export const oidcRequest = shape({
  enabled: flag('The master switch.'),
  issuer: text('The issuer, exactly as its tokens name it (`iss`).', { max: MAX_URL, check: issuerFault }),
  audiences: clientIds('The ids of your clients: the audiences (`aud`, `azp`) of the tokens to accept.'),
  jwksUrl: optional(
    text("The address of the issuer's public keys. Default: the one in `<issuer>/.well-known/openid-configuration`.", {
      max: MAX_URL,
      check: urlFault,
    }),
  ),
  subjectClaim: optional(text('The claim that names the player. Default: `sub`.', { max: MAX_CLAIM }), 'sub'),
  nicknameClaim: optional(
    text(
      'The claim with the nickname, which is updated with every login. Default: none, and the client names the player.',
      { max: MAX_CLAIM },
    ),
  ),
  maxAgeSeconds: optional(
    int32('The longest time since a token was issued, in seconds. Default: until the token expires.', {
      min: 1,
      max: MAX_TOKEN_AGE_SECONDS,
    }),
  ),
})
export type OidcSettings = RequestOf<typeof oidcRequest>

export const oidcProvider = answer('An issuer of ID tokens.', {
  enabled: out.flag('When false, logins through this provider fail with `sign-in disabled`.'),
  issuer: out.text('The issuer, as its tokens name it.'),
  audiences: out.list(out.text(), 'The audiences of the tokens that are accepted.'),
  jwksUrl: out.orNull(out.text("The address of the keys. Null when the issuer's configuration names it.")),
  subjectClaim: out.text('The claim that names the player.'),
  nicknameClaim: out.orNull(out.text('The claim with the nickname; null for none.')),
  maxAgeSeconds: out.orNull(out.int32('The longest time since a token was issued, in seconds; null for any.')),
  updatedAt: out.time('The time of the last change, in UTC.'),
})
export type OidcProviderView = AnswerOf<typeof oidcProvider>

export function issuerFault(issuer: string): string | undefined {
  const fault = urlFault(issuer)
  if (fault !== undefined) return fault
  const { search, hash } = new URL(issuer)
  return search === '' && hash === '' ? undefined : 'must have neither a query nor a fragment'
}

/** What a block of `google` or `apple` lacks for logins, if there is one. Its paths are those of its members. */
export function missingIn(block: string | null): Fault[] {
  if (block === null) return []
  const faults: Fault[] = []
  platformIssuer.gather(new JsonSource(block), faults)
  return faults
}

/** Whether logins may use a block of `google` or `apple`. */
export function isPlatformEnabled(block: string): boolean {
  const faults: Fault[] = []
  return platformIssuer.gather(new JsonSource(block), faults).enabled && faults.length === 0
}

/** The addresses of the platforms' keys. */
export type PlatformKeys = Readonly<Record<PlatformKind, string>>

export const PLATFORM_KEYS: PlatformKeys = {
  google: 'https://www.googleapis.com/oauth2/v3/certs',
  apple: 'https://appleid.apple.com/auth/keys',
}

/** Google uses two forms of its name. */
const PLATFORM_ISSUERS: Readonly<Record<PlatformKind, readonly [string, ...string[]]>> = {
  google: ['https://accounts.google.com', 'accounts.google.com'],
  apple: ['https://appleid.apple.com'],
}

interface Deps {
  readonly pool: Pool
  readonly platformKeys: PlatformKeys
}

/**
 * The rules for ID tokens of a provider. Read for each login, so that a change counts for the next one, on every
 * instance. Undefined when it is disabled, not configured, or lacks what logins need.
 */
export async function findIssuer(
  { pool, platformKeys }: Deps,
  { environmentId, provider }: { readonly environmentId: string; readonly provider: string },
): Promise<Issuer | undefined> {
  const { kind, name } = providerRef(provider)
  // No issuer has another name. It may be text that Postgres cannot compare.
  if (name !== '' && !isSlug(name)) return undefined
  const { rows } = await pool.query<{ settings: string }>({
    name: 'issuer',
    text: `SELECT settings FROM auth_providers
      WHERE environment_id = $1 AND kind = $2 AND name = $3 AND enabled`,
    values: [environmentId, kind, name],
  })
  const settings = rows[0]?.settings
  if (settings === undefined) return undefined
  if (kind === 'oidc') {
    const { issuer, audiences, jwksUrl, subjectClaim, nicknameClaim, maxAgeSeconds } = readOidc(settings)
    const claims = { subjectClaim, nicknameClaim, maxAgeSeconds }
    return { issuer, issuers: [issuer], audiences, jwksUrl, algorithms: ALGORITHMS, ...claims }
  }
  // A block may have other members, and then is no issuer.
  const platform = PLATFORM_KINDS.find((one) => one === kind)
  if (platform === undefined || !isPlatformEnabled(settings)) return undefined
  const { clientIds } = platformIssuer.read(new JsonSource(settings))
  const issuers = PLATFORM_ISSUERS[platform]
  return {
    issuer: issuers[0],
    issuers,
    audiences: clientIds,
    jwksUrl: platformKeys[platform],
    algorithms: ['RS256'],
    subjectClaim: 'sub',
    nicknameClaim: null,
    maxAgeSeconds: null,
  }
}

/** The stored settings of an issuer. */
export const readOidc = (settings: string): OidcSettings => oidcRequest.read(new JsonSource(settings))
