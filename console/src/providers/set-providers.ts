import { useClient } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import type { ActionResult } from '../ui/action-dialog.tsx'
import { type Fault, faultsOf } from '../ui/errors.ts'
import { useSend } from '../ui/send.ts'
import { providersQuery, setProvidersMutation } from './operations.ts'
import type { Providers } from './sign-in.ts'

/**
 * The members of `authProviders` that a change sets, from what is stored now, or why it cannot be made. Nothing is stored
 * before the first provider.
 */
export type Change = (current: Providers | undefined) => object | string

/**
 * Changes the provider at a path of `authProviders`, such as `oidc.studio`. The service replaces all providers of a kind
 * at once, so they are read again first. Changes by other people to the others stay.
 */
export function useSetProviders(path: string): (change: Change, reason: string, done: string) => Promise<ActionResult> {
  const client = useClient()
  const send = useSend()
  const environment = useEnvironment()
  return async (change, reason, done) => {
    const read = await client.query(providersQuery, { environment }, { requestPolicy: 'network-only' })
    if (!read.data) return { error: read.error }
    const [current] = read.data.authProviders
    const changed = change(current)
    if (typeof changed === 'string') return { refusal: changed }
    // A change between this read and the write is not undone: the service refuses, with what has changed.
    const input = { environment, expectedVersion: current?.version, authProviders: JSON.stringify(changed) }
    const { answer, error } = await send({ mutation: setProvidersMutation, input }, reason)
    return answer
      ? { done, auditEntry: answer.auditEntry }
      : { error, faults: faultsWithin(`authProviders.${path}`, faultsOf(error)) }
  }
}

/** Faults of a request by the fields of a dialog: those of `authProviders.oidc.studio.issuer` are at `issuer`. */
function faultsWithin(prefix: string, faults: readonly Fault[]): readonly Fault[] {
  return faults.map(({ path, message }) => {
    const at = path.replace(/^input\./, '')
    if (at === prefix) return { path: 'name', message }
    return { path: at.startsWith(`${prefix}.`) ? at.slice(prefix.length + 1) : at, message }
  })
}
