import { latencyStep } from '../accounts/login/log/latency.ts'
import { DEFAULT_PROVIDER } from '../accounts/providers/provider-ref.ts'
import type { WebhookAttempt } from '../accounts/webhook/webhook.ts'
import { freeze } from '../base/frozen-json.ts'
import { print } from '../base/json.ts'
import { decideClaim, decidePurchase, decideXp, newPass, type Pass } from '../game/battlepass/decide.ts'
import { lengthened, type PlayerBoost } from '../game/boosts/player-boosts.ts'
import {
  assetsOf,
  boostsOf,
  type Definition,
  granted,
  type LevelNode,
  type PassNode,
  type Reward,
  type RewardBoost,
  type TierKey,
  type Track,
  tierKey,
} from '../game/definition/definition.ts'
import type { XpSender } from '../game/definition/xp-rules.ts'
import {
  begin,
  type Crossing,
  type ExecutionPlan,
  type Grant,
  type Walk,
  walk,
  withoutPaid,
} from '../game/runs/plan.ts'
import { scopeOf } from '../game/runs/reward-payments.ts'
import { idAt, type SeededBooks, type SeededScope, type SeededTotals } from './seed-books.ts'
import type { Locale } from './seed-names.ts'

/** The season that is seeded: a pass of a scenario, over some days. */
export interface SeededSeason {
  readonly environmentId: string
  readonly scope: SeededScope
  readonly definition: Definition
  readonly pass: PassNode
  readonly fromMs: number
  readonly toMs: number
  /** On weekends more is played, and at other hours. */
  readonly isWeekend: (atMs: number) => boolean
  /** Earlier events and logins are not written. */
  readonly eventsFromMs: number
  readonly loginsFromMs: number
  /** The hour in which the studio's endpoint was down. */
  readonly outageMs: number
  /** Distinguishes this seeding's players from those of any other. */
  readonly tag: string
  /** Few grants of xp for each day of play, and for most players only the rows that dashboards and lists need. */
  readonly lean: boolean
}

const PROVIDER: SeededScope = { scenarioId: '', nodeId: DEFAULT_PROVIDER }

export interface SeededIdentity {
  readonly subject: string
  readonly nickname: string | null
  readonly joinedMs: number
  /** Whether every row is written. In a lean season few players have all rows. */
  readonly whole: boolean
}

/**
 * The rows of one seeded player. The rules of the game decide them, and they are written as the service would have
 * written them at the time.
 */
export class PlayerRecords {
  readonly whole: boolean
  /** The player's current time, in milliseconds since 1970. `tick` advances it. */
  nowMs: number
  /** Undefined before the first xp, claim or purchase. */
  pass: Pass | undefined
  private readonly season: SeededSeason
  private readonly books: SeededBooks
  private readonly totals: SeededTotals
  private readonly scope: SeededScope
  private readonly playerId: string
  private readonly subject: string
  private readonly nickname: string | null
  private readonly joinedMs: number
  private order = 0
  private runId = ''
  private active: readonly string[] = []
  private last: Walk | undefined
  private readonly claimed = new Set<TierKey>()
  private readonly balances = new Map<string, bigint>()
  private readonly items = new Map<string, bigint>()
  private readonly boosts = new Map<string, PlayerBoost>()
  /** Reward nodes that do not pay again. */
  private readonly paid = new Set<string>()
  private lastLogin = ''

  constructor(
    season: SeededSeason,
    { books, totals }: { readonly books: SeededBooks; readonly totals: SeededTotals },
    { subject, nickname, joinedMs, whole }: SeededIdentity,
  ) {
    this.season = season
    this.books = books
    this.totals = totals
    this.scope = season.scope
    this.whole = whole
    this.joinedMs = joinedMs
    this.nowMs = joinedMs
    this.playerId = idAt(joinedMs, 0)
    this.subject = subject
    this.nickname = nickname
  }

  /** The first login creates the player. */
  create(): void {
    this.books.add('identities', ['custom', this.subject, this.playerId, this.stamp()])
    this.event(null, null, { nickname: this.nickname, provider: 'custom' })
  }

  store(key: string, value: string): void {
    this.books.add('player_storage', [this.playerId, key, value, this.stamp()])
  }

  startRun(): void {
    this.runId = idAt(this.nowMs, this.order)
    this.record(begin(this.season.definition))
  }

  logLogin(outcome: string, attempts: readonly WebhookAttempt[]): void {
    const milliseconds = attempts.reduce((sum, attempt) => sum + attempt.milliseconds, 0)
    const { totals, nowMs } = this
    if (outcome === 'ok') this.lastLogin = this.stamp()
    const level = latencyStep(milliseconds)
    for (const measure of ['login', 'login_day'] as const) {
      totals.add(PROVIDER, measure, nowMs, { level, detail: outcome, amount: BigInt(milliseconds) })
    }
    totals.add(PROVIDER, 'attempts', nowMs, { level: attempts.length })
    if (!this.whole || nowMs < this.season.loginsFromMs) return
    // A rejected login has no known player.
    const [subject, playerId] = outcome === 'ok' ? [this.subject, this.playerId] : [null, null]
    const id = idAt(nowMs, this.order)
    const row = [
      id,
      'login',
      DEFAULT_PROVIDER,
      subject,
      playerId,
      outcome,
      milliseconds,
      JSON.stringify(attempts),
      '[]',
    ]
    this.books.add('login_log', [...row, this.stamp()])
  }

