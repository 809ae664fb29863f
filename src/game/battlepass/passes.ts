import { Refusal } from '../../base/errors.ts'
import { newId } from '../../db/ids.ts'
import { type Measure, Tally } from '../../events/tally.ts'
import {
  bigint,
  boolean,
  type Column,
  date,
  exactJson,
  int,
  json,
  nullable,
  readOnly,
  text,
  uuid,
  writeOnly,
} from '../../transactions/columns.ts'
import type { About } from '../../transactions/command.ts'
import type { Group } from '../../transactions/group.ts'
import { keyOf, type Many, type One, type Player } from '../../transactions/player.ts'
import { table } from '../../transactions/table.ts'
import {
  type Claimable,
  type ClaimKey,
  type ClaimTrack,
  type Definition,
  type Granted,
  type LevelNode,
  type PassNode,
  readTierKey,
  tierKey,
} from '../definition/definition.ts'
import { Scenarios } from '../runs/scenarios.ts'
import type { BeyondState } from './beyond.ts'
import { levelAt, newPass, type Pass } from './decide.ts'
import type { LimitedBy, XpCounts, XpOrigin } from './xp-limits.ts'

/** Takes the place of the run in rows that belong to no run. */
export const NO_RUN = '00000000-0000-0000-0000-000000000000'

export const passes = table('passes', {
  key: { scenarioId: text, nodeId: text },
  columns: {
    xp: bigint,
    level: int,
    /**
     * The player's level when the row was written, where it is not `level`. Lists are filtered and sorted by it. A job
     * writes it, too (operations/figures/store-levels.ts).
     */
    currentLevel: writeOnly(nullable(int)),
    premiumOwned: boolean,
    maxLevelCrossed: boolean,
    completed: boolean,
    completedNodes: json<readonly string[]>(),
    activeOn: nullable(date),
    xpCounts: nullable(exactJson<XpCounts>()),
    beyond: nullable(exactJson<BeyondState>()),
    /** The number of claimed tiers. */
    claimed: readOnly(
      int,
      `(SELECT count(*)::int FROM tier_claims c WHERE c.environment_id = t.environment_id AND c.player_id = t.player_id
        AND c.scenario_id = t.scenario_id AND c.node_id = t.node_id)`,
    ),
  },
  kind: 'state',
})
export const tierClaims = table('tier_claims', {
  key: { scenarioId: text, nodeId: text, level: int, track: text as Column<ClaimTrack> },
  columns: { granted: exactJson<readonly Granted[]>(), runId: uuid },
  kind: 'append',
})
export const xpLedger = table('xp_ledger', {
  key: { id: uuid },
  columns: {
    scenarioId: text,
    nodeId: text,
    runId: uuid,
    amount: bigint,
    source: text,
    /** Null for a client. */
    origin: nullable(text) as Column<Exclude<XpOrigin, 'client'> | null>,
    /** The amount that was sent, where a limit held a part of it back, and the limit. */
    asked: nullable(bigint),
    limitedBy: nullable(text) as Column<LimitedBy | null>,
    /** The server's name of the match or purchase. */
    reference: nullable(text),
    /** The part of `amount` that premium and boosts brought. Null for none. */
    bonus: nullable(bigint),
  },
  kind: 'append',
})
const passOf = passes.one({
  columns: [
    'scenarioId',
    'nodeId',
    'xp',
    'level',
    'premiumOwned',
    'maxLevelCrossed',
    'completed',
    'completedNodes',
    'activeOn',
    'xpCounts',
    'beyond',
  ],
})
const claimsOf = tierClaims.many(['scenarioId', 'nodeId'], ({ level, track }) => tierKey(level, track), {
  columns: ['level', 'track'],
})
const claimRowsOf = tierClaims.many(['scenarioId', 'nodeId'], ({ level, track }) => tierKey(level, track), {
  columns: ['level', 'track', 'granted', 'runId'],
  isKept: false,
})
const grantOf = tierClaims.one({ columns: ['granted'], isKept: false })
/** Calls on a pass do not need the others, so that memory does not grow by them. */
const begunOf = passes.many([], ({ scenarioId, nodeId }) => keyOf(scenarioId, nodeId), {
  columns: ['scenarioId', 'nodeId', 'xp', 'level', 'currentLevel', 'premiumOwned', 'claimed'],
  isKept: false,
})

/** The node of a battle pass call. */
export interface NodeInput {
  readonly scenarioId: string
  readonly nodeId: string
}

export interface XpGrant {
  readonly id?: string
  readonly runId: string
  /** What is added, with the bonus. */
  readonly amount: bigint
  readonly bonus?: bigint
  readonly source: string
  readonly origin?: XpOrigin
  readonly asked?: bigint | null
  readonly limitedBy?: LimitedBy | null
  readonly reference?: string | null
}

