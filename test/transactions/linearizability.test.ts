import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { auditBooks, auditSupport } from '../harness/audit.ts'
import { backUp } from '../harness/linearizability/books.ts'
import {
  BEGINNER,
  BOOKS_AT_TOP,
  ban,
  claim,
  claimAnswer,
  done,
  gift,
  history,
  levelUp,
  me,
  meAnswer,
  passOf,
  progress,
  progressAnswer,
  reachedAnswer,
  refusedGift,
  startAnswer,
  start as startCall,
  xp,
  xpAnswer,
} from '../harness/linearizability/by-hand.ts'
import { check, type PlayerHistory } from '../harness/linearizability/checker.ts'
import { ask, type Client, createClient, publish } from '../harness/linearizability/clients.ts'
import { breakConnections, type Cluster, FAULTS, type Fault, startCluster } from '../harness/linearizability/cluster.ts'
import { drawDefinition, SCENARIOS } from '../harness/linearizability/definitions.ts'
import { Random } from '../harness/linearizability/random.ts'
import { Round } from '../harness/linearizability/round.ts'
import type { Saboteur } from '../harness/proxy.ts'
import { atScale } from '../harness/scale.ts'
import { SEED } from '../harness/seed.ts'
import { buildService } from '../harness/service.ts'
import { until } from '../harness/until.ts'

/** The duration of the random rounds. */
const SECONDS = Number(process.env.LINEARIZABILITY_SECONDS ?? atScale(30, 4))
const CALLS = 180
const PLAYERS = 4
const RESTORES = Math.max(atScale(3, 2), Math.round(SECONDS / 12))
/** The rounds within which a violation must be found. About every third round has one. */
const ROUNDS_TO_FIND = 30
const ROUND_MS = 60_000

/** The changes that a proxy makes in statements. `LINEARIZABILITY_SABOTEUR='find=>by=>within'` adds one. */
const SABOTAGES: { readonly what: string; readonly saboteur: Saboteur; readonly edits?: number }[] = [
  {
    what: 'the proof of players',
    // Statements that find definitions contain the same text.
    saboteur: { find: 'v.version = k.version', by: 'v.version = v.version', within: 'player_versions' },
  },
  {
    what: 'the proof of scenarios',
    // No revision ever differs.
    saboteur: { find: 'p.revision IS DISTINCT FROM (', by: 'false AND p.revision = (     ' },
    edits: 0.1,
  },
  {
    what: 'the proof that keys are new',
    // No key is ever found. Statements for groups that do not prove contain the same text.
    saboteur: { find: 't.key = r.key', by: 't.key = NULL ', within: 'player_versions' },
  },
]
const [find, by = '', within] = process.env.LINEARIZABILITY_SABOTEUR?.split('=>') ?? []
if (find) SABOTAGES.push({ what: `"${find}"`, saboteur: { find, by, within } })

const clusters: Cluster[] = []

beforeAll(buildService)

async function endClusters(): Promise<void> {
  for (const cluster of clusters.splice(0)) await cluster.close()
}

async function start(random: Random, saboteur?: Saboteur): Promise<{ cluster: Cluster; clients: Client[] }> {
  const cluster = await startCluster({ saboteur })
  clusters.push(cluster)
  const clients: Client[] = []
  for (let index = 0; index < PLAYERS; index += 1) clients.push(await createClient(cluster, index))
  for (const scenario of SCENARIOS) {
    await cluster.world.publish(scenario, JSON.parse(JSON.stringify(drawDefinition(random, scenario, 'first'))))
  }
  return { cluster, clients }
}

interface Result {
  readonly violations: readonly string[]
  readonly histories: number
  /** Histories that took too long to judge: the more calls overlap, the more orders there are. */
  readonly undecided: number
  readonly calls: number
  readonly unknown: number
}

const newRound = (cluster: Cluster, clients: readonly Client[], random: Random, name: string): Round =>
  // A random part of the players.
  new Round(cluster, random.shuffled(clients).slice(0, random.int(2, PLAYERS)), random, name)

/** One round with one kind of fault. */
async function playRound(
  cluster: Cluster,
  clients: readonly Client[],
  random: Random,
  name: string,
  fault: Fault,
): Promise<Result> {
  const round = newRound(cluster, clients, random, name)
  await round.begin()
  if (fault === 'killed' || fault === 'stopped') {
    const instance = random.one(cluster.instances)
    const before = random.int(20, CALLS - 80)
    const loaded = round.load({ calls: CALLS - 50 })
    await until('some calls are made', () => round.size >= before)
    round.tell(`${fault} (${instance.name})`)
    await cluster.restart(instance, fault === 'killed' ? 'SIGKILL' : 'SIGTERM')
    await loaded
    await round.load({ calls: 50 })
  } else {
    let isOver = false
    const broken = breakConnections(
      cluster,
      fault,
      random.fork(),
      () => isOver,
      round.tell,
      () => round.answered,
    )
    await round.load({ calls: CALLS }).finally(() => {
      isOver = true
    })
    await broken
  }
  return judge(round, `round ${name} (${fault})`)
}

