import type { ServerResponse } from 'node:http'
import type { Plugin } from 'graphql-yoga'
import { SharedResult } from './fan-out.ts'

const PING_MS = 12_000
/** A reader that takes nothing for so long is let go. It may come back with its cursor. */
const STALL_MS = 10_000

type Results = AsyncIterableIterator<unknown>

/** Sends subscriptions as server-sent events whose `id` is their cursor: it comes back as `Last-Event-ID`. */
export function serverSentEvents(): Plugin {
  return {
    onResultProcess({ result, acceptableMediaTypes, setResultProcessor }) {
      if (!isResults(result) || !acceptableMediaTypes.includes('text/event-stream')) return
      setResultProcessor((results, { Response, ReadableStream }) => {
        const headers = {
          'content-type': 'text/event-stream',
          'cache-control': 'no-cache',
          // Its end is the end of the connection: nothing comes after a stream.
          connection: 'close',
          // Proxies that gather what passes would hold events back.
          'x-accel-buffering': 'no',
        }
        return new Response(new ReadableStream(sending(results as unknown as Results)), { headers })
      }, 'text/event-stream')
    },
  }
}

/** Ends the connection of a reader that takes nothing: what has left towards it waits for it alone. */
export function dropStalled(response: ServerResponse): void {
  let stalledSince: number | null = null
  const timer = setInterval(() => {
    if (!response.writableNeedDrain) stalledSince = null
    else stalledSince ??= Date.now()
    if (stalledSince !== null && Date.now() - stalledSince >= STALL_MS) response.destroy()
  }, 1_000).unref()
  response.once('close', () => clearInterval(timer))
}

/** Takes the next event when the last one has left: whoever does not read is sent nothing, and keeps nothing waiting. */
function sending(results: Results): UnderlyingDefaultSource<Uint8Array> {
  const encoder = new TextEncoder()
  let ping: NodeJS.Timeout | undefined
  let stalled: NodeJS.Timeout | undefined

  function finish(): void {
    clearInterval(ping)
    clearTimeout(stalled)
  }

  return {
    start(controller) {
      // Some clients take the answer for begun only with its first bytes.
      controller.enqueue(encoder.encode(':\n\n'))
      ping = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(encoder.encode(':\n\n'))
      }, PING_MS).unref()
    },
    async pull(controller) {
      clearTimeout(stalled)
      try {
        const { done, value } = await results.next()
        if (done) {
          finish()
          controller.enqueue(encoder.encode('event: complete\ndata:\n\n'))
          controller.close()
          return
        }
        const isShared = value instanceof SharedResult
        const id = isShared ? `id: ${value.cursor}\n` : ''
        const text = isShared ? value.text : JSON.stringify(value)
        controller.enqueue(encoder.encode(`${id}event: next\ndata: ${text}\n\n`))
        stalled = setTimeout(() => {
          finish()
          void results.return?.()
          controller.close()
        }, STALL_MS).unref()
      } catch (error) {
        finish()
        controller.error(error)
      }
    },
    async cancel() {
      finish()
      await results.return?.()
    },
  }
}

function isResults(result: unknown): result is Results {
  return typeof result === 'object' && result !== null && Symbol.asyncIterator in result
}
