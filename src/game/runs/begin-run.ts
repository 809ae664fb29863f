import { askStatus, requireActive } from '../../players/player-status.ts'
import type { Group } from '../../transactions/group.ts'
import type { PlayerRef } from '../../transactions/player.ts'
import type { Definition } from '../definition/definition.ts'
import { askHoldings, overflowOf, requireRoom } from '../wallet/holdings.ts'
import { begin, type ExecutionPlan, isLost, type Walk } from './plan.ts'
import { settle } from './reward-payments.ts'
import { askActiveRun, askCancel, askPlan, askRun, cancel, type Run, record, rewardsOf } from './runs.ts'
import { requireScenario, Scenarios } from './scenarios.ts'

/** A run that begins, or the active one. */
export interface Begun {
  readonly runId: string
  readonly resumed: boolean
  readonly plan: ExecutionPlan | null
}

/** What a start needs to know. */
export interface AskedRun {
  readonly scenarioId: string
  readonly definition: Definition | null | undefined
  /** The run that is resumed; null when one begins. */
  readonly resumed: Begun | null
  /** An active run that an edit left without anything to do. It is cancelled. */
  readonly lost: Run | null
  /** The steps of a run that begins. */
  readonly step: Walk | null
}

/**
 * Asks for what the start of a scenario needs. Ask again with each answer; while the group waits, the result is
 * meaningless. The run that may begin has its id already, so that rows of it can be asked for.
 */
export function askBegin(group: Group, ref: PlayerRef, scenarioId: string): AskedRun {
  const player = group.player(ref)
  askStatus(player)
  const definition = group.of(Scenarios).find({ environmentId: ref.environmentId, scenarioId })
  const active = askActiveRun(player, scenarioId)
  const nothing = { scenarioId, definition, resumed: null, lost: null, step: null }
  if (!definition || group.waits) return nothing
  let lost: Run | null = null
  if (active.value) {
    const { runId } = active.value
    const [run, last] = [askRun(player, runId), askPlan(player, runId)]
    if (group.waits) return nothing
    lost = run?.value ?? null
    if (!lost || !isLost(definition, lost))
      return { ...nothing, resumed: { runId, resumed: true, plan: last.value?.plan ?? null } }
    group.askTransaction()
    askCancel(player, runId)
  }
  const step = settle(player, scenarioId, null, begin(definition))
  askHoldings(player, rewardsOf(step))
  return { ...nothing, lost, step }
}

/** Whether the rewards at the beginning fit. */
export const hasRoom = (group: Group, ref: PlayerRef, { step }: AskedRun): boolean =>
  step === null || !overflowOf(group.player(ref), rewardsOf(step))

/**
 * Begins the run that was asked for, or resumes the active one: there is never a second. A run that an edit left without
 * anything to do is cancelled, and another begins.
 */
export function beginRun(group: Group, ref: PlayerRef, asked: AskedRun, runId: string): Begun {
  const player = group.player(ref)
  requireActive(player)
  requireScenario(asked.definition)
  const { scenarioId, resumed, lost, step } = asked
  if (resumed) return resumed
  if (!step) throw new Error('a run begins with its steps')
  requireRoom(player, rewardsOf(step))
  if (lost) cancel(group, player, lost, 'definition changed')
  const own: Run = { runId, scenarioId, status: 'active', active: [], cause: null }
  return { runId, resumed: false, plan: record(group, player, own, step) }
}
