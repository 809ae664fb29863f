import { setTimeout as pause } from 'node:timers/promises'
import { gameTimeAt } from '../base/game-clock.ts'
import { type Json, print as printJson } from '../base/json.ts'
import { Tierway, TierwayError } from '../client/index.ts'
import { asAdmin, type Body, graphql, listen, streamCursor } from './demo-calls.ts'
import type { Demo } from './seed.ts'

// Plays a season from its announcement to the next one on a running service. The clock of an environment of its own runs
// an hour in a second, and jumps over the days in which nothing happens.

const ENVIRONMENT = 'demo-season'
const PASS = 'pass'
const RATE = 3_600
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The pauses of the story, by which its length is set. */
const BEATS = 24
/** For an event that does not come. */
const DEADLINE_MS = 30_000
const REASON = 'npm run demo -- --season'
/** Xp of a match, which reaches two levels. */
const MATCH = 200n

export interface SeasonDemo {
  /** About how long it takes. With 0 it does not pause for readers. */
  readonly seconds: number
  readonly print: (line: string) => void
}

export async function playSeason(demo: Demo, { seconds, print }: SeasonDemo): Promise<void> {
  if (!(seconds >= 0)) throw new Error('--seconds must be a number from 0')
  const stage = await createStage(demo, { beatMs: (seconds * 1_000) / BEATS, print })
  try {
    await play(stage)
  } finally {
    await stage.close()
  }
  print('')
  print(`  The clock of ${ENVIRONMENT} now runs at the pace of the real one, and stays ahead.`)
  print(`  See the calendar and the players:  ${demo.baseUrl}/console/env/${ENVIRONMENT}/calendar`)
  print('  Set the clock of your own staging: `setEnvironmentClock`, as docs/qa-clock.md says.')
}

async function play(stage: Stage): Promise<void> {
  const { first, second, start, leadMs } = stage
  const day = (days: number, hours = 0): number => start + days * DAY_MS + hours * HOUR_MS
  const ends = day(14)
  const closes = day(16)

  await stage.jump(day(-7) - leadMs, 'a week before the season, from here an hour in a second')
  await stage.publish(first, seasonOf('First Light', { start, ends, closes, next: second }))
  await stage.publish(second, seasonOf('Second Dawn', { start: ends, ends: day(28), closes: day(30) }))
  await stage.boost('Double xp weekend', first, { startsAt: day(4, 18), endsAt: day(6, 18) })
  const [ada, ben] = [await stage.logIn('ada'), await stage.logIn('ben')]
  await stage.beat()
  await stage.hear('SEASON_ANNOUNCED', first)
  const early = await ada.start(first)
  stage.say(`ada sends ${MATCH} xp of a match: ${await refusalOf(early.addXp(MATCH, { source: 'match' }))}`)
  await stage.beat(2)

  await stage.jump(start - leadMs, 'the start')
  await stage.hear('SEASON_STARTED', first)
  const [pass, other] = [early, await ben.start(first)]
  for (const [name, one] of [
    ['ada', pass],
    ['ben', other],
  ] as const) {
    const { level, xp } = await one.addXp(MATCH, { source: 'match' })
    stage.say(`${name} plays a match: ${xp} xp, level ${level}`)
  }
  stage.say(`ada claims level 1: ${rewardsOf((await pass.claim(1, 'free')).granted)}`)
  await stage.beat(3)

  await stage.jump(day(4, 18) - leadMs, 'the weekend')
  await stage.until('the boost runs', async () => (await pass.season()).boosts.length > 0)
  const { xp } = await pass.addXp(MATCH, { source: 'match' })
  const entry = await ada.lastXp()
  stage.say(
    `the weekend gives double xp: ${MATCH} are sent, the ledger has ${entry.amount}, ${entry.bonus} of them a bonus`,
  )
  stage.say(`ada has ${xp} xp`)
  await stage.beat(3)
  await stage.jump(day(6, 18), 'the weekend is over')
  await pass.addXp(MATCH, { source: 'match' })
  stage.say(`the next match brings ${(await ada.lastXp()).amount} xp again`)
  await stage.beat(2)

  await stage.jump(ends - 48 * HOUR_MS - leadMs, 'two days before the end')
  await stage.hear('SEASON_ENDING', first)
  const { secondsToNextPhase } = await pass.season()
  stage.say(`two days are left, which are ${secondsToNextPhase} real seconds by this clock`)
  await stage.beat(2)

  await stage.jump(ends - leadMs, 'the end')
  await stage.hear('SEASON_ENDED', first)
  stage.say(`ada sends ${MATCH} xp: ${await refusalOf(pass.addXp(MATCH, { source: 'match' }))}`)
  stage.say(`ada still claims level 2: ${rewardsOf((await pass.claim(2, 'free')).granted)}`)
  await stage.hear('SEASON_STARTED', second)
  const { next } = await ada.session(first)
  const taken = (await ada.lastXp()).amount
  stage.say(`ada comes back, and is in ${next?.scenarioId} with ${taken} xp, a tenth of what she had`)
  if (next?.scenarioId !== second || taken <= 0n) throw new Error('the next season was not started with its xp')
  await stage.beat(3)

  await stage.jump(closes - leadMs, 'claims close')
  await tellSettlements(stage, { ada, ben })
}

