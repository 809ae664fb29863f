import type { Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import type { SecretContext, Secrets } from '../../base/secrets.ts'
import type { WebhookTls } from '../webhook/webhook-tls.ts'
import { isProviderName } from './provider-ref.ts'
import { clientKeyContext, readWebhookSettings, type WebhookSettings } from './webhook-settings.ts'

export interface CustomProviderRef {
  readonly projectId: string
  readonly environmentId: string
  readonly name: string
}

/** Identifies a provider among all providers of the service. */
export const providerKey = (environmentId: string, name: string): string => `${environmentId}/${name}`

export interface CustomProvider
  extends Pick<WebhookSettings, 'timeoutMs' | 'attempts' | 'breakerAfter' | 'claims' | 'denialReasons'> {
  /** Identifies it among all providers of the service. */
  readonly key: string
  readonly projectId: string
  readonly url: string
  readonly secret: string
  /** Replaced secrets that still sign, the latest first. */
  readonly replacedSecrets: readonly string[]
  /** Of the keys of Ed25519 signatures; null without them. */
  readonly keySalt: string | null
  /** Certificates of its own; null for none. */
  readonly tls: WebhookTls | null
}

interface Deps {
  readonly pool: Pool
  readonly secrets: Secrets
  readonly warn: (message: string, detail: unknown) => void
}

/**
 * The custom provider of an environment. Read for each login, so that a change counts for the next one, on every
 * instance. Undefined when it is disabled or not configured.
 */
export async function findCustomProvider(
  { pool, secrets, warn }: Deps,
  ref: CustomProviderRef,
): Promise<CustomProvider | undefined> {
  const { projectId, environmentId, name } = ref
  if (!isProviderName(name)) return undefined
  const { rows } = await pool.query<StoredSecrets>({
    name: 'custom-provider',
    // The database decides which secrets have expired, so that all instances agree.
    text: `SELECT p.url, p.secret, p.settings, p.client_key, r.id AS replaced_id, r.secret AS replaced_secret
      FROM auth_providers p LEFT JOIN replaced_secrets r
        ON (r.environment_id, r.kind, r.name) = (p.environment_id, p.kind, p.name) AND r.expires_at > now()
      WHERE p.environment_id = $1 AND p.kind = 'custom' AND p.name = $2 AND p.enabled
      ORDER BY r.id DESC`,
    values: [environmentId, name],
  })
  const [found] = rows
  if (!found) return undefined
  const context = { projectId, environmentId, kind: 'custom', name }
  const open = (sealed: string, context: SecretContext): string | undefined => {
    try {
      return secrets.open(sealed, context)
    } catch (cause) {
      warn(`a secret of the provider ${name} could not be opened`, cause)
      return undefined
    }
  }
  const secret = open(found.secret, context)
  const clientKey = found.client_key === null ? null : open(found.client_key, clientKeyContext(context))
  // A fault of the configuration. For the client the provider is unavailable.
  if (secret === undefined || clientKey === undefined) throw new Refusal('customAuthUnavailable')
  const replacedSecrets = rows.flatMap(({ replaced_id: replaced, replaced_secret: sealed }) =>
    replaced === null || sealed === null ? [] : (open(sealed, { ...context, replaced }) ?? []),
  )
  const {
    ed25519,
    keySalt,
    publicKey: _,
    caCertificates,
    clientCertificate,
    ...limits
  } = readWebhookSettings(found.settings)
  const isPlain = caCertificates === null && clientCertificate === null
  return {
    key: providerKey(environmentId, name),
    projectId,
    url: found.url,
    secret,
    replacedSecrets,
    ...limits,
    keySalt: ed25519 ? keySalt : null,
    tls: isPlain ? null : { caCertificates, clientCertificate, clientKey },
  }
}

/** One row for each replaced secret, or a single row without one. */
interface StoredSecrets {
  readonly url: string
  readonly secret: string
  readonly settings: string | null
  readonly client_key: string | null
  readonly replaced_id: string | null
  readonly replaced_secret: string | null
}
