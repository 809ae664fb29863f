import { latencyStep } from '../auth/latency.ts'
import type { WebhookAttempt } from '../auth/webhook.ts'
import { decideClaim, decidePurchase, decideXp, newPass, type Pass } from '../battlepass/decide.ts'
import { freeze, print } from '../json.ts'
import { DEFAULT_PROVIDER } from '../providers/custom-provider.ts'
import {
  type Definition,
  granted,
  type LevelNode,
  type PassNode,
  type Reward,
  type TierKey,
  type Track,
  tierKey,
} from '../scenario/definition.ts'
import { begin, type Crossing, type ExecutionPlan, type Grant, type Walk, walk, withoutPaid } from '../scenario/plan.ts'
import { scopeOf } from '../scenario/reward-payments.ts'
import { idAt, type SeededBooks, type SeededScope, type SeededTotals } from './seed-books.ts'
import {
  chooseKind,
  chooseLocale,
  chooseWeekdayHour,
  chooseWeekendHour,
  DAY_MS,
  EVENTS,
  FULL_SEASON_DAYS,
  FULL_SEASON_XP,
  HOUR_MS,
  isWeekend,
  type Kind,
  MINUTE_MS,
  nicknameOf,
} from './seed-habits.ts'
import type { Locale } from './seed-names.ts'
import type { Random } from './seed-random.ts'

// One player's season, from the first login to the last. Its actions are random; their results follow the rules of the
// game, and are written as the service would have written them at the time.

/** The season that is seeded: a pass of a scenario, over some days. */
export interface SeededSeason {
  readonly environmentId: string
  readonly scope: SeededScope
  readonly definition: Definition
  readonly pass: PassNode
  readonly fromMs: number
  readonly toMs: number
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

/** Plays the season of the player with this number, and writes it to the books. */
export function playSeason(
  season: SeededSeason,
  out: { readonly books: SeededBooks; readonly totals: SeededTotals },
  number: number,
  random: Random,
  joining: (random: Random) => number,
): void {
  new SeededPlayer(season, out, number, random, joining(random)).play()
}

class SeededPlayer {
  private readonly season: SeededSeason
  private readonly books: SeededBooks
  private readonly totals: SeededTotals
  private readonly random: Random
  private readonly kind: Kind
  private readonly locale: Locale
  private readonly joinedMs: number
  private readonly playerId: string
  private readonly subject: string
  private readonly nickname: string | null
  private readonly bannedAtMs: number
  /** Whether every row is written. In a lean season few players have all rows. */
  private readonly whole: boolean
  private readonly scope: SeededScope
  /** The player's current time. `tick` advances it. */
  private nowMs: number
  private order = 0
  private runId = ''
  private active: readonly string[] = []
  private last: Walk | undefined
  private pass: Pass | undefined
  private readonly claimed = new Set<TierKey>()
  private readonly balances = new Map<string, bigint>()
  private readonly items = new Map<string, bigint>()
  /** Reward nodes that do not pay again. */
  private readonly paid = new Set<string>()
  /** The number of tiers of each track that the player has claimed or skipped. */
  private readonly seen: Record<Track, number> = { free: 0, premium: 0 }
  private readonly careless: boolean
  private readonly buysAtLevel: number
  private weekOfChallenge = -1
  private lastLogin = ''

  constructor(
    season: SeededSeason,
    { books, totals }: { readonly books: SeededBooks; readonly totals: SeededTotals },
    number: number,
    random: Random,
    day: number,
  ) {
    this.season = season
    this.books = books
    this.totals = totals
    this.random = random
    this.kind = chooseKind(random)
    this.locale = chooseLocale(random)
    this.whole = !season.lean || number % 50 === 0
    this.scope = season.scope
    this.joinedMs = this.within(this.timeOf(season.fromMs + day * DAY_MS))
    this.nowMs = this.joinedMs
    this.playerId = idAt(this.joinedMs, 0)
    this.subject = `demo:seed-${season.tag}-${number}`
    this.nickname = random.chance(0.97) ? nicknameOf(this.locale, random) : null
    this.bannedAtMs = random.chance(0.012) ? this.joinedMs + random.exponential(8 * DAY_MS) : Number.POSITIVE_INFINITY
    this.careless = random.chance(0.25)
    // Buyers buy early or late; most decide halfway that the season is worth it.
    const share = random.chance(0.25) ? random.between(0, 0.05) : random.between(0.05, 0.75)
    this.buysAtLevel = random.chance(this.kind.buys) ? share * season.pass.topLevel : Number.POSITIVE_INFINITY
  }

