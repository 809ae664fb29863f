import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

/**
 * The address of a client, behind a number of trusted proxies. Each of these proxies appends the address of its own
 * client to `X-Forwarded-For`, so entries further left, which anyone can send, do not count. Addresses of IPv6 are given
 * as their /64 network, since one client has all of it.
 */
export function clientAddress(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  trustedProxies: number,
): string {
  const peer = socket.remoteAddress ?? ''
  if (trustedProxies === 0) return networkOf(peer)
  const entries = String(headers['x-forwarded-for'] ?? '').split(',')
  const entry = bare(entries.at(-trustedProxies)?.trim() ?? '')
  return networkOf(isIP(entry) ? entry : peer)
}

/** An address without a port and brackets, which some proxies add. */
function bare(entry: string): string {
  const [, inBrackets] = /^\[([^\]]*)\](?::\d+)?$/.exec(entry) ?? []
  return inBrackets ?? (/^[\d.]+:\d+$/.test(entry) ? (entry.split(':', 1)[0] ?? '') : entry)
}

/** An address as limits count it. */
export function networkOf(address: string): string {
  const [, v4] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (v4 !== undefined) return v4
  if (isIP(address) !== 6) return address
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').toLowerCase().split('::')
  const start = head === '' ? [] : head.split(':')
  const end = tail ? tail.split(':').flatMap((part) => (part.includes('.') ? ['0', '0'] : [part])) : []
  const missing = tail === undefined ? 0 : 8 - start.length - end.length
  const groups = [...start, ...Array<string>(Math.max(0, missing)).fill('0'), ...end]
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`
}
