import { levelAt, rewardText, type Track } from '../../scenario/read-definition.ts'
import { number } from '../../ui/text.tsx'
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
import type { PassRef, PlayerData, SupportAction } from './support-action.ts'

const TRACKS = [
  ['FREE', 'free'],
  ['PREMIUM', 'premium'],
] as const

const xpOf = (player: PlayerData, { scenarioId, nodeId }: PassRef): bigint =>
  BigInt(player.passes.find((one) => one.scenarioId === scenarioId && one.nodeId === nodeId)?.xp ?? '0')

const placeOf = (player: PlayerData, { scenarioId, nodeId }: PassRef) => ({
  playerId: player.playerId,
  scenarioId,
  nodeId,
})

export function grantXpAction(player: PlayerData, pass: PassRef): SupportAction {
  const before = xpOf(player, pass)
  return {
    title: 'Grant xp',
    fields: [
      { name: 'amount', label: 'Xp', kind: 'amount' },
      { name: 'source', label: 'Source', kind: 'text', isOptional: true, hint: 'Shown in figures of xp by source.' },
    ],
    initial: { amount: '', source: 'support' },
    effect({ amount = '0' }) {
      const after = before + BigInt(amount)
      const xp = `Xp: ${number(String(before))} → ${number(String(after))}.`
      if (!pass.view) return xp
      const [from, to] = [levelAt(pass.view, before), levelAt(pass.view, after)]
      const open = pass.view.tiers.filter(({ level }) => level > from && level <= to).length
      return `${xp} Level: ${from} → ${to}${open > 0 ? `, and ${open} more tiers are reached` : ''}. The rules of the game apply: events are told, and nodes behind a level-up are entered.`
    },
    confirm: 'Grant',
    mutation: grantXpMutation as SupportAction['mutation'],
    input: ({ amount, source }) => ({ ...placeOf(player, pass), amount, source: source || undefined }),
    isKeyed: true,
    done: ({ amount = '0' }) => `${number(amount)} xp granted.`,
  }
}

export function grantTierAction(
  player: PlayerData,
  pass: PassRef,
  preset?: { level: number; track: Track },
): SupportAction {
  return {
    title: 'Grant a tier',
    fields: tierFields,
    initial: { level: String(preset?.level ?? ''), track: preset?.track ?? 'FREE' },
    effect: ({ level, track }) => {
      const tier = tierOf(pass, level, track)
      const level0 = pass.view ? levelAt(pass.view, xpOf(player, pass)) : 0
      const far = Number(level) > level0 ? ` The player is at level ${level0}: it has not reached this tier.` : ''
      return tier
        ? `Claims the ${track?.toLowerCase()} tier of level ${level} for the player and pays ${tier.rewards.map(rewardText).join(', ') || 'nothing'}.${far}`
        : 'The published version has no such tier.'
    },
    confirm: 'Grant',
    mutation: grantTierMutation as SupportAction['mutation'],
    input: ({ level, track }) => ({ ...placeOf(player, pass), level: Number(level), track }),
    isKeyed: true,
    done: ({ level, track }) => `The ${track?.toLowerCase()} tier of level ${level} is granted.`,
  }
}

export function resetTierAction(
  player: PlayerData,
  pass: PassRef,
  preset?: { level: number; track: Track },
): SupportAction {
  return {
    title: 'Reset a tier',
    fields: tierFields,
    initial: { level: String(preset?.level ?? ''), track: preset?.track ?? 'FREE' },
    effect: ({ level, track }) =>
      `The ${track?.toLowerCase()} tier of level ${level} can be claimed again. The player keeps its rewards, and gets them once more with the next claim.`,
    confirm: 'Reset',
    tone: 'danger',
    mutation: resetTierMutation as SupportAction['mutation'],
    input: ({ level, track }) => ({ ...placeOf(player, pass), level: Number(level), track }),
    done: ({ level, track }) => `The ${track?.toLowerCase()} tier of level ${level} can be claimed again.`,
  }
}

export const grantPremiumAction = (player: PlayerData, pass: PassRef): SupportAction => ({
  title: 'Grant premium',
  fields: [],
  effect: () => {
    const count = pass.view?.tiers.filter(
      ({ level, track }) => track === 'PREMIUM' && level <= levelAt(pass.view ?? emptyPass, xpOf(player, pass)),
    ).length
    return `The player owns premium of ${pass.nodeId} without paying for it.${count === undefined ? '' : ` ${count} premium tiers can be claimed then.`}`
  },
  confirm: 'Grant premium',
  mutation: grantPremiumMutation as SupportAction['mutation'],
  input: () => placeOf(player, pass),
  done: () => 'Premium granted.',
})

export const revokePremiumAction = (player: PlayerData, pass: PassRef): SupportAction => ({
  title: 'Revoke premium',
  fields: [],
  effect: () =>
    'The player no longer owns premium. It is refused while premium tiers are claimed: reset them first. Nothing is paid back.',
  confirm: 'Revoke premium',
  tone: 'danger',
  mutation: revokePremiumMutation as SupportAction['mutation'],
  input: () => placeOf(player, pass),
  done: () => 'Premium revoked.',
})

export const resetPassAction = (player: PlayerData, pass: PassRef): SupportAction => ({
  title: 'Reset the pass',
  fields: [],
  effect: () =>
    `Xp: ${number(String(xpOf(player, pass)))} → 0. Premium and all claims are gone, and every tier can be claimed again. The player keeps its rewards.`,
  confirm: 'Reset the pass',
  tone: 'danger',
  typed: pass.nodeId,
  mutation: resetPassMutation as SupportAction['mutation'],
  input: () => placeOf(player, pass),
  done: () => 'The pass is reset.',
})

export const resetRewardAction = (
  player: PlayerData,
  scenarioId: string,
  nodeIds: readonly string[],
): SupportAction => ({
  title: 'Reset a reward node',
  fields: [
    {
      name: 'nodeId',
      label: 'Reward node',
      kind: 'choice',
      options: nodeIds.map((id) => [id, id]),
    },
  ],
  initial: { nodeId: nodeIds[0] ?? '' },
  effect: ({ nodeId }) => `${nodeId} can pay the player once more. The player keeps what it has.`,
  confirm: 'Reset',
  tone: 'danger',
  mutation: resetRewardMutation as SupportAction['mutation'],
  input: ({ nodeId }) => ({ playerId: player.playerId, scenarioId, nodeId }),
  done: ({ nodeId }) => `${nodeId} can pay again.`,
})

export const cancelRunAction = (player: PlayerData, runId: string, scenarioId: string): SupportAction => ({
  title: 'Cancel the run',
  fields: [],
  effect: () =>
    `The run of ${scenarioId} ends as it stands. Passes, claims and rewards stay. The player may start another run.`,
  confirm: 'Cancel the run',
  tone: 'danger',
  mutation: cancelRunMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId, runId }),
  done: () => 'The run is cancelled.',
})

const tierFields = [
  { name: 'level', label: 'Level', kind: 'amount' },
  { name: 'track', label: 'Track', kind: 'choice', options: TRACKS },
] as const satisfies SupportAction['fields']

const emptyPass = { id: '', levels: [], tiers: [], price: null, startsAt: null, endsAt: null, claimUntil: null }

const tierOf = ({ view }: PassRef, level: string | undefined, track: string | undefined) =>
  view?.tiers.find((tier) => tier.level === Number(level) && tier.track === track)
