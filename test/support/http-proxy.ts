import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What may happen to a call on its way. */
export type Mishap =
  /** It never reaches the service; the connection breaks. */
  | 'lost'
  /** The service does it; the answer never comes back, and the connection breaks. */
  | 'unanswered'
  /** The service does it; the answer breaks off in its midst. */
  | 'cut'
  /** It reaches the service twice, at once. One answer comes back when both are done. */
  | 'doubled'
  /** It takes a while. */
  | 'delayed'
  /** A proxy says that the service is away. */
  | 'refused'
  /** It is one too many: the answer says to come back in a second. */
  | 'limited'
  /** It reaches the service, and nothing comes back while the caller waits. */
  | 'hung'
  /** A network's own page comes back, with success. */
  | 'captured'

/** An HTTP proxy to the service that fails on demand. */
export interface HttpProxy {
  readonly baseUrl: string
  /** Says what happens to a call; nothing, unless it names something. */
  mishap: (path: string) => Mishap | undefined
  /** Calls that came, by path. */
  readonly seen: readonly string[]
  /** Breaks every connection. */
  cut(): void
  close(): Promise<void>
}

const DELAY_MS = 20

export async function startHttpProxy(target: () => string): Promise<HttpProxy> {
  const sockets = new Set<Socket>()
  const seen: string[] = []
  const proxy = { mishap: (_path: string): Mishap | undefined => undefined }

  function forward(from: IncomingMessage, body: Buffer, answer: (response: IncomingMessage) => void, fail: () => void) {
    const { host, ...headers } = from.headers
    const to = request(
      `${target()}${from.url}`,
      { method: from.method, headers: { ...headers, connection: 'close' } },
      answer,
    )
    to.on('error', fail)
    to.end(body)
    return to
  }

  async function handle(from: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = from.url ?? ''
    seen.push(path)
    const chunks: Buffer[] = []
    for await (const chunk of from) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const mishap = proxy.mishap(path)
    const breakOff = () => void from.socket.destroy()
    if (mishap === 'lost') return breakOff()
    if (mishap === 'refused') return void response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>away</h1>')
    if (mishap === 'limited') return void response.writeHead(429, { 'retry-after': '1' }).end('{}')
    if (mishap === 'captured')
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Wi-Fi</h1>')
    if (mishap === 'delayed') await new Promise((resolve) => setTimeout(resolve, DELAY_MS))
    const other =
      mishap === 'doubled'
        ? new Promise<void>((resolve) => {
            forward(from, body, (answered) => answered.resume().on('end', resolve), resolve)
          })
        : undefined
    const to = forward(
      from,
      body,
      (answered) => {
        if (mishap === 'hung') return void answered.resume()
        if (mishap === 'unanswered') return void answered.resume().on('end', breakOff)
        response.writeHead(answered.statusCode ?? 500, answered.headers)
        // Neither arrives behind the caller's next call.
        if (other) return void other.then(() => answered.pipe(response))
        if (mishap !== 'cut') return void answered.on('error', breakOff).pipe(response)
        answered.once('data', (chunk: Buffer) => response.write(chunk.subarray(0, 1), breakOff)).once('end', breakOff)
      },
      breakOff,
    )
    // A stream ends at the service when its listener leaves.
    response.on('close', () => to.destroy())
  }

  const server = createServer((from, response) => {
    handle(from, response).catch(() => from.socket.destroy())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return Object.assign(proxy, {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  })
}
