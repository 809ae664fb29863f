import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ignoreUpgrades, NODE_ASKS } from '../../../src/serve/http/upgrades.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, startGame, type TestPlayer, times } from '../../harness/game.ts'
import { without } from '../../harness/needs.ts'
import { until } from '../../harness/until.ts'

const PROGRESS = '/sdk/v1/battlepass/progress'
const PLACE = '{"scenarioId":"season","nodeId":"pass"}'
const SUCCESS = '{"level":1,"xp":0,"premiumOwned":false,"claimedTiers":[]}'
const withoutCurl = without('curl')
const QUERY = '{"query":"{ __typename }"}'

let game: Game
let player: TestPlayer

beforeAll(async () => {
  game = await startGame()
  await game.publish('season', season())
  player = await game.player()
})
afterAll(() => game?.stop())

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`

/** The headers that ask for a protocol, as Java's `HttpClient` sends them. */
const asking = (protocol: string): string[] => [
  'Connection: Upgrade, HTTP2-Settings',
  `Upgrade: ${protocol}`,
  'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
]

const bearer = (): string => `Authorization: Bearer ${player.token}`
const json = 'Content-Type: application/json'
const progress = (...headers: string[]): string =>
  head(`POST ${PROGRESS} HTTP/1.1`, 'Host: a', bearer(), ...headers, `Content-Length: ${PLACE.length}`) + PLACE
const live = (...headers: string[]): string => head('GET /livez HTTP/1.1', 'Host: a', ...headers)
/** Ends its connection. */
const LAST = head('GET /livez HTTP/1.1', 'Host: a', 'X-Request-Id: last', 'Connection: close')

/** A request and one behind it, in the same packet where Node does not lose that one. */
const together = (first: string, behind: string): string[] => (NODE_ASKS ? [first, behind] : [first + behind])

/** Sends parts, each after an answer has come to the one before, and gives the statuses and bodies of all answers. */
async function answersTo(...parts: string[]): Promise<string[]> {
  const { hostname, port } = new URL(game.baseUrl)
  const socket = connect(Number(port), hostname).setNoDelay(true)
  let come = ''
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    come += chunk
  })
  socket.on('error', () => undefined)
  const closed = once(socket, 'close')
  for (const part of parts) {
    const before = come.length
    socket.write(part, 'latin1')
    if (part !== parts.at(-1)) await until('it is answered', () => come.length > before)
  }
  await closed
  return come.split(/(?=HTTP\/1\.1 \d{3} )/).map((answer) => {
    const [top = '', ...body] = answer.split('\r\n\r\n')
    return `${top.slice(9, 12)} ${body.join('\r\n\r\n')}`
  })
}

it('a WebSocket of another version is refused with the supported ones, after the answers to earlier requests', async () => {
  const version = ['Sec-WebSocket-Version: 7', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==']
  const opening = head('GET /graphql HTTP/1.1', 'Host: a', ...asking('websocket'), ...version)
  expect(await answersTo(progress() + opening)).toEqual([
    `200 ${SUCCESS}`,
    expect.stringMatching(/^400 \{"errors":\[.*"INVALID_REQUEST".*Sec-WebSocket-Version header/),
  ])
})

describe('an upgrade that the service does not support is ignored', () => {
  const LIVE = '200 {"status":"live"}'
  const FOUND = `200 ${SUCCESS}`
  const cases: Record<string, readonly [parts: () => string[], answers: (string | RegExp)[]]> = {
    'with a body': [() => [progress(...asking('h2c')), LAST], [FOUND, LIVE]],
    'without a body': [() => [live(...asking('h2c')), LAST], [LIVE, LIVE]],
    'on each request of a connection': [
      () => [...times(5, () => progress(...asking('h2c'))), LAST],
      [...times(5, () => FOUND), LIVE],
    ],
    'behind requests that are still answered': [
      () => together(progress() + live() + progress(...asking('h2c')), LAST),
      [FOUND, LIVE, FOUND, LIVE],
    ],
    'with chunks': [
      () =>
        together(
          `${head(`POST ${PROGRESS} HTTP/1.1`, 'Host: a', bearer(), ...asking('h2c'), 'Transfer-Encoding: chunked')}${PLACE.length.toString(16)}\r\n${PLACE}\r\n0\r\n\r\n`,
          LAST,
        ),
      [FOUND, LIVE],
    ],
    'for TLS': [() => together(progress(...asking('TLS/1.0')), LAST), [FOUND, LIVE]],
    'to GraphQL': [
      () =>
        together(
          head('POST /graphql HTTP/1.1', 'Host: a', json, ...asking('h2c'), `Content-Length: ${QUERY.length}`) + QUERY,
          LAST,
        ),
      ['200 {"data":{"__typename":"Query"}}', LIVE],
    ],
    'to GraphQL by GET': [
      () => [head('GET /graphql?query=%7B__typename%7D HTTP/1.1', 'Host: a', ...asking('h2c')), LAST],
      ['200 {"data":{"__typename":"Query"}}', LIVE],
    ],
    'for a WebSocket on another path': [
      () => [live(...asking('websocket')), head('GET /nowhere HTTP/1.1', 'Host: a', ...asking('websocket')), LAST],
      [LIVE, /^404 \{"error":"not found"/, LIVE],
    ],
    'for a WebSocket by POST': [
      () => [
        head('POST /graphql HTTP/1.1', 'Host: a', json, ...asking('websocket'), `Content-Length: ${QUERY.length}`) +
          QUERY,
        LAST,
      ],
      ['200 {"data":{"__typename":"Query"}}', LIVE],
    ],
    'in HTTP/1.0': [() => [head('GET /livez HTTP/1.0', ...asking('h2c'))], [LIVE]],
    'twice in one request': [() => [live('Upgrade: h3', ...asking('h2c')), LAST], [LIVE, LIVE]],
    'with a value beyond ASCII in another header': [
      () => [live(...asking('h2c'), 'X-Name: \xc3\xa9', 'X-Empty:', 'X-Tabbed: a\tb'), LAST],
      [LIVE, LIVE],
    ],
    'with an invalid host': [
      () => [head('GET /livez HTTP/1.1', 'Host: a/b', ...asking('h2c')), LAST],
      [/^400 \{"error":"invalid request"/, LIVE],
    ],
    'with a thousand headers': [() => [live(...asking('h2c'), ...times(1_000, (at) => `a${at}: b`))], [/^431 /]],
  }

  const inOneRead: typeof cases = {
    'with a request in the same packet after it': [
      () => [live(...asking('h2c')) + progress() + live() + LAST],
      [LIVE, FOUND, LIVE, LIVE],
    ],
    'with a body and requests in the same packet after it': [
      () => [progress(...asking('h2c')) + progress(...asking('h2c')) + live(...asking('h2c')) + LAST],
      [FOUND, FOUND, LIVE, LIVE],
    ],
  }
  const all = NODE_ASKS ? cases : { ...cases, ...inOneRead }

  it.each(Object.keys(all))('%s: the request is served, and its connection goes on', async (name) => {
    const [parts, answers] = all[name] ?? expect.fail()
    expect(await answersTo(...parts())).toEqual(
      answers.map((answer) => (typeof answer === 'string' ? answer : expect.stringMatching(answer))),
    )
  })

  it('wherever the request is cut', async () => {
    const text = progress(...asking('h2c'))
    const end = text.indexOf('\r\n\r\n')
    for (const cut of [3, 40, end + 2, end + 4, end + 5, text.length - 1]) {
      const { hostname, port } = new URL(game.baseUrl)
      const socket = connect(Number(port), hostname).setNoDelay(true)
      let come = ''
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        come += chunk
      })
      const closed = once(socket, 'close')
      socket.write(text.slice(0, cut))
      await new Promise(setImmediate)
      const [rest = '', behind] = together(text.slice(cut), LAST)
      socket.write(rest)
      if (behind !== undefined) {
        await until('it is answered', () => come.includes(SUCCESS))
        socket.write(behind)
      }
      await closed
      expect([cut, come.match(/HTTP\/1\.1 \d+/g)]).toEqual([cut, ['HTTP/1.1 200', 'HTTP/1.1 200']])
      expect(come).toContain(SUCCESS)
    }
  })

  it('behind a long answer that its client reads slowly', async () => {
    const length = 30_000_000
    const server = createServer((request, response) => {
      if (request.url !== '/long') return response.end('short')
      // Sent in parts, each of which waits for the connection.
      const part = Buffer.alloc(length / 30)
      response.writeHead(200, { 'content-length': length })
      let sent = 0
      const send = (): void => {
        while (sent < 30) {
          sent += 1
          if (!response.write(part)) return void response.once('drain', send)
        }
        response.end()
      }
      send()
    })
    ignoreUpgrades(server, {
      isTaken: () => false,
      upgrade: () => expect.fail(),
      refuse: () => expect.fail(),
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
    const last = head('GET /short HTTP/1.1', 'Host: a', 'Connection: close')
    const asked = head('GET /long HTTP/1.1', 'Host: a') + head('GET /short HTTP/1.1', 'Host: a', ...asking('h2c'))
    const [first = '', behind] = together(asked, last)
    client.write(first)
    let received = 0
    let end = ''
    client.on('data', (chunk: Buffer) => {
      received += chunk.length
      end = (end + chunk.toString('latin1')).slice(-1_000)
    })
    client.resume()
    if (behind !== undefined) {
      await until('the request behind the long answer is answered', () => end.endsWith('short'))
      client.write(behind)
    }
    await once(client, 'close')
    server.close()
    expect(received).toBeGreaterThan(length)
    expect(end.match(/short/g)).toHaveLength(2)
  })

  it.skipIf(withoutCurl !== '')(`${withoutCurl}by curl --http2`, async () => {
    const run = promisify(execFile)
    const { stdout } = await run('curl', [
      ...['-sS', '--http2', '-w', ' %{http_code} %{http_version}'],
      ...['-H', bearer(), '-d', PLACE, `${game.baseUrl}${PROGRESS}`, `${game.baseUrl}${PROGRESS}`],
    ])
    expect(stdout).toBe(`${SUCCESS} 200 1.1`.repeat(2))
  })

  it('and no listener of it is left on the connection, and no warning is caused', async () => {
    const warnings: Error[] = []
    const warn = (warning: Error) => warnings.push(warning)
    process.on('warning', warn)
    expect(await answersTo(...times(30, () => live(...asking('h2c'))), LAST)).toHaveLength(31)
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })
})
