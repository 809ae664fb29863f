import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { WebSocket } from 'ws'
import { readConfig } from '../base/config.ts'
import { Tierway, TierwayError, type Track } from '../client/index.ts'
import { asAdmin, type Body, graphql, listen, streamCursor } from './demo-calls.ts'
import { type GameServer, type MatchOver, startGameServer } from './demo-game-server.ts'
import { playSeason } from './demo-season.ts'
import { type Demo, requireDemo } from './seed.ts'

// Plays the demo's ranked season on a running service with the client library, while a listener receives its events
// live. A game server gives the xp of matches.

const PLAYERS = 8
const TOP_LEVEL = 100
/** The steps of the tutorial, and the xp of each, which clients give themselves. */
const TUTORIAL = [300n, 300n]
/** A free and a premium tier at each level. */
const TIERS = 2 * TOP_LEVEL

interface PlayerClient {
  readonly name: string
  readonly playerId: string
  readonly tierway: Tierway
}

/** `--season` plays a season from its announcement to the next one, in about these seconds. */
const OPTIONS = { season: { type: 'boolean' }, seconds: { type: 'string', default: '60' } } as const

const isTerminal = process.stdout.isTTY === true
const latencies: number[] = []
const levels = new Map<string, number>()
/** The positions of the events, in the order of their arrival. */
const received: number[] = []

async function main(): Promise<void> {
  const { season: isSeason, seconds } = parseArgs({ options: OPTIONS, strict: false }).values
  const config = readConfig(process.env)
  const demo = await requireDemo(config.dataDir)
  const ready = await fetch(`${demo.baseUrl}/readyz`).catch(() => undefined)
  if (!ready?.ok) {
    const found = ready ? `The service at ${demo.baseUrl} is not ready` : `Nothing answers at ${demo.baseUrl}`
    throw new Error(`${found}: run \`npx tierway serve\` (or \`npm start\`) in another terminal first.`)
  }
  if (isSeason) return playSeason(demo, { seconds: Number(seconds), print })
  await playMatches(demo)
}

async function playMatches(demo: Demo): Promise<void> {
  // New for each demo: a player plays a season once.
  const season = Date.now().toString(36)
  const players = await Promise.all(
    Array.from({ length: PLAYERS }, (_, index) => logIn(demo, `player ${index + 1}`, `${season}-${index + 1}`)),
  )
  print(`  ${PLAYERS} players logged in through the demo studio's webhook.`)
  // From here on only calls of the game are measured.
  latencies.length = 0
  const names = new Map(players.map(({ playerId, name }) => [playerId, name]))

  const key = await createServerKey(demo)
  const gameServer = await startGameServer({
    url: demo.baseUrl,
    environmentId: demo.environmentId,
    serverKey: key.secret,
    fetch: measured,
    scenarioId: demo.rankedScenarioId,
    nodeId: demo.passNodeId,
    play: xpOfMatch(random(0)),
  })
  print(`  A game server runs at ${gameServer.url}, with a server key of this run.`)
  const before = await streamCursor(demo, demo.environment)
  const stop = hear(demo, before, names)
  const started = performance.now()
  let seconds: number
  let end: number
  let written: number
  try {
    await playAll(demo, players, gameServer)
    seconds = (performance.now() - started) / 1000
    end = positionOf(await streamCursor(demo, demo.environment))
    written = end - positionOf(before)
    await until(() => received.length >= written, 20_000)
  } finally {
    stop()
    gameServer.close()
    await revokeServerKey(demo, key.id)
  }
  clearBar()
  const { faults, xp } = await audit(demo, players, gameServer)
  // Others may play in the same environment. Their later events do not count.
  const positions = received.filter((position) => position <= end)
  if (positions.length !== written) faults.push(`the listener received ${positions.length} events of ${written}`)
  const misplaced = positions.findIndex((position, index) => position !== positionOf(before) + index + 1)
  if (misplaced !== -1) faults.push(`event ${misplaced + 1} arrived out of order`)

  latencies.sort((a, b) => a - b)
  const median = latencies[latencies.length >> 1] ?? 0
  print('')
  print(
    `  ${latencies.length} calls in ${seconds.toFixed(1)} s (${Math.round(latencies.length / seconds)} a second), median ${median.toFixed(1)} ms.`,
  )
  if (faults.length > 0) throw new Error(`The demo found faults:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`)
  print(`  ${PLAYERS} players reached level ${TOP_LEVEL}, own premium and claimed all ${TIERS} tiers, each once.`)
  print(`  ${written} events written, ${positions.length} heard live, in order and without a gap.`)
  print(
    `  ${gameServer.matches} matches gave ${xp.match} xp, each with one call of the server; clients gave ${xp.tutorial}.`,
  )
  print('  All xp, and every balance, equals the sum of its ledger.')
}

