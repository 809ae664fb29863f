import type { Pool } from 'pg'
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
  /** Told when the database could not be read; it is asked again. */
  readonly onError?: (error: unknown) => void
}

const LOOK_MS = 1_000

interface Entry {
  readonly caller: Watched
  readonly end: (reason: EndReason) => void
}

/** What stands for a caller, however much it has open. */
function keyOf(caller: Watched): string {
  if (caller.kind !== 'player') return `${caller.kind}/${caller.keyId}`
  return `${caller.environmentId}/${caller.playerId}/${caller.familyId ?? ''}`
}

/** Looks at all who have something open with one statement a second. No signal can be lost, as there is none. */
export function createWatch({ pool, onError = () => {} }: WatchOptions): Watch {
  const watched = new Map<string, Set<Entry>>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function look(): Promise<void> {
    try {
      endExpired()
      for (const [caller, reason] of await findEnded(pool, callers())) {
        for (const entry of watched.get(keyOf(caller)) ?? []) end(entry, reason)
      }
    } catch (error) {
      onError(error)
    }
    timer = undefined
    schedule()
  }

  function schedule(): void {
    if (watched.size > 0 && !closed) timer ??= setTimeout(look, LOOK_MS).unref()
  }

  const callers = (): Watched[] => [...watched.values()].flatMap(([entry]) => (entry ? [entry.caller] : []))

  function endExpired(): void {
    const now = Date.now()
    for (const entries of watched.values()) {
      for (const entry of entries) {
        if (entry.caller.kind === 'player' && entry.caller.expiresAt <= now) end(entry, 'token expired')
      }
    }
  }

  function end(entry: Entry, reason: EndReason): void {
    forget(entry)
    entry.end(reason)
  }

  function forget(entry: Entry): void {
    const key = keyOf(entry.caller)
    const entries = watched.get(key)
    entries?.delete(entry)
    if (entries?.size === 0) watched.delete(key)
  }

  return {
    watch(caller, onEnd) {
      const entry = { caller, end: onEnd }
      const entries = watched.get(keyOf(caller)) ?? new Set()
      watched.set(keyOf(caller), entries.add(entry))
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

async function findEnded(pool: Pool, callers: readonly Watched[]): Promise<[Watched, EndReason][]> {
  const players = callers.filter((caller) => caller.kind === 'player')
  const platform = callers.filter((caller) => caller.kind === 'platform')
  const clients = callers.filter((caller) => caller.kind === 'client')
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
