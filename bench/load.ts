import { createConnection, type Socket } from 'node:net'

// The load generator, in a process of its own. It speaks HTTP/1.1 over plain sockets, one call at a time on each
// connection that is kept alive, because a client library would take more of the machine than what it measures.

export interface LoadPlayer {
  readonly playerId: string
  readonly runId: string
  readonly token: string
}

/** What the generator is given once, at its start. */
export interface LoadSetup {
  readonly scenarioId: string
  readonly nodeId: string
  /** The level up to which tiers can be claimed. */
  readonly reached: number
  readonly players: Readonly<Record<PlayerSet, readonly LoadPlayer[]>>
}

/** Those whom the service gives xp, those whom the reference gives xp, and those who claim. */
export type PlayerSet = 'ours' | 'reference' | 'claimants'
export type Call = 'xp' | 'progress' | 'claim'

export interface Load {
  readonly port: number
  readonly call: Call
  readonly players: PlayerSet
  readonly connections: number
  readonly seconds: number
}

export interface Tally {
  readonly calls: number
  readonly perSecond: number
  readonly medianMs: number
  readonly p99Ms: number
  /** The sum of the amounts that were answered with success. */
  readonly xp: number
  /** Answers that were no success, and the first of them. */
  readonly failed: number
  readonly firstFailure: string | null
}

const PATHS: Readonly<Record<Call, string>> = {
  xp: '/sdk/v1/battlepass/xp',
  progress: '/sdk/v1/battlepass/progress',
  claim: '/sdk/v1/battlepass/claim',
}

interface Request {
  readonly text: string
  readonly amount: number
}

interface Reply {
  readonly status: number
  readonly body: string
}

let setup: LoadSetup
/** Calls go from player to player, so that no two under way at once are of the same one. */
const turns = new Map<string, number>()

/** The next call to make; undefined when there is nothing left to claim. */
function nextRequest({ call, players: set }: Load): Request | undefined {
  const players = setup.players[set]
  const turn = turns.get(`${call} ${set}`) ?? 0
  const player = players[turn % players.length]
  const round = Math.floor(turn / players.length)
  if (!player || (call === 'claim' && round >= setup.reached)) return undefined
  turns.set(`${call} ${set}`, turn + 1)
  const place = `"scenarioId":"${setup.scenarioId}","nodeId":"${setup.nodeId}"`
  const amount = call === 'xp' ? 10 + (turn % 90) : 0
  const body = {
    xp: `{${place},"runId":"${player.runId}","amount":${amount},"source":"match"}`,
    progress: `{${place}}`,
    claim: `{${place},"runId":"${player.runId}","level":${round + 1},"track":"free"}`,
  }[call]
  const text = `POST ${PATHS[call]} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${player.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  return { text, amount }
}

function isSuccess(call: Call, { status, body }: Reply): boolean {
  if (status !== 200) return false
  return call !== 'claim' || (body.includes('"success":true') && body.includes('"alreadyClaimed":false'))
}

async function run(load: Load): Promise<Tally> {
  const sockets = await Promise.all(Array.from({ length: load.connections }, () => connect(load.port)))
  const latencies: number[] = []
  let xp = 0
  let failed = 0
  let firstFailure: string | null = null
  const started = performance.now()
  const end = started + load.seconds * 1000

  async function drive(socket: Socket): Promise<void> {
    const ask = asker(socket)
    for (let now = performance.now(); now < end; ) {
      const request = nextRequest(load)
      if (!request) return
      const reply = await ask(request.text)
      const answered = performance.now()
      latencies.push(answered - now)
      now = answered
      if (isSuccess(load.call, reply)) xp += request.amount
      else {
        failed += 1
        firstFailure ??= `${reply.status} ${reply.body.slice(0, 300)}`
      }
    }
  }
  await Promise.all(sockets.map(drive))
  const seconds = (performance.now() - started) / 1000
  for (const socket of sockets) socket.destroy()
  const sorted = Float64Array.from(latencies).sort()
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const calls = sorted.length
  return { calls, perSecond: calls / seconds, medianMs: at(0.5), p99Ms: at(0.99), xp, failed, firstFailure }
}

function connect(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1', noDelay: true }, () => resolve(socket))
    // One character for each byte, so that Content-Length counts characters.
    socket.setEncoding('latin1')
    socket.once('error', reject)
  })
}

/** Sends one request at a time and gives its reply. A connection that ends is a failure of the service under load. */
function asker(socket: Socket): (text: string) => Promise<Reply> {
  let received = ''
  let resolve: (reply: Reply) => void = () => {}
  let reject: (error: Error) => void = () => {}
  socket.on('data', (chunk: string) => {
    received += chunk
    const head = received.indexOf('\r\n\r\n')
    if (head === -1) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(received)?.[1] ?? Number.NaN)
    if (Number.isNaN(length)) return reject(new Error(`an answer has no Content-Length: ${received.slice(0, 200)}`))
    if (received.length < head + 4 + length) return
    const reply = { status: Number(received.slice(9, 12)), body: received.slice(head + 4) }
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

process.on('message', (message: LoadSetup | Load) => {
  if ('reached' in message) {
    setup = message
    return
  }
  run(message).then(
    (tally) => process.send?.(tally),
    (error) => {
      throw error
    },
  )
})
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())
