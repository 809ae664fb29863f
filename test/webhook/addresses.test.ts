import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { LookupAddress } from 'node:dns'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWebhook, type Webhook, type WebhookResult } from '../../src/accounts/webhook/webhook.ts'
import { urlFault } from '../../src/accounts/webhook/webhook-url.ts'
import { isPublicAddress } from '../../src/base/outgoing/addresses.ts'
import { type Game, startGame, times } from '../harness/game.ts'
import { approve, startOperator } from '../harness/operator.ts'
import { type RawOperator, startCanary } from '../harness/raw-operator.ts'
import { atScale } from '../harness/scale.ts'
import { target } from './webhook-game.ts'

// A studio sets the URL that the service calls. The URL must not lead into the service's own network.

/** The entries of a table that is written with spaces. */
const words = (text: string): string[] => text.trim().split(/\s+/)

interface Range {
  readonly name: string
  readonly first: bigint
  readonly last: bigint
}

/** IANA's special-purpose registry for IPv4, multicast and reserved space, and an internal address of a cloud. */
const SPECIAL_V4 = words(`
  0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
  192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4
  240.0.0.0/4 255.255.255.255/32`)

/** The same for IPv6. `isPublicV6` also excludes all addresses outside global unicast. */
const SPECIAL_V6 = [
  '::/128',
  '::1/128',
  '::/96', // IPv4-compatible
  '::ffff:0:0/96', // IPv4-mapped
  '::ffff:0:0:0/96', // IPv4-translated
  '64:ff9b:1::/48', // local-use NAT64
  '100::/64', // discard-only
  '100:0:0:1::/64', // dummy prefix
  '2001::/23', // protocol assignments, including Teredo
  '2001::/32',
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
  '5f00::/16', // segment routing
  'fc00::/7', // unique local
  'fe80::/10', // link-local
  'fec0::/10', // site-local
  'ff00::/8', // multicast
]

/** In the special-purpose registry, but globally reachable: both answers are acceptable. */
const EITHER_V4 = ['192.31.196.0/24', '192.52.193.0/24', '192.175.48.0/24']
const EITHER_V6 = ['2620:4f:8000::/48']

const V4_BITS = 32
const V6_BITS = 128

function numberOf(address: string): bigint {
  if (isIP(address) === 4) return address.split('.').reduce((value, part) => value * 256n + BigInt(part), 0n)
  const [head = '', tail] = address.split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const filled = 8 - groups(head).length - groups(tail ?? '').length
  const all = [...groups(head), ...times(tail === undefined ? 0 : filled, () => '0'), ...groups(tail ?? '')]
  return all.reduce((value, group) => value * 65_536n + BigInt(`0x${group}`), 0n)
}

function v4Of(value: bigint): string {
  return times(4, (index) => (value >> BigInt(24 - 8 * index)) & 255n).join('.')
}