/** A pass that a player has begun, as it is stored. */
export interface BegunPass extends NodeInput {
  readonly xp: bigint
  readonly level: number
  readonly currentLevel: number | null
  readonly premiumOwned: boolean
  /** The number of claimed tiers. */
  readonly claimed: number
}

/** A claim as it is stored. */
export interface ClaimRow extends Claimable {
  readonly granted: readonly Granted[]
  readonly runId: string
}

type StoredPass = NodeInput & Omit<Pass, 'claimed'>
type WrittenPass = StoredPass & { readonly currentLevel: number | null }

/**
 * The level of a row of `passes`. Where the current version has no such pass, it is the level by the last one that had
 * it.
 */
export function levelOf(
  node: Pick<PassNode, 'levels'> | null,
  { xp, level, currentLevel }: { xp: bigint; level: number; currentLevel: number | null },
): number {
  return node ? levelAt(node, xp) : (currentLevel ?? level)
}

const NO_CLAIMS = { has: () => false }

/**
 * Asks for the pass of a node: its own, or for a level node the pass that it shows. Undefined when the definition has
 * no such node.
 */
export function askPass(
  player: Player,
  definition: Definition | null | undefined,
  { scenarioId, nodeId }: NodeInput,
): PassHandle | undefined {
  const found = findPass(definition, nodeId)
  return found && new PassHandle(player, scenarioId, found.node, found.levelNode)
}

/**
 * All passes that a player has begun, in no order. Empty while the group waits for them. They are not remembered, so
 * that a command that asks for them is `fresh`.
 */
export function askBegun(player: Player): readonly BegunPass[] {
  const begun = player.many(begunOf)
  return begun.isKnown ? begun.values() : []
}

/** The pass that a call names, by its own node or by one of its level nodes. */
export function findPass(
  definition: Definition | null | undefined,
  nodeId: string,
): { readonly node: PassNode; readonly levelNode: LevelNode | null } | undefined {
  const node = definition?.nodes.get(nodeId)
  if (node?.type === 'battle-pass') return { node, levelNode: null }
  if (node?.type !== 'battle-pass-level') return undefined
  const pass = definition?.nodes.get(node.passNodeId)
  return pass?.type === 'battle-pass' ? { node: pass, levelNode: node } : undefined
}

/**
 * What an answer about a pass is about: the scenario, the pass, and the tiers that it claimed. A level node counts as
 * its pass.
 */
export function aboutPass(
  group: Group,
  { environmentId }: Pick<Player, 'environmentId'>,
  { scenarioId, nodeId }: NodeInput,
  tiers: readonly ClaimKey[] = [],
): About {
  const pass = findPass(group.of(Scenarios).find({ environmentId, scenarioId }), nodeId)
  return [scenarioId, pass?.node.id ?? nodeId, ...tiers]
}

/** Refuses a missing node, and one that takes no battle pass calls. */
export function requirePass(handle: PassHandle | undefined): PassHandle {
  if (!handle) throw new Refusal('nodeNotFound')
  return handle
}

/** One player's pass: the state of one battle-pass node, with its claims when they were asked for. */
export class PassHandle {
  readonly player: Player
  readonly scenarioId: string
  readonly node: PassNode
  /** The level node through which a call came, if any. */
  readonly levelNode: LevelNode | null
  private readonly slot: One<StoredPass>
  private claims: Many<Claimable> | undefined

  constructor(player: Player, scenarioId: string, node: PassNode, levelNode: LevelNode | null) {
    this.player = player
    this.scenarioId = scenarioId
    this.node = node
    this.levelNode = levelNode
    this.slot = player.one(passOf, keyOf(scenarioId, node.id))
  }

  /** Asks for every claimed tier. Most calls do not need them. */
  askClaims(): this {
    this.claims ??= this.player.many(claimsOf, this.slot.key)
    return this
  }

  /** Asks for every claim with all that it says, by its tier. */
  askClaimRows(): Many<ClaimRow> {
    return this.player.many(claimRowsOf, this.slot.key)
  }

  /** Asks for the rewards that a tier granted when it was claimed. */
  askGrant(level: number, track: ClaimTrack): One<{ readonly granted: readonly Granted[] }> {
    return this.player.one(grantOf, keyOf(this.scenarioId, this.node.id, String(level), track))
  }

  /** The stored pass; null before the first call that changed it. */
  get stored(): StoredPass | null {
    return this.slot.isKnown ? this.slot.value : null
  }

  /** The pass with the group's changes. */
  get current(): Pass {
    const stored = this.slot.value ?? newPass(this.node)
    const { xp, level, premiumOwned, maxLevelCrossed, completed, completedNodes, activeOn, xpCounts, beyond } = stored
    const claimed = this.claims ?? NO_CLAIMS
    return { xp, level, premiumOwned, maxLevelCrossed, completed, completedNodes, activeOn, xpCounts, beyond, claimed }
  }

