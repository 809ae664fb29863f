import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { writeAudit } from '../audit/audit-log.ts'
import { type Fault, invalidRequest, Refusal } from '../base/errors.ts'
import { type Json, kindOf, members, print, RawJson } from '../base/json.ts'
import {
  MAX_BLOCK_BYTES,
  MAX_CLIENT_KEY,
  MAX_CUSTOM_PROVIDERS,
  MAX_OIDC_PROVIDERS,
  MAX_SECRET,
  MAX_URL,
} from '../base/limits.ts'
import { type SecretContext, type Secrets, tryToOpen } from '../base/secrets.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import { blankNotice } from '../declare/blanks.ts'
import { environment } from '../declare/common.ts'
import { memberNotices } from '../declare/nearest.ts'
import {
  described,
  type Fields,
  flag,
  JsonSource,
  object,
  optional,
  type RequestOf,
  type Shape,
  type Source,
  shape,
  text,
} from '../declare/shape.ts'
import type { Webhook } from '../webhook/webhook.ts'
import { clientKeyFault, expiryOf, isPair, pairFault } from '../webhook/webhook-tls.ts'
import { newUrlFault, urlFault } from '../webhook/webhook-url.ts'
import {
  type AuthProvidersView,
  changesSince,
  lockSettings,
  readStored,
  type StoredProvider,
  viewOf,
} from './auth-providers.ts'
import { newDeviceKey } from './device.ts'
import { isPlatformEnabled, missingIn, type OidcSettings, oidcRequest, platformIssuer, readOidc } from './issuers.ts'
import { isProviderName, NAME_RULE, PLATFORM_KINDS, type PlatformKind, type ProviderRef } from './provider-ref.ts'
import { redact, secretsOf, withKeptSecrets } from './redaction.ts'
import { clientKeyContext, printWebhookSettings, webhookSettings } from './webhook-settings.ts'

// Setting the login providers of an environment (spec 4.3).

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

interface SettingsDesk {
  readonly operatorPool: Pool
  readonly webhook: Pick<Webhook, 'mayCall'>
  readonly secrets: Secrets
}

export interface ReadSettings {
  readonly settings: AuthProviderSettings
  readonly faults: readonly Fault[]
  /** Members that no rule knows, and repeated ones. */
  readonly notices: readonly Fault[]
}

export interface SettingsChange {
  readonly reason: string | null
  /** The version that must be current, and its place in the request; null for any. */
  readonly expected: { readonly version: string; readonly path: string } | null
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
    // A block is stored as it is given. One that is meant for logins is told what it lacks.
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

const isTooLong = (block: string): boolean => Buffer.byteLength(block) > MAX_BLOCK_BYTES

const tooLong = (kind: PlatformKind): Fault => ({
  path: `authProviders.${kind}`,
  message: `must have at most ${MAX_BLOCK_BYTES} bytes, with what stays stored of it`,
})

const rawOrNull = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))

/**
 * Replaces the parts that a request names, all or nothing, with one audit row when anything changed. The change counts
 * for the next login. Refuses with every fault at once. Returns the new settings, and the id of the audit entry; null
 * when nothing changed.
 */
