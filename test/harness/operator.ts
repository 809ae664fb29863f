import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Json, print } from '../../src/base/json.ts'

/** One request that the operator's endpoint received. */
export interface Hit {
  /** 1 for the first request that this operator received. */
  readonly number: number
  /** When it arrived, in milliseconds of `performance.now()`. */
  readonly at: number
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Names and values in turn, as they were sent. */
  readonly rawHeaders: readonly string[]
  readonly body: Buffer
  /** The received text of `customData`. */
  readonly customData: string
}

export type Respond = (hit: Hit, response: ServerResponse) => void | Promise<void>

/** A studio's login endpoint on loopback: a real server that stores its requests. */
export interface Operator {
  readonly url: string
  readonly secret: string
  readonly hits: readonly Hit[]
  answer(respond: Respond): void
  /** Ends the endpoint and every connection to it. */
  close(): Promise<void>
}

const ENVELOPE = /^\{"customData":([\s\S]*)\}$/

/** Starts an endpoint. By default it answers `{"subject": <the member "player" of customData>}`. */
export async function startOperator(respond: Respond = approveByName): Promise<Operator> {
  const hits: Hit[] = []
  const sockets = new Set<Socket>()
  let current = respond
  const server = createServer(async (request, response) => {
    const at = performance.now()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const { method = '', url = '', headers, rawHeaders } = request
    const customData = ENVELOPE.exec(body.toString())?.[1] ?? ''
    const hit = { number: hits.length + 1, at, method, url, headers, rawHeaders, body, customData }
    hits.push(hit)
    await current(hit, response)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/login`,
    secret: 'an-operators-shared-secret',
    hits,
    answer(next) {
      current = next
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Answers 200 with a body: JSON, or a text verbatim. */
export function approve(body: Json | string): Respond {
  const text = typeof body === 'string' ? body : print(body)
  return (_hit, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

/** Answers with a status and an empty object. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Respond {
  return (_hit, response) => void response.writeHead(code, { 'content-type': 'application/json', ...headers }).end('{}')
}

export function approveByName(hit: Hit, response: ServerResponse): void {
  const { player } = JSON.parse(hit.customData)
  void approve({ subject: String(player) })(hit, response)
}

/** What `X-Signature` must be: lowercase hex of the HMAC-SHA256 of the bytes (contract 4.4). */
export function signatureOf(secret: string, body: Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}
