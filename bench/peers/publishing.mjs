import { createServer } from 'node:http'

// Shared by the peers for live events: each body that is posted to `/publish` is an event. The request is answered
// before the event is published, as a service answers after COMMIT. The peer serves all other requests.

const ANSWER = '{"published":true}'

/** Starts to serve, and returns the port. */
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

/** The schema of the GraphQL peers: the part of the service's schema that the benchmark uses. */
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
