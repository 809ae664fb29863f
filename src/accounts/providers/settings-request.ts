import type { Fault } from '../../base/errors.ts'
import { kindOf, members, RawJson } from '../../base/json.ts'
import {
  MAX_BLOCK_BYTES,
  MAX_CLIENT_KEY,
  MAX_CUSTOM_PROVIDERS,
  MAX_OIDC_PROVIDERS,
  MAX_SECRET,
  MAX_URL,
} from '../../base/limits.ts'
import { blankNotice } from '../../declare/blanks.ts'
import { environment } from '../../declare/common.ts'
import { memberNotices } from '../../declare/nearest.ts'
import {
  described,
  type Fields,
  flag,
  object,
  optional,
  type RequestOf,
  type Shape,
  shape,
  text,
} from '../../declare/shape.ts'
import { JsonSource, type Source } from '../../declare/source.ts'
import { clientKeyFault, expiryOf } from '../webhook/webhook-tls.ts'
import { urlFault } from '../webhook/webhook-url.ts'
import { missingIn, type OidcSettings, oidcRequest, platformIssuer } from './issuers.ts'
import { isProviderName, NAME_RULE, PLATFORM_KINDS, type PlatformKind } from './provider-ref.ts'
import { webhookSettings } from './webhook-settings.ts'

// The request that sets the login providers of an environment (contract 4.3).

/** The request of a PUT. A part that is null stays as it is, unless it is in `removed`. */
export interface AuthProviderSettings {
  readonly environment: string
  /** Replaces all custom providers, by name. */
  readonly custom: ReadonlyMap<string, CustomProviderSettings> | null
  readonly google: RawJson | null
  readonly apple: RawJson | null
  /** Replaces all issuers of ID tokens, by name. */
  readonly oidc: ReadonlyMap<string, OidcSettings> | null
  readonly device: DeviceSettings | null
  /** The blocks that were sent as null, which removes them. */
  readonly removed: readonly PlatformKind[]
}

/** When the secret is null, the stored one is kept. */
export type CustomProviderSettings = RequestOf<typeof customProviderRequest>

export type DeviceSettings = RequestOf<typeof deviceRequest>

export interface ReadSettings {
  readonly settings: AuthProviderSettings
  readonly faults: readonly Fault[]
  /** Members that no rule knows, and repeated ones. */
  readonly notices: readonly Fault[]
}

/** What a request does to what is stored: for every surface. */
export const PROVIDERS =
  'The providers as `{custom: {<name>: {enabled, url, secret, timeoutMs, attempts, breakerAfter, ed25519, claims, denialReasons, caCertificates, clientCertificate, clientKey}}, google, apple, oidc: {<name>: {enabled, issuer, audiences}}, device: {enabled}}`. A `custom` replaces all custom providers: those that it does not name are removed. Without `custom`, or with null, all of them stay. The same is true of `oidc`. A custom provider without `secret` or `clientKey` keeps the stored one. An absent `google` or `apple` stays, and null removes it. An absent `device` stays, and so does null.'

export const authProvidersRequest = shape({
  environment,
  authProviders: object(PROVIDERS),
})
/** The requested environment; without one, all of them. */
export const authProvidersQuery = shape({ environment: optional(described(environment, 'Only this environment.')) })

const blockWords = (platform: string) =>
  `Sign-in with ${platform}: \`{enabled, clientIds}\`. Other members are stored and not used. Up to ${MAX_BLOCK_BYTES} bytes.`

const kinds = shape({
  custom: optional(object('All custom providers, by name.')),
  google: optional(object(blockWords('Google'))),
  apple: optional(object(blockWords('Apple'))),
  oidc: optional(object('All issuers of ID tokens, by name.')),
  device: optional(object('Logins of guests.')),
})
export const deviceRequest = shape({ enabled: flag('The master switch.') })
/** A public key in the place of a secret would let everybody sign. */
export const secretFault = (secret: string): string | undefined =>
  secret.startsWith('whpk_') ? 'must not be a public key, whpk_…' : undefined

const clientKey = text(
  'The private key of `clientCertificate`, in PEM, without a passphrase. It is stored encrypted. Default: the stored one.',
  { max: MAX_CLIENT_KEY, check: clientKeyFault },
)

export const customProviderRequest = shape({
  enabled: flag('The master switch.'),
  url: text('Absolute, http or https, without credentials.', { max: MAX_URL, check: urlFault }),
  secret: optional(text('Signs requests. Default: the stored one.', { max: MAX_SECRET, check: secretFault })),
  ...webhookSettings.fields,
  clientKey: optional(clientKey),
})

