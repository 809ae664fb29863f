import type { Client, CombinedError } from 'urql'
import { createKeyClient } from '../session/client.ts'
import type { ActionResult } from '../ui/action-dialog.tsx'
import { codeOf } from '../ui/errors.ts'
import { keyCountsQuery } from './operations.ts'

// What a session cannot do, since it would outlive the session: it takes the person's own platform key, once.

/** A client with that key. */
export async function clientOf(own: string, projectId: string): Promise<Client | ActionResult> {
  const client = createKeyClient(own.trim())
  // A key of another project would make a key there.
  const { data: known, error: unknown } = await client.query(keyCountsQuery, {})
  if (!known) return refusalOf(unknown)
  if (known.project.projectId !== projectId) return { refusal: 'This platform key belongs to another project.' }
  return client
}

/** The field of that key. */
export const OWN_KEY = {
  name: 'own',
  label: 'Your platform key',
  type: 'password',
  hint: 'A session cannot do this, since it would outlive the session. This key needs the role admin. It is used once and not kept.',
  autoComplete: 'off',
  required: true,
} as const

/** Refusals that are about the key that was typed in, not about the session. */
export function refusalOf(error: CombinedError | undefined): ActionResult {
  switch (codeOf(error)) {
    case 'INVALID_TOKEN':
      return { refusal: 'This platform key is unknown or revoked.' }
    case 'FORBIDDEN':
      return { refusal: 'This platform key does not have the role admin.' }
    default:
      return { error }
  }
}
