import { existsSync } from 'node:fs'
import type { LoadPlayer } from './load.ts'
import { copyPlayers, giveXp } from './players.ts'
import { startInstance } from './processes.ts'

// One side of `npm run bench -- --against`: a build with a Postgres and players of its own. It runs in the folder of its
// commit, with the modules of that commit, so it imports little: what each commit of the last months has.

/** Sent to the process once. */
export interface StageSetup {
  /** The scenarios by their ids. */
  readonly definitions: Readonly<Record<string, unknown>>
  readonly nodeId: string
  /** Each set by its name: a number of players of a scenario, at these amounts of xp in turn. */
  readonly sets: Readonly<
    Record<string, { readonly count: number; readonly xp: readonly number[]; readonly scenarioId: string }>
  >
  /** For a profiler. */
  readonly inspectPort: number
}

/** Its answer. */
export interface Stage {
  readonly port: number
  readonly pid: number
  readonly postmaster: number
  readonly players: Readonly<Record<string, readonly LoadPlayer[]>>
}

/** Earlier commits have it in `support`. */
const harness = existsSync(new URL('../test/harness', import.meta.url)) ? 'harness' : 'support'
const { startDurablePostgres } = await import(`../test/${harness}/durable-postgres.ts`)
const { createWorld } = await import(`../test/${harness}/service.ts`)
const { withClient } = await import('./database.ts')

process.once('message', async ({ definitions, nodeId, sets, inspectPort }: StageSetup) => {
  const postgres = await startDurablePostgres(['max_connections=200'])
  let pid: number | undefined
  // The benchmark has ended.
  process.once('disconnect', async () => {
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    await postgres.remove()
    process.exit()
  })
  const world = await createWorld(postgres.url)
  for (const [scenarioId, definition] of Object.entries(definitions)) await world.publish(scenarioId, definition)
  const service = await startInstance(world, {
    NODE_OPTIONS: `--max-semi-space-size=64 --inspect-port=127.0.0.1:${inspectPort}`,
  })
  pid = service.pid
  const players: Record<string, LoadPlayer[]> = {}
  for (const [name, { count, xp, scenarioId }] of Object.entries(sets)) {
    const originals: { readonly playerId: string }[] = []
    for (const amount of xp) {
      const player = await world.player(scenarioId)
      if (amount > 0) await giveXp(service, player, { scenarioId, nodeId, amount })
      originals.push(player)
    }
    // biome-ignore lint/suspicious/noExplicitAny: the type is that of the commit's own `pg`.
    players[name] = await withClient(postgres.url, (client: any) => copyPlayers(world, client, originals, count))
  }
  const { port } = service
  process.send?.({ port, pid, postmaster: await postgres.postmaster(), players } satisfies Stage)
})