/** Reads a PUT. Faults are not thrown yet: whether a secret is missing depends on the stored settings. */
export function readSettings(request: Source): ReadSettings {
  const faults: Fault[] = []
  const notices: Fault[] = []
  // GraphQL knows the members of an input by itself.
  if (request instanceof JsonSource)
    notices.push(...memberNotices(request.text, REQUEST_MEMBERS, { answered: ['notices'] }))
  const { environment, authProviders } = authProvidersRequest.gather(request, faults)
  notices.push(...memberNotices(authProviders, Object.keys(kinds.fields), { prefix: 'authProviders.' }))
  const blocks = within('authProviders.', faults, kinds, authProviders)
  const sent = members(authProviders)
  for (const kind of PLATFORM_KINDS) {
    const block = blocks[kind]
    if (block === null) continue
    if (isTooLong(block)) faults.push(tooLong(kind))
    // A block is stored as it is given. For one that is meant for logins, notices name the missing members.
    const isMeant = [...members(block).keys()].some((name) => Object.hasOwn(platformIssuer.fields, name))
    for (const { path, message } of isMeant ? missingIn(block) : [])
      notices.push({ path: `authProviders.${kind}.${path}`, message: `${message}: no login uses the block until then` })
  }
  return {
    settings: {
      environment,
      custom: blocks.custom === null ? null : readCustom(blocks.custom, faults, notices),
      google: rawOrNull(blocks.google),
      apple: rawOrNull(blocks.apple),
      oidc: blocks.oidc === null ? null : readIssuers(blocks.oidc, faults, notices),
      device: blocks.device === null ? null : readDevice(blocks.device, faults, notices),
      removed: PLATFORM_KINDS.filter((kind) => sent.get(kind) === 'null'),
    },
    faults,
    notices,
  }
}

const REQUEST_MEMBERS = Object.keys(authProvidersRequest.fields)
const ANSWERED = ['hasSecret', 'publicKey', 'certificatesExpireAt', 'updatedAt', 'replacedSecretsExpireAt', 'name']

function readCustom(text: string, faults: Fault[], notices: Fault[]): Map<string, CustomProviderSettings> {
  const rules = { kind: 'custom', max: MAX_CUSTOM_PROVIDERS, inner: customProviderRequest, answered: ANSWERED }
  const providers = readNamed(text, rules, faults, notices)
  for (const [name, { secret, caCertificates, clientCertificate }] of providers) {
    const blank = blankNotice(secret ?? '', 'the secret')
    if (blank !== undefined) notices.push({ path: `authProviders.custom.${name}.secret`, message: blank })
    for (const [member, pem] of Object.entries({ caCertificates, clientCertificate })) {
      const expiry = pem ? expiryOf(pem) : undefined
      if (expiry === undefined || expiry > new Date()) continue
      const message = `a certificate expired at ${expiry.toISOString()}`
      notices.push({ path: `authProviders.custom.${name}.${member}`, message })
    }
  }
  return providers
}

function readIssuers(text: string, faults: Fault[], notices: Fault[]): Map<string, OidcSettings> {
  const rules = { kind: 'oidc', max: MAX_OIDC_PROVIDERS, inner: oidcRequest, answered: ['updatedAt', 'name'] }
  return readNamed(text, rules, faults, notices)
}

function readDevice(text: string, faults: Fault[], notices: Fault[]): DeviceSettings {
  const prefix = 'authProviders.device.'
  notices.push(...memberNotices(text, Object.keys(deviceRequest.fields), { prefix, answered: ['updatedAt'] }))
  return within(prefix, faults, deviceRequest, text)
}

interface NamedRules<F extends Fields> {
  readonly kind: string
  readonly max: number
  readonly inner: Shape<F>
  /** Members of answers, which may be sent back. */
  readonly answered: readonly string[]
}

/** Reads providers by name. */
function readNamed<F extends Fields>(
  text: string,
  { kind, max, inner, answered }: NamedRules<F>,
  faults: Fault[],
  notices: Fault[],
): Map<string, RequestOf<Shape<F>>> {
  const providers = new Map<string, RequestOf<Shape<F>>>()
  const sent = members(text)
  const all = `authProviders.${kind}`
  // Names are free, so only repeated ones are noticed.
  notices.push(...memberNotices(text, null, { prefix: `${all}.` }))
  if (sent.size > max) faults.push({ path: all, message: `must have at most ${max} providers` })
  for (const [name, raw] of sent) {
    const path = `${all}.${name}`
    if (!isProviderName(name)) faults.push({ path, message: NAME_RULE })
    if (kindOf(raw) !== 'object') {
      faults.push({ path, message: 'must be a JSON object' })
      continue
    }
    providers.set(name, within(`${path}.`, faults, inner, raw))
    notices.push(...memberNotices(raw, Object.keys(inner.fields), { prefix: `${path}.`, answered }))
  }
  return providers
}

/** Reads an object inside a request. The paths of its faults begin with the object's path. */
function within<F extends Fields>(prefix: string, faults: Fault[], inner: Shape<F>, json: string): RequestOf<Shape<F>> {
  const own: Fault[] = []
  const values = inner.gather(new JsonSource(json), own)
  for (const { path, message } of own) faults.push({ path: prefix + path, message })
  return values
}

export const isTooLong = (block: string): boolean => Buffer.byteLength(block) > MAX_BLOCK_BYTES

export const tooLong = (kind: PlatformKind): Fault => ({
  path: `authProviders.${kind}`,
  message: `must have at most ${MAX_BLOCK_BYTES} bytes, with what stays stored of it`,
})

const rawOrNull = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))
