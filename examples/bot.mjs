// A bot that plays a season as far as its client may, with the client library. By default it plays the demo of
// `npm start`, which takes any xp from clients:
//
//   SDK_KEY=twsdk_… TIERWAY_URL=http://127.0.0.1:4000 PLAYER=robby node examples/bot.mjs
//
// SCENARIO, PASS and SOURCE name another season, its battle pass and a source of xp: `ranked-1` of the demo takes only so
// much practice in a day. When it is started again, it continues.
import { Tierway, TierwayError } from 'tierway/client'

const { TIERWAY_URL = 'http://127.0.0.1:4000', SDK_KEY = '', PLAYER = 'robby' } = process.env
const { SCENARIO = 'season-1', PASS = 'pass', SOURCE = 'practice' } = process.env

try {
  const tierway = new Tierway({ baseUrl: TIERWAY_URL, sdkKey: SDK_KEY })
  await tierway.login({ customData: { player: PLAYER }, nickname: PLAYER })
  const season = await tierway.scenario(SCENARIO).start()
  const pass = season.battlePass(PASS)
  pass.on('onLevelUp', ({ toLevel, xp }) => console.log(`level ${toLevel} with ${xp} xp`))

  let { xp } = await pass.progress()
  for (let isOver = false; !isOver; ) {
    const amount = 500 + Math.floor(Math.random() * 1_500)
    const answer = await pass.addXp(amount, { source: SOURCE })
    // Over a limit of the season, a call succeeds and adds nothing.
    isOver = answer.maxLevel || answer.xp === xp
    xp = answer.xp
  }
  const premium = await pass.buyPremium()
  console.log(premium.success ? 'bought premium' : `no premium: ${premium.error}`)
  const { claimed } = await pass.claimAll()
  const { wallet, inventory } = await tierway.player()
  console.log(`claimed ${claimed.length} tiers`)
  for (const { currency, balance } of wallet) console.log(`has ${balance} ${currency}`)
  for (const { itemId, amount } of inventory) console.log(`has ${amount} ${itemId}`)
} catch (error) {
  // The library has retried already.
  if (!TierwayError.is(error)) throw error
  console.error(`given up: ${error.message} (${error.code})`)
  process.exitCode = 1
}
