import { type Backup, endOfStream, readBooks, readClock, readEffects, readStream, readVersions } from './books.ts'
import { check, type PlayerHistory, type Verdict } from './checker.ts'
import { ask, type Client, drawRequest, labelOf, publish } from './clients.ts'
import type { Cluster, Instance } from './cluster.ts'
import { drawDefinition, PLACES, SCENARIOS } from './definitions.ts'
import { type Call, type Edit, versionsOf } from './history.ts'
import type { PlayerState, Request } from './model.ts'
import type { Random } from './random.ts'

const WORKERS = 8
const EDITS = 0.03
const KEPT_RUNS = 2

export interface Found {
  readonly client: Client
  readonly calls: number
  readonly verdict: Verdict
}

/** Some hundred calls between two quiet moments at which all books are read. */
export class Round {
  private readonly cluster: Cluster
  private readonly clients: readonly Client[]
  private readonly random: Random
  private readonly label: string
  private readonly calls: Call[] = []
  private readonly edits: Edit[] = []
  private readonly starts = new Map<number, PlayerState>()
  /** The versions that are current at the start. Earlier ones explain no call. */
  private readonly current = new Map<string, number>()
  private streamStart = 0
  private since = new Date(0)
  private restored = Number.NEGATIVE_INFINITY
  private made = 0
  private answers = 0
  /** The faults that were made on purpose. */
  readonly tale: string[] = []

  constructor(cluster: Cluster, clients: readonly Client[], random: Random, label: string) {
    this.cluster = cluster
    this.clients = clients
    this.random = random
    this.label = label
  }

  /** How many calls have an unknown outcome and may have taken effect. */
  get unknown(): number {
    return this.calls.filter(({ answer, effect }) => answer === undefined && effect !== 'never').length
  }

  /** How many calls have an answer so far. */
  get answered(): number {
    return this.answers
  }

  /** How many calls were made so far. */
  get size(): number {
    return this.made
  }

  tell = (what: string): void => {
    this.tale.push(`${performance.now().toFixed(0)} ${what}`)
  }

  async begin(): Promise<void> {
    const { pool } = this.cluster.world
    await this.cluster.quiet()
    this.since = await readClock(pool)
    this.streamStart = await endOfStream(pool, this.cluster.environmentId)
    for (const { scenario, version } of await readVersions(pool, this.cluster.environmentId))
      this.current.set(scenario, version)
    for (const client of this.clients) {
      const books = await readBooks(pool, client, { keysOf: this.label, forget: client.forgotten })
      // Ids of runs are in the order of their starts.
      const ids = Object.keys(books.runs).sort().reverse()
      const kept = ids.filter((id, index) => index < KEPT_RUNS || books.runs[id]?.status === 'active')
      for (const id of ids) if (!kept.includes(id)) client.forgotten.add(id)
      for (const scenario of SCENARIOS)
        client.runs[scenario] = kept.filter((id) => books.runs[id]?.scenario === scenario)
      client.keyed = []
      client.looksBanned = books.status === 'banned'
      const runs = Object.fromEntries(Object.entries(books.runs).filter(([id]) => kept.includes(id)))
      this.starts.set(client.index, { ...books, runs, answers: {} })
    }
  }

  /** Runs workers at once, which make random calls until `calls` more were made. */
  async load({ calls, edits = EDITS }: { calls: number; edits?: number }): Promise<void> {
    const end = this.made + calls
    const work = async (random: Random) => {
      while (this.made < end) {
        this.made += 1
        const label = `${this.label}-${this.made}`
        const instance = random.one(this.cluster.instances.filter(({ isUp }) => isUp))
        if (random.chance(edits)) await this.edit(random, instance, label)
        else {
          const client = random.one(this.clients)
          await this.call(instance, client, drawRequest(random, client, label), random.chance(0.8) ? 0 : 1)
        }
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, () => work(this.random.fork())))
  }

  private async edit(random: Random, instance: Instance, label: string): Promise<void> {
    const scenario = random.one(SCENARIOS)
    const edit: Edit = {
      scenario,
      definition: drawDefinition(random, scenario, label),
      invoked: performance.now(),
      answered: Number.POSITIVE_INFINITY,
      version: undefined,
    }
    this.edits.push(edit)
    const version = await publish(this.cluster, instance, scenario, edit.definition)
    if (typeof version !== 'number') return
    edit.answered = performance.now()
    edit.version = version
  }