function groupsOf(value: bigint): string[] {
  return times(8, (index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
}

const v6Of = (value: bigint): string => groupsOf(value).join(':')

/** The spellings of an IPv6 address that `net.isIP` takes. */
function spellingsOf(value: bigint): string[] {
  const plain = v6Of(value)
  const compressed = new URL(`http://[${plain}]/`).hostname.slice(1, -1)
  const full = groupsOf(value)
    .map((group) => group.padStart(4, '0'))
    .join(':')
  const dotted = `${groupsOf(value).slice(0, 6).join(':')}:${v4Of(value & 0xffff_ffffn)}`
  const all = [plain, compressed, full, dotted]
  return [...all, ...all.map((address) => address.toUpperCase()), `${compressed}%eth0`, `${compressed}%1`]
}

function rangeOf(name: string): Range {
  const [network = '', prefix] = name.split('/')
  const first = numberOf(network)
  const bits = isIP(network) === 4 ? V4_BITS : V6_BITS
  return { name, first, last: first + (1n << BigInt(bits - Number(prefix))) - 1n }
}

const isIn = (ranges: readonly Range[], value: bigint): boolean =>
  ranges.some(({ first, last }) => value >= first && value <= last)

const specialV4 = SPECIAL_V4.map(rangeOf)
const specialV6 = SPECIAL_V6.map(rangeOf)
const eitherV4 = EITHER_V4.map(rangeOf)
const eitherV6 = EITHER_V6.map(rangeOf)
const globalV6 = rangeOf('2000::/3')
const nat64 = rangeOf('64:ff9b::/96')

const isPublicV4 = (value: bigint): boolean => !isIn(specialV4, value)
/** Only 2000::/3 is allocated for public use. What NAT64 wraps is public where the address of IPv4 in it is. */
const isPublicV6 = (value: bigint): boolean =>
  isIn([nat64], value) ? isPublicV4(value & 0xffff_ffffn) : isIn([globalV6], value) && !isIn(specialV6, value)

describe('the check for public addresses', () => {
  it.each(specialV4)(
    'rejects $name from its first to its last address and agrees with the registry on its neighbours',
    (range) => {
      for (const value of [range.first, range.first + 1n, range.last - 1n, range.last]) {
        if (isIn([range], value)) expect([v4Of(value), isPublicAddress(v4Of(value))]).toEqual([v4Of(value), false])
      }
      for (const value of [range.first - 1n, range.last + 1n]) {
        if (value < 0n || value >> BigInt(V4_BITS) > 0n) continue
        expect([v4Of(value), isPublicAddress(v4Of(value))]).toEqual([v4Of(value), isPublicV4(value)])
      }
    },
  )

  it.each(specialV6)('rejects $name and agrees with the registry on its neighbours, in every spelling', (range) => {
    for (const value of [range.first, range.first + 1n, range.last - 1n, range.last]) {
      if (!isIn([range], value)) continue
      for (const address of spellingsOf(value)) expect([address, isPublicAddress(address)]).toEqual([address, false])
    }
    for (const value of [range.first - 1n, range.last + 1n]) {
      if (value < 0n || value >> BigInt(V6_BITS) > 0n) continue
      for (const address of spellingsOf(value)) {
        expect([address, isPublicAddress(address)]).toEqual([address, isPublicV6(value)])
      }
    }
  })

  const PUBLIC = words(`
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15
    168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0
    198.17.255.255 198.20.0.0 223.255.255.255 2001:200:: 2001:4860:4860::8888
    2001:db7:ffff:ffff:ffff:ffff:ffff:ffff 2001:db9:: 2003:: 2400:cb00:2048:1::c629:d7a2 2606:4700:4700::1111
    2606:4700::8.8.8.8 64:ff9b::8.8.8.8 64:FF9B:0:0::808:808 2A00:1450:4001:800::200E 3ffe:ffff::1`)
  it.each(PUBLIC)('accepts %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  const NOT_PUBLIC = words(`
    ::ffff:8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 ::FFFF:A9FE:A9FE 0:0:0:0:0:ffff:169.254.169.254 ::127.0.0.1
    ::8.8.8.8 64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b:: 64:ff9b::7f 64:ff9b:0:0:0:1:808:808 2002:7f00:1:: 2002:808:808::1
    2001:0:7f00:1:: fe80::1%eth0 fe80::1%25eth0 ::1%lo fd00:ec2::254 fd20:ce::254
    1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 4000::`)
  it.each(NOT_PUBLIC)('rejects %s', (address) => {
    expect(isIP(address) === 6 || address.includes('%')).toBe(true)
    expect(isPublicAddress(address)).toBe(false)
  })

  it('agrees with the registry on random IPv4 addresses, also behind NAT64, and rejects them embedded in other IPv6', () => {
    const random = fc.bigInt({ min: 0n, max: (1n << BigInt(V4_BITS)) - 1n })
    const within = fc.constantFrom(...specialV4).chain(({ first, last }) => fc.bigInt({ min: first, max: last }))
    fc.assert(
      fc.property(fc.oneof(random, within), (value) => {
        if (isIn(eitherV4, value)) return
        expect(isPublicAddress(v4Of(value))).toBe(isPublicV4(value))
        for (const network of ['::', '::ffff:']) expect(isPublicAddress(`${network}${v4Of(value)}`)).toBe(false)
        const [high, low] = groupsOf(value).slice(6)
        for (const wrapped of [v4Of(value), `${high}:${low}`])
          expect(isPublicAddress(`64:ff9b::${wrapped}`)).toBe(isPublicV4(value))
        expect(isPublicAddress(`2002:${high}:${low}::1`)).toBe(false)
      }),
      { numRuns: atScale(20_000, 4_000) },
    )
  })

  it('agrees with the registry on random IPv6 addresses in every spelling', () => {
    const random = fc.bigInt({ min: 0n, max: (1n << BigInt(V6_BITS)) - 1n })
    const within = fc
      .constantFrom(globalV6, nat64, ...specialV6)
      .chain(({ first, last }) => fc.bigInt({ min: first, max: last }))
    fc.assert(
      fc.property(fc.oneof(random, within), (value) => {
        if (isIn(eitherV6, value)) return
        for (const address of spellingsOf(value)) expect(isPublicAddress(address)).toBe(isPublicV6(value))
      }),
      { numRuns: atScale(5_000, 1_000) },
    )
  })
})

describe('a webhook URL with a private address (contract 7.1: custom auth unavailable)', () => {
  let game: Game
  let canary: RawOperator

  beforeAll(async () => {
    game = await startGame({ WEBHOOK_PRIVATE_ADDRESSES: 'deny' })
    canary = await startCanary()
  })
  afterAll(async () => {
    await canary.close()
    await game.stop()
  })

  /** Loopback, in every spelling that URLs allow. */
  const LOOPBACK = words(`
    127.0.0.1 127.0.0.1. 127.0.0.2 127.255.255.254 127.1 127.0.1 127.1. 2130706433 017700000001 0x7f000001
    0X7F000001 0x7f.1 0x7f.0.0.1 0x7F.0x0.0x0.0x1 0177.0.0.1 0177.1 00000177.0.0.1 127.0x0.0.01 127.0.0.0x1.
    %31%32%37.0.0.1 127%2e0%2e0%2e1 127.0.0.%31 １２７.0.0.1 ①②⑦.⓪.⓪.① 127。0。0。1 127．0．0．1 𝟏𝟐𝟕.𝟎.𝟎.𝟏 0 0.0.0.0
    0x0 00 0.0.0.0. localhost localhost. LOCALHOST LocalHost %6cocalhost ｌｏｃａｌｈｏｓｔ ⓛⓞⓒⓐⓛⓗⓞⓢⓣ [::1]
    [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::0001] [::] [0::0] [::127.0.0.1] [::7f00:1]
    [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:7F00:1] [0:0:0:0:0:ffff:127.0.0.1] [::ffff:0:127.0.0.1]
    [::ffff:0.0.0.0] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::]
    [2002:7f00:0001::1] [2001:0:7f00:1::] [fe80::1] [fe80::1%25lo] [fe80::1%lo] [fec0::1] [fc00::1] [fd00::1]
    [fd00:ec2::254] [ff02::1]`)
  /** Other private networks, and the metadata services of clouds. */
  const PRIVATE = words(`
    10.0.0.1 0x0a000001 012.0.0.1 100.64.0.1 100.100.100.200 168.63.129.16 169.254.169.254 169.254.43518
    2852039166 0xa9fea9fe 0251.0376.0251.0376 [::ffff:169.254.169.254] 172.16.0.1 172.31.255.255 192.0.0.192
    192.168.0.1 192.168.257 3232235521 198.18.0.1 224.0.0.1 255.255.255.255 4294967295`)
  /** Invalid hosts, in case a parser accepts them. */
  const INVALID = words(`
    127.0.0.1%00.studio.example user:password@127.0.0.1 studio.example@127.0.0.1 127.0.0.1#@studio.example
    127.0.0.1\\@studio.example [::1%25lo] [v1.127.0.0.1] 256.0.0.1 4294967296 0x100000000`)
  const HOSTS = [...LOOPBACK, ...PRIVATE, ...INVALID]

  it(`is never connected to, in ${HOSTS.length} spellings, over http and https`, async () => {
    const urls = HOSTS.flatMap((host) => {
      // A port after `#` would be a part of the fragment.
      const [name = '', rest = ''] = host.split(/(?=#)/)
      return ['http', 'HTTPS'].map((scheme) => `${scheme}://${name}:${canary.port}/${rest}`)
    })
    // Settings that were stored under other rules: those of now refuse each address with its reason.
    const valid = urls.filter((url) => urlFault(url) === undefined)
    expect((await game.setProviders({ new: { enabled: true, url: valid[0] ?? '', secret: 'secret' } })).status).toBe(
      400,
    )
    const accepted = Object.fromEntries(valid.map((url, index) => [`url-${index}`, url]))
    const stored = { enabled: true, url: 'https://studio.example/login', secret: 'secret' }
    const custom = Object.fromEntries(Object.keys(accepted).map((name) => [name, stored]))
    expect((await game.setProviders(custom)).status).toBe(200)
    for (const [name, url] of Object.entries(accepted))
      await game.app.pool.query('UPDATE auth_providers SET url = $2 WHERE name = $1', [name, url])

    const names = Object.keys(accepted)
    const answers = await Promise.all(names.map((provider) => game.login({}, { provider })))
    expect(answers.map(({ status, body }, index) => [accepted[names[index] ?? ''], status, body.error])).toEqual(
      names.map((name) => [accepted[name], 503, 'custom auth unavailable']),
    )
    expect(canary.connections).toBe(0)
    expect(names.length).toBeGreaterThan(60)
    // Only invalid URLs and URLs with credentials are not tried.
    const others = urls.filter((url) => !valid.includes(url))
    expect(others.filter((url) => URL.canParse(url) && new URL(url).username === '')).toEqual([])
  })

  it('does not tell the client why the login fails', async () => {
    await game.setProviders({ default: { enabled: true, url: 'https://studio.example/login', secret: 'secret' } })
    await game.app.pool.query("UPDATE auth_providers SET url = $1 WHERE name = 'default'", [
      `http://127.0.0.1:${canary.port}/`,
    ])
    const { text, body } = await game.login({})
    expect(Object.keys(body).sort()).toEqual(['code', 'error', 'requestId'])
    expect(text).not.toMatch(/127\.0|private|address/)
  })

  it('leads to the canary when private addresses are allowed', async () => {
    const webhook = createWebhook({ allowPrivateAddresses: true })
    const hosts = words('127.0.0.1 127.1 2130706433 0x7f.1 0177.0.0.1 0 localhost LOCALHOST １２７.0.0.1')
    for (const host of hosts) {
      const before = canary.connections
      const { kind } = await webhook.call(target(`http://${host}:${canary.port}/`, { key: host }), '{}')
      expect([host, kind]).toEqual([host, 'answered'])
      expect(canary.connections).toBe(before + 1)
    }
    await webhook.close()
  })
})