async function playAll(demo: Demo, players: readonly PlayerClient[], gameServer: GameServer): Promise<void> {
  await cheat(demo, players)
  await Promise.all(players.map((player) => playTutorial(demo, player)))
  print(`  ${PLAYERS} clients gave themselves the xp of the tutorial, as the season allows.`)
  const seats = await Promise.all(players.map(({ tierway }) => join(gameServer, tierway)))
  await Promise.all(seats.map((seat, index) => play(demo, players[index] as PlayerClient, seat, random(index + 1))))
}

/** A login as a game makes it, through the demo studio's webhook. */
async function logIn({ baseUrl, sdkKey }: Demo, name: string, player: string): Promise<PlayerClient> {
  const tierway = new Tierway({ baseUrl, sdkKey, fetch: measured })
  await tierway.login({ customData: { player } })
  return { name, playerId: tierway.playerId ?? '', tierway }
}

async function measured(url: string, init: RequestInit): Promise<Response> {
  const started = performance.now()
  const response = await fetch(url, init)
  latencies.push(performance.now() - started)
  return response
}

const startPass = async ({ rankedScenarioId, passNodeId }: Demo, { tierway }: PlayerClient) =>
  (await tierway.scenario(rankedScenarioId).start()).battlePass(passNodeId)

/** A modified client gives itself the xp of a match, and is refused. */
async function cheat(demo: Demo, [player]: readonly PlayerClient[]): Promise<void> {
  if (!player) return
  const pass = await startPass(demo, player)
  const refusal = await pass.addXp(2_000, { source: 'match' }).catch((error) => error)
  if (!TierwayError.is(refusal))
    throw new Error(
      `${demo.rankedScenarioId} takes the xp of matches from clients, since somebody has published another definition: start the service in a new TIERWAY_DATA_DIR.`,
    )
  if (refusal.code !== 'xp_not_allowed') throw refusal
  print(`  The client of ${player.name} claims 2000 xp of a match: ${refusal.status} ${refusal.code}.`)
}

/** The tutorial runs in the client alone. */
async function playTutorial(demo: Demo, player: PlayerClient): Promise<void> {
  const pass = await startPass(demo, player)
  for (const xp of TUTORIAL) await pass.addXp(xp, { source: 'tutorial' })
}

const xpOfMatch = (next: () => number) => () => 200 + Math.floor(next() * 1800)

/** A client's place on the game server. */
interface Seat {
  match(): Promise<MatchOver>
  leave(): void
}

async function join({ url }: GameServer, tierway: Tierway): Promise<Seat> {
  const socket = new WebSocket(url)
  const closed = once(socket, 'close').then(([code, reason]) => {
    throw new Error(`The game server closed a connection: ${code} ${reason}`)
  })
  // It matters only to a match under way.
  closed.catch(() => {})
  const ask = async (message: string): Promise<Body> => {
    const heard = once(socket, 'message')
    socket.send(message)
    const [text] = await Promise.race([heard, closed])
    return JSON.parse(String(text))
  }
  await once(socket, 'open')
  await tierway.calls.withToken(({ authorization = '' }) => ask(authorization.replace('Bearer ', '')))
  return { match: () => ask('play'), leave: () => socket.close() }
}