  /** Makes one call and remembers it. */
  async call(instance: Instance, client: Client, request: Request, tokenAt = 0): Promise<void> {
    const { token, since } = client.tokens[tokenAt] ?? client.tokens[0] ?? { token: '', since: 0 }
    const call: Call = {
      id: this.calls.length,
      on: instance.name,
      player: client.index,
      request,
      invoked: performance.now(),
      answered: Number.POSITIVE_INFINITY,
      answer: undefined,
      effect: 'perhaps',
    }
    this.calls.push(call)
    if ('key' in request && request.key !== undefined && !client.keyed.includes(request)) {
      client.keyed = [request, ...client.keyed].slice(0, 12)
    }
    if (request.kind === 'ban' || request.kind === 'endSessions') client.endings.push({ invoked: call.invoked, call })
    const heard = await ask(this.cluster, instance, client, request, token)
    if (heard === 'unknown') return
    // The call had no effect: nothing is to be explained.
    const isRefusedLogin = typeof heard === 'object' && 'no' in heard && heard.no === 'invalid_token'
    if (heard === 'unsent' || (isRefusedLogin && mayHaveEnded(client, since))) {
      call.effect = 'never'
      if (heard !== 'unsent') await this.call(instance, client, { kind: 'login', nickname: null, data: {} })
      return
    }
    call.answered = performance.now()
    call.answer = heard
    this.answers += 1
  }

  /** Restores every table to the start of the round, with the instances running. */
  async restore(backup: Backup): Promise<void> {
    const invoked = performance.now()
    for (const client of this.clients) client.endings.push({ invoked })
    await backup.restore()
    this.restored = performance.now()
    this.tell('restored')
    for (const client of this.clients) {
      this.calls.push({
        id: this.calls.length,
        on: 'the database',
        player: client.index,
        request: { kind: 'restore', state: this.starts.get(client.index) as PlayerState },
        invoked,
        answered: this.restored,
        answer: { ok: null },
        effect: 'once',
      })
    }
  }

  /** Waits until no call runs, reads every player on every instance, then the books, and searches for an order. */
  async finish(): Promise<readonly Found[]> {
    const { instances, world, environmentId } = this.cluster
    const { pool } = world
    for (const client of this.clients) {
      if (client.looksBanned) {
        const reason = `${this.label}-last-${client.index}`
        await this.call(this.random.one(instances), client, { kind: 'unban', reason })
      }
    }
    for (const instance of instances) {
      await Promise.all(this.clients.map((client) => this.readAll(instance, client)))
    }
    await this.cluster.quiet()
    const stored = await readVersions(pool, environmentId)
    const versions = versionsOf(
      stored.filter(({ scenario, version }) => version >= (this.current.get(scenario) ?? 0)),
      this.edits,
      this.restored,
    )
    await this.settle()
    const histories: { client: Client; history: PlayerHistory }[] = []
    for (const client of this.clients) {
      const invoked = performance.now()
      const books = await readBooks(pool, client, { keysOf: `${this.label}-`, forget: client.forgotten })
      const stream = await readStream(pool, client, this.streamStart)
      const calls = this.calls.filter(({ player }) => player === client.index)
      calls.push({
        id: this.calls.length,
        on: 'the database',
        player: client.index,
        request: { kind: 'books' },
        invoked,
        answered: performance.now(),
        answer: { ok: books },
        effect: 'once',
      })
      const start = this.starts.get(client.index) as PlayerState
      histories.push({ client, history: { start, calls, versions, stream } })
    }
    return histories.map(({ client, history }) => ({
      client,
      calls: history.calls.length,
      verdict: check(history),
    }))
  }

  private async readAll(instance: Instance, client: Client): Promise<void> {
    for (const place of PLACES) await this.call(instance, client, { kind: 'progress', ...place })
    await this.call(instance, client, { kind: 'me' })
    await this.call(instance, client, { kind: 'stored' })
    for (const scenario of SCENARIOS) {
      for (const run of client.runs[scenario]) await this.call(instance, client, { kind: 'run', scenario, run })
    }
  }

  /** Reads from ledger and audit log whether unanswered calls took effect, and in which order calls were written. */
  private async settle(): Promise<void> {
    const isRestored = Number.isFinite(this.restored)
    for (const client of this.clients) {
      const calls = this.calls.filter(({ player }) => player === client.index)
      const labels = calls.map(({ request }) => labelOf(request))
      const effects = await readEffects(this.cluster.world.pool, client, this.since)
      for (const call of calls) {
        const label = labelOf(call.request)
        if (label === undefined || call.effect === 'never') continue
        const isOnly = labels.filter((other) => other === label).length === 1
        // A restore has rewritten all books.
        if (isOnly && !isRestored) call.committed = effects.get(label)
        if (call.answer !== undefined) continue
        if (effects.has(label)) call.effect = isOnly ? 'once' : 'perhaps'
        // Its effects may have been lost in a restore.
        else call.effect = isRestored ? 'perhaps' : 'never'
      }
    }
  }
}

/** Whether a token may be invalid: a call may have ended its login since. */
function mayHaveEnded({ endings }: Client, since: number): boolean {
  return endings.some(({ invoked, call }) => (call?.answered ?? Number.POSITIVE_INFINITY) >= since || invoked >= since)
}
