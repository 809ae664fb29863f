import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { gold, item, type PassOptions, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { VIEW as VIEW_QUERY } from '../harness/surfaces.ts'
import { until } from '../harness/until.ts'
import { CLAIM, enter, FUTURE, game, PROGRESS, startPassGame, stopPassGame } from './pass-game.ts'

// What a game draws of a scenario: `view`.

const VIEW = '/sdk/v1/scenarios/view'
const OPEN = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2099-01-01T00:00:00Z' }

beforeAll(startPassGame)
afterAll(stopPassGame)

let count = 0
async function publish(definition: Json = season(), id = `view-${++count}`): Promise<string> {
  const { status, text } = await game.publish(id, definition)
  expect(status, text).toBe(200)
  return id
}
const begin = async (options: PassOptions = {}, wallet = {}) => enter(await publish(season(options)), { wallet })
type Pass = Awaited<ReturnType<typeof begin>>

/** Reads a view; answers its status, tag and body. */
async function read({ player, place: { scenarioId } }: Pass, language?: string | null, known?: string) {
  const headers: Record<string, string> = known === undefined ? {} : { 'if-none-match': known }
  const { status, headers: sent, body, text } = await player.post(VIEW, { scenarioId, language }, headers)
  return { status, tag: sent.get('etag') ?? '', body, text }
}

const TEXTS = {
  text: { en: { name: 'Frost', description: 'A cold season.' }, 'pt-BR': { name: 'Gelo' } },
  image: 'ui/frost',
}
const SHOWN = scenario(
  [
    passNode('pass', {
      levels: [0, 100],
      tiers: [
        {
          ...{ level: 2, track: 'premium', text: { en: { name: 'Skins' } }, image: 'ui/tier' },
          rewards: [
            { currency: 'gold', amount: 5, text: { de: { name: 'Münzen' } } },
            { choice: [[{ itemId: 'red', amount: 1, image: 'red.png' }], [item('blue')]] },
          ],
        },
        tier(1, 'free'),
      ],
      more: {
        ...TEXTS,
        ...OPEN,
        premium: { price: { currency: 'gems', amount: 950 }, xpPercent: 20, instant: [item('badge')] },
        beyond: { every: 50, rewards: [gold(1)], max: 3, perDay: 1 },
      },
    }),
    passNode('plain', {
      levels: [0],
      tiers: [],
      price: null,
      more: { beyond: { convert: { currency: 'gold', per: 9 } } },
    }),
  ],
  [{ from: 'start', handle: 'onStart', to: 'pass' }],
) as { readonly [name: string]: Json }

const bare = { name: null, description: null, image: null }

describe('the view of a scenario', () => {
  it('has everything that a game draws, in the language of the player', async () => {
    const pass = await enter(await publish({ ...SHOWN, text: { en: { name: 'Season of frost' } } }))
    const { status, body, tag } = await read(pass, 'pt-PT')
    expect([status, tag]).toEqual([200, expect.stringMatching(/^W\/"[\w-]{27}"$/)])
    const state = {
      ...{ phase: 'running', nextPhase: 'closed', nextPhaseAt: '2099-01-01T00:00:00.000Z' },
      ...{ secondsToNextPhase: 2 ** 31 - 1, level: 1, xp: 0, nextLevelXp: 100, premiumOwned: false },
      ...{ claimed: [], claimable: [{ level: 1, track: 'free' }], boosts: [] },
    }
    expect(body).toEqual({
      ...{ scenarioId: pass.place.scenarioId, version: 1, language: 'pt-BR' },
      ...{ name: 'Season of frost', description: null, image: null },
      passes: [
        {
          ...{ nodeId: 'pass', name: 'Gelo', description: null, image: 'ui/frost' },
          ...{ announcedAt: null, startsAt: '2020-01-01T00:00:00.000Z', endingAt: null },
          ...{ endsAt: '2099-01-01T00:00:00.000Z', claimUntil: '2099-01-01T00:00:00.000Z' },
          premium: {
            ...{ currency: 'gems', amount: 950, xpPercent: 20 },
            instant: [{ amount: 1, currency: null, itemId: 'badge', ...bare }],
          },
          levels: [
            { level: 1, xp: 0, ...bare },
            { level: 2, xp: 100, ...bare },
          ],
          tiers: [
            {
              ...{ level: 1, track: 'free', ...bare },
              ...{ rewards: [{ amount: 10, currency: 'gold', itemId: null, ...bare }], choice: [] },
            },
            {
              ...{ level: 2, track: 'premium', ...bare, name: 'Skins', image: 'ui/tier' },
              rewards: [{ amount: 5, currency: 'gold', itemId: null, ...bare, name: 'Münzen' }],
              choice: [
                { rewards: [{ amount: 1, currency: null, itemId: 'red', ...bare, image: 'red.png' }] },
                { rewards: [{ amount: 1, currency: null, itemId: 'blue', ...bare }] },
              ],
            },
          ],
          bonus: {
            ...{ every: 50, max: 3, perDay: 1, choice: [] },
            rewards: [{ amount: 1, currency: 'gold', itemId: null, ...bare }],
          },
          conversion: null,
          state,
        },
        {
          ...{
            nodeId: 'plain',
            ...bare,
            premium: null,
            tiers: [],
            bonus: null,
            conversion: { currency: 'gold', per: 9 },
          },
          ...{ announcedAt: null, startsAt: null, endingAt: null, endsAt: null, claimUntil: null },
          levels: [{ level: 1, xp: 0, ...bare }],
          state: {
            ...{ ...state, nextPhase: null, nextPhaseAt: null, secondsToNextPhase: null },
            ...{ nextLevelXp: null, claimable: [] },
          },
        },
      ],
    })
  })

  it.each<[wanted: string | null, profile: string | null, language: string, name: string]>([
    ['pt-br', 'en', 'pt-BR', 'Gelo'],
    [null, 'pt', 'pt-BR', 'Gelo'],
    [null, null, 'en', 'Frost'],
    ['de', 'pt-BR', 'de', 'Frost'],
    ['fr', 'pt-BR', 'en', 'Frost'],
  ])('is in %s for a player of %s: in %s', async (wanted, profile, language, name) => {
    const pass = await enter(await publish(SHOWN, 'view-texts'))
    if (profile) await game.setAccountPolicy({ clientProfile: 'ALLOW' })
    if (profile) await pass.player.post('/sdk/v1/player/update', { language: profile })
    const { body } = await read(pass, wanted)
    expect([body.language, body.passes[0].name, body.name]).toEqual([language, name, 'Test season'])
  })

  it('needs no run, and refuses as other reads do', async () => {
    const player = await game.player()
    const view = (scenarioId: unknown, language?: unknown) => player.post(VIEW, { scenarioId, language })
    expect((await view('season')).body).toMatchObject({ language: null, passes: [{ state: { level: 1 } }] })
    expect((await view('nowhere')).body.code).toBe('scenario_not_found')
    expect((await view('season', 'en_US')).body.details).toEqual([
      { path: 'language', message: 'must be the tag of a language, such as pt-BR' },
    ])
    await game.app.pool.query(`UPDATE players SET status = 'banned' WHERE id = $1`, [player.playerId])
    expect((await view('season')).body.code).toBe('player_banned')
  })

  it('says the same as season and progress, and the same over GraphQL', async () => {
    const pass = await begin({ more: OPEN }, { gems: 950n })
    await pass.xp(250)
    await pass.premium()
    await pass.claim(2, 'premium')
    const { body } = await read(pass)
    const { state, nodeId: _, ...fixed } = body.passes[0]
    const { level, xp, premiumOwned, claimedTiers } = (await pass.player.post(PROGRESS, pass.place)).body
    expect(state).toMatchObject({ level, xp, premiumOwned, claimed: claimedTiers, nextLevelXp: 300 })
    const { now, ...dates } = (await pass.player.post('/sdk/v1/battlepass/season', pass.place)).body
    expect({ ...fixed, ...state }).toMatchObject(dates)

    const { data, errors } = await pass.player.graphql(VIEW_QUERY, {
      scenarioId: pass.place.scenarioId,
      language: 'en',
    })
    expect(errors).toBeUndefined()
    const upper = (text: string) => text.replaceAll(/:"(running|closed|free|premium)"/g, (word) => word.toUpperCase())
    const asGraphql = JSON.parse(upper(print(body as Json)), (name, value) =>
      ['xp', 'amount', 'nextLevelXp'].includes(name) && value !== null ? String(value) : value,
    )
    expect(data.scenarioView).toEqual(asGraphql)
  })

  it('is not sent again to a client that has it, whose tag changes with everything but time', async () => {
    const pass = await begin({ more: { ...OPEN, ...TEXTS } }, { gems: 950n })
    const { scenarioId } = pass.place
    const tags: string[] = []
    const changed = async (): Promise<string> => {
      const { status, tag } = await read(pass, null, tags.at(-1))
      expect([status, tags.includes(tag)]).toEqual([200, false])
      tags.push(tag)
      for (const known of [tag, tag.slice(2), `"other", ${tag}`, '*'])
        expect(await read(pass, null, known)).toEqual({ status: 304, tag, text: '' })
      return tag
    }
    const first = await changed()
    expect((await read(pass, 'pt-BR', first)).status).toBe(200)
    await pass.xp(150)
    await changed()
    await pass.claim(1, 'free')
    await changed()
    await pass.premium()
    await changed()
    await publish(season({ more: { ...OPEN, ...TEXTS, image: 'other' } }), scenarioId)
    await changed()
    // The season starts, and a boost, by time alone.
    const soon = (ms: number) => new Date(Date.now() + ms).toISOString()
    await publish(season({ more: { ...OPEN, ...TEXTS, startsAt: soon(1_000) } }), scenarioId)
    const boost = {
      name: 'Double xp',
      percent: 100,
      startsAt: soon(1_500),
      endsAt: soon(60_000),
      scenarios: [scenarioId],
    }
    const { errors } = await game.graphql(
      game.platformKey,
      'mutation ($input: CreateBoostInput!) { createBoost(input: $input) { boost { boostId } } }',
      { input: { environment: 'production', reason: 'weekend', ...boost } },
    )
    expect(errors).toBeUndefined()
    const seen = new Map<string, string>()
    await until('the boost runs', async () => {
      const { tag, body } = await read(pass)
      const { phase, boosts } = body.passes[0].state
      expect(seen.get(tag) ?? `${phase} ${boosts.length}`).toBe(`${phase} ${boosts.length}`)
      seen.set(tag, `${phase} ${boosts.length}`)
      return boosts.length > 0
    })
    // A slow machine may miss a state, but no tag stands for two of them, and no state has two tags.
    expect(new Set(seen.values()).size).toBe(seen.size)
    expect([...seen.values()].at(-1)).toBe('running 1')
    expect(tags.some((tag) => seen.has(tag))).toBe(false)
  })

  it('lists exactly the tiers that a claim grants (property)', async () => {
    const reward = fc.constantFrom<Json>(gold(1), { choice: [[gold(1)], [item('hat')]] })
    const number = fc.constantFrom(1, 2, 3)
    const drawn = fc.record({
      tiers: fc.uniqueArray(fc.record({ level: number, track: fc.constantFrom('free', 'premium'), reward }), {
        selector: ({ level, track }) => `${level} ${track}`,
      }),
      dates: fc.constantFrom<Record<string, Json>>({}, OPEN, { ...OPEN, endsAt: '2020-02-01T00:00:00Z' }, FUTURE),
      beyond: fc.constantFrom<Json>(
        null,
        { every: 50, rewards: [gold(1)], perDay: 1 },
        { every: 40, rewards: [item('x')] },
      ),
      xp: fc.constantFrom(0, 100, 320),
      owned: fc.boolean(),
      claims: fc.array(fc.record({ level: number, track: fc.constantFrom('free', 'premium', 'bonus') }), {
        maxLength: 4,
      }),
    })
    await fc.assert(
      fc.asyncProperty(drawn, async ({ tiers, dates, beyond, xp, owned, claims }) => {
        const options = (more: Record<string, Json>): PassOptions => ({
          levels: [0, 100, 200],
          tiers: tiers.map(({ level, track, reward }) => ({ level, track, rewards: [reward] })),
          more: { beyond, ...more },
        })
        const pass = await begin(options({}), { gems: 950n })
        if (xp > 0) await pass.xp(xp)
        if (owned) await pass.premium()
        const claim = async (level: number, track: string) => {
          const input = { ...pass.place, runId: pass.runId, level, track }
          const { body } = await pass.player.post(CLAIM, { ...input, choice: 0 })
          return body.error === 'choice not found' ? (await pass.player.post(CLAIM, input)).body : body
        }
        for (const { level, track } of claims) await claim(level, track)
        await publish(season(options(dates)), pass.place.scenarioId)
        const { claimable } = (await read(pass)).body.passes[0].state
        const granted: object[] = []
        for (const level of [1, 2, 3, 4, 5])
          for (const track of ['free', 'premium', 'bonus']) {
            const { success, alreadyClaimed } = await claim(level, track)
            if (success && !alreadyClaimed) granted.push({ level, track })
          }
        expect(claimable).toEqual(granted)
      }),
      { numRuns: 25 },
    )
  })
})
