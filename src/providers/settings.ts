import type { ClientBase, Pool } from 'pg'
import { writeAudit } from '../audit/audit-log.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import { inTransaction } from '../db/transaction.ts'
import { type Fault, invalidRequest, Refusal } from '../errors.ts'
import { Fields } from '../fields.ts'
import { type Json, kindOf, members, RawJson } from '../json.ts'
import { isProviderName, NAME_RULE } from './custom-provider.ts'
import type { SecretContext, Secrets } from './secrets.ts'
import { redact, withKeptSecrets } from './write-only.ts'

// The settings of an environment's login providers (spec 4.3).

const MAX_URL_LENGTH = 2048
const MAX_SECRET_LENGTH = 512
const PLATFORM_KINDS = ['google', 'apple'] as const

type PlatformKind = (typeof PLATFORM_KINDS)[number]

/** What a PUT asks for. A part that is null stays as it is. */
export interface AuthProviderSettings {
  readonly environment: string
  /** Replaces all custom providers, by name. */
  readonly custom: ReadonlyMap<string, CustomProviderSettings> | null
  readonly google: RawJson | null
  readonly apple: RawJson | null
}

export interface CustomProviderSettings {
  readonly enabled: boolean
  readonly url: string
  /** Null keeps the stored one. */
  readonly secret: string | null
}

/** The settings of one environment as operators see them: without any secret. */
export type AuthProvidersView = {
  readonly environment: string
  readonly authProviders: {
    readonly custom: Readonly<Record<string, CustomProviderView>>
    readonly google: RawJson | null
    readonly apple: RawJson | null
  }
}

export type CustomProviderView = {
  readonly enabled: boolean
  readonly url: string
  readonly hasSecret: boolean
  readonly updatedAt: string
}

/** A request read as far as it goes, with every fault that it shows by itself. */
export interface ReadSettings {
  readonly settings: AuthProviderSettings
  readonly faults: readonly Fault[]
}

/** Reads the body of a PUT. Whether a secret is missing shows only beside what is stored, so faults are not thrown yet. */
export function readSettings(body: string): ReadSettings {
  const faults: Fault[] = []
  const request = gather(faults, '', Fields.ofJson(body), (fields) => ({
    environment: fields.text('environment', { max: 32 }),
    authProviders: fields.object('authProviders'),
  }))
  const blocks = gather(faults, 'authProviders.', Fields.ofJson(request?.authProviders ?? '{}'), (fields) => ({
    custom: fields.optionalObject('custom'),
    google: fields.optionalObject('google'),
    apple: fields.optionalObject('apple'),
  }))
  const custom = blocks?.custom ?? null
  return {
    settings: {
      environment: request?.environment ?? '',
      custom: custom === null ? null : readCustom(custom, faults),
      google: rawOrNull(blocks?.google ?? null),
      apple: rawOrNull(blocks?.apple ?? null),
    },
    faults,
  }
}

function readCustom(text: string, faults: Fault[]): Map<string, CustomProviderSettings> {
  const providers = new Map<string, CustomProviderSettings>()
  for (const [name, raw] of members(text)) {
    const path = `authProviders.custom.${name}`
    if (!isProviderName(name)) faults.push({ path, message: NAME_RULE })
    if (kindOf(raw) !== 'object') {
      faults.push({ path, message: 'must be a JSON object' })
      continue
    }
    const provider = gather(faults, `${path}.`, Fields.ofJson(raw), (fields) => ({
      enabled: fields.flag('enabled'),
      url: fields.text('url', { max: MAX_URL_LENGTH }),
      secret: fields.optionalText('secret', { max: MAX_SECRET_LENGTH }),
    }))
    if (!provider) continue
    const fault = urlFault(provider.url)
    if (fault) faults.push({ path: `${path}.url`, message: fault })
    providers.set(name, provider)
  }
  return providers
}

function urlFault(url: string): string | undefined {
  // URL parsers drop these silently; what is stored should be what is called.
  if (/[\s\u0000-\u001f\u007f]/.test(url)) return 'must not contain whitespace or control characters'
  if (!URL.canParse(url) || !/^https?:\/\//i.test(url)) return 'must be an absolute http or https URL'
  const { username, password } = new URL(url)
  return username !== '' || password !== '' ? 'must not contain credentials' : undefined
}

/** Runs a reader and keeps its faults, each under a path of ours; undefined when there were any. */
function gather<T>(faults: Fault[], prefix: string, fields: Fields, reader: (fields: Fields) => T): T | undefined {
  try {
    return fields.read(reader)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    for (const { path, message } of error.faults) faults.push({ path: prefix + path, message })
    return undefined
  }
}

const rawOrNull = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))

interface StoredProvider {
  readonly kind: 'custom' | PlatformKind
  readonly name: string
  readonly enabled: boolean
  readonly url: string | null
  /** Of a custom provider its secret, sealed; of another its whole block. */
  readonly secret: string | null
  readonly settings: string | null
  readonly updated_at: Date
}

