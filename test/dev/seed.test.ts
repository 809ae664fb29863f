import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { demoSeason } from '../../src/dev/season.ts'
import { ensureScenario } from '../../src/dev/seed.ts'
import { type SeedSeasonOptions, seedSeason } from '../../src/dev/seed-season.ts'
import { levelAt } from '../../src/game/battlepass/decide.ts'
import type { PassNode } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { auditBooks } from '../harness/audit.ts'
import { startCommandLine } from '../harness/command-line.ts'
import { scenario } from '../harness/definitions.ts'
import { type Game, generateKeys, type Keys, startGame, type TestPlayer, times } from '../harness/game.ts'
import { startOperator } from '../harness/operator.ts'
import { buildService } from '../harness/service.ts'
import { openPool } from '../harness/sql.ts'

/** More than one batch, of 250. */
const PLAYERS = 260
const SCENARIO = 'season-1'
const DAY_MS = 86_400_000
/**
 * The same hour of the same weekday in every run. The actions of players depend on it: so a seed makes the same season.
 * The tests of the command use the present time.
 */
const UNTIL = new Date(Math.floor(Date.now() / (7 * DAY_MS)) * 7 * DAY_MS)
const PLACE = { scenarioId: SCENARIO, nodeId: 'pass' }

const parsed = parseDefinition(demoSeason())
const pass = (parsed.ok ? parsed.definition.nodes.get('pass') : undefined) as PassNode

interface Seeded {
  readonly id: string
  readonly status: string
  readonly created_at: Date
  readonly xp: string | null
  readonly level: number
  readonly premium_owned: boolean
  readonly run_id: string
}

/** A service whose environment has seeded players. Events of the whole season are kept. */
async function startSeeded(): Promise<Game> {
  const game = await startUnseeded()
  await seed(game)
  return game
}

async function startUnseeded(): Promise<Game> {
  const game = await startGame({ EVENT_RETENTION_DAYS: '365' })
  await ensureScenario(game.app.pool, game.environmentId, SCENARIO)
  return game
}

function seed(game: Game, options: Partial<SeedSeasonOptions> = {}): ReturnType<typeof seedSeason> {
  const { databaseUrl: url, environmentId } = game
  const defaults = { players: PLAYERS, days: 60, eventRetentionDays: 365, seed: 1, until: UNTIL }
  return seedSeason({ url, environmentId, scenarioId: SCENARIO, ...defaults, ...options })
}

async function seededPlayers({ app: { pool }, environmentId }: Game): Promise<Seeded[]> {
  const { rows } = await pool.query<Seeded>(
    `SELECT p.id, p.status, p.created_at, s.xp, coalesce(s.level, 1) AS level, coalesce(s.premium_owned, false) AS premium_owned,
       r.id AS run_id
     FROM players p JOIN runs r ON r.environment_id = p.environment_id AND r.player_id = p.id
     LEFT JOIN passes s ON s.environment_id = p.environment_id AND s.player_id = p.id
     WHERE p.environment_id = $1 ORDER BY p.id`,
    [environmentId],
  )
  return rows
}

async function bearerOf({ app, environmentId, projectId }: Game, playerId: string): Promise<{ authorization: string }> {
  return { authorization: `Bearer ${await app.tokens.issueAccessToken({ environmentId, playerId, projectId })}` }
}

/** Statements of the service's pools have limits of time, which a busy machine exceeds. */
async function withPool<T>({ databaseUrl }: Game, work: (pool: Pool) => Promise<T>): Promise<T> {
  const pool = openPool(databaseUrl)
  return work(pool).finally(() => pool.end())
}

/** Expects every stream to be in the order of time. */
async function auditTime(game: Game): Promise<void> {
  const { rows } = await withPool(game, (pool) =>
    pool.query(
      `SELECT * FROM (
         SELECT position, occurred_at, lag(occurred_at) OVER (PARTITION BY environment_id ORDER BY position) AS before FROM events
       ) e WHERE occurred_at < before LIMIT 5`,
    ),
  )
  expect(rows, 'time never runs backwards in a stream').toEqual([])
}

