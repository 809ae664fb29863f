import type { Pool } from 'pg'
import { expect } from 'vitest'
import { numberEvents } from './settled.ts'
import { openPool } from './sql.ts'

/** Expects that balances equal their ledgers, claims are earned, streams have no gap, and figures add up. */
export async function auditBooks(given: Pool): Promise<void> {
  const url = given.options?.connectionString
  // A client in a transaction, for what is not committed.
  if (url === undefined) return audit(given)
  // A pool of its own: statements of the service's have limits of time, which a busy machine exceeds.
  const pool = openPool(url)
  try {
    await audit(pool)
  } finally {
    await pool.end()
  }
}

async function audit(pool: Pool): Promise<void> {
  const { rows: unbalanced } = await pool.query(
    `SELECT w.player_id, w.currency, w.balance, sum(l.amount) AS ledger FROM wallets w
     LEFT JOIN wallet_ledger l USING (environment_id, player_id, currency)
     GROUP BY w.environment_id, w.player_id, w.currency, w.balance HAVING w.balance <> coalesce(sum(l.amount), 0)`,
  )
  expect(unbalanced, 'every balance is the sum of its ledger').toEqual([])

  const { rows: broken } = await pool.query(
    `SELECT * FROM (
       SELECT player_id, currency, balance, sum(amount) OVER (PARTITION BY environment_id, player_id, currency ORDER BY id) AS running FROM wallet_ledger
     ) l WHERE balance <> running`,
  )
  expect(broken, 'every ledger row tells the balance after it').toEqual([])

  const { rows: unexplained } = await pool.query(
    `SELECT p.player_id, p.xp, sum(x.amount) AS ledger FROM passes p
     LEFT JOIN xp_ledger x USING (environment_id, player_id, scenario_id, node_id)
     GROUP BY p.environment_id, p.player_id, p.scenario_id, p.node_id, p.xp HAVING p.xp <> coalesce(sum(x.amount), 0)`,
  )
  expect(unexplained, 'all xp is the sum of its ledger').toEqual([])

  const { rows: unowned } = await pool.query(
    `SELECT c.player_id FROM tier_claims c JOIN passes p USING (environment_id, player_id, scenario_id, node_id)
     WHERE c.track = 'premium' AND NOT p.premium_owned`,
  )
  expect(unowned, 'premium tiers are claimed by owners only').toEqual([])

  const { rows: unpaid } = await pool.query(
    `WITH given AS (
       SELECT m.environment_id, m.player_id, 'inbox/' || m.id AS reference, r ->> 'currency' AS currency,
         sum((r ->> 'amount')::numeric) AS amount
       FROM inbox_messages m, json_array_elements(m.rewards::json) r
       WHERE m.claimed_at IS NOT NULL AND r ->> 'currency' IS NOT NULL GROUP BY 1, 2, 3, 4
     ), booked AS (
       SELECT environment_id, player_id, reference, currency, sum(amount) AS amount FROM wallet_ledger l
       WHERE reason = 'inbox_claim' AND NOT EXISTS (
         SELECT FROM players p WHERE (p.environment_id, p.id) = (l.environment_id, l.player_id) AND p.status = 'deleted'
       ) GROUP BY 1, 2, 3, 4
     )
     SELECT reference, currency, given.amount, booked.amount AS booked
     FROM given FULL JOIN booked USING (environment_id, player_id, reference, currency)
     WHERE given.amount IS DISTINCT FROM booked.amount`,
  )
  expect(unpaid, 'every claimed message is in the ledger once').toEqual([])

  await numberEvents(pool)
  const { rows: gaps } = await pool.query(
    `SELECT s.environment_id, s.position, count(e.*) AS events FROM streams s LEFT JOIN events e USING (environment_id)
     GROUP BY s.environment_id, s.position HAVING s.position <> count(e.*) OR coalesce(max(e.position), 0) <> s.position`,
  )
  expect(gaps, 'every stream is without a gap').toEqual([])

  const { rows: misplaced } = await pool.query(
    `WITH steps AS MATERIALIZED (
       SELECT s.environment_id, s.id AS scenario_id, n ->> 'id' AS node_id,
         array_agg((l ->> 'xp')::bigint ORDER BY (l ->> 'xp')::bigint) AS xps,
         array_agg((l ->> 'level')::int ORDER BY (l ->> 'xp')::bigint) AS levels
       FROM scenarios s JOIN scenario_versions v
         ON (v.environment_id, v.scenario_id, v.version) = (s.environment_id, s.id, s.version),
         json_array_elements(v.definition::json -> 'nodes') n, json_array_elements(n -> 'data' -> 'levels') l
       WHERE s.version = s.leveled_version AND n ->> 'type' = 'battle-pass' GROUP BY 1, 2, 3
     )
     SELECT player_id, xp, level, current_level FROM passes JOIN steps USING (environment_id, scenario_id, node_id)
     WHERE coalesce(current_level, level) <> coalesce(levels[width_bucket(xp, xps)], 0)`,
  )
  expect(misplaced, 'the level by which lists find a player is its level').toEqual([])

  const { rows: misCounted } = await pool.query(
    `WITH counted AS MATERIALIZED (
       -- Levels of what was not edited since it was counted. Of others only the players of all levels are compared.
       SELECT s.environment_id, s.id AS scenario_id, n ->> 'id' AS node_id, (l ->> 'level')::int AS level,
         (l ->> 'xp')::numeric AS xp
       FROM scenarios s JOIN scenario_versions v
         ON (v.environment_id, v.scenario_id, v.version) = (s.environment_id, s.id, s.counted_version),
         json_array_elements(v.definition::json -> 'nodes') n, json_array_elements(n -> 'data' -> 'levels') l
       WHERE s.version = s.counted_version AND n ->> 'type' = 'battle-pass'
     ), book AS (
       SELECT p.environment_id, p.scenario_id, p.node_id, 'standing' AS measure,
         coalesce((SELECT max(level) FROM counted c WHERE (c.environment_id, c.scenario_id, c.node_id)
           = (p.environment_id, p.scenario_id, p.node_id) AND c.xp <= p.xp), 0) AS level,
         CASE WHEN premium_owned THEN 'premium' ELSE 'free' END AS detail, 0::numeric AS amount FROM passes p
       UNION ALL SELECT environment_id, scenario_id, node_id, 'joined', 0, '', 0 FROM passes
       UNION ALL SELECT environment_id, scenario_id, node_id, 'completed', 0, '', 0 FROM passes WHERE completed
       UNION ALL SELECT environment_id, scenario_id, node_id, 'premium', 0, '', 0 FROM passes WHERE premium_owned
       UNION ALL SELECT p.environment_id, p.scenario_id, p.node_id, 'sold', 0, w.currency, -w.amount FROM wallet_ledger w
         JOIN passes p ON (p.environment_id, p.player_id, p.scenario_id || '/' || p.node_id)
           = (w.environment_id, w.player_id, w.reference)
         WHERE w.reason = 'premium_purchase' AND w.amount < 0
       UNION ALL SELECT environment_id, scenario_id, node_id, 'claimed', level, track, 0 FROM tier_claims
       UNION ALL SELECT environment_id, scenario_id, node_id, 'xp ' || date_trunc('hour', created_at, 'UTC'), 0, source, amount
         FROM xp_ledger WHERE amount <> 0
       UNION ALL SELECT environment_id, scenario_id, node_id, 'xp_origin ' || date_trunc('hour', created_at, 'UTC'), 0, origin, amount
         FROM xp_ledger WHERE amount <> 0 AND origin IS NOT NULL
       UNION ALL SELECT environment_id, scenario_id, node_id, 'xp_clipped ' || date_trunc('hour', created_at, 'UTC'), 0, source, asked - (amount - coalesce(bonus, 0))
         FROM xp_ledger WHERE asked IS NOT NULL
     ), books AS (
       SELECT environment_id, scenario_id, node_id, measure, level, detail, count(*) AS count, sum(amount) AS amount
       FROM book GROUP BY 1, 2, 3, 4, 5, 6
     ), figures AS (
       SELECT environment_id, scenario_id, node_id, CASE WHEN measure LIKE 'xp%' THEN measure || ' ' || bucket ELSE measure END AS measure,
         CASE WHEN measure = 'premium' OR measure = 'standing' AND NOT EXISTS (
           SELECT FROM counted c WHERE (c.environment_id, c.scenario_id, c.node_id)
             = (insight.environment_id, insight.scenario_id, insight.node_id)
         ) THEN 0 ELSE level END AS level, detail, sum(count) AS count, sum(amount) AS amount
       FROM insight WHERE measure NOT IN ('active', 'login', 'login_day', 'attempts') GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(count) <> 0 OR sum(amount) <> 0
     )
     SELECT measure, level, detail, books.count, figures.count AS told, books.amount, figures.amount AS told_amount
     FROM books FULL JOIN figures USING (environment_id, scenario_id, node_id, measure, level, detail)
     -- A purchase for nothing is counted, and has no row in the ledger.
     WHERE measure <> 'sold' AND books.count IS DISTINCT FROM figures.count
       OR coalesce(books.amount, 0) <> coalesce(figures.amount, 0)`,
  )
  expect(misCounted, 'every figure is the sum of the books').toEqual([])
}