describe('a webhook call to a hostname', () => {
  /** In an unallocated block: public by its form, but not reachable. */
  const UNASSIGNED = '2d00::1'
  const v4 = (address: string): LookupAddress => ({ address, family: 4 })
  const v6 = (address: string): LookupAddress => ({ address, family: 6 })
  const PUBLIC = v6(UNASSIGNED)

  let canary: RawOperator
  beforeAll(async () => {
    canary = await startCanary()
  })
  afterAll(() => canary.close())

  interface Resolved {
    readonly webhook: Webhook
    /** How often each name was looked up. */
    readonly lookups: ReadonlyMap<string, number>
    call(hostname: string): Promise<WebhookResult>
  }

  /** A webhook with a fake lookup: `answer` gets the name and the number of its lookups so far. */
  function resolving(answer: (hostname: string, asked: number) => LookupAddress[] | Error): Resolved {
    const lookups = new Map<string, number>()
    const lookup: LookupFunction = (hostname, options, callback) => {
      expect(options.all).toBe(true)
      const asked = (lookups.get(hostname) ?? 0) + 1
      lookups.set(hostname, asked)
      const found = answer(hostname, asked)
      setImmediate(() => (found instanceof Error ? callback(found, []) : callback(null, found)))
    }
    const webhook = createWebhook({ allowPrivateAddresses: false, lookup })
    const call = (hostname: string) =>
      webhook.call(target(`http://${hostname}:${canary.port}/`, { key: hostname }), '{}')
    return { webhook, lookups, call }
  }

  const errorsOf = ({ attempts }: WebhookResult) => attempts.map(({ error }) => error)
  const PRIVATE_THRICE = ['private_address', 'private_address', 'private_address']

  const PRIVATE: Record<string, LookupAddress[]> = {
    'a private address': [v4('127.0.0.1')],
    'an IPv6 loopback': [v6('::1')],
    'a public address and a private one': [PUBLIC, v4('127.0.0.1')],
    'a private address and a public one': [v4('10.0.0.1'), PUBLIC],
    'many public addresses and a private one': [...times(20, (index) => v6(`2d00::${index}`)), v6('fd00::1')],
    'an IPv4-mapped address': [v6('::ffff:127.0.0.1')],
    'an IPv4-mapped address in hexadecimal': [v6('::ffff:7f00:1')],
    'an IPv4-mapped public address': [v6('::ffff:8.8.8.8')],
    'an IPv4-compatible address': [v6('::127.0.0.1')],
    'an address behind NAT64': [v6('64:ff9b::7f00:1')],
    'an address behind 6to4': [v6('2002:7f00:1::1')],
    'a link-local address with its zone': [v6('fe80::1%lo')],
    'an unspecified address': [v4('0.0.0.0')],
    'an IPv6 address that is reported as IPv4': [{ address: '::ffff:127.0.0.1', family: 4 }],
  }

  it.concurrent.each(Object.entries(PRIVATE))(
    'never connects when the name resolves to %s',
    async (_what, addresses) => {
      const connected = await attemptsDuring(async () => {
        const { webhook, call } = resolving(() => addresses)
        const result = await call('studio.example')
        expect([result.kind, errorsOf(result)]).toEqual(['unavailable', PRIVATE_THRICE])
        await webhook.close()
      })
      expect(connected).toEqual([])
      expect(canary.connections).toBe(0)
    },
  )

  it('looks up the name at each attempt and is unavailable without an address', async () => {
    const nowhere = resolving((hostname) =>
      hostname.startsWith('empty') ? [] : Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }),
    )
    for (const hostname of ['missing.example', 'empty.example']) {
      const result = await nowhere.call(hostname)
      expect([result.kind, errorsOf(result)]).toEqual(['unavailable', ['dns', 'dns', 'dns']])
      expect(nowhere.lookups.get(hostname)).toBe(3)
    }
    await nowhere.webhook.close()
  })

  /** The addresses of this process's connection attempts to the port of the canary. */
  async function attemptsDuring(work: () => Promise<unknown>): Promise<string[]> {
    const addresses: string[] = []
    const listen = (message: unknown) => {
      const { socket } = message as { socket: Socket }
      socket.on('connectionAttempt', (address: string, port: number) => {
        if (port === canary.port) addresses.push(address)
      })
    }
    subscribe('net.client.socket', listen)
    try {
      await work()
    } finally {
      unsubscribe('net.client.socket', listen)
    }
    return addresses
  }

  it('connects only to the address that was checked when 200 names change between lookups', async () => {
    const { webhook, lookups, call } = resolving((hostname, asked) => {
      const isPublic = hostname.startsWith('first') ? asked === 1 : asked === 2
      return [isPublic ? PUBLIC : v4('127.0.0.1')]
    })
    const connected = await attemptsDuring(async () => {
      const [first, second] = await Promise.all(
        ['first', 'second'].map((when) => Promise.all(times(100, (index) => call(`${when}-${index}.example`)))),
      )
      // The public address is not reachable. Which error that is depends on the network.
      const nowhere = expect.not.stringContaining('private_address')
      for (const result of first ?? [])
        expect(errorsOf(result)).toEqual([nowhere, 'private_address', 'private_address'])
      for (const result of second ?? [])
        expect(errorsOf(result)).toEqual(['private_address', nowhere, 'private_address'])
    })
    expect(canary.connections).toBe(0)
    expect(connected).toEqual(times(200, () => UNASSIGNED))
    expect([...lookups.values()]).toEqual(times(200, () => 3))
    await webhook.close()
  })

  it('sends the hostname in the Host header when it resolves to an allowed private address', async () => {
    const operator = await startOperator(approve({ subject: 'named' }))
    const { port } = new URL(operator.url)
    const lookup: LookupFunction = (_hostname, _options, callback) => callback(null, [v4('127.0.0.1')])
    const webhook = createWebhook({ allowPrivateAddresses: true, lookup })
    expect(await webhook.call(target(`http://studio.example:${port}/login`), '{}')).toMatchObject({
      kind: 'answered',
      text: '{"subject":"named"}',
    })
    expect(operator.hits[0]?.headers.host).toBe(`studio.example:${port}`)
    await webhook.close()
    await operator.close()
  })
})
