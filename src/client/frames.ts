import type { FetchBody } from './platform.ts'

/** No event of the service is as long, in characters. */
const LONGEST = 2 ** 24

/** The frames of a stream of server-sent events, without comments. */
export async function* framesOf(body: FetchBody, isAlive: () => void): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let endsLine = false
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    isAlive()
    const piece = decoder.decode(value, { stream: true })
    // Only what has come is searched: to search a long event with each of its pieces would take many seconds.
    const isComplete = piece.includes('\n\n') || (endsLine && piece.startsWith('\n'))
    endsLine = piece.endsWith('\n') || (endsLine && piece === '')
    text += piece
    if (isComplete) {
      const frames = text.split('\n\n')
      // The last piece is not complete yet.
      text = frames.pop() ?? ''
      for (const frame of frames) if (!frame.startsWith(':')) yield frame
    }
    if (text.length > LONGEST) throw new Error('the stream did not come from the service: an event is too long')
  }
}
