import { levelAt } from '../../../../src/game/battlepass/decide.ts'
import { type ClaimTrack, earnedBonus, offerText } from '../../scenario/read-definition.ts'
import { MAX_INT64, number } from '../../ui/words.ts'
import { type ClaimableTier, closedSeason, isClaimed, newlyClaimable, premiumText, tiersText } from './forecast.ts'
import {
  cancelRunMutation,
  grantPremiumMutation,
  grantTierMutation,
  grantXpMutation,
  resetPassMutation,
  resetRewardMutation,
  resetTierMutation,
  revokePremiumMutation,
} from './operations.ts'
import type { ActionField, PassRef, SupportAction } from './support-action.ts'

const TRACKS = [
  ['FREE', 'free'],
  ['PREMIUM', 'premium'],
  ['BONUS', 'bonus'],
] as const

const placeOf = ({ scenarioId, nodeId }: PassRef) => ({ scenarioId, nodeId })

export function grantXpAction(pass: PassRef): SupportAction {
  const before = BigInt(pass.xp)
  return {
    title: 'Grant xp',
    fields: [
      { name: 'amount', label: 'Xp', kind: 'amount' },
      { name: 'source', label: 'Source', kind: 'text', isOptional: true, hint: 'Shown in figures of xp by source.' },
    ],
    initial: { amount: '', source: 'support' },
    effect({ amount = '0' }) {
      const after = before + BigInt(amount)
      if (after > MAX_INT64)
        return `The player has ${number(pass.xp)} xp, and may have at most ${number(MAX_INT64)}: this will be refused.`
      const xp = `Xp: ${number(pass.xp)} → ${number(String(after))}.`
      if (!pass.view) return `${refusalAhead(pass)}${xp}`
      const levels = `Level: ${levelAt(pass.view, before)} → ${levelAt(pass.view, after)}.`
      const open = newlyClaimable(pass.view, pass, { ...pass, xp: String(after) })
      const tiers = open.length === 0 ? 'No more tiers can be claimed.' : `Can be claimed then: ${tiersText(open)}.`
      return `${refusalAhead(pass)}${xp} ${levels} ${tiers} The game receives the same events as for any other xp.`
    },
    confirm: 'Grant',
    mutation: grantXpMutation,
    input: ({ amount, source }) => ({ ...placeOf(pass), amount, source: source || undefined }),
    done: ({ amount = '0' }, { result }) =>
      `${number(amount)} xp granted. The player is at level ${result?.level ?? '?'}.`,
  }
}

export function grantTierAction(pass: PassRef, preset?: ClaimableTier): SupportAction {
  return {
    title: 'Grant a tier',
    ...grantedTier(pass, preset),
    effect: ({ level, track, choice = '' }) => {
      const tier = tierOf(pass, level, track)
      if (!pass.view) return `${refusalAhead(pass, false)}Claims the ${tierText(level, track)}.`
      if (!tier) return 'The published version has no such tier: this will be refused.'
      const option = tier.choice[Number(choice) - 1]
      const pays = offerText(option ? { rewards: [...tier.rewards, ...option], choice: [] } : tier)
      if (isClaimed(pass, tier)) return 'The tier is claimed already: nothing is paid again.'
      if (track === 'PREMIUM' && !pass.premiumOwned)
        return 'The player does not own premium: this will be refused. Grant premium first.'
      if (!option && tier.choice.length > 0)
        return `The tier pays ${pays}. Enter the number of the option, from 1 to ${tier.choice.length}.`
      if (choice !== '' && !option) return 'The tier has no such option: this will be refused.'
      const xp = BigInt(pass.xp)
      const reached = track === 'BONUS' ? earnedBonus(pass.view, xp) : levelAt(pass.view, xp)
      const has = track === 'BONUS' ? `has earned ${count(reached, 'bonus tier')}` : `is at level ${reached}`
      const far = tier.level > reached ? ` The player ${has}: it has not reached this tier.` : ''
      return `${refusalAhead(pass, false)}Claims the ${tierText(level, track)} for the player and pays ${pays}.${far}`
    },
    confirm: 'Grant',
    mutation: grantTierMutation,
    input: ({ level, track, choice }) => ({
      ...placeOf(pass),
      level: Number(level),
      track,
      choice: choice ? Number(choice) - 1 : undefined,
    }),
    done: ({ level, track }, { result }) =>
      result?.alreadyClaimed
        ? 'The tier was claimed already. Nothing was paid again.'
        : `The ${tierText(level, track)} is granted.`,
  }
}

