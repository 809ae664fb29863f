import { createHook } from 'node:async_hooks'
import { createSocket, type Socket } from 'node:dgram'
import dns from 'node:dns'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWebhook } from '../../src/accounts/webhook/webhook.ts'
import { sharedLookup } from '../../src/base/outgoing/look-up.ts'
import { times } from '../harness/game.ts'
import { approve, startOperator } from '../harness/operator.ts'

// Lookups of endpoints at a test name server. It does not answer for `silent` names and knows none of the others.

const IS_RESPONSE = 0x8000
const NO_SUCH_NAME = 3

let nameServer: Socket
const before = dns.getServers()

beforeAll(async () => {
  nameServer = createSocket('udp4')
  nameServer.on('message', (question, { port, address }) => {
    if (question.includes('silent')) return
    const answer = Buffer.from(question)
    answer.writeUInt16BE(answer.readUInt16BE(2) | IS_RESPONSE | NO_SUCH_NAME, 2)
    nameServer.send(answer, port, address)
  })
  await new Promise<void>((resolve) => nameServer.bind(0, '127.0.0.1', resolve))
  dns.setServers([`127.0.0.1:${nameServer.address().port}`])
})
afterAll(async () => {
  dns.setServers(before)
  await new Promise<void>((resolve) => nameServer.close(resolve))
})

/** The number of system lookups during `work`. Each occupies one of few threads until it is answered. */
async function lookupsDuring(work: () => Promise<void>): Promise<number> {
  let lookups = 0
  const hook = createHook({
    init(_id, type) {
      if (type === 'GETADDRINFOREQWRAP') lookups += 1
    },
  }).enable()
  try {
    await work()
  } finally {
    hook.disable()
  }
  return lookups
}

it('a hostname that no name server answers for is unavailable and does not block lookups of other names', async () => {
  const webhook = createWebhook({ allowPrivateAddresses: true })
  const operator = await startOperator(approve({ subject: 'named' }))
  const { port } = new URL(operator.url)
  const call = (host: string) =>
    webhook.call(
      { key: host, projectId: 'project', url: `http://${host}:${port}/login`, secret: 's', replacedSecrets: [] },
      '{}',
    )

  const lookups = await lookupsDuring(async () => {
    const silent = Promise.all(times(8, (index) => call(`studio-${index}.silent.example`)))
    expect((await call('localhost')).kind).toBe('answered')
    for (const { kind, attempts } of await silent) {
      expect([kind, attempts.map(({ error }) => error)]).toEqual([
        'unavailable',
        times(3, () => expect.stringMatching(/^(timeout|dns)$/)),
      ])
    }
  })
  expect(lookups).toBe(1)

  // The system may know a name that name servers do not: from its own files or its own domain.
  const known = await lookupsDuring(async () => {
    expect((await call('studio.unknown.example')).kind).toBe('unavailable')
  })
  expect(known).toBeGreaterThan(0)
  await webhook.close()
  await operator.close()
})

it('a hostname in the hosts file is looked up by the system, even when no name server answers', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tierway-names-'))
  const hostsFile = join(directory, 'hosts')
  await writeFile(hostsFile, '127.0.0.1 localhost\n10.0.0.7\tbackend Studio.Silent.Example # ours\n')
  const lookup = sharedLookup({ hostsFile })
  const ask = (host: string) =>
    lookupsDuring(() => new Promise((resolve) => lookup(host, { all: true }, () => resolve())))
  expect(await ask('studio.silent.example')).toBe(1)
  expect(await ask('ours.silent.example')).toBe(0)
  await rm(directory, { recursive: true })
})
