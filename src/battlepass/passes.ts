import { columns, type Group, PART_ORDER, type Part, type Statement, Wanted } from '../commit/group.ts'
import { type Measure, Tally } from '../insight/tally.ts'
import { freeze, thaw } from '../json.ts'
import { type PlayerRef, playerKey } from '../players/standing.ts'
import { type PassNode, readTierKey, type TierKey, type Track, tierKey } from '../scenario/definition.ts'
import type { Granted } from '../scenario/plan.ts'
import type { Pass } from './decide.ts'
import { levelAt } from './levels.ts'

/** One player's pass: the state of one battle-pass node. */
export interface PassRef extends PlayerRef {
  readonly scenarioId: string
  readonly nodeId: string
}

export interface TierRef extends PassRef {
  readonly level: number
  readonly track: Track
}

/** A claimed tier, with what it granted then. */
export interface TierClaim extends TierRef {
  readonly granted: readonly Granted[]
  readonly runId: string
}

// No id holds a NUL, so no two passes share a key.
const passKey = (ref: PassRef): string => `${playerKey(ref)}/${ref.scenarioId}\0${ref.nodeId}`
const claimKey = (ref: TierRef): string => `${passKey(ref)}\0${tierKey(ref.level, ref.track)}`

type StoredPass = Omit<Pass, 'claimed'>

const NONE: ReadonlySet<TierKey> = new Set()

/** Passes and their claims, as far as the commands of a group need them. */
export class Passes implements Part {
  static readonly order = PART_ORDER.passes
  private readonly group: Group
  private readonly wanted = new Wanted<PassRef>()
  private readonly wantedClaims = new Wanted<PassRef>()
  private readonly wantedGrants = new Wanted<TierRef>()
  private readonly passes = new Map<string, StoredPass>()
  private readonly claimed = new Map<string, Set<TierKey>>()
  private readonly grants = new Map<string, readonly Granted[]>()
  private readonly changed = new Map<string, PassRef & StoredPass>()
  private claims: TierClaim[] = []
  private readonly removed: TierRef[] = []
  private readonly cleared: PassRef[] = []

  constructor(group: Group) {
    this.group = group
  }

  want(ref: PassRef): void {
    this.wanted.want(passKey(ref), ref)
  }

  /** Also names every claimed tier of the pass. */
  wantClaims(ref: PassRef): void {
    this.wantedClaims.want(passKey(ref), ref)
  }

  /** Also names what this tier granted, if it was claimed before. */
  wantGranted(ref: TierRef): void {
    this.wantedGrants.want(claimKey(ref), ref)
  }

  /** The stored pass; undefined before the first call that changed it. */
  stored(ref: PassRef): StoredPass | undefined {
    return this.passes.get(passKey(ref))
  }

  /** Every claimed tier. Most calls do not ask, so they are loaded for the one that does. */
  claimedTiers(ref: PassRef): ReadonlySet<TierKey> {
    this.wantedClaims.need(passKey(ref), ref)
    return this.claimed.get(passKey(ref)) ?? NONE
  }

  originalGrant(ref: TierRef): readonly Granted[] | undefined {
    return this.grants.get(claimKey(ref))
  }

  /** Keeps what a call made of a pass of this node. */
  set({ environmentId, playerId, scenarioId }: PassRef, node: PassNode, { claimed: _, ...pass }: Pass): void {
    const ref = { environmentId, playerId, scenarioId, nodeId: node.id }
    const key = passKey(ref)
    countMove(this.group.of(Tally), ref, node, this.passes.get(key), pass)
    this.passes.set(key, pass)
    this.changed.set(key, { ...ref, ...pass })
  }

  addClaim(claim: TierClaim): void {
    this.countClaim(claim, 1)
    this.claims.push(claim)
    this.grants.set(claimKey(claim), claim.granted)
    const claimed = this.claimed.get(passKey(claim)) ?? new Set()
    this.claimed.set(passKey(claim), claimed.add(tierKey(claim.level, claim.track)))
  }

