import type { Pool } from 'pg'
import type { PlatformCaller, PlayerCaller } from './callers.ts'

/** Ends what callers have open once they may not call any more. */
export interface Watch {
  /**
   * Calls `end` once, within two seconds, when the caller is banned, deleted, logged out, or its key revoked: whoever did
   * it, and on whichever instance. Call the answer to stop watching.
   */
  watch(caller: Watched, end: (reason: EndReason) => void): () => void
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

/** Looks at all who have something open with one statement a second. No signal can be lost, as there is none. */
export function createWatch({ pool, onError = () => {} }: WatchOptions): Watch {
  const entries = new Set<Entry>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  async function look(): Promise<void> {
    try {
      const watched = [...entries]
      endExpired(watched)
      for (const [entry, reason] of await findEnded(watched)) end(entry, reason)
    } catch (error) {
      onError(error)
    }
    timer = undefined
    schedule()
  }

  function schedule(): void {
    if (entries.size > 0 && !closed) timer ??= setTimeout(look, LOOK_MS).unref()
  }

  function end(entry: Entry, reason: EndReason): void {
    if (entries.delete(entry)) entry.end(reason)
  }

  function endExpired(watched: readonly Entry[]): void {
    const now = Date.now()
    for (const entry of watched) {
      if (entry.caller.kind === 'player' && entry.caller.expiresAt <= now) end(entry, 'token expired')
    }
  }

  async function findEnded(watched: readonly Entry[]): Promise<[Entry, EndReason][]> {
    const players = watched.flatMap((entry) =>
      entry.caller.kind === 'player' ? [{ entry, player: entry.caller }] : [],
    )
    const platform = watched.filter(({ caller }) => caller.kind === 'platform')
    const clients = watched.filter(({ caller }) => caller.kind === 'client')
    const keyOf = ({ caller }: Entry) => (caller.kind === 'player' ? '' : caller.keyId)
    const { rows } = await pool.query<{ kind: string; n: number; status: string }>({
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
        SELECT 'platform', k.n::int, 'key revoked' FROM unnest($4::uuid[]) WITH ORDINALITY AS k(id, n)
        JOIN platform_keys p ON p.id = k.id WHERE p.revoked_at IS NOT NULL
        UNION ALL
        SELECT 'client', k.n::int, 'key revoked' FROM unnest($5::uuid[]) WITH ORDINALITY AS k(id, n)
        JOIN sdk_keys s ON s.id = k.id WHERE s.revoked_at IS NOT NULL`,
      values: [
        players.map(({ player }) => player.environmentId),
        players.map(({ player }) => player.playerId),
        players.map(({ player }) => player.familyId),
        platform.map(keyOf),
        clients.map(keyOf),
      ],
    })
    const groups: Record<string, readonly Entry[]> = {
      player: players.map(({ entry }) => entry),
      platform,
      client: clients,
    }
    return rows.flatMap(({ kind, n, status }): [Entry, EndReason][] => {
      const entry = groups[kind]?.[n - 1]
      return entry ? [[entry, REASONS[status] ?? 'player deleted']] : []
    })
  }

  return {
    watch(caller, onEnd) {
      const entry = { caller, end: onEnd }
      entries.add(entry)
      schedule()
      return () => void entries.delete(entry)
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}

const REASONS: Readonly<Record<string, EndReason>> = {
  banned: 'player banned',
  deleted: 'player deleted',
  'logged out': 'logged out',
  'key revoked': 'key revoked',
}