/** Waits until claims are closed, and prints what each player still gets. */
async function tellSettlements(
  stage: Stage,
  players: Readonly<Record<string, { readonly playerId: string }>>,
): Promise<void> {
  const { first } = stage
  await stage.hear('SEASON_CLOSED', first)
  for (const [name, { playerId }] of Object.entries(players)) {
    const { data } = await stage.event('SEASON_SETTLED', first, playerId)
    const { granted, ended = [], tiers } = data
    stage.say(
      `${name} is settled: ${tiers} tiers that were not claimed, ${rewardsOf(granted)}; ${rewardsOf(ended)} ended`,
    )
  }
  await stage.beat(3)
}

interface Dates {
  readonly start: number
  readonly ends: number
  readonly closes: number
  readonly next?: string
}

function seasonOf(name: string, { start, ends, closes, next }: Dates): Json {
  const numbers = Array.from({ length: 20 }, (_, index) => index + 1)
  const at = (ms: number) => new Date(ms).toISOString()
  const data = {
    levels: numbers.map((level) => ({ level, xp: (level - 1) * 100 })),
    tiers: numbers.map((level) => ({
      level,
      track: 'free',
      rewards: [
        { currency: 'gold', amount: 50 * level },
        { currency: 'tickets', amount: 30 },
      ],
    })),
    xp: { sources: { match: { max: 1_000 } } },
    announcedAt: at(start - 7 * DAY_MS),
    startsAt: at(start),
    endingHours: 48,
    endsAt: at(ends),
    claimUntil: at(closes),
    atEnd: 'grant',
    ...(next !== undefined && {
      next: {
        scenarioId: next,
        carry: { xpPercent: 10 },
        convert: [{ currency: 'tickets', to: 'gold', rate: '1:10' }],
      },
    }),
  }
  const nodes = [
    { id: 'start', type: 'start' },
    { id: PASS, type: 'battle-pass', data },
  ]
  return { name, start: 'start', nodes, edges: [{ from: 'start', handle: 'onStart', to: PASS }] }
}

const rewardsOf = (rewards: readonly { currency?: string | null; amount: bigint | string }[]): string =>
  rewards.map(({ currency, amount }) => `${amount} ${currency}`).join(', ') || 'nothing'

async function refusalOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => undefined,
    (refused: unknown) => refused,
  )
  if (TierwayError.is(error)) return `${error.status} ${error.code}`
  throw error ?? new Error('the service took xp outside of the season')
}

/** The first Monday that is not before a day. */
const mondayAfter = (day: number): number => day + ((8 - new Date(day).getUTCDay()) % 7) * DAY_MS

interface StageOptions {
  readonly beatMs: number
  readonly print: (line: string) => void
}

/** Opens the environment of the demo, with a key for its players and a subscription. */
async function createStage(demo: Demo, options: StageOptions): Promise<Stage> {
  const { environments } = await asAdmin(demo, '{ environments { name clock { now } } }', {})
  const known = environments.find(({ name }: Body) => name === ENVIRONMENT)
  if (!known) await admin(demo, 'createEnvironment', { name: ENVIRONMENT }, 'environment { name }')
  await inEnvironment(demo, 'setAuthProviders', { authProviders: { device: { enabled: true } } }, 'auditEntry { id }')
  const { createSdkKey: key } = await asAdmin(
    demo,
    'mutation ($input: CreateEnvironmentKeyInput!) { createSdkKey(input: $input) { key sdkKey { id } } }',
    { input: { environment: ENVIRONMENT, label: REASON, reason: REASON } },
  )
  // A later run continues from where the last one was, so that its seasons are new.
  const from = new Date(Math.max(Date.now(), Date.parse(known?.clock?.now ?? 0)))
  const start = mondayAfter(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 8))
  return new Stage({ demo, options, key, start, after: await streamCursor(demo, ENVIRONMENT) })
}

