import { randomUUID } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { LINGER_MS } from '../../declare/request.ts'
import { headOf, type Reply } from '../../declare/respond.ts'
import { answerOf } from './upgrades.ts'

/** Handles Node's `clientError`: the bytes are no request, so there is a socket and no response. */
export function refusingSockets(refuse: (refusal: Refusal, requestId: string) => Reply) {
  const refused = new WeakSet<Duplex>()

  function refuseSocket(error: NodeJS.ErrnoException, socket: Duplex): void {
    const answer = answerOf(socket)
    // The previous call is answered first, or its caller would take this answer for its own.
    if (answer?.req.complete) answer.once('close', () => refuseSocket(error, socket))
    else if (error.code === 'ECONNRESET' || !socket.writable || answer?.headersSent) socket.destroy()
    else {
      const requestId = randomUUID()
      endWith(socket, refuse(refusalOf(error), requestId), requestId, error.code)
    }
  }

  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (!refused.has(socket)) refuseSocket(error, socket)
    refused.add(socket)
  }
}

function endWith(socket: Duplex, { status, headers, body }: Reply, requestId: string, code: string | undefined): void {
  const all = [...headers, 'x-request-id', requestId, 'content-length', String(Buffer.byteLength(body ?? ''))]
  const date = new Date().toUTCString()
  // After a parse error the rest is discarded for a moment; a request that was only late may still arrive.
  const isOver = code?.startsWith('HPE_')
  if (isOver) setTimeout(() => socket.destroy(), LINGER_MS).unref()
  socket.end(
    `${headOf(status, all)}date: ${date}\r\nconnection: close\r\n\r\n${body}`,
    () => isOver || socket.destroy(),
  )
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return new Refusal('headersTooLarge')
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return new Refusal('payloadTooLarge')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Refusal('requestTimeout')
  return invalidRequest({ path: '', message: 'the request must be HTTP' })
}
