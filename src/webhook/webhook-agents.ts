import { LRUCache } from 'lru-cache'
import { createFetch } from 'ofetch'
import { type Agent, Headers } from 'undici'
import { type ConnectionOptions, createPlainFetch, guardedAgent } from './webhook-connection.ts'
import { contextOf, type WebhookTls } from './webhook-tls.ts'

/** Agents with certificates of their own in memory. */
const MAX_AGENTS = 1_000

type Fetch = ReturnType<typeof createFetch>

export interface WebhookAgents {
  /** Sends requests on connections with these certificates; null for those of the system. */
  of(tls: WebhookTls | null | undefined): Fetch
  close(): Promise<void>
}

/**
 * The connections to endpoints, which are kept. Those with certificates of their own are never used for a provider with
 * others, or with none.
 */
export function createAgents(options: ConnectionOptions): WebhookAgents {
  const plain = createOne(options, null)
  const others = new LRUCache<string, ReturnType<typeof createOne>>({
    max: MAX_AGENTS,
    // Calls that are under way end first.
    dispose: ({ agent }) => void agent.close(),
  })

  function of(tls: WebhookTls | null | undefined): Fetch {
    if (!tls) return plain.fetch
    const key = JSON.stringify([tls.caCertificates, tls.clientCertificate, tls.clientKey])
    const known = others.get(key)
    if (known) return known.fetch
    const made = createOne(options, tls)
    others.set(key, made)
    return made.fetch
  }

  async function close(): Promise<void> {
    const all = [plain, ...others.values()]
    await Promise.all(all.map(({ agent }) => agent.destroy()))
  }

  return { of, close }
}

function createOne(options: ConnectionOptions, tls: WebhookTls | null): { agent: Agent; fetch: Fetch } {
  const agent = guardedAgent(options, tls ? contextOf(tls) : undefined)
  const fetch = createFetch({ fetch: createPlainFetch(agent), Headers: Headers as typeof globalThis.Headers })
  return { agent, fetch }
}