export async function setAuthProviders(
  { operatorPool, secrets, webhook }: SettingsDesk,
  caller: PlatformCaller,
  { settings, faults, notices }: ReadSettings,
  { reason, expected }: SettingsChange,
): Promise<{ readonly view: AuthProvidersView; readonly notices: readonly Fault[]; readonly auditId: string | null }> {
  const { environment } = settings
  return inTransaction(operatorPool, async (client) => {
    // One change of an environment's settings at a time, since whole maps are replaced.
    const environmentId = await lockSettings(client, caller.projectId, environment)
    const stored = environmentId === undefined ? [] : await readStored(client, environmentId)
    const environmentRef = { projectId: caller.projectId, environmentId: environmentId ?? '' }
    const missing = environmentId === undefined ? [] : missingSecrets(settings, stored)
    const unfit = environmentId === undefined ? [] : tlsFaults(settings, stored, secrets, environmentRef)
    const all = [...faults, ...newUrlFaults(settings, stored, webhook), ...missing, ...unfit]
    // A misspelt member is often why another one is missing.
    if (all.length > 0) throw new Refusal('invalidRequest', { faults: [...all, ...notices] })
    if (environmentId === undefined) throw new Refusal('environmentNotFound')

    const changes = planChanges(settings, stored, secrets, environmentRef)
    const isChanged = changes.removed.length > 0 || changes.written.some(({ isChanged }) => isChanged)
    const before = viewOf(environment, stored)
    // A request whose answer was lost can be sent again: it changes nothing the second time.
    if (isChanged && expected !== null && expected.version !== before.version) {
      const fault = {
        path: expected.path,
        message: `the current version is ${before.version}, not ${expected.version}`,
      }
      throw new Refusal('versionConflict', { faults: [fault, ...changesSince(expected.version, stored)] })
    }
    // Also without a change: a stored secret is sealed again, by the current key.
    for (const change of changes.written) await write(client, environmentId, change)
    await client.query(
      `DELETE FROM auth_providers p USING unnest($2::text[], $3::text[]) AS r(kind, name)
       WHERE p.environment_id = $1 AND (p.kind, p.name) = (r.kind, r.name)`,
      [environmentId, changes.removed.map(({ kind }) => kind), changes.removed.map(({ name }) => name)],
    )
    // A changed secret takes effect at once: earlier replaced secrets stop signing, too.
    await client.query(
      "DELETE FROM replaced_secrets WHERE environment_id = $1 AND kind = 'custom' AND name = ANY ($2::text[])",
      [environmentId, changes.written.filter((change) => change.isSecretChanged).map(({ name }) => name)],
    )
    const after = viewOf(environment, await readStored(client, environmentId))
    if (!isChanged) return { view: after, notices, auditId: null }
    const auditId = await writeAudit(client, caller, {
      environmentId,
      action: ACTIONS.setProviders,
      target: environment,
      before: toJson(before, []),
      after: toJson(after, changes.written),
      reason,
    })
    return { view: after, notices, auditId }
  })
}

/** Faults of addresses that are not stored: a stored one stays, so that its provider can still be disabled. */
function newUrlFaults(
  { custom, oidc }: AuthProviderSettings,
  stored: readonly StoredProvider[],
  rules: Pick<Webhook, 'mayCall'>,
): Fault[] {
  const find = (kind: string, name: string) => stored.find((row) => row.kind === kind && row.name === name)
  const webhooks = [...(custom ?? [])].map(([name, { url }]) => ({
    path: `custom.${name}.url`,
    url,
    known: find('custom', name)?.url,
  }))
  const issuers = [...(oidc ?? [])].flatMap(([name, { issuer, jwksUrl }]) => {
    const settings = find('oidc', name)?.settings
    const before = settings ? readOidc(settings) : undefined
    return [
      { path: `oidc.${name}.issuer`, url: issuer, known: before?.issuer },
      { path: `oidc.${name}.jwksUrl`, url: jwksUrl ?? '', known: before?.jwksUrl },
    ]
  })
  return [...webhooks, ...issuers].flatMap(({ path, url, known }) => {
    // An unreadable one has a fault already.
    const message = url === '' || url === known ? undefined : newUrlFault(url, rules.mayCall)
    return message === undefined ? [] : [{ path: `authProviders.${path}`, message }]
  })
}

function missingSecrets({ custom }: AuthProviderSettings, stored: readonly StoredProvider[]): Fault[] {
  const kept = new Set(stored.flatMap(({ kind, name, secret }) => (kind === 'custom' && secret ? [name] : [])))
  return [...(custom ?? [])].flatMap(([name, { secret }]) =>
    secret === null && !kept.has(name)
      ? [{ path: `authProviders.custom.${name}.secret`, message: 'is required while none is stored' }]
      : [],
  )
}

