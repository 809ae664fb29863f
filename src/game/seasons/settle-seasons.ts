import { randomUUID } from 'node:crypto'
import type { Pool } from 'pg'
import type { Background } from '../../base/background.ts'
import { MAX_INT64 } from '../../base/json.ts'
import { actOnEach, doLeased, HELD_MS, PAGE, repeatLeased } from '../../base/leased-work.ts'
import type { GroupCommit } from '../../transactions/group-commit.ts'
import { topXp } from '../battlepass/beyond.ts'
import { gameNow, LATEST_NOW, readGameNow } from '../clock/game-clock.ts'
import { type Definition, nextNodes, type PassNode } from '../definition/definition.ts'
import { currentDefinition, type PassRef } from '../runs/scenarios.ts'
import { isSettledAt, type Settled, settlePass } from './settle-pass.ts'

// The job at the end of a season: it grants what players have earned and not claimed, crosses `onSeasonEnd`, and takes the
// currencies that end. A settlement is a row of
// `season_settlements`, which a publication writes. One instance runs it at a time, and notes its place with each page.
// When it dies, another one continues from there: a player who was settled twice is granted nothing the second time.

/** Stands in a place for the level of those without a pass. Above any level. */
const AFTER_LEVELS = 2 ** 31 - 1
/** The pause after players were settled, as a multiple of the time that it took: the game continues meanwhile. */
const PAUSE_FACTOR = 2.5

const LOOK = {
  name: 'settlements-look',
  text: `SELECT EXISTS (
      SELECT FROM season_settlements s JOIN environments e ON e.id = s.environment_id
      WHERE s.finished_at IS NULL AND s.due_at <= ${LATEST_NOW} AND s.due_at <= ${gameNow('e')}
    ) AS due`,
}
/**
 * Takes one that is due and not held. Passes are read in the order of their stored levels, so it waits until these are
 * levels of the current version.
 */
const TAKE = {
  name: 'settlements-take',
  text: `UPDATE season_settlements t SET holder = $1::uuid, held_until = clock_timestamp() + $2::float8 * interval '1 millisecond',
      started_at = coalesce(t.started_at, clock_timestamp())
    FROM (
      SELECT s.environment_id, s.scenario_id, s.node_id FROM season_settlements s
      JOIN scenarios c ON c.environment_id = s.environment_id AND c.id = s.scenario_id AND c.leveled_version = c.version
      JOIN environments e ON e.id = s.environment_id
      WHERE s.finished_at IS NULL AND s.due_at <= ${LATEST_NOW} AND s.due_at <= ${gameNow('e')}
        AND (s.holder IS NULL OR s.held_until <= clock_timestamp())
      ORDER BY s.due_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED
    ) due
    WHERE (t.environment_id, t.scenario_id, t.node_id) = (due.environment_id, due.scenario_id, due.node_id)
    RETURNING t.environment_id AS "environmentId", t.scenario_id AS "scenarioId", t.node_id AS "nodeId",
      t.after_level AS "level", t.after_player AS "playerId"`,
}
/**
 * Passes after a place, each with whether there is something to do: tiers and bonus tiers that were earned and not claimed, a
 * currency that ends, or a run in which `onSeasonEnd` was not crossed.
 */
