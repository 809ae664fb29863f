import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to a server over which bytes pass as they are: HTTP, WebSockets, anything. */
export interface TcpProxy {
  readonly port: number
  readonly baseUrl: string
  /** Breaks every connection. */
  cut(): void
  close(): Promise<void>
}

/** The target is asked for each connection, so that a server can come back at another port. */
export async function startTcpProxy(target: () => string): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const { hostname, port } = new URL(target())
    const onward = connect(Number(port), hostname)
    for (const [from, to] of [
      [client, onward],
      [onward, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}`,
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      cut()
      await closed
    },
  }
}