/** One player's season: matches give xp, levels give rewards, and premium is bought as soon as the gems suffice. */
async function play(demo: Demo, player: PlayerClient, seat: Seat, next: () => number): Promise<void> {
  const { name, playerId } = player
  const pass = await startPass(demo, player)
  const claimed = new Set<string>()
  let premium = false
  let gems = 1000n

  async function claim(level: number, track: Track): Promise<void> {
    const { success, error, granted } = await pass.claim(level, track)
    if (!success) throw new Error(`${name} could not claim ${track} ${level}: ${error}`)
    claimed.add(`${track} ${level}`)
    for (const reward of granted) if (reward.currency === 'gems') gems += reward.amount
    // Sometimes a player presses twice.
    if (next() < 0.05 && !(await pass.claim(level, track)).alreadyClaimed)
      throw new Error(`${name} was granted ${track} ${level} twice`)
  }

  for (let level = 0; level < TOP_LEVEL; ) {
    const over = await seat.match()
    level = over.level
    levels.set(name, level)
    drawBar()
    if (!over.leveledUp) continue
    for (let reached = 1; reached <= level; reached += 1) {
      if (!claimed.has(`free ${reached}`)) await claim(reached, 'free')
      if (premium && !claimed.has(`premium ${reached}`)) await claim(reached, 'premium')
    }
    if (!premium && gems >= 950n) {
      const { success, error } = await pass.buyPremium({ idempotencyKey: `premium-${playerId}` })
      if (!success) throw new Error(`${name} could not buy premium: ${error}`)
      premium = true
    }
  }
  seat.leave()
  for (let level = 1; premium && level <= TOP_LEVEL; level += 1)
    if (!claimed.has(`premium ${level}`)) await claim(level, 'premium')
}

function hear(demo: Demo, after: string, names: ReadonlyMap<string, string>): () => void {
  return listen(demo, {
    environment: demo.environment,
    fields: 'cursor occurredAt playerId nodeId handle data',
    after,
    onEvent: (event) => {
      received.push(positionOf(event.cursor))
      const text = describe(event)
      if (text !== undefined)
        printAboveBar(`  ${event.occurredAt.slice(11, 23)}  ${names.get(event.playerId) ?? event.playerId}  ${text}`)
    },
    onError: (error) => printAboveBar(`  the subscription failed: ${JSON.stringify(error)}`),
  })
}

/** The line for an important event; undefined for others. */
function describe({ handle, nodeId, data }: Body): string | undefined {
  switch (handle) {
    case 'onLevelUp':
      // The top level has an event of its own.
      return data.toLevel < TOP_LEVEL && Math.floor(data.toLevel / 20) > Math.floor(data.fromLevel / 20)
        ? `reached level ${data.toLevel}`
        : undefined
    case 'onMaxLevel':
      return `reached the top level with ${data.xp} xp`
    case 'onPremiumPurchase':
      return `bought premium for ${data.price.amount} ${data.price.currency}`
    case 'onComplete':
      return nodeId === 'pass' ? 'completed the season' : undefined
    default:
      return undefined
  }
}

async function createServerKey(demo: Demo): Promise<{ readonly id: string; readonly secret: string }> {
  const { createServerKey } = await asAdmin(
    demo,
    'mutation ($input: CreateEnvironmentKeyInput!) { createServerKey(input: $input) { key serverKey { id } } }',
    { input: { environment: demo.environment, label: 'npm run demo', reason: 'a run of the demo' } },
  )
  return { id: createServerKey.serverKey.id, secret: createServerKey.key }
}

async function revokeServerKey(demo: Demo, id: string): Promise<void> {
  const query = 'mutation ($input: RevokeEnvironmentKeyInput!) { revokeServerKey(input: $input) { serverKey { id } } }'
  await asAdmin(demo, query, { input: { id, reason: 'the run of the demo is over' } })
}

/** The position of a cursor. Clients need not know it; this demo checks for gaps. */
function positionOf(cursor: string): number {
  return Number(Buffer.from(cursor, 'base64url').toString().split(':')[2])
}

const PASS = `query ($scenarioId: String!, $passNodeId: String!) {
  battlePass(scenarioId: $scenarioId, nodeId: $passNodeId) { level premiumOwned claimedTiers { level track } }
}`
const MONEY = `query ($after: String) {
  me {
    wallet { currency balance }
    walletLedger(first: 200, after: $after) { nodes { currency amount } pageInfo { hasNextPage endCursor } }
  }
}`
const XP = `query ($after: String) {
  me {
    passes { xp xpLedger(first: 200, after: $after) { nodes { source origin amount } pageInfo { hasNextPage endCursor } } }
  }
}`

interface Audit {
  readonly faults: string[]
  /** The xp of all players in the ledger, by source. */
  readonly xp: { match: bigint; tutorial: bigint }
}

