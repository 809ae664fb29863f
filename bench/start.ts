import { setTimeout as pause } from 'node:timers/promises'
import { demoSeason } from '../src/dev/season.ts'
import { startDurablePostgres } from '../test/harness/durable-postgres.ts'
import { buildService, createWorld } from '../test/harness/service.ts'
import { cpuOf } from './cpu.ts'
import { withClient } from './database.ts'
import { startLoad } from './loader.ts'
import { copyPlayers } from './players.ts'
import { onEnd, startInstance } from './processes.ts'
import { clearNote, type Line, median, note, print, printSection } from './report.ts'

// `npm run bench -- --start`: what the first calls of an instance cost, with and without the calls that warm it up.

const PLACE = { scenarioId: 'bench', nodeId: 'pass' }
const PLAYERS = 64
const CONNECTIONS = 4
const CALLS = 2_000
/** V8 has compiled the way of a call by then. */
const UNTIL_STEADY = 60_000
const WAYS = ['true', 'false'] as const

export async function runStart({ rounds, signal }: { rounds: number; signal: AbortSignal }): Promise<void> {
  note('building')
  await buildService()
  note('starting an embedded Postgres with durable settings')
  const postgres = await startDurablePostgres(['max_connections=200'])
  onEnd(() => postgres.remove())
  const world = await createWorld(postgres.url)
  onEnd(() => world.close())
  await world.publish(PLACE.scenarioId, JSON.parse(demoSeason()))
  const original = await world.player(PLACE.scenarioId)
  const players = await withClient(postgres.url, (client) => copyPlayers(world, client, [original], PLAYERS))
  const load = startLoad({ ...PLACE, reached: 0, players: { players } }, signal)

  const found = new Map<string, { readySeconds: number[]; first: number[]; steady: number[] }>()
  for (const way of WAYS) found.set(way, { readySeconds: [], first: [], steady: [] })
  for (let round = 1; round <= rounds; round += 1)
    for (const way of round % 2 === 1 ? WAYS : WAYS.toReversed()) {
      note(`round ${round} of ${rounds}: WARM_UP=${way}`)
      const { readySeconds, first, steady } = found.get(way) as {
        readySeconds: number[]
        first: number[]
        steady: number[]
      }
      const began = performance.now()
      const service = await startInstance(world, { WARM_UP: way })
      readySeconds.push((performance.now() - began) / 1_000)
      const task = { ports: [service.port], call: 'xp', players: 'players', seconds: 600 } as const
      const cost = async () => {
        let before = Number(await cpuOf([service.pid]))
        await load({ ...task, connections: CONNECTIONS, calls: CALLS }, async () => {
          before = Number(await cpuOf([service.pid]))
        })
        return (Number(await cpuOf([service.pid])) - before) / CALLS
      }
      first.push(await cost())
      await load({ ...task, connections: 64, calls: UNTIL_STEADY })
      await pause(1_200)
      steady.push(await cost())
      await service.stop()
    }
  clearNote()
  print(`CPU of the service, µs a call, at ${CONNECTIONS} connections: medians of ${rounds} rounds.`)
  printSection('add xp', [
    ['', ['ready after, s', `first ${CALLS} calls`, 'steady', 'first ÷ steady: median (range)']],
    ...[...found].map(([way, { readySeconds, first, steady }]): Line => {
      const ratios = first.map((cost, index) => cost / (steady[index] as number))
      const [lowest, highest] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2))
      const figures = [
        median(readySeconds).toFixed(1),
        ...[first, steady].map((costs) => Math.round(median(costs)).toString()),
      ]
      return [`WARM_UP=${way}`, [...figures, `${median(ratios).toFixed(2)} (${lowest}–${highest})`]]
    }),
  ])
}
