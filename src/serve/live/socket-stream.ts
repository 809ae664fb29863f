import type { GraphQLError } from 'graphql'
import type { Connection } from './connection.ts'
import { textFrame } from './frame.ts'
import type { FrameSink, LiveResults, SharedResult } from './shared-results.ts'

/**
 * The place where event frames bypass graphql-ws. For graphql-ws it is a stream without results, which ends with the
 * subscription; an error that ends the subscription is thrown.
 */
export class SocketStream implements AsyncGenerator<never, undefined>, FrameSink {
  /** The beginning of each message. Frames of servers are not masked, so sockets with one operation id share them. */
  readonly key: string
  private readonly results: LiveResults
  private readonly connection: Connection
  private readonly mask: (error: unknown) => GraphQLError
  private resolve: ((end: IteratorResult<never, undefined>) => void) | undefined
  private reject: ((error: GraphQLError) => void) | undefined

  constructor(id: string, results: LiveResults, connection: Connection, mask: (error: unknown) => GraphQLError) {
    this.key = `{"id":${JSON.stringify(id)},"type":"next","payload":`
    this.results = results
    this.connection = connection
    this.mask = mask
    connection.streams.add(this)
  }

  frame(result: SharedResult): Buffer {
    return textFrame([Buffer.from(this.key), result.json, END_OF_MESSAGE])
  }

  take(frames: Buffer): boolean {
    return this.connection.outlet.take(frames, this.results)
  }

  end(error?: unknown): void {
    this.connection.streams.delete(this)
    if (error === undefined) this.resolve?.(DONE)
    else this.reject?.(this.mask(error))
  }

  close(): void {
    this.connection.streams.delete(this)
    this.results.close()
  }

  next(): Promise<IteratorResult<never, undefined>> {
    const ended = new Promise<IteratorResult<never, undefined>>((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    this.results.flow(this)
    return ended
  }

  async return(): Promise<IteratorResult<never, undefined>> {
    this.close()
    return DONE
  }

  async throw(error: unknown): Promise<IteratorResult<never, undefined>> {
    this.close()
    throw error
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
  }

  [Symbol.asyncIterator](): this {
    return this
  }
}

const END_OF_MESSAGE = Buffer.from('}')

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }
