import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { levelAt } from '../../src/game/battlepass/decide.ts'
import { settleDue } from '../../src/game/seasons/settle-seasons.ts'
import { storeLevels } from '../../src/operations/figures/store-levels.ts'
import type { Command } from '../../src/transactions/command.ts'
import { gold, item, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { startInstance, type TestPlayer, times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { until } from '../harness/until.ts'
import {
  CLAIMS_ONLY,
  enter,
  FUTURE,
  game,
  MAX_INT64,
  PAST,
  startPassGame,
  stopPassGame,
  supported,
} from './pass-game.ts'
import { job, readSettlement, settle } from './settle.ts'

// What becomes of tiers that were earned and not claimed (`atEnd`).

const GRANT = { atEnd: 'grant' }
const OPEN = { ...GRANT, startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }
const CLOSED = { ...GRANT, ...PAST }
const EVENTS = `query ($playerId: ID) { events(environment: "production", playerId: $playerId, types: [SEASON_SETTLED], first: 100) {
  nodes { type nodeId scenarioId runId data ... on SeasonSettledEvent { playerId tiers failed } } } }`

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
const newId = (): string => {
  count += 1
  return `end-${count}`
}

async function publish(id: string, more: object, options: Parameters<typeof season>[0] = {}): Promise<void> {
  const { status, text } = await game.publish(id, season({ ...options, more: more as never }))
  expect(status, text).toBe(200)
}

const eventsOf = async ({ playerId }: TestPlayer) => {
  await settled(game.app.pool)
  return (await game.graphql(game.platformKey, EVENTS, { playerId })).data.events.nodes
}
const claimsOf = async ({ playerId }: TestPlayer, scenarioId: string): Promise<string[]> => {
  const { rows } = await game.app.pool.query(
    `SELECT level || ' ' || track AS tier FROM tier_claims WHERE player_id = $1 AND scenario_id = $2 ORDER BY level, track`,
    [playerId, scenarioId],
  )
  return rows.map(({ tier }) => tier)
}

describe('tiers that were earned and not claimed, once claims have closed', () => {
  it('are granted where the pass says so: those of the level, premium ones to its owners, each once', async () => {
    const id = newId()
    await publish(id, OPEN)
    const [some, owner, fresh] = [await enter(id), await enter(id, { wallet: { gems: 950n } }), await enter(id)]
    await some.xp(250)
    await some.claim(2, 'free')
    await owner.premium()
    await owner.xp(150)
    await publish(id, CLOSED)
    const settlement = await settle(id)

    expect(await claimsOf(some.player, id)).toEqual(['1 free', '2 free', '3 free'])
    expect(await some.holdings()).toEqual({ wallet: { gold: '60' }, items: {} })
    expect(await some.ledger()).toEqual([
      { currency: 'gold', amount: '20', balance: '20', reason: 'tier_claim', reference: `${id}/pass/free/2` },
      { currency: 'gold', amount: '10', balance: '30', reason: 'season_end', reference: `${id}/pass/free/1` },
      { currency: 'gold', amount: '30', balance: '60', reason: 'season_end', reference: `${id}/pass/free/3` },
    ])
    expect(await claimsOf(owner.player, id)).toEqual(['1 free', '1 premium', '2 free', '2 premium'])
    expect((await owner.holdings()).items).toEqual({ 'skin-1': '1', 'skin-2': '1' })
    // Level 1 needs no xp, but a player without a pass has not played it.
    expect(await claimsOf(fresh.player, id)).toEqual([])

    const event = { type: 'SEASON_SETTLED', nodeId: 'pass', scenarioId: id, failed: 0 }
    expect(await eventsOf(some.player)).toEqual([
      {
        ...{ ...event, playerId: some.player.playerId, runId: some.runId, tiers: 2 },
        data: { tiers: 2, failed: 0, granted: [{ amount: '40', currency: 'gold', itemId: null }] },
      },
    ])
    expect(await eventsOf(fresh.player)).toEqual([])
    expect(settlement).toEqual({
      ...{ scenarioId: id, nodeId: 'pass', dueAt: '2020-02-01T00:00:00.000Z' },
      ...{ startedAt: expect.any(String), finishedAt: expect.any(String), players: 2, tiers: 6, failed: 0 },
    })
    // A repeat of a claim whose answer was lost shows what was granted.
    expect((await some.claim(3, 'free')).body).toMatchObject({ success: true, alreadyClaimed: true })
  })

  describe('are mailed where the pass says so', () => {
    const MAIL = { atEnd: 'mail', mail: { text: { en: { title: 'The end' } }, image: 'ui/end', days: 10 } }
    const mailed = async (pass: Awaited<ReturnType<typeof enter>>) =>
      (await pass.player.post('/sdk/v1/inbox/list', {})).body
    const ended = async (options: Parameters<typeof season>[0] = {}, more: object = MAIL) => {
      const id = newId()
      await publish(id, { ...OPEN, ...more }, options)
      const pass = await enter(id)
      await pass.xp(250)
      const end = async () => {
        await publish(id, { ...CLOSED, ...more }, options)
        return settle(id)
      }
      return { id, pass, end }
    }

    it('in one message with the sums, whose claim pays them; the tiers count as claimed', async () => {
      const { id, pass, end } = await ended()
      await pass.claim(2, 'free')
      expect(await end()).toMatchObject({ players: 1, tiers: 2, failed: 0 })
      // As if the instance had died before it noted what it had done.
      await game.app.pool.query(
        'UPDATE season_settlements SET finished_at = NULL, after_level = NULL, after_player = NULL WHERE scenario_id = $1',
        [id],
      )
      await settle(id)
      const { messages, unclaimed } = await mailed(pass)
      const rewards = [{ amount: 40, currency: 'gold', itemId: null }]
      expect([messages, unclaimed]).toMatchObject([
        [
          {
            kind: 'season_end',
            title: 'The end',
            body: '',
            language: 'en',
            image: 'ui/end',
            rewards,
            scenarioId: id,
            nodeId: 'pass',
          },
        ],
        1,
      ])
      expect(Date.parse(messages[0].expiresAt) - Date.parse(messages[0].sentAt)).toBe(10 * 86_400_000)
      expect(await pass.holdings()).toMatchObject({ wallet: { gold: '20' } })
      expect((await pass.claim(3, 'free')).body).toMatchObject({ alreadyClaimed: true, granted: [{ amount: 30 }] })
      const given = [{ amount: '40', currency: 'gold', itemId: null }]
      expect((await eventsOf(pass.player))[0].data).toEqual({ tiers: 2, failed: 0, granted: [], mailed: given })
      await pass.player.post('/sdk/v1/inbox/claim', { messageId: messages[0].messageId })
      expect(await pass.holdings()).toMatchObject({ wallet: { gold: '60' } })
    })

    it('in several messages when there are more sums than one may have, without a text of the pass', async () => {
      const tiers = times(2, (at) =>
        tier(
          at + 1,
          'free',
          times(20, (n) => item(`${at} ${n}`)),
        ),
      )
      const { pass, end } = await ended({ tiers }, { atEnd: 'mail' })
      await end()
      const { messages } = await mailed(pass)
      expect(messages.map(({ rewards }: { rewards: unknown[] }) => rewards.length)).toEqual([8, 32])
      expect(messages).toMatchObject([{ title: null }, { title: null }])
    })

    it('and into a full inbox they are granted instead; the limit of a balance holds nothing else up', async () => {
      const [full, rich] = [await ended(), await ended()]
      const { environmentId, playerId } = full.pass.player
      await game.app.pool.query(
        `INSERT INTO inbox_messages (environment_id, player_id, id, kind, reference, expires_at)
         SELECT $1, $2, gen_random_uuid(), 'message', 'test', '2090-01-01' FROM generate_series(1, 500)`,
        [environmentId, playerId],
      )
      await supported('creditWallet', {
        ...{ playerId: rich.pass.player.playerId, currency: 'gold', amount: MAX_INT64, idempotencyKey: 'rich' },
      })
      expect([await full.end(), await rich.end()]).toMatchObject([
        { tiers: 3, failed: 0 },
        { tiers: 3, failed: 0 },
      ])
      expect(await full.pass.holdings()).toMatchObject({ wallet: { gold: '60' } })
      expect((await mailed(rich.pass)).unclaimed).toBe(1)
    })

    it('and never more than the inbox holds, however many bonus tiers a player has earned', async () => {
      const beyond = { every: 1, rewards: [{ boost: { percent: 10, minutes: 5 } }] }
      const { pass, end } = await ended({}, { ...MAIL, beyond })
      await game.app.pool.query(
        `INSERT INTO inbox_messages (environment_id, player_id, id, kind, reference, expires_at)
         SELECT $1, $2, gen_random_uuid(), 'message', 'test', '2090-01-01' FROM generate_series(1, 499)`,
        [pass.player.environmentId, pass.player.playerId],
      )
      // Forty boosts of bonus tiers take two messages: boosts are not added up.
      await pass.xp(190)
      await end()
      const { rows } = await game.app.pool.query('SELECT count(*)::int FROM inbox_messages WHERE player_id = $1', [
        pass.player.playerId,
      ])
      expect(rows).toEqual([{ count: 499 }])
      expect(await pass.holdings()).toMatchObject({ wallet: { gold: '150' } })
    })
  })

  it.each([
    ['without atEnd', PAST],
    ['with atEnd: lose', { ...PAST, atEnd: 'lose' }],
  ])('are lost %s', async (_how, dates) => {
    const [id, other] = [newId(), newId()]
    await publish(id, {})
    await publish(other, OPEN)
    const pass = await enter(id)
    await pass.xp(250)
    await publish(id, dates)
    await publish(other, CLOSED)
    await settle(other)
    expect([await claimsOf(pass.player, id), await readSettlement(id)]).toEqual([[], undefined])
  })

  it('are granted to a banned player and to one without a run, and not to a deleted one', async () => {
    const id = newId()
    await publish(id, OPEN)
    const [banned, deleted, runless] = [await enter(id), await enter(id), await enter(id)]
    for (const pass of [banned, deleted, runless]) await pass.xp(100)
    await supported('banPlayer', { playerId: banned.player.playerId })
    await supported('deletePlayer', { playerId: deleted.player.playerId })
    await supported('cancelRun', { playerId: runless.player.playerId, runId: runless.runId })
    await publish(id, CLOSED)
    await settle(id)
    const all = [banned, deleted, runless].map(({ player }) => claimsOf(player, id))
    expect(await Promise.all(all)).toEqual([['1 free', '2 free'], [], ['1 free', '2 free']])
    expect((await eventsOf(runless.player))[0]).toMatchObject({ runId: null, tiers: 2 })
  })

  it('complete the pass in an active run, with the rewards that this leads to', async () => {
    const id = newId()
    const definition = (more: object) =>
      scenario(
        [
          passNode('pass', { levels: [0, 100], tiers: [tier(1, 'free'), tier(2, 'free')], more: more as never }),
          { id: 'cup', type: 'reward', data: { rewards: [item('cup')] } },
        ],
        [
          { from: 'start', handle: 'onStart', to: 'pass' },
          { from: 'pass', handle: 'onComplete', to: 'cup' },
        ],
      )
    await game.publish(id, definition(OPEN))
    const pass = await enter(id)
    await pass.xp(100)
    await game.publish(id, definition(CLOSED))
    await settle(id)
    expect(await pass.holdings()).toEqual({ wallet: { gold: '30' }, items: { cup: '1' } })
    expect((await pass.crossings()).map(({ handle }) => handle)).toContain('onComplete')
  })

  it('that a balance cannot take are told as failed, and the others are granted', async () => {
    const id = newId()
    const options = { levels: [0, 100], tiers: [tier(1, 'free', [gold(5)]), tier(2, 'free', [item('hat')])] }
    await publish(id, OPEN, options)
    const [full, other] = [await enter(id, { wallet: { gold: MAX_INT64 } }), await enter(id)]
    for (const pass of [full, other]) await pass.xp(100)
    await publish(id, CLOSED, options)
    expect(await settle(id)).toMatchObject({ players: 2, tiers: 3, failed: 1 })
    expect(await claimsOf(full.player, id)).toEqual(['2 free'])
    expect(await claimsOf(other.player, id)).toEqual(['1 free', '2 free'])
    expect((await eventsOf(full.player))[0]).toMatchObject({ tiers: 1, failed: 1 })
  })

  it('are not granted before claims close, and an edit moves that', async () => {
    const [id, marker] = [newId(), newId()]
    await publish(id, { ...GRANT, ...CLAIMS_ONLY })
    await publish(marker, CLOSED)
    await settle(marker)
    expect(await readSettlement(id)).toMatchObject({ dueAt: '2099-02-01T00:00:00.000Z', startedAt: null })

    await publish(id, OPEN)
    const pass = await enter(id)
    await pass.xp(100)
    await publish(id, CLOSED)
    await settle(id)
    // Claims open again, and the player earns more.
    await publish(id, OPEN)
    expect(await readSettlement(id)).toMatchObject({ finishedAt: null })
    await pass.xp(100)
    await settleDue(job())
    expect(await claimsOf(pass.player, id)).toEqual(['1 free', '2 free'])
    await publish(id, CLOSED)
    await settle(id)
    expect(await claimsOf(pass.player, id)).toEqual(['1 free', '2 free', '3 free'])
    expect((await eventsOf(pass.player)).map(({ tiers }: { tiers: number }) => tiers)).toEqual([2, 1])
    // Taken back.
    await publish(id, { ...PAST, atEnd: 'lose' })
    expect(await readSettlement(id)).toMatchObject({ finishedAt: expect.any(String) })
    await publish(newId(), FUTURE)
  })
})

describe('the job that grants them', () => {
  const PLAYERS = 200

  async function prepare(id: string) {
    await publish(id, OPEN)
    const passes = await Promise.all(times(PLAYERS, () => enter(id)))
    await Promise.all(passes.map((pass, index) => pass.xp(100 * (index % 6))))
    await publish(id, CLOSED)
    await storeLevels(game.app.pool, { settledMs: 0 })
    return passes
  }
  /** Every player has exactly what it earned, with one event. */
  async function expectAll(id: string, passes: Awaited<ReturnType<typeof prepare>>): Promise<void> {
    const { rows } = await game.app.pool.query(
      `SELECT p.player_id, p.xp::int AS xp,
         (SELECT count(*)::int FROM tier_claims c WHERE (c.player_id, c.scenario_id) = (p.player_id, p.scenario_id)) AS claims,
         (SELECT count(*)::int FROM events e WHERE e.player_id = p.player_id AND type = 'season.settled') AS events,
         (SELECT sum(amount)::int FROM wallet_ledger l WHERE l.player_id = p.player_id AND reason = 'season_end') AS gold
       FROM passes p WHERE scenario_id = $1`,
      [id],
    )
    // Xp of 0 makes no pass.
    expect(rows).toHaveLength(passes.length - Math.ceil(passes.length / 6))
    const levels = times(5, (index) => ({ level: index + 1, xp: BigInt(index * 100) }))
    for (const { xp, claims, events, gold: paid } of rows) {
      const level = levelAt({ levels }, BigInt(xp))
      expect([xp, claims, events, paid]).toEqual([xp, level, 1, (level * (level + 1) * 10) / 2])
    }
  }

  it('goes on where it stopped when an instance dies after any number of players, and grants nothing twice', async () => {
    const id = newId()
    const passes = await prepare(id)
    let left = 0
    let deaths = 0
    const run = async <Outcome>(command: Command<Outcome>): Promise<Outcome> => {
      if (left === 0 && command.player) throw new Error('the instance has died')
      if (command.player) left -= 1
      return game.app.service.run(command)
    }
    await until('all are settled', async () => {
      left = 1 + ((deaths * 37) % 90)
      deaths += 1
      // Nobody releases what a dead instance holds.
      await game.app.pool.query('UPDATE season_settlements SET held_until = now() WHERE finished_at IS NULL')
      await settleDue(job(run)).catch(() => undefined)
      return (await readSettlement(id)).finishedAt !== null
    })
    await settled(game.app.pool)
    await expectAll(id, passes)
  })

  it('may run on several instances at once, against edits, and each player is granted once', async () => {
    const id = newId()
    const passes = await prepare(id)
    const other = await startInstance(game.databaseUrl, {})
    const jobs = [game.app, other.app, game.app].map(async ({ pool, service }) => {
      // As if each believed that the others had died.
      for (const _ of times(4, Number)) {
        await pool.query('UPDATE season_settlements SET held_until = now() WHERE scenario_id = $1', [id])
        await settleDue({ ...job(service.run), pool })
      }
    })
    await publish(id, { ...CLOSED, claimUntil: '2020-03-01T00:00:00Z' })
    await Promise.all(jobs)
    await settle(id)
    await other.stop()
    await settled(game.app.pool)
    await expectAll(id, passes)
  })

  it('stops when claims open again in its midst', async () => {
    const id = newId()
    await prepare(id)
    const BEFORE = 10
    let calls = 0
    let edit: Promise<void> | undefined
    const run = async <Outcome>(command: Command<Outcome>): Promise<Outcome> => {
      if (command.player) calls += 1
      if (calls > BEFORE) {
        edit ??= publish(id, OPEN)
        await edit
      }
      return game.app.service.run(command)
    }
    await settleDue(job(run))
    expect(await readSettlement(id)).toMatchObject({ finishedAt: null })
    const { rows } = await game.app.pool.query(
      `SELECT count(*)::int AS settled FROM events WHERE scenario_id = $1 AND type = 'season.settled'`,
      [id],
    )
    expect(rows[0].settled).toBeLessThanOrEqual(BEFORE)
  })

  it('grants what any mix of levels, claims, premium and gifts leaves', async () => {
    const id = newId()
    await publish(id, OPEN)
    const tiers = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 5 }), fc.constantFrom('free', 'premium')), {
      selector: String,
      maxLength: 5,
    })
    const player = fc.record({
      xp: fc.integer({ min: 1, max: 450 }),
      isOwner: fc.boolean(),
      claims: tiers,
      gifts: tiers,
    })
    const players = fc.sample(player, 25)
    const played = await Promise.all(
      players.map(async ({ xp, isOwner, claims, gifts }) => {
        const pass = await enter(id, { wallet: { gems: 950n } })
        if (isOwner) await pass.premium()
        await pass.xp(xp)
        for (const [level, track] of claims) await pass.claim(level, track)
        for (const [level, track] of gifts)
          if (track === 'free' || isOwner)
            await supported('grantTier', {
              ...{ playerId: pass.player.playerId, ...pass.place, level, track: track.toUpperCase() },
              idempotencyKey: `${level} ${track}`,
            })
        const reached = Math.min(5, 1 + Math.floor(xp / 100))
        const earned = times(5, (index) => index + 1).flatMap((level) =>
          ['free', 'premium']
            .filter((track) => level <= reached && (track === 'free' || isOwner))
            .map((track) => `${level} ${track}`),
        )
        const given = gifts
          .filter(([, track]) => track === 'free' || isOwner)
          .map(([level, track]) => `${level} ${track}`)
        return { pass, expected: [...new Set([...earned, ...given])].sort() }
      }),
    )
    await publish(id, CLOSED)
    await settle(id)
    for (const { pass, expected } of played) expect(await claimsOf(pass.player, id)).toEqual(expected)
  })
})