const READ = {
  name: 'settlements-read',
  text: `SELECT page.level, page.player_id AS "playerId", EXISTS (
        SELECT FROM unnest($6::int[], $7::text[]) AS t (level, track)
        WHERE t.level <= page.level AND (page.premium_owned OR t.track = 'free') AND NOT EXISTS (
          SELECT FROM tier_claims c WHERE (c.environment_id, c.player_id, c.scenario_id, c.node_id, c.level, c.track)
            = ($1::uuid, page.player_id, $2, $3, t.level, t.track)
        )
      ) OR page.xp - $10::bigint >= $11::bigint AND (
        SELECT count(*) FROM tier_claims c WHERE (c.environment_id, c.player_id, c.scenario_id, c.node_id, c.track)
          = ($1::uuid, page.player_id, $2, $3, 'bonus') AND c.level <= (page.xp - $10::bigint) / $11::bigint AND c.level <= $12::int
      ) < least((page.xp - $10::bigint) / $11::bigint, $12::int) OR EXISTS (
        SELECT FROM wallets w WHERE w.environment_id = $1::uuid AND w.player_id = page.player_id
          AND w.currency = ANY ($8::text[]) AND w.balance > 0
      ) OR $9::boolean AND EXISTS (
        SELECT FROM runs r WHERE r.environment_id = $1::uuid AND r.player_id = page.player_id AND r.scenario_id = $2
          AND r.status = 'active'
      ) AND NOT EXISTS (
        SELECT FROM season_steps s WHERE (s.environment_id, s.player_id, s.scenario_id, s.node_id, s.step)
          = ($1::uuid, page.player_id, $2, $3, 'ended')
      ) AS due
    FROM (
      SELECT coalesce(current_level, level) AS level, player_id, premium_owned, xp FROM passes
      WHERE environment_id = $1::uuid AND scenario_id = $2 AND node_id = $3
        AND (coalesce(current_level, level), player_id) > ($4::int, $5::uuid)
      ORDER BY coalesce(current_level, level), player_id LIMIT ${PAGE}
    ) page ORDER BY page.level, page.player_id`,
}
/** Holders of currencies that end, without a pass: they come after all passes. */
const READ_HOLDERS = {
  name: 'settlements-read-holders',
  text: `SELECT DISTINCT ${AFTER_LEVELS} AS level, w.player_id AS "playerId", true AS due FROM wallets w
    WHERE w.environment_id = $1::uuid AND w.player_id > $4::uuid AND w.currency = ANY ($5::text[]) AND w.balance > 0
      AND NOT EXISTS (
        SELECT FROM passes p WHERE (p.environment_id, p.player_id, p.scenario_id, p.node_id)
          = ($1::uuid, w.player_id, $2, $3)
      )
    ORDER BY w.player_id LIMIT ${PAGE}`,
}
const NOTE = {
  name: 'settlements-note',
  text: `UPDATE season_settlements SET after_level = $5::int, after_player = $6::uuid,
      players = players + $7, tiers = tiers + $8, failed = failed + $9,
      held_until = clock_timestamp() + $10::float8 * interval '1 millisecond',
      finished_at = CASE WHEN $11::boolean THEN clock_timestamp() END, holder = CASE WHEN NOT $11::boolean THEN holder END
    WHERE environment_id = $1::uuid AND scenario_id = $2 AND node_id = $3 AND holder = $4::uuid`,
}
const RELEASE = {
  name: 'settlements-release',
  text: `UPDATE season_settlements SET holder = NULL
    WHERE environment_id = $1::uuid AND scenario_id = $2 AND node_id = $3 AND holder = $4::uuid`,
}
const NO_PLAYER = '00000000-0000-0000-0000-000000000000'

interface Place {
  readonly level: number
  readonly playerId: string
}

type Taken = PassRef & { readonly [Name in keyof Place]: Place[Name] | null }

export interface SettlementOptions {
  readonly pool: Pool
  readonly run: GroupCommit['run']
  /** Called when players could not be settled. A later look continues. */
  readonly onError: (error: unknown) => void
  readonly onDone?: (settlement: PassRef) => void
}

/** Looks for seasons to settle, and settles them. When it is stopped, another instance continues. */
export const createSettlements = ({ pool, run, onError, onDone = () => {} }: SettlementOptions): Background =>
  repeatLeased((signal) => settleDue({ pool, run, signal, onDone }), onError)

interface Job extends Pick<SettlementOptions, 'pool' | 'run'> {
  readonly signal: AbortSignal
  readonly onDone: (settlement: PassRef) => void
}

/** Runs the settlements that are due and that no other instance runs. */
export function settleDue(job: Job): Promise<void> {
  const { pool, signal } = job
  const holder = randomUUID()
  return doLeased<Taken>(signal, {
    async isDue() {
      const { rows } = await pool.query<{ due: boolean }>(LOOK)
      return rows[0]?.due === true
    },
    async take() {
      const { rows } = await pool.query<Taken>({ ...TAKE, values: [holder, HELD_MS] })
      return rows[0]
    },
    run: (taken) => settle(job, taken, holder),
    release: ({ environmentId, scenarioId, nodeId }) =>
      pool.query({ ...RELEASE, values: [environmentId, scenarioId, nodeId, holder] }),
  })
}

