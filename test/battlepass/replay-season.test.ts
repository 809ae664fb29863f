import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { levelAt } from '../../src/game/battlepass/decide.ts'
import { type PlayedXp, replayPlayer } from '../../src/game/battlepass/replay-player.ts'
import type { PassNode } from '../../src/game/definition/definition.ts'
import { parseDefinition } from '../../src/game/definition/parse.ts'
import { gold, item, season, tier } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { enter, game, startPassGame, stopPassGame, supported } from './pass-game.ts'

// What if: the xp of players of a season, repeated by the rules and levels of a draft.

function passOf(definition: Json): PassNode {
  const parsed = parseDefinition(print(definition))
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.faults))
  return parsed.definition.nodes.get('pass') as PassNode
}

const DAY_MS = 86_400_000
const on = (day: number, amount: number, source = 'match'): PlayedXp => ({
  ...{ at: new Date(Date.UTC(2027, 0, 1) + day * DAY_MS), amount: BigInt(amount), source, origin: 'client' },
})

describe('a player who is repeated', () => {
  it('reaches levels by the xp that the draft grants, by its limits of then and there', () => {
    const played = [on(0, 90), on(0, 90), on(0.5, 90, 'ads'), on(1, 90), on(9, 500)]
    const levels = [0, 100, 200, 500]
    const replay = (xp: Json | undefined, owns = false, more: Record<string, Json> = {}) => {
      const node = passOf(season({ levels, more: { ...more, ...(xp === undefined ? {} : { xp }) } as never }))
      const { xp: total, reachedMs } = replayPlayer(node, owns, played)
      return [Number(total), reachedMs.map((ms) => ms / DAY_MS)]
    }
    expect(replay(undefined)).toEqual([860, [0, 0, 0.5, 9]])
    expect(replay({ perDay: 100 })).toEqual([290, [0, 0, 9]])
    expect(replay({ others: false, sources: { ads: {} } })).toEqual([90, [0]])
    expect(replay({ from: 'server' })).toEqual([0, [0]])
    expect(replay({ max: 95, over: 'refuse' })).toEqual([360, [0, 0, 0.5]])
  })

  it('who owns premium gets its bonus', () => {
    const node = passOf(season({ levels: [0, 100], price: { currency: 'gems', amount: 1 } as Json, more: {} }))
    const boosted = { ...node, premiumXpPercent: 50n }
    expect(replayPlayer(boosted, true, [on(0, 75)]).xp).toBe(112n)
    expect(replayPlayer(boosted, false, [on(0, 75)]).xp).toBe(75n)
  })

  it('reaches without rules the level of the sum of the xp, each level in turn', () => {
    const node = passOf(season({ levels: times(30, (index) => index * 70) }))
    const played = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 900 })), {
      maxLength: 20,
    })
    fc.assert(
      fc.property(played, (calls) => {
        const sent = calls.sort(([a], [b]) => a - b).map(([day, amount]) => on(day, amount))
        const { xp, reachedMs } = replayPlayer(node, false, sent)
        expect(xp).toBe(sent.reduce((sum, { amount }) => sum + amount, 0n))
        expect(reachedMs).toHaveLength(levelAt(node, xp))
        expect(reachedMs).toEqual([...reachedMs].sort((a, b) => a - b))
      }),
    )
  })
})