async function judge(round: Round, title: string): Promise<Result> {
  const found = await round.finish()
  return {
    violations: found.flatMap(({ client, verdict }) =>
      verdict.kind === 'violation'
        ? [`${title}, player ${client.index}, SEED=${SEED}\nfaults: ${round.tale.join(', ')}\n${verdict.report}`]
        : [],
    ),
    histories: found.length,
    undecided: found.filter(({ verdict }) => verdict.kind === 'undecided').length,
    calls: found.reduce((sum, { calls }) => sum + calls, 0),
    unknown: round.unknown,
  }
}

/** Expects that every history which can be judged has an order that explains it. */
function expectExplained({ violations }: Result): void {
  const [shortest, ...others] = [...violations].sort((a, b) => a.length - b.length)
  if (shortest !== undefined) {
    throw new Error(`${shortest}${others.length > 0 ? `\n(and ${others.length} more players of this round)` : ''}`)
  }
}

/** Expects that nearly all histories can be judged. Calls overlap more on a slow machine. */
function expectJudged({ histories, undecided }: Pick<Result, 'histories' | 'undecided'>): void {
  expect(undecided / histories, `histories that took too long to judge, SEED=${SEED}`).toBeLessThan(0.1)
}

async function audit({ world }: Cluster): Promise<void> {
  await auditBooks(world.pool)
  await auditSupport(world.pool)
}

describe('the history of all calls', () => {
  let cluster: Cluster
  let clients: Client[]
  beforeAll(async () => {
    ;({ cluster, clients } = await start(new Random(SEED)))
  })
  afterAll(endClusters)

  it(
    `is linearizable on two instances under dropped connections, lost answers, edits and restarts`,
    async () => {
      const random = new Random(SEED)
      const began = performance.now()
      const totals = { rounds: 0, calls: 0, unknown: 0, histories: 0, undecided: 0 }
      let faults: Fault[] = []
      while (performance.now() - began < SECONDS * 1000) {
        if (faults.length === 0) faults = random.shuffled(FAULTS)
        const fault = faults.pop() ?? 'none'
        totals.rounds += 1
        const result = await playRound(cluster, clients, random.fork(), `r${totals.rounds}`, fault)
        expectExplained(result)
        totals.calls += result.calls
        totals.unknown += result.unknown
        totals.histories += result.histories
        totals.undecided += result.undecided
      }
      console.log(
        `${totals.calls} calls in ${totals.rounds} rounds, ${totals.unknown} with an outcome that nobody knew; ${totals.undecided} of ${totals.histories} histories took too long to judge`,
      )
      expectJudged(totals)
      await audit(cluster)
    },
    SECONDS * 1000 + 3 * ROUND_MS,
  )

  it('shows an edit after a restore that reuses the number of a lost edit', async () => {
    const client = await createClient(cluster, PLAYERS)
    const levels = () =>
      Promise.all(
        cluster.instances.map(async (instance) => {
          const heard = await ask(cluster, instance, client, progress, client.tokens[0]?.token ?? '')
          return (heard as { ok: { level: number } }).ok.level
        }),
      )
    const backup = await backUp(cluster.databaseUrl)
    const lost = await publish(cluster, cluster.instances[0], 'side', passOf({ name: 'lost', first: 0 }))
    expect(await levels()).toEqual([1, 1])
    await backup.restore()
    const kept = await publish(cluster, cluster.instances[0], 'side', passOf({ name: 'kept', first: 20 }))
    await backup.drop()
    expect(kept).toBe(lost)
    expect(await levels()).toEqual([0, 0])
  })

  it(
    `is linearizable after restores and failovers to a standby that lags, while the instances run`,
    async () => {
      const random = new Random(SEED + 1)
      for (let index = 1; index <= RESTORES; index += 1) {
        const round = newRound(cluster, clients, random.fork(), `b${index}`)
        await round.begin()
        const backup = await backUp(cluster.databaseUrl)
        const before = random.int(30, 100)
        const loaded = round.load({ calls: before + 100 })
        await until('calls are made that will be lost', () => round.size >= before)
        const isFailover = random.chance(0.5)
        if (isFailover) for (const { proxy } of cluster.instances) proxy.cut({ refuse: true })
        await round.restore(backup)
        if (isFailover) for (const { proxy } of cluster.instances) proxy.restore()
        await loaded
        expectExplained(await judge(round, `${isFailover ? 'failover' : 'restore'} ${index}`))
        await backup.drop()
      }
      await audit(cluster)
    },
    RESTORES * ROUND_MS,
  )
})

