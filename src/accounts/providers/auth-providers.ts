import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import type { Fault } from '../../base/errors.ts'
import { print, RawJson } from '../../base/json.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { expiryOf } from '../webhook/webhook-tls.ts'
import { type OidcProviderView, readOidc } from './issuers.ts'
import type { PlatformKind, ProviderKind } from './provider-ref.ts'
import { readWebhookSettings } from './webhook-settings.ts'

// The login providers of an environment, as stored and as operators see them.

/** The settings of one environment as operators see them: without any secret. */
export type AuthProvidersView = {
  readonly environment: string
  /** Names this state: it is another after each change. */
  readonly version: string
  readonly authProviders: {
    readonly custom: Readonly<Record<string, CustomProviderView>>
    readonly google: RawJson | null
    readonly apple: RawJson | null
    /** Absent without any. */
    readonly oidc?: Readonly<Record<string, OidcProviderView>>
    /** Absent until it was set once. */
    readonly device?: DeviceProviderView
  }
}

const lowered = (description: string) =>
  out.optional(out.orNull(out.int32(`${description} Over REST it is absent when the service's own limit applies.`)))

export const customProvider = answer("A login provider that calls a studio's webhook.", {
  enabled: out.flag('When false, logins through this provider fail with `custom auth disabled`.'),
  url: out.text('The address of the webhook.'),
  hasSecret: out.flag('True when a secret is stored. The secret itself is never returned.'),
  updatedAt: out.time('The time of the last change, in UTC.'),
  timeoutMs: lowered('The longest time of an attempt, in milliseconds.'),
  attempts: lowered('The most attempts of a call.'),
  breakerAfter: out.optional(
    out.orNull(
      out.int32('The failed calls in a row after which the breaker opens. Null, or absent over REST, without one.'),
    ),
  ),
  ed25519: out.optional(
    out.orNull(
      out.flag('True when calls are also signed by an Ed25519 key. Otherwise false, null, or absent over REST.'),
    ),
  ),
  claims: out.optional(
    out.orNull(
      out.flag('True when access tokens carry the `claims` of an answer. Null, or absent over REST, when they do not.'),
    ),
  ),
  denialReasons: out.optional(
    out.orNull(
      out.flag('True when clients receive the `reason` of a denial. Null, or absent over REST, when they do not.'),
    ),
  ),
  publicKey: out.optional(
    out.orNull(out.text('The public key of these signatures: `whpk_` and base64. It is another for another secret.')),
  ),
  caCertificates: out.optional(
    out.orNull(
      out.text(
        'The authorities that may sign the certificate of the address, in PEM. Null, or absent over REST, for the public ones.',
      ),
    ),
  ),
  clientCertificate: out.optional(
    out.orNull(
      out.text(
        'The certificate by which the endpoint recognizes the service, in PEM. Null, or absent over REST, without one. Its private key is never returned.',
      ),
    ),
  ),
  certificatesExpireAt: out.optional(
    out.orNull(
      out.time('When the first of these certificates expires, in UTC. Null, or absent over REST, without any.'),
    ),
  ),
})
export const deviceProvider = answer('Logins of guests, by an id of their device.', {
  enabled: out.flag('When false, logins of guests fail with `sign-in disabled`. The guests stay known.'),
  updatedAt: out.time('The time of the last change, in UTC.'),
})
export type DeviceProviderView = AnswerOf<typeof deviceProvider>

/** The state of a rotation, which GraphQL has. */
export const rotation = {
  replacedSecretsExpireAt: out.list(
    out.time(),
    'The times at which secrets replaced by `rotateProviderSecret` stop signing, the earliest first.',
  ),
}
export type CustomProviderView = AnswerOf<typeof customProvider> & {
  readonly replacedSecretsExpireAt: readonly string[]
}

export interface StoredProvider {
  readonly kind: ProviderKind
  readonly name: string
  readonly enabled: boolean
  readonly url: string | null
  /** The sealed secret of a custom provider, block of a platform, or key of the hashes of device ids. */
  readonly secret: string | null
  /** The sealed private key of a client certificate. */
  readonly client_key: string | null
  readonly settings: string | null
  readonly updated_at: Date
  readonly replaced_expire_at: readonly Date[]
}

const COLUMNS = `p.kind, p.name, p.enabled, p.url, p.secret, p.client_key, p.settings, p.updated_at, ARRAY (
    SELECT r.expires_at FROM replaced_secrets r
    WHERE (r.environment_id, r.kind, r.name) = (p.environment_id, p.kind, p.name) AND r.expires_at > now()
    ORDER BY r.expires_at
  ) AS replaced_expire_at`