export function resetTierAction(pass: PassRef, preset?: ClaimableTier): SupportAction {
  return {
    title: 'Reset a tier',
    ...tierChoice(preset),
    effect: ({ level, track }) => {
      const tier = { level: Number(level), track: track as ClaimTrack }
      if (!isClaimed(pass, tier)) return 'The tier is not claimed: there is nothing to reset.'
      const known = tierOf(pass, level, track)
      const pays = known ? `: ${offerText(known)}` : ''
      return `The ${tierText(level, track)} can be claimed again. The player keeps its rewards, and the next claim pays once more${pays}.`
    },
    confirm: 'Reset',
    tone: 'danger',
    mutation: resetTierMutation,
    input: ({ level, track }) => ({ ...placeOf(pass), level: Number(level), track }),
    done: ({ level, track }) => `The ${tierText(level, track)} can be claimed again.`,
  }
}

export const grantPremiumAction = (pass: PassRef): SupportAction => ({
  title: 'Grant premium',
  effect: () => {
    if (pass.view && pass.view.price === null) return 'This pass sells no premium: this will be refused.'
    const open = pass.view ? newlyClaimable(pass.view, pass, { ...pass, premiumOwned: true }) : []
    const tiers =
      open.length === 0 ? '' : ` ${count(open.length, 'more tier')} can be claimed then: ${tiersText(open)}.`
    return `The player owns premium of ${pass.nodeId} without paying for it.${tiers}${pass.view ? premiumText(pass.view) : ''}`
  },
  confirm: 'Grant premium',
  mutation: grantPremiumMutation,
  input: () => placeOf(pass),
  done: () => 'Premium granted.',
})

export const revokePremiumAction = (pass: PassRef): SupportAction => {
  const claimed = pass.claims.filter(({ track }) => track === 'PREMIUM').sort((a, b) => a.level - b.level)
  const tiers = `${count(claimed.length, 'premium tier')} claimed: ${tiersText(claimed)}.`
  return {
    title: 'Revoke premium',
    ...(claimed.length > 0 && {
      fields: [{ name: 'withTiers', label: 'Reset its claimed tiers, too', kind: 'check' }],
      initial: { withTiers: 'true' },
    }),
    effect: ({ withTiers }) => {
      const gone = 'The player no longer owns premium. Nothing is paid back.'
      if (claimed.length === 0) return gone
      return withTiers === 'true'
        ? `${gone} ${tiers} They can be claimed again with premium, and pay once more then. The player keeps their rewards.`
        : `${tiers} This will be refused: premium is revoked with its claimed tiers, or after they were reset.`
    },
    confirm: 'Revoke premium',
    tone: 'danger',
    mutation: revokePremiumMutation,
    input: ({ withTiers }) => ({ ...placeOf(pass), ...(withTiers === 'true' && { withTiers: true }) }),
    done: () => 'Premium revoked.',
  }
}

export const resetPassAction = (pass: PassRef): SupportAction => ({
  title: 'Reset the pass',
  effect: () => {
    const level = pass.view ? ` Level: ${levelAt(pass.view, BigInt(pass.xp))} → ${levelAt(pass.view, 0n)}.` : ''
    const premium = pass.premiumOwned ? ' Premium is gone.' : ''
    const claims = ` ${count(pass.claims.length, 'claim')} removed: these tiers can be claimed again.`
    return `Xp: ${number(pass.xp)} → 0.${level}${premium}${pass.claims.length > 0 ? claims : ''} The player keeps its rewards.`
  },
  confirm: 'Reset the pass',
  tone: 'danger',
  typed: pass.nodeId,
  mutation: resetPassMutation,
  input: () => placeOf(pass),
  done: () => 'The pass is reset.',
})

