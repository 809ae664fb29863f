import type { Pool } from 'pg'
import { purge } from '../db/purge.ts'
import type { PlatformCaller, PlayerCaller } from './callers.ts'

/** Ends what callers have open once they may not call any more. */
export interface Watch {
  /**
   * Calls `end` once, within two seconds, when the caller is banned, deleted, logged out, or its key revoked: whoever did
   * it, and on whichever instance. Call the answer to stop watching.
   */
  watch(caller: Watched, end: (reason: EndReason) => void): () => void
  /** Why a caller may not have anything open now; undefined when it may. */
  check(caller: Watched): Promise<EndReason | undefined>
  close(): void
}

/** A caller with something open. A client before its login has its SDK key alone. */
export type Watched = PlayerCaller | PlatformCaller | { readonly kind: 'client'; readonly keyId: string }

export type EndReason = 'player banned' | 'player deleted' | 'logged out' | 'key revoked' | 'token expired'

export interface WatchOptions {
  readonly pool: Pool
  /** Milliseconds between two looks; 1,000 unless given. */
  readonly lookMs?: number
  /** Called when the database could not be read. The next look tries again. */
  readonly onError?: (error: unknown) => void
}

/** Every caller is looked at once in so many looks, whatever `ended_access` says. */
const SWEEP_LOOKS = 60
const KEPT = '1 hour'

interface Entry {
  readonly caller: Watched
  readonly end: (reason: EndReason) => void
}

/** A caller, and everything that it has open. */
interface Holder {
  readonly caller: Watched
  readonly entries: Set<Entry>
}

/** The player or the key that calls. */
const idOf = (caller: Watched): string => (caller.kind === 'player' ? caller.playerId : caller.keyId)

/** Whether what ends one ends the other: logins of a player end by themselves. */
function isSame(one: Watched, other: Watched): boolean {
  if (one.kind !== 'player' || other.kind !== 'player') return one.kind === other.kind
  return one.environmentId === other.environmentId && one.familyId === other.familyId
}

/**
 * Looks once a second at the callers whose right may have ended: those that are new, those whose player `ended_access`
 * names, and those with a key, which are few. No signal can be lost, as there is none. What a failover to a lagging
 * standby hides from `ended_access` is found by the sweep.
 */
export function createWatch({ pool, lookMs = 1_000, onError = () => {} }: WatchOptions): Watch {
  const holders = new Map<string, Holder[]>()
  const keyed = new Set<Holder>()
  /** Holders that no look has seen yet. */
  let fresh = new Set<Holder>()
  let sweep = holders.values()
  /** Transactions before this one had ended at the last look. Null before the first. */
  let horizon: string | null = null
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function look(): Promise<void> {
    const looked = fresh
    fresh = new Set()
    try {
      endExpired()
      const ended = await readEnded(pool, horizon)
      const named = ended.playerIds.flatMap((playerId) => holders.get(playerId) ?? [])
      const due = [...new Set([...looked, ...named, ...keyed, ...nextOfSweep()])]
      const callers = due.map(({ caller }) => caller)
      for (const [caller, reason] of await findEnded(pool, callers)) endAll(find(caller), reason)
      horizon = ended.horizon
    } catch (error) {
      for (const holder of looked) fresh.add(holder)
      onError(error)
    }
    timer = undefined
    schedule()
  }

  function schedule(): void {
    if (holders.size > 0 && !closed) timer ??= setTimeout(look, lookMs).unref()
  }

  function nextOfSweep(): Holder[] {
    const next: Holder[] = []
    for (let count = Math.ceil(holders.size / SWEEP_LOOKS); count > 0; count -= 1) {
      const { done, value } = sweep.next()
      if (done) sweep = holders.values()
      else next.push(...value)
    }
    return next
  }

  function endExpired(): void {
    const now = Date.now()
    for (const group of holders.values()) {
      for (const { entries } of group) {
        for (const entry of entries) {
          if (entry.caller.kind === 'player' && entry.caller.expiresAt <= now) end(entry, 'token expired')
        }
      }
    }
  }

  function endAll(holder: Holder | undefined, reason: EndReason): void {
    for (const entry of holder?.entries ?? []) end(entry, reason)
  }

  function end(entry: Entry, reason: EndReason): void {
    forget(entry)
    entry.end(reason)
  }

  const find = (caller: Watched): Holder | undefined =>
    holders.get(idOf(caller))?.find((holder) => isSame(holder.caller, caller))

  function enter(caller: Watched): Holder {
    const holder = { caller, entries: new Set<Entry>() }
    holders.set(idOf(caller), [...(holders.get(idOf(caller)) ?? []), holder])
    fresh.add(holder)
    if (caller.kind !== 'player') keyed.add(holder)
    return holder
  }

  function forget(entry: Entry): void {
    const holder = find(entry.caller)
    if (!holder?.entries.delete(entry) || holder.entries.size > 0) return
    const id = idOf(entry.caller)
    const others = holders.get(id)?.filter((other) => other !== holder) ?? []
    if (others.length > 0) holders.set(id, others)
    else holders.delete(id)
    fresh.delete(holder)
    keyed.delete(holder)
  }

  return {
    watch(caller, onEnd) {
      const entry = { caller, end: onEnd }
      const holder = find(caller) ?? enter(caller)
      holder.entries.add(entry)
      schedule()
      return () => forget(entry)
    },
    async check(caller) {
      const [ended] = await findEnded(pool, [caller])
      return ended?.[1]
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

/** Players that `ended_access` names since a look, and where the next look begins. */
async function readEnded(pool: Pool, horizon: string | null): Promise<{ horizon: string; playerIds: string[] }> {
  const { rows } = await pool.query<{ horizon: string; player_ids: string[] | null }>({
    name: 'watch-ended',
    text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon,
      (SELECT array_agg(DISTINCT player_id) FROM ended_access WHERE xid >= $1::bigint) AS player_ids`,
    values: [horizon],
  })
  return { horizon: rows[0]?.horizon ?? '0', playerIds: rows[0]?.player_ids ?? [] }
}

/** Removes rows that every instance has read. */
export const purgeEndedAccess = (pool: Pool): Promise<number> =>
  purge(pool, 'ended_access', `ended_at < now() - interval '${KEPT}'`)

async function findEnded(pool: Pool, callers: readonly Watched[]): Promise<[Watched, EndReason][]> {
  const players = callers.filter((caller) => caller.kind === 'player')
  const platform = callers.filter((caller) => caller.kind === 'platform')
  const clients = callers.filter((caller) => caller.kind === 'client')
  if (callers.length === 0) return []
  const { rows } = await pool.query<{ kind: Watched['kind']; n: number; status: string }>({
    name: 'watch',
    text: `SELECT 'player' AS kind, k.n::int, p.status
      FROM unnest($1::uuid[], $2::uuid[]) WITH ORDINALITY AS k(environment_id, id, n) CROSS JOIN LATERAL (
        SELECT status FROM players p WHERE p.environment_id = k.environment_id AND p.id = k.id LIMIT 1
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
      JOIN sdk_keys s ON s.id = k.id WHERE s.revoked_at IS NOT NULL`,
    values: [
      players.map(({ environmentId }) => environmentId),
      players.map(({ playerId }) => playerId),
      players.map(({ familyId }) => familyId),
      platform.map(({ keyId }) => keyId),
      clients.map(({ keyId }) => keyId),
    ],
  })
  const groups = { player: players, platform, client: clients }
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
