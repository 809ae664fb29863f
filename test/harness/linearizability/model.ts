import {
  type Definition,
  enteredText,
  type Node,
  type PassData,
  type Reward,
  rewardText,
  type ScenarioId,
  type Tier,
  type Track,
} from './definitions.ts'

// The rules of the game, written from the contract alone: the books of one player, the effect of a call on them, and
// its answer. The model uses no code of the service.

export interface PassState {
  readonly xp: number
  readonly level: number
  readonly premium: boolean
  /** `onMaxLevel` was crossed. */
  readonly topped: boolean
  readonly completed: boolean
  /** Level nodes that crossed their `onComplete`. */
  readonly nodes: readonly string[]
  /** What each claimed tier granted, by track and level. */
  readonly claims: Readonly<Record<string, readonly string[]>>
}

export interface Plan {
  readonly runId: string
  readonly status: string
  readonly crossed: readonly string[]
  readonly entered: readonly string[]
  readonly granted: readonly string[]
}

export interface RunState {
  readonly scenario: ScenarioId
  readonly status: 'active' | 'completed' | 'cancelled'
  /** Sorted by name. */
  readonly active: readonly string[]
  readonly plan: Plan | null
}

export interface PlayerState {
  readonly status: 'active' | 'banned'
  readonly nickname: string | null
  readonly storage: Readonly<Record<string, string>>
  readonly wallet: Readonly<Record<string, number>>
  readonly items: Readonly<Record<string, number>>
  readonly passes: Readonly<Record<string, PassState>>
  readonly runs: Readonly<Record<string, RunState>>
  /** Stored answers by operation and key, with their requests. */
  readonly answers: Readonly<Record<string, StoredAnswer>>
}

interface StoredAnswer {
  readonly request: string
  readonly answer: Answer
  /** The pass and the tier that the call was about. A reset of them forgets the answer. */
  readonly pass?: string
  readonly tier?: string
}

interface Place {
  readonly scenario: ScenarioId
  readonly node: string
}

interface Support {
  /** Unique, so that the audit log shows whether the call took effect. */
  readonly reason: string
}

export type Request =
  | ({
      readonly kind: 'xp'
      readonly run: string
      readonly amount: number
      readonly source: string
      readonly key?: string
    } & Place)
  | ({
      readonly kind: 'claim'
      readonly run: string
      readonly level: number
      readonly track: Track
      readonly key?: string
    } & Place)
  | ({ readonly kind: 'premium'; readonly run: string; readonly key?: string } & Place)
  | ({ readonly kind: 'progress' } & Place)
  | { readonly kind: 'me' }
  | { readonly kind: 'start'; readonly scenario: ScenarioId }
  | ({ readonly kind: 'cross'; readonly run: string; readonly handle: string } & Place)
  | { readonly kind: 'run'; readonly scenario: ScenarioId; readonly run: string }
  | { readonly kind: 'login'; readonly nickname: string | null; readonly data: Readonly<Record<string, string>> }
  | { readonly kind: 'store'; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: 'stored' }
  | ({ readonly kind: 'ban' | 'unban' | 'endSessions' } & Support)
  | ({
      readonly kind: 'credit' | 'debit'
      readonly currency: string
      readonly amount: number
      readonly key: string
    } & Support)
  | ({ readonly kind: 'grantXp'; readonly amount: number; readonly source: string; readonly key: string } & Place &
      Support)
  | ({ readonly kind: 'grantTier'; readonly level: number; readonly track: Track; readonly key: string } & Place &
      Support)
  | ({ readonly kind: 'resetTier'; readonly level: number; readonly track: Track } & Place & Support)
  | ({ readonly kind: 'grantPremium' | 'resetPass' } & Place & Support)
  | ({ readonly kind: 'cancelRun'; readonly run: string } & Support)
  /** The database returns to an earlier state: a restore, or a failover to a standby that was behind. */
  | { readonly kind: 'restore'; readonly state: PlayerState }
  /** All books of the player are read while no call runs. */
  | { readonly kind: 'books' }

/** The result of a call, or the code of its refusal. */
export type Answer = { readonly ok: unknown } | { readonly no: string }

export interface Crossed {
  readonly node: string
  readonly handle: string
  readonly data: Readonly<Record<string, unknown>>
}

export interface Step {
  /** The same object when nothing changes. */
  readonly state: PlayerState
  readonly answer: Answer
  readonly crossed: readonly Crossed[]
}

