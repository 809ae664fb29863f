import type { PoolClient } from 'pg'
import { type Fault, invalidRequest } from '../../base/errors.ts'
import { createFairQueue, type Places } from '../../base/fair-queue.ts'
import { type Json, print } from '../../base/json.ts'
import type { Reader } from '../../db/replica.ts'
import { inSnapshot, queryWithin } from '../../db/transaction.ts'
import {
  type Granted,
  granted,
  type PassNode,
  type Reward,
  rewardOf,
  TRACKS,
  type Track,
} from '../definition/definition.ts'
import { parseDefinition } from '../definition/parse.ts'
import { levelAt } from './decide.ts'
import { type PlayedXp, type ReplayedPlayer, replayPlayer } from './replay-player.ts'

// What if the players of a season had played another one: their xp, call by call, by the rules and levels of a draft.

const STATEMENT_TIMEOUT_MS = 30_000
const MAX_WAITING = 4
/** Players whose xp is read and repeated at once. Between them, the process serves the game. */
const PAGE = 25

export interface ReplayRequest {
  readonly environmentId: string
  /** The draft, and its pass. */
  readonly definition: string
  readonly nodeId: string
  /** The season that was played. */
  readonly ofScenarioId: string
  readonly ofNodeId: string
  /** The most players to repeat. */
  readonly players: number
}

export interface ReplayedLevel {
  readonly level: number
  /** Players of the sample who would have reached it. */
  readonly players: number
  /** Those who did reach the level of this number. */
  readonly playersThen: number
  /** The middle one of the times from a player's first xp to this level, in days. Null when nobody would have reached it. */
  readonly medianDays: number | null
  /** The same from the level before. Null for the first one, too. */
  readonly medianStepDays: number | null
}

/** What the tiers of a track would have given all players of the sample who had a right to them, without choices. */
export interface ReplayedTrack {
  readonly track: Track
  readonly rewards: readonly Reward[]
}

export interface SeasonReplay {
  readonly asOf: Date
  /** Why the draft cannot be played. With any, nothing is repeated. */
  readonly faults: readonly Fault[]
  /** The players of the season, and those of them who were repeated: always the same ones. */
  readonly playersInAll: number
  readonly players: number
  readonly owners: number
  /** Whether the ledger still has all of their xp. */
  readonly isComplete: boolean
  /** The xp that they sent, and what the draft would grant of it. */
  readonly sent: bigint
  readonly granted: bigint
  readonly levels: readonly ReplayedLevel[]
  readonly tracks: readonly ReplayedTrack[]
}

export type ReplaySeason = (reader: Reader, projectId: string, asked: ReplayRequest) => Promise<SeasonReplay>

const NOTHING = {
  playersInAll: 0,
  players: 0,
  owners: 0,
  isComplete: true,
  sent: 0n,
  granted: 0n,
  levels: [],
  tracks: [],
} satisfies Partial<SeasonReplay>

/**
 * Creates the operation. It reads one snapshot and takes no lock. Each project has a row of replays, as of previews.
 * Refuses with `unavailable` when too many of a project wait, or when one takes too long.
 */
export function createReplay(places: Places): ReplaySeason {
  const inTurn = createFairQueue(places, { maxWaiting: MAX_WAITING, tasks: 'replays' })
  return async (reader, projectId, asked) => {
    const { asOf } = reader
    const parsed = parseDefinition(asked.definition)
    if (!parsed.ok) return { asOf, faults: parsed.faults, ...NOTHING }
    const draft = parsed.definition.nodes.get(asked.nodeId)
    if (draft?.type !== 'battle-pass')
      throw invalidRequest({ path: 'nodeId', message: 'is no battle pass of the draft' })
    const replayed = await inTurn(projectId, () =>
      reader.read(({ pool }) => inSnapshot(pool, (client) => replay(client, draft, asked))),
    )
    return { asOf, faults: [], ...replayed }
  }
}

interface SampledPlayer {
  readonly playerId: string
  readonly isOwner: boolean
  readonly xp: string
  readonly all: number
}

/** The same players each time, from all times of the season. */
const SAMPLE = `SELECT p.player_id AS "playerId", p.premium_owned AS "isOwner", p.xp::text, (count(*) OVER ())::int AS all
  FROM passes p
  WHERE p.environment_id = $1 AND p.scenario_id = $2 AND p.node_id = $3 AND NOT EXISTS (
    SELECT FROM players d WHERE d.environment_id = $1 AND d.id = p.player_id AND d.status = 'deleted'
  )
  ORDER BY hashtextextended(p.player_id::text, 0), p.player_id LIMIT $4`

/** What a player sent, in its order: when, in milliseconds since 1970, its source, its origin, and how much. */
type Sent = readonly [at: number, source: string, origin: 'client' | 'server', amount: string]

interface LedgerRow {
  readonly playerId: string
  /** The sum of all rows, also those of operators. */
  readonly total: string
  /** A list of `Sent` as JSON: rows of their own would take the process ten times as long to read. */
  readonly sent: string
}

/** What operators gave belongs to the season of then, and so does what came along from the one before. */
const LEDGER = `SELECT player_id AS "playerId", sum(amount)::text AS total,
    coalesce(json_agg(json_build_array(
      (extract(epoch FROM created_at) * 1000)::float8, source, coalesce(origin, 'client'),
      coalesce(asked, amount - coalesce(bonus, 0))::text
    ) ORDER BY id) FILTER (WHERE origin IS NULL OR origin IN ('client', 'server')), '[]')::text AS sent
  FROM xp_ledger
  WHERE environment_id = $1 AND player_id = ANY ($2::uuid[]) AND scenario_id = $3 AND node_id = $4
  GROUP BY player_id`

