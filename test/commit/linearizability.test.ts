import { afterAll, describe, expect, it } from 'vitest'
import { auditBooks, auditSupport } from '../support/audit.ts'
import { backUp, hasTable } from '../support/linearizability/books.ts'
import { type Client, createClient } from '../support/linearizability/clients.ts'
import { breakConnections, type Cluster, FAULTS, type Fault, startCluster } from '../support/linearizability/cluster.ts'
import { drawDefinition, SCENARIOS } from '../support/linearizability/definitions.ts'
import { Random } from '../support/linearizability/random.ts'
import { Round } from '../support/linearizability/round.ts'
import type { Saboteur } from '../support/proxy.ts'

const SEED = Number(process.env.LINEARIZABILITY_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** How long calls are made in random rounds. */
const SECONDS = Number(process.env.LINEARIZABILITY_SECONDS ?? 40)
const CALLS = 200
const PLAYERS = 4
const RESTORES = 4

const again = `seed ${SEED}; run again with LINEARIZABILITY_SEED=${SEED}`
console.log(again)

let cluster: Cluster | undefined
afterAll(() => cluster?.close())

async function start(random: Random, saboteur?: Saboteur): Promise<{ cluster: Cluster; clients: Client[] }> {
  cluster = await startCluster({ saboteur })
  const clients: Client[] = []
  for (let index = 0; index < PLAYERS; index += 1) clients.push(await createClient(cluster, index))
  for (const scenario of SCENARIOS) {
    await cluster.world.publish(scenario, JSON.parse(JSON.stringify(drawDefinition(random, scenario, 'first'))))
  }
  return { cluster, clients }
}

async function stop(): Promise<void> {
  const ended = cluster
  cluster = undefined
  await ended?.close()
}

/** One round with one kind of fault; the reports of what cannot be explained. */
async function playRound(cluster: Cluster, clients: readonly Client[], random: Random, name: string, fault: Fault) {
  const few = [...clients].sort(() => random.next() - 0.5).slice(0, random.int(2, PLAYERS))
  const round = new Round(cluster, few, random, name)
  await round.begin()
  if (fault === 'killed' || fault === 'stopped') {
    const instance = random.one(cluster.instances)
    const before = random.int(20, CALLS - 80)
    await round.load({ calls: before })
    round.tell(`${fault} ${instance.name}`)
    const restarted = cluster.restart(instance, fault === 'killed' ? 'SIGKILL' : 'SIGTERM')
    await round.load({ calls: CALLS - 60 - before })
    await restarted
    await round.load({ calls: 60 })
  } else {
    let isOver = false
    const broken = breakConnections(cluster, fault, random.fork(), () => isOver, round.tell)
    await round.load({ calls: CALLS })
    isOver = true
    await broken
  }
  return judge(round, `round ${name} (${fault})`)
}

async function judge(round: Round, title: string): Promise<{ violations: string[]; undecided: number; calls: number }> {
  const found = await round.finish()
  const violations = found.flatMap(({ client, verdict }) =>
    verdict.kind === 'violation'
      ? [`${title}, player ${client.index}; ${again}\nfaults: ${round.tale.join(', ')}\n${verdict.report}`]
      : [],
  )
  return {
    violations,
    undecided: found.filter(({ verdict }) => verdict.kind === 'undecided').length,
    calls: found.reduce((sum, { calls }) => sum + calls, 0),
  }
}

describe('two instances on one database', () => {
  it(
    `is linearizable on two instances under dropped connections, lost answers and restarts (architecture: remember, decide, prove; ${again})`,
    async () => {
      const random = new Random(SEED)
      const { cluster, clients } = await start(random)
      const began = performance.now()
      let rounds = 0
      let calls = 0
      let undecided = 0
      while (performance.now() - began < SECONDS * 1000) {
        rounds += 1
        const fault = FAULTS[(rounds - 1) % FAULTS.length] ?? 'none'
        const t = performance.now()
        const result = await playRound(cluster, clients, random.fork(), `r${rounds}`, fault)
        console.log(rounds, fault, (performance.now() - t).toFixed(0))
        expect(result.violations.join('\n\n')).toBe('')
        calls += result.calls
        undecided += result.undecided
      }
      console.log(`${calls} calls in ${rounds} rounds; ${undecided} histories took too long to judge`)
      expect(undecided).toBe(0)
      await auditBooks(cluster.world.pool)
      await auditSupport(cluster.world.pool)
      await stop()
    },
    SECONDS * 1000 + 180_000,
  )
})
