import { text, uuid } from '../../transactions/columns.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import type { IdToken } from '../id-tokens/id-token.ts'
import { rejected } from '../id-tokens/id-token.ts'
import type { Proof } from './sign-in.ts'

/** Nonces of ID tokens, and tickets, by their hash. No token with a nonce is accepted a day after it was issued. */
const usedNonces = table('used_nonces', {
  owner: null,
  key: { environmentId: uuid, hash: text },
  columns: {},
  kind: 'append',
  computed: { expires_at: `now() + interval '25 hours'` },
  expired: 'expires_at < now()',
})
const usedNonce = usedNonces.one()

/** What works once, by its hash, under a lock that all uses of it share. */
export interface Once {
  /** Whether it was used before, once the group no longer waits. */
  isUsed(): boolean
  /** Marks it as used. */
  use(): void
}

export function askOnce(group: Group, { environmentId }: { readonly environmentId: string }, hash: string): Once {
  const used = group.unowned.one(usedNonce, keyOf(environmentId, hash))
  return {
    isUsed: () => Boolean(used.value),
    use: () => void used.set({ environmentId, hash }),
  }
}

/**
 * Asks whether an ID token can still be used, under the lock of its subject, which all uses of the token share. It may
 * expire while it waits, and its nonce works once.
 */
export function askIdToken(group: Group, environmentId: string, { nonceHash, expiresAt }: IdToken): Proof {
  const once = nonceHash === null ? null : askOnce(group, { environmentId }, nonceHash)
  return {
    require() {
      if (expiresAt <= Date.now()) throw rejected({ path: 'idToken', message: 'it has expired' })
      if (once?.isUsed()) throw rejected({ path: 'nonce', message: 'was used before' })
    },
    use: () => once?.use(),
  }
}
