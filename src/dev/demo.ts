import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import { readConfig } from '../base/config.ts'
import { Tierway, type Track } from '../client/index.ts'
import { type Demo, requireDemo } from './seed.ts'

// Plays the demo season on a running service with the client library, while a listener receives its events live.

const PLAYERS = 8
const TOP_LEVEL = 100
/** A free and a premium tier at each level. */
const TIERS = 2 * TOP_LEVEL

interface PlayerClient {
  readonly name: string
  readonly playerId: string
  readonly tierway: Tierway
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of the API, whose shapes openapi.json describes.
type Body = any

const isTerminal = process.stdout.isTTY === true
const latencies: number[] = []
const levels = new Map<string, number>()
/** The positions of the events, in the order of their arrival. */
const received: number[] = []

async function main(): Promise<void> {
  const config = readConfig(process.env)
  const demo = await requireDemo(config.dataDir)
  const ready = await fetch(`${demo.baseUrl}/readyz`).catch(() => undefined)
  if (!ready?.ok) {
    const found = ready ? `The service at ${demo.baseUrl} is not ready` : `Nothing answers at ${demo.baseUrl}`
    throw new Error(`${found}: run \`npx tierway serve\` (or \`npm start\`) in another terminal first.`)
  }

  // New for each demo: a player plays a season once.
  const season = Date.now().toString(36)
  const players = await Promise.all(
    Array.from({ length: PLAYERS }, (_, index) => logIn(demo, `player ${index + 1}`, `${season}-${index + 1}`)),
  )
  print(`  ${PLAYERS} players logged in through the demo studio's webhook.`)
  // From here on only calls of the game are measured.
  latencies.length = 0
  const names = new Map(players.map(({ playerId, name }) => [playerId, name]))

  const before = await streamCursor(demo)
  const stop = listen(demo, before, names)
  const started = performance.now()
  await Promise.all(players.map((player, index) => play(demo, player, random(index + 1))))
  const seconds = (performance.now() - started) / 1000

  const end = positionOf(await streamCursor(demo))
  const written = end - positionOf(before)
  await until(() => received.length >= written, 20_000)
  stop()
  clearBar()
  const faults = await audit(demo, players)
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
  print('  Every balance equals the sum of its ledger.')
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

/** One player's season: matches give xp, levels give rewards, and premium is bought as soon as the gems suffice. */
async function play(demo: Demo, { name, playerId, tierway }: PlayerClient, next: () => number): Promise<void> {
  const pass = (await tierway.scenario(demo.scenarioId).start()).battlePass(demo.passNodeId)
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
    const answer = await pass.addXp(200 + Math.floor(next() * 1800), { source: 'match' })
    level = answer.level
    levels.set(name, level)
    drawBar()
    if (!answer.leveledUp) continue
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
  for (let level = 1; premium && level <= TOP_LEVEL; level += 1)
    if (!claimed.has(`premium ${level}`)) await claim(level, 'premium')
}

const EVENTS = `subscription ($environment: String!, $after: String) {
  events(environment: $environment, after: $after) { cursor occurredAt playerId nodeId handle data }
}`

/** Prints events as they happen. */
function listen(demo: Demo, after: string, names: ReadonlyMap<string, string>): () => void {
  const client = createClient({
    url: `${demo.baseUrl.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${demo.platformKey}` },
  })
  client.subscribe(
    { query: EVENTS, variables: { environment: demo.environment, after } },
    {
      next: ({ data }) => {
        const event = data?.events as Body
        if (!event) return
        received.push(positionOf(event.cursor))
        const text = describe(event)
        if (text !== undefined)
          printAboveBar(`  ${event.occurredAt.slice(11, 23)}  ${names.get(event.playerId) ?? event.playerId}  ${text}`)
      },
      error: (error) => printAboveBar(`  the subscription failed: ${JSON.stringify(error)}`),
      complete: () => {},
    },
  )
  return () => void client.dispose()
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

async function graphql(demo: Demo, headers: HeadersInit, query: string, variables: object = {}): Promise<Body> {
  const response = await fetch(`${demo.baseUrl}/graphql`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  })
  const { data, errors }: Body = await response.json()
  if (errors) throw new Error(`GraphQL answered ${JSON.stringify(errors)}`)
  return data
}

async function streamCursor(demo: Demo): Promise<string> {
  return (
    await graphql(
      demo,
      { authorization: `Bearer ${demo.platformKey}` },
      'query ($environment: String) { streamCursor(environment: $environment) }',
      { environment: demo.environment },
    )
  ).streamCursor
}

/** The position of a cursor. Clients need not know it; this demo checks for gaps. */
function positionOf(cursor: string): number {
  return Number(Buffer.from(cursor, 'base64url').toString().split(':')[2])
}

const PASS = `query ($scenarioId: String!, $passNodeId: String!) {
  battlePass(scenarioId: $scenarioId, nodeId: $passNodeId) { level premiumOwned claimedTiers { level track } }
}`
const BOOKS = `query ($after: String) {
  me {
    wallet { currency balance }
    walletLedger(first: 200, after: $after) { edges { node { currency amount } } pageInfo { hasNextPage endCursor } }
  }
}`

/** Reads each player at the end, and compares the sums of its ledger with its balances. */
async function audit(demo: Demo, players: readonly PlayerClient[]): Promise<string[]> {
  const faults: string[] = []
  for (const player of players) {
    const { scenarioId, passNodeId } = demo
    const ask = (query: string, variables: object): Promise<Body> =>
      player.tierway.calls.withToken((headers) => graphql(demo, headers, query, variables))
    const { battlePass } = await ask(PASS, { scenarioId, passNodeId })
    const tiers = battlePass.claimedTiers.length
    if (battlePass.level !== TOP_LEVEL || !battlePass.premiumOwned || tiers !== TIERS)
      faults.push(`${player.name} ended at level ${battlePass.level} with ${tiers} of ${TIERS} tiers claimed`)

    const sums = new Map<string, bigint>()
    let after: string | null = null
    let wallet: Body = []
    do {
      const { me }: Body = await ask(BOOKS, { after })
      for (const { node } of me.walletLedger.edges)
        sums.set(node.currency, (sums.get(node.currency) ?? 0n) + BigInt(node.amount))
      wallet = me.wallet
      after = me.walletLedger.pageInfo.hasNextPage ? me.walletLedger.pageInfo.endCursor : null
    } while (after !== null)
    const balances = new Map<string, bigint>(wallet.map((entry: Body) => [entry.currency, BigInt(entry.balance)]))
    for (const currency of new Set([...balances.keys(), ...sums.keys()])) {
      const balance = balances.get(currency) ?? 0n
      const sum = sums.get(currency) ?? 0n
      if (balance !== sum) faults.push(`${player.name} holds ${balance} ${currency}, and its ledger says ${sum}`)
    }
  }
  return faults
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