async function auditSeason(game: Game): Promise<void> {
  await auditBooks(game.app.pool)
  await auditTime(game)
}

describe('a seeded season', () => {
  let game: Game
  beforeAll(async () => {
    game = await startSeeded()
  })
  afterAll(() => game?.stop())

  test('leaves the books as the service would', async () => {
    await auditSeason(game)
    await withPool(game, auditPasses)
  })

  async function auditPasses(pool: Pool): Promise<void> {
    const { rows: counted } = await pool.query(
      `SELECT (SELECT count(*)::int FROM players) AS players, (SELECT count(*)::int FROM identities) AS identities,
         (SELECT count(*)::int FROM runs WHERE status = 'active') AS runs,
         (SELECT count(*)::int FROM events WHERE type = 'player.created') AS created`,
    )
    expect(counted).toEqual([{ players: PLAYERS, identities: PLAYERS, runs: PLAYERS, created: PLAYERS }])
    // Levels follow from xp, and every tier that was claimed was reached.
    for (const player of await seededPlayers(game)) {
      expect(player.level).toBe(levelAt(pass, BigInt(player.xp ?? 0)))
    }
    const { rows: unearned } = await pool.query(
      `SELECT c.player_id FROM tier_claims c JOIN passes p USING (environment_id, player_id, scenario_id, node_id)
       WHERE c.level > p.level`,
    )
    expect(unearned).toEqual([])
    // A player at the top level with all open tiers has completed the pass, and the stream has the event.
    const { rows: ends } = await pool.query(
      `SELECT p.completed, p.max_level_crossed AS at_top, p.level = 100 AND c.claims = CASE WHEN p.premium_owned THEN 200 ELSE 100 END AS done,
         p.level = 100 AS top, p.completed_nodes::jsonb ? 'halfway' AS halfway, c.halfway AS claimed_halfway, e.completed AS told
       FROM passes p,
         LATERAL (SELECT count(*) AS claims, coalesce(bool_or(level = 50), false) AS halfway FROM tier_claims c
           WHERE (c.environment_id, c.player_id) = (p.environment_id, p.player_id)) c,
         LATERAL (SELECT count(*) = 1 AS completed FROM events e
           WHERE (e.environment_id, e.player_id) = (p.environment_id, p.player_id)
             AND e.handle = 'onComplete' AND e.node_id = 'pass') e`,
    )
    expect(ends.some(({ completed }) => completed)).toBe(true)
    for (const { completed, at_top, done, top, halfway, claimed_halfway, told } of ends) {
      expect([completed, told, at_top, halfway]).toEqual([done, done, top, claimed_halfway])
    }
    // The ledger rows of claims equal the rewards of the claims.
    const { rows: ungranted } = await pool.query(
      `SELECT player_id, currency, sum(amount) FROM (
         SELECT player_id, currency, amount FROM wallet_ledger WHERE reason = 'tier_claim'
         UNION ALL SELECT c.player_id, g ->> 'currency', -(g -> 'amount' ->> '$int')::bigint
           FROM tier_claims c, json_array_elements(c.granted::json) AS g WHERE g ->> 'currency' IS NOT NULL
       ) AS both_sides GROUP BY player_id, currency HAVING sum(amount) <> 0`,
    )
    expect(ungranted).toEqual([])
  }

  test('lies within its days, and xp comes after the creation of its player', async () => {
    const { rows } = await game.app.pool.query(
      `SELECT min(p.created_at) >= $1::timestamptz - interval '60 days 5 minutes' AS begins, max(l.last) <= $1 AS ends,
         bool_and(l.first IS NULL OR l.first > p.created_at) AS in_order, max(p.created_at) - min(p.created_at) > interval '50 days' AS spread
       FROM players p LEFT JOIN (
         SELECT player_id, min(created_at) AS first, max(created_at) AS last FROM xp_ledger GROUP BY 1
       ) l ON l.player_id = p.id`,
      [UNTIL],
    )
    expect(rows).toEqual([{ begins: true, ends: true, in_order: true, spread: true }])
  })

  test('has idle players, players who forget to claim, buyers, banned players and names in many scripts', async () => {
    const { rows } = await game.app.pool.query(
      `SELECT count(*) FILTER (WHERE s.xp IS NULL)::int AS idle, count(*) FILTER (WHERE s.premium_owned)::int AS buyers,
         count(*) FILTER (WHERE s.level >= 10)::int AS far, count(*) FILTER (WHERE p.status = 'banned')::int AS banned,
         count(DISTINCT p.region)::int AS regions, count(*) FILTER (WHERE p.nickname ~ '[^ -~]')::int AS scripts,
         count(*) FILTER (WHERE s.level > 1 AND NOT EXISTS (SELECT FROM tier_claims c WHERE c.player_id = p.id))::int AS unclaimed
       FROM players p LEFT JOIN passes s ON s.player_id = p.id`,
    )
    for (const [name, count] of Object.entries(rows[0])) {
      expect(count, name).toBeGreaterThan(0)
      expect(count, name).toBeLessThan(PLAYERS)
    }
    const { rows: sources } = await game.app.pool.query('SELECT DISTINCT source FROM xp_ledger ORDER BY source')
    expect(sources.map(({ source }) => source)).toEqual(
      expect.arrayContaining(['daily_quest', 'event', 'match', 'tutorial', 'weekly_challenge']),
    )
  })

  test('has xp that the rules of the season allow: of the tutorial from clients, of all else from servers', async () => {
    const { rows } = await game.app.pool.query(
      `SELECT x.source, x.origin, sum(x.amount)::int AS xp FROM xp_ledger x GROUP BY x.player_id, 1, 2`,
    )
    for (const { source, origin, xp } of rows) {
      expect([source, origin]).toEqual([source, source === 'tutorial' ? null : 'server'])
      const most = pass.xpRules?.sources.get(source)?.limits.perSeason
      if (most) expect(BigInt(xp)).toBeLessThanOrEqual(most)
    }
  })

  test('has the last login of each player, in agreement with the login log', async () => {
    const { rows } = await game.app.pool.query(
      `SELECT count(*)::int AS players, count(l.logged_in_at)::int AS known,
         count(*) FILTER (WHERE l.logged_in_at < p.created_at OR l.logged_in_at > now())::int AS outside,
         count(*) FILTER (WHERE g.at IS NOT NULL AND g.at <> l.logged_in_at)::int AS other, count(g.at)::int AS logged
       FROM players p LEFT JOIN last_logins l ON l.player_id = p.id
       LEFT JOIN LATERAL (SELECT max(created_at) AS at FROM login_log g WHERE g.player_id = p.id AND g.outcome = 'ok') g ON true`,
    )
    expect(rows[0]).toMatchObject({ players: PLAYERS, known: PLAYERS, outside: 0, other: 0 })
    expect(rows[0].logged).toBeGreaterThan(0)
  })

  test('gives dashboards the figures that follow from the books', async () => {
    const to = new Date()
    const { data, errors } = await game.graphql(
      game.platformKey,
      `query ($from: DateTime!, $to: DateTime!) {
        battlePassInsight(environment: "production", scenarioId: "season-1", nodeId: "pass", from: $from, to: $to) {
          levels { level players premium }
          days { startsAt players newPlayers }
          xp(by: DAY) { source grants xp }
          xpByOrigin(by: DAY) { origin grants xp }
          tiers { level track claimed }
          completion { players completed }
        }
      }`,
      { from: new Date(UNTIL.getTime() - 61 * DAY_MS), to },
    )
    expect(errors).toBeUndefined()
    const told = data.battlePassInsight
    const read = async (sql: string) => (await game.app.pool.query(sql)).rows
    const levels = await read(
      `SELECT level, count(*)::int AS players, count(*) FILTER (WHERE premium_owned)::int AS premium FROM passes
       GROUP BY level ORDER BY level`,
    )
    expect(told.levels.filter(({ players }: { players: number }) => players > 0)).toEqual(levels)
    const days = await read(
      `SELECT day, count(DISTINCT player_id)::int AS players, count(*) FILTER (WHERE is_first)::int AS "newPlayers" FROM (
         SELECT player_id, date_trunc('day', at, 'UTC') AS day, row_number() OVER (PARTITION BY player_id ORDER BY at) = 1 AS is_first
         FROM (
           SELECT player_id, created_at AS at FROM xp_ledger UNION ALL SELECT player_id, claimed_at FROM tier_claims
           UNION ALL SELECT player_id, created_at FROM wallet_ledger WHERE reason = 'premium_purchase'
         ) AS played
       ) AS days GROUP BY day ORDER BY day`,
    )
    const active = told.days.filter(({ players }: { players: number }) => players > 0)
    expect(active).toEqual(days.map(({ day, ...others }) => ({ startsAt: day.toISOString(), ...others })))
    const sources = await read(
      'SELECT source, count(*)::int AS grants, sum(amount)::text AS xp FROM xp_ledger GROUP BY source ORDER BY sum(amount) DESC',
    )
    expect(told.xp).toEqual(sources)
    const origins = await read(
      `SELECT upper(coalesce(origin, 'client')) AS origin, count(*)::int AS grants, sum(amount)::text AS xp FROM xp_ledger
       GROUP BY 1 ORDER BY 1`,
    )
    expect(told.xpByOrigin.filter(({ grants }: { grants: number }) => grants > 0)).toEqual(origins)
    const claimed = await read(
      'SELECT level, upper(track) AS track, count(*)::int AS claimed FROM tier_claims GROUP BY level, track ORDER BY level, track',
    )
    expect(told.tiers.filter((tier: { claimed: number }) => tier.claimed > 0)).toEqual(claimed)
    const [completion] = await read(
      'SELECT count(*)::int AS players, count(*) FILTER (WHERE completed)::int AS completed FROM passes',
    )
    expect(told.completion).toEqual(completion)

    const [logins] = await read("SELECT count(*)::int AS ok FROM login_log WHERE outcome = 'ok'")
    const { data: statistics } = await game.graphql(
      game.platformKey,
      `query ($from: DateTime!, $to: DateTime!) {
        loginStatistics(environment: "production", from: $from, to: $to) { total { outcomes { outcome logins } } }
      }`,
      { from: new Date(to.getTime() - 30 * DAY_MS), to },
    )
    const { outcomes } = statistics.loginStatistics.total
    const ok = Number(outcomes.find(({ outcome }: { outcome: string }) => outcome === 'OK')?.logins)
    // The log begins within an hour, and the figures count whole hours.
    expect(ok).toBeGreaterThanOrEqual(logins.ok)
    expect(ok).toBeLessThanOrEqual(logins.ok + PLAYERS)
  })

  test('has the events of each player, from its creation to its present level', async () => {
    const players = (await seededPlayers(game)).filter(({ level }) => level > 1).slice(-40)
    expect(players.length).toBeGreaterThan(0)
    for (const { id, level } of players) {
      const { data, errors } = await game.graphql(
        game.platformKey,
        `query ($playerId: ID!) { events(environment: "production", playerId: $playerId, first: 200) {
          edges { node { type handle occurredAt data } }
        } }`,
        { playerId: id },
      )
      expect(errors).toBeUndefined()
      const events = data.events.edges.map(({ node }: { node: unknown }) => node)
      expect(events[0].type).toBe('PLAYER_CREATED')
      const ups = events.filter(({ handle }: { handle: string }) => handle === 'onLevelUp')
      expect(ups.at(-1).data.toLevel).toBe(level)
      for (const [index, up] of ups.entries())
        expect(up.data.fromLevel).toBe(index === 0 ? 1 : ups[index - 1].data.toLevel)
    }
  })

  // From here on, the players play.

  test('has players who go on playing through the service with their run, xp, claims and premium, unless banned', async () => {
    const price = pass.premium?.amount ?? 0n
    const players = (await seededPlayers(game)).filter(({ status }, at) => status !== 'active' || at % 3 === 0)
    expect(new Set(players.map(({ status }) => status))).toEqual(new Set(['active', 'banned']))
    const playOn = async (player: Seeded) => {
      const headers = await bearerOf(game, player.id)
      const post = async (path: string, body: object) =>
        game.request('POST', `/sdk/v1/${path}`, { body: JSON.stringify(body), headers })
      const progress = await post('battlepass/progress', PLACE)
      if (player.status === 'banned') {
        expect(progress.status).toBe(403)
        return
      }
      expect(progress.body).toMatchObject({ level: player.level, premiumOwned: player.premium_owned })
      expect(BigInt(progress.text.match(/"xp":(\d+)/)?.[1] ?? -1)).toBe(BigInt(player.xp ?? 0))

      const { body: run } = await post('scenarios/start', { scenarioId: SCENARIO })
      expect(run).toMatchObject({ runId: player.run_id, resumed: true, plan: { runId: player.run_id } })
      const place = { ...PLACE, runId: player.run_id }
      const xp = await post('battlepass/xp', { ...place, amount: 2_000, source: 'practice' })
      expect(xp.body).toMatchObject({ xp: Number(player.xp ?? 0) + 2_000 })

      const { level } = xp.body
      const known = new Set(
        progress.body.claimedTiers.map((tier: { level: number; track: string }) => `${tier.track} ${tier.level}`),
      )
      const claim = await post('battlepass/claim', { ...place, level, track: 'free' })
      expect(claim.body).toMatchObject({ success: true, alreadyClaimed: known.has(`free ${level}`) })
      expect(claim.body.granted).not.toEqual([])

      const { body: before } = await post('player/get', {})
      const gems = before.wallet.find(({ currency }: { currency: string }) => currency === 'gems')?.balance ?? 0
      const bought = await post('battlepass/premium', place)
      const error = player.premium_owned ? 'premium already owned' : BigInt(gems) < price ? 'insufficient funds' : null
      expect(bought.body).toMatchObject({ success: error === null, error })
    }
    for (let start = 0; start < players.length; start += 25) {
      await Promise.all(players.slice(start, start + 25).map(playOn))
    }
    await auditSeason(game)
  })

  test("has players who log in through the studio's webhook as themselves", async () => {
    const operator = await startOperator()
    try {
      const { rows } = await game.app.pool.query<{ player_id: string; subject: string }>(
        `SELECT i.player_id, i.subject FROM identities i JOIN players p ON p.id = i.player_id WHERE p.status = 'active' LIMIT 1`,
      )
      await game.setProviders({ default: { enabled: true, url: operator.url, secret: operator.secret } })
      const login = await game.login({ player: rows[0]?.subject ?? '' })
      expect(login.status).toBe(200)
      const me = await game.request('POST', '/sdk/v1/player/get', {
        body: '{}',
        headers: { authorization: `Bearer ${login.body.accessToken}` },
      })
      expect(me.body.playerId).toBe(rows[0]?.player_id)
    } finally {
      await operator.close()
    }
  })
})