/** The scenario whose definition a call depends on. */
export const scenarioOf = (request: Request): ScenarioId | undefined =>
  'scenario' in request ? request.scenario : undefined

/** Whether a call never changes anything. */
export const isRead = ({ kind }: Request): boolean =>
  kind === 'progress' || kind === 'me' || kind === 'run' || kind === 'stored'

/** The books of a player, with the keys of stored answers alone. */
export type Books = Omit<PlayerState, 'answers'> & { readonly answers: readonly string[] }

export function booksOf(state: PlayerState): Books {
  return {
    ...state,
    answers: Object.keys(state.answers)
      .map((name) => name.slice(name.indexOf(' ') + 1))
      .sort(),
  }
}

const READS_AND_PLAYS = new Set<Request['kind']>([
  'xp',
  'claim',
  'premium',
  'progress',
  'me',
  'start',
  'cross',
  'run',
  'login',
  'store',
  'stored',
])

/** The effect of a call on a player. A run that it starts gets the id `fresh`. */
export function step(state: PlayerState, request: Request, definition: Definition | undefined, fresh: string): Step {
  const turn = new Turn(state, definition, fresh)
  const answer =
    READS_AND_PLAYS.has(request.kind) && state.status === 'banned' ? no('player_banned') : turn.take(request)
  return { state: turn.state, answer, crossed: turn.crossed }
}

const no = (code: string): Answer => ({ no: code })
const ok = (result: unknown): Answer => ({ ok: result })

export const levelAt = ({ levels }: PassData, xp: number): number =>
  levels.reduce((reached, entry) => (entry.xp <= xp ? entry.level : reached), 0)

class Turn {
  state: PlayerState
  readonly crossed: Crossed[] = []
  private readonly definition: Definition | undefined
  private readonly fresh: string

  constructor(state: PlayerState, definition: Definition | undefined, fresh: string) {
    this.state = state
    this.definition = definition
    this.fresh = fresh
  }

  take(request: Request): Answer {
    switch (request.kind) {
      case 'xp':
      case 'claim':
      case 'premium':
      case 'credit':
      case 'debit':
      case 'grantXp':
      case 'grantTier':
        return this.once(request)
      case 'progress':
        return this.progress(request)
      case 'me': {
        const { nickname, wallet, items } = this.state
        return ok({ nickname, wallet, items })
      }
      case 'start':
        return this.start(request.scenario)
      case 'cross': {
        const refused = this.session(request.scenario, request.run)
        if (refused) return refused
        if (!this.state.runs[request.run]?.active.includes(request.node)) return no('node_not_active')
        return ok({ plan: this.walk(request.run, [crossing(request.node, request.handle)]) })
      }
      case 'run': {
        const run = this.state.runs[request.run]
        if (!run) return no('run_not_found')
        const active = run.active.flatMap((id) => {
          const node = this.node(id)
          return node ? [enteredText(id, node.type, node.data)] : []
        })
        return ok({ runId: request.run, scenario: run.scenario, status: run.status, active, plan: run.plan })
      }
      case 'login':
        if (request.nickname !== null && request.nickname !== this.state.nickname) {
          this.change({ nickname: request.nickname })
        }
        this.store(request.data)
        return ok(null)
      case 'store':
        this.store(request.values)
        return ok(null)
      case 'stored':
        return ok(this.state.storage)
      case 'ban':
      case 'unban': {
        const status = request.kind === 'ban' ? 'banned' : 'active'
        if (this.state.status !== status) this.change({ status })
        return ok(null)
      }
      case 'endSessions':
        return ok(null)
      case 'resetTier': {
        const { level, track } = request
        const found = this.place(request)
        if (!found) return no('node_not_found')
        const { [`${track}:${level}`]: claimed, ...claims } = found.pass.claims
        if (claimed) this.setPass(request, { ...found.pass, claims })
        this.forget(`${request.scenario}/${found.passId}`, `${track}:${level}`)
        return ok({ changed: claimed !== undefined })
      }
      case 'grantPremium': {
        const found = this.place(request)
        if (!found) return no('node_not_found')
        if (!found.data.premium) return no('premium_not_available')
        if (!found.pass.premium) this.setPass(request, { ...found.pass, premium: true })
        return ok({ changed: !found.pass.premium })
      }
      case 'resetPass': {
        const found = this.place(request)
        if (!found) return no('node_not_found')
        const begun = newPass(found.data)
        const changed = JSON.stringify(found.pass) !== JSON.stringify(begun)
        if (changed) this.setPass(request, begun)
        this.forget(`${request.scenario}/${found.passId}`)
        return ok({ changed })
      }
      case 'cancelRun': {
        const run = this.state.runs[request.run]
        if (!run) return no('run_not_found')
        if (run.status !== 'active') return no('run_not_active')
        this.setRun(request.run, { ...run, status: 'cancelled', active: [] })
        return ok(null)
      }
      case 'restore':
        this.state = request.state
        return ok(null)
      case 'books':
        return ok(booksOf(this.state))
    }
  }

