import type { Config } from '../config.ts'
import { startEmbeddedPostgres } from './embedded.ts'

export interface Database {
  readonly url: string
  readonly embedded: boolean
  stop(): Promise<void>
}

/** The database of the configuration; without one, the embedded Postgres. `adopt` is for its owner, the service. */
export async function openDatabase({ databaseUrl, dataDir }: Config, { adopt = false } = {}): Promise<Database> {
  if (databaseUrl !== null) return { url: databaseUrl, embedded: false, stop: async () => {} }
  const { url, stop } = await startEmbeddedPostgres({ dataDir, adopt })
  return { url, embedded: true, stop }
}