describe('seeding', () => {
  test('makes the same season with the same seed, and another season with another seed', async () => {
    const game = await startUnseeded()
    try {
      const season = async (seedNumber: number) => {
        const before = new Set((await seededPlayers(game)).map(({ id }) => id))
        await seed(game, { players: 60, seed: seedNumber })
        const made = (await seededPlayers(game)).filter(({ id }) => !before.has(id))
        return made
          .map(({ created_at, xp, level, premium_owned, status }) =>
            [created_at.toISOString(), xp, level, premium_owned, status].join(),
          )
          .sort()
      }
      const first = await season(3)
      expect(first).toHaveLength(60)
      expect(await season(3)).toEqual(first)
      expect(await season(4)).not.toEqual(first)
      await auditSeason(game)
    } finally {
      await game.stop()
    }
  })

  test('works for any battle pass, within its season and for its price', async () => {
    const game = await startUnseeded()
    try {
      const day = (days: number) => new Date(UNTIL.getTime() + days * DAY_MS).toISOString()
      const data = {
        levels: [0, 30, 60, 100].map((xp, index) => ({ level: index + 1, xp })),
        tiers: (['free', 'premium'] as const).map((track) => ({
          level: 3,
          track,
          rewards: [{ currency: 'shells', amount: 5 }],
        })),
        premium: { price: { currency: 'coins', amount: 7_300 } },
      }
      const publish = (scenarioId: string, startsAt: string, endsAt: string) =>
        game.publish(
          scenarioId,
          scenario([{ id: 'short', type: 'battle-pass', data: { ...data, startsAt, endsAt } }], []),
        )
      const [startsAt, endsAt] = [day(-12), day(-2)]
      expect((await publish('beach', startsAt, endsAt)).status).toBe(200)
      await seed(game, { scenarioId: 'beach', players: 100 })
      await auditSeason(game)
      const { rows } = await game.app.pool.query(
        `SELECT min(created_at) >= $1 AS begins, max(created_at) < $2 AS ends, max(created_at) - min(created_at) > interval '8 days' AS whole
         FROM xp_ledger`,
        [startsAt, endsAt],
      )
      expect(rows).toEqual([{ begins: true, ends: true, whole: true }])
      const { rows: bought } = await game.app.pool.query(
        `SELECT DISTINCT currency, amount::int FROM wallet_ledger WHERE reason = 'premium_purchase'`,
      )
      expect(bought).toEqual([{ currency: 'coins', amount: -7_300 }])
      const { rows: levels } = await game.app.pool.query('SELECT count(DISTINCT level)::int AS levels FROM passes')
      expect(levels).toEqual([{ levels: 4 }])

      expect((await publish('winter', day(20), day(40))).status).toBe(200)
      await expect(seed(game, { scenarioId: 'winter' })).rejects.toThrow('has not begun')
      await expect(seed(game, { scenarioId: 'nowhere' })).rejects.toThrow('no scenario nowhere')
    } finally {
      await game.stop()
    }
  })

  test('leaves sound books when two seedings run at once while players play', async () => {
    const game = await startUnseeded()
    try {
      const players = await Promise.all(times(4, () => game.player()))
      const done = new AbortController()
      const play = async (player: TestPlayer) => {
        const runId = await player.start(SCENARIO)
        for (let call = 0; !done.signal.aborted; call += 1) {
          const { status } = await player.post('/sdk/v1/battlepass/xp', {
            ...PLACE,
            runId,
            amount: 400,
            source: 'practice',
          })
          // A call that waits too long for a commit is refused. The books are sound all the same.
          expect([200, 503]).toContain(status)
          const level = 1 + (call % 90)
          await player.post('/sdk/v1/battlepass/claim', { ...PLACE, runId, level, track: 'free' })
        }
      }
      const playing = Promise.all(players.map(play))
      const seeding = Promise.all([seed(game), seed(game, { seed: 2 })])
      const counts = await seeding.finally(() => done.abort())
      await playing
      expect(counts.map(({ players: made, complete }) => [made, complete])).toEqual([
        [PLAYERS, true],
        [PLAYERS, true],
      ])
      expect(await seededPlayers(game)).toHaveLength(2 * PLAYERS + players.length)
      await auditSeason(game)
    } finally {
      await game.stop()
    }
  })

  test('writes no events past retention, and none older than the events that are there', async () => {
    const game = await startUnseeded()
    try {
      await game.player()
      const from = new Date()
      await seed(game, { players: 60, eventRetentionDays: 10, until: from })
      await auditSeason(game)
      const { rows } = await game.app.pool.query<{ events: number; early: number; created: number }>(
        `SELECT count(*)::int AS events, count(*) FILTER (WHERE type = 'player.created')::int AS created,
           count(*) FILTER (WHERE occurred_at < (SELECT min(occurred_at) FROM events WHERE position = 1))::int AS early
         FROM events WHERE position > 1`,
      )
      expect(rows[0]?.early).toBe(0)
      expect(rows[0]?.events).toBeGreaterThan(0)
      // Players who joined earlier have no event.
      const { rows: joined } = await game.app.pool.query(
        "SELECT count(*)::int AS players FROM players WHERE created_at > $1::timestamptz - interval '10 days'",
        [from],
      )
      expect(rows[0]?.created).toBe(joined[0].players - 1)
    } finally {
      await game.stop()
    }
  })
})