  /** Executes a request with a key once. Only requests that took effect are remembered. */
  private once(
    request: Extract<Request, { kind: 'xp' | 'claim' | 'premium' | 'credit' | 'debit' | 'grantXp' | 'grantTier' }>,
  ): Answer {
    const { kind, key } = request
    if (key === undefined) return this.play(request)
    const name = `${kind} ${key}`
    const asked = JSON.stringify({ ...request, reason: undefined })
    const stored = this.state.answers[name]
    if (stored && stored.request !== asked) {
      if (kind !== 'premium') return no('idempotency_key_reused')
      return ok({ success: false, error: 'idempotency key reused', plan: null })
    }
    if (stored) return stored.answer
    const answer = this.play(request)
    const result = 'ok' in answer ? (answer.ok as { success?: boolean }) : { success: false }
    if (result.success !== false) {
      const passId = 'node' in request ? this.place(request)?.passId : undefined
      const pass = 'node' in request && passId !== undefined ? `${request.scenario}/${passId}` : undefined
      const tier = 'track' in request ? `${request.track}:${request.level}` : undefined
      this.change({ answers: { ...this.state.answers, [name]: { request: asked, answer, pass, tier } } })
    }
    return answer
  }

  /** Forgets the stored answers about a pass, or about one tier of it. */
  private forget(pass: string, tier?: string): void {
    const isForgotten = (stored: StoredAnswer) => stored.pass === pass && (tier === undefined || stored.tier === tier)
    const kept = Object.entries(this.state.answers).filter(([, stored]) => !isForgotten(stored))
    if (kept.length < Object.keys(this.state.answers).length) this.change({ answers: Object.fromEntries(kept) })
  }

  private play(
    request: Extract<Request, { kind: 'xp' | 'claim' | 'premium' | 'credit' | 'debit' | 'grantXp' | 'grantTier' }>,
  ): Answer {
    switch (request.kind) {
      case 'credit':
      case 'debit': {
        const by = request.kind === 'credit' ? request.amount : -request.amount
        const balance = (this.state.wallet[request.currency] ?? 0) + by
        if (balance < 0) return no('insufficient_funds')
        this.pay(request.currency, by)
        return ok({ balance })
      }
      case 'grantXp':
      case 'grantTier': {
        if (this.state.status === 'banned') return no('player_banned')
        const run = this.activeRun(request.scenario)
        if (request.kind === 'grantTier') return this.claim({ ...request, run }, { isGift: true })
        return run === undefined ? no('run_not_active') : this.addXp({ ...request, run })
      }
      case 'xp':
        return this.session(request.scenario, request.run) ?? this.addXp(request)
      case 'claim':
        return this.session(request.scenario, request.run) ?? this.claim(request, { isGift: false })
      case 'premium':
        return this.session(request.scenario, request.run) ?? this.purchase(request)
    }
  }

  private addXp(request: Place & { run: string; amount: number; source: string }): Answer {
    const found = this.place(request)
    if (!found) return no('node_not_found')
    const { pass, data, passId } = found
    const xp = pass.xp + request.amount
    const level = levelAt(data, xp)
    const leveledUp = level > pass.level
    const maxLevel = level >= topOf(data)
    const causes: Crossed[] = []
    const { source } = request
    if (leveledUp) causes.push(crossing(passId, 'onLevelUp', { fromLevel: pass.level, toLevel: level, xp, source }))
    if (maxLevel && !pass.topped) causes.push(crossing(passId, 'onMaxLevel', { level, xp, source }))
    const reached = { ...pass, xp, level: Math.max(level, pass.level), topped: pass.topped || maxLevel }
    this.complete(request, { ...found, pass: reached }, causes)
    return ok({ level, xp, leveledUp, maxLevel, plan: this.walk(request.run, causes) })
  }

