import { MAX_INT64 } from '../../base/json.ts'
import { MAX_REWARDS } from '../../base/limits.ts'
import { Stream } from '../../events/append.ts'
import { askStatus } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import { askAllTiers } from '../battlepass/ask-tiers.ts'
import { offerAt } from '../battlepass/claim.ts'
import { type ClaimedEarned, claimEarned } from '../battlepass/claim-earned.ts'
import { earnedOf } from '../battlepass/open-tiers.ts'
import { NO_RUN, type NodeInput, type PassHandle } from '../battlepass/passes.ts'
import {
  allRewards,
  assetKey,
  type Definition,
  type Granted,
  granted,
  nextNodes,
  type PassNode,
  type Reward,
} from '../definition/definition.ts'
import { converted } from '../definition/next-season.ts'
import { deliver, hasRoom } from '../inbox/deliver.ts'
import { askInbox } from '../inbox/messages.ts'
import { askActiveRun, type Run, record, rewardsOf, settleWalk } from '../runs/runs.ts'
import { Scenarios } from '../runs/scenarios.ts'
import { addStep, askStep } from '../runs/season-steps.ts'
import { askWallet, balanceOf, move, overflowOf } from '../wallet/holdings.ts'
import { isSettled } from './season-schedule.ts'

/** What happened to a player at the end of a season. */
export interface Settled {
  readonly tiers: number
  /** Whether it was granted tiers, or currencies ended. */
  readonly isChanged: boolean
  /** Tiers, conversions and the crossing whose rewards would have passed the limit of a balance or an amount. */
  readonly failed: number
}

const NOTHING: Settled = { tiers: 0, isChanged: false, failed: 0 }

/** Whether the season is settled now. An edit may have moved its end, or have taken away what there is to do. */
export const isSettledAt = (definition: Definition, pass: PassNode, now: Date): boolean =>
  isSettled(definition, pass) && pass.claimUntil !== null && now >= pass.claimUntil

/**
 * Ends a season for a player, once claims have closed, and reports it in one event: grants the tiers that it has earned
 * and not claimed, or mails them, crosses `onSeasonEnd` in an active run, and converts the currencies that end. Each of
 * these happens once, however often this runs. A banned player keeps what it has earned, a deleted one gets nothing.
 * Null when the season is not settled now.
 */
export function settlePass(ref: PlayerRef, { scenarioId, nodeId }: NodeInput): Command<Settled | null> {
  return {
    player: ref,
    // The players of a whole season would displace those who play from memory.
    fresh: true,
    *decide(group) {
      const active = yield* group.rows(() => {
        const player = group.player(ref)
        askStatus(player)
        group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
        return askActiveRun(player, scenarioId)
      })
      const input = { scenarioId, nodeId, runId: active.value?.runId ?? NO_RUN }
      const { rows, pass, hasEnded } = yield* group.rows(() => {
        const { rows, asked } = askAllTiers(group, ref, input)
        askWallet(rows.player)
        if (asked?.node.mail) askInbox(rows.player)
        return { rows, pass: asked, hasEnded: askStep(rows.player, { scenarioId, nodeId }, 'ended') }
      })
      const { player, definition } = rows
      const status = askStatus(player).value?.status
      if (!definition || !pass || !isSettledAt(definition, pass.node, pass.nowIn(group))) return null
      if (status === undefined || status === 'deleted') return NOTHING

      const isGranted = pass.node.atEnd !== 'lose' && pass.stored !== null
      const mail: Reward[] | undefined = hasRoomForMail(group, pass) ? [] : undefined
      const by = { by: 'season end', mail } as const
      const earned = isGranted ? yield* claimEarned(group, pass, { definition, run: rows.run }, by) : NO_TIERS
      const tiers = earned.claimed.length
      const given = earned.claimed.flatMap(({ granted }) => granted)
      const mailed = summed(mail ?? [])
      // A claim may have changed the run.
      const run = rows.run?.value?.status === 'active' ? rows.run.value : null
      const isCrossed = pass.stored === null || run === null || hasEnded || crossEnd(group, pass, definition, run)
      const ended = endCurrencies(group, player, pass)
      sendMail(group, pass, mailed)

      const failed = earned.failed + Number(!isCrossed) + ended.failed
      const isChanged = tiers > 0 || ended.taken.length > 0
      if (isChanged || failed > 0)
        group.of(Stream).append({
          environmentId: ref.environmentId,
          playerId: ref.playerId,
          scenarioId,
          nodeId,
          type: 'season.settled',
          handle: null,
          byClient: false,
          runId: active.value?.runId ?? null,
          data: {
            tiers,
            failed,
            granted: sumOf([...given, ...ended.given]),
            ...(ended.taken.length > 0 && { ended: ended.taken }),
            ...(mailed.length > 0 && { mailed: mailed.map(granted) }),
          },
        })
      return { tiers, isChanged, failed }
    },
  }
}

