import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { Transform } from 'node:stream'

/** A proxy that forwards bytes unchanged: HTTP, WebSockets, Redis or any other protocol. */
export interface TcpProxy {
  readonly port: number
  readonly baseUrl: string
  /** Breaks every connection. With `refuse`, new ones break too until `restore`. */
  cut(options?: { refuse?: boolean }): void
  restore(): void
  /** Stops all traffic and breaks no connection. New connections are accepted. */
  pause(): void
  resume(): void
  /** Delays each chunk of bytes by this much, in either direction. */
  delay(delayMs: number): void
  /** Stops all traffic of the present WebSockets, which stay open. New WebSockets work. */
  freezeSockets(): void
  /** Ends every WebSocket with a close frame of the proxy. */
  closeSockets(code: number): void
  close(): Promise<void>
}

/** `target` is called for each connection, so that a server can come back on another port. */
export async function startTcpProxy(target: () => string): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  /** Each WebSocket of a client, with its connection to the server. */
  const webSockets = new Map<Socket, Socket>()
  const frozen = new Set<Socket>()
  const held: (() => void)[] = []
  let refusing = false
  let paused = false
  let delayMs = 0

  function pass(next: () => void): void {
    if (paused) held.push(next)
    else if (delayMs > 0) setTimeout(next, delayMs)
    else next()
  }

  const server = createServer((client) => {
    if (refusing) return void client.destroy()
    const { hostname, port } = new URL(target())
    const onward = connect(Number(port), hostname)
    client.once('data', (head) => {
      if (/^upgrade: websocket/im.test(String(head))) webSockets.set(client, onward)
    })
    client.on('close', () => webSockets.delete(client))
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        if (!frozen.has(from)) to.destroy()
      })
      const gate = new Transform({ transform: (data, _encoding, done) => pass(() => done(null, data)) })
      from.pipe(gate).pipe(to)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = ({ refuse = false } = {}) => {
    refusing = refuse
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}`,
    cut,
    restore() {
      refusing = false
    },
    pause() {
      paused = true
    },
    resume() {
      paused = false
      for (const next of held.splice(0)) pass(next)
    },
    delay(ms) {
      delayMs = ms
    },
    freezeSockets() {
      for (const socket of [...webSockets].flat()) {
        frozen.add(socket)
        socket.unpipe().resume()
      }
    },
    closeSockets(code) {
      for (const [client, onward] of webSockets) {
        onward.unpipe()
        client.end(Buffer.from([0x88, 2, code >> 8, code & 0xff]))
      }
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
}