/** Reads each player at the end, and compares the sums of its ledgers with its balances, and with what gave it xp. */
async function audit(demo: Demo, players: readonly PlayerClient[], { given }: GameServer): Promise<Audit> {
  const faults: string[] = []
  const xp = { match: 0n, tutorial: 0n }
  for (const player of players) {
    const { rankedScenarioId: scenarioId, passNodeId } = demo
    const ask = (query: string, variables: object): Promise<Body> =>
      player.tierway.calls.withToken((headers) => graphql(demo, headers, query, variables))
    const { battlePass } = await ask(PASS, { scenarioId, passNodeId })
    const tiers = battlePass.claimedTiers.length
    if (battlePass.level !== TOP_LEVEL || !battlePass.premiumOwned || tiers !== TIERS)
      faults.push(`${player.name} ended at level ${battlePass.level} with ${tiers} of ${TIERS} tiers claimed`)

    const money = new Sums()
    let wallet: Body = []
    for await (const me of pages(
      (after) => ask(MONEY, { after }),
      ({ walletLedger }) => walletLedger,
    )) {
      for (const { currency, amount } of me.walletLedger.nodes) money.add(currency, amount)
      wallet = me.wallet
    }
    const balances = new Sums()
    for (const { currency, balance } of wallet) balances.add(currency, balance)
    for (const currency of new Set([...balances.keys(), ...money.keys()])) {
      const [balance, sum] = [balances.of(currency), money.of(currency)]
      if (balance !== sum) faults.push(`${player.name} holds ${balance} ${currency}, and its ledger says ${sum}`)
    }

    const earned = new Sums()
    let total = 0n
    for await (const me of pages(
      (after) => ask(XP, { after }),
      ({ passes: [pass] }) => pass.xpLedger,
    )) {
      const [pass] = me.passes
      for (const { source, origin, amount } of pass.xpLedger.nodes) earned.add(`${source} of ${origin}`, amount)
      total = BigInt(pass.xp)
    }
    const [match, tutorial] = [earned.of('match of SERVER'), earned.of('tutorial of CLIENT')]
    if (match !== given.get(player.playerId)) faults.push(`${player.name} has ${match} xp of its matches`)
    if (match + tutorial !== total || earned.size !== 2)
      faults.push(`${player.name} has ${total} xp, and its ledger says ${[...earned].join('; ')}`)
    xp.match += match
    xp.tutorial += tutorial
  }
  return { faults, xp }
}

/** The answers to a query of a list, page after page. */
async function* pages(ask: (after: string | null) => Promise<Body>, listOf: (me: Body) => Body): AsyncGenerator<Body> {
  for (let after: string | null = null; ; ) {
    const { me }: Body = await ask(after)
    yield me
    const { pageInfo } = listOf(me)
    if (!pageInfo.hasNextPage) return
    after = pageInfo.endCursor
  }
}

class Sums extends Map<string, bigint> {
  add(name: string, amount: string): void {
    this.set(name, this.of(name) + BigInt(amount))
  }

  of(name: string): bigint {
    return this.get(name) ?? 0n
  }
}

const BAR_WIDTH = 40
let lastTenth = 0

function drawBar(): void {
  const done = [...levels.values()].reduce((sum, level) => sum + level, 0) / (PLAYERS * TOP_LEVEL)
  const filled = Math.round(done * BAR_WIDTH)
  const bar = `  ${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${Math.round(done * 100)} %  ${latencies.length} calls, ${received.length} events`
  // A line that wraps could not be redrawn.
  if (isTerminal) process.stdout.write(`\r\x1b[2K${bar.slice(0, (process.stdout.columns || 80) - 1)}`)
  else if (Math.floor(done * 10) > lastTenth) {
    lastTenth = Math.floor(done * 10)
    process.stdout.write(`${bar}\n`)
  }
}

function clearBar(): void {
  if (isTerminal) process.stdout.write('\r\x1b[2K')
}

function printAboveBar(line: string): void {
  clearBar()
  print(line)
  if (isTerminal) drawBar()
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

async function until(holds: () => boolean, deadlineMs: number): Promise<void> {
  const deadline = Date.now() + deadlineMs
  while (!holds() && Date.now() < deadline) await pause(20)
}

/** A small seeded generator, so that every demo plays the same season. */
function random(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x297a2d39) | 0
    return (state >>> 0) / 2 ** 32
  }
}

// Last, when everything above is defined.
try {
  await main()
} catch (error) {
  clearBar()
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}