const NO_TIERS: ClaimedEarned = { claimed: [], plans: [], failed: 0 }

/** Crosses `onSeasonEnd`, where it leads somewhere. False when the rewards of the nodes behind it do not fit. */
function crossEnd(group: Group, pass: PassHandle, definition: Definition, run: Run): boolean {
  const { player, scenarioId, node, level } = pass
  if (nextNodes(definition, node.id, 'onSeasonEnd').length === 0) return true
  const { xp, premiumOwned } = pass.current
  const crossing = { nodeId: node.id, handle: 'onSeasonEnd', data: { level, xp, premiumOwned } }
  const step = settleWalk(player, definition, run, [crossing])
  if (overflowOf(player, rewardsOf(step))) return false
  record(group, player, run, step)
  addStep(group, player, { scenarioId, nodeId: node.id }, 'ended')
  return true
}

interface EndedCurrencies {
  readonly taken: readonly Granted[]
  readonly given: readonly Granted[]
  /** Currencies that stay, as what they become would not fit. */
  readonly failed: number
}

/** Takes the currencies that end with the season, and gives what they become. */
function endCurrencies(group: Group, player: Player, { scenarioId, node }: PassHandle): EndedCurrencies {
  const cause = { reason: 'season_end', reference: `${scenarioId}/${node.id}` } as const
  const taken: Granted[] = []
  const given: Granted[] = []
  let failed = 0
  for (const conversion of node.next?.convert ?? []) {
    const { currency, to } = conversion
    const balance = balanceOf(player, currency)
    if (balance === 0n) continue
    const amount = to === null ? 0n : converted(conversion, balance)
    if (to !== null && overflowOf(player, [{ currency: to, itemId: null, amount }])) {
      failed += 1
      continue
    }
    move(group, player, currency, -balance, cause)
    taken.push({ currency, itemId: null, amount: balance })
    if (to === null || amount === 0n) continue
    move(group, player, to, amount, cause)
    given.push({ currency: to, itemId: null, amount })
  }
  return { taken, given, failed }
}

/**
 * Whether the tiers are mailed: the pass says so, and the inbox has room for as many messages as the earned ones may need.
 * Into a full inbox nothing is put, so that the player gets its rewards at once.
 */
function hasRoomForMail(group: Group, pass: PassHandle): boolean {
  if (pass.node.mail === null) return false
  const all = earnedOf(pass, 'season end', pass.nowIn(group)).flatMap((tier) => {
    const offer = offerAt(pass, tier)
    return offer ? allRewards(offer) : []
  })
  const messages = Math.ceil(summed(all).length / MAX_REWARDS)
  return hasRoom(group, pass.player, Math.max(messages, 1))
}

const DAY_MS = 86_400_000

/** Puts rewards into the inbox, as many in a message as it may have. */
function sendMail(group: Group, { player, scenarioId, node }: PassHandle, rewards: readonly Reward[]): void {
  const { text = null, image = null, days = 0 } = node.mail ?? {}
  const about = { scenarioId, nodeId: node.id, reference: `${scenarioId}/${node.id}` }
  const expiresAt = new Date(group.now.getTime() + days * DAY_MS)
  for (let from = 0; from < rewards.length; from += MAX_REWARDS) {
    const some = rewards.slice(from, from + MAX_REWARDS)
    deliver(group, player, { kind: 'season_end', text, image, rewards: some, expiresAt, ...about })
  }
}

/** Rewards with each currency and item once, unless its sum would pass int64. Boosts stay as they are. */
function summed(rewards: readonly Reward[]): Reward[] {
  const sums: Reward[] = []
  const places = new Map<string, number>()
  for (const reward of rewards) {
    if (reward.boost) {
      sums.push(reward)
      continue
    }
    const asset = assetKey(reward)
    const place = places.get(asset)
    const sum = (place === undefined ? 0n : (sums[place]?.amount ?? 0n)) + reward.amount
    if (place !== undefined && sum <= MAX_INT64) sums[place] = { ...reward, amount: sum }
    else places.set(asset, sums.push(reward) - 1)
  }
  return sums
}

/** The rewards in all, each currency, item and boost once, in the order in which they came. */
function sumOf(rewards: readonly Granted[]): Granted[] {
  const sums = new Map<string, Granted>()
  for (const reward of rewards) {
    const key = assetKey(reward)
    const amount = BigInt(sums.get(key)?.amount ?? 0) + BigInt(reward.amount)
    sums.set(key, { ...reward, amount })
  }
  return [...sums.values()]
}