function admin(demo: Demo, mutation: string, input: object, fields: string): Promise<Body> {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input`
  const document = `mutation ($input: ${type}!) { ${mutation}(input: $input) { ${fields} } }`
  return asAdmin(demo, document, { input: { reason: REASON, ...input } }).then((data) => data[mutation])
}

const inEnvironment = (demo: Demo, mutation: string, input: object, fields: string): Promise<Body> =>
  admin(demo, mutation, { environment: ENVIRONMENT, ...input }, fields)

/** The environment of the demo, with the words for what happens there. */
class Stage {
  readonly first: string
  readonly second: string
  readonly start: number
  /** The time of the game before each phase: the reader sees it begin. */
  readonly leadMs: number
  private readonly demo: Demo
  private readonly options: StageOptions
  private readonly key: Body
  private readonly tag = Date.now().toString(36)
  private readonly heard: Body[] = []
  private readonly stop: () => void
  private failure: unknown
  private clock: { readonly at: number; readonly setAt: number; readonly rate: number }

  constructor(opened: { demo: Demo; options: StageOptions; key: Body; start: number; after: string }) {
    const { demo, options, key, start, after } = opened
    this.demo = demo
    this.options = options
    this.key = key
    this.start = start
    this.first = `season-${this.tag}-1`
    this.second = `season-${this.tag}-2`
    this.leadMs = Math.min(HOUR_MS, options.beatMs * RATE)
    this.clock = { at: start, setAt: Date.now(), rate: 1 }
    this.stop = listen(demo, {
      environment: ENVIRONMENT,
      fields: 'type playerId scenarioId data',
      after,
      onEvent: (event) => this.heard.push(event),
      onError: (error) => {
        this.failure = error
      },
    })
  }

  beat(beats = 1): Promise<unknown> {
    return pause(beats * this.options.beatMs)
  }

  say(text: string): void {
    const now = new Date(gameTimeAt(this.clock, Date.now()))
    this.options.print(`  ${now.toUTCString().slice(0, 16)} ${now.toISOString().slice(11, 16)}  ${text}`)
  }

  async until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    for (const deadline = Date.now() + DEADLINE_MS; !(await holds()); await pause(50)) {
      if (this.failure !== undefined) throw new Error(`the subscription failed: ${JSON.stringify(this.failure)}`)
      if (Date.now() > deadline) throw new Error(`${what}: not within ${DEADLINE_MS / 1_000} s`)
    }
  }

  async event(type: string, scenarioId: string, playerId: string | null = null): Promise<Body> {
    const find = () =>
      this.heard.find((one) => one.type === type && one.scenarioId === scenarioId && one.playerId === playerId)
    await this.until(`${type} of ${scenarioId}`, () => find() !== undefined)
    return find()
  }

  /** Waits for a phase, and prints it. */
  async hear(type: string, scenarioId: string): Promise<void> {
    const { data } = await this.event(type, scenarioId)
    this.say(`event ${type} of ${scenarioId}, at ${data.at}`)
  }

  async jump(to: number, why: string): Promise<void> {
    await this.setClock({ at: new Date(to).toISOString(), rate: RATE })
    this.options.print('')
    this.say(`── ${why}`)
  }

  async publish(scenarioId: string, definition: Json): Promise<void> {
    const input = { scenarioId, definition: printJson(definition) }
    await inEnvironment(this.demo, 'publishScenario', input, 'scenario { scenarioId }')
    this.say(`${scenarioId} is published`)
  }

  async boost(name: string, scenarioId: string, { startsAt, endsAt }: { startsAt: number; endsAt: number }) {
    const at = { startsAt: new Date(startsAt).toISOString(), endsAt: new Date(endsAt).toISOString() }
    const input = { name, percent: 100, scenarios: [scenarioId], ...at }
    await inEnvironment(this.demo, 'createBoost', input, 'boost { name }')
    this.say(`a boost is planned: ${name}`)
  }

  async logIn(name: string) {
    const { demo, key, tag } = this
    const tierway = new Tierway({ baseUrl: demo.baseUrl, sdkKey: key.key, fetch })
    await tierway.loginGuest({ deviceId: `demo-season-${tag}-${name}-of-32-characters` })
    const session = (scenarioId: string) => tierway.scenario(scenarioId).start()
    return {
      playerId: tierway.playerId ?? '',
      session,
      start: async (scenarioId: string) => (await session(scenarioId)).battlePass(PASS),
      /** The last entry of the xp ledger, of all passes. */
      async lastXp(): Promise<{ readonly amount: bigint; readonly bonus: bigint }> {
        const query = '{ me { passes { xpLedger(first: 1) { nodes { amount bonus occurredAt } } } } }'
        const { me }: Body = await tierway.calls.withToken((headers) => graphql(demo, headers, query))
        const entries: Body[] = me.passes.flatMap(({ xpLedger }: Body) => xpLedger.nodes)
        const [last] = entries.sort((a, b) => (a.occurredAt < b.occurredAt ? 1 : -1))
        return { amount: BigInt(last?.amount ?? 0), bonus: BigInt(last?.bonus ?? 0) }
      },
    }
  }

  /** The clock continues at the pace of the real one, from where it is. */
  async close(): Promise<void> {
    this.stop()
    await this.setClock({ rate: 1 })
    const query = 'mutation ($input: RevokeEnvironmentKeyInput!) { revokeSdkKey(input: $input) { sdkKey { id } } }'
    await asAdmin(this.demo, query, { input: { id: this.key.sdkKey.id, reason: REASON } })
  }

  private async setClock(input: object): Promise<void> {
    const set = await inEnvironment(this.demo, 'setEnvironmentClock', input, 'environment { clock { now rate } }')
    const { now, rate } = set.environment.clock
    this.clock = { at: Date.parse(now), setAt: Date.now(), rate }
  }
}