  private claim(
    request: Place & { run: string | undefined; level: number; track: Track },
    { isGift }: { isGift: boolean },
  ): Answer {
    const found = this.place(request)
    if (!found) return no('node_not_found')
    const { pass, data, levelNode } = found
    const { run, level, track } = request
    const key = `${track}:${level}`
    const causes: Crossed[] = []
    const onNode = (before: PassState): PassState => {
      // Without a run nothing is crossed, and the next run may still cross it.
      if (run === undefined || levelNode === undefined || before.nodes.includes(levelNode)) return before
      causes.push(crossing(levelNode, 'onComplete'))
      return { ...before, nodes: [...before.nodes, levelNode] }
    }
    const earlier = pass.claims[key]
    if (earlier) {
      const after = onNode(pass)
      if (after !== pass) this.setPass(request, after)
      const plan = this.walk(run, causes)
      const paid = [...earlier, ...(plan?.granted ?? [])]
      return ok({ success: true, alreadyClaimed: true, error: null, granted: paid })
    }
    const refused = (error: string) =>
      isGift ? no(error.replaceAll(' ', '_')) : ok({ success: false, alreadyClaimed: false, error, granted: [] })
    const tier = tierOf(data, level, track)
    if (!tier) return refused('tier not found')
    if (!isGift && levelAt(data, pass.xp) < level) return refused('level not reached')
    if (track === 'premium' && !pass.premium) return refused('premium required')
    const granted = tier.rewards.map(rewardText)
    this.grant(tier.rewards)
    const claimed = onNode({ ...pass, claims: { ...pass.claims, [key]: granted } })
    if (run === undefined) this.setPass(request, claimed)
    else this.complete(request, { ...found, pass: claimed }, causes)
    this.walk(run, causes)
    return ok({ success: true, alreadyClaimed: false, error: null, granted })
  }

  private purchase(request: Place & { run: string }): Answer {
    const found = this.place(request)
    if (!found) return no('node_not_found')
    const { pass, data, passId } = found
    const refused = (error: string) => ok({ success: false, error, plan: null })
    if (!data.premium) return refused('premium not available')
    if (pass.premium) return refused('premium already owned')
    const { currency, amount } = data.premium.price
    if ((this.state.wallet[currency] ?? 0) < amount) return refused('insufficient funds')
    this.pay(currency, -amount)
    this.setPass(request, { ...pass, premium: true })
    const plan = this.walk(request.run, [crossing(passId, 'onPremiumPurchase')])
    return ok({ success: true, error: null, plan })
  }

  private progress(request: Place): Answer {
    const found = this.place(request)
    if (!found) return no('node_not_found')
    const { pass, data } = found
    const claimedTiers = Object.keys(pass.claims).sort()
    return ok({ level: levelAt(data, pass.xp), xp: pass.xp, premiumOwned: pass.premium, claimedTiers })
  }

  private start(scenario: ScenarioId): Answer {
    const active = this.activeRun(scenario)
    if (active !== undefined) return ok({ runId: active, resumed: true, plan: this.state.runs[active]?.plan ?? null })
    const { start = '' } = this.definition ?? {}
    this.setRun(this.fresh, { scenario, status: 'active', active: [], plan: null })
    return ok({ runId: this.fresh, resumed: false, plan: this.walk(this.fresh, [crossing(start, 'onStart')], [start]) })
  }

  /** Stores a pass, and crosses `onComplete` at the top with every open tier claimed, once. */
  private complete(at: Place, { pass, data, passId }: Found, causes: Crossed[]): void {
    const isOpen = ({ track }: Tier) => track === 'free' || pass.premium
    const isDone =
      !pass.completed &&
      levelAt(data, pass.xp) >= topOf(data) &&
      data.tiers.every((tier) => !isOpen(tier) || pass.claims[`${tier.track}:${tier.level}`])
    if (isDone) causes.push(crossing(passId, 'onComplete'))
    this.setPass(at, isDone ? { ...pass, completed: true } : pass)
  }