  play(): void {
    this.begin()
    // One player in twelve leaves without playing.
    if (!this.random.chance(0.08)) this.session(true)
    const leavesMs = this.joinedMs + this.random.exponential(this.kind.days * DAY_MS)
    const firstDay = Math.floor(this.joinedMs / DAY_MS) + 1
    for (let day = firstDay; day * DAY_MS < Math.min(leavesMs, this.season.toMs); day += 1) {
      if (!this.random.chance(this.activityOn(day * DAY_MS))) continue
      const sessions = this.sessionsToday()
      for (let session = 0; session < sessions; session += 1) {
        const startMs = this.timeOf(day * DAY_MS)
        this.nowMs = Math.max(this.nowMs + this.random.between(MINUTE_MS, HOUR_MS), startMs)
        if (this.isOver() || (session === 0 && !this.logIn())) break
        this.session(session === 0)
      }
    }
    this.end()
  }

  /** The first login creates the player; the game then starts the scenario. */
  private begin(): void {
    const { books, subject, nickname } = this
    const at = this.stamp()
    books.add('identities', ['custom', subject, this.playerId, at])
    this.event(null, null, { nickname, provider: 'custom' })
    if (this.whole) this.keepStorage(at)
    this.logLogin('ok', [this.answered(200)])
    this.tick(this.random.between(200, 3_000))
    this.runId = idAt(this.nowMs, this.order)
    this.record(begin(this.season.definition))
  }

  private keepStorage(at: string): void {
    const { books, random } = this
    const settings = { music: random.whole(0, 10) / 10, language: this.locale.language, vibration: random.chance(0.7) }
    books.add('player_storage', [this.playerId, 'settings', JSON.stringify(settings), at])
    if (random.chance(0.6)) {
      const loadout = { hero: random.pick(['ember', 'tide', 'gale', 'quartz', 'shade']), slots: random.whole(2, 6) }
      books.add('player_storage', [this.playerId, 'loadout', JSON.stringify(loadout), at])
    }
    if (this.kind.whale) books.add('player_storage', [this.playerId, 'studio', '{"rank":"patron"}', at])
  }

  private session(isFirstToday: boolean): void {
    const { random, kind } = this
    const startMs = this.nowMs
    const matches = 1 + Math.floor(random.exponential(kind.matches))
    const ofTheDay = { match: 0, daily_quest: 0 }
    const earn = (source: string, base: number) => {
      if (this.isOver()) return
      const amount = base * kind.skill * random.spread(0.7)
      if (this.season.lean) ofTheDay[source !== 'match' && random.chance(0.4) ? 'daily_quest' : 'match'] += amount
      else this.addXp(source, amount)
    }
    for (let match = 0; match < matches; match += 1) {
      this.tick(random.between(3.5, 9) * MINUTE_MS)
      earn('match', 300)
      if (isFirstToday && match === 0 && random.chance(0.25 + 0.6 * kind.diligence)) {
        this.tick(random.between(1_000, 20_000))
        earn('daily_quest', 420)
      }
      if (this.isEventOn() && random.chance(0.45)) {
        this.tick(random.between(1_000, 5_000))
        earn('event', 260)
      }
    }
    const week = Math.floor((startMs - this.season.fromMs) / (7 * DAY_MS))
    if (week > this.weekOfChallenge && matches > 2 && random.chance(0.3 * kind.diligence)) {
      this.weekOfChallenge = week
      this.tick(random.between(1_000, 20_000))
      earn('weekly_challenge', 2_400)
    }
    for (const [source, amount] of Object.entries(ofTheDay)) {
      if (amount === 0) continue
      this.addXp(source, amount)
      this.tick(1)
    }
    if (kind.whale) this.spend()
    if (this.pass && !this.pass.premiumOwned && this.pass.level >= this.buysAtLevel) this.buyPremium()
    if (random.chance(kind.diligence)) this.claimAll()
  }

