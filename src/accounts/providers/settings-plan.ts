import { invalidRequest } from '../../base/errors.ts'
import { print, type RawJson } from '../../base/json.ts'
import { type SecretContext, type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { StoredProvider } from './auth-providers.ts'
import { newDeviceKey } from './device.ts'
import { isPlatformEnabled, type OidcSettings } from './issuers.ts'
import { PLATFORM_KINDS, type PlatformKind, type ProviderRef } from './provider-ref.ts'
import { redact, secretsOf, withKeptSecrets } from './redaction.ts'
import {
  type AuthProviderSettings,
  type CustomProviderSettings,
  type DeviceSettings,
  isTooLong,
  tooLong,
} from './settings-request.ts'
import { clientKeyContext, printWebhookSettings } from './webhook-settings.ts'

// What a request changes of the stored login providers.

export interface Change {
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

/** What is stored of an environment, and what opens and seals its secrets. */
class Stored {
  readonly rows: readonly StoredProvider[]
  readonly secrets: Secrets
  private readonly environmentRef: EnvironmentRef

  constructor(rows: readonly StoredProvider[], secrets: Secrets, environmentRef: EnvironmentRef) {
    this.rows = rows
    this.secrets = secrets
    this.environmentRef = environmentRef
  }

  find(kind: string, name = ''): StoredProvider | undefined {
    return this.rows.find((row) => row.kind === kind && row.name === name)
  }

  contextOf(kind: string, name = ''): SecretContext {
    return { ...this.environmentRef, kind, name }
  }

  /** Null for none. One that cannot be opened, as its key is missing, counts as a different secret. */
  open(sealed: string | null | undefined, context: SecretContext): string | null {
    return sealed ? (tryToOpen(this.secrets, sealed, context) ?? null) : null
  }
}

export type EnvironmentRef = Pick<SecretContext, 'projectId' | 'environmentId'>

export function planChanges(
  settings: AuthProviderSettings,
  rows: readonly StoredProvider[],
  secrets: Secrets,
  environmentRef: EnvironmentRef,
): { written: Change[]; removed: readonly ProviderRef[] } {
  const stored = new Stored(rows, secrets, environmentRef)
  const written = [...(settings.custom ?? [])].map(([name, sent]) => customChange(stored, name, sent))
  for (const kind of PLATFORM_KINDS) {
    const sent = settings[kind]
    if (sent) written.push(platformChange(stored, kind, sent))
  }
  for (const [name, issuer] of settings.oidc ?? []) written.push(issuerChange(stored, name, issuer))
  if (settings.device) written.push(deviceChange(stored, settings.device))
  const removed = rows.filter(({ kind, name }) => {
    if (kind === 'custom') return settings.custom !== null && !settings.custom.has(name)
    if (kind === 'oidc') return settings.oidc !== null && !settings.oidc.has(name)
    return settings.removed.some((one) => one === kind)
  })
  return { written, removed }
}

function customChange(stored: Stored, name: string, request: CustomProviderSettings): Change {
  const { enabled, url, secret, clientKey, ...sent } = request
  const before = stored.find('custom', name)
  const context = stored.contextOf('custom', name)
  const known = stored.open(before?.secret, context)
  const settings = printWebhookSettings(sent, before?.settings ?? null, secret ?? known)
  const isSecretChanged = secret !== null && known !== secret
  const keyContext = clientKeyContext(context)
  const knownKey = stored.open(before?.client_key, keyContext)
  const key = sent.clientCertificate === null ? null : (clientKey ?? knownKey)
  const isClientKeyChanged = key !== knownKey
  return {
    kind: 'custom',
    name,
    enabled,
    url,
    secret: secret === null ? (before?.secret ?? null) : stored.secrets.seal(secret, context),
    clientKey: key === null ? null : stored.secrets.seal(key, keyContext),
    settings,
    isSecretChanged,
    isClientKeyChanged,
    isChanged:
      isSecretChanged ||
      isClientKeyChanged ||
      before?.enabled !== enabled ||
      before.url !== url ||
      (before.settings ?? null) !== settings,
  }
}

function platformChange(stored: Stored, kind: PlatformKind, sent: RawJson): Change {
  const context = stored.contextOf(kind)
  const known = stored.open(stored.find(kind)?.secret, context)
  const block = withKeptSecrets(sent.text, known ?? undefined)
  if (isTooLong(block)) throw invalidRequest(tooLong(kind))
  const shown = redact(block)
  return {
    kind,
    name: '',
    enabled: isPlatformEnabled(block),
    url: null,
    secret: stored.secrets.seal(block, context),
    clientKey: null,
    settings: shown,
    isClientKeyChanged: false,
    isSecretChanged: secretsOf(known ?? '{}').join() !== secretsOf(block).join(),
    isChanged: known !== block,
  }
}

function issuerChange(stored: Stored, name: string, issuer: OidcSettings): Change {
  const settings = print(issuer)
  return {
    kind: 'oidc',
    name,
    enabled: issuer.enabled,
    url: issuer.issuer,
    secret: null,
    clientKey: null,
    settings,
    isSecretChanged: false,
    isClientKeyChanged: false,
    isChanged: stored.find('oidc', name)?.settings !== settings,
  }
}

function deviceChange(stored: Stored, { enabled }: DeviceSettings): Change {
  const before = stored.find('device')
  const context = stored.contextOf('device')
  const known = stored.open(before?.secret, context)
  // With another key, no guest would be recognized. A key that cannot be opened stays, until SECRETS_KEYS has its key.
  const secret =
    before?.secret && known === null ? before.secret : stored.secrets.seal(known ?? newDeviceKey(), context)
  return {
    kind: 'device',
    name: '',
    enabled,
    url: null,
    secret,
    clientKey: null,
    settings: null,
    isSecretChanged: false,
    isClientKeyChanged: false,
    isChanged: before?.enabled !== enabled,
  }
}
