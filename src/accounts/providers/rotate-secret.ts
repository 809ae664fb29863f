import type { ClientBase, Pool } from 'pg'
import { Refusal } from '../../base/errors.ts'
import { MAX_SIGNING_SECRETS } from '../../base/limits.ts'
import { generateSecret, type Secrets, tryToOpen } from '../../base/secrets.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { lockEnvironment } from '../../callers/projects.ts'
import { newId } from '../../db/ids.ts'
import { purge } from '../../db/purge.ts'
import type { Change } from '../../declare/change.ts'
import { type CustomProviderView, readStored, type StoredProvider, viewOfCustom } from './auth-providers.ts'
import { withSecret } from './webhook-settings.ts'

/** The default overlap of both secrets: a working day to deploy everywhere. */
export const DEFAULT_OVERLAP_SECONDS = 24 * 60 * 60

interface RotateSecret {
  readonly environmentId: string
  readonly name: string
  /** The new secret; null to have one generated. */
  readonly secret: string | null
  /** How long the replaced secret still signs. With 0, this secret and all earlier ones stop signing at once. */
  readonly overlapSeconds: number
}

interface RotatedSecret {
  readonly provider: CustomProviderView & { readonly name: string }
  /** The generated secret; null when the caller gave one. */
  readonly secret: string | null
}

/**
 * Replaces the secret of a custom provider from the next login on. Each replaced secret keeps signing until its own time
 * is over, even through further rotations, so that a promised time holds. Setting the current secret again changes
 * nothing, except that an overlap of 0 ends the others.
 */
export async function rotateProviderSecret(
  client: ClientBase,
  secrets: Secrets,
  { projectId }: PlatformCaller,
  { environmentId, name, secret, overlapSeconds }: RotateSecret,
): Promise<Change<RotatedSecret>> {
  const fresh = secret ?? generateSecret()
  await lockEnvironment(client, environmentId)
  const before = await findStored(client, environmentId, name)
  const context = { projectId, environmentId, kind: 'custom', name }

  // A secret that cannot be decrypted no longer signs, and cannot be kept.
  const current = before.secret === null ? undefined : tryToOpen(secrets, before.secret, context)
  const isNew = current !== fresh
  const isKept = isNew && overlapSeconds > 0 && current !== undefined
  const replaced = await readReplaced(client, environmentId, name)
  const ended = replaced.filter(
    ({ id, secret: sealed }) =>
      overlapSeconds === 0 || tryToOpen(secrets, sealed, { ...context, replaced: id }) === fresh,
  )
  if (!isNew && ended.length === 0) return { outcome: { provider: { name, ...viewOfCustom(before) }, secret: null } }
  if (isKept && replaced.length - ended.length + 2 > MAX_SIGNING_SECRETS) throw new Refusal('tooManySecrets')

  await client.query('DELETE FROM replaced_secrets WHERE environment_id = $1 AND id = ANY ($2::uuid[])', [
    environmentId,
    ended.map(({ id }) => id),
  ])
  if (isKept) {
    const id = newId()
    await client.query(
      `INSERT INTO replaced_secrets (environment_id, kind, name, id, secret, expires_at)
       VALUES ($1, 'custom', $2, $3, $4, clock_timestamp() + make_interval(secs => $5))`,
      [environmentId, name, id, secrets.seal(current, { ...context, replaced: id }), overlapSeconds],
    )
  }
  await client.query(
    `UPDATE auth_providers SET secret = $3, settings = $4, updated_at = clock_timestamp()
     WHERE environment_id = $1 AND kind = 'custom' AND name = $2`,
    [environmentId, name, secrets.seal(fresh, context), withSecret(before.settings, fresh)],
  )
  const provider = viewOfCustom(await findStored(client, environmentId, name))
  return {
    outcome: { provider: { name, ...provider }, secret: secret === null ? fresh : null },
    target: name,
    before: viewOfCustom(before),
    after: { ...provider, secretChanged: isNew },
  }
}

async function findStored(client: ClientBase, environmentId: string, name: string): Promise<StoredProvider> {
  const stored = await readStored(client, environmentId)
  const found = stored.find((row) => row.kind === 'custom' && row.name === name)
  if (!found) throw new Refusal('notFound')
  return found
}

interface ReplacedSecret {
  readonly id: string
  readonly secret: string
}

async function readReplaced(client: ClientBase, environmentId: string, name: string): Promise<ReplacedSecret[]> {
  const { rows } = await client.query<ReplacedSecret>(
    `SELECT id, secret FROM replaced_secrets
     WHERE environment_id = $1 AND kind = 'custom' AND name = $2 AND expires_at > now()`,
    [environmentId, name],
  )
  return rows
}

/** Erases expired secrets. Returns how many. They stop signing when they expire, erased or not. */
export const purgeExpiredSecrets = (pool: Pool): Promise<number> =>
  purge(pool, 'replaced_secrets', 'expires_at <= now()')