/** Expects that each change by support has its audit row, and each such row its change. */
export async function auditSupport(pool: Pool): Promise<void> {
  const { rows: unaudited } = await pool.query(
    `SELECT l.player_id, l.reference, a.action, a.before, a.after, l.amount, l.balance FROM wallet_ledger l
     FULL JOIN (SELECT *, 'support/' || id AS reference FROM audit_log
       WHERE action IN ('player.credit_wallet', 'player.debit_wallet')) a
       ON a.reference = l.reference AND a.target = l.player_id::text AND a.environment_id = l.environment_id
         AND (a.after::json ->> 'currency') = l.currency AND (a.after::json ->> 'balance')::numeric = l.balance
         AND (a.before::json ->> 'balance')::numeric = l.balance - l.amount
         AND (a.action = 'player.credit_wallet') = (l.amount > 0)
     WHERE (a.id IS NULL AND l.reference LIKE 'support/%') OR (a.id IS NOT NULL AND l.id IS NULL)`,
  )
  expect(unaudited, 'every credit and debit has its audit row, and every such row its change').toEqual([])

  const { rows: unexplained } = await pool.query(
    `SELECT action, actor, target FROM audit_log WHERE action LIKE 'player.%' AND action NOT LIKE '%.denied'
       AND (reason IS NULL OR environment_id IS NULL OR actor NOT LIKE 'platform_key:%')`,
  )
  expect(unexplained, 'every action of support says who and why').toEqual([])

  const { rows: untrue } = await pool.query(
    `SELECT * FROM (
       SELECT DISTINCT ON (a.project_id, a.target) a.target, a.after::json ->> 'status' AS told, p.status
       FROM audit_log a JOIN players p ON p.environment_id = a.environment_id AND p.id::text = a.target
       WHERE a.action IN ('player.ban', 'player.unban', 'player.delete') ORDER BY a.project_id, a.target, a.id DESC
     ) s WHERE told <> status`,
  )
  expect(untrue, 'every player stands as the audit log last told').toEqual([])

  const { rows: several } = await pool.query(
    `SELECT player_id, scenario_id FROM runs WHERE status = 'active'
     GROUP BY environment_id, player_id, scenario_id HAVING count(*) > 1`,
  )
  expect(several, 'a player has one active run of a scenario').toEqual([])

  const { rows: remains } = await pool.query(
    `SELECT p.id FROM players p JOIN audit_log a ON a.target = p.id::text AND a.action = 'player.delete'
     WHERE coalesce(p.nickname, p.avatar_url, p.region, p.language) IS NOT NULL
       OR EXISTS (SELECT FROM player_storage s WHERE s.environment_id = p.environment_id AND s.player_id = p.id)
       OR EXISTS (SELECT FROM refresh_tokens t
         WHERE t.environment_id = p.environment_id AND t.player_id = p.id AND t.revoked_at IS NULL)
       OR EXISTS (SELECT FROM events e WHERE e.environment_id = p.environment_id AND e.player_id = p.id
         AND e.type = 'player.created' AND (e.data::json ->> 'nickname') IS NOT NULL)`,
  )
  expect(remains, 'nothing personal is left of the deleted').toEqual([])
}
