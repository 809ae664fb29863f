import type { Pool } from 'pg'
import { expect } from 'vitest'

/** What must hold whatever has happened: balances are their ledgers, claims are earned, streams have no gap. */
export async function auditBooks(pool: Pool): Promise<void> {
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

  const { rows: gaps } = await pool.query(
    `SELECT s.environment_id, s.position, count(e.*) AS events FROM streams s LEFT JOIN events e USING (environment_id)
     GROUP BY s.environment_id, s.position HAVING s.position <> count(e.*) OR coalesce(max(e.position), 0) <> s.position`,
  )
  expect(gaps, 'every stream is without a gap').toEqual([])
}
