import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { clientAddress } from '../../../src/base/rate-limits/client-address.ts'

const request = (remoteAddress: string | undefined, forwarded?: string) =>
  ({ headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress } }) as unknown as IncomingMessage

describe("a client's address", () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:DB8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ])('for the connection %s is %s', (address, network) => {
    expect(clientAddress(request(address), 0)).toBe(network)
  })

  it('ignores x-forwarded-for without trusted proxies', () => {
    expect(clientAddress(request('192.0.2.1', '203.0.113.7'), 0)).toBe('192.0.2.1')
  })

  it.each([
    [1, '198.51.100.9', '198.51.100.9'],
    [1, 'spoofed, 198.51.100.9', '198.51.100.9'],
    [1, '203.0.113.7, 198.51.100.9', '198.51.100.9'],
    [2, '203.0.113.7, 198.51.100.9', '203.0.113.7'],
    [2, 'spoofed, 203.0.113.7, 198.51.100.9', '203.0.113.7'],
    [1, '198.51.100.9:4711', '198.51.100.9'],
    [1, '[2001:db8:1:2::5]:4711', '2001:db8:1:2::/64'],
  ])('behind %i trusted proxies with x-forwarded-for %s is %s', (proxies, forwarded, address) => {
    expect(clientAddress(request('10.0.0.1', forwarded), proxies)).toBe(address)
  })

  it.each([
    [1, undefined],
    [1, ''],
    [1, 'unknown'],
    [1, '999.0.0.1'],
    [3, '203.0.113.7, 198.51.100.9'],
  ])(
    'behind %i trusted proxies with the unusable x-forwarded-for %s is that of the connection',
    (proxies, forwarded) => {
      expect(clientAddress(request('10.0.0.1', forwarded), proxies)).toBe('10.0.0.1')
    },
  )
})
