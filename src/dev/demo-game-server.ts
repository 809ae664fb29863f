import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type RawData, type WebSocket, WebSocketServer } from 'ws'
import type { Fetch } from '../client/index.ts'
import { createServerClient, createTokenVerifier } from '../sdk/server.ts'

// The game server of the demo. examples/game-server.mjs is one to copy.

/** A match begins when this many players wait for one, or all who are there. */
const MATCH_PLAYERS = 4

export interface GameServerOptions {
  readonly url: string
  readonly environmentId: string
  readonly serverKey: string
  readonly scenarioId: string
  readonly nodeId: string
  /** The xp that a player earns in a match. The server decides, not the client. */
  readonly play: () => number
  readonly fetch: Fetch
}

export interface GameServer {
  readonly url: string
  /** The matches that are over. Each was one call. */
  readonly matches: number
  /** The xp that each player got here. */
  readonly given: ReadonlyMap<string, bigint>
  close(): void
}

/** What a client hears after a match. */
export interface MatchOver {
  readonly level: number
  readonly leveledUp: boolean
}

interface Seat {
  readonly playerId: string
  readonly socket: WebSocket
}

/**
 * Starts it on loopback. A client sends its access token as the first message, and then a message for each match that it
 * wants to play. It gets a `MatchOver` for each.
 */
export async function startGameServer(options: GameServerOptions): Promise<GameServer> {
  const { url, environmentId, serverKey, scenarioId, nodeId, play, fetch } = options
  const verifier = createTokenVerifier({ url, environmentId })
  const service = createServerClient({ url, key: serverKey, fetch })
  const run = Date.now().toString(36)
  const given = new Map<string, bigint>()
  const seats = new Set<Seat>()
  let waiting: Seat[] = []
  let matches = 0

  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', maxPayload: 16_384 })
  await once(server, 'listening')
  server.on('connection', (socket) => {
    socket.on('error', () => socket.terminate())
    socket.once('message', (token) => {
      seat(socket, token).catch((error: Error) => socket.close(4401, error.message.slice(0, 100)))
    })
  })

  async function seat(socket: WebSocket, token: RawData): Promise<void> {
    const { playerId } = await verifier.verify(String(token))
    const seat = { playerId, socket }
    seats.add(seat)
    socket.on('message', () => {
      waiting.push(seat)
      begin()
    })
    socket.on('close', () => {
      seats.delete(seat)
      waiting = waiting.filter((one) => one !== seat)
      begin()
    })
    socket.send('{}')
  }

  function begin(): void {
    if (waiting.length === 0 || waiting.length < Math.min(MATCH_PLAYERS, seats.size)) return
    const players = waiting.splice(0, MATCH_PLAYERS)
    matches += 1
    end(players, `demo-${run}-${matches}`).catch((error: Error) => {
      for (const { socket } of players) socket.close(1011, error.message.slice(0, 100))
    })
  }

  /** The match is over: one call gives its players their xp. Repeated with its key, it would give nothing twice. */
  async function end(players: readonly Seat[], match: string): Promise<void> {
    const grants = players.map(({ playerId }) => ({
      player: { playerId },
      scenarioId,
      nodeId,
      amount: play(),
      source: 'match',
      reference: match,
    }))
    const { results } = await service.grantXp({ grants, idempotencyKey: match })
    for (const [place, { level, leveledUp, error }] of results.entries()) {
      if (error !== null) throw new Error(`a player of the match got no xp: ${error}`)
      const { playerId, socket } = players[place] as Seat
      given.set(playerId, (given.get(playerId) ?? 0n) + BigInt(grants[place]?.amount ?? 0))
      socket.send(JSON.stringify({ level, leveledUp }))
    }
  }

  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    given,
    get matches() {
      return matches
    },
    close() {
      for (const socket of server.clients) socket.terminate()
      server.close()
    },
  }
}
