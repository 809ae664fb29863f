// Listens to an environment over server-sent events, with plain Node, and prints every event as one line of JSON. The
// cursor of the last event is kept in a file, so that no event is lost or repeated when the connection breaks, or when
// this program is started again:
//
//   TIERWAY_URL=http://127.0.0.1:4000 TIERWAY_KEY=twplat_… ENVIRONMENT=production CURSOR_FILE=production.cursor \
//     node examples/listener-sse.mjs
//
// It ends with code 1 when another attempt would not help. The file is valid TypeScript, too.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const { TIERWAY_URL = 'http://127.0.0.1:4000', TIERWAY_KEY = '', ENVIRONMENT = 'production' } = process.env
const { CURSOR_FILE = `${ENVIRONMENT}.cursor` } = process.env

const END = 'query ($environment: String!) { streamCursor(environment: $environment) }'
const EVENTS = `subscription ($environment: String!) {
  onEvent(environment: $environment) { cursor occurredAt type handle playerId scenarioId nodeId runId data }
}`

/** Errors that pass. All others are final. */
const PASSING = ['UNAVAILABLE', 'INTERNAL_ERROR', 'RATE_LIMITED']
const SHORTEST_WAIT_MS = 250
const LONGEST_WAIT_MS = 10_000
/** Twelve seconds is the longest time without a sign of life. */
const SILENCE_MS = 25_000

/** Thrown when another attempt would not help. */
class Refused extends Error {}

/** The results of an operation. */
async function* ask(query = '', headers = {}) {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(new Error('nothing was heard')), SILENCE_MS)
  try {
    const response = await fetch(`${TIERWAY_URL}/graphql`, {
      method: 'POST',
      signal: silence.signal,
      headers: {
        authorization: `Bearer ${TIERWAY_KEY}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...headers,
      },
      body: JSON.stringify({ query, variables: { environment: ENVIRONMENT } }),
    })
    if (!response.ok) throw new Error(`status ${response.status}`)
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      timer.refresh()
      text += chunk
      // A frame ends with an empty line. The rest is an incomplete frame.
      const frames = text.split('\n\n')
      text = frames.pop() ?? ''
      for (const frame of frames) {
        const [, json] = /^event: next\ndata: (.*)$/m.exec(frame) ?? []
        // A comment, as a sign of life, or the end.
        if (json === undefined) continue
        const { data, errors } = JSON.parse(json)
        if (errors) throw refusal(errors[0])
        yield data
      }
    }
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

function refusal({ message = '', extensions = { code: '' } }) {
  if (PASSING.includes(extensions.code)) return new Error(message)
  if (extensions.code !== 'CURSOR_EXPIRED') return new Refused(message)
  return new Refused(`${message}: events after it are no longer kept. Look at the history, then remove ${CURSOR_FILE}`)
}

/** In one step, so that the file always holds a whole cursor. */
function remember(cursor = '') {
  writeFileSync(`${CURSOR_FILE}.next`, cursor)
  renameSync(`${CURSOR_FILE}.next`, CURSOR_FILE)
}

/**
 * Handles an event. When it resolves, the event is handled: here the reader of the output, even a slow one, has it.
 * An event can arrive twice after a crash. See docs/listeners.md.
 */
async function handle(event = {}) {
  await new Promise((done, fail) => {
    process.stdout.write(`${JSON.stringify(event)}\n`, (error) => (error ? fail(error) : done(undefined)))
  })
}

let wait = SHORTEST_WAIT_MS

async function listen() {
  // The first start begins at the current end. All later events are received, even if the connection breaks before the
  // first one.
  if (!existsSync(CURSOR_FILE)) {
    for await (const { streamCursor } of ask(END)) remember(streamCursor)
  }
  const cursor = readFileSync(CURSOR_FILE, 'utf8')
  for await (const { onEvent: event } of ask(EVENTS, { 'last-event-id': cursor })) {
    await handle(event)
    remember(event.cursor)
    wait = SHORTEST_WAIT_MS
  }
}

for (;;) {
  const began = Date.now()
  let why = 'the stream ended'
  try {
    await listen()
  } catch (error) {
    why = error instanceof Error ? error.message : String(error)
    if (error instanceof Refused) {
      console.error(`given up: ${why}`)
      process.exit(1)
    }
  }
  // A random wait, so that not all listeners return at once. It doubles each time, unless the connection held for a
  // while.
  if (Date.now() - began > LONGEST_WAIT_MS) wait = SHORTEST_WAIT_MS
  console.error(`${why}: again in ${wait} ms`)
  await pause(wait * (0.5 + Math.random() / 2))
  wait = Math.min(2 * wait, LONGEST_WAIT_MS)
}
