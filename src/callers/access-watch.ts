import type { Pool } from 'pg'
import type { PlatformCaller, PlayerCaller, ServerCaller } from './callers.ts'
import type { EndedAccess } from './ended-access.ts'
import { ACCESS_STATUS } from './ended-rows.ts'

export interface AccessWatch {
  /**
   * Calls `end` once, within two seconds, when the caller is banned, deleted or logged out or its key is revoked, on
   * any instance. Call the returned function to stop watching.
   */
  watch(caller: Watched, end: (reason: EndReason) => void): () => void
  /** The reason why a caller has lost its access; undefined when it has access. */
  check(caller: Watched): Promise<EndReason | undefined>
}

/** A caller with an open socket or stream. A client before its login has only its SDK key. */
export type Watched = PlayerCaller | PlatformCaller | ServerCaller | { readonly kind: 'client'; readonly keyId: string }

export type EndReason = 'player banned' | 'player deleted' | 'logged out' | 'key revoked' | 'token expired'

export interface AccessWatchOptions {
  readonly pool: Pool
  readonly ended: Pick<EndedAccess, 'onLook'>
  /** Called when the database could not be read. The next check tries again. */
  readonly onError?: (error: unknown) => void
}

/** Every caller is checked once in this many rounds, even when no row reports that its access ended. */
const SWEEP_LOOKS = 60

interface Entry {
  readonly caller: Watched
  readonly end: (reason: EndReason) => void
}

interface Holder {
  readonly caller: Watched
  readonly entries: Set<Entry>
}

const idOf = (caller: Watched): string => (caller.kind === 'player' ? caller.playerId : caller.keyId)

/** When the token of a caller expires, in milliseconds since 1970. Keys do not expire. */
export const expiryOf = (caller: Watched): number =>
  ('expiresAt' in caller ? caller.expiresAt : undefined) ?? Number.POSITIVE_INFINITY

/** Whether both lose their access together. Each login of a player ends alone; tokens of a key end with the key. */
function isSame(one: Watched, other: Watched): boolean {
  if (one.kind !== 'player' || other.kind !== 'player') return one.kind === other.kind
  return one.environmentId === other.environmentId && one.familyId === other.familyId
}

/**
 * Once a second, checks the callers whose access may have ended: new callers, players who lost access since the last
 * check, and callers with a key, which are few. Each check also covers a share of all callers, which finds the losses
 * that a failover to a lagging standby hides.
 */
export function createAccessWatch({ pool, ended, onError = () => {} }: AccessWatchOptions): AccessWatch {
  const holders = new Holders()
  /** Players whose access has ended, not checked yet. */
  const named = new Set<string>()
  let isLooking = false

  async function look(playerIds: readonly string[]): Promise<void> {
    for (const playerId of playerIds) if (holders.of(playerId).length > 0) named.add(playerId)
    endExpired()
    if (isLooking) return
    isLooking = true
    const due = holders.takeDue(named)
    named.clear()
    try {
      const callers = [...due].map(({ caller }) => caller)
      for (const [caller, reason] of await findEnded(pool, callers))
        for (const entry of holders.find(caller)?.entries ?? []) end(entry, reason)
    } catch (error) {
      holders.putBack(due)
      onError(error)
    } finally {
      isLooking = false
    }
  }

  function endExpired(): void {
    const now = Date.now()
    for (const entry of holders.entries()) if (expiryOf(entry.caller) <= now) end(entry, 'token expired')
  }

  function end(entry: Entry, reason: EndReason): void {
    holders.remove(entry)
    entry.end(reason)
  }

  ended.onLook(look)
  return {
    watch(caller, onEnd) {
      const entry = { caller, end: onEnd }
      holders.add(entry)
      return () => holders.remove(entry)
    },
    async check(caller) {
      const [found] = await findEnded(pool, [caller])
      return found?.[1]
    },
  }
}

/** Everybody with an open socket or stream, by the id of the player or the key. */
class Holders {
  private readonly byId = new Map<string, Holder[]>()
  private readonly keyed = new Set<Holder>()
  /** Holders that no check has covered yet. */
  private fresh = new Set<Holder>()
  private sweep = this.byId.values()

  of(id: string): readonly Holder[] {
    return this.byId.get(id) ?? []
  }

  find(caller: Watched): Holder | undefined {
    return this.byId.get(idOf(caller))?.find((holder) => isSame(holder.caller, caller))
  }

  *entries(): Iterable<Entry> {
    for (const group of this.byId.values()) for (const { entries } of group) yield* entries
  }