  addXp(source: string, amount: bigint, sender: XpSender): void {
    const { season, runId } = this
    // Clients are the origin of all xp that names none.
    const origin = sender === 'client' ? null : sender
    // Decided as of an operator: the past of a seeded player counts towards no limit.
    const sent = { amount, source, origin: 'operator' } as const
    const decision = decideXp(season.pass, this.currentPass(), sent, new Date(this.nowMs))
    if (decision.kind === 'refused') return
    this.cross(decision.crossings)
    this.setPass(decision.next)
    const id = idAt(this.nowMs, this.order)
    const { scenarioId, nodeId } = this.scope
    const given = [this.playerId, id, scenarioId, nodeId, runId, amount, source, origin]
    this.books.add('xp_ledger', [...given, null, null, null, null, this.stamp()])
    this.totals.add(this.scope, 'xp', this.nowMs, { detail: source, amount })
    if (origin !== null) this.totals.add(this.scope, 'xp_origin', this.nowMs, { detail: origin, amount })
  }

  claim(level: number, track: Track): void {
    const { season, runId } = this
    const { scenarioId, nodeId } = this.scope
    const levelNode = levelNodeAt(season, level)
    const offer = season.pass.tiers.get(tierKey(level, track))
    const request = { level, track, offer, choice: offer?.choice ? 0 : null, levelNodeId: levelNode?.id }
    const decision = decideClaim(season.pass, this.currentPass(), request, new Date(this.nowMs))
    if (decision.kind !== 'granted') return
    const led = this.cross(decision.crossings)
    this.grant(decision.rewards, 'tier_claim', `${scenarioId}/${nodeId}/${track}/${level}`)
    this.claimed.add(tierKey(level, track))
    this.setPass(decision.next)
    this.totals.add(this.scope, 'claimed', this.nowMs, { level, detail: track })
    if (!this.whole) return
    const text = freeze([...decision.rewards, ...led].map(granted))
    this.books.add('tier_claims', [this.playerId, scenarioId, nodeId, level, track, text, runId, this.stamp()])
  }

  buyPremium(): void {
    const { pass } = this.season
    if (!pass.premium) return
    const { currency, amount } = pass.premium
    const now = new Date(this.nowMs)
    const decision = decidePurchase(pass, this.currentPass(), (name) => this.balance(name), now)
    if (decision.kind === 'refused') return
    const reference = `${this.scope.scenarioId}/${this.scope.nodeId}`
    this.move(currency, -amount, 'premium_purchase', reference)
    this.totals.add(this.scope, 'sold', this.nowMs, { detail: currency, amount })
    this.grant(decision.rewards, 'premium_purchase', reference)
    this.cross(decision.crossings)
    this.setPass(decision.next)
  }

  end({
    status,
    avatar,
    locale: { region, language },
  }: {
    readonly status: 'active' | 'banned'
    readonly avatar: string | null
    readonly locale: Locale
  }): void {
    const { books, playerId } = this
    const created = new Date(this.joinedMs).toISOString()
    books.add('players', [playerId, this.nickname, avatar, region, language, false, status, created])
    books.add('last_logins', [playerId, this.lastLogin])
    const { scenarioId, nodeId } = this.scope
    const plan = this.last && this.whole ? freeze(planOf(this.runId, this.last)) : null
    books.add('runs', [playerId, this.runId, scenarioId, 'active', JSON.stringify(this.active), plan, null, created])
    if (this.pass) {
      const { xp, level, premiumOwned, maxLevelCrossed, completed, completedNodes, activeOn } = this.pass
      const row = [playerId, scenarioId, nodeId, xp, level, null, premiumOwned, maxLevelCrossed, completed]
      books.add('passes', [...row, JSON.stringify(completedNodes), activeOn, null, null])
    }
    if (!this.whole) return
    for (const [currency, balance] of this.balances) books.add('wallets', [playerId, currency, balance])
    for (const [itemId, amount] of this.items) books.add('inventory', [playerId, itemId, amount])
    for (const { id, percent, startsAt, endsAt, reference } of this.boosts.values())
      books.add('player_boosts', [playerId, id, percent, startsAt.toISOString(), endsAt.toISOString(), reference, null])
  }

  currentPass(): Pass {
    const pass = this.pass ?? newPass(this.season.pass)
    return { ...pass, claimed: this.claimed }
  }