/** The settings of one environment of a project, or of all its environments in the order of their names. */
export async function readAuthProviders(
  pool: Pool,
  projectId: string,
  environmentId: string | null,
): Promise<AuthProvidersView[]> {
  const { rows } = await pool.query<StoredProvider & { environment: string }>({
    name: 'auth-providers',
    text: `SELECT e.name AS environment, ${COLUMNS}
      FROM environments e LEFT JOIN auth_providers p ON p.environment_id = e.id
      WHERE e.project_id = $1 AND ($2::uuid IS NULL OR e.id = $2)
      ORDER BY e.name COLLATE "C", p.name COLLATE "C"`,
    values: [projectId, environmentId],
  })
  const names = [...new Set(rows.map((row) => row.environment))]
  return names.map((name) =>
    viewOf(
      name,
      // An environment without providers has one row without any.
      rows.filter((row) => row.environment === name && row.kind !== null),
    ),
  )
}

/** The id of an environment. Its settings are locked until the transaction ends. */
export async function lockSettings(
  client: ClientBase,
  projectId: string,
  environment: string,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM environments WHERE project_id = $1 AND name = $2 FOR NO KEY UPDATE',
    [projectId, environment],
  )
  return rows[0]?.id
}

export async function readStored(client: ClientBase, environmentId: string): Promise<StoredProvider[]> {
  const { rows } = await client.query<StoredProvider>(
    `SELECT ${COLUMNS} FROM auth_providers p WHERE p.environment_id = $1 ORDER BY p.name COLLATE "C"`,
    [environmentId],
  )
  return rows
}

export function viewOf(environment: string, rows: readonly StoredProvider[]): AuthProvidersView {
  const custom = rows.filter(({ kind }) => kind === 'custom').map((row) => [row.name, viewOfCustom(row)])
  const settingsOf = (wanted: PlatformKind): RawJson | null => {
    const text = rows.find(({ kind }) => kind === wanted)?.settings ?? null
    return text === null ? null : new RawJson(text)
  }
  const oidc = rows.filter(({ kind }) => kind === 'oidc').map((row) => [row.name, viewOfOidc(row)])
  const device = rows.find(({ kind }) => kind === 'device')
  return {
    environment,
    version: versionOf(rows),
    authProviders: {
      custom: Object.fromEntries(custom),
      google: settingsOf('google'),
      apple: settingsOf('apple'),
      ...(oidc.length > 0 && { oidc: Object.fromEntries(oidc) }),
      ...(device && { device: { enabled: device.enabled, updatedAt: device.updated_at.toISOString() } }),
    },
  }
}

/** The time of the latest change of what is left, and a hash of everything but secrets, which have a time as well. */
function versionOf(rows: readonly StoredProvider[]): string {
  const latest = Math.max(0, ...rows.map(({ updated_at: at }) => at.getTime()))
  const state = rows
    .map(({ kind, name, enabled, url, settings, updated_at: at }) =>
      print([kind, name, enabled, url, settings, at.toISOString()]),
    )
    .sort()
  return `${latest.toString(36)}-${hash('sha256', state.join()).slice(0, 12)}`
}

/** What has changed since a version, for those who have read that version. */
export function changesSince(version: string, rows: readonly StoredProvider[]): Fault[] {
  const since = Number.parseInt(version.split('-', 1)[0] ?? '', 36)
  const changed = rows.filter(({ updated_at: at }) => at.getTime() > since)
  if (changed.length === 0) return [{ path: 'authProviders', message: 'a provider was removed meanwhile' }]
  return changed.map(({ kind, name, updated_at: at }) => ({
    path: `authProviders.${name === '' ? kind : `${kind}.${name}`}`,
    message: `was changed at ${at.toISOString()}`,
  }))
}

export function viewOfCustom(row: StoredProvider): CustomProviderView {
  return {
    enabled: row.enabled,
    url: row.url ?? '',
    hasSecret: row.secret !== null,
    updatedAt: row.updated_at.toISOString(),
    // All are absent, as the answer allows, unless one of them was set.
    ...((row.settings === null ? {} : settingsOf(row.settings)) as ReturnType<typeof settingsOf>),
    replacedSecretsExpireAt: row.replaced_expire_at.map((at) => at.toISOString()),
  }
}

function settingsOf(stored: string) {
  const { keySalt: _, publicKey, claims, denialReasons, ...settings } = readWebhookSettings(stored)
  const certificates = [settings.caCertificates, settings.clientCertificate].filter((pem) => pem !== null)
  return {
    ...settings,
    ...(claims && { claims }),
    ...(denialReasons && { denialReasons }),
    publicKey: settings.ed25519 ? publicKey : null,
    certificatesExpireAt: certificates.length === 0 ? null : expiryOf(certificates.join('\n')).toISOString(),
  }
}

function viewOfOidc({ enabled, settings, updated_at: at }: StoredProvider): OidcProviderView {
  return { ...readOidc(settings ?? '{}'), enabled, updatedAt: at.toISOString() }
}
