import { getEventListeners } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AttemptFault } from '../../../src/base/outgoing/attempt-fault.ts'
import { type Call, createOutgoing, discard, wholeBody } from '../../../src/base/outgoing/outgoing.ts'
import { setTracing, type Tracing } from '../../../src/base/tracing.ts'

const hits: { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: string }[] = []

/** What the other side does, by its path. */
const ANSWERS: Readonly<Record<string, RequestListener>> = {
  '/broken': (_, response) => response.setHeader('content-type', 'application/json').end('{"a":'),
  '/away': (_, response) => response.writeHead(302, { location: '/broken' }).end(),
  '/busy': (_, response) => response.writeHead(503).end(),
  '/long': (_, response) => response.end('x'.repeat(101)),
  '/drip': (request, response) => {
    const timer = setInterval(() => response.write('x'), 20)
    request.once('close', () => clearInterval(timer))
  },
}
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const path = request.url ?? ''
  hits.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() })
  ANSWERS[path]?.(request, response)
})
const outgoing = createOutgoing({ allowPrivateAddresses: true, name: 'test' })
const CALL = {
  method: 'GET',
  headers: {},
  timeoutMs: 5_000,
  read: async (answer) => ({ status: answer.status, text: String(await wholeBody(answer, 100)) }),
} as const satisfies Call<unknown>

const urlOf = (path: string): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
const hitsOf = (path: string) => hits.filter((hit) => hit.path === path)
const faultOf = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error)

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(async () => {
  await outgoing.close()
  server.close()
})

describe('a call that goes out', () => {
  it('is made once, whatever the status, and no redirect is followed', async () => {
    expect(await outgoing.send(urlOf('/busy'), CALL)).toEqual({ status: 503, text: '' })
    expect(await outgoing.send(urlOf('/away'), CALL)).toEqual({ status: 302, text: '' })
    expect([hitsOf('/busy').length, hitsOf('/broken').length]).toEqual([1, 0])
  })

  it('sends exactly its bytes and its headers, and gets the bytes of the answer unread', async () => {
    const call = { ...CALL, method: 'POST', headers: { 'x-own': '1' }, body: Buffer.from('{"a": 1}') } as const
    expect(await outgoing.send(urlOf('/broken'), call)).toEqual({ status: 200, text: '{"a":' })
    const [{ headers, body } = { headers: {}, body: '' }] = hitsOf('/broken')
    const { host: _, connection: __, ...own } = headers
    expect([own, body]).toEqual([{ 'x-own': '1', 'user-agent': 'tierway', 'content-length': '8' }, '{"a": 1}'])
  })

  it('ends with its time, also in the middle of the body', async () => {
    const call = { ...CALL, timeoutMs: 200 }
    expect(await faultOf(outgoing.send(urlOf('/drip'), call))).toMatchObject({ error: 'timeout' })
  })

  it('ends with the signal of its caller, and leaves no listener with it', async () => {
    const { signal } = new AbortController()
    for (let at = 0; at < 20; at += 1) await outgoing.send(urlOf('/busy'), { ...CALL, ended: signal })
    expect(getEventListeners(signal, 'abort')).toEqual([])
    const ending = new AbortController()
    const call = outgoing.send(urlOf('/drip'), { ...CALL, ended: ending.signal, read: (answer) => discard(answer) })
    ending.abort()
    expect(await faultOf(call)).toMatchObject({ error: 'timeout' })
    expect(await faultOf(outgoing.send(urlOf('/busy'), { ...CALL, ended: AbortSignal.abort() }))).toMatchObject({
      error: 'timeout',
    })
  })

  it('fails by its class alone: its error names neither the address nor the request', async () => {
    const secret = { ...CALL, headers: { authorization: 'Bearer the-secret' } }
    const guarded = createOutgoing({ allowPrivateAddresses: false, name: 'test' })
    const faults = [
      await faultOf(outgoing.send(urlOf('/long'), secret)),
      await faultOf(guarded.send(urlOf('/busy?code=the-code'), secret)),
    ]
    await guarded.close()
    expect(faults.map((fault) => fault instanceof AttemptFault && fault.error)).toEqual([
      'too_large',
      'private_address',
    ])
    for (const fault of faults)
      expect(inspect(fault, { showHidden: true, depth: 9 })).not.toMatch(/the-code|the-secret/)
  })
})

describe('the span of a call that goes out', () => {
  const ended: unknown[] = []
  const recorder = {
    begin: (name: string) => {
      const set: Record<string, unknown> = {}
      return {
        traceId: '1',
        headers: { traceparent: '00-1-2-01' },
        set: (key: string, value: unknown) => void Object.assign(set, { [key]: value }),
        end: (error?: string) => void ended.push([name, set, error]),
      }
    },
  } as unknown as Tracing

  it('ends with the exchange, with its status and its failure; the trace goes only where it should', async () => {
    const studio = createOutgoing({ allowPrivateAddresses: true, name: 'studio', passesTrace: true })
    hits.length = 0
    setTracing(recorder)
    try {
      await outgoing.send(urlOf('/busy'), CALL)
      await faultOf(studio.send(urlOf('/long'), { ...CALL, method: 'POST' }))
      await faultOf(studio.send(urlOf('/drip'), { ...CALL, timeoutMs: 200 }))
    } finally {
      setTracing(null)
      await studio.close()
    }
    expect(ended).toEqual([
      ['GET test', { 'http.response.status_code': 503 }, undefined],
      ['POST studio', { 'http.response.status_code': 200 }, 'too_large'],
      ['GET studio', { 'http.response.status_code': 200 }, 'timeout'],
    ])
    expect(hits.map(({ headers }) => headers.traceparent)).toEqual([undefined, '00-1-2-01', '00-1-2-01'])
  })
})
