import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../audit/actions.ts'
import { writeAudit } from '../audit/audit-log.ts'
import { type Fault, invalidRequest, Refusal } from '../base/errors.ts'
import { type Json, kindOf, members, RawJson } from '../base/json.ts'
import { MAX_BLOCK_BYTES, MAX_CUSTOM_PROVIDERS, MAX_SECRET, MAX_URL } from '../base/limits.ts'
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
import {
  type AuthProvidersView,
  changesSince,
  lockSettings,
  PLATFORM_KINDS,
  type PlatformKind,
  readStored,
  type StoredProvider,
  viewOf,
} from './auth-providers.ts'
import { isProviderName, NAME_RULE } from './custom-provider.ts'
import { redact, secretsOf, withKeptSecrets } from './redaction.ts'
import { newUrlFault, urlFault } from './webhook-url.ts'

// Setting the login providers of an environment (spec 4.3).

/** The request of a PUT. A part that is null stays as it is, unless it is in `removed`. */
export interface AuthProviderSettings {
  readonly environment: string
  /** Replaces all custom providers, by name. */
  readonly custom: ReadonlyMap<string, CustomProviderSettings> | null
  readonly google: RawJson | null
  readonly apple: RawJson | null
  /** The blocks that were sent as null, which removes them. */
  readonly removed: readonly PlatformKind[]
}

/** When the secret is null, the stored one is kept. */
export type CustomProviderSettings = RequestOf<typeof customProviderRequest>

export interface SettingsDesk {
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
  'The providers as `{custom: {<name>: {enabled, url, secret}}, google, apple}`. A `custom` replaces all custom providers: those that it does not name are removed. Without `custom`, or with null, all of them stay. A custom provider without `secret` keeps the stored one. An absent `google` or `apple` stays, and null removes it.'

export const authProvidersRequest = shape({
  environment,
  authProviders: object(PROVIDERS),
})
/** The requested environment; without one, all of them. */
export const authProvidersQuery = shape({ environment: optional(described(environment, 'Only this environment.')) })

const kinds = shape({
  custom: optional(object('All custom providers, by name.')),
  google: optional(object(`Stored only: no login uses it. Up to ${MAX_BLOCK_BYTES} bytes.`)),
  apple: optional(object(`Stored only: no login uses it. Up to ${MAX_BLOCK_BYTES} bytes.`)),
})
export const customProviderRequest = shape({
  enabled: flag('The master switch.'),
  url: text('Absolute, http or https, without credentials.', { max: MAX_URL, check: urlFault }),
  secret: optional(text('Signs requests. Default: the stored one.', { max: MAX_SECRET })),
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
  for (const kind of PLATFORM_KINDS) if (isTooLong(blocks[kind] ?? '')) faults.push(tooLong(kind))
  return {
    settings: {
      environment,
      custom: blocks.custom === null ? null : readCustom(blocks.custom, faults, notices),
      google: rawOrNull(blocks.google),
      apple: rawOrNull(blocks.apple),
      removed: PLATFORM_KINDS.filter((kind) => sent.get(kind) === 'null'),
    },
    faults,
    notices,
  }
}

const REQUEST_MEMBERS = Object.keys(authProvidersRequest.fields)
const CUSTOM_MEMBERS = Object.keys(customProviderRequest.fields)
const ANSWERED = ['hasSecret', 'updatedAt', 'replacedSecretsExpireAt', 'name']

function readCustom(text: string, faults: Fault[], notices: Fault[]): Map<string, CustomProviderSettings> {
  const providers = new Map<string, CustomProviderSettings>()
  const sent = members(text)
  // Names are free, so only repeated ones are noticed.
  notices.push(...memberNotices(text, null, { prefix: 'authProviders.custom.' }))
  if (sent.size > MAX_CUSTOM_PROVIDERS)
    faults.push({ path: 'authProviders.custom', message: `must have at most ${MAX_CUSTOM_PROVIDERS} providers` })
  for (const [name, raw] of sent) {
    const path = `authProviders.custom.${name}`
    if (!isProviderName(name)) faults.push({ path, message: NAME_RULE })
    if (kindOf(raw) === 'object') {
      const provider = within(`${path}.`, faults, customProviderRequest, raw)
      providers.set(name, provider)
      const blank = blankNotice(provider.secret ?? '', 'the secret')
      if (blank !== undefined) notices.push({ path: `${path}.secret`, message: blank })
      notices.push(...memberNotices(raw, CUSTOM_MEMBERS, { prefix: `${path}.`, answered: ANSWERED }))
    } else faults.push({ path, message: 'must be a JSON object' })
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
    const missing = environmentId === undefined ? [] : missingSecrets(settings, stored)
    const all = [...faults, ...newUrlFaults(settings, stored, webhook), ...missing]
    // A misspelt member is often why another one is missing.
    if (all.length > 0) throw new Refusal('invalidRequest', { faults: [...all, ...notices] })
    if (environmentId === undefined) throw new Refusal('environmentNotFound')

    const environmentRef = { projectId: caller.projectId, environmentId }
    const changes = planChanges(settings, stored, secrets, environmentRef)
    const isRemoved = stored.some(({ kind }) => settings.removed.some((one) => one === kind))
    const isChanged = isRemoved || changes.removed.length > 0 || changes.written.some(({ isChanged }) => isChanged)
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
      `DELETE FROM auth_providers WHERE environment_id = $1
       AND (kind = 'custom' AND name = ANY ($2::text[]) OR kind = ANY ($3::text[]))`,
      [environmentId, changes.removed, settings.removed],
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
      after: toJson(
        after,
        changes.written.filter(({ isSecretChanged }) => isSecretChanged),
      ),
      reason,
    })
    return { view: after, notices, auditId }
  })
}

