import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Plugin, YogaInitialContext } from 'graphql-yoga'
import { Refusal } from '../errors.ts'
import { refusalError } from '../graphql/failures.ts'
import { STREAM_TYPE } from '../http/media-types.ts'
import { SharedResult } from './shared-results.ts'
import { Stall } from './stall.ts'

const PING_MS = 12_000
/** How long readers may take to receive the end when the service stops. */
const CLOSE_TIMEOUT_MS = 2_000

const COMMENT = ':\n\n'
const COMPLETE = 'event: complete\ndata:\n\n'

type Results = AsyncIterableIterator<unknown>

/** Sends subscriptions as server-sent events. Their `id` is the cursor, which returns as `Last-Event-ID`. */
export function serverSentEvents() {
  const open = new Set<ServerResponse>()

  const plugin: Plugin<object, { res?: ServerResponse }> = {
    onSubscribe({ args, setResultAndStopExecution }) {
      const { request } = args.contextValue as Partial<YogaInitialContext>
      if (!request || request.headers.get('accept')?.includes(STREAM_TYPE)) return
      const message = `must take ${STREAM_TYPE}, in which subscriptions answer`
      const refused = refusalError(new Refusal('notAcceptable', { faults: [{ path: 'Accept', message }] }))
      refused.extensions.http = { status: 406 }
      setResultAndStopExecution({ errors: [refused] })
    },
    onResultProcess({ result, acceptableMediaTypes, setResultProcessor, serverContext: { res } }) {
      if (!isResults(result) || !acceptableMediaTypes.includes(STREAM_TYPE)) return
      setResultProcessor((results, { Response }) => {
        const headers = {
          'content-type': STREAM_TYPE,
          'cache-control': 'no-cache',
          // The stream's end is the end of the connection: nothing follows it.
          connection: 'close',
          // Proxies that buffer answers would hold events back.
          'x-accel-buffering': 'no',
        }
        const frames = framesOf(results as unknown as Results)
        if (res) endWith(res, frames, open)
        // A Node stream, which is piped into Node's response with back-pressure.
        return new Response(frames as never, { headers })
      }, STREAM_TYPE)
    },
  }

  return {
    plugin,
    /** Call it when the subscriptions have ended. Waits until the rest is sent, with a limit. */
    async stop(): Promise<void> {
      const closed = Promise.all([...open].map((response) => new Promise((resolve) => response.once('close', resolve))))
      const timer = setTimeout(() => {
        for (const response of open) response.destroy()
      }, CLOSE_TIMEOUT_MS)
      await closed
      clearTimeout(timer)
    },
  }
}

/** Closes the connection of a reader that does not read. A last message would wait behind unread ones. */
function dropStalled(socket: Socket): void {
  const stall = new Stall(socket)
  const timer = setInterval(() => {
    if (stall.tick()) socket.destroy()
  }, 1_000).unref()
  socket.once('close', () => clearInterval(timer))
}

/** Ends the frames with the response. If the client left before its answer began, they end at once. */
function endWith(response: ServerResponse, frames: Readable, open: Set<ServerResponse>): void {
  if (response.closed || response.destroyed) {
    frames.destroy()
    return
  }
  open.add(response)
  response.once('close', () => {
    open.delete(response)
    frames.destroy()
  })
  if (response.socket) dropStalled(response.socket)
}

/** Takes the next event when the last one was sent, so at most two events wait for a client that does not read. */
function framesOf(results: Results): Readable {
  let asked = false
  const frames = new Readable({
    highWaterMark: 1,
    async read() {
      // A comment between two events is no reason to take another event.
      if (asked) return
      asked = true
      try {
        const { done, value } = await results.next()
        asked = false
        frames.push(done ? COMPLETE : frameOf(value))
        if (done) end()
      } catch {
        // Errors are sent as results. Other failures end the stream without a message, and clients reconnect.
        end()
      }
    },
    destroy(error, callback) {
      clearInterval(ping)
      Promise.resolve(results.return?.()).then(
        () => callback(error),
        () => callback(error),
      )
    },
  })
  // A slow reader may take long to receive the end. Nothing may be pushed after it, not even a comment.
  function end(): void {
    clearInterval(ping)
    frames.push(null)
  }

  // Some clients consider the answer begun only at its first bytes.
  frames.push(COMMENT)
  const ping = setInterval(() => {
    if (frames.readableLength === 0) frames.push(COMMENT)
  }, PING_MS).unref()
  return frames
}

function frameOf(value: unknown): string | Buffer {
  return value instanceof SharedResult ? value.serverSent : `event: next\ndata: ${JSON.stringify(value)}\n\n`
}

function isResults(result: unknown): result is Results {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
