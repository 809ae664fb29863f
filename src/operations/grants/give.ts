import { Refusal } from '../../base/errors.ts'
import { addXp } from '../../game/battlepass/add-xp.ts'
import { askPass, type NodeInput, type PassHandle, requirePass } from '../../game/battlepass/passes.ts'
import {
  askPremiumGift,
  claimForPremium,
  givePremium,
  isGiftOf,
  notePremiumGift,
} from '../../game/battlepass/premium-gifts.ts'
import type { Definition, PassNode } from '../../game/definition/definition.ts'
import { cancel, deliver, hasRoom } from '../../game/inbox/deliver.ts'
import { askInbox, askMessage } from '../../game/inbox/messages.ts'
import { askActiveRun } from '../../game/runs/runs.ts'
import { requireScenario, Scenarios } from '../../game/runs/scenarios.ts'
import { askHoldings, askWallet, grant, requireRoom, takeBack } from '../../game/wallet/holdings.ts'
import { askStatus } from '../../players/player-status.ts'
import { arrayOf, uuid } from '../../transactions/columns.ts'
import { askAnswers, type Command, forgetAnswers } from '../../transactions/command.ts'
import type { Extension, Group, Steps } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import type { Row, Statement } from '../../transactions/statement.ts'
import { PREMIUM_ANSWERS } from '../support/support-pass.ts'
import { type Job, rewardsFor } from './job.ts'
import { askJobPlayer, type FailureCause, isCause, type JobPlayer, type Outcome } from './outcomes.ts'

/** The jobs of a group, locked before its players until it ends: a job that pauses or is cancelled waits for the group. */
class JobLocks implements Extension {
  static readonly stage = 'locks'
  private readonly asked = new Set<string>()
  private readonly holders = new Map<string, string | null>()

  /** The instance that runs the job; null while nobody runs it. Undefined until it is read. */
  holderOf(jobId: string): string | null | undefined {
    if (!this.holders.has(jobId)) this.asked.add(jobId)
    return this.holders.get(jobId)
  }

  load(): Statement[] {
    if (this.asked.size === 0) return []
    const ids = [...this.asked].sort()
    this.asked.clear()
    return [
      {
        name: 'grant-jobs-lock',
        text: `SELECT id, CASE WHEN state = 'running' THEN holder::text END FROM grant_jobs
          WHERE id = ANY ($1::uuid[]) ORDER BY id FOR SHARE`,
        values: [arrayOf(ids, uuid.encode)],
        take: (rows: Row[]) => {
          for (const id of ids) this.holders.set(id, null)
          for (const [id, holder] of rows) this.holders.set(id, holder)
        },
      },
    ]
  }
}

/** What is written of a player. */
type Done = Partial<Pick<JobPlayer, 'amount' | 'given' | 'messageId'>>

/**
 * Gives a player of a job what the job gives, or takes it back for a job that undoes another, and writes the outcome in
 * the same transaction: once, however often this runs. A refusal is the outcome of this player. Null when this instance
 * no longer runs the job, which then changes nothing.
 */
export function actOnPlayer(ref: PlayerRef, job: Job, holder: string): Command<Outcome | null> {
  const takesPremium = job.undoOf !== null && job.gift?.premium !== null
  return {
    player: ref,
    // The players of a whole game would displace those who play from memory.
    fresh: true,
    // Stored answers are removed.
    ...(takesPremium && { apart: true as const }),
    *decide(group) {
      const { player, row, status, runs } = yield* group.rows(() => {
        const runs = group.of(JobLocks).holderOf(job.id) === holder
        const player = group.player(ref)
        return { player, row: askJobPlayer(player, job.id), status: askStatus(player), runs }
      })
      const before = row.value
      if (!runs) return null
      // Rows are removed long after the end of their job.
      if (before === null) return 'failed'
      if (before.outcome !== null) return before.outcome
      const act = job.undoOf === null ? give(group, player, job, before) : undo(group, player, job)
      const done = yield* orRefusal(refuseGone(status.value?.status) ?? act)
      const failure = done instanceof Refusal ? causeOf(done) : typeof done === 'string' ? done : null
      const outcome = failure === null ? 'granted' : 'failed'
      const result: Done = failure === null ? (done as Done) : {}
      row.set({ ...before, ...result, outcome, cause: failure, actedAt: group.now })
      return outcome
    },
  }
}

function refuseGone(status: string | undefined): Refusal | undefined {
  if (status === undefined) return new Refusal('playerNotFound')
  return status === 'deleted' ? new Refusal('playerDeleted') : undefined
}

function causeOf(refusal: Refusal): FailureCause {
  if (isCause(refusal.message)) return refusal.message
  throw new Error('a player of a grant job was refused', { cause: refusal })
}

