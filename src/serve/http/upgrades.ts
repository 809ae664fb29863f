import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** Takes over a connection, with the bytes that followed the request. */
export type Upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void

export interface UpgradeOptions {
  /** Whether the service answers in the protocol that the request asks for. */
  readonly isTaken: (request: IncomingMessage) => boolean
  readonly upgrade: Upgrade
  /** Answers a request of which Node has dropped headers above its limit. */
  readonly refuse: (error: NodeJS.ErrnoException, socket: Duplex) => void
}

/**
 * From this version on, Node asks which upgrades to emit, and reads the other requests itself. It then loses a request
 * that came in the same read behind one that it does not emit. No client sends one there: until the answer, it cannot
 * know in which protocol the connection goes on. Before, Node emits each upgrade.
 */
export const NODE_ASKS = Number(process.versions.node.split('.', 1)[0]) >= 26

/** Names and values that Node keeps of a head, by default. */
const MAX_RAW_HEADERS = 2_000

/**
 * Ignores the upgrades that the service does not support, as RFC 9110 (7.8) wants: Java's `HttpClient` and
 * `curl --http2` ask for `h2c` with each first request, and must get an answer in HTTP/1.1. Where Node does not ask, it
 * leaves the protocol of a connection at each of them. So the request goes back to Node's parser without the header, and
 * with all that came after it.
 */
export function ignoreUpgrades(server: Server, { isTaken, upgrade, refuse }: UpgradeOptions): void {
  // By Node's documentation, `connection` may be emitted with any stream. So its listener starts Node's parser.
  const [parse] = server.listeners('connection') as [(this: Server, socket: Duplex) => void]
  if (NODE_ASKS) Object.assign(server, { shouldUpgradeCallback: isTaken })

  server.on('upgrade', (request, socket, head) => {
    // Nothing else listens while earlier requests are answered.
    const ignore = (): void => undefined
    const drain = (): unknown => answerOf(socket)?.emit('drain')
    socket.on('error', ignore).on('drain', drain)
    onceAnswered(socket, () => {
      socket.off('drain', drain)
      if (!socket.writable) socket.destroy()
      else if (isTaken(request)) upgrade(request, socket, head)
      else if (request.rawHeaders.length >= MAX_RAW_HEADERS)
        refuse(Object.assign(new Error('too many headers'), { code: 'HPE_HEADER_OVERFLOW' }), socket)
      else {
        socket.off('error', ignore)
        socket.unshift(head)
        socket.unshift(headWithoutUpgrade(request))
        parse.call(server, socket)
        socket.resume()
      }
    })
  })
}

/** The response that currently uses a socket. Not in Node's documentation; Node finds it in the same way. */
export function answerOf(socket: Duplex): ServerResponse | null | undefined {
  return (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage
}

/** Requests before this one may still be answered. Node gives the socket to the next response when one has ended. */
function onceAnswered(socket: Duplex, then: () => void): void {
  const answer = answerOf(socket)
  if (answer) answer.once('close', () => onceAnswered(socket, then))
  else then()
}

/** The head as it was sent, without the header that asks for another protocol. */
function headWithoutUpgrade({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.toLowerCase() !== 'upgrade') text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`
  return Buffer.from(`${text}\r\n`, 'latin1')
}
