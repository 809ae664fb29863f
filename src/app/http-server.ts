import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTurns, stopParsingOnceDestroyed } from '../http/in-turn.ts'
import type { WayIn } from '../http/way-in.ts'

type Serve = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Creates a server. The way in also answers requests that Node cannot read: a missing host, a faulty head, a request
 * that is too slow.
 */
export function openServer({ serveError, serveExpectation }: WayIn, serve: Serve): Server {
  const limits = { requestTimeout: 30_000, headersTimeout: 10_000, keepAliveTimeout: 65_000, requireHostHeader: false }
  const inTurn = createTurns()
  return createServer(limits, inTurn(atPath(serve)))
    .on('connection', stopParsingOnceDestroyed)
    .on('clientError', serveError)
    .on('checkExpectation', inTurn(atPath(serveExpectation)))
}

/** Resolves with the port once the server listens. */
export function listenOn(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
}

const atPath =
  (serve: Serve): Serve =>
  (request, response) => {
    takePath(request)
    serve(request, response)
  }

/** A proxy may send the whole address as the target. Every server must accept it (RFC 9112, 3.2.2). */
export function takePath(request: IncomingMessage): void {
  const { url = '' } = request
  if (url[0] === '/' || !/^https?:/.test(url) || !URL.canParse(url)) return
  const { pathname, search } = new URL(url)
  request.url = pathname + search
}
