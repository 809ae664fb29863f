import { LRUCache } from 'lru-cache'
import type { ConnectionOptions } from '../../base/outgoing/connections.ts'
import { createOutgoing, type Outgoing } from '../../base/outgoing/outgoing.ts'
import { contextOf, type WebhookTls } from './webhook-tls.ts'

/** Certificates of providers whose connections are kept. */
const MAX_AGENTS = 1_000

export interface WebhookAgents {
  /** Sends requests on connections with these certificates; null for those of the system. */
  of(tls: WebhookTls | null | undefined): Outgoing
  close(): Promise<void>
}

/**
 * The connections to endpoints, which are kept. Those with certificates of their own are never used for a provider with
 * others, or with none.
 */
export function createAgents({ allowPrivateAddresses, lookup }: ConnectionOptions): WebhookAgents {
  const options = {
    allowPrivateAddresses,
    ...(lookup && { lookup }),
    name: 'login webhook',
    passesTrace: true,
  }
  const plain = createOutgoing(options)
  const others = new LRUCache<string, Outgoing>({
    max: MAX_AGENTS,
    // Calls that are under way end first.
    dispose: (outgoing) => void outgoing.retire(),
  })

  function of(tls: WebhookTls | null | undefined): Outgoing {
    if (!tls) return plain
    const key = JSON.stringify([tls.caCertificates, tls.clientCertificate, tls.clientKey])
    const known = others.get(key)
    if (known) return known
    const made = createOutgoing({ ...options, secureContext: contextOf(tls) })
    others.set(key, made)
    return made
  }

  const close = async () => void (await Promise.all([plain, ...others.values()].map((one) => one.close())))

  return { of, close }
}
