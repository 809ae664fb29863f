// A game server with matches of ten players. Clients connect over a WebSocket and send their access token first; the
// server verifies it by itself, and closes the connection when the login ends or the player is banned. At the end of a
// match, one call gives all of them their xp:
//
//   TIERWAY_URL=http://127.0.0.1:4000 SERVER_KEY=twsrv_… ENVIRONMENT_ID=… PORT=7000 node examples/game-server.mjs
//
// A client sends {"token":"…"}, then {"score":1} whenever it scores, and {"done":true} when it has nothing left to do. It
// gets {"joined":…}, {"start":…} when the match is full, and {"over":…} with its xp. It needs the packages
// `tierway-server` and `ws`.
import { randomUUID } from 'node:crypto'
import { createServerClient, createTokenVerifier, TierwayError, TokenError } from 'tierway-server'
import { WebSocketServer } from 'ws'

const { TIERWAY_URL = 'http://127.0.0.1:4000', SERVER_KEY = '', ENVIRONMENT_ID = '', PORT = '7000' } = process.env
const { SCENARIO = 'ranked-1', PASS = 'pass', MATCH_SECONDS = '300' } = process.env
const PLAYERS = 10
const MAX_SCORE = 100
const TOKEN_WAIT_MS = 10_000

const verifier = createTokenVerifier({ url: TIERWAY_URL, environmentId: ENVIRONMENT_ID })
// A match is over in minutes, so its xp may wait for a service that is away.
const tierway = createServerClient({ url: TIERWAY_URL, key: SERVER_KEY, retries: 50, deadlineMs: 600_000 })

/** Connected players by their ids. */
const connected = new Map()

// At the start a token of a login that has ended may come in, until the verifier knows of it and closes its connection.
verifier
  .follow({
    key: SERVER_KEY,
    onEnded({ playerId, loginId, code }) {
      const player = connected.get(playerId)
      if (player && (loginId === null || loginId === player.loginId)) player.socket.close(4403, code)
    },
    onError: (error) => console.error(`ended logins: ${error.message} (${error.code})`),
  })
  .then(() => console.log('ended logins are known'))

const newMatch = () => ({ id: randomUUID(), isOn: false, timer: undefined, players: new Map() })
/** The match that takes players. */
let next = newMatch()

const server = new WebSocketServer({ port: Number(PORT), host: '127.0.0.1', maxPayload: 16_384 })
server.on('listening', () => console.log(`listening on ws://127.0.0.1:${server.address().port}`))

server.on('connection', (socket) => {
  let state = 'new'
  let match
  let player
  const late = setTimeout(() => socket.close(4401, 'no token came'), TOKEN_WAIT_MS)
  socket.on('error', () => socket.terminate())
  socket.on('close', () => {
    clearTimeout(late)
    if (player && connected.get(player.playerId) === player) connected.delete(player.playerId)
    if (!match || match.players.get(player.playerId) !== player) return
    // A player who leaves before the start makes room. Later, the score counts.
    if (match === next) match.players.delete(player.playerId)
    else leave(match, player)
  })
  socket.on('message', async (data) => {
    const message = parse(data)
    if (state === 'new') {
      state = 'verifying'
      clearTimeout(late)
      try {
        const { playerId, loginId } = await verifier.verify(message.token)
        if (socket.readyState !== socket.OPEN) return
        state = 'playing'
        match = next
        // A player who connects again takes the place of the former connection.
        connected.get(playerId)?.socket.close(4409, 'connected again')
        player = { playerId, loginId, socket, score: 0, isDone: false }
        connected.set(playerId, player)
        match.players.set(playerId, player)
        send(socket, { joined: match.id, players: match.players.size })
        if (match.players.size === PLAYERS) start(match)
      } catch (error) {
        if (!(error instanceof TokenError)) throw error
        socket.close(error.code === 'keys_unreachable' ? 1013 : 4401, error.code)
      }
    } else if (match?.isOn && message.score === 1) player.score = Math.min(player.score + 1, MAX_SCORE)
    else if (match?.isOn && message.done === true) leave(match, player)
  })
})

function start(match) {
  next = newMatch()
  match.isOn = true
  for (const { socket } of match.players.values()) send(socket, { start: match.id })
  match.timer = setTimeout(() => end(match), Number(MATCH_SECONDS) * 1_000)
}

/** The match is over when nobody plays any more. */
function leave(match, player) {
  player.isDone = true
  if (match.isOn && [...match.players.values()].every(({ isDone }) => isDone)) void end(match)
}

/** One call for all players. The id of the match is its key, so that a repeated call gives nothing twice. */
async function end(match) {
  match.isOn = false
  clearTimeout(match.timer)
  const players = [...match.players.values()]
  const grants = players.map(({ playerId, score }) => ({
    player: { playerId },
    scenarioId: SCENARIO,
    nodeId: PASS,
    amount: 100 + 10 * score,
    source: 'match',
    reference: match.id,
  }))
  try {
    const { results } = await tierway.grantXp({ grants, idempotencyKey: match.id })
    for (const [at, { level, xp, leveledUp, error }] of results.entries()) {
      send(players[at].socket, { over: match.id, level, xp: xp === null ? null : String(xp), leveledUp, error })
      players[at].socket.close(1000)
    }
    console.log(`match ${match.id}: ${results.filter(({ error }) => error === null).length} players got xp`)
  } catch (error) {
    if (!TierwayError.is(error)) throw error
    // A real server keeps the grants, and makes the same call with the same key later.
    console.error(`match ${match.id}: no xp, ${error.message} (${error.code}), request ${error.requestId}`)
    for (const { socket } of players) socket.close(1011)
  }
}

function send(socket, message) {
  socket.send(JSON.stringify(message))
}

/** The message of a client, which may be anything. */
function parse(data) {
  try {
    return Object(JSON.parse(String(data)))
  } catch {
    return {}
  }
}
