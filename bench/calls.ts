import { createConnection, type Socket } from 'node:net'

// HTTP/1.1 over plain sockets: one call at a time on each kept-alive connection.

export interface Reply {
  readonly status: number
  readonly body: string
  /** The tag of the answer. Empty without one. */
  readonly etag: string
}

export type Ask = (text: string) => Promise<Reply>

/** Milliseconds on the clock that all processes of a machine share. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

/** The text of a POST, whose body has one byte for each character. */
export function post(path: string, token: string, body: string, etag = ''): string {
  const known = etag === '' ? '' : `If-None-Match: ${etag}\r\n`
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n${known}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

export function connect(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    // One character for each byte, so that Content-Length counts characters.
    socket.setEncoding('latin1')
    socket.once('error', reject)
  })
}

/** Sends one request at a time and returns its reply. A closed connection is a failure of the service under load. */
export function asker(socket: Socket): Ask {
  let received = ''
  let resolve: (reply: Reply) => void = () => {}
  let reject: (error: Error) => void = () => {}
  socket.on('data', (chunk: string) => {
    received += chunk
    const head = received.indexOf('\r\n\r\n')
    if (head === -1) return
    const status = Number(received.slice(9, 12))
    // An answer that the client has already has no body.
    const length = status === 304 ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? Number.NaN)
    if (Number.isNaN(length)) return reject(new Error(`an answer has no Content-Length: ${received.slice(0, 200)}`))
    if (received.length < head + 4 + length) return
    const etag = /\r\netag: *([^\r]*)/i.exec(received.slice(0, head))?.[1] ?? ''
    const reply = { status, body: received.slice(head + 4), etag }
    received = ''
    resolve(reply)
  })
  const lost = () => reject(new Error('a connection was closed before its answer'))
  socket.on('close', lost)
  socket.on('error', lost)
  return (text) =>
    new Promise((onReply, onError) => {
      resolve = onReply
      reject = onError
      socket.write(text, 'latin1')
    })
}
