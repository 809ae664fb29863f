// Listens to an environment and prints every event as one line of JSON. The cursor of the last event is kept in a file,
// so that no event is lost or repeated when the connection breaks, or when this program is started again:
//
//   TIERWAY_URL=http://127.0.0.1:4000 TIERWAY_KEY=twplat_… ENVIRONMENT=production CURSOR_FILE=production.cursor \
//     node examples/listener.mjs
//
// It needs graphql-ws and ws, and ends with code 1 when another attempt would not help. docs/listeners.md has the
// rules.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'

const { TIERWAY_URL = 'http://127.0.0.1:4000', TIERWAY_KEY = '', ENVIRONMENT = 'production' } = process.env
const { CURSOR_FILE = `${ENVIRONMENT}.cursor` } = process.env

const END = 'query ($environment: String!) { streamCursor(environment: $environment) }'
const EVENTS = `subscription ($environment: String!, $after: String!) {
  onEvent(environment: $environment, after: $after) {
    cursor occurredAt type handle playerId scenarioId nodeId runId data
  }
}`

/** Errors that pass. All others are final. */
const PASSING = ['UNAVAILABLE', 'INTERNAL_ERROR', 'RATE_LIMITED']
const SHORTEST_WAIT_MS = 250
const LONGEST_WAIT_MS = 10_000
/** The interval of pings, and the time for their answer. After it the connection is closed. */
const PING_MS = 10_000
const ANSWER_MS = 5_000

/** A handshake that is never answered must end, too. */
class Socket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { handshakeTimeout: ANSWER_MS })
  }
}

let unanswered
const client = createClient({
  url: `${TIERWAY_URL.replace(/^http/, 'ws')}/graphql`,
  webSocketImpl: Socket,
  connectionParams: { authorization: `Bearer ${TIERWAY_KEY}` },
  connectionAckWaitTimeout: ANSWER_MS,
  keepAlive: PING_MS,
  // The client's own retries would repeat the first variables. The loop below knows the current cursor.
  retryAttempts: 0,
  on: {
    ping(received) {
      if (!received) unanswered = setTimeout(() => client.terminate(), ANSWER_MS)
    },
    pong: () => clearTimeout(unanswered),
    closed: () => clearTimeout(unanswered),
  },
})

/** The results of an operation. Throws refusals, which arrive as results with errors. */
async function* ask(query, variables) {
  for await (const { data, errors } of client.iterate({ query, variables })) {
    if (errors) throw errors
    yield data
  }
}

/** In one step, so that the file always holds a whole cursor. */
function remember(cursor) {
  writeFileSync(`${CURSOR_FILE}.next`, cursor)
  renameSync(`${CURSOR_FILE}.next`, CURSOR_FILE)
}

/**
 * Handles an event. When it resolves, the event is handled: here the reader of the output, even a slow one, has it.
 * An event can arrive twice after a crash. See docs/listeners.md.
 */
async function handle(event) {
  await new Promise((done, fail) => {
    process.stdout.write(`${JSON.stringify(event)}\n`, (error) => (error ? fail(error) : done(undefined)))
  })
}

let wait = SHORTEST_WAIT_MS

async function listen() {
  // The first start begins at the current end. All later events are received, even if the connection breaks before the
  // first one.
  if (!existsSync(CURSOR_FILE)) {
    for await (const { streamCursor } of ask(END, { environment: ENVIRONMENT })) remember(streamCursor)
  }
  const after = readFileSync(CURSOR_FILE, 'utf8')
  for await (const { onEvent: event } of ask(EVENTS, { environment: ENVIRONMENT, after })) {
    await handle(event)
    remember(event.cursor)
    wait = SHORTEST_WAIT_MS
  }
}

/** Why another attempt would not help; undefined when it might. */
function finalReason(error) {
  // An operation was refused: a list of GraphQL errors.
  if (Array.isArray(error)) {
    const [{ message, extensions }] = error
    if (PASSING.includes(extensions?.code)) return undefined
    if (extensions?.code !== 'CURSOR_EXPIRED') return message
    return `${message}: events after it are no longer kept. Look at the history, then remove ${CURSOR_FILE}`
  }
  // The socket was closed: a close event.
  return error.code === 4403 ? `the key does not hold: ${error.reason}` : undefined
}

for (;;) {
  const began = Date.now()
  let why = 'the stream ended'
  try {
    await listen()
  } catch (error) {
    const reason = finalReason(error)
    if (reason !== undefined) {
      console.error(`given up: ${reason}`)
      process.exit(1)
    }
    why = Array.isArray(error) ? error[0].message : error.reason || error.message || `code ${error.code}`
  }
  // A random wait, so that not all listeners return at once. It doubles each time, unless the connection held for a
  // while.
  if (Date.now() - began > LONGEST_WAIT_MS) wait = SHORTEST_WAIT_MS
  console.error(`${why}: again in ${wait} ms`)
  await pause(wait * (0.5 + Math.random() / 2))
  wait = Math.min(2 * wait, LONGEST_WAIT_MS)
}
