import { REFUSALS, type RefusalKind } from '../../base/errors.ts'
import type { Reward } from '../../game/definition/definition.ts'
import { rewardColumn } from '../../game/inbox/messages.ts'
import { bigint, type Column, instant, nullable, text, uuid } from '../../transactions/columns.ts'
import type { Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'

// What became of the players of jobs: rows of `grant_job_players`.

export const OUTCOMES = ['granted', 'failed'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Refusals that are the cause of a player's failure. */
const REFUSED = [
  'playerNotFound',
  'playerBanned',
  'playerDeleted',
  'scenarioNotFound',
  'nodeNotFound',
  'runNotActive',
  'seasonClosed',
  'xpLimitExceeded',
  'balanceLimitExceeded',
  'premiumNotAvailable',
  'premiumTiersClaimed',
  'inboxFull',
] as const satisfies readonly RefusalKind[]

/** Why a player got nothing, or why nothing was taken back. */
export const CAUSES = [
  ...REFUSED.map((kind): (typeof REFUSALS)[(typeof REFUSED)[number]][1] => REFUSALS[kind][1]),
  'top level reached',
  'premium owned',
  'premium not owned',
  'nothing left',
] as const
export type FailureCause = (typeof CAUSES)[number]

export const isCause = (text: string): text is FailureCause => (CAUSES as readonly string[]).includes(text)

/** They are written by the commands of a job alone, and not remembered, so that no trigger renews the player's version. */
const jobPlayers = table('grant_job_players', {
  key: { jobId: uuid },
  columns: {
    /** The player's amount of a list. Xp that was given with levels. */
    amount: nullable(bigint),
    outcome: nullable(text) as Column<Outcome | null>,
    cause: nullable(text) as Column<FailureCause | null>,
    /** The rewards that were given, or taken back. */
    given: nullable(rewardColumn),
    messageId: nullable(uuid),
    actedAt: nullable(instant),
  },
  kind: 'state',
})
const rowOf = jobPlayers.one({ isKept: false })

export interface JobPlayer {
  readonly jobId: string
  readonly amount: bigint | null
  readonly outcome: Outcome | null
  readonly cause: FailureCause | null
  readonly given: readonly Reward[] | null
  readonly messageId: string | null
  readonly actedAt: Date | null
}

export const askJobPlayer = (player: Player, jobId: string) => player.one(rowOf, jobId)
