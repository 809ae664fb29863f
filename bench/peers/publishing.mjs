import { createServer } from 'node:http'

// What the peers for live events have in common: whatever is posted to `/publish` is an event. It is answered and then
// published, as a service answers after COMMIT. Everything else of HTTP is left to the peer.

const ANSWER = '{"published":true}'

/** Serves, and gives the port. */
export function serve(publish, others = (_request, response) => response.writeHead(404).end()) {
  const server = createServer((request, response) => {
    if (request.url !== '/publish') return others(request, response)
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const event = JSON.parse(body)
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length })
      response.end(ANSWER)
      publish(event)
    })
  })
  server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }))
  // The benchmark that started it has ended.
  process.on('disconnect', () => process.exit())
  return server
}

/** What the GraphQL peers subscribe to: as much of the service's schema as the benchmark asks for. */
export const typeDefs = /* GraphQL */ `
  scalar JSON
  type Event {
    cursor: String!
    occurredAt: String!
    playerId: ID!
    handle: String
    data: JSON!
  }
  type Query {
    ok: Boolean
  }
  type Subscription {
    events(environment: String!, handles: [String!]): Event!
  }
`