  /** Takes a claim away: the tier can be claimed again. */
  removeClaim({ environmentId, playerId, scenarioId, nodeId, level, track }: TierRef): void {
    const ref = { environmentId, playerId, scenarioId, nodeId, level, track }
    this.claims = this.claims.filter((claim) => claimKey(claim) !== claimKey(ref))
    this.countClaim(ref, -1)
    this.claimed.get(passKey(ref))?.delete(tierKey(level, track))
    this.grants.delete(claimKey(ref))
    this.removed.push(ref)
  }

  /** Takes every claim of a pass away. */
  clearClaims({ environmentId, playerId, scenarioId, nodeId }: PassRef): void {
    const ref = { environmentId, playerId, scenarioId, nodeId }
    for (const tier of this.claimedTiers(ref)) this.countClaim({ ...ref, ...readTierKey(tier) }, -1)
    this.claims = this.claims.filter((claim) => passKey(claim) !== passKey(ref))
    this.claimed.set(passKey(ref), new Set())
    for (const key of [...this.grants.keys()]) if (key.startsWith(`${passKey(ref)}\0`)) this.grants.delete(key)
    this.cleared.push(ref)
  }

  private countClaim({ environmentId, scenarioId, nodeId, level, track }: TierRef, count: 1 | -1): void {
    this.group.of(Tally).add({ environmentId, scenarioId, nodeId, measure: 'claimed', level, detail: track }, count)
  }

  load(): Statement[] {
    const passes = this.wanted.read({
      name: 'passes-load',
      text: `SELECT k.n::int, p.xp, p.level, p.premium_owned, p.max_level_crossed, p.completed, p.completed_nodes,
          p.active_on::text
        FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
          WITH ORDINALITY AS k(environment_id, player_id, scenario_id, node_id, n)
        CROSS JOIN LATERAL (
          SELECT * FROM passes p WHERE p.environment_id = k.environment_id AND p.player_id = k.player_id
            AND p.scenario_id = k.scenario_id AND p.node_id = k.node_id LIMIT 1
        ) p`,
      columns: ['environmentId', 'playerId', 'scenarioId', 'nodeId'],
      take: (key, [, xp, level, premiumOwned, maxLevelCrossed, completed, nodes, activeOn]) => {
        const completedNodes = JSON.parse(nodes)
        this.passes.set(key, {
          xp: BigInt(xp),
          level,
          premiumOwned,
          maxLevelCrossed,
          completed,
          completedNodes,
          activeOn,
        })
      },
    })
    const claims = this.wantedClaims.read({
      name: 'claims-load',
      text: `SELECT k.n::int, c.level, c.track
        FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
          WITH ORDINALITY AS k(environment_id, player_id, scenario_id, node_id, n)
        CROSS JOIN LATERAL (
          SELECT level, track FROM tier_claims c WHERE c.environment_id = k.environment_id AND c.player_id = k.player_id
            AND c.scenario_id = k.scenario_id AND c.node_id = k.node_id OFFSET 0
        ) c`,
      columns: ['environmentId', 'playerId', 'scenarioId', 'nodeId'],
      take: (key, [, level, track]) => {
        this.claimed.set(key, (this.claimed.get(key) ?? new Set()).add(tierKey(level, track)))
      },
    })
    const grants = this.wantedGrants.read({
      name: 'grants-load',
      text: `SELECT k.n::int, c.granted
        FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::text[])
          WITH ORDINALITY AS k(environment_id, player_id, scenario_id, node_id, level, track, n)
        CROSS JOIN LATERAL (
          SELECT granted FROM tier_claims c WHERE c.environment_id = k.environment_id AND c.player_id = k.player_id
            AND c.scenario_id = k.scenario_id AND c.node_id = k.node_id AND c.level = k.level AND c.track = k.track LIMIT 1
        ) c`,
      columns: ['environmentId', 'playerId', 'scenarioId', 'nodeId', 'level', 'track'],
      take: (key, [, granted]) => this.grants.set(key, thaw(granted) as unknown as Granted[]),
    })
    return [...passes, ...claims, ...grants]
  }

