import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'

export interface UntrustedOptions {
  /** Speaks TLS as Postgres does: after a request for it, with `S` as the answer. */
  readonly isPostgres?: boolean
}

/** A TLS server with a self-signed certificate. */
export async function startUntrusted({ isPostgres = false }: UntrustedOptions = {}) {
  const certificate = await makeCertificate()
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

async function makeCertificate() {
  const folder = await mkdtemp(join(tmpdir(), 'tierway-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=127.0.0.1']
  const { status, stderr } = spawnSync('openssl', ['req', ...options, '-keyout', key, '-out', cert], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`)
  const made = { key: await readFile(key), cert: await readFile(cert) }
  await rm(folder, { recursive: true })
  return made
}
