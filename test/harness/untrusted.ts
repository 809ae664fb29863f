import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { selfSigned } from './certificates.ts'

export interface UntrustedOptions {
  /** Speaks TLS as Postgres does: after a request for it, with `S` as the answer. */
  readonly isPostgres?: boolean
}

/** A TLS server with a self-signed certificate. */
export async function startUntrusted({ isPostgres = false }: UntrustedOptions = {}) {
  const certificate = selfSigned()
  const encrypt = (socket: Socket) =>
    new TLSSocket(socket, { isServer: true, ...certificate }).on('error', () => socket.destroy())
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    if (!isPostgres) encrypt(socket)
    else socket.once('data', () => socket.write('S', () => encrypt(socket)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() }
}
