import { type Fault, Refusal, type RefusalKind } from '../../base/errors.ts'
import { MAX_INT64 } from '../../base/json.ts'
import { MAX_SOURCE } from '../../base/limits.ts'
import { type AnswerOf, answer, out } from '../../declare/answer.ts'
import { EXAMPLE_RUN, idempotencyKey, inRun, type Unkeyed } from '../../declare/common.ts'
import { RUN_CALL } from '../../declare/contract.ts'
import { playerCall } from '../../declare/player-call.ts'
import { int64, optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { Stream } from '../../events/append.ts'
import { admitActive } from '../../players/player-status.ts'
import type { Command } from '../../transactions/command.ts'
import type { Group, Steps } from '../../transactions/group.ts'
import type { Player, PlayerRef } from '../../transactions/player.ts'
import { withOwn } from '../boosts/player-boosts.ts'
import type { Boost } from '../boosts/stored.ts'
import type { Definition, PassNode } from '../definition/definition.ts'
import type { XpSender } from '../definition/xp-rules.ts'
import { EXAMPLE_PLAN, executionPlan } from '../runs/plan.ts'
import {
  askActive,
  askRunRows,
  askWalk,
  type Run,
  record,
  requireActiveRun,
  settleWalk,
  type Walked,
} from '../runs/runs.ts'
import { Scenarios } from '../runs/scenarios.ts'
import { askWallet, grant, requireRoom } from '../wallet/holdings.ts'
import { askEveryTier } from './ask-tiers.ts'
import { claimForPlayer } from './claim-earned.ts'
import { bonusOf, decideXp, levelAt, type XpDecision } from './decide.ts'
import { type LimitedCall, LimitedCalls } from './limited-calls.ts'
import { aboutPass, askPass, type NodeInput, type PassHandle, requirePass } from './passes.ts'
import { isTrusted, type Limited, type SentXp, type XpOrigin } from './xp-limits.ts'

/** The add-xp request of contract 2.1. Clients may leave `source` out. */
export const addXpRequest = shape(
  {
    ...inRun,
    amount: int64('The amount of xp: 1 or more.', { min: 1n }),
    source: optional(
      text(`The source of the xp: up to ${MAX_SOURCE} characters. Default: empty.`, { max: MAX_SOURCE, min: 0 }),
      '',
    ),
    idempotencyKey,
  },
  { name: 'AddXpRequest', example: { ...EXAMPLE_RUN, amount: 600, source: 'tutorial' } },
)
export type AddXp = Unkeyed<RequestOf<typeof addXpRequest>>

export const addXpAnswer = answer(
  'The state after the addition. A call that is repeated with its idempotency key answers the same.',
  {
    level: out.int32('The level after the addition.'),
    xp: out.int64('The xp after the addition.'),
    leveledUp: out.flag('Whether the call reached a new level.'),
    maxLevel: out.flag('Whether the player is at the last level.'),
    plan: out.orNull(executionPlan),
  },
  { name: 'AddXpResponse', example: { level: 2, xp: 600, leveledUp: true, maxLevel: false, plan: EXAMPLE_PLAN } },
)
export type AddXpResult = AnswerOf<typeof addXpAnswer>

/** Where xp comes from, and what its row in the ledger says of it. */
export interface GivenXp {
  readonly origin: XpOrigin
  /** The row of the ledger. Default: a new id. */
  readonly entryId?: string
  readonly reference?: string | null
}

/**
 * Adds xp to the player's pass (contract 4.1). Every grant is a row of the xp ledger. Each level is crossed once. A call that
 * a limit refuses still publishes the event of that limit.
 */
export function addXp(ref: PlayerRef, input: AddXp, given: GivenXp = { origin: 'client' }): Command<AddXpResult> {
  return xpCommand(ref, input, given, 'xp')
}

/** Adds xp that a game server gives. Without a run, it is the active one. */
export function addServerXp(
  ref: PlayerRef,
  input: Omit<AddXp, 'runId'> & { readonly runId: string | null },
  { reference }: Pick<GivenXp, 'reference'>,
): Command<AddXpResult> {
  return xpCommand(ref, input, { origin: 'server', reference }, 'server.xp')
}

function xpCommand(
  ref: PlayerRef,
  input: Omit<AddXp, 'runId'> & { readonly runId: string | null },
  given: GivenXp,
  operation: string,
): Command<AddXpResult> {
  const { scenarioId, nodeId, runId, amount, source, idempotencyKey: key } = input
  const { origin, entryId, reference } = given
  const sent = { scenarioId, nodeId, amount, source, origin }
  return {
    player: ref,
    once: {
      operation,
      key,
      request:
        reference === undefined
          ? { scenarioId, nodeId, runId, amount, source }
          : { scenarioId, nodeId, runId, amount, source, reference },
      admit: (group) => admitActive(group, ref),
      about: (_result, group) => aboutPass(group, ref, input),
    },
    *decide(group) {
      const active = runId === null ? yield* askActive(group, ref, scenarioId) : runId
      const rows = yield* group.rows(() => {
        const rows = askRunRows(group, ref, { scenarioId, runId: active })
        const asked = askXp(group, rows.player, rows.definition, sent)
        if (rows.definition && asked?.pass.node.autoClaim === 'always')
          askEveryTier(asked.pass, rows.definition, rows.run?.key ?? null)
        return { player: rows.player, definition: rows.definition, run: rows.run, asked }
      })
      const { definition, run } = requireActiveRun(rows, scenarioId)
      const pass = requirePass(rows.asked?.pass)
      const boosts = rows.asked?.boosts
      const result = yield* giveXp(group, { definition, run, pass, amount, source, boosts, origin, entryId, reference })
      if (pass.node.autoClaim !== 'always' || result instanceof Refusal) return result
      result.plan = yield* claimForPlayer(group, pass, { definition, run: rows.run }, result.plan)
      return result
    },
  }
}

/** Asks for a pass with the boosts that may apply, and for its claims where xp may complete it. */
function askXp(
  group: Group,
  player: Player,
  definition: Definition | null | undefined,
  input: NodeInput & SentXp,
): { readonly pass: PassHandle; readonly boosts: readonly Boost[] } | undefined {
  const pass = askPass(player, definition, input)
  if (!pass) return undefined
  const { environmentId } = player
  const { scenarioId } = pass
  const scenario = group.of(Scenarios).see({ environmentId, scenarioId })
  const boosts = isTrusted(input.origin) || !scenario ? NO_BOOSTS : withOwn(scenario.boosts, player, scenario.clock)
  const { stored } = pass
  askConversion(pass)
  // Xp at the top level may complete the pass, which depends on its claims.
  if (stored && !stored.completed) {
    const boosting = { boosts, now: pass.nowIn(group) }
    const most = stored.xp + input.amount + bonusOf(pass.node, stored, input, boosting)
    if (levelAt(pass.node, most) >= pass.node.topLevel) pass.askClaims()
  }
  return { pass, boosts }
}

const NO_BOOSTS: readonly Boost[] = []

/** Asks for the wallet, where xp above the top level becomes a currency. */
export function askConversion({ player, node }: PassHandle): void {
  if (node.beyond?.kind === 'conversion') askWallet(player)
}

/** The answer of one addition, whose plan what it causes may go on. */
interface Added extends AddXpResult {
  plan: AddXpResult['plan']
}

interface Gift extends GivenXp {
  readonly definition: Definition
  readonly run: Run
  readonly pass: PassHandle
  readonly amount: bigint
  readonly source: string
  /** The boosts that may apply. */
  readonly boosts?: readonly Boost[] | undefined
}

export function* giveXp(group: Group, gift: Gift): Steps<Added | Refusal> {
  const { definition, run, pass } = gift
  const decision = decideXp(pass.node, pass.current, gift, pass.nowIn(group), gift.boosts)
  if (decision.kind === 'refused') return refuse(group, gift, decision)
  const { crossings } = decision
  // Most calls cross nothing, and so wait for nothing.
  if (crossings.length === 0) return add(group, gift, decision, null)
  const { player } = pass
  const walked = yield* askWalk(group, player, () => settleWalk(player, definition, run, crossings))
  return add(group, gift, decision, walked)
}

type Decided<Kind> = Extract<XpDecision, { readonly kind: Kind }>

/** A limit of xp is the answer, and is reported; anything else is thrown. */
function refuse(group: Group, gift: Gift, decision: Decided<'refused'>): Refusal {
  const { pass, source } = gift
  if (decision.reason === 'xpNotAllowed') count(group, gift, 'not_allowed')
  if (decision.reason !== 'xpLimitReached')
    throw new Refusal(decision.reason, { faults: faultsOf(gift, pass.nowIn(group), decision.reason) })
  const { limited, next } = decision
  count(group, gift, 'refused')
  if (limited.isFirst) {
    report(group, gift, limited, 0n)
    pass.set(group, next)
  }
  return new Refusal('xpLimitReached', { faults: [{ path: 'amount', message: limitMessage(limited, source) }] })
}

/** Writes what was decided. */
function add(group: Group, gift: Gift, decision: Decided<'added'>, walked: Walked | null): Added {
  const { run, pass, amount, source, origin, entryId, reference = null } = gift
  const { level, xp, leveledUp, maxLevel, granted, bonus, limited, converted, next } = decision
  const { player, node } = pass
  requireRoom(player, walked ? [...converted, ...walked.rewards] : converted)
  const plan = walked && record(group, player, run, walked.step)
  if (converted.length > 0)
    grant(group, player, converted, { reason: 'xp_conversion', reference: `${run.scenarioId}/${node.id}` })
  if (limited) count(group, gift, 'clipped')
  if (limited?.isFirst) report(group, gift, limited, granted)
  if (granted !== 0n || limited?.isFirst) pass.set(group, next)
  pass.addXp(group, {
    id: entryId,
    runId: run.runId,
    amount: granted + bonus,
    bonus,
    source,
    origin,
    asked: limited ? amount : null,
    limitedBy: limited ? limited.by : null,
    reference,
  })
  return { level, xp, leveledUp, maxLevel, plan }
}

function count(group: Group, { pass, origin }: Gift, reason: LimitedCall['reason']): void {
  group.of(LimitedCalls).add({ player: pass.player, origin, reason })
}

/** The event of a limit that held xp back. */
function report(group: Group, { pass, run, amount, source }: Gift, limited: Limited, granted: bigint): void {
  const { by, limit, day } = limited
  const { environmentId, playerId } = pass.player
  const { scenarioId, runId } = run
  const data = { source, limitedBy: by, limit, asked: amount, granted, day }
  group.of(Stream).append({
    environmentId,
    playerId,
    scenarioId,
    nodeId: pass.node.id,
    runId,
    type: 'xp.limited',
    handle: null,
    byClient: false,
    data,
  })
}

function limitMessage({ by, limit, day }: Limited, source: string): string {
  const [of, kind] = by.split('.')
  const what = of === 'pass' ? 'xp of this pass' : `xp of the source \`${source}\``
  const span = { max: 'in a call', perDay: `on ${day}`, perWeek: `in the week of ${day}`, perSeason: 'in the season' }
  return `is over the limit of ${limit} ${what} ${span[kind as keyof typeof span]}`
}

/** What is wrong with xp that is refused, where the contract leaves room for it. */
function faultsOf({ pass, amount, source, origin, boosts }: Gift, now: Date, reason: RefusalKind): Fault[] {
  const { node, current } = pass
  if (reason === 'xpNotAllowed')
    return [{ path: 'source', message: `${sourceFault(node.xpRules, source)}${sourcesOf(node.xpRules, origin)}` }]
  if (reason !== 'xpLimitExceeded') return []
  const bonus = bonusOf(node, current, { amount, source, origin }, { boosts: boosts ?? NO_BOOSTS, now })
  if (bonus === 0n) return []
  return [{ path: 'amount', message: `with its bonus of ${bonus} would raise the xp ${current.xp} above ${MAX_INT64}` }]
}

function sourceFault(rules: PassNode['xpRules'], source: string): string {
  if (rules?.sources.has(source)) return 'is a source whose xp only servers of the game give'
  if (source === '') return 'is required by this pass'
  return rules?.others ? 'is a source that only servers of the game may send' : 'is no source of this pass'
}

/** The sources that a caller may send, as an end of a sentence. */
function sourcesOf(rules: PassNode['xpRules'], origin: XpOrigin): string {
  const isOpen = (from: XpSender) => from === 'client' || origin !== 'client'
  const open = [...(rules?.sources ?? [])].flatMap(([name, { from }]) => (isOpen(from) ? [`\`${name}\``] : []))
  if (open.length === 0) return ''
  const who = origin === 'client' ? 'clients' : 'servers'
  return `; ${who} may send ${open.slice(0, 10).join(', ')}${open.length > 10 ? ` and ${open.length - 10} more` : ''}`
}

export const addXpCall = playerCall({
  request: addXpRequest,
  action: 'battle_pass.add_xp',
  command: addXp,
  contract: {
    id: 'addXp',
    tag: 'Battle pass',
    summary: 'Add xp to a pass. The run must be active; it need not have entered the node.',
    answer: addXpAnswer,
    refusals: [
      ...RUN_CALL,
      'xpNotAllowed',
      'seasonClosed',
      'xpLimitReached',
      'xpLimitExceeded',
      'balanceLimitExceeded',
      'idempotencyKeyReused',
    ],
  },
})
