import { createDatabase } from './database.ts'
import { buildService, createWorld, type World } from './service.ts'

/** A world in a database of its own, for processes of the service, which is built before. `close` removes it. */
export async function openWorld(): Promise<World> {
  await buildService()
  const database = await createDatabase()
  const world = await createWorld(database.url)
  return {
    ...world,
    async close() {
      await world.close()
      await database.drop()
    },
  }
}