describe('the checker with sabotaged statements', () => {
  afterEach(endClusters)

  async function expectMissed(saboteur: Saboteur, edits?: number): Promise<void> {
    const random = new Random(SEED + 2)
    const { cluster, clients } = await start(random, saboteur)
    for (let index = 1; index <= ROUNDS_TO_FIND; index += 1) {
      const round = newRound(cluster, clients, random.fork(), `s${index}`)
      await round.begin()
      await round.load({ calls: CALLS, edits })
      const { violations } = await judge(round, `round ${index}`)
      const changed = cluster.instances.reduce((sum, { proxy }) => sum + proxy.sabotaged, 0)
      expect(changed, `no statement has "${saboteur.find}" and "${saboteur.within ?? ''}"`).toBeGreaterThan(0)
      if (violations.length > 0) return console.log(`found in round ${index}:\n${violations[0]}`)
    }
    throw new Error(`nothing was found in ${ROUNDS_TO_FIND} rounds, SEED=${SEED}`)
  }

  it.each(SABOTAGES.map(({ what, saboteur, edits }) => [what, saboteur, edits] as const))(
    'finds a violation without %s',
    (_what, saboteur, edits) => expectMissed(saboteur, edits),
    ROUNDS_TO_FIND * ROUND_MS,
  )
})

