import { connect } from 'node:net'

const DEADLINE_MS = 1_000
/** What the client of Redis reports of a server that refuses before, or instead of, the first answer. */
const NAMELESS: ReadonlySet<unknown> = new Set(['EPIPE', 'ECONNRESET', 'ETIMEDOUT'])

/**
 * The cause of an error of the network, if Redis reports one to each new client: too many clients, protected mode, no TLS.
 * Otherwise the error itself.
 */
export async function causeOfRedis(url: string, error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !NAMELESS.has((error as NodeJS.ErrnoException).code)) return error
  const { protocol, hostname, port } = new URL(url)
  const said = await greetingOf(hostname.replace(/^\[(.+)\]$/, '$1'), Number(port || 6379))
  const isPlain = /^(\+PONG|-NOAUTH)/.test(said)
  if (isPlain)
    return protocol === 'rediss:' ? new Error('Redis offers no TLS there: write redis:// in REDIS_URL') : error
  return said.startsWith('-') ? new Error(said.slice(1)) : error
}

/** The first line that a server without TLS answers. Empty for none. */
function greetingOf(host: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => socket.write('PING\r\n'))
    const end = (line = ''): void => {
      socket.destroy()
      resolve(line)
    }
    socket.setTimeout(DEADLINE_MS, end)
    socket.once('data', (data) => end(data.toString('latin1', 0, 200).split('\r\n', 1)[0]))
    socket.once('error', () => end())
    socket.once('close', () => end())
  })
}