  get claimed(): ClaimKey[] {
    return (this.claims?.keys() ?? []) as ClaimKey[]
  }

  /** The player's level, with the group's changes. */
  get level(): number {
    return levelAt(this.node, this.current.xp)
  }

  /** The game's time, by the clock of the environment. */
  nowIn(group: Group): Date {
    const { player, scenarioId } = this
    return group.of(Scenarios).now({ environmentId: player.environmentId, scenarioId })
  }

  /** Writes the pass after a call. */
  set(group: Group, pass: Pass): void {
    const { xp, level, premiumOwned, maxLevelCrossed, completed, completedNodes, activeOn, xpCounts, beyond } = pass
    const { scenarioId, node } = this
    const reached = levelAt(node, xp)
    this.count(group, this.slot.value, pass, reached)
    const written: WrittenPass = {
      scenarioId,
      nodeId: node.id,
      xp,
      level,
      currentLevel: reached === level ? null : reached,
      premiumOwned,
      maxLevelCrossed,
      completed,
      completedNodes,
      activeOn,
      xpCounts,
      beyond,
    }
    this.slot.set(written)
  }

  /** Adds a row to the xp ledger. Every grant has one, and it never changes. */
  addXp(group: Group, grant: XpGrant): void {
    const { scenarioId, node, player } = this
    const { id = newId(), runId, amount, source, origin = 'client' } = grant
    const { asked = null, limitedBy = null, reference = null, bonus = 0n } = grant
    group.append(xpLedger, player, {
      id,
      scenarioId,
      nodeId: node.id,
      runId,
      amount,
      source,
      origin: origin === 'client' ? null : origin,
      asked,
      limitedBy,
      reference,
      bonus: bonus === 0n ? null : bonus,
    })
    if (amount !== 0n) this.tally(group, 'xp', 1, 0, source, amount)
    if (amount !== 0n && origin !== 'client') this.tally(group, 'xp_origin', 1, 0, origin, amount)
    if (asked !== null) this.tally(group, 'xp_clipped', 1, 0, source, asked - (amount - bonus))
  }

  /** Counts a purchase of premium. */
  addSale(group: Group, { currency, amount }: { readonly currency: string; readonly amount: bigint }): void {
    this.tally(group, 'sold', 1, 0, currency, amount)
  }

  addClaim(group: Group, level: number, track: ClaimTrack, runId: string, granted: readonly Granted[]): void {
    const { scenarioId, node, player } = this
    group.append(tierClaims, player, { scenarioId, nodeId: node.id, level, track, granted, runId })
    this.claims?.note(tierKey(level, track), { level, track })
    player.slot(grantOf, keyOf(scenarioId, node.id, String(level), track)).note({ granted })
    this.tally(group, 'claimed', 1, level, track)
  }

  /** Removes a claim, so that the tier can be claimed again. Ask for the claims first. */
  removeClaim(group: Group, level: number, track: ClaimTrack): void {
    this.claims?.set(tierKey(level, track), null)
    this.tally(group, 'claimed', -1, level, track)
  }

  /** Default: removes all claims. */
  clearClaims(group: Group, claimed: readonly ClaimKey[] = this.claimed): void {
    for (const key of claimed) {
      const { level, track } = readTierKey(key)
      this.removeClaim(group, level, track)
    }
  }

  /**
   * Counts the change of a pass, to the level `to`. Edits are counted separately.
   */
  private count(group: Group, before: StoredPass | null, after: Pass, to: number): void {
    if (!before) this.tally(group, 'joined', 1)
    const from = before && levelAt(this.node, before.xp)
    // Most calls change no level.
    if (from !== to || before?.premiumOwned !== after.premiumOwned) {
      if (before && from !== null) this.tally(group, 'standing', -1, from, ownership(before))
      this.tally(group, 'standing', 1, to, ownership(after))
    }
    if (after.activeOn !== (before?.activeOn ?? null)) this.tally(group, 'active', 1)
    // A revoked purchase is subtracted at the player's level of that moment.
    const bought = Number(after.premiumOwned) - Number(before?.premiumOwned ?? false)
    if (bought !== 0) this.tally(group, 'premium', bought, from ?? to)
    const completed = Number(after.completed) - Number(before?.completed ?? false)
    if (completed !== 0) this.tally(group, 'completed', completed)
  }

  private tally(group: Group, measure: Measure, count: number, level = 0, detail = '', amount = 0n): void {
    const { player, scenarioId, node } = this
    const { environmentId } = player
    group.of(Tally).add(player, { environmentId, scenarioId, nodeId: node.id, measure, level, detail }, count, amount)
  }
}

const ownership = ({ premiumOwned }: Pick<Pass, 'premiumOwned'>): 'premium' | 'free' =>
  premiumOwned ? 'premium' : 'free'