/** Faults between the members of a provider that are about TLS. A member with a fault of its own is an empty text. */
function tlsFaults(
  { custom }: AuthProviderSettings,
  stored: readonly StoredProvider[],
  secrets: Secrets,
  environmentRef: Pick<SecretContext, 'projectId' | 'environmentId'>,
): Fault[] {
  return [...(custom ?? [])].flatMap(([name, { url, caCertificates, clientCertificate, clientKey }]) => {
    const fault = (member: string, message: string): Fault => ({
      path: `authProviders.custom.${name}.${member}`,
      message,
    })
    const faults = Object.entries({ caCertificates, clientCertificate })
      .filter(([, pem]) => pem !== null && /^http:/i.test(url))
      .map(([member]) => fault(member, 'is only for an https address'))
    if (clientCertificate === null) {
      if (clientKey !== null) faults.push(fault('clientKey', 'needs the clientCertificate that it belongs to'))
      return faults
    }
    const sealed = stored.find((row) => row.kind === 'custom' && row.name === name)?.client_key ?? null
    const context = clientKeyContext({ ...environmentRef, kind: 'custom', name })
    const kept = sealed === null ? undefined : tryToOpen(secrets, sealed, context)
    const key = clientKey ?? kept
    if (key === undefined) {
      const message =
        sealed === null
          ? 'is required while none is stored'
          : 'is required: the stored one is under a key that SECRETS_KEYS does not have'
      faults.push(fault('clientKey', message))
    } else if (key !== '' && clientCertificate !== '') {
      const [member, message] =
        clientKey === null
          ? ['clientCertificate', 'is not that of the stored key: send its clientKey, too']
          : ['clientKey', 'is not the key of clientCertificate, whose first certificate must be its own']
      const refused = isPair(clientCertificate, key) ? pairFault(clientCertificate, key) : message
      if (refused !== undefined) faults.push(fault(member, refused))
    }
    return faults
  })
}

interface Change {
  readonly kind: StoredProvider['kind']
  readonly name: string
  readonly enabled: boolean
  readonly url: string | null
  readonly secret: string | null
  /** The sealed private key of a client certificate. */
  readonly clientKey: string | null
  readonly settings: string | null
  readonly isSecretChanged: boolean
  readonly isClientKeyChanged: boolean
  readonly isChanged: boolean
}

