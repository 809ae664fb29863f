import type { IdToken } from '../id-tokens/id-token.ts'
import { rejected } from '../id-tokens/id-token.ts'
import type { Group } from '../transactions/group.ts'
import { keyOf } from '../transactions/player.ts'
import { table, text, uuid } from '../transactions/table.ts'
import type { Proof } from './sign-in.ts'

/** Nonces of ID tokens, by their hash. No token with a nonce is accepted a day after it was issued. */
const usedNonces = table('used_nonces', {
  owner: null,
  key: { environmentId: uuid, hash: text },
  columns: {},
  kind: 'append',
  computed: { expires_at: `now() + interval '25 hours'` },
  expired: 'expires_at < now()',
})
const usedNonce = usedNonces.one()

/**
 * Asks whether an ID token can still be used, under the lock of its subject, which all uses of the token share. It may
 * expire while it waits, and its nonce works once.
 */
export function askIdToken(group: Group, environmentId: string, { nonceHash: hash, expiresAt }: IdToken): Proof {
  const used = hash === null ? null : group.unowned.one(usedNonce, keyOf(environmentId, hash))
  return {
    require() {
      if (expiresAt <= Date.now()) throw rejected({ path: 'idToken', message: 'it has expired' })
      if (used?.value) throw rejected({ path: 'nonce', message: 'was used before' })
    },
    use: () => hash === null || used?.set({ environmentId, hash }),
  }
}
