// The messages of Postgres's protocol that a proxy needs to understand.

const LENGTH_BYTES = 4
/** The code of a request for encryption, which does not start the session. */
const SSL_REQUEST = 80877103

export interface Message {
  /** `P` for Parse, `Q` for a simple query, `Z` for ReadyForQuery; empty for the messages that open a session. */
  readonly type: string
  /** The whole message, with type and length. */
  readonly bytes: Buffer
}

/** Splits one direction of an unencrypted session into its messages. */
export class MessageReader {
  private chunks: Buffer[] = []
  private held = 0
  private wanted = 0
  private opening: boolean

  /** A client's first message has no type. */
  constructor({ fromClient }: { fromClient: boolean }) {
    this.opening = fromClient
  }

  /** The messages that these bytes complete. */
  push(data: Buffer): Message[] {
    this.chunks.push(data)
    this.held += data.length
    // A long message is concatenated once.
    if (this.held < this.wanted) return []
    let rest = this.chunks.length === 1 ? data : Buffer.concat(this.chunks)
    const messages: Message[] = []
    for (;;) {
      const header = this.opening ? 0 : 1
      this.wanted = header + LENGTH_BYTES
      if (rest.length >= this.wanted) this.wanted = header + rest.readUInt32BE(header)
      if (rest.length < this.wanted) break
      const bytes = rest.subarray(0, this.wanted)
      rest = rest.subarray(this.wanted)
      messages.push({ type: bytes.toString('latin1', 0, header), bytes })
      if (this.opening) this.opening = bytes.readUInt32BE(LENGTH_BYTES) === SSL_REQUEST
    }
    this.chunks = [rest]
    this.held = rest.length
    return messages
  }
}

/** What a statement does to the transaction that it is in. */
type Effect = 'begin' | 'commit' | 'rollback' | 'write' | 'none'

const LOCKS = /\bfor\s+(no\s+key\s+)?(update|share)\b/gi
const WRITES = /\b(insert\s+into|update|delete\s+from)\b/i

function effectOf(text: string): Effect {
  if (/^\s*(begin|start\s+transaction)\b/i.test(text)) return 'begin'
  if (/^\s*(commit|end)\b/i.test(text)) return 'commit'
  if (/^\s*(rollback|abort)\b/i.test(text)) return 'rollback'
  return WRITES.test(text.replaceAll(LOCKS, '')) ? 'write' : 'none'
}

/** Follows the messages of a client, and finds the one that makes a write durable: COMMIT, or a write without BEGIN. */
export class WriteWatch {
  private readonly prepared = new Map<string, Effect>()
  private inBlock = false
  private hasWritten = false
  /** How many answers the server owes: one at the start of the session, and one for each query or Sync. */
  owed = 1

  /** Whether this message ends a transaction that wrote. */
  sees({ type, bytes }: Message): boolean {
    if (type === 'S' || type === 'Q') this.owed += 1
    if (type === 'P') {
      const [name = '', text = ''] = strings(bytes, 2)
      this.prepared.set(name, effectOf(text))
    }
    if (type === 'Q') return this.takes(effectOf(strings(bytes, 1)[0] ?? ''))
    if (type === 'B') return this.takes(this.prepared.get(strings(bytes, 2)[1] ?? '') ?? 'none')
    return false
  }

  private takes(effect: Effect): boolean {
    const wrote = this.hasWritten
    if (effect === 'begin') this.inBlock = true
    if (effect === 'write' && !this.inBlock) return true
    if (effect === 'write') this.hasWritten = true
    if (effect !== 'commit' && effect !== 'rollback') return false
    this.inBlock = false
    this.hasWritten = false
    return effect === 'commit' && wrote
  }
}

/** The strings that a message begins with, each ended by NUL. */
function strings(bytes: Buffer, count: number): string[] {
  const found: string[] = []
  for (let at = 1 + LENGTH_BYTES; found.length < count; ) {
    const end = bytes.indexOf(0, at)
    if (end < 0) break
    found.push(bytes.toString('utf8', at, end))
    at = end + 1
  }
  return found
}
