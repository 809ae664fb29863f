import type { Command } from '../commit/group-commit.ts'
import { idempotent } from '../commit/idempotency.ts'
import { Refusal } from '../errors.ts'
import { type PlayerRef, Standing } from '../players/standing.ts'
import type { ExecutionPlan } from '../scenario/plan.ts'
import { Scenarios } from '../scenario/scenarios.ts'
import { cross, openSession, type RunInput, wantSession } from '../scenario/session.ts'
import { decideXp } from './decide.ts'
import { levelAt } from './levels.ts'
import { Passes } from './passes.ts'
import { findPlace, type NodeInput, passAt, passRef, requirePlace } from './place.ts'
import { XpLedger } from './xp-ledger.ts'

export interface AddXp extends NodeInput, RunInput {
  readonly amount: bigint
  readonly source: string
  readonly idempotencyKey?: string | null
}

/** The add-xp response of spec 2.2. */
export type AddXpResult = {
  readonly level: number
  readonly xp: bigint
  readonly leveledUp: boolean
  readonly maxLevel: boolean
  readonly plan: ExecutionPlan | null
}

/** Adds xp to the player's pass (spec 4.1). Every grant is a row of the xp ledger; each level is crossed once. */
export function addXp(player: PlayerRef, input: AddXp): Command<AddXpResult> {
  const { scenarioId, nodeId, runId, amount, source } = input
  const command: Command<AddXpResult> = {
    needs(group) {
      wantSession(group, player, input)
      const definition = group.of(Scenarios).expected({ environmentId: player.environmentId, scenarioId })
      const place = definition && findPlace(definition, nodeId)
      if (!place) return
      const ref = passRef(player, scenarioId, place)
      group.of(Passes).want(ref)
      // Xp at the top level may complete the pass, which rests on its claims. Whoever gets there unforeseen, with the xp
      // of neighbours in the same group, has them loaded then.
      const pass = group.of(Passes).stored(ref)
      if (pass && !pass.completed && levelAt(place.node, pass.xp + amount) >= place.node.topLevel) {
        group.of(Passes).wantClaims(ref)
      }
    },
    decide(group) {
      const session = openSession(group, player, input)
      const place = requirePlace(session.definition, nodeId)
      const ref = passRef(player, scenarioId, place)
      const decision = decideXp(place.node, passAt(group, ref, place.node), { amount, source }, session.now)
      if (decision.kind === 'refused') throw new Refusal(decision.reason)

      const plan = cross(group, session, decision.crossings)
      group.of(Passes).set(ref, place.node, decision.next)
      group.of(XpLedger).add({ ...ref, runId, amount, source })
      const { level, xp, leveledUp, maxLevel } = decision
      return { level, xp, leveledUp, maxLevel, plan }
    },
  }
  return idempotent(command, {
    player,
    operation: 'xp',
    admit: (group) => group.of(Standing).require(player),
    key: input.idempotencyKey,
    request: { scenarioId, nodeId, runId, amount, source },
    tookEffect: () => true,
  })
}