/** Faults of addresses that are not stored: a stored one stays, so that its provider can still be disabled. */
function newUrlFaults(
  { custom }: AuthProviderSettings,
  stored: readonly StoredProvider[],
  rules: Pick<Webhook, 'mayCall'>,
): Fault[] {
  return [...(custom ?? [])].flatMap(([name, { url }]) => {
    const isStored = stored.some((row) => row.kind === 'custom' && row.name === name && row.url === url)
    // An unreadable one has a fault already.
    const message = url === '' || isStored ? undefined : newUrlFault(url, rules.mayCall)
    return message === undefined ? [] : [{ path: `authProviders.custom.${name}.url`, message }]
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

interface Change {
  readonly kind: StoredProvider['kind']
  readonly name: string
  readonly enabled: boolean
  readonly url: string | null
  readonly secret: string | null
  readonly settings: string | null
  readonly isSecretChanged: boolean
  readonly isChanged: boolean
}

function planChanges(
  settings: AuthProviderSettings,
  stored: readonly StoredProvider[],
  secrets: Secrets,
  environmentRef: Pick<SecretContext, 'projectId' | 'environmentId'>,
): { written: Change[]; removed: string[] } {
  const find = (kind: string, name: string) => stored.find((row) => row.kind === kind && row.name === name)
  // A stored secret that cannot be opened, as its key is missing, counts as a different secret.
  const open = (sealed: string, context: SecretContext): string | null => tryToOpen(secrets, sealed, context) ?? null

  const written = [...(settings.custom ?? [])].map(([name, { enabled, url, secret }]): Change => {
    const before = find('custom', name)
    const context = { ...environmentRef, kind: 'custom', name }
    const isSecretChanged = secret !== null && (!before?.secret || open(before.secret, context) !== secret)
    return {
      kind: 'custom',
      name,
      enabled,
      url,
      secret: secret === null ? (before?.secret ?? null) : secrets.seal(secret, context),
      settings: null,
      isSecretChanged,
      isChanged: isSecretChanged || before?.enabled !== enabled || before.url !== url,
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
      enabled: true,
      url: null,
      secret: secrets.seal(block, context),
      settings: shown,
      isSecretChanged: secretsOf(whole ?? '{}').join() !== secretsOf(block).join(),
      isChanged: whole !== block,
    })
  }
  const names = stored.filter(({ kind }) => kind === 'custom').map(({ name }) => name)
  return { written, removed: settings.custom === null ? [] : names.filter((name) => !settings.custom?.has(name)) }
}

async function write(client: ClientBase, environmentId: string, change: Change): Promise<void> {
  await client.query(
    `INSERT INTO auth_providers AS p (environment_id, kind, name, enabled, url, secret, settings, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp())
     ON CONFLICT (environment_id, kind, name) DO UPDATE SET enabled = excluded.enabled, url = excluded.url,
       secret = excluded.secret, settings = excluded.settings,
       updated_at = CASE WHEN $8 THEN excluded.updated_at ELSE p.updated_at END`,
    [
      environmentId,
      change.kind,
      change.name,
      change.enabled,
      change.url,
      change.secret,
      change.settings,
      change.isChanged,
    ],
  )
}

function toJson({ authProviders }: AuthProvidersView, secretChanges: readonly Change[]): Json {
  const custom = Object.entries(authProviders.custom).map(([name, provider]): [string, Json] => [
    name,
    secretChanges.some((change) => change.kind === 'custom' && change.name === name)
      ? { ...provider, secretChanged: true }
      : provider,
  ])
  const others = secretChanges.filter(({ kind }) => kind !== 'custom').map(({ kind }) => kind)
  return {
    ...authProviders,
    custom: Object.fromEntries(custom),
    ...(others.length > 0 && { secretsChanged: others }),
  }
}