  /** Follows the edges of the crossed handles. Null without any. */
  private walk(runId: string | undefined, causes: readonly Crossed[], entered: readonly string[] = []): Plan | null {
    const run = runId === undefined ? undefined : this.state.runs[runId]
    if (causes.length === 0 || runId === undefined || !run) return null
    const active = new Set(run.active.filter((id) => this.node(id)))
    const visits = entered.map((id) => this.entered(id))
    const crossed: Crossed[] = []
    const granted: Reward[] = []
    for (const cause of causes) {
      const seen = new Set<string>()
      const queue = [cause]
      for (let next = queue.shift(); next; next = queue.shift()) {
        const { node: from, handle } = next
        crossed.push(next)
        if (handle === 'onComplete' && this.node(from)?.type !== 'battle-pass') active.delete(from)
        for (const edge of this.definition?.edges ?? []) {
          const node = edge.from === from && edge.handle === handle ? this.node(edge.to) : undefined
          if (!node || seen.has(node.id)) continue
          seen.add(node.id)
          visits.push(this.entered(node.id))
          if (node.type === 'reward') {
            granted.push(...node.data.rewards)
            queue.push(crossing(node.id, 'onComplete'))
          } else active.add(node.id)
        }
      }
    }
    this.grant(granted)
    this.crossed.push(...crossed)
    const plan: Plan = {
      runId,
      status: 'active',
      crossed: crossed.map(({ node, handle }) => `${node}.${handle}`),
      entered: visits,
      granted: granted.map(rewardText),
    }
    this.setRun(runId, { ...run, active: [...active].sort(), plan })
    return plan
  }

  private session(scenario: ScenarioId, runId: string): Answer | undefined {
    const run = this.state.runs[runId]
    if (run?.scenario !== scenario) return no('run_not_found')
    return run.status === 'active' ? undefined : no('run_not_active')
  }

  private activeRun(scenario: ScenarioId): string | undefined {
    return Object.entries(this.state.runs).find(([, run]) => run.scenario === scenario && run.status === 'active')?.[0]
  }

  private node(id: string): Node | undefined {
    return this.definition?.nodes.find((node) => node.id === id)
  }

  private entered(id: string): string {
    const node = this.node(id)
    return enteredText(id, node?.type ?? '', node?.data)
  }

  /** The pass that a node stands for. */
  private place({ scenario, node: id }: Place): Found | undefined {
    const node = this.node(id)
    const levelNode = node?.type === 'battle-pass-level' ? node.id : undefined
    const passId: string = levelNode === undefined ? id : node?.data.passNodeId
    const data: PassData | undefined = this.node(passId)?.data
    if (!node || !data) return undefined
    return { data, passId, levelNode, pass: this.state.passes[`${scenario}/${passId}`] ?? newPass(data) }
  }

  private setPass(at: Place, pass: PassState): void {
    const passId = this.place(at)?.passId ?? at.node
    this.change({ passes: { ...this.state.passes, [`${at.scenario}/${passId}`]: pass } })
  }

  private setRun(runId: string, run: RunState): void {
    this.change({ runs: { ...this.state.runs, [runId]: run } })
  }

  private store(values: Readonly<Record<string, string>>): void {
    if (Object.keys(values).length > 0) this.change({ storage: { ...this.state.storage, ...values } })
  }

  private grant(rewards: readonly Reward[]): void {
    for (const { currency, itemId, amount } of rewards) {
      if (currency !== null && currency !== undefined) this.pay(currency, amount)
      else if (itemId !== null && itemId !== undefined) {
        this.change({ items: { ...this.state.items, [itemId]: (this.state.items[itemId] ?? 0) + amount } })
      }
    }
  }

  private pay(currency: string, amount: number): void {
    this.change({ wallet: { ...this.state.wallet, [currency]: (this.state.wallet[currency] ?? 0) + amount } })
  }

  private change(part: Partial<PlayerState>): void {
    this.state = { ...this.state, ...part }
  }
}

interface Found {
  readonly data: PassData
  readonly passId: string
  readonly levelNode: string | undefined
  readonly pass: PassState
}

function newPass(data: PassData): PassState {
  return { xp: 0, level: levelAt(data, 0), premium: false, topped: false, completed: false, nodes: [], claims: {} }
}

const topOf = ({ levels }: PassData): number => levels.at(-1)?.level ?? 0
const tierOf = ({ tiers }: PassData, level: number, track: Track): Tier | undefined =>
  tiers.find((tier) => tier.level === level && tier.track === track)
const crossing = (node: string, handle: string, data: Crossed['data'] = {}): Crossed => ({ node, handle, data })
