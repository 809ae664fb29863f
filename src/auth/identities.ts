import type { Group, Part } from '../commit/group.ts'
import type { PlayerRef } from '../commit/player.ts'
import type { Statement } from '../commit/statement.ts'
import { columns, Wanted } from '../commit/wanted.ts'

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
  static readonly stage = 'locks'
  private readonly wanted: Wanted<IdentityRef>
  private pending: string[] = []
  private readonly owners = new Map<string, string>()
  private added: (IdentityRef & { playerId: string })[] = []
  private readonly removed: IdentityRef[] = []

  constructor(group: Group) {
    this.wanted = new Wanted(group)
  }

  /** Asks for a subject, which is locked. Its owner, once that is known. */
  askOwner(ref: IdentityRef): PlayerRef | undefined {
    const key = identityKey(ref)
    if (!this.wanted.want(key, ref)) {
      this.pending.push(key)
      return undefined
    }
    return this.ownerOf(ref)
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
    if (this.pending.length === 0) return []
    // In the order of the keys, which is the same in every group: two never wait for each other.
    const keys = [...new Set(this.pending)].sort()
    this.pending = []
    const lock: Statement = {
      name: 'identities-lock',
      text: 'SELECT pg_advisory_xact_lock(hashtextextended(k, 0)) FROM unnest($1::text[]) AS k',
      values: columns(
        keys.map((key) => ({ key })),
        ['key'],
      ),
    }
    const read = this.wanted.statements({
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