async function replay(client: PoolClient, draft: PassNode, asked: ReplayRequest) {
  const { environmentId, ofScenarioId, ofNodeId } = asked
  const earlier = await readPass(client, asked)
  const query = <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
    queryWithin<Row>(client, STATEMENT_TIMEOUT_MS, text, values)
  const sample = await query<SampledPlayer>(SAMPLE, [environmentId, ofScenarioId, ofNodeId, asked.players])
  const sums = new Sums(draft, earlier)
  for (let from = 0; from < sample.length; from += PAGE) {
    const players = sample.slice(from, from + PAGE)
    const ids = players.map(({ playerId }) => playerId)
    const rows = await query<LedgerRow>(LEDGER, [environmentId, ids, ofScenarioId, ofNodeId])
    const rowOf = new Map(rows.map((row) => [row.playerId, row]))
    for (const player of players) sums.add(player, rowOf.get(player.playerId))
  }
  return { playersInAll: sample[0]?.all ?? 0, players: sample.length, ...sums.result() }
}

async function readPass(
  client: PoolClient,
  { environmentId, ofScenarioId, ofNodeId }: ReplayRequest,
): Promise<PassNode> {
  const { rows } = await client.query<{ definition: string }>(
    `SELECT v.definition FROM scenarios s JOIN scenario_versions v
       ON v.environment_id = s.environment_id AND v.scenario_id = s.id AND v.version = s.version
     WHERE s.environment_id = $1 AND s.id = $2`,
    [environmentId, ofScenarioId],
  )
  const parsed = rows[0] && parseDefinition(rows[0].definition, { isStored: true })
  const node = parsed?.ok ? parsed.definition.nodes.get(ofNodeId) : undefined
  if (node?.type === 'battle-pass') return node
  throw invalidRequest({ path: 'ofNodeId', message: 'is no battle pass of the scenario `ofScenarioId`' })
}

class Sums {
  private readonly draft: PassNode
  private readonly earlier: PassNode
  /** For each level of the draft, in their order. */
  private readonly times: number[][]
  private readonly stepTimes: number[][]
  private readonly owners: number[]
  private readonly playersThen: number[]
  private allOwners = 0
  private sent = 0n
  private granted = 0n
  private isComplete = true

  constructor(draft: PassNode, earlier: PassNode) {
    this.draft = draft
    this.earlier = earlier
    this.times = draft.levels.map(() => [])
    this.stepTimes = draft.levels.map(() => [])
    this.owners = draft.levels.map(() => 0)
    this.playersThen = draft.levels.map(() => 0)
  }

  add({ isOwner, xp }: SampledPlayer, row: LedgerRow | undefined): void {
    if (BigInt(row?.total ?? 0) !== BigInt(xp)) this.isComplete = false
    const sent = JSON.parse(row?.sent ?? '[]') as readonly Sent[]
    const played = sent.map(([at, source, origin, amount]): PlayedXp => {
      return { at: new Date(at), source, origin, amount: BigInt(amount) }
    })
    for (const { amount } of played) this.sent += amount
    const replayed = replayPlayer(this.draft, isOwner, played)
    this.granted += replayed.xp
    if (isOwner) this.allOwners += 1
    this.addLevels(replayed, { isOwner, levelThen: levelAt(this.earlier, BigInt(xp)) })
  }

  private addLevels(
    { reachedMs }: ReplayedPlayer,
    { isOwner, levelThen }: { readonly isOwner: boolean; readonly levelThen: number },
  ): void {
    for (const [at, { level }] of this.draft.levels.entries()) {
      const [ms, before] = [reachedMs[at], reachedMs[at - 1]]
      if (ms !== undefined) this.times[at]?.push(ms)
      if (ms !== undefined && before !== undefined) this.stepTimes[at]?.push(ms - before)
      if (ms !== undefined && isOwner) this.owners[at] = (this.owners[at] ?? 0) + 1
      if (level <= levelThen) this.playersThen[at] = (this.playersThen[at] ?? 0) + 1
    }
  }

  result() {
    const { draft, times, stepTimes, playersThen, sent, granted, isComplete, allOwners: owners } = this
    const levels = draft.levels.map(({ level }, at): ReplayedLevel => {
      const all = times[at] ?? []
      return {
        level,
        players: all.length,
        playersThen: playersThen[at] ?? 0,
        medianDays: daysOf(medianOf(all)),
        medianStepDays: daysOf(medianOf(stepTimes[at] ?? [])),
      }
    })
    return { owners, sent, granted, isComplete, levels, tracks: TRACKS.map((track) => this.rewardsOf(track)) }
  }

  private rewardsOf(track: Track): ReplayedTrack {
    const sums = new Map<string, Granted>()
    for (const tier of this.draft.tiers.values()) {
      const at = this.draft.levels.findIndex(({ level }) => level === tier.level)
      const players = BigInt((track === 'free' ? this.times[at]?.length : this.owners[at]) ?? 0)
      if (tier.track !== track || players === 0n) continue
      for (const reward of tier.rewards) {
        const { amount, ...what } = granted(reward)
        const key = print(what as Json)
        sums.set(key, { ...what, amount: (sums.get(key)?.amount ?? 0n) + amount * players })
      }
    }
    return { track, rewards: [...sums.values()].map(rewardOf) }
  }
}

function medianOf(times: readonly number[]): number | null {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

const DAY_MS = 86_400_000
/** To a hundredth, a quarter of an hour. */
const daysOf = (ms: number | null): number | null => (ms === null ? null : Math.round((ms / DAY_MS) * 100) / 100)
