import pg from 'pg'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { constant, context, get, lambda, listen } from 'postgraphile/grafast'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { extendSchema, gql } from 'postgraphile/utils'
import { serve } from './publishing.mjs'

// PostGraphile with subscriptions as in its documentation: LISTEN in the server, NOTIFY for each event.

/** PostGraphile asks for Node 22. Of the functions that it calls, Node 20 lacks only this one. */
Promise.withResolvers ??= function withResolvers() {
  let settle
  const promise = new this((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle }
}

const CHANNEL = 'bench_events'
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const fields = ['cursor', 'occurredAt', 'playerId', 'handle', 'data']

const subscription = extendSchema(() => ({
  typeDefs: gql`
    type BenchEvent {
      cursor: String!
      occurredAt: String!
      playerId: ID!
      handle: String
      data: JSON!
    }
    extend type Subscription {
      events(environment: String!, handles: [String!]): BenchEvent!
    }
  `,
  objects: {
    Subscription: {
      plans: {
        events: {
          subscribePlan: () => listen(context().get('pgSubscriber'), constant(CHANNEL), (item) => item),
          plan: (payload) => lambda(payload, (text) => JSON.parse(text)),
        },
      },
    },
    BenchEvent: { plans: Object.fromEntries(fields.map((name) => [name, (event) => get(event, name)])) },
  },
}))

const gateway = postgraphile({
  extends: [PostGraphileAmberPreset],
  plugins: [subscription],
  pgServices: [makePgService({ pool, schemas: [], pubsub: true })],
  grafserv: { websockets: true, graphiql: false },
})
const server = serve((event) => pool.query('SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(event)]))
// The HTTP server is for publishing; PostGraphile gets only its WebSockets.
server.on('upgrade', await gateway.createServ(grafserv).getUpgradeHandler())