  private setPass(next: Pass): void {
    const before = this.pass
    const at = this.nowMs
    const { totals, scope } = this
    if (!before) totals.add(scope, 'joined', at)
    if (!before || before.level !== next.level || before.premiumOwned !== next.premiumOwned) {
      if (before) totals.add(scope, 'standing', at, { level: before.level, detail: ownership(before), count: -1 })
      totals.add(scope, 'standing', at, { level: next.level, detail: ownership(next) })
    }
    if (next.activeOn !== (before?.activeOn ?? null)) totals.add(scope, 'active', at)
    if (next.premiumOwned && !before?.premiumOwned) {
      totals.add(scope, 'premium', at, { level: before?.level ?? next.level })
    }
    if (next.completed && !before?.completed) totals.add(scope, 'completed', at)
    this.pass = next
  }

  /** Crosses handles. Returns the rewards of the reward nodes that they lead to. */
  private cross(crossings: readonly Crossing[]): readonly Reward[] {
    return crossings.length === 0 ? [] : this.record(walk(this.season.definition, this.active, crossings))
  }

  private record(walked: Walk): readonly Reward[] {
    const { scenarioId } = this.scope
    const step = withoutPaid(walked, (grant) => !this.pays(grant))
    for (const { nodeId, rewards } of step.grants) {
      this.grant(rewards, 'reward_node', `${scenarioId}/${nodeId}/${this.runId}`)
    }
    this.active = step.active
    this.last = step
    for (const { nodeId, handle, data } of step.crossings) this.event(nodeId, handle, data)
    return step.grants.flatMap(({ rewards }) => rewards)
  }

  /** A player has one run here, so a node that pays once and a node that pays once per run are the same. */
  private pays(grant: Grant): boolean {
    const scope = scopeOf(grant, this.runId)
    if (scope === null) return true
    const { nodeId } = grant
    if (this.paid.has(nodeId)) return false
    this.paid.add(nodeId)
    const { scenarioId } = this.scope
    this.books.add('reward_payments', [this.playerId, scenarioId, nodeId, scope, this.runId, this.stamp()])
    return true
  }

  private grant(rewards: readonly Reward[], reason: string, reference: string): void {
    for (const { currency, itemId, amount, boost } of rewards) {
      if (boost) this.boost(boost, reference)
      else if (currency !== null) this.move(currency, amount, reason, reference)
      else this.items.set(itemId, (this.items.get(itemId) ?? 0n) + amount)
    }
  }

  private boost(boost: RewardBoost, reference: string): void {
    const { before, startsAt, endsAt } = lengthened([...this.boosts.values()], boost, new Date(this.nowMs))
    const id = before?.id ?? idAt(this.nowMs, this.boosts.size)
    // Nothing here can be undone: one part without a reference.
    const parts = [['', endsAt.getTime() - startsAt.getTime()]] as const
    this.boosts.set(id, { id, percent: boost.percent, startsAt, endsAt, reference, parts })
  }

  balance(currency: string): bigint {
    return this.balances.get(currency) ?? 0n
  }

  move(currency: string, amount: bigint, reason: string, reference: string): void {
    const balance = this.balance(currency) + amount
    this.balances.set(currency, balance)
    if (!this.whole) return
    this.order += 1
    const id = idAt(this.nowMs, this.order)
    this.books.add('wallet_ledger', [this.playerId, id, currency, amount, balance, reason, reference, this.stamp()])
  }

  private event(nodeId: string | null, handle: string | null, data: Crossing['data']): void {
    if (!this.whole || this.nowMs < this.season.eventsFromMs) return
    const [scenarioId, runId] = handle === null ? [null, null] : [this.scope.scenarioId, this.runId]
    const type = handle === null ? 'player.created' : 'crossing'
    const row = [this.stamp(), type, handle, this.playerId, scenarioId, nodeId, runId]
    this.books.add('seeded_events', [...row, print(data)])
  }

  /** Advances the time by at least a millisecond, so that rows are in the order of their ids. */
  tick(ms: number): void {
    this.nowMs = Math.floor(this.nowMs + Math.max(ms, 1))
    this.order = 0
  }

  private stamp(): string {
    return new Date(this.nowMs).toISOString()
  }
}

const ownership = ({ premiumOwned }: Pass): string => (premiumOwned ? 'premium' : 'free')

const levelNodes = new WeakMap<Definition, ReadonlyMap<number, LevelNode>>()

/** The level node through which a tier of this level is claimed, if there is one. */
function levelNodeAt({ definition, pass }: SeededSeason, level: number): LevelNode | undefined {
  let known = levelNodes.get(definition)
  if (!known) {
    const nodes = [...definition.nodes.values()].filter((node) => node.type === 'battle-pass-level')
    known = new Map(nodes.filter(({ passNodeId }) => passNodeId === pass.id).map((node) => [node.levelNumber, node]))
    levelNodes.set(definition, known)
  }
  return known.get(level)
}

function planOf(runId: string, step: Walk): ExecutionPlan {
  const all = step.grants.flatMap(({ rewards }) => rewards.map(granted))
  return {
    runId,
    status: step.completed ? 'completed' : 'active',
    crossed: step.crossings.map(({ nodeId, handle }) => ({ nodeId, handle })),
    entered: step.entered,
    granted: assetsOf(all),
    boosts: boostsOf(all),
  }
}
