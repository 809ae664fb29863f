import type { Group, Part } from '../commit/group.ts'
import { keyOf, type One, type PlayerRef } from '../commit/player.ts'
import type { Statement } from '../commit/statement.ts'
import { arrayOf, table, text, uuid } from '../commit/table.ts'

export const identities = table('identities', {
  owner: null,
  key: { environmentId: uuid, provider: text, subject: text },
  columns: { playerId: uuid },
  kind: 'append',
})
const identity = identities.one()

/** A provider's subject in an environment: `custom` for the default provider, `custom:<name>` for any other (spec 2.3). */
export interface IdentityRef {
  readonly environmentId: string
  readonly provider: string
  readonly subject: string
}

/** How identities name a provider that settings call by its name. */
export const identityProvider = (name: string): string => (name === 'default' ? 'custom' : `custom:${name}`)

/**
 * The subjects that a group locks. Each is locked before it is read, also while nobody owns it: of logins that come at
 * once with a new subject one creates the player, and the others find it.
 */
class SubjectLocks implements Part {
  static readonly stage = 'locks'
  private readonly keys = new Set<string>()

  /** Postgres takes no NUL: the length tells where a provider ends that has a slash. */
  add({ environmentId, provider, subject }: IdentityRef): void {
    this.keys.add(`${environmentId}/${provider.length}/${provider}/${subject}`)
  }

  load(): Statement[] {
    if (this.keys.size === 0) return []
    // In the order of the keys, which is the same in every group: two never wait for each other.
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

/** Asks for a subject, which is locked. Its owner, once that is known. */
export function askOwner(group: Group, ref: IdentityRef): PlayerRef | undefined {
  const found = find(group, ref)
  if (found.isKnown) return found.value ?? undefined
  group.of(SubjectLocks).add(ref)
  return undefined
}

/** Binds a subject that is free. Ask for its owner first. */
export function addIdentity(group: Group, ref: IdentityRef, { playerId }: PlayerRef): void {
  const { environmentId, provider, subject } = ref
  find(group, ref).set({ environmentId, provider, subject, playerId })
}

/** Frees a subject. Ask for its owner first. */
export function removeIdentity(group: Group, ref: IdentityRef): void {
  find(group, ref).set(null)
}
