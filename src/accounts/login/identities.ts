import type { Pool } from 'pg'
import { purge } from '../../db/purge.ts'
import { arrayOf, text, uuid } from '../../transactions/columns.ts'
import type { Extension, Group } from '../../transactions/group.ts'
import { keyOf, type One, type PlayerRef } from '../../transactions/player.ts'
import type { Statement } from '../../transactions/statement.ts'
import { table } from '../../transactions/table.ts'
import { DEFAULT_PROVIDER, providerRef } from '../providers/provider-ref.ts'

export const identities = table('identities', {
  owner: null,
  key: { environmentId: uuid, provider: text, subject: text },
  columns: { playerId: uuid },
  kind: 'append',
})
const identity = identities.one()
const identitiesOf = identities.many(['environmentId', 'playerId'], ({ provider, subject }) => keyOf(provider, subject))

/** A subject in an environment, under the provider's name in identities. */
export interface IdentityRef {
  readonly environmentId: string
  readonly provider: string
  readonly subject: string
}

/**
 * A provider's name in identities: `custom` for the custom provider `default`, `custom:<name>` for the others (contract 2.3).
 * All other providers have the same name everywhere, such as `google` and `oidc:corp`.
 */
export function identityProvider(provider: string): string {
  const { kind, name } = providerRef(provider)
  if (kind !== 'custom') return provider
  return name === DEFAULT_PROVIDER ? 'custom' : `custom:${name}`
}

/**
 * The subjects that a group locks. A subject is locked before it is read, even while it has no owner. When several
 * logins use a new subject at once, one login creates the player and the others find it.
 */
class SubjectLocks implements Extension {
  static readonly stage = 'locks'
  private readonly keys = new Set<string>()

  /** Postgres does not accept NUL as a separator, so the length says where the provider's name ends. */
  add({ environmentId, provider, subject }: IdentityRef): void {
    this.keys.add(`${environmentId}/${provider.length}/${provider}/${subject}`)
  }

  load(): Statement[] {
    if (this.keys.size === 0) return []
    // Every group locks in the order of the keys, so two groups never wait for each other.
    const keys = [...this.keys].sort()
    this.keys.clear()
    return [
      {
        name: 'identities-lock',
        text: 'SELECT pg_advisory_xact_lock(hashtextextended(k, 0)) FROM unnest($1::text[]) AS k',
        values: [arrayOf(keys, text.encode)],
      },
    ]
  }
}

const find = (group: Group, { environmentId, provider, subject }: IdentityRef): One<IdentityRef & PlayerRef> =>
  group.unowned.one(identity, keyOf(environmentId, provider, subject))

/** Locks a subject and asks for its owner. Undefined until the owner is read, and for a subject without an owner. */
export function askOwner(group: Group, ref: IdentityRef): PlayerRef | undefined {
  const found = find(group, ref)
  if (found.isKnown) return found.value ?? undefined
  group.of(SubjectLocks).add(ref)
  return undefined
}

/** Asks for all identities of a player. Other commands of the group must not change them. */
export const askIdentities = (group: Group, { environmentId, playerId }: PlayerRef) =>
  group.unowned.many(identitiesOf, keyOf(environmentId, playerId))

/** Binds a subject that is free. Ask for its owner first. */
export function addIdentity(group: Group, ref: IdentityRef, { playerId }: PlayerRef): void {
  const { environmentId, provider, subject } = ref
  find(group, ref).set({ environmentId, provider, subject, playerId })
}

/** Frees a subject. Ask for its owner first. */
export function removeIdentity(group: Group, ref: IdentityRef): void {
  find(group, ref).set(null)
}

/** Removes some identities that were freed before the oldest idempotency key. Returns how many. */
export const purgeFormerIdentities = (pool: Pool): Promise<number> =>
  purge(pool, 'former_identities', "freed_at < now() - interval '8 days'")
