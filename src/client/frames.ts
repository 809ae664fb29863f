import type { FetchBody } from './platform.ts'

/** No event of the service is as long, in characters. */
const LONGEST = 2 ** 24

/** The frames of a stream of server-sent events, without comments. */
export async function* framesOf(body: FetchBody, isAlive: () => void): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    isAlive()
    text += decoder.decode(value, { stream: true })
    const frames = text.split('\n\n')
    // The last piece is not complete yet.
    text = frames.pop() ?? ''
    if (text.length > LONGEST) throw new Error('the stream did not come from the service: an event is too long')
    for (const frame of frames) if (!frame.startsWith(':')) yield frame
  }
}
