import type { ClientBase, Connection, Submittable } from 'pg'

export type CopyValue = string | number | bigint | boolean | null

/** Small enough that the socket sends chunk after chunk, large enough that there are few chunks. */
const CHUNK_LINES = 2_000

/** A row in the text format of COPY. */
export function copyLine(values: readonly CopyValue[]): string {
  return values.map(copyText).join('\t')
}

const SPECIAL = /[\\\n\r\t]/g
const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function copyText(value: CopyValue): string {
  if (value === null) return '\\N'
  if (typeof value !== 'string') return String(value)
  return value.replace(SPECIAL, (character) => ESCAPED[character] ?? '')
}

/**
 * Writes many rows into a table at once; the lines come from {@link copyLine}. For dedicated connections: those of the
 * pool pipeline statements, which a COPY does not allow.
 */
export function copyInto(client: ClientBase, table: string, columns: string, lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return Promise.resolve()
  return new Promise((resolve, reject) => {
    client.query(new CopyIn(`COPY ${table} (${columns}) FROM STDIN`, lines, { resolve, reject }))
  })
}

/** Methods of pg's connection that its types lack. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

interface Settled {
  resolve(): void
  reject(error: Error): void
}

/** A statement as pg's client drives it: the client calls these methods as the server answers. */
class CopyIn implements Submittable {
  private readonly text: string
  private readonly lines: readonly string[]
  private readonly settled: Settled

  constructor(text: string, lines: readonly string[], settled: Settled) {
    this.text = text
    this.lines = lines
    this.settled = settled
  }

  submit(connection: Connection): void {
    connection.query(this.text)
  }

  handleCopyInResponse(connection: CopyConnection): void {
    for (let start = 0; start < this.lines.length; start += CHUNK_LINES) {
      connection.sendCopyFromChunk(Buffer.from(`${this.lines.slice(start, start + CHUNK_LINES).join('\n')}\n`))
    }
    connection.endCopyFrom()
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.settled.resolve()
  }

  handleError(error: Error): void {
    this.settled.reject(error)
  }
}
