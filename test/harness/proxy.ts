import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { type Message, MessageReader, WriteWatch } from './wire.ts'

/** A TCP proxy to Postgres that fails on demand. */
export interface PostgresProxy {
  readonly url: string
  /** COMMITs and writes whose answers were swallowed so far. */
  readonly swallowed: number
  /** Bytes that the server has answered so far. */
  readonly answered: number
  /** Stops all traffic and breaks no connection, like a frozen server or a cut cable. */
  pause(): void
  resume(): void
  /** Breaks every connection. With `refuse`, new ones break too until `restore`. */
  cut(options?: { refuse?: boolean }): void
  restore(): void
  /** The next COMMITs of writes reach the server; their answers do not come back, and the connections break. */
  swallowCommits(count: number): void
  /**
   * The next writes reach the server, with a COMMIT or as one statement. From then on no answer on their connections
   * comes back, and the connections break once the server has answered everything.
   */
  swallowWrites(count: number): void
  /** Breaks a connection after this many more bytes in a direction, mostly in the middle of a message. */
  cutAfter(bytes: number, direction: Direction): void
  /** Cancels the faults that have not happened yet. */
  calm(): void
  /** Texts that the saboteur has changed so far. */
  readonly sabotaged: number
  /**
   * Connections that broke: the local port, which Postgres shows as `client_port`, and when it broke, in milliseconds
   * since 1970. Postgres may still work for them. Another connection can get the port later. The reader of the map clears
   * it.
   */
  readonly broken: Map<number, number>
  close(): Promise<void>
}

export type Direction = 'sent' | 'answered'

/** Changes a text in statements that are prepared or sent as text. Both texts have the same length in bytes. */
export interface Saboteur {
  readonly find: string
  readonly by: string
  /** Only statements that also contain this text are changed. */
  readonly within?: string
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** What the client has sent since the server's last answer. */
  sent: Buffer
  swallowing: boolean
  readonly fromClient: MessageReader
  readonly fromServer: MessageReader
  readonly writes: WriteWatch
  /** Nothing comes back any more. */
  muted: boolean
  /** Nothing passes any more: the last bytes are on their way, and then it breaks. */
  breaking: boolean
  port: number
}

const NOTHING = Buffer.alloc(0)
/** A simple query message: type, length, text, NUL. The engine sends COMMIT after its writes in one packet. */
const COMMIT = Buffer.concat([Buffer.from('Q'), Buffer.from([0, 0, 0, 11]), Buffer.from('COMMIT\0')])
/** The answers of a server to COMMIT; the second one when the transaction had failed. */
const ENDED = /(COMMIT|ROLLBACK)\0/

export interface ProxyOptions {
  readonly saboteur?: Saboteur
}

export async function startProxy(databaseUrl: string, { saboteur }: ProxyOptions = {}): Promise<PostgresProxy> {
  if (saboteur && Buffer.byteLength(saboteur.find) !== Buffer.byteLength(saboteur.by)) {
    throw new Error('a saboteur keeps the length of what it changes')
  }
  const target = new URL(databaseUrl)
  const links = new Set<Link>()
  let paused = false
  let refusing = false
  let toSwallow = 0
  let swallowed = 0
  let answered = 0
  let writesToSwallow = 0
  let fuse: { left: number; readonly direction: Direction } | undefined
  let sabotaged = 0
  const broken = new Map<number, number>()

  const server = createServer((client) => {
    if (refusing) return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    const link: Link = {
      client,
      server: upstream,
      sent: NOTHING,
      swallowing: false,
      fromClient: new MessageReader({ fromClient: true }),
      fromServer: new MessageReader({ fromClient: false }),
      writes: new WriteWatch(),
      muted: false,
      breaking: false,
      port: 0,
    }
    links.add(link)
    upstream.on('connect', () => {
      link.port = upstream.localPort ?? 0
    })
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true)
      // Either end may break at any time; the other follows.
      socket.on('error', () => undefined)
      socket.on('close', () => sever(link))
      if (paused) socket.pause()
    }
    client.on('data', (data) => {
      link.sent = Buffer.concat([link.sent, data])
      // A COMMIT that comes alone ends a transaction that wrote nothing.
      if (toSwallow > 0 && !link.swallowing && link.sent.indexOf(COMMIT) > 0) {
        toSwallow -= 1
        link.swallowing = true
      }
      const messages = link.fromClient.push(data)
      for (const message of messages) {
        if (!link.writes.sees(message) || writesToSwallow === 0 || link.muted) continue
        writesToSwallow -= 1
        link.muted = true
      }
      // Changed data is sent in whole messages.
      pass(
        link,
        upstream,
        saboteur ? Buffer.concat(messages.map((message) => change(message, saboteur))) : data,
        'sent',
      )
    })
    let answers = NOTHING
    upstream.on('data', (data) => {
      answered += data.length
      link.sent = NOTHING
      for (const { type } of link.fromServer.push(data)) if (type === 'Z') link.writes.owed -= 1
      if (link.muted) {
        if (link.writes.owed > 0) return
        swallowed += 1
        return sever(link)
      }
      if (!link.swallowing) return pass(link, client, data, 'answered')
      answers = Buffer.concat([answers, data])
      const ended = ENDED.exec(answers.toString('latin1'))
      if (!ended) return
      if (ended[1] === 'COMMIT') swallowed += 1
      sever(link)
    })
  })

  /** Forwards bytes, up to the point where the connection must break. */
  function pass(link: Link, to: Socket, data: Buffer, direction: Direction): void {
    if (link.breaking || data.length === 0) return
    if (fuse?.direction !== direction || data.length < fuse.left) {
      if (fuse?.direction === direction) fuse.left -= data.length
      return void to.write(data)
    }
    const { left } = fuse
    fuse = undefined
    link.breaking = true
    to.write(data.subarray(0, left), () => sever(link))
  }

  function change({ type, bytes }: Message, { find, by, within }: Saboteur): Buffer {
    if ((type !== 'P' && type !== 'Q') || (within !== undefined && !bytes.includes(within))) return bytes
    const changed = Buffer.from(bytes)
    for (let at = changed.indexOf(find); at >= 0; at = changed.indexOf(find, at + 1)) {
      changed.write(by, at)
      sabotaged += 1
    }
    return changed
  }

  function sever(link: Link): void {
    if (links.delete(link) && link.port > 0) broken.set(link.port, Date.now())
    link.client.destroy()
    link.server.destroy()
  }

  function each(act: (socket: Socket) => void): void {
    for (const { client, server } of links) for (const socket of [client, server]) act(socket)
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)

  return {
    url: url.href,
    get swallowed() {
      return swallowed
    },
    get answered() {
      return answered
    },
    get sabotaged() {
      return sabotaged
    },
    broken,
    pause() {
      paused = true
      each((socket) => socket.pause())
    },
    resume() {
      paused = false
      each((socket) => socket.resume())
    },
    cut({ refuse = false } = {}) {
      refusing = refuse
      for (const link of [...links]) sever(link)
    },
    restore() {
      refusing = false
    },
    swallowCommits(count) {
      toSwallow = count
    },
    swallowWrites(count) {
      writesToSwallow = count
    },
    cutAfter(bytes, direction) {
      fuse = { left: Math.max(1, bytes), direction }
    },
    calm() {
      toSwallow = 0
      writesToSwallow = 0
      fuse = undefined
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const link of [...links]) sever(link)
      await closed
    },
  }
}
