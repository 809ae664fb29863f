import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createTurns } from '../../../src/serve/http/turns.ts'
import { times } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'

const close: (() => void)[] = []
afterEach(() => {
  for (const end of close.splice(0)) end()
})

/** A server whose requests take turns. */
async function start(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<() => Promise<Socket>> {
  const server = createServer(createTurns().inTurn(serve))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  close.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return async () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => undefined).resume()
    await once(socket, 'connect')
    return socket
  }
}

const request = (path: string): string => `POST ${path} HTTP/1.1\r\nHost: game.example\r\nContent-Length: 2\r\n\r\n{}`

/** Works for some milliseconds, as a slow call would. */
function work(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

describe('pipelined requests', () => {
  it('of one connection are served one per turn of the event loop, also when answers are ready at once', async () => {
    let turn = 0
    let isCounting = true
    const countTurns = (): void => {
      turn += 1
      if (isCounting) setImmediate(countTurns)
    }
    const servedIn: number[] = []
    const open = await start((_request, response) => {
      servedIn.push(turn)
      response.end('ok')
    })
    const socket = await open()
    countTurns()
    socket.write(times(9, () => request('/')).join(''))
    await until('all are served', () => servedIn.length === 9)
    isCounting = false
    expect(new Set(servedIn).size).toBeGreaterThanOrEqual(8)
  })

  it('of many connections wait for the next turn of the event loop after a slow one', async () => {
    let turn = 0
    let isCounting = true
    const countTurns = (): void => {
      turn += 1
      if (isCounting) setImmediate(countTurns)
    }
    const waitedIn: number[] = []
    const first: ServerResponse[] = []
    const open = await start(({ url }, response) => {
      if (url === '/first') {
        if (first.push(response) === 20) for (const one of first) one.end('ok')
        return
      }
      waitedIn.push(turn)
      work(6)
      response.end('ok')
    })
    const sockets = await Promise.all(times(20, open))
    countTurns()
    for (const socket of sockets) socket.write(request('/first') + request('/later'))
    await until('all are served', () => waitedIn.length === 20)
    isCounting = false
    expect(new Set(waitedIn).size).toBe(20)
  })

  it('beyond the limit close the connection, and none of the rest is served', async () => {
    let served = 0
    const open = await start(() => {
      served += 1
    })
    const socket = await open()
    const closed = once(socket, 'close')
    socket.write(request('/').repeat(1_000))
    await closed
    expect(served).toBe(1)
  })

  it('that wait when their client disconnects are not served', async () => {
    const served: string[] = []
    const open = await start((request, response) => {
      served.push(request.url ?? '')
      response.once('finish', () => request.socket.destroy())
      // The second request is parsed before this answer.
      setImmediate(() => response.end('ok'))
    })
    const socket = await open()
    const closed = once(socket, 'close')
    socket.write(request('/1') + request('/2'))
    await closed
    await new Promise(setImmediate)
    expect(served).toEqual(['/1'])
  })
})