/** The settings of one environment of a project, or of all of them in the order of their names. */
export async function readAuthProviders(
  pool: Pool,
  projectId: string,
  environment: string | null,
): Promise<AuthProvidersView[]> {
  const { rows } = await pool.query<StoredProvider & { environment: string }>({
    name: 'auth-providers',
    text: `SELECT e.name AS environment, p.kind, p.name, p.enabled, p.url, p.secret, p.settings, p.updated_at
      FROM environments e LEFT JOIN auth_providers p ON p.environment_id = e.id
      WHERE e.project_id = $1 AND ($2::text IS NULL OR e.name = $2)
      ORDER BY e.name COLLATE "C", p.name COLLATE "C"`,
    values: [projectId, environment],
  })
  if (environment !== null && rows.length === 0) throw new Refusal('environmentNotFound')
  const names = [...new Set(rows.map((row) => row.environment))]
  return names.map((name) =>
    viewOf(
      name,
      rows.filter((row) => row.environment === name),
    ),
  )
}

function viewOf(environment: string, rows: readonly StoredProvider[]): AuthProvidersView {
  const custom = rows
    .filter(({ kind }) => kind === 'custom')
    .map((row): [string, CustomProviderView] => [
      row.name,
      {
        enabled: row.enabled,
        url: row.url ?? '',
        hasSecret: row.secret !== null,
        updatedAt: row.updated_at.toISOString(),
      },
    ])
  const settingsOf = (wanted: PlatformKind) => rawOrNull(rows.find(({ kind }) => kind === wanted)?.settings ?? null)
  return {
    environment,
    authProviders: { custom: Object.fromEntries(custom), google: settingsOf('google'), apple: settingsOf('apple') },
  }
}

/**
 * Replaces the parts that a request names, all or nothing, and leaves one audit row when anything changed. It counts for
 * the very next login. Refuses with every fault at once.
 */
export async function setAuthProviders(
  { pool, secrets }: { pool: Pool; secrets: Secrets },
  caller: PlatformCaller,
  { settings, faults }: ReadSettings,
  reason: string | null = null,
): Promise<AuthProvidersView> {
  const { environment } = settings
  return inTransaction(pool, async (client) => {
    // One change of an environment's settings at a time: whole maps replace whole maps.
    const found = await client.query<{ id: string }>(
      'SELECT id FROM environments WHERE project_id = $1 AND name = $2 FOR NO KEY UPDATE',
      [caller.projectId, environment],
    )
    const environmentId = found.rows[0]?.id
    const stored = environmentId === undefined ? [] : await readStored(client, environmentId)
    const missing = environmentId === undefined ? [] : missingSecrets(settings, stored)
    if (faults.length + missing.length > 0) throw invalidRequest(...faults, ...missing)
    if (environmentId === undefined) throw new Refusal('environmentNotFound')

    const place = { projectId: caller.projectId, environmentId }
    const changes = planChanges(settings, stored, secrets, place)
    for (const change of changes.written) await write(client, environmentId, change)
    await client.query(
      "DELETE FROM auth_providers WHERE environment_id = $1 AND kind = 'custom' AND name = ANY ($2::text[])",
      [environmentId, changes.removed],
    )
    const after = viewOf(environment, await readStored(client, environmentId))
    if (changes.removed.length > 0 || changes.written.some(({ isChanged }) => isChanged)) {
      await writeAudit(client, caller, {
        environmentId,
        action: 'auth_providers.set',
        target: environment,
        before: toJson(viewOf(environment, stored), []),
        after: toJson(
          after,
          changes.written.filter(({ isSecretChanged }) => isSecretChanged),
        ),
        reason,
      })
    }
    return after
  })
}

async function readStored(client: ClientBase, environmentId: string): Promise<StoredProvider[]> {
  const { rows } = await client.query<StoredProvider>(
    `SELECT kind, name, enabled, url, secret, settings, updated_at FROM auth_providers
     WHERE environment_id = $1 ORDER BY name COLLATE "C"`,
    [environmentId],
  )
  return rows
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
  place: Pick<SecretContext, 'projectId' | 'environmentId'>,
): { written: Change[]; removed: string[] } {
  const find = (kind: string, name: string) => stored.find((row) => row.kind === kind && row.name === name)
  const open = (sealed: string, context: SecretContext): string | null => {
    try {
      return secrets.open(sealed, context)
    } catch {
      // Sealed by a key that is gone: as good as another secret.
      return null
    }
  }

  const written = [...(settings.custom ?? [])].map(([name, { enabled, url, secret }]): Change => {
    const before = find('custom', name)
    const context = { ...place, kind: 'custom', name }
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
    const context = { ...place, kind, name: '' }
    const whole = before?.secret ? open(before.secret, context) : null
    const block = whole === null ? sent.text : withKeptSecrets(sent.text, whole)
    const shown = redact(block)
    written.push({
      kind,
      name: '',
      enabled: true,
      url: null,
      secret: secrets.seal(block, context),
      settings: shown,
      isSecretChanged: whole !== block && before?.settings === shown,
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
