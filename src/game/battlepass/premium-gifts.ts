import { text } from '../../transactions/columns.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import { keyOf, type One } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import type { Definition } from '../definition/definition.ts'
import { askActiveRun, askRun } from '../runs/runs.ts'
import { askEveryTier } from './ask-tiers.ts'
import { claimForPlayer } from './claim-earned.ts'
import type { NodeInput, PassHandle } from './passes.ts'

// What gave a player its premium, if that can be undone: an action of support or a grant job. Premium that a player buys
// has no row, or one with an empty reference from an earlier gift that is gone.

interface PremiumGift extends NodeInput {
  /** As in the ledger of the wallet, such as `grant-job/` and an id. Empty once the premium was taken away. */
  readonly reference: string
}

const premiumGifts = table('premium_gifts', {
  key: { scenarioId: text, nodeId: text },
  columns: { reference: text },
  kind: 'state',
})
const giftOf = premiumGifts.one({ isKept: false })

/** Asks for what gave the premium of a pass. Only in a transaction. */
export const askPremiumGift = ({ player, scenarioId, node }: PassHandle): One<PremiumGift> =>
  player.one(giftOf, keyOf(scenarioId, node.id))

/** Notes what gave the premium; an empty reference once it was taken away. Ask first. */
export const notePremiumGift = (pass: PassHandle, reference: string): void =>
  askPremiumGift(pass).set({ scenarioId: pass.scenarioId, nodeId: pass.node.id, reference })

/** Whether premium that a player owns is of this reference. */
export const isGiftOf = (pass: PassHandle, reference: string): boolean =>
  askPremiumGift(pass).value?.reference === reference

/** Gives premium without its price. Ask for the claims, and for what gave it, first. */
export function givePremium(group: Group, pass: PassHandle, reference: string): void {
  pass.set(group, { ...pass.current, premiumOwned: true })
  notePremiumGift(pass, reference)
}

/** Claims for the player what its premium has earned, as a purchase does: in an active run of a pass with `autoClaim`. */
export function* claimForPremium(group: Group, pass: PassHandle, definition: Definition): Steps<void> {
  if (pass.node.autoClaim !== 'always') return
  const { player, scenarioId } = pass
  const run = yield* group.rows(() => {
    const active = askActiveRun(player, scenarioId)
    const run = active.isKnown && active.value ? askRun(player, active.value.runId) : null
    askEveryTier(pass, definition, run?.key ?? null)
    return run
  })
  if (run?.value) yield* claimForPlayer(group, pass, { definition, run }, null)
}
