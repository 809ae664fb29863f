import { isIP, type LookupFunction } from 'node:net'
import type { SecureContext } from 'node:tls'
import { Agent, buildConnector } from 'undici'
import { isPublicAddress } from './addresses.ts'
import { AttemptFault } from './attempt-fault.ts'
import { sharedLookup } from './look-up.ts'

export interface ConnectionOptions {
  readonly allowPrivateAddresses: boolean
  readonly lookup?: LookupFunction
}

const CONNECT_TIMEOUT_MS = 3_000
const KEEP_ALIVE_MS = 4_000

/**
 * Connections to public addresses only, which are kept for some seconds. Without a context, TLS trusts the authorities
 * that Node knows, and shows no certificate.
 */
export const guardedAgent = (options: ConnectionOptions, secureContext?: SecureContext): Agent =>
  new Agent({
    connect: guardedConnector(options, secureContext),
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The time limit of an exchange is shorter, and covers a whole answer.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

/** Connects to public addresses only, in any spelling. The address that is checked is the one that is used. */
function guardedConnector(
  { allowPrivateAddresses, lookup = sharedLookup() }: ConnectionOptions,
  secureContext?: SecureContext,
): buildConnector.connector {
  const guardedLookup: LookupFunction = (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      const addresses = Array.isArray(found) ? found : []
      const [first] = addresses
      const isAllowed = allowPrivateAddresses || addresses.every(({ address }) => isPublicAddress(address))
      if (error) callback(error, [])
      // Node fails on an empty list.
      else if (!first) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), [])
      else if (!isAllowed) callback(new AttemptFault('private_address'), [])
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    lookup: guardedLookup,
    ...(secureContext && { secureContext }),
  })
  return (target, callback) => {
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    // No lookup happens for a literal address, so it is checked here.
    if (!allowPrivateAddresses && isIP(host) && !isPublicAddress(host))
      callback(new AttemptFault('private_address'), null)
    else connect(target, callback)
  }
}
