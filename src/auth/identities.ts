import { columns, PART_ORDER, type Part, type Statement, Wanted } from '../commit/group.ts'
import type { PlayerRef } from '../players/standing.ts'

/** A provider's subject in an environment: `custom` for the default provider, `custom:<name>` for any other (spec 2.3). */
export interface IdentityRef {
  readonly environmentId: string
  readonly provider: string
  readonly subject: string
}

/** How identities name a provider that settings call by its name. */
export const identityProvider = (name: string): string => (name === 'default' ? 'custom' : `custom:${name}`)

/** Also what Postgres locks, which takes no NUL: the length tells where a provider ends that has a slash. */
const identityKey = ({ environmentId, provider, subject }: IdentityRef): string =>
  `${environmentId}/${provider.length}/${provider}/${subject}`

/**
 * The identities of a group. A subject is locked before it is read, also while nobody owns it: of logins that come at
 * once with a new subject one creates the player, and the others find it.
 */
export class Identities implements Part {
  static readonly order = PART_ORDER.identities
  private readonly wanted = new Wanted<IdentityRef>()
  private readonly pending = new Map<string, IdentityRef>()
  private readonly loaded = new Set<string>()
  private readonly owners = new Map<string, string>()
  private added: (IdentityRef & { playerId: string })[] = []
  private readonly removed: IdentityRef[] = []

  /** Names a subject; true once it is locked and read. */
  want(ref: IdentityRef): boolean {
    const key = identityKey(ref)
    if (this.loaded.has(key)) return true
    this.wanted.want(key, ref)
    this.pending.set(key, ref)
    return false
  }

  ownerOf(ref: IdentityRef): PlayerRef | undefined {
    const playerId = this.owners.get(identityKey(ref))
    return playerId === undefined ? undefined : { environmentId: ref.environmentId, playerId }
  }

  add({ environmentId, provider, subject }: IdentityRef, { playerId }: PlayerRef): void {
    const ref = { environmentId, provider, subject }
    this.owners.set(identityKey(ref), playerId)
    this.added.push({ ...ref, playerId })
  }

  /** Frees a subject. */
  remove({ environmentId, provider, subject }: IdentityRef): void {
    const ref = { environmentId, provider, subject }
    const key = identityKey(ref)
    this.owners.delete(key)
    this.added = this.added.filter((identity) => identityKey(identity) !== key)
    this.removed.push(ref)
  }

  load(): Statement[] {
    if (this.pending.size === 0) return []
    // In the order of the keys, which is the same in every group: two never wait for each other.
    const keys = [...this.pending.keys()].sort()
    this.pending.clear()
    for (const key of keys) this.loaded.add(key)
    const lock: Statement = {
      name: 'identities-lock',
      text: 'SELECT pg_advisory_xact_lock(hashtextextended(k, 0)) FROM unnest($1::text[]) AS k',
      values: columns(
        keys.map((key) => ({ key })),
        ['key'],
      ),
    }
    const read = this.wanted.read({
      name: 'identities-read',
      text: `SELECT k.n::int, i.player_id
        FROM unnest($1::uuid[], $2::text[], $3::text[]) WITH ORDINALITY AS k(environment_id, provider, subject, n)
        CROSS JOIN LATERAL (
          SELECT player_id FROM identities i
          WHERE i.environment_id = k.environment_id AND i.provider = k.provider AND i.subject = k.subject LIMIT 1
        ) i`,
      columns: ['environmentId', 'provider', 'subject'],
      take: (key, [, playerId]) => this.owners.set(key, playerId),
    })
    return [lock, ...read]
  }

  save(): Statement[] {
    const statements: Statement[] = []
    if (this.removed.length > 0) {
      statements.push({
        name: 'identities-remove',
        text: `DELETE FROM identities i USING unnest($1::uuid[], $2::text[], $3::text[]) AS k(environment_id, provider, subject)
          WHERE i.environment_id = k.environment_id AND i.provider = k.provider AND i.subject = k.subject`,
        values: columns(this.removed, ['environmentId', 'provider', 'subject']),
      })
    }
    if (this.added.length > 0) {
      statements.push({
        name: 'identities-save',
        text: `INSERT INTO identities (environment_id, provider, subject, player_id)
          SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[])`,
        values: columns(this.added, ['environmentId', 'provider', 'subject', 'playerId']),
      })
    }
    return statements
  }
}
