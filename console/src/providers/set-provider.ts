import { useClient } from 'urql'
import { useEnvironment } from '../shell/environment.tsx'
import type { ActionResult } from '../ui/action-dialog.tsx'
import { faultsOf } from '../ui/errors.ts'
import { conflictOf, faultsOfProvider, type Settings } from './change.ts'
import { providersQuery, setProvidersMutation } from './operations.ts'

interface ProviderChange {
  readonly name: string
  /** The settings that the dialog shows; undefined for a new provider. */
  readonly shown: Settings | undefined
  /** Undefined removes it. Without a secret or a key, the stored one is kept. */
  readonly wanted: (Settings & { readonly secret?: string; readonly clientKey?: string }) | undefined
  readonly reason: string
  readonly done: string
}

/**
 * Changes one custom provider. The service replaces all providers at once, so they are read again first. Changes by
 * other people to the other providers stay, and a change to the same provider is reported instead of undone.
 */
export function useSetProvider(): (change: ProviderChange) => Promise<ActionResult> {
  const client = useClient()
  const environment = useEnvironment()
  return async ({ name, shown, wanted, reason, done }) => {
    const read = await client.query(providersQuery, { environment }, { requestPolicy: 'network-only' })
    if (!read.data) return { error: read.error }
    const [current] = read.data.authProviders
    const custom = current?.custom ?? []
    const refusal = conflictOf(name, { shown, found: custom.find((one) => one.name === name), wanted })
    if (refusal !== undefined) return { refusal }
    const others = custom
      .filter((one) => one.name !== name)
      .map((one) => {
        const { enabled, url, timeoutMs, attempts, breakerAfter, ed25519, claims, denialReasons } = one
        const { caCertificates, clientCertificate } = one
        const limits = { timeoutMs, attempts, breakerAfter }
        const switches = { ed25519, claims, denialReasons }
        const settings: Settings = { enabled, url, ...limits, ...switches, caCertificates, clientCertificate }
        return [one.name, settings] as const
      })
    const all = Object.fromEntries([...others, ...(wanted === undefined ? [] : [[name, wanted] as const])])
    // A change between this read and the write is not undone: the service refuses, with what has changed.
    const expectedVersion = current?.version
    const input = { environment, reason, expectedVersion, authProviders: JSON.stringify({ custom: all }) }
    const { data, error } = await client.mutation(setProvidersMutation, { input })
    return data?.setAuthProviders
      ? { done, auditEntry: data.setAuthProviders.auditEntry }
      : { error, faults: faultsOfProvider(name, faultsOf(error)) }
  }
}
