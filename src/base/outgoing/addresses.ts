import { BlockList, isIP, isIPv6 } from 'node:net'

// IANA's registries of special-purpose addresses, and addresses that clouds reserve.

const PRIVATE_V4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8',
  '100.64.0.0/10', // carriers
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's own services
  '169.254.0.0/16', // link-local, and where clouds serve metadata
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
]

/** The global unicast range of IPv6. Loopback, mapped, local and multicast addresses are outside of it. */
const PUBLIC_V6 = '2000::/3'
const PRIVATE_V6 = [
  '2001::/23', // protocol assignments, Teredo
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4: an IPv4 address in disguise
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]

/** Where a network without IPv4 reaches it: the last four bytes are the address (RFC 6052, 2.1). */
const NAT64 = '64:ff9b::/96'

const privateV4 = blockList('ipv4', PRIVATE_V4)
const publicV6 = blockList('ipv6', [PUBLIC_V6])
const privateV6 = blockList('ipv6', PRIVATE_V6)
const nat64 = blockList('ipv6', [NAT64])

/** Whether an IP address, as `net.isIP` accepts it, is on the public internet. */
export function isPublicAddress(address: string): boolean {
  if (!isIPv6(address)) return !privateV4.check(address, 'ipv4')
  const [bare = ''] = address.split('%', 1)
  if (nat64.check(bare, 'ipv6')) return isPublicAddress(lastFour(bare))
  return publicV6.check(bare, 'ipv6') && !privateV6.check(bare, 'ipv6')
}

/** The last four bytes of an address of IPv6, as one of IPv4. */
function lastFour(address: string): string {
  // A URL writes each address in one form: eight groups in hexadecimal, the longest run of zeros as `::`.
  const [, end = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = end.split(':').map((group) => Number.parseInt(group || '0', 16))
  const [high, low] = [groups.at(-2) ?? 0, groups.at(-1) ?? 0]
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** Whether a host is private by its text alone: a literal address, or a name of this machine. */
export const isPrivateHost = (host: string): boolean =>
  isIP(host) === 0 ? /(^|\.)localhost\.?$/i.test(host) : !isPublicAddress(host)

function blockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', prefix = ''] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
