import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy to Postgres that fails on demand. */
export interface PostgresProxy {
  /** The database behind the proxy. */
  readonly url: string
  /** COMMITs whose answers were swallowed so far. */
  readonly swallowed: number
  /** Bytes that the server has answered so far. */
  readonly answered: number
  /** Nothing passes, in either direction, and nothing breaks: a frozen server or a cut cable. */
  pause(): void
  resume(): void
  /** Breaks every connection. With `refuse`, new ones break too until `restore`. */
  cut(options?: { refuse?: boolean }): void
  restore(): void
  /** The next COMMITs of writes reach the server; their answers do not come back, and the connections break. */
  swallowCommits(count: number): void
  close(): Promise<void>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** What the client has sent since the server's last answer. */
  sent: Buffer
  swallowing: boolean
}

const NOTHING = Buffer.alloc(0)
/** A simple query message: type, length, text, NUL. The engine sends COMMIT behind its writes in one packet. */
const COMMIT = Buffer.concat([Buffer.from('Q'), Buffer.from([0, 0, 0, 11]), Buffer.from('COMMIT\0')])
/** What a server says of a COMMIT, the second when the transaction had failed. */
const ENDED = /(COMMIT|ROLLBACK)\0/

export async function startProxy(databaseUrl: string): Promise<PostgresProxy> {
  const target = new URL(databaseUrl)
  const links = new Set<Link>()
  let paused = false
  let refusing = false
  let toSwallow = 0
  let swallowed = 0
  let answered = 0

  const server = createServer((client) => {
    if (refusing) return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    const link: Link = { client, server: upstream, sent: NOTHING, swallowing: false }
    links.add(link)
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
      upstream.write(data)
    })
    let answers = NOTHING
    upstream.on('data', (data) => {
      answered += data.length
      link.sent = NOTHING
      if (!link.swallowing) return void client.write(data)
      answers = Buffer.concat([answers, data])
      const ended = ENDED.exec(answers.toString('latin1'))
      if (!ended) return
      if (ended[1] === 'COMMIT') swallowed += 1
      sever(link)
    })
  })

  function sever(link: Link): void {
    links.delete(link)
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
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const link of [...links]) sever(link)
      await closed
    },
  }
}
