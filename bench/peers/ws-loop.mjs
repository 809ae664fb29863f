import { WebSocketServer } from 'ws'
import { serve } from './publishing.mjs'

// The lower bound: a bare `ws` server that makes the text of an event once and sends it to one socket after the other.
// No GraphQL, credentials, filters, cursors or slow readers.

/** As long as the id that clients of GraphQL give to a subscription. */
const id = '00000000-0000-4000-8000-000000000000'

const server = serve((event) => {
  const text = JSON.stringify({ id, type: 'next', payload: { data: { events: event } } })
  for (const socket of sockets.clients) socket.send(text)
})
const sockets = new WebSocketServer({ server, perMessageDeflate: false })
