import { useServer } from 'graphql-ws/use/ws'
import { createPubSub, createSchema, createYoga } from 'graphql-yoga'
import { WebSocketServer } from 'ws'
import { serve, typeDefs } from './publishing.mjs'

// GraphQL Yoga with graphql-ws as in its documentation, and with its own PubSub.

const pubSub = createPubSub()
const resolvers = {
  Query: { ok: () => true },
  Subscription: { events: { subscribe: () => pubSub.subscribe('events'), resolve: (event) => event } },
}
const yoga = createYoga({ schema: createSchema({ typeDefs, resolvers }), logging: 'error' })
const server = serve((event) => pubSub.publish('events', event), yoga)
const sockets = new WebSocketServer({ server, path: yoga.graphqlEndpoint })

useServer(
  {
    execute: (args) => args.rootValue.execute(args),
    subscribe: (args) => args.rootValue.subscribe(args),
    onSubscribe: async (context, _id, params) => {
      const { schema, execute, subscribe, contextFactory, parse, validate } = yoga.getEnveloped({
        ...context,
        req: context.extra.request,
        socket: context.extra.socket,
        params,
      })
      const args = {
        schema,
        operationName: params.operationName,
        document: parse(params.query),
        variableValues: params.variables,
        contextValue: await contextFactory(),
        rootValue: { execute, subscribe },
      }
      const errors = validate(args.schema, args.document)
      return errors.length > 0 ? errors : args
    },
  },
  sockets,
)
