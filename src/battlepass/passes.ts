import { PART_ORDER, type Part, type Row, type Statement } from '../commit/group.ts'
import { columns } from '../commit/idempotency.ts'
import { freeze, thaw } from '../json.ts'
import { type PlayerRef, playerKey } from '../players/standing.ts'
import type { TierKey, Track } from '../scenario/definition.ts'
import { tierKey } from '../scenario/definition.ts'
import type { Granted } from '../scenario/plan.ts'
import type { Pass } from './decide.ts'

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

const passKey = (ref: PassRef): string => `${playerKey(ref)}/${ref.scenarioId}\n${ref.nodeId}`
const claimKey = (ref: TierRef): string => `${passKey(ref)}\n${tierKey(ref.level, ref.track)}`

type StoredPass = Omit<Pass, 'claimed'>

/** Passes and their claims, as far as the commands of a group need them. */
export class Passes implements Part {
  static readonly order = PART_ORDER.passes
  private readonly wanted = new Map<string, PassRef>()
  private readonly wantedClaims = new Map<string, PassRef>()
  private readonly wantedGrants = new Map<string, TierRef>()
  private readonly asked = new Set<string>()
  private readonly passes = new Map<string, StoredPass>()
  private readonly claimed = new Map<string, Set<TierKey>>()
  private readonly grants = new Map<string, readonly Granted[]>()
  private readonly changed = new Map<string, PassRef & StoredPass>()
  private readonly claims: TierClaim[] = []

  want(ref: PassRef): void {
    if (!this.asked.has(passKey(ref))) this.wanted.set(passKey(ref), ref)
  }

  /** Also names every claimed tier of the pass. */
  wantClaims(ref: PassRef): void {
    const key = passKey(ref)
    if (!this.claimed.has(key)) this.wantedClaims.set(key, ref)
  }

  /** Also names what this tier granted, if it was claimed before. */
  wantGranted(ref: TierRef): void {
    const key = claimKey(ref)
    if (!this.asked.has(key)) this.wantedGrants.set(key, ref)
  }

  /** The stored pass; undefined before the first call that changed it. */
  stored(ref: PassRef): StoredPass | undefined {
    return this.passes.get(passKey(ref))
  }

  claimedTiers(ref: PassRef): ReadonlySet<TierKey> {
    return this.claimed.get(passKey(ref)) ?? new Set()
  }

  originalGrant(ref: TierRef): readonly Granted[] | undefined {
    return this.grants.get(claimKey(ref))
  }

  set(ref: PassRef, { claimed: _, ...pass }: Pass): void {
    this.passes.set(passKey(ref), pass)
    this.changed.set(passKey(ref), { ...ref, ...pass })
  }

  addClaim(claim: TierClaim): void {
    this.claims.push(claim)
    this.grants.set(claimKey(claim), claim.granted)
    this.claimed.set(passKey(claim), new Set([...this.claimedTiers(claim), tierKey(claim.level, claim.track)]))
  }

  load(): Statement[] {
    const statements: Statement[] = []
    if (this.wanted.size > 0) {
      const refs = [...this.wanted.values()]
      for (const key of this.wanted.keys()) this.asked.add(key)
      this.wanted.clear()
      statements.push({
        name: 'passes-load',
        text: `SELECT p.environment_id, p.player_id, p.scenario_id, p.node_id,
            p.xp, p.level, p.premium_owned, p.max_level_crossed, p.completed, p.completed_nodes
          FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS k(environment_id, player_id, scenario_id, node_id)
          CROSS JOIN LATERAL (
            SELECT * FROM passes p WHERE p.environment_id = k.environment_id AND p.player_id = k.player_id
              AND p.scenario_id = k.scenario_id AND p.node_id = k.node_id LIMIT 1
          ) p`,
        values: columns(refs, ['environmentId', 'playerId', 'scenarioId', 'nodeId']),
        take: (rows) => this.takePasses(rows),
      })
    }
    if (this.wantedClaims.size > 0) {
      const refs = [...this.wantedClaims.values()]
      for (const key of this.wantedClaims.keys()) this.claimed.set(key, new Set())
      this.wantedClaims.clear()
      statements.push({
        name: 'claims-load',
        text: `SELECT c.environment_id, c.player_id, c.scenario_id, c.node_id, c.level, c.track
          FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS k(environment_id, player_id, scenario_id, node_id)
          CROSS JOIN LATERAL (
            SELECT * FROM tier_claims c WHERE c.environment_id = k.environment_id AND c.player_id = k.player_id
              AND c.scenario_id = k.scenario_id AND c.node_id = k.node_id OFFSET 0
          ) c`,
        values: columns(refs, ['environmentId', 'playerId', 'scenarioId', 'nodeId']),
        take: (rows) => this.takeClaims(rows),
      })
    }
    if (this.wantedGrants.size > 0) {
      const refs = [...this.wantedGrants.values()]
      for (const key of this.wantedGrants.keys()) this.asked.add(key)
      this.wantedGrants.clear()
      statements.push({
        name: 'grants-load',
        text: `SELECT c.environment_id, c.player_id, c.scenario_id, c.node_id, c.level, c.track, c.granted
          FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int[], $6::text[])
            AS k(environment_id, player_id, scenario_id, node_id, level, track)
          CROSS JOIN LATERAL (
            SELECT * FROM tier_claims c WHERE c.environment_id = k.environment_id AND c.player_id = k.player_id
              AND c.scenario_id = k.scenario_id AND c.node_id = k.node_id
              AND c.level = k.level AND c.track = k.track LIMIT 1
          ) c`,
        values: columns(refs, ['environmentId', 'playerId', 'scenarioId', 'nodeId', 'level', 'track']),
        take: (rows) => this.takeGrants(rows),
      })
    }
    return statements
  }

  private takePasses(rows: Row[]): void {
    for (const row of rows) {
      const [environmentId, playerId, scenarioId, nodeId, xp, level, premiumOwned, maxLevelCrossed, completed, nodes] =
        row
      this.passes.set(passKey({ environmentId, playerId, scenarioId, nodeId }), {
        xp: BigInt(xp),
        level,
        premiumOwned,
        maxLevelCrossed,
        completed,
        completedNodes: JSON.parse(nodes),
      })
    }
  }

  private takeClaims(rows: Row[]): void {
    for (const [environmentId, playerId, scenarioId, nodeId, level, track] of rows) {
      this.claimed.get(passKey({ environmentId, playerId, scenarioId, nodeId }))?.add(tierKey(level, track))
    }
  }

  private takeGrants(rows: Row[]): void {
    for (const [environmentId, playerId, scenarioId, nodeId, level, track, granted] of rows) {
      const key = claimKey({ environmentId, playerId, scenarioId, nodeId, level, track })
      this.grants.set(key, thaw(granted) as unknown as Granted[])
    }
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
            xp, level, premium_owned, max_level_crossed, completed, completed_nodes)
          SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[],
            $5::bigint[], $6::int[], $7::boolean[], $8::boolean[], $9::boolean[], $10::text[])
          ON CONFLICT (environment_id, player_id, scenario_id, node_id) DO UPDATE SET
            xp = excluded.xp, level = excluded.level, premium_owned = excluded.premium_owned,
            max_level_crossed = excluded.max_level_crossed, completed = excluded.completed, completed_nodes = excluded.completed_nodes`,
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
        ]),
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
