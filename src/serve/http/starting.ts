import { createServer } from 'node:http'
import { notBegun } from '../../base/errors.ts'
import { print } from '../../base/json.ts'
import { requestIdOf } from '../../declare/request.ts'
import { JSON_TYPE, type Reply, refusalReply } from '../../declare/respond.ts'

/**
 * Listens while the service starts, so that a supervisor does not take a long migration for a process that hangs: `/livez`
 * is 200, `/readyz` 503 with the reason, and any other request 503. The returned function frees the port.
 */
export async function listenWhileStarting(
  { port, host }: { readonly port: number; readonly host: string | null },
  reason: () => string,
): Promise<() => Promise<void>> {
  function replyTo(path: string, requestId: string): Reply {
    if (path === '/livez') return { status: 200, body: print({ status: 'live' }), headers: JSON_TYPE }
    if (path === '/readyz')
      return { status: 503, body: print({ status: 'unavailable', reason: reason() }), headers: JSON_TYPE }
    return refusalReply(notBegun('the service starts', { waitSeconds: 1 }), requestId)
  }
  const server = createServer((request, response) => {
    const requestId = requestIdOf(request)
    const [path = ''] = (request.url ?? '').split('?', 1)
    const { status, headers, body } = replyTo(path, requestId)
    // The port is freed for the service soon.
    response.writeHead(status, [...headers, 'x-request-id', requestId, 'connection', 'close']).end(body)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host ?? undefined, resolve)
  })
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
}