export const resetRewardAction = (scenarioId: string, nodeIds: readonly string[]): SupportAction => ({
  title: 'Reset a reward node',
  fields: [
    {
      name: 'nodeId',
      label: 'Reward node',
      kind: 'choice',
      options: nodeIds,
    },
  ],
  initial: { nodeId: nodeIds[0] ?? '' },
  effect: ({ nodeId }) => `${nodeId} can pay the player once more. The player keeps what it has.`,
  confirm: 'Reset',
  tone: 'danger',
  mutation: resetRewardMutation,
  input: ({ nodeId }) => ({ scenarioId, nodeId }),
  done: ({ nodeId }) => `${nodeId} can pay again.`,
})

export const cancelRunAction = (runId: string, scenarioId: string, activeNodes: readonly string[]): SupportAction => ({
  title: 'Cancel the run',
  effect: () =>
    `The run of ${scenarioId} ends${activeNodes.length > 0 ? `, with ${count(activeNodes.length, 'active node')}: ${activeNodes.join(', ')}` : ''}. Passes, claims and rewards stay. The player may start another run.`,
  confirm: 'Cancel the run',
  tone: 'danger',
  mutation: cancelRunMutation,
  input: () => ({ runId }),
  done: () => 'The run is cancelled.',
})

const tierChoice = (preset?: ClaimableTier) =>
  ({
    fields: [
      { name: 'level', label: 'Level', kind: 'amount', hint: 'Of a bonus tier its number.' },
      { name: 'track', label: 'Track', kind: 'choice', options: TRACKS },
    ],
    initial: { level: String(preset?.level ?? ''), track: preset?.track ?? 'FREE' },
  }) satisfies Partial<SupportAction>

/** The same, with the option where the pass has a choice. People count from 1. */
function grantedTier({ view }: PassRef, preset?: ClaimableTier): Pick<SupportAction, 'fields' | 'initial'> {
  const { fields, initial } = tierChoice(preset)
  const hasChoice = view && [...view.tiers, ...(view.bonus ? [view.bonus] : [])].some(({ choice }) => choice.length > 0)
  if (!hasChoice) return { fields, initial }
  return { fields: [...fields, OPTION], initial: { ...initial, choice: '' } }
}

const OPTION: ActionField = {
  name: 'choice',
  label: 'Option',
  isOptional: true,
  kind: 'amount',
  hint: 'Of a tier with a choice: 1 for the first.',
}

/** A tier with its rewards; undefined when the published version has no such tier. */
function tierOf({ view }: PassRef, level: string | undefined, track: string | undefined) {
  const number = Number(level)
  if (track !== 'BONUS') return view?.tiers.find((tier) => tier.level === number && tier.track === track)
  const bonus = view?.bonus
  return bonus && number >= 1 && number <= bonus.max
    ? { level: number, track: 'BONUS' as const, rewards: bonus.rewards, choice: bonus.choice }
    : undefined
}

/** A tier in words. */
const tierText = (level: string | undefined, track: string | undefined): string =>
  track === 'BONUS' ? `bonus tier ${level}` : `${track?.toLowerCase()} tier of level ${level}`

/** The reason why a grant will be refused, as far as the page knows. A season that is over stops xp, but not tiers. */
function refusalAhead({ hasRun, scenarioId, view, now }: PassRef, isXp = true): string {
  const closed = isXp && view ? closedSeason(view, now) : undefined
  const cause = hasRun === false ? `The player has no active run of ${scenarioId}.` : closed
  return cause === undefined ? '' : `${cause} This will be refused. `
}

const count = (of: number, what: string): string => `${of} ${what}${of === 1 ? '' : 's'}`
