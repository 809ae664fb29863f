import type { WebhookAttempt } from '../accounts/webhook/webhook.ts'
import type { Track } from '../game/definition/definition.ts'
import type { SeededBooks, SeededTotals } from './seed-books.ts'
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
  type Kind,
  MINUTE_MS,
  nicknameOf,
} from './seed-habits.ts'
import type { Locale } from './seed-names.ts'
import type { Random } from './seed-random.ts'
import { PlayerRecords, type SeededSeason } from './seed-records.ts'

// What one player does in a season, from the first login to the last, and when. The actions are random.

const NO_CAUSE = { cause: null, excerpt: null, replacedSecrets: 0 }

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
  private readonly records: PlayerRecords
  private readonly random: Random
  private readonly kind: Kind
  private readonly locale: Locale
  private readonly joinedMs: number
  private readonly bannedAtMs: number
  /** The number of tiers of each track that the player has claimed or skipped. */
  private readonly seen: Record<Track, number> = { free: 0, premium: 0 }
  private readonly careless: boolean
  private readonly buysAtLevel: number
  private weekOfChallenge = -1

  constructor(
    season: SeededSeason,
    out: { readonly books: SeededBooks; readonly totals: SeededTotals },
    number: number,
    random: Random,
    day: number,
  ) {
    this.season = season
    this.random = random
    this.kind = chooseKind(random)
    this.locale = chooseLocale(random)
    this.joinedMs = this.within(this.timeOf(season.fromMs + day * DAY_MS))
    this.records = new PlayerRecords(season, out, {
      subject: `demo:seed-${season.tag}-${number}`,
      nickname: random.chance(0.97) ? nicknameOf(this.locale, random) : null,
      joinedMs: this.joinedMs,
      whole: !season.lean || number % 50 === 0,
    })
    this.bannedAtMs = random.chance(0.012) ? this.joinedMs + random.exponential(8 * DAY_MS) : Number.POSITIVE_INFINITY
    this.careless = random.chance(0.25)
    // Buyers buy early or late; most decide halfway that the season is worth it.
    const share = random.chance(0.25) ? random.between(0, 0.05) : random.between(0.05, 0.75)
    this.buysAtLevel = random.chance(this.kind.buys) ? share * season.pass.topLevel : Number.POSITIVE_INFINITY
  }

  play(): void {
    this.begin()
    // One player in twelve leaves without playing.
    if (!this.random.chance(0.08) && this.playTutorial()) this.session(true)
    const leavesMs = this.joinedMs + this.random.exponential(this.kind.days * DAY_MS)
    const firstDay = Math.floor(this.joinedMs / DAY_MS) + 1
    for (let day = firstDay; day * DAY_MS < Math.min(leavesMs, this.season.toMs); day += 1) {
      if (!this.random.chance(this.activityOn(day * DAY_MS))) continue
      const sessions = this.sessionsToday()
      for (let session = 0; session < sessions; session += 1) {
        const startMs = this.timeOf(day * DAY_MS)
        this.records.nowMs = Math.max(this.records.nowMs + this.random.between(MINUTE_MS, HOUR_MS), startMs)
        if (this.isOver() || (session === 0 && !this.logIn())) break
        this.session(session === 0)
      }
    }
    this.end()
  }

  /** The first login creates the player; the game then starts the scenario. */
  private begin(): void {
    const { records, random } = this
    records.create()
    if (records.whole) this.fillStorage()
    this.logLogin('ok', [this.answered(200)])
    records.tick(random.between(200, 3_000))
    records.startRun()
  }

  private fillStorage(): void {
    const { records, random } = this
    const settings = { music: random.whole(0, 10) / 10, language: this.locale.language, vibration: random.chance(0.7) }
    records.store('settings', JSON.stringify(settings))
    if (random.chance(0.6)) {
      const loadout = { hero: random.pick(['ember', 'tide', 'gale', 'quartz', 'shade']), slots: random.whole(2, 6) }
      records.store('loadout', JSON.stringify(loadout))
    }
    if (this.kind.whale) records.store('studio', '{"rank":"patron"}')
  }

  /** The tutorial runs in the client, which gives its xp. False when the player leaves after one of its steps. */
  private playTutorial(): boolean {
    const { random } = this
    for (const xp of this.season.lean ? [450] : [100, 150, 200]) {
      this.tick(random.between(1, 3) * MINUTE_MS)
      if (this.isOver()) return false
      this.records.addXp('tutorial', this.shareOfTop(xp), 'client')
      if (random.chance(0.05)) return false
    }
    return true
  }

  private session(isFirstToday: boolean): void {
    const { random, kind } = this
    const startMs = this.records.nowMs
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
    const { pass } = this.records
    if (pass && !pass.premiumOwned && pass.level >= this.buysAtLevel) this.buyPremium()
    if (random.chance(kind.diligence)) this.claimAll()
  }

  /** The first login of a day calls the webhook. False when the login failed. */
  private logIn(): boolean {
    const { random, season } = this
    const { nowMs } = this.records
    const isDown = nowMs >= season.outageMs && nowMs < season.outageMs + HOUR_MS
    if (isDown && random.chance(0.85)) {
      const attempts = [1, 2, 3].map(
        (): WebhookAttempt => ({ ...NO_CAUSE, status: null, milliseconds: 3_000, error: 'timeout' }),
      )
      this.logLogin('custom_auth_unavailable', attempts)
      return false
    }
    if (random.chance(0.008)) this.logLogin('custom_auth_rejected', [this.answered(403)])
    this.logLogin('ok', [...(random.chance(0.012) ? [this.answered(503)] : []), this.answered(200)])
    return true
  }

  private answered(status: number): WebhookAttempt {
    return { ...NO_CAUSE, status, milliseconds: Math.round(60 * this.random.spread(1.6)) + 12, error: null }
  }

  private logLogin(outcome: string, attempts: readonly WebhookAttempt[]): void {
    this.records.tick(this.random.between(10, 400))
    this.records.logLogin(outcome, attempts)
  }

  /** Adds xp from a server of the game, in proportion to the length of the season and its top level. */
  private addXp(source: string, base: number): void {
    const { season } = this
    const days = Math.max((season.toMs - season.fromMs) / DAY_MS, 1)
    this.records.addXp(source, this.shareOfTop(base * (FULL_SEASON_DAYS / days)), 'server')
  }

  /** Xp in proportion to the top level. */
  private shareOfTop(base: number): bigint {
    const top = Number(this.season.pass.levels.at(-1)?.xp ?? 0n) || FULL_SEASON_XP
    return BigInt(Math.max(Math.round((base * top) / FULL_SEASON_XP / 5) * 5, 1))
  }

  /** Claims every open tier that the player has not claimed or skipped, as a claim-all button does. */
  private claimAll(): void {
    if (this.isOver()) return
    for (const track of ['free', 'premium'] as const) {
      if (track === 'premium' && !this.records.pass?.premiumOwned) return
      const { levels } = this.season.pass
      for (let index = this.seen[track]; index < levels.length; index += 1) {
        const level = levels[index]?.level ?? 0
        if (level > this.records.currentPass().level) break
        this.seen[track] = index + 1
        if (this.careless && this.random.chance(0.08)) continue
        this.tick(this.random.between(150, 1_500))
        if (this.isOver()) return
        this.records.claim(level, track)
      }
    }
  }

  private buyPremium(): void {
    const { premium } = this.season.pass
    this.tick(this.random.between(2_000, 30_000))
    if (this.isOver() || !premium) return
    const missing = premium.amount - this.records.balance(premium.currency)
    if (missing > 0n) this.buyCurrency(premium.currency, missing)
    this.records.buyPremium()
  }

  /** Buys packs from the store of the platform, as a studio's backend credits them. */
  private buyCurrency(currency: string, needed: bigint): void {
    const pack = needed <= 500n ? 500n : needed <= 2_000n ? 2_000n : ((needed + 4_999n) / 5_000n) * 5_000n
    this.records.move(currency, pack, 'adjustment', `store/${currency}-${pack}`)
    this.tick(this.random.between(1_000, 9_000))
  }

  /** Whales pay for a boost now and then, with currency that they buy when it runs out. */
  private spend(): void {
    const currency = this.season.pass.premium?.currency
    if (currency === undefined || this.isOver() || !this.random.chance(0.15)) return
    this.tick(this.random.between(2_000, 30_000))
    const price = 200n
    if (this.records.balance(currency) < price) this.buyCurrency(currency, price + BigInt(this.random.whole(0, 3_000)))
    if (this.isOver()) return
    this.records.move(currency, -price, 'adjustment', 'store/xp-boost')
    this.tick(this.random.between(100, 900))
    this.addXp('boost', 1_500)
  }

  private end(): void {
    const { records, random, locale } = this
    const status = this.bannedAtMs < this.season.toMs ? 'banned' : 'active'
    const avatar = random.chance(0.35) ? `https://cdn.example.com/avatars/${random.whole(1, 48)}.png` : null
    records.end({ status, avatar, locale })
  }

  private tick(ms: number): void {
    this.records.tick(ms)
  }

  /** The season has ended, or the player is banned. */
  private isOver(): boolean {
    return this.records.nowMs >= this.season.toMs || this.records.nowMs >= this.bannedAtMs
  }

  private within(ms: number): number {
    const { fromMs, toMs } = this.season
    return Math.floor(Math.min(Math.max(ms, fromMs), toMs - 1))
  }

  /** A moment of a day, by the hours at which players of the player's home play. */
  private timeOf(dayMs: number): number {
    const hour = (this.season.isWeekend(dayMs) ? chooseWeekendHour : chooseWeekdayHour)(this.random)
    return Math.floor(dayMs + (hour + this.random.next() - this.locale.utcOffset) * HOUR_MS)
  }

  private activityOn(dayMs: number): number {
    const weekday = this.season.isWeekend(dayMs) ? 1.25 : 0.92
    return this.kind.activity * weekday * (this.isEventOn(dayMs) ? 1.15 : 1)
  }

  private sessionsToday(): number {
    return this.season.lean ? 1 : Math.max(Math.round(this.kind.sessions * this.random.spread(0.8)), 1)
  }

  private isEventOn(atMs = this.records.nowMs): boolean {
    const { fromMs, toMs } = this.season
    const share = (atMs - fromMs) / (toMs - fromMs)
    return EVENTS.some(([start, end]) => share >= start && share < end)
  }
}
