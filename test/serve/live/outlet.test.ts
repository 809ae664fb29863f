import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { pongFrame, textFrame } from '../../../src/serve/live/frame.ts'
import { Outlet } from '../../../src/serve/live/outlet.ts'
import { times } from '../../harness/game.ts'
import { until } from '../../harness/until.ts'

const http = createServer()
const wss = new WebSocketServer({ noServer: true, autoPong: false })
const clients: WebSocket[] = []

beforeAll(async () => {
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
})
afterAll(() => {
  for (const client of clients) client.terminate()
  http.close()
})

/** A client, and the outlet of its socket at the server. */
async function open(): Promise<{ client: WebSocket; outlet: Outlet; connection: Socket; heard: string[] }> {
  const { port } = http.address() as AddressInfo
  const opened = new Promise<{ outlet: Outlet; connection: Socket }>((resolve) =>
    http.once('upgrade', (request, connection, head) =>
      wss.handleUpgrade(request, connection, head, (socket) =>
        resolve({ outlet: new Outlet(socket, connection as Socket), connection: connection as Socket }),
      ),
    ),
  )
  const client = new WebSocket(`ws://127.0.0.1:${port}`)
  const heard: string[] = []
  client.on('message', (data) => heard.push(String(data)))
  await once(client, 'open')
  clients.push(client)
  return { client, heard, ...(await opened) }
}

const frameOf = (text: string): Buffer => textFrame([Buffer.from(text)])
const idle = { resume: () => undefined }

describe('frames that bypass ws', () => {
  it('reach a client as the same text, with every form of the length field', async () => {
    const { outlet, heard } = await open()
    const texts = [0, 1, 125, 126, 127, 65_535, 65_536, 200_000].map(
      (length) => 'é'.repeat(length >> 1) + 'x'.repeat(length & 1),
    )
    for (const text of texts) {
      const bytes = Buffer.from(text)
      const middle = bytes.length >> 1
      outlet.take(textFrame([bytes.subarray(0, middle), bytes.subarray(middle)]), idle)
    }
    await until('all are heard', () => heard.length === texts.length)
    expect(heard).toEqual(texts)
  })

  it('answer a ping with its data', async () => {
    const { client } = await open()
    const pong = once(client, 'pong')
    client.ping(Buffer.from('are you there'))
    expect(String((await pong)[0])).toBe('are you there')
    expect(pongFrame(Buffer.from('x'))).toEqual(Buffer.from([0x8a, 1, 0x78]))
  })

  it('of one turn of the event loop are sent in one write, in order', async () => {
    const { outlet, connection, heard } = await open()
    let writes = 0
    const { write } = connection
    connection.write = ((...args: Parameters<typeof write>) => {
      writes += 1
      return write.apply(connection, args)
    }) as typeof write
    const texts = times(20, (index) => `message ${index}`)
    for (const [index, text] of texts.entries()) {
      if (index % 2 === 0) outlet.take(frameOf(text), idle)
      else void outlet.send(text)
    }
    await until('all are heard', () => heard.length === texts.length)
    expect([heard, writes]).toEqual([texts, 1])
  })

  it('are sent before the close frame, and not after it', async () => {
    const { client, outlet, heard } = await open()
    const closed = once(client, 'close')
    outlet.take(frameOf('last'), idle)
    outlet.close(4403, 'token expired')
    outlet.take(frameOf('too late'), idle)
    await outlet.send('too late')
    const [code, reason] = await closed
    expect([heard, code, String(reason)]).toEqual([['last'], 4403, 'token expired'])
  })

  it('are not requested once the socket closes, also not from a sender that was paused before', async () => {
    const { client, outlet } = await open()
    client.pause()
    let resumed = 0
    const sender = {
      resume() {
        resumed += 1
      },
    }
    expect(outlet.take(frameOf('x'.repeat(40_000)), sender)).toBe(false)
    outlet.close(1001, 'going away')
    expect(outlet.take(frameOf('too late'), sender)).toBe(false)
    client.resume()
    await once(client, 'close')
    await outlet.send('too late')
    expect(resumed).toBe(0)
  })

  it('pause their sender when the network is full, and resume it once it is not', async () => {
    const { client, outlet, connection, heard } = await open()
    client.pause()
    let resumed = 0
    const sender = { resume: () => (resumed += 1) }
    const text = 'x'.repeat(10_000)
    let sent = 0
    let asked = true
    // Turn by turn, until the network is full. From then on the accepted bytes stay bounded.
    while (asked || resumed > 0) {
      resumed = 0
      asked = outlet.take(frameOf(text), sender)
      sent += 1
      await new Promise((resolve) => setTimeout(resolve, 1))
      if (!asked && resumed === 0) break
    }
    expect([connection.writableLength > 0, connection.writableLength < 100_000]).toEqual([true, true])
    client.resume()
    await until('it goes on', () => resumed === 1)
    await until('all are heard', () => heard.length === sent)
  })
})
