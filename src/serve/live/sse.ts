import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Plugin, YogaInitialContext } from 'graphql-yoga'
import { Refusal } from '../../base/errors.ts'
import type { ServerContext } from '../../declare/graphql/context.ts'
import { STREAM_HEADERS, STREAM_TYPE } from '../../declare/media-types.ts'
import { type Mask, refusalError } from '../graphql/failures.ts'
import { Readers } from './readers.ts'
import { type FrameSink, LiveResults } from './shared-results.ts'

const PING_MS = 12_000

const COMMENT = ':\n\n'
const COMPLETE = 'event: complete\ndata:\n\n'
const END_OF_EVENT = Buffer.from('\n\n')

/** Sends subscriptions as server-sent events. Their `id` is the cursor, which returns as `Last-Event-ID`. */
export function serverSentEvents(mask: Mask) {
  const readers = new Readers()

  const plugin: Plugin<object, ServerContext> = {
    onSubscribe({ args, setResultAndStopExecution }) {
      const { request } = args.contextValue as Partial<YogaInitialContext>
      if (!request || request.headers.get('accept')?.includes(STREAM_TYPE)) return
      const message = `must take ${STREAM_TYPE}, in which subscriptions answer`
      const refused = refusalError(new Refusal('notAcceptable', { faults: [{ path: 'Accept', message }] }))
      refused.extensions.http = { status: 406 }
      setResultAndStopExecution({ errors: [refused] })
    },
    onResultProcess({ result, setResultProcessor, serverContext: { res, requestId } }) {
      if (!(result instanceof LiveResults)) return
      setResultProcessor((_results, { Response }) => {
        const frames = framesOf(result, (error) => mask(error, requestId))
        if (res) endWith(res, frames)
        // A Node stream, which is piped into Node's response with back-pressure.
        return new Response(frames as never, { headers: STREAM_HEADERS })
      }, STREAM_TYPE)
    },
  }

  /** Ends the frames with the response. If the client left before its answer began, they end at once. */
  function endWith(response: ServerResponse, frames: Readable): void {
    if (response.closed || response.destroyed) {
      frames.destroy()
      return
    }
    readers.add(response)
    response.once('close', () => frames.destroy())
  }

  return {
    plugin,
    /** Call it when the subscriptions have ended. Waits until the rest is sent, with a limit. */
    stop: () => readers.stop(),
  }
}

/** The events of a subscription as they are sent. They flow while the client reads: one batch waits for it at most. */
function framesOf(results: LiveResults, mask: Mask): Readable {
  const frames = new Readable({
    highWaterMark: 1,
    read: () => results.resume(),
    destroy(error, callback) {
      clearInterval(ping)
      results.close()
      callback(error)
    },
  })
  // Some clients consider the answer begun only at its first bytes.
  frames.push(COMMENT)
  const ping = setInterval(() => {
    if (frames.readableLength === 0) frames.push(COMMENT)
  }, PING_MS).unref()
  const sink: FrameSink = {
    key: STREAM_TYPE,
    frame: (result) =>
      Buffer.concat([Buffer.from(`id: ${result.cursor}\nevent: next\ndata: `), result.json, END_OF_EVENT]),
    take: (bytes) => frames.push(bytes),
    end(error) {
      // A slow reader may take long to receive the end. Nothing may be pushed after it, not even a comment.
      clearInterval(ping)
      if (frames.destroyed) return
      if (error !== undefined) frames.push(`event: next\ndata: ${JSON.stringify({ errors: [mask(error)] })}\n\n`)
      frames.push(COMPLETE)
      frames.push(null)
    },
  }
  results.flow(sink)
  return frames
}