/** The outcome of steps, or the refusal that they threw, before which they changed nothing. */
function* orRefusal<T>(steps: Steps<T> | Refusal): Steps<T | Refusal> {
  if (steps instanceof Refusal) return steps
  try {
    return yield* steps
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

type Acting = Steps<Done | FailureCause | Refusal>

const referenceOf = ({ id }: Job): string => `grant-job/${id}`

function* give(group: Group, player: Player, job: Job, { amount }: JobPlayer): Acting {
  const { gift, message } = job
  const rewards = rewardsFor(gift, amount)
  if (message) {
    yield* group.rows(() => askInbox(player))
    if (!hasRoom(group, player)) return 'inbox full'
  }
  let done: Done | FailureCause | Refusal = { given: rewards }
  if (gift?.xp) done = yield* giveXp(group, player, job, { ...gift.xp, amount: gift.xp.amount ?? amount ?? 0n })
  else if (gift?.levels) done = yield* giveLevels(group, player, job, gift.levels)
  else if (gift?.premium) done = yield* giveOwnership(group, player, gift.premium, referenceOf(job))
  else if (!message && gift?.rewards) {
    yield* group.rows(() => askHoldings(player, rewards))
    requireRoom(player, rewards)
    grant(group, player, rewards, { reason: 'grant_job', reference: referenceOf(job) })
  }
  if (!message || done instanceof Refusal || typeof done === 'string') return done
  const { texts: text, image, days } = message
  const expiresAt = new Date(group.now.getTime() + days * 86_400_000)
  const { messageId } = deliver(group, player, {
    kind: 'message',
    text,
    image,
    rewards,
    reference: referenceOf(job),
    expiresAt,
  })
  return { ...done, messageId }
}

interface GivenXp extends NodeInput {
  readonly amount: bigint
  readonly source: string
}

/** Adds xp in the active run, by the rules of the game for operators. */
function* giveXp(group: Group, player: Player, job: Job, { scenarioId, ...xp }: GivenXp): Acting {
  const active = yield* group.rows(() => {
    group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId })
    return askActiveRun(player, scenarioId)
  })
  requireScenario(group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId }))
  if (!active.value) return new Refusal('runNotActive')
  const { runId } = active.value
  const given = { origin: 'operator', reference: referenceOf(job) } as const
  const result = yield* addXp(player, { ...xp, scenarioId, runId }, given).decide(group)
  return result instanceof Refusal ? result : { amount: xp.amount }
}

function* giveLevels(
  group: Group,
  player: Player,
  job: Job,
  { levels, ...at }: NonNullable<NonNullable<Job['gift']>['levels']>,
): Acting {
  const { definition, pass } = yield* group.rows(() => askPassOf(group, player, at))
  requireScenario(definition)
  const { node, current } = requirePass(pass)
  const missing = missingXp(node, current.xp, levels)
  if (missing === 0n) return 'top level reached'
  return yield* giveXp(group, player, job, { ...at, amount: missing, source: 'grant' })
}

/** The xp that a player lacks to a number of further levels; 0 at the top level. */
export function missingXp({ levels }: Pick<PassNode, 'levels'>, xp: bigint, more: number): bigint {
  const next = levels.findIndex((level) => level.xp > xp)
  if (next === -1) return 0n
  return (levels[Math.min(next + more, levels.length) - 1]?.xp ?? xp) - xp
}

function askPassOf(
  group: Group,
  player: Player,
  at: NodeInput,
): { readonly definition: Definition | null | undefined; readonly pass: PassHandle | undefined } {
  const definition = group.of(Scenarios).find({ environmentId: player.environmentId, scenarioId: at.scenarioId })
  return { definition, pass: askPass(player, definition, at)?.askClaims() }
}

function* giveOwnership(group: Group, player: Player, at: NodeInput, reference: string): Acting {
  const asked = yield* group.rows(() => askPremium(group, player, at))
  const definition = requireScenario(asked.definition)
  const handle = requirePass(asked.pass)
  const { node, current } = handle
  if (!node.premium) return new Refusal('premiumNotAvailable')
  if (current.premiumOwned) return 'premium owned'
  givePremium(group, handle, reference)
  yield* claimForPremium(group, handle, definition)
  return {}
}

function askPremium(group: Group, player: Player, at: NodeInput): ReturnType<typeof askPassOf> {
  const asked = askPassOf(group, player, at)
  if (asked.pass) askPremiumGift(asked.pass)
  return asked
}

/** Takes back what a job gave and the player still has. */
function* undo(group: Group, player: Player, job: Job): Acting {
  const { undoOf, gift } = job
  const origin = (yield* group.rows(() => askJobPlayer(player, undoOf ?? ''))).value
  if (origin?.outcome !== 'granted') return 'nothing left'
  const givenBy = `grant-job/${undoOf}`
  if (gift?.premium) return yield* undoPremium(group, player, gift.premium, givenBy)
  const { messageId } = origin
  const given = origin.given ?? []
  const message = yield* group.rows(() => {
    askWallet(player)
    askHoldings(player, given)
    if (messageId === null) return null
    askInbox(player)
    return askMessage(player, messageId)
  })
  const isUnclaimed = message?.value?.claimedAt === null
  if (isUnclaimed && messageId !== null) {
    cancel(group, player, messageId)
    return { given }
  }
  if (messageId !== null && !message?.value) return 'nothing left'
  const taken = takeBack(group, player, given, {
    reason: 'grant_job',
    reference: referenceOf(job),
    given: messageId === null ? givenBy : `inbox/${messageId}`,
  })
  return taken.length === 0 ? 'nothing left' : { given: taken }
}

function* undoPremium(group: Group, player: Player, at: NodeInput, givenBy: string): Acting {
  const { definition, pass } = yield* group.rows(() => {
    askAnswers(player, PREMIUM_ANSWERS)
    return askPremium(group, player, at)
  })
  requireScenario(definition)
  const handle = requirePass(pass)
  if (!handle.current.premiumOwned) return 'premium not owned'
  if (!isGiftOf(handle, givenBy)) return 'nothing left'
  if (handle.claimed.some((tier) => tier.startsWith('premium'))) return new Refusal('premiumTiersClaimed')
  handle.set(group, { ...handle.current, premiumOwned: false })
  notePremiumGift(handle, '')
  forgetAnswers(
    player,
    PREMIUM_ANSWERS,
    ([scenarioId, nodeId]) => scenarioId === at.scenarioId && nodeId === handle.node.id,
  )
  return {}
}