describe('the checker', () => {
  const verdict = (written: PlayerHistory) => check(written).kind
  const edited = [
    { scenario: 'side' as const, definition: passOf(), from: Number.NEGATIVE_INFINITY, until: 30 },
    {
      scenario: 'side' as const,
      definition: passOf({ name: 'next', second: 5 }),
      from: 20,
      until: Number.POSITIVE_INFINITY,
    },
  ]

  it.each([
    [
      'an update is lost',
      history([
        [0, 10, xp(10), xpAnswer(10)],
        [0, 10, xp(10), xpAnswer(10)],
      ]),
    ],
    [
      'xp is read as it was before an answered call',
      history([
        [0, 10, xp(10), xpAnswer(10)],
        [11, 20, progress, progressAnswer(0)],
      ]),
    ],
    [
      'two reads, one after the other, go back in time',
      history([
        [0, 50, xp(10), xpAnswer(10)],
        [1, 5, progress, progressAnswer(10)],
        [6, 9, progress, progressAnswer(0)],
      ]),
    ],
    [
      'a tier is granted by two claims',
      history([
        [0, 10, claim, claimAnswer(false)],
        [0, 10, claim, claimAnswer(false)],
      ]),
    ],
    [
      'a tier is claimed once and paid twice',
      history([
        [0, 10, claim, claimAnswer(false)],
        [11, 20, me, meAnswer({ gold: 20 })],
      ]),
    ],
    [
      'a repeated claim shows another reward',
      history([
        [0, 10, claim, claimAnswer(false)],
        [11, 20, claim, claimAnswer(true, 99)],
      ]),
    ],
    [
      'a banned player still reads',
      history([
        [0, 10, ban, done],
        [11, 20, progress, progressAnswer(0)],
      ]),
    ],
    [
      'a banned player still earns xp',
      history([
        [0, 10, ban, done],
        [11, 20, xp(10), xpAnswer(10)],
      ]),
    ],
    [
      'a key is answered differently',
      history([
        [0, 10, xp(10, 'k'), xpAnswer(10)],
        [11, 20, xp(10, 'k'), xpAnswer(20)],
      ]),
    ],
    [
      'a repeated key takes effect twice',
      history([
        [0, 10, xp(10, 'k'), xpAnswer(10)],
        [11, 20, xp(10, 'k'), xpAnswer(10)],
        [21, 30, progress, progressAnswer(20)],
      ]),
    ],
    [
      'a call with an unknown outcome takes effect twice',
      history([
        [0, 0, xp(10)],
        [11, 20, progress, progressAnswer(20)],
      ]),
    ],
    [
      'a call with an unknown outcome is seen and then lost',
      history([
        [0, 0, xp(10)],
        [11, 20, progress, progressAnswer(10)],
        [21, 30, progress, progressAnswer(0)],
      ]),
    ],
    [
      'a call has an effect before it is made',
      history([
        [0, 10, progress, progressAnswer(10)],
        [11, 20, xp(10), xpAnswer(10)],
      ]),
    ],
    [
      'a player has two runs',
      history(
        [
          [0, 10, startCall, startAnswer('one', false)],
          [11, 20, startCall, startAnswer('another', false)],
        ],
        { start: { ...BEGINNER, runs: {} } },
      ),
    ],
    ['an edit takes effect before it is published', history([[0, 10, xp(7), reachedAnswer(7)]], { versions: edited })],
    ['an edit has no effect after it was answered', history([[31, 40, xp(7), xpAnswer(7)]], { versions: edited })],
    [
      'a level is crossed twice in the stream',
      history(
        [
          [0, 10, xp(100), reachedAnswer(100)],
          [20, 30, { kind: 'books' }, BOOKS_AT_TOP],
        ],
        { stream: [...levelUp(100), ...levelUp(100)] },
      ),
    ],
    ['a level is missing in the stream', history([[0, 10, xp(100), reachedAnswer(100)]], { stream: [] })],
    [
      'a restored player keeps lost changes',
      history([
        [0, 10, xp(10), xpAnswer(10)],
        [20, 30, { kind: 'restore', state: BEGINNER }, done],
        [31, 40, progress, progressAnswer(10)],
      ]),
    ],
    [
      'a restored player is overwritten with lost changes',
      history([
        [0, 10, xp(10), xpAnswer(10)],
        [20, 30, { kind: 'restore', state: BEGINNER }, done],
        [31, 40, xp(1), xpAnswer(11)],
      ]),
    ],
  ])('rejects a history in which %s', (_what, written) => {
    expect(verdict(written)).toBe('violation')
  })

  it.each([
    [
      'calls follow each other',
      history([
        [0, 10, xp(10), xpAnswer(10)],
        [11, 20, claim, claimAnswer(false)],
        [21, 30, claim, claimAnswer(true)],
        [31, 40, me, meAnswer({ gold: 10 })],
      ]),
    ],
    [
      'calls overlap, and the later one takes effect first',
      history([
        [0, 30, xp(10), xpAnswer(15)],
        [1, 30, xp(5), xpAnswer(5)],
      ]),
    ],
    [
      'a read overlaps a call and sees it',
      history([
        [0, 30, xp(10), xpAnswer(10)],
        [5, 8, progress, progressAnswer(10)],
      ]),
    ],
    [
      'a read overlaps a call and does not see it',
      history([
        [0, 30, xp(10), xpAnswer(10)],
        [5, 8, progress, progressAnswer(0)],
      ]),
    ],
    [
      'a call with an unknown outcome takes effect late',
      history([
        [0, 0, xp(10)],
        [11, 20, progress, progressAnswer(0)],
        [21, 30, progress, progressAnswer(10)],
      ]),
    ],
    [
      'a call with an unknown outcome never takes effect',
      history([
        [0, 0, xp(10)],
        [11, 20, xp(1), xpAnswer(1)],
      ]),
    ],
    [
      'a key is repeated after an unknown outcome',
      history([
        [0, 0, xp(10, 'k')],
        [11, 20, xp(10, 'k'), xpAnswer(10)],
        [21, 30, progress, progressAnswer(10)],
      ]),
    ],
    [
      'a ban overlaps a call that it refuses and one that it does not',
      history([
        [0, 30, ban, done],
        [1, 5, xp(10), xpAnswer(10)],
        [6, 9, xp(10), { no: 'player_banned' }],
      ]),
    ],
    [
      'an edit overlaps calls of both versions',
      history(
        [
          [19, 25, xp(7), reachedAnswer(7)],
          [19, 29, progress, progressAnswer(0)],
          [26, 29, progress, progressAnswer(7)],
        ],
        { versions: edited },
      ),
    ],
    [
      'a run that a call with an unknown outcome began is answered later',
      history(
        [
          [0, 0, startCall],
          [11, 20, startCall, startAnswer('told', true)],
        ],
        { start: { ...BEGINNER, runs: {} } },
      ),
    ],
    [
      'levels are in the stream once, in order',
      history([[0, 10, xp(100), reachedAnswer(100)]], { stream: levelUp(100) }),
    ],
    [
      'a refusal is recorded after a write that began later',
      history([
        [0, 10, { kind: 'store', values: { a: '1' } }, done],
        [0, 100, gift, refusedGift, 90],
        [20, 30, xp(10), xpAnswer(10), 25],
      ]),
    ],
    [
      'a restored player goes on from the restored state',
      history([
        [0, 10, xp(10), xpAnswer(10)],
        [20, 30, { kind: 'restore', state: BEGINNER }, done],
        [31, 40, xp(1), xpAnswer(1)],
      ]),
    ],
  ])('accepts a history in which %s', (_what, written) => {
    const found = check(written)
    expect(found.kind, found.kind === 'violation' ? found.report : '').toBe('linearizable')
  })
})
