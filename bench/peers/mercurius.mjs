import fastify from 'fastify'
import mercurius from 'mercurius'
import { typeDefs } from './publishing.mjs'

// Mercurius on Fastify, with its own PubSub.

const app = fastify()
const resolvers = {
  Subscription: { events: { subscribe: (_root, _args, { pubsub }) => pubsub.subscribe('events') } },
}
app.register(mercurius, { schema: typeDefs, resolvers, subscription: true })
app.post('/publish', async (request) => {
  await app.graphql.pubsub.publish({ topic: 'events', payload: { events: request.body } })
  return { published: true }
})
await app.listen({ port: 0, host: '127.0.0.1' })
process.send?.({ port: app.server.address().port })
// The benchmark that started it has ended.
process.on('disconnect', () => process.exit())
