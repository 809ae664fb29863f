import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports of outgoing connections, which could take a port before its program listens. */
const PORTS = { from: 20_000, to: 32_700 }

/** A port of loopback on which nothing listens, for a program that cannot choose one by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + Math.floor(Math.random() * (PORTS.to - PORTS.from))
    const server = createServer()
    server.listen(port, '127.0.0.1')
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!isFree) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