  add(entry: Entry): void {
    const holder = this.find(entry.caller) ?? this.enter(entry.caller)
    holder.entries.add(entry)
  }

  remove(entry: Entry): void {
    const holder = this.find(entry.caller)
    if (!holder?.entries.delete(entry) || holder.entries.size > 0) return
    const id = idOf(entry.caller)
    const others = this.of(id).filter((other) => other !== holder)
    if (others.length > 0) this.byId.set(id, others)
    else this.byId.delete(id)
    this.fresh.delete(holder)
    this.keyed.delete(holder)
  }

  /** Those of the next check, with these players. */
  takeDue(playerIds: Iterable<string>): Set<Holder> {
    const named = [...playerIds].flatMap((id) => this.of(id))
    const due = new Set([...this.fresh, ...named, ...this.keyed, ...this.nextOfSweep()])
    this.fresh = new Set()
    return due
  }

  /** The check failed: the next one covers them, too. */
  putBack(due: Iterable<Holder>): void {
    for (const holder of due) if (holder.entries.size > 0) this.fresh.add(holder)
  }

  private enter(caller: Watched): Holder {
    const holder = { caller, entries: new Set<Entry>() }
    this.byId.set(idOf(caller), [...this.of(idOf(caller)), holder])
    this.fresh.add(holder)
    if (caller.kind !== 'player') this.keyed.add(holder)
    return holder
  }

  private nextOfSweep(): Holder[] {
    const next: Holder[] = []
    for (let count = Math.ceil(this.byId.size / SWEEP_LOOKS); count > 0; count -= 1) {
      const { done, value } = this.sweep.next()
      if (done) this.sweep = this.byId.values()
      else next.push(...value)
    }
    return next
  }
}

async function findEnded(pool: Pool, callers: readonly Watched[]): Promise<[Watched, EndReason][]> {
  const players = callers.filter((caller) => caller.kind === 'player')
  const platform = callers.filter((caller) => caller.kind === 'platform')
  const clients = callers.filter((caller) => caller.kind === 'client')
  const servers = callers.filter((caller) => caller.kind === 'server')
  if (callers.length === 0) return []
  const { rows } = await pool.query<{ kind: Watched['kind']; n: number; status: string }>({
    name: 'watch',
    text: `SELECT 'player' AS kind, k.n::int, p.status
      FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, id, n) CROSS JOIN LATERAL (
        SELECT ${ACCESS_STATUS} AS status FROM players p WHERE p.environment_id = k.environment_id AND p.id = k.id LIMIT 1
      ) p WHERE p.status <> 'active'
      UNION ALL
      SELECT 'player', k.n::int, 'logged out'
      FROM unnest($1::uuid[], $2::uuid[], $3::uuid[]) WITH ORDINALITY AS k(environment_id, player_id, family_id, n)
      CROSS JOIN LATERAL (
        SELECT FROM refresh_tokens t WHERE t.environment_id = k.environment_id AND t.player_id = k.player_id
          AND t.family_id = k.family_id AND t.revoked_at IS NOT NULL LIMIT 1
      ) t
      UNION ALL
      SELECT 'platform', k.n::int, 'revoked' FROM unnest($4::uuid[]) WITH ORDINALITY AS k(id, n)
      JOIN platform_keys p ON p.id = k.id WHERE p.revoked_at IS NOT NULL
      UNION ALL
      SELECT 'client', k.n::int, 'revoked' FROM unnest($5::uuid[]) WITH ORDINALITY AS k(id, n)
      JOIN sdk_keys s ON s.id = k.id WHERE s.revoked_at IS NOT NULL
      UNION ALL
      SELECT 'server', k.n::int, 'revoked' FROM unnest($6::uuid[]) WITH ORDINALITY AS k(id, n)
      JOIN server_keys s ON s.id = k.id WHERE s.revoked_at IS NOT NULL`,
    values: [
      players.map(({ environmentId }) => environmentId),
      players.map(({ playerId }) => playerId),
      players.map(({ familyId }) => familyId),
      platform.map(({ keyId }) => keyId),
      clients.map(({ keyId }) => keyId),
      servers.map(({ keyId }) => keyId),
    ],
  })
  const groups = { player: players, platform, client: clients, server: servers }
  return rows.flatMap(({ kind, n, status }): [Watched, EndReason][] => {
    const caller = groups[kind][n - 1]
    return caller ? [[caller, REASONS[status] ?? 'player deleted']] : []
  })
}

const REASONS: Readonly<Record<string, EndReason>> = {
  banned: 'player banned',
  deleted: 'player deleted',
  'logged out': 'logged out',
  revoked: 'key revoked',
}
