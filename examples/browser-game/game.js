// A game with a battle pass, in a browser. It talks to the service only through the client library. In a game with a
// bundler the import is `from 'tierway-client'`.
import { localStorage, Outbox, Tierway, TierwayError } from './client/index.js'
import * as view from './view.js'

// The address and SDK key of the demo. A game has them in its configuration: the SDK key is not secret.
const demo = await (await fetch(new URL('demo.json', import.meta.url))).json()
const baseUrl = new URL('..', import.meta.url).href

const RETRY_MS = 3_000

/** The connection that the "offline" switch cuts, by aborting it. */
let cable = new AbortController()
const tierway = new Tierway({
  baseUrl,
  sdkKey: demo.sdkKey,
  // Keeps the login after the page is closed, for all tabs.
  storage: localStorage(),
  // Only for the switch. Default: the browser's `fetch`.
  fetch: (url, init) => fetch(url, { ...init, signal: AbortSignal.any([init.signal, cable.signal]) }),
})
/** Practice matches are played with or without a connection: their xp waits here, also while the page is closed. */
const outbox = new Outbox(tierway)

/** The run of the player that is signed in: `{ session, pass, season, leave }`. */
let game
let isEntering = false

// --- Logging in and out ------------------------------------------------------------------------------------------

view.on('login', async (name) => {
  await tierway.login({ customData: { ...demo.customData, player: name }, nickname: name })
})
view.on('logout', () => tierway.logout())

tierway.on('signedIn', () => attempt(enter))
tierway.on('signedOut', ({ why }) => {
  game?.leave()
  game = undefined
  view.showLogin(
    demo.customData.player,
    { logout: '', expired: 'Log in again.', replaced: 'Another player logged in.' }[why],
  )
})

/** Starts the player's run of the season, or resumes it. */
async function enter() {
  if (game || isEntering) return
  isEntering = true
  try {
    const session = await tierway.scenario(demo.scenarioId).start()
    const pass = session.battlePass(demo.passNodeId)
    // A battle pass is always active. Its data has the published levels, tiers and price.
    const { data } = session.active.find(({ nodeId }) => nodeId === demo.passNodeId)
    game = { session, pass, season: data, leave: () => undefined }
    listenTo(session, pass)
    view.showGame(data)
    if (!session.isResumed) view.logGranted(session.plan?.granted ?? [])
    follow()
    await refresh()
  } catch (error) {
    // Without a run there is nothing to play: try until it works, or the login has ended.
    if (!game) setTimeout(() => tierway.playerId && attempt(enter), RETRY_MS)
    throw error
  } finally {
    isEntering = false
  }
}

// --- What happens in the run -------------------------------------------------------------------------------------

function listenTo(session, pass) {
  pass.on('onLevelUp', ({ toLevel }) => view.celebrate(`Level ${toLevel}!`))
  pass.on('onMaxLevel', () => view.celebrate('The top level!'))
  pass.on('onPremiumPurchase', () => view.celebrate('Premium is yours!'))
  session.on('crossed', ({ nodeId, handle, toLevel }) => {
    view.log(`${nodeId}: ${handle}${toLevel ? ` to level ${toLevel}` : ''}`)
    return attempt(refresh)
  })
  session.on('granted', ({ rewards }) => view.logGranted(rewards))
  // Types that the service does not run are the game's: it shows them, and crosses `onComplete` when they are over.
  session.on('entered', ({ nodeId, type, data }) => {
    if (type === 'popup') view.log(`A popup: ${data.title}`)
    if (type === 'cutscene') view.celebrate(`The finale: ${data.clip}`)
    // Another tab may have crossed it before.
    if (type === 'popup' || type === 'cutscene') session.cross(nodeId, 'onComplete').catch(() => undefined)
  })
}

/** Receives the events of other tabs and devices, too. */
function follow() {
  if (!game || isOffline()) return
  game.leave()
  game.leave = game.session.follow({ onError: tell })
}

let asked = 0

/** Draws the state of the service. The last of several concurrent calls counts. */
async function refresh() {
  if (!game || isOffline()) return
  const { pass, season } = game
  asked += 1
  const mine = asked
  const [progress, player] = await Promise.all([pass.progress(), tierway.player()])
  if (mine === asked && game?.pass === pass) view.draw({ progress, player, season })
}

// --- Playing -----------------------------------------------------------------------------------------------------

view.on('play', async () => {
  const amount = 200 + Math.floor(Math.random() * 300)
  await outbox.addXp(game.pass, amount, { source: 'practice' })
  view.log(`A match: ${amount} xp`)
  await countOutbox()
})
view.on('claim', async ({ level, track }) => {
  const { success, error } = await game.pass.claim(level, track)
  if (!success) view.alert(`Level ${level}, ${track}: ${error}.`)
  await refresh()
})
view.on('claimAll', async () => {
  const { claimed } = await game.pass.claimAll()
  view.celebrate(claimed.length === 1 ? 'A reward claimed' : `${claimed.length} rewards claimed`)
  await refresh()
})
view.on('premium', async () => {
  // A "no" of the game is not an error: the page shows its text.
  const { success, error } = await game.pass.buyPremium()
  if (!success) view.alert(`No premium: ${error}.`)
  await refresh()
})

let sentXp
outbox.on('sent', ({ answer }) => {
  // A season may take only so much practice in a day, since clients could claim any xp. The answer is the same then.
  if (answer.xp === sentXp) view.alert('Practice earns no more xp today.')
  sentXp = answer.xp
  return attempt(countOutbox, refresh)
})
outbox.on('refused', ({ xp, error }) => {
  view.alert(`A match with ${xp.amount} xp does not count: ${error.message}.`)
  return attempt(countOutbox)
})

async function countOutbox() {
  view.drawOutbox(await outbox.size())
}

// --- With and without a connection -------------------------------------------------------------------------------

const isOffline = () => cable.signal.aborted || !navigator.onLine

view.on('offline', (isPulled) => {
  if (isPulled) cable.abort()
  else cable = new AbortController()
  return reconnect()
})
addEventListener('online', () => attempt(reconnect))
addEventListener('offline', () => attempt(reconnect))
// Shows what other tabs and devices did meanwhile.
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) return attempt(refresh)
})

async function reconnect() {
  view.drawConnection(isOffline())
  view.alert('')
  if (isOffline()) return game?.leave()
  // If the login was restored without a connection, there is no run yet.
  if (!game && tierway.playerId) await enter()
  follow()
  await outbox.flush()
  await refresh()
}

// --- Faults ------------------------------------------------------------------------------------------------------

/** Runs steps one after the other. Shows errors, and never throws. */
async function attempt(...steps) {
  try {
    for (const step of steps) await step()
  } catch (error) {
    tell(error)
  }
}

function tell(error) {
  if (!TierwayError.is(error)) throw error
  // `signedOut` shows it.
  if (error.code === 'signed_out') return
  if (isOffline()) view.alert('There is no connection. Matches count later; all else has to wait.')
  else view.alert(error.retryable ? 'The service cannot be reached. Try again.' : `It did not work: ${error.message}`)
}

view.start(attempt)
view.drawConnection(isOffline())
if (await tierway.restore()) {
  await attempt(enter, countOutbox)
} else {
  view.showLogin(demo.customData.player)
}