function planChanges(
  settings: AuthProviderSettings,
  stored: readonly StoredProvider[],
  secrets: Secrets,
  environmentRef: Pick<SecretContext, 'projectId' | 'environmentId'>,
): { written: Change[]; removed: readonly ProviderRef[] } {
  const find = (kind: string, name: string) => stored.find((row) => row.kind === kind && row.name === name)
  // A stored secret that cannot be opened, as its key is missing, counts as a different secret.
  const open = (sealed: string, context: SecretContext): string | null => tryToOpen(secrets, sealed, context) ?? null

  const written = [...(settings.custom ?? [])].map(([name, { enabled, url, secret, clientKey, ...sent }]): Change => {
    const before = find('custom', name)
    const context = { ...environmentRef, kind: 'custom', name }
    const stored = before?.secret ? open(before.secret, context) : null
    const settingsText = printWebhookSettings(sent, before?.settings ?? null, secret ?? stored)
    const isSecretChanged = secret !== null && stored !== secret
    const keyContext = clientKeyContext(context)
    const storedKey = before?.client_key ? open(before.client_key, keyContext) : null
    const key = sent.clientCertificate === null ? null : (clientKey ?? storedKey)
    const isClientKeyChanged = key !== storedKey
    return {
      kind: 'custom',
      name,
      enabled,
      url,
      secret: secret === null ? (before?.secret ?? null) : secrets.seal(secret, context),
      clientKey: key === null ? null : secrets.seal(key, keyContext),
      settings: settingsText,
      isSecretChanged,
      isClientKeyChanged,
      isChanged:
        isSecretChanged ||
        isClientKeyChanged ||
        before?.enabled !== enabled ||
        before.url !== url ||
        (before.settings ?? null) !== settingsText,
    }
  })
  for (const kind of PLATFORM_KINDS) {
    const sent = settings[kind]
    if (!sent) continue
    const before = find(kind, '')
    const context = { ...environmentRef, kind, name: '' }
    const whole = before?.secret ? open(before.secret, context) : null
    const block = withKeptSecrets(sent.text, whole ?? undefined)
    if (isTooLong(block)) throw invalidRequest(tooLong(kind))
    const shown = redact(block)
    written.push({
      kind,
      name: '',
      enabled: isPlatformEnabled(block),
      url: null,
      secret: secrets.seal(block, context),
      clientKey: null,
      settings: shown,
      isClientKeyChanged: false,
      isSecretChanged: secretsOf(whole ?? '{}').join() !== secretsOf(block).join(),
      isChanged: whole !== block,
    })
  }
  for (const [name, issuer] of settings.oidc ?? []) {
    const before = find('oidc', name)
    const text = print(issuer)
    const isChanged = before?.settings !== text
    const row = {
      kind: 'oidc',
      name,
      enabled: issuer.enabled,
      url: issuer.issuer,
      secret: null,
      clientKey: null,
      settings: text,
    } as const
    written.push({ ...row, isSecretChanged: false, isClientKeyChanged: false, isChanged })
  }
  if (settings.device) {
    const { enabled } = settings.device
    const before = find('device', '')
    const context = { ...environmentRef, kind: 'device', name: '' }
    const known = before?.secret ? open(before.secret, context) : null
    // With another key, no guest would be recognized. A key that cannot be opened stays, until SECRETS_KEYS has its key.
    const secret = before?.secret && known === null ? before.secret : secrets.seal(known ?? newDeviceKey(), context)
    const row = { kind: 'device', name: '', enabled, url: null, secret, clientKey: null, settings: null } as const
    written.push({ ...row, isSecretChanged: false, isClientKeyChanged: false, isChanged: before?.enabled !== enabled })
  }
  const removed = stored.filter(({ kind, name }) => {
    if (kind === 'custom') return settings.custom !== null && !settings.custom.has(name)
    if (kind === 'oidc') return settings.oidc !== null && !settings.oidc.has(name)
    return settings.removed.some((one) => one === kind)
  })
  return { written, removed }
}

async function write(client: ClientBase, environmentId: string, change: Change): Promise<void> {
  await client.query(
    `INSERT INTO auth_providers AS p (environment_id, kind, name, enabled, url, secret, settings, client_key, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())
     ON CONFLICT (environment_id, kind, name) DO UPDATE SET enabled = excluded.enabled, url = excluded.url,
       secret = excluded.secret, settings = excluded.settings, client_key = excluded.client_key,
       updated_at = CASE WHEN $9 THEN excluded.updated_at ELSE p.updated_at END`,
    [
      environmentId,
      change.kind,
      change.name,
      change.enabled,
      change.url,
      change.secret,
      change.settings,
      change.clientKey,
      change.isChanged,
    ],
  )
}

function toJson({ authProviders }: AuthProvidersView, changes: readonly Change[]): Json {
  const custom = Object.entries(authProviders.custom).map(([name, provider]): [string, Json] => {
    const change = changes.find((one) => one.kind === 'custom' && one.name === name)
    const secretChanged = change?.isSecretChanged && { secretChanged: true }
    const clientKeyChanged = change?.isClientKeyChanged && { clientKeyChanged: true }
    return [name, { ...provider, ...secretChanged, ...clientKeyChanged }]
  })
  const others = changes
    .filter(({ kind, isSecretChanged }) => kind !== 'custom' && isSecretChanged)
    .map(({ kind }) => kind)
  return {
    ...authProviders,
    custom: Object.fromEntries(custom),
    ...(others.length > 0 && { secretsChanged: others }),
  }
}