describe('the seed command', () => {
  let game: Game
  let dataDir: string
  let keys: Keys
  beforeAll(async () => {
    await buildService()
    game = await startUnseeded()
    keys = await generateKeys()
    dataDir = await mkdtemp(join(tmpdir(), 'tierway-seed-'))
  })
  afterAll(async () => {
    await game?.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  function start(args: readonly string[], env: Record<string, string> = {}) {
    const { databaseUrl, projectId } = game
    const settings = { DATABASE_URL: databaseUrl, TIERWAY_DATA_DIR: dataDir, ...keys, ...env }
    return startCommandLine(['seed', '--project', projectId, ...args], settings)
  }

  async function seededSoFar(): Promise<number> {
    const { rows } = await game.app.pool.query('SELECT count(*)::int AS players FROM players')
    return rows[0].players
  }

  test('prints what it made as JSON with --json', async () => {
    const before = await seededSoFar()
    const { output, exited } = start(['--players', '40', '--json'])
    expect(await exited, output.error).toEqual([0, null])
    expect(JSON.parse(output.out)).toMatchObject({ players: 40, complete: true })
    expect(output.error).toContain('40 players')
    expect((await seededSoFar()) - before).toBe(40)
  })

  test('leaves sound books when it is killed, and can be run again', async () => {
    const before = await seededSoFar()
    const { child, output, exited } = start(['--players', '5000'])
    child.stderr.once('data', () => child.kill('SIGKILL'))
    expect(await exited, output.error).toEqual([null, 'SIGKILL'])
    const made = (await seededSoFar()) - before
    expect(made).toBeGreaterThan(0)
    expect(made).toBeLessThan(5_000)
    await auditSeason(game)
    expect(await start(['--players', '40']).exited).toEqual([0, null])
    await auditSeason(game)
    expect((await seededSoFar()) - before).toBe(made + 40)
  })

  test('stops between two batches when it is interrupted, with the events of the players made so far', async () => {
    const before = await seededSoFar()
    const { child, output, exited } = start(['--players', '5000', '--json'], { EVENT_RETENTION_DAYS: '365' })
    child.stderr.once('data', () => child.kill('SIGINT'))
    expect(await exited, output.error).toEqual([130, null])
    const told = JSON.parse(output.out)
    expect(told.complete).toBe(false)
    expect((await seededSoFar()) - before).toBe(told.players)
    const { rows } = await game.app.pool.query(
      `SELECT count(*)::int AS created FROM events e JOIN (
         SELECT id FROM players ORDER BY id
       ) p ON p.id = e.player_id WHERE e.type = 'player.created'`,
    )
    expect(rows[0].created).toBeGreaterThanOrEqual(told.players)
    await auditSeason(game)
  })

  test.each([
    ['a run in production without --force', [], { NODE_ENV: 'production' }, /needs --force/],
    ['no players', ['--players', '0'], {}, /whole number from 1/],
    ['an environment that does not exist', ['--environment', 'nowhere'], {}, /environment not found/],
    ['a project that does not exist', ['--project', '00000000-0000-7000-8000-000000000000'], {}, /not found/],
  ])('refuses %s', async (_what, args, env, message) => {
    const before = await seededSoFar()
    const { output, exited } = start(args, env as Record<string, string>)
    const [code] = await exited
    expect(code, output.out).not.toBe(0)
    expect(output.error).toMatch(message)
    expect(await seededSoFar()).toBe(before)
  })
})