describe('replaySeason', () => {
  beforeAll(startPassGame)
  afterAll(stopPassGame)

  const FIELDS = `faults { path message } playersInAll players owners isComplete sent granted
    levels { level players playersThen medianDays medianStepDays } tracks { track rewards { amount currency itemId } }`

  async function replay(definition: Json, input: object = {}) {
    const document = `query ($input: ReplaySeasonInput!) { replaySeason(input: $input) { ${FIELDS} } }`
    const place = { environment: 'production', nodeId: 'pass', ofScenarioId: 'played', ofNodeId: 'pass' }
    const sent = { ...place, definition: print(definition), ...input }
    const { data, errors } = await game.graphql(game.platformKey, document, { input: sent })
    return errors ? (errors[0]?.extensions.details ?? errors[0]?.extensions.code) : data.replaySeason
  }

  /** Four players of a season of 100 xp a level: one has only begun, one owns premium. */
  async function play(scenarioId: string) {
    await game.publish(scenarioId, season())
    const amounts = [[], [60, 60], [100, 150], [50, 50, 50, 50, 50, 50, 60]]
    return Promise.all(
      amounts.map(async (calls, index) => {
        const player = await enter(scenarioId, { wallet: { gems: 950n } })
        for (const amount of calls) expect((await player.xp(amount)).status).toBe(200)
        if (index === 2) expect((await player.premium()).status).toBe(200)
        if (index === 0) expect((await player.claim(1, 'free')).status).toBe(200)
        return player
      }),
    )
  }

  it('tells how many would have reached each level, beside those who did, and what they would have got', async () => {
    await play('played')
    const free = [tier(1, 'free', [gold(5)]), tier(2, 'free', [gold(7), item('hat')])]
    const draft = season({ levels: [0, 120, 360], tiers: [...free, tier(2, 'premium', [item('skin', 2)])] })
    const level = (number: number, players: number, playersThen: number) => ({
      ...{ level: number, players, playersThen },
      medianDays: players === 0 ? null : 0,
      medianStepDays: players === 0 || number === 1 ? null : 0,
    })
    expect(await replay(draft)).toEqual({
      ...{ faults: [], playersInAll: 4, players: 4, owners: 1, isComplete: true, sent: '730', granted: '730' },
      levels: [level(1, 4, 4), level(2, 3, 3), level(3, 1, 2)],
      tracks: [
        {
          track: 'FREE',
          rewards: [
            { amount: String(4 * 5 + 3 * 7), currency: 'gold', itemId: null },
            { amount: '3', currency: null, itemId: 'hat' },
          ],
        },
        { track: 'PREMIUM', rewards: [{ amount: '2', currency: null, itemId: 'skin' }] },
      ],
    })
    // With the definition of then, each level has the players who stand there or above, as SQL counts them.
    const same = await replay(season())
    const { rows } = await game.app.pool.query(
      `SELECT n AS level, count(*) FILTER (WHERE p.xp >= (n - 1) * 100)::int AS players
       FROM generate_series(1, 5) AS n, passes p WHERE p.scenario_id = 'played' GROUP BY n ORDER BY n`,
    )
    expect(same.levels.map(({ level, players }: { level: number; players: number }) => ({ level, players }))).toEqual(
      rows,
    )
    for (const { players, playersThen } of same.levels) expect(players).toBe(playersThen)
  })

  it('repeats what players sent, not what limits of then left of it, and nothing that operators gave', async () => {
    await game.publish('limited', season({ more: { xp: { perDay: 50 } } }))
    const { player, xp, place } = await enter('limited')
    await xp(200)
    await supported('grantXp', { playerId: player.playerId, ...place, amount: '500', idempotencyKey: 'given' })
    const found = await replay(season(), { ofScenarioId: 'limited' })
    expect(found).toMatchObject({ sent: '200', granted: '200', isComplete: true })
    expect(found.levels.map(({ players }: { players: number }) => players)).toEqual([1, 1, 1, 0, 0])
    expect(found.levels.map(({ playersThen }: { playersThen: number }) => playersThen)).toEqual([1, 1, 1, 1, 1])
    // As if the oldest row of the ledger had been dropped.
    const shift = (xp: number) =>
      game.app.pool.query("UPDATE passes SET xp = xp + $1 WHERE scenario_id = 'limited'", [xp])
    await shift(1)
    expect(await replay(season(), { ofScenarioId: 'limited' })).toMatchObject({ isComplete: false })
    await shift(-1)
  })

  it('tells the median of the days to each level, and from level to level', async () => {
    const [, second, third] = await play('timed')
    const age = (playerId: string, days: number) =>
      game.app.pool.query(
        `UPDATE xp_ledger SET created_at = created_at - $2::float8 * interval '1 day'
         WHERE id = (SELECT id FROM xp_ledger WHERE player_id = $1 ORDER BY id LIMIT 1)`,
        [playerId, days],
      )
    const [one = '', other = ''] = [second?.player.playerId, third?.player.playerId]
    await age(one, 3)
    await age(other, 2)
    const { levels } = await replay(season({ levels: [0, 100, 120, 250] }), { ofScenarioId: 'timed' })
    const of = (name: string) => levels.map((level: Record<string, unknown>) => level[name])
    // The second reaches 120 after 3 days. The third has 100 at once, and 250 after 2 days. The last has all at once.
    expect([of('players'), of('medianDays'), of('medianStepDays')]).toEqual([
      [4, 3, 3, 2],
      [0, 0, 2, 0],
      [null, 0, 0, 0],
    ])
    await age(one, -3)
    await age(other, -2)
  })

  it('repeats the same players each time, as many as it is asked for', async () => {
    await play('sampled')
    const asked = { ofScenarioId: 'sampled', players: 2 }
    const [first, second] = [await replay(season(), asked), await replay(season(), asked)]
    expect(first).toMatchObject({ playersInAll: 4, players: 2 })
    expect(second).toEqual(first)
  })

  it('refuses what is no pass, and tells the faults of the draft', async () => {
    expect(await replay(season(), { nodeId: 'start', players: 0 })).toEqual([
      { path: 'players', message: 'must be 1 to 5000' },
    ])
    expect(await replay(season(), { nodeId: 'start' })).toEqual([
      { path: 'nodeId', message: 'is no battle pass of the draft' },
    ])
    const none = [{ path: 'ofNodeId', message: 'is no battle pass of the scenario `ofScenarioId`' }]
    expect(await replay(season(), { ofNodeId: 'start' })).toEqual(none)
    expect(await replay(season(), { ofScenarioId: 'nowhere' })).toEqual(none)
    const faulty = await replay({ nodes: [], edges: [] } as Json)
    expect(faulty).toMatchObject({ players: 0, levels: [], faults: expect.arrayContaining([expect.anything()]) })
    expect(await replay(season(), { environment: 'nowhere' })).toBe('ENVIRONMENT_NOT_FOUND')
  })
})
