import { playersText } from '../../ui/players-text.ts'
import { number } from '../../ui/words.ts'
import type { Preview } from './use-preview.ts'

type Pass = Preview['passes'][number]

const price = (one: { readonly amount: string; readonly currency: string }): string =>
  `${number(one.amount)} ${one.currency}`

/** The effects of publishing on players, in sentences. None for a change that no player notices. */
export function previewSentences(preview: Preview): string[] {
  return [...preview.passes.flatMap(ofPass), ...preview.removedNodes.map(ofNode)]
}

function ofPass(pass: Pass): string[] {
  const { nodeId, isAdded, isRemoved, players: all, premiumOwners } = pass
  const said: string[] = []
  const say = (text: string) => said.push(`${nodeId}: ${text}`)
  if (isAdded)
    say(all > 0 ? `the pass is back, with its ${playersText(all)}.` : 'a new pass, which every player begins.')
  if (isRemoved)
    say(`the pass is removed. ${capital(playersText(all))} can no longer play it. Their progress stays stored.`)
  if (pass.levelGained > 0)
    say(`${playersText(pass.levelGained)} of ${number(all)} would be at a higher level at once.`)
  if (pass.levelLost > 0)
    say(`${playersText(pass.levelLost)} of ${number(all)} would be at a lower level. Claimed tiers stay claimed.`)
  for (const { track, players: count, tiers } of pass.newlyClaimable) {
    if (count === 0) continue
    const levels = tiers.length === 1 ? `the tier of level ${tiers[0]?.level}` : `${tiers.length} tiers`
    say(`${playersText(count)} could claim ${levels} of the ${track.toLowerCase()} track that they cannot claim now.`)
  }
  const removed = pass.removedClaims.reduce((sum, one) => sum + one.players, 0)
  if (removed > 0)
    say(
      `${number(removed)} ${removed === 1 ? 'claim is' : 'claims are'} of tiers that are removed. Rewards that were granted stay.`,
    )
  const [before, after] = [pass.priceBefore, pass.priceAfter]
  const owners = premiumOwners > 0 ? ` ${capital(playersText(premiumOwners))} own it already, and keep it.` : ''
  if (before && after && price(before) !== price(after))
    say(`premium would cost ${price(after)} instead of ${price(before)}.${owners}`)
  else if (before && !after && !isRemoved) say(`premium would not be sold any more.${owners}`)
  else if (!before && after && !isAdded) say(`premium would be sold for ${price(after)}.`)
  if (pass.claimsOpenBefore && !pass.claimsOpenAfter && !isRemoved) say('claims would close at once.')
  if (!pass.claimsOpenBefore && pass.claimsOpenAfter && !isAdded) say('claims would open at once.')
  return said
}

const ofNode = ({ nodeId, type, activeRuns }: Preview['removedNodes'][number]): string =>
  activeRuns === 0
    ? `The ${type} node ${nodeId} is removed. No active run is at this node.`
    : `The ${type} node ${nodeId} is removed. ${activeRuns === 1 ? '1 active run is' : `${number(activeRuns)} active runs are`} at this node.`

const capital = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`