  /** The first login of a day calls the webhook. False when the login failed. */
  private logIn(): boolean {
    const { random, season, nowMs } = this
    const isDown = nowMs >= season.outageMs && nowMs < season.outageMs + HOUR_MS
    if (isDown && random.chance(0.85)) {
      const attempts = [1, 2, 3].map(
        (): WebhookAttempt => ({ status: null, milliseconds: 3_000, error: 'timeout', excerpt: null }),
      )
      this.logLogin('custom_auth_unavailable', attempts)
      return false
    }
    if (random.chance(0.008)) this.logLogin('custom_auth_rejected', [this.answered(403)])
    this.logLogin('ok', [...(random.chance(0.012) ? [this.answered(503)] : []), this.answered(200)])
    return true
  }

  private answered(status: number): WebhookAttempt {
    return { status, milliseconds: Math.round(60 * this.random.spread(1.6)) + 12, error: null, excerpt: null }
  }

  private logLogin(outcome: string, attempts: readonly WebhookAttempt[]): void {
    this.tick(this.random.between(10, 400))
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

  private addXp(source: string, base: number): void {
    const { season, runId } = this
    const top = Number(season.pass.levels.at(-1)?.xp ?? 0n) || FULL_SEASON_XP
    const days = Math.max((season.toMs - season.fromMs) / DAY_MS, 1)
    const scale = (top / FULL_SEASON_XP) * (FULL_SEASON_DAYS / days)
    const amount = BigInt(Math.max(Math.round((base * scale) / 5) * 5, 1))
    const decision = decideXp(season.pass, this.currentPass(), { amount, source }, new Date(this.nowMs))
    if (decision.kind === 'refused') return
    this.cross(decision.crossings)
    this.setPass(decision.next)
    const id = idAt(this.nowMs, this.order)
    const { scenarioId, nodeId } = this.scope
    this.books.add('xp_ledger', [this.playerId, id, scenarioId, nodeId, runId, amount, source, this.stamp()])
    this.totals.add(this.scope, 'xp', this.nowMs, { detail: source, amount })
  }

  /** Claims every open tier that the player has not claimed or skipped, as a claim-all button does. */
  private claimAll(): void {
    if (this.isOver()) return
    for (const track of ['free', 'premium'] as const) {
      if (track === 'premium' && !this.pass?.premiumOwned) return
      const { levels } = this.season.pass
      for (let index = this.seen[track]; index < levels.length; index += 1) {
        const level = levels[index]?.level ?? 0
        if (level > this.currentPass().level) break
        this.seen[track] = index + 1
        if (this.careless && this.random.chance(0.08)) continue
        this.tick(this.random.between(150, 1_500))
        if (this.isOver()) return
        this.claim(level, track)
      }
    }
  }

  private claim(level: number, track: Track): void {
    const { season, runId } = this
    const { scenarioId, nodeId } = this.scope
    const levelNode = levelNodeAt(season, level)
    const rewards = season.pass.tiers.get(tierKey(level, track))?.rewards
    const request = { level, track, rewards, levelNodeId: levelNode?.id }
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

  private buyPremium(): void {
    const { pass } = this.season
    this.tick(this.random.between(2_000, 30_000))
    if (this.isOver() || !pass.premium) return
    const { currency, amount } = pass.premium
    const missing = amount - this.balance(currency)
    if (missing > 0n) this.buyCurrency(currency, missing)
    const now = new Date(this.nowMs)
    const decision = decidePurchase(pass, this.currentPass(), (name) => this.balance(name), now)
    if (decision.kind === 'refused') return
    this.move(currency, -amount, 'premium_purchase', `${this.scope.scenarioId}/${this.scope.nodeId}`)
    this.cross(decision.crossings)
    this.setPass(decision.next)
  }

  /** Buys packs from the store of the platform, as a studio's backend credits them. */
  private buyCurrency(currency: string, needed: bigint): void {
    const pack = needed <= 500n ? 500n : needed <= 2_000n ? 2_000n : ((needed + 4_999n) / 5_000n) * 5_000n
    this.move(currency, pack, 'adjustment', `store/${currency}-${pack}`)
    this.tick(this.random.between(1_000, 9_000))
  }

  /** Whales pay for a boost now and then, with currency that they buy when it runs out. */
  private spend(): void {
    const currency = this.season.pass.premium?.currency
    if (currency === undefined || this.isOver() || !this.random.chance(0.15)) return
    this.tick(this.random.between(2_000, 30_000))
    const price = 200n
    if (this.balance(currency) < price) this.buyCurrency(currency, price + BigInt(this.random.whole(0, 3_000)))
    if (this.isOver()) return
    this.move(currency, -price, 'adjustment', 'store/xp-boost')
    this.tick(this.random.between(100, 900))
    this.addXp('boost', 1_500)
  }

  /** Writes the player's final state. */
  private end(): void {
    const { books, playerId, season, locale, random } = this
    const isBanned = this.bannedAtMs < season.toMs
    const avatar = random.chance(0.35) ? `https://cdn.example.com/avatars/${random.whole(1, 48)}.png` : null
    const created = new Date(this.joinedMs).toISOString()
    const { region, language } = locale
    const status = isBanned ? 'banned' : 'active'
    books.add('players', [playerId, this.nickname, avatar, region, language, status, created])
    books.add('last_logins', [playerId, this.lastLogin])
    const { scenarioId, nodeId } = this.scope
    const plan = this.last && this.whole ? freeze(planOf(this.runId, this.last)) : null
    books.add('runs', [playerId, this.runId, scenarioId, 'active', JSON.stringify(this.active), plan, null, created])
    if (this.pass) {
      const { xp, level, premiumOwned, maxLevelCrossed, completed, completedNodes, activeOn } = this.pass
      const row = [playerId, scenarioId, nodeId, xp, level, premiumOwned, maxLevelCrossed, completed]
      books.add('passes', [...row, JSON.stringify(completedNodes), activeOn])
    }
    if (!this.whole) return
    for (const [currency, balance] of this.balances) books.add('wallets', [playerId, currency, balance])
    for (const [itemId, amount] of this.items) books.add('inventory', [playerId, itemId, amount])
  }

  private currentPass(): Pass {
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
    for (const { currency, itemId, amount } of rewards) {
      if (currency !== null) this.move(currency, amount, reason, reference)
      else if (itemId !== null) this.items.set(itemId, (this.items.get(itemId) ?? 0n) + amount)
    }
  }

  private balance(currency: string): bigint {
    return this.balances.get(currency) ?? 0n
  }

  private move(currency: string, amount: bigint, reason: string, reference: string): void {
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
  private tick(ms: number): void {
    this.nowMs = Math.floor(this.nowMs + Math.max(ms, 1))
    this.order = 0
  }

  private stamp(): string {
    return new Date(this.nowMs).toISOString()
  }

  /** The season has ended, or the player is banned. */
  private isOver(): boolean {
    return this.nowMs >= this.season.toMs || this.nowMs >= this.bannedAtMs
  }

  private within(ms: number): number {
    const { fromMs, toMs } = this.season
    return Math.floor(Math.min(Math.max(ms, fromMs), toMs - 1))
  }

  /** A moment of a day, by the hours at which players of the player's home play. */
  private timeOf(dayMs: number): number {
    const hour = (isWeekend(dayMs) ? chooseWeekendHour : chooseWeekdayHour)(this.random)
    return Math.floor(dayMs + (hour + this.random.next() - this.locale.utcOffset) * HOUR_MS)
  }

  private activityOn(dayMs: number): number {
    const weekday = isWeekend(dayMs) ? 1.25 : 0.92
    return this.kind.activity * weekday * (this.isEventOn(dayMs) ? 1.15 : 1)
  }

  private sessionsToday(): number {
    return this.season.lean ? 1 : Math.max(Math.round(this.kind.sessions * this.random.spread(0.8)), 1)
  }

  private isEventOn(atMs = this.nowMs): boolean {
    const { fromMs, toMs } = this.season
    const share = (atMs - fromMs) / (toMs - fromMs)
    return EVENTS.some(([start, end]) => share >= start && share < end)
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
  return {
    runId,
    status: step.completed ? 'completed' : 'active',
    crossed: step.crossings.map(({ nodeId, handle }) => ({ nodeId, handle })),
    entered: step.entered,
    granted: step.grants.flatMap(({ rewards }) => rewards.map(granted)),
  }
}