  save(): Statement[] {
    const statements: Statement[] = []
    if (this.changed.size > 0) {
      const rows = [...this.changed.values()].map((pass) => ({
        ...pass,
        completedNodes: JSON.stringify(pass.completedNodes),
      }))
      statements.push({
        name: 'passes-save',
        text: `INSERT INTO passes (environment_id, player_id, scenario_id, node_id,
            xp, level, premium_owned, max_level_crossed, completed, completed_nodes, active_on)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[],
            $5::bigint[], $6::int[], $7::boolean[], $8::boolean[], $9::boolean[], $10::text[], $11::date[])
          ON CONFLICT (environment_id, player_id, scenario_id, node_id) DO UPDATE SET
            xp = excluded.xp, level = excluded.level, premium_owned = excluded.premium_owned,
            max_level_crossed = excluded.max_level_crossed, completed = excluded.completed, completed_nodes = excluded.completed_nodes,
            active_on = excluded.active_on`,
        values: columns(rows, [
          'environmentId',
          'playerId',
          'scenarioId',
          'nodeId',
          'xp',
          'level',
          'premiumOwned',
          'maxLevelCrossed',
          'completed',
          'completedNodes',
          'activeOn',
        ]),
      })
    }
    // Before what was claimed since.
    if (this.removed.length > 0) {
      statements.push({
        name: 'claims-remove',
        text: `DELETE FROM tier_claims c
          USING unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::text[])
            AS k(environment_id, player_id, scenario_id, node_id, level, track)
          WHERE c.environment_id = k.environment_id AND c.player_id = k.player_id AND c.scenario_id = k.scenario_id
            AND c.node_id = k.node_id AND c.level = k.level AND c.track = k.track`,
        values: columns(this.removed, ['environmentId', 'playerId', 'scenarioId', 'nodeId', 'level', 'track']),
      })
    }
    if (this.cleared.length > 0) {
      statements.push({
        name: 'claims-clear',
        text: `DELETE FROM tier_claims c USING unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])
            AS k(environment_id, player_id, scenario_id, node_id)
          WHERE c.environment_id = k.environment_id AND c.player_id = k.player_id AND c.scenario_id = k.scenario_id
            AND c.node_id = k.node_id`,
        values: columns(this.cleared, ['environmentId', 'playerId', 'scenarioId', 'nodeId']),
      })
    }
    if (this.claims.length > 0) {
      const rows = this.claims.map((claim) => ({ ...claim, granted: freeze(claim.granted) }))
      statements.push({
        name: 'claims-save',
        text: `INSERT INTO tier_claims (environment_id, player_id, scenario_id, node_id, level, track, granted, run_id)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::text[], $7::text[], $8::uuid[])`,
        values: columns(rows, [
          'environmentId',
          'playerId',
          'scenarioId',
          'nodeId',
          'level',
          'track',
          'granted',
          'runId',
        ]),
      })
    }
    return statements
  }
}

/**
 * Counts what changes of a pass, of which there was none before its first call. Where a player stands is said by its xp
 * and the definition of now, as to the player itself: an edit is counted by itself.
 */
function countMove(
  tally: Tally,
  ref: PassRef,
  node: PassNode,
  before: StoredPass | undefined,
  after: StoredPass,
): void {
  const { environmentId, scenarioId, nodeId } = ref
  const count = (measure: Measure, by: number, level?: number, detail?: string) =>
    tally.add({ environmentId, scenarioId, nodeId, measure, level, detail }, by)

  if (!before) count('joined', 1)
  const from = before && levelAt(node, before.xp)
  const to = levelAt(node, after.xp)
  // Most calls move nobody.
  if (from !== to || before?.premiumOwned !== after.premiumOwned) {
    if (before) count('standing', -1, from, ownership(before))
    count('standing', 1, to, ownership(after))
  }
  if (after.activeOn !== (before?.activeOn ?? null)) count('active', 1)
  // Taken back at the level where it is lost, which is the one that a player has then.
  const bought = Number(after.premiumOwned) - Number(before?.premiumOwned ?? false)
  if (bought !== 0) count('premium', bought, from ?? to)
  const completed = Number(after.completed) - Number(before?.completed ?? false)
  if (completed !== 0) count('completed', completed)
}

const ownership = ({ premiumOwned }: StoredPass): 'premium' | 'free' => (premiumOwned ? 'premium' : 'free')
