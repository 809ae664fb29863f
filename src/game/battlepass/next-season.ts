import type { Group, Steps } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import type { Definition, PassNode } from '../definition/definition.ts'
import { carriedXp } from '../definition/next-season.ts'
import type { AskedRun } from '../runs/begin-run.ts'
import type { ExecutionPlan } from '../runs/plan.ts'
import { askRun, type Run, rewardsOf, settleWalk } from '../runs/runs.ts'
import { type PassRef, type ScenarioRef, Scenarios } from '../runs/scenarios.ts'
import { addStep, askStep } from '../runs/season-steps.ts'
import { overflowOf } from '../wallet/holdings.ts'
import { askConversion, giveXp } from './add-xp.ts'
import { askEveryTier } from './ask-tiers.ts'
import { claimForPlayer } from './claim-earned.ts'
import { decideXp, inSeason } from './decide.ts'
import { askPass, type PassHandle } from './passes.ts'

// From one season to the next: which one follows, and what a player takes along.

/** The scenario whose season runs after the one that has ended here. Null while there is none. */
export function seasonAfter(group: Group, { environmentId, scenarioId }: ScenarioRef): string | null {
  const scenarios = group.of(Scenarios)
  const now = scenarios.now({ environmentId, scenarioId })
  const seen = new Set<string>()
  for (let from = scenarioId; !seen.has(from); ) {
    seen.add(from)
    const definition = scenarios.find({ environmentId, scenarioId: from })
    const ended = [...(definition?.nodes.values() ?? [])].filter(
      (node): node is PassNode => node.type === 'battle-pass' && hasEnded(node, now) && nextOf(node) !== null,
    )
    const next = ended[0] ? nextOf(ended[0]) : null
    if (next === null || next === scenarioId) return null
    const after = scenarios.find({ environmentId, scenarioId: next })
    for (const pass of ended) {
      const follows = nextOf(pass) === next ? nextPass(after, pass) : null
      if (follows && inSeason(follows, now)) return next
    }
    from = next
  }
  return null
}

const hasEnded = ({ endsAt }: PassNode, now: Date): boolean => endsAt !== null && now >= endsAt
const nextOf = ({ next }: PassNode): string | null => next?.scenarioId ?? null

/** The pass that follows a pass. */
function nextPass(definition: Definition | null | undefined, { id, next }: PassNode): PassNode | null {
  const node = definition?.nodes.get(next?.nodeId ?? id)
  return node?.type === 'battle-pass' ? node : null
}

/** What a player may take along from a pass to the one that follows. */
export interface Carried {
  readonly definition: Definition
  readonly from: PassHandle
  readonly to: PassHandle
}

/** Asks for what a player may take along to a scenario. While the group waits, the result is meaningless. */
export function askCarried(
  group: Group,
  ref: PlayerRef,
  { scenarioId, definition }: AskedRun,
  runId: string,
): readonly Carried[] {
  const { environmentId } = ref
  if (!definition) return []
  const scenarios = group.of(Scenarios)
  const now = scenarios.now({ environmentId, scenarioId })
  return scenarios.before({ environmentId, scenarioId }).flatMap((place: PassRef) => {
    const before = scenarios.find(place)
    const ended = before?.nodes.get(place.nodeId)
    if (!before || ended?.type !== 'battle-pass' || !hasEnded(ended, now) || nextOf(ended) !== scenarioId) return []
    const next = nextPass(definition, ended)
    if (!next || !inSeason(next, now)) return []
    const player = group.player(ref)
    const from = askPass(player, before, place)
    const to = askPass(player, definition, { scenarioId, nodeId: next.id })
    if (!from || !to || askStep(player, place, 'carried')) return []
    askEveryTier(to, definition, runId)
    askConversion(to)
    return [{ definition, from, to }]
  })
}

/**
 * Gives a player what it takes along, once: xp, with the levels that it reaches, and premium. `askCarried` must have asked
 * for all rows. Nothing is given while the rewards behind the levels do not fit: a later start tries again. Null when
 * nothing was crossed and no tier was claimed.
 */
export function* carry(
  group: Group,
  player: Player,
  { definition, from, to }: Carried,
  run: Run,
): Steps<ExecutionPlan | null> {
  const rules = from.node.next?.carry
  if (!rules || !from.stored) return null
  const { xp, premiumOwned } = from.current
  const hasPremium = rules.premium && premiumOwned && to.node.premium !== null && !to.current.premiumOwned
  const amount = carriedXp(rules, xp)
  if (amount === 0n && !hasPremium) return null

  const gift = { amount, source: 'season', origin: 'season' } as const
  const decision = amount > 0n ? decideXp(to.node, to.current, gift, to.nowIn(group)) : null
  if (decision && decision.kind !== 'added') return null
  const { crossings = [], converted = [] } = decision ?? {}
  if (overflowOf(player, [...converted, ...rewardsOf(settleWalk(player, definition, run, crossings))])) return null

  addStep(group, player, { scenarioId: from.scenarioId, nodeId: from.node.id }, 'carried')
  if (hasPremium) to.set(group, { ...to.current, premiumOwned: true })
  const reference = `${from.scenarioId}/${from.node.id}`
  const given = decision ? yield* giveXp(group, { ...gift, definition, run, pass: to, reference }) : null
  const plan = given && 'plan' in given ? given.plan : null
  if (to.node.autoClaim !== 'always') return plan
  return yield* claimForPlayer(group, to, { definition, run: askRun(player, run.runId) }, plan)
}