async function settle({ pool, run, signal, onDone }: Job, taken: Taken, holder: string): Promise<void> {
  const { environmentId, scenarioId, nodeId } = taken
  const ref = { environmentId, scenarioId, nodeId }
  let place: Place = { level: taken.level ?? -1, playerId: taken.playerId ?? NO_PLAYER }

  /** Notes the place. False when an edit has begun it again, or another instance has taken it over. */
  async function notePlace(at: Place, settled: readonly Settled[], isDone: boolean): Promise<boolean> {
    const count = (of: (one: Settled) => number): number => settled.reduce((sum, one) => sum + of(one), 0)
    const counts = [
      count(({ isChanged }) => Number(isChanged)),
      count(({ tiers }) => tiers),
      count(({ failed }) => failed),
    ]
    const values = [environmentId, scenarioId, nodeId, holder, at.level, at.playerId, ...counts, HELD_MS, isDone]
    const { rowCount } = await pool.query({ ...NOTE, values })
    return rowCount === 1
  }

  for (let isDone = false; !isDone; ) {
    const definition = await run(currentDefinition(ref))
    const now = await readGameNow(pool, environmentId)
    const node = definition?.nodes.get(nodeId)
    if (!definition || node?.type !== 'battle-pass' || !isSettledAt(definition, node, now)) return
    const page = await readPage(pool, ref, { definition, node, place })
    const isPageDone = await actOnEach(
      page.filter((one) => one.due),
      {
        signal,
        pauseFactor: PAUSE_FACTOR,
        act: ({ playerId }) => run(settlePass({ environmentId, playerId }, ref)),
        async note(last, settled) {
          // The edge of the time, or an edit: what was settled stays so, and the next look begins here.
          return settled.every((one) => one !== null) && (await notePlace(last, settled, false))
        },
      },
    )
    if (!isPageDone) return
    const isLast = page.length < PAGE
    isDone = isLast && (place.level === AFTER_LEVELS || endingOf(node).length === 0)
    // After the last pass come those without one.
    place = isLast && !isDone ? { level: AFTER_LEVELS, playerId: NO_PLAYER } : (page.at(-1) ?? place)
    if (!(await notePlace(place, [], isDone))) return
  }
  onDone(ref)
}

/** The currencies that end with a season. */
const endingOf = ({ next }: PassNode): string[] => next?.convert.map(({ currency }) => currency) ?? []

/** Nobody has earned more than all xp. */
const NO_BONUS = [0n, MAX_INT64, 0]

/** Where bonus tiers begin, how much xp each of them takes, and how many there are. */
const bonusRange = (node: PassNode) =>
  node.beyond?.kind === 'tiers' ? [topXp(node), node.beyond.every, node.beyond.max] : NO_BONUS

interface Reading {
  readonly definition: Definition
  readonly node: PassNode
  readonly place: Place
}

async function readPage(pool: Pool, ref: PassRef, { definition, node, place: { level, playerId } }: Reading) {
  const pass = [ref.environmentId, ref.scenarioId, ref.nodeId]
  const ending = endingOf(node)
  const isAfter = level === AFTER_LEVELS
  const tiers = node.atEnd !== 'lose' ? [...node.tiers.values()] : []
  const crosses = nextNodes(definition, node.id, 'onSeasonEnd').length > 0
  const earned = [tiers.map((tier) => tier.level), tiers.map((tier) => tier.track)]
  const bonus = node.atEnd !== 'lose' ? bonusRange(node) : NO_BONUS
  const { rows } = await pool.query<Place & { readonly due: boolean }>(
    isAfter
      ? { ...READ_HOLDERS, values: [...pass, playerId, ending] }
      : { ...READ, values: [...pass, level, playerId, ...earned, ending, crosses, ...bonus] },
  )
  return rows
}
