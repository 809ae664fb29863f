import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { writeAudit } from '../../audit/audit-log.ts'
import { type Fault, Refusal } from '../../base/errors.ts'
import type { Json } from '../../base/json.ts'
import { type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { Webhook } from '../webhook/webhook.ts'
import { isPair, pairFault } from '../webhook/webhook-tls.ts'
import { newUrlFault } from '../webhook/webhook-url.ts'
import {
  type AuthProvidersView,
  changesSince,
  lockSettings,
  readStored,
  type StoredProvider,
  viewOf,
} from './auth-providers.ts'
import { readOidc } from './issuers.ts'
import { type Change, type EnvironmentRef, planChanges } from './settings-plan.ts'
import type { AuthProviderSettings, ReadSettings } from './settings-request.ts'
import { clientKeyContext } from './webhook-settings.ts'

// Setting the login providers of an environment (contract 4.3).

interface SettingsDeps {
  readonly operatorPool: Pool
  readonly webhook: Pick<Webhook, 'mayCall'>
  readonly secrets: Secrets
}

export interface SettingsChange {
  readonly reason: string | null
  /** The version that must be current, and its place in the request; null for any. */
  readonly expected: { readonly version: string; readonly path: string } | null
}

/**
 * Replaces the parts that a request names, all or nothing, with one audit row when anything changed. The change counts
 * for the next login. Refuses with every fault at once. Returns the new settings, and the id of the audit entry; null
 * when nothing changed.
 */
export async function setAuthProviders(
  { operatorPool, secrets, webhook }: SettingsDeps,
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
  environmentRef: EnvironmentRef,
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
