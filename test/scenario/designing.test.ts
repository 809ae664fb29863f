import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, MAX_INT64, print } from '../../src/base/json.ts'
import { gold, item, LIMITED, passNode, scenario, season, tier } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, times } from '../harness/game.ts'
import { definitions } from './arbitraries.ts'

let game: Game
let viewer: string

beforeAll(async () => {
  game = await startGame()
  viewer = await game.key('viewer')
})
afterAll(() => game?.stop())

const VALIDATE = `query ($input: ValidateScenarioInput!) { validateScenario(input: $input) { valid faults { path message } } }`
const VERSIONS = `query ($environment: String!, $scenarioId: String!, $first: Int, $after: String, $last: Int, $before: String) {
  scenarioVersions(environment: $environment, scenarioId: $scenarioId, first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { version publishedAt isCurrent bytes sha256 } }
    pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`
const DIFF = `query ($environment: String!, $scenarioId: String!, $from: Int!, $to: Int!) {
  scenarioDiff(environment: $environment, scenarioId: $scenarioId, from: $from, to: $to) {
    from to isSameText hasMoreChanges changes { path before beforeText after afterText }
    nodesAdded { nodeId type nodeText } nodesRemoved { nodeId type nodeText }
    nodesChanged { nodeId typeBefore typeAfter changes { path before beforeText after afterText } pass {
      levelsAdded { level xp } levelsRemoved { level xp } levelsChanged { level xpBefore xpAfter }
      tiersAdded { level track rewards { amount currency itemId } } tiersRemoved { level track rewards { amount } }
      tiersChanged { level track rewardsBefore { amount } rewardsAfter { amount } }
      price { before { currency amount } after { currency amount } }
      startsAt { before after } endsAt { before after } claimUntil { before after } } }
    edgesAdded { from handle to } edgesRemoved { from handle to }
    edgesChanged { from handle to changes { path before beforeText after afterText } } edgesReordered { from handle before after } } }`
const PREVIEW = `query ($input: PreviewScenarioInput!) { previewScenario(input: $input) {
  valid faults { path message } currentVersion removedNodes { nodeId type activeRuns }
  passes { nodeId isAdded isRemoved players premiumOwners levelGained levelLost levels { level before after }
    priceBefore { currency amount } priceAfter { currency amount } claimsOpenBefore claimsOpenAfter
    newlyClaimable { track players tiers { level players } } removedClaims { level track players } } } }`
const PUBLISH = `mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) { scenario { scenarioId environment version definition } } }`
const CLONE = `mutation ($input: CloneScenarioInput!) { cloneScenario(input: $input) { scenario { scenarioId environment version definition } } }`

const production = 'production'
const codeOf = (answer: GraphqlAnswer): string | undefined => answer.errors?.[0]?.extensions.code
const detailsOf = (answer: GraphqlAnswer) => answer.errors?.[0]?.extensions.details

const validate = (definition: string, more: object = {}) =>
  game.graphql(viewer, VALIDATE, { input: { environment: production, definition, ...more } })
const publish = (scenarioId: string, definition: Json | string, more: object = {}) =>
  game.graphql(game.platformKey, PUBLISH, {
    input: {
      environment: production,
      scenarioId,
      definition: typeof definition === 'string' ? definition : print(definition),
      reason: 'test',
      ...more,
    },
  })
const put = (scenarioId: string, text: string) =>
  game.request('PUT', `/platform/v1/projects/${game.projectId}/scenarios/${scenarioId}?environment=${production}`, {
    body: text,
    headers: { authorization: `Bearer ${game.platformKey}` },
  })
const preview = (scenarioId: string, definition: Json) =>
  game.graphql(viewer, PREVIEW, { input: { environment: production, scenarioId, definition: print(definition) } })
const versions = (scenarioId: string, page: object = {}) =>
  game.graphql(viewer, VERSIONS, { environment: production, scenarioId, ...page })
const diff = (scenarioId: string, from: number, to: number) =>
  game.graphql(viewer, DIFF, { environment: production, scenarioId, from, to })
const clone = (input: object) => game.graphql(game.platformKey, CLONE, { input: { reason: 'test', ...input } })

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

async function storedText(environmentId: string, scenarioId: string, version: number): Promise<string | undefined> {
  const { rows } = await game.app.pool.query<{ definition: string }>(
    'SELECT definition FROM scenario_versions WHERE environment_id = $1 AND scenario_id = $2 AND version = $3',
    [environmentId, scenarioId, version],
  )
  return rows[0]?.definition
}

async function auditOf(scenarioId: string) {
  const { rows } = await game.app.pool.query(
    `SELECT environment_id, actor, action, before, after, reason FROM audit_log
     WHERE project_id = $1 AND target = $2 ORDER BY id`,
    [game.projectId, scenarioId],
  )
  return rows.map(({ before, after, ...row }) => ({ ...row, before: JSON.parse(before), after: JSON.parse(after) }))
}

describe('validateScenario', () => {
  it('reports the faults that publishing reports, and none when publishing succeeds', async () => {
    await fc.assert(
      fc.asyncProperty(definitions, fc.boolean(), async (definition, isFaulty) => {
        const text = print(isFaulty ? { ...definition, start: 'nowhere', name: '' } : definition)
        const { data } = await validate(text)
        const published = await publish('validated', text)
        expect(data.validateScenario.valid).toBe(published.errors === undefined)
        expect(data.validateScenario.faults).toEqual(detailsOf(published) ?? [])
      }),
      { numRuns: 30 },
    )
  })

  it.each([
    ['', 'must be JSON: line 1, column 1: there is no value'],
    ['{', 'must be JSON: line 1, column 2: the text ends too early'],
    ['[]', 'must be an object'],
    [`${'['.repeat(65)}${']'.repeat(65)}`, 'must not nest deeper than 64'],
    ['{"name":"\ud800"}', 'must not contain NUL or a lone surrogate'],
  ])('reports why a text is not a definition: %j', async (text, message) => {
    const { data } = await validate(text)
    expect(data.validateScenario).toEqual({ valid: false, faults: [{ path: '', message }] })
  })

  it.each([
    ['\ufeff', 'the text begins with a byte order mark (U+FEFF), which JSON does not allow'],
    ['\u00a0', 'unexpected U+00A0'],
    ['\u2028', 'unexpected U+2028'],
    ['\f', 'unexpected U+000C'],
    ['\v', 'unexpected U+000B'],
  ])('refuses %j before a definition, as REST does, with the same reason', async (space, why) => {
    const text = `${space}${print(season())}`
    const fault = `must be JSON: line 1, column 1: ${why}`
    const { data } = await validate(text)
    expect(data.validateScenario).toEqual({ valid: false, faults: [{ path: '', message: fault }] })
    expect(detailsOf(await publish('unreadable', text))).toEqual([{ path: '', message: fault }])
    const { status, body } = await put('unreadable', text)
    expect([status, body.details]).toEqual([400, [{ path: '', message: `the body ${fault}` }]])
  })

  it('stores the same text as REST when JSON white space is around it', async () => {
    const text = ` \t\r\n${print(season())}\n`
    expect((await put('spaced', text)).status).toBe(200)
    const { data } = await publish('spaced', text)
    expect(data.publishScenario.scenario.version).toBe(1)
  })

  it('writes nothing, and accepts the id of a scenario that does not exist', async () => {
    const { data } = await validate(print(season()), { scenarioId: 'never published' })
    expect(data.validateScenario).toEqual({ valid: true, faults: [] })
    expect(codeOf(await versions('never published'))).toBe('SCENARIO_NOT_FOUND')
  })

  it('refuses an unknown environment, and names each argument of an invalid length', async () => {
    expect(codeOf(await validate('{}', { environment: 'nowhere' }))).toBe('ENVIRONMENT_NOT_FOUND')
    const answer = await validate('{}', { environment: '', scenarioId: 'x'.repeat(129) })
    expect([codeOf(answer), detailsOf(answer)]).toEqual([
      'INVALID_REQUEST',
      [
        { path: 'environment', message: 'must be 1 to 32 characters' },
        { path: 'scenarioId', message: 'must be 1 to 128 characters' },
      ],
    ])
  })
})

describe('scenarioVersions', () => {
  beforeAll(async () => {
    for (const level of times(7, (at) => at + 1)) await publish('paged', season({ levels: [0, level] }))
  })

  it('lists the newest version first, with the size and hash of its text', async () => {
    const { edges, pageInfo } = (await versions('paged')).data.scenarioVersions
    expect(edges.map(({ node }: { node: { version: number } }) => node.version)).toEqual([7, 6, 5, 4, 3, 2, 1])
    const text = (await storedText(game.environmentId, 'paged', 7)) ?? ''
    expect(edges[0].node).toMatchObject({ isCurrent: true, bytes: Buffer.byteLength(text), sha256: sha256(text) })
    expect(edges[1].node).toMatchObject({ isCurrent: false })
    expect(Date.parse(edges[0].node.publishedAt)).toBeGreaterThanOrEqual(Date.parse(edges[1].node.publishedAt))
    expect(pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false, startCursor: edges[0].cursor })
  })

  it('counts all versions on every page', async () => {
    const { edges } = (await versions('paged')).data.scenarioVersions
    for (const cursor of [edges[0].cursor, edges.at(-1).cursor]) {
      const list = `scenarioVersions(environment: "production", scenarioId: "paged", first: 2, after: "${cursor}")`
      const { data } = await game.graphql(game.platformKey, `{ ${list} { totalCount } }`)
      expect(data.scenarioVersions).toEqual({ totalCount: 7 })
    }
  })

  it('pages without a gap or a duplicate while more versions are published', async () => {
    await publish('growing', season({ levels: [0, 1] }))
    await publish('growing', season({ levels: [0, 2] }))
    await publish('growing', season({ levels: [0, 3] }))
    const seen: number[] = []
    for (let after: string | null = null, more = true, next = 4; more; next += 1) {
      const answer: GraphqlAnswer = await versions('growing', { first: 1, after })
      const { edges, pageInfo } = answer.data.scenarioVersions
      seen.push(...edges.map(({ node }: { node: { version: number } }) => node.version))
      expect(pageInfo).toMatchObject({ hasPreviousPage: after !== null, endCursor: edges.at(-1).cursor })
      after = pageInfo.endCursor
      more = pageInfo.hasNextPage
      await publish('growing', season({ levels: [0, next] }))
    }
    expect(seen).toEqual([3, 2, 1])
  })

  it('returns an empty page after the oldest version', async () => {
    const { edges } = (await versions('paged')).data.scenarioVersions
    const { data } = await versions('paged', { after: edges.at(-1).cursor })
    expect(data.scenarioVersions).toEqual({
      edges: [],
      pageInfo: { startCursor: null, endCursor: null, hasNextPage: false, hasPreviousPage: true },
    })
  })
})

describe('scenarioDiff', () => {
  it('lists the changes of nodes, passes and edges in both directions', async () => {
    const before = scenario([passNode('pass', { levels: [0, 100, MAX_INT64], tiers: [tier(2, 'free')] })], [])
    const after = scenario(
      [
        passNode('pass', {
          levels: [0, 120],
          tiers: [tier(2, 'free', [gold(5)]), tier(2, 'premium', [item('hat', MAX_INT64)])],
          price: { currency: 'gems', amount: 900 },
          more: { endsAt: '2999-01-01T00:00:00+01:00' },
        }),
      ],
      [{ from: 'start', handle: 'onStart', to: 'pass' }],
    )
    await publish('diffed', before)
    await publish('diffed', after)
    const { data, errors } = await diff('diffed', 1, 2)
    expect(errors).toBeUndefined()
    expect(data.scenarioDiff).toMatchObject({
      from: 1,
      to: 2,
      isSameText: false,
      edgesAdded: [{ from: 'start', handle: 'onStart', to: 'pass' }],
      nodesChanged: [
        {
          nodeId: 'pass',
          pass: {
            levelsAdded: [],
            levelsRemoved: [{ level: 3, xp: String(MAX_INT64) }],
            levelsChanged: [{ level: 2, xpBefore: '100', xpAfter: '120' }],
            tiersAdded: [
              { level: 2, track: 'PREMIUM', rewards: [{ amount: String(MAX_INT64), currency: null, itemId: 'hat' }] },
            ],
            tiersChanged: [
              { level: 2, track: 'FREE', rewardsBefore: [{ amount: '20' }], rewardsAfter: [{ amount: '5' }] },
            ],
            price: { before: { currency: 'gems', amount: '950' }, after: { currency: 'gems', amount: '900' } },
            startsAt: null,
            endsAt: { before: null, after: '2998-12-31T23:00:00.000Z' },
          },
        },
      ],
    })
    expect(data.scenarioDiff.nodesChanged[0].changes).toContainEqual({
      path: 'data.levels[level=3]',
      before: { level: 3, xp: String(MAX_INT64) },
      beforeText: `{"level":3,"xp":${MAX_INT64}}`,
      after: null,
      afterText: null,
    })
    const back = (await diff('diffed', 2, 1)).data.scenarioDiff
    expect(back.nodesChanged[0].pass.levelsAdded).toEqual([{ level: 3, xp: String(MAX_INT64) }])
    expect(back.edgesRemoved).toEqual([{ from: 'start', handle: 'onStart', to: 'pass' }])
    expect((await diff('diffed', 2, 2)).data.scenarioDiff).toMatchObject({ isSameText: true, nodesChanged: [] })
  })

  it('names each version that does not exist, and the current version', async () => {
    await publish('short', season())
    const answer = await diff('short', 7, 2)
    expect([codeOf(answer), detailsOf(answer)]).toEqual([
      'INVALID_REQUEST',
      ['from', 'to'].map((path) => ({ path, message: 'names no version of this scenario; the current one is 1' })),
    ])
    expect(detailsOf(await diff('short', 1, 2))).toHaveLength(1)
    expect(detailsOf(await diff('short', 0, -1))).toEqual(
      ['from', 'to'].map((path) => ({ path, message: 'must be 1 to 2147483647' })),
    )
    expect(codeOf(await diff('nowhere', 1, 1))).toBe('SCENARIO_NOT_FOUND')
  })
})

describe('previewScenario', () => {
  it('counts the players that an edit would affect, by level, tier, claim and run', async () => {
    await publish('played', season({ levels: [0, 100, 200], tiers: times(3, (at) => tier(at + 1, 'free')) }))
    const players = await Promise.all(times(3, () => game.player()))
    for (const [at, one] of players.entries()) {
      const runId = await one.start('played')
      const place = { scenarioId: 'played', nodeId: 'pass', runId }
      await one.post('/sdk/v1/battlepass/xp', { ...place, amount: 100 * at + 50, source: 'match' })
      if (at === 2) await one.post('/sdk/v1/battlepass/claim', { ...place, level: 3, track: 'free' })
    }
    const edited = scenario(
      [passNode('pass', { levels: [0, 50, 120], tiers: [tier(1, 'free'), tier(2, 'free')], price: null })],
      [],
    )
    const { data, errors } = await preview('played', edited)
    expect(errors).toBeUndefined()
    expect(data.previewScenario).toEqual({
      valid: true,
      faults: [],
      currentVersion: 1,
      removedNodes: [],
      passes: [
        {
          nodeId: 'pass',
          isAdded: false,
          isRemoved: false,
          players: 3,
          premiumOwners: 0,
          levelGained: 2,
          levelLost: 0,
          levels: [
            { level: 0, before: 0, after: 0 },
            { level: 1, before: 1, after: 0 },
            { level: 2, before: 1, after: 1 },
            { level: 3, before: 1, after: 2 },
          ],
          priceBefore: { currency: 'gems', amount: '950' },
          priceAfter: null,
          claimsOpenBefore: true,
          claimsOpenAfter: true,
          newlyClaimable: [
            { track: 'FREE', players: 1, tiers: [{ level: 2, players: 1 }] },
            { track: 'PREMIUM', players: 0, tiers: [] },
          ],
          removedClaims: [{ level: 3, track: 'FREE', players: 1 }],
        },
      ],
    })
    const vanishing = (await preview('played', scenario([], []))).data.previewScenario
    expect(vanishing.removedNodes).toEqual([{ nodeId: 'pass', type: 'battle-pass', activeRuns: 3 }])
    expect(vanishing.passes).toMatchObject([{ isRemoved: true, levelLost: 3, priceAfter: null }])
  })

  it('predicts what publishing does', async () => {
    const one = await game.player()
    await publish('foreseen', season({ levels: [0, 1_000], tiers: [tier(2, 'free')] }))
    const runId = await one.start('foreseen')
    const place = { scenarioId: 'foreseen', nodeId: 'pass', runId }
    await one.post('/sdk/v1/battlepass/xp', { ...place, amount: 500, source: 'match' })
    const edited = season({ levels: [0, 400], tiers: [tier(2, 'free')] })
    const { passes } = (await preview('foreseen', edited)).data.previewScenario
    expect(passes).toMatchObject([{ levelGained: 1, newlyClaimable: [{ players: 1 }, { players: 0 }] }])
    await publish('foreseen', edited)
    expect((await one.post('/sdk/v1/battlepass/progress', place)).body.level).toBe(2)
    const claimed = await one.post('/sdk/v1/battlepass/claim', { ...place, level: 2, track: 'free' })
    expect(claimed.body.success).toBe(true)
    const { passes: then } = (await preview('foreseen', edited)).data.previewScenario
    expect(then).toMatchObject([{ levelGained: 0, newlyClaimable: [{ players: 0 }, { players: 0 }] }])
  })

  it('reports the faults of a definition that cannot be published', async () => {
    const { data } = await preview('played', season({ levels: [0, 0], tiers: [] }))
    expect(data.previewScenario).toEqual({
      valid: false,
      faults: [{ path: 'nodes[1].data.levels[1].xp', message: 'must be more than the xp of the level before it' }],
      currentVersion: null,
      passes: [],
      removedNodes: [],
    })
  })
})

describe('cloneScenario', () => {
  const text = `{ "nodes" : [ {"id":"start","type":"start"},\n{"id":"p","type":"popup","data":{"n":9007199254740993, "x":1.0,"é":"\\u0041"}} ],\t"edges":[],"start":"start","name":"Clone" }`

  it('publishes the same bytes in another environment or under another id', async () => {
    await publish('original', text)
    const { data, errors } = await clone({
      environment: production,
      scenarioId: 'original',
      toEnvironment: 'staging',
      toScenarioId: 'original',
    })
    expect(errors).toBeUndefined()
    expect(data.cloneScenario.scenario).toMatchObject({ scenarioId: 'original', environment: 'staging', version: 1 })
    expect(await storedText(game.stagingId, 'original', 1)).toBe(text)
    await clone({ environment: 'staging', scenarioId: 'original', toEnvironment: production, toScenarioId: 'a copy' })
    expect(await storedText(game.environmentId, 'a copy', 1)).toBe(text)
  })

  it('copies any published text byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(definitions, fc.uuid(), async (definition, toScenarioId) => {
        const sent = print(definition)
        await publish('many', sent)
        await clone({ environment: production, scenarioId: 'many', toEnvironment: 'staging', toScenarioId })
        expect(await storedText(game.stagingId, toScenarioId, 1)).toBe(sent)
      }),
      { numRuns: 20 },
    )
  })

  it('publishes an older version as a new version, and does not publish the current text again', async () => {
    const [one, two] = [season({ levels: [0, 1] }), season({ levels: [0, 2] })]
    await publish('undone', one)
    await publish('undone', two)
    const place = { environment: production, scenarioId: 'undone', toEnvironment: production, toScenarioId: 'undone' }
    const { data } = await clone({ ...place, version: 1 })
    expect(data.cloneScenario.scenario.version).toBe(3)
    expect(await storedText(game.environmentId, 'undone', 3)).toBe(print(one))
    // The current text is not published again.
    expect((await clone(place)).data.cloneScenario.scenario.version).toBe(3)
  })

  it('adds one version to an existing scenario when eight equal calls race', async () => {
    await publish('source', season({ levels: [0, 5] }))
    await publish('target', season({ levels: [0, 6] }))
    const input = { environment: production, scenarioId: 'source', toEnvironment: production, toScenarioId: 'target' }
    const answers = await Promise.all(times(8, () => clone(input)))
    expect(answers.map(({ data }) => data.cloneScenario.scenario.version)).toEqual(Array(8).fill(2))
    expect((await versions('target')).data.scenarioVersions.edges).toHaveLength(2)
    expect(await auditOf('target')).toHaveLength(2)
  })

  it('refuses unknown scenarios, versions and environments, and names each invalid argument', async () => {
    await publish('there', season())
    const input = { environment: production, scenarioId: 'there', toEnvironment: 'staging', toScenarioId: 'new' }
    expect(codeOf(await clone({ ...input, scenarioId: 'nowhere' }))).toBe('SCENARIO_NOT_FOUND')
    expect(codeOf(await clone({ ...input, version: 9 }))).toBe('NOT_FOUND')
    expect(codeOf(await clone({ ...input, environment: 'nowhere' }))).toBe('ENVIRONMENT_NOT_FOUND')
    expect(codeOf(await clone({ ...input, toEnvironment: 'nowhere' }))).toBe('ENVIRONMENT_NOT_FOUND')
    const answer = await clone({ ...input, toScenarioId: '', version: 0, reason: 'x'.repeat(501) })
    expect((detailsOf(answer) as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      'reason',
      'toScenarioId',
      'version',
    ])
    expect(codeOf(await game.graphql(viewer, VERSIONS, { environment: 'staging', scenarioId: 'new' }))).toBe(
      'SCENARIO_NOT_FOUND',
    )
  })
})

describe('publishing a scenario', () => {
  const editions = [1, 2, 3, 4].map((xp) => season({ levels: [0, xp] }))
  const published = `{ scenario { version } auditEntry { action reason afterText } }`
  const publishAs = (scenarioId: string, edition: number, more: object = {}) =>
    game.graphql(
      game.platformKey,
      `mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) ${published} }`,
      {
        input: {
          environment: production,
          scenarioId,
          definition: print(editions[edition] ?? null),
          reason: 'an edit',
          ...more,
        },
      },
    )
  const conflict = (answer: GraphqlAnswer) => [codeOf(answer), detailsOf(answer)]
  const told = (path: string, message: string) => ['VERSION_CONFLICT', [{ path, message }]]
  const put = (scenarioId: string, edition: number, headers: Record<string, string> = {}, query = '') =>
    game.request(
      'PUT',
      `/platform/v1/projects/${game.projectId}/scenarios/${scenarioId}?environment=${production}${query}`,
      { body: print(editions[edition] ?? null), headers: { authorization: `Bearer ${game.platformKey}`, ...headers } },
    )

  it('is refused with both versions when the current version is not the expected one', async () => {
    const absent = await publishAs('expected', 0, { expectedVersion: 1 })
    expect(conflict(absent)).toEqual(told('expectedVersion', 'the scenario has no version, not 1'))
    expect((await publishAs('expected', 0, { expectedVersion: 0 })).data.publishScenario.scenario.version).toBe(1)
    expect((await publishAs('expected', 1, { expectedVersion: 1 })).data.publishScenario.scenario.version).toBe(2)
    const late = await publishAs('expected', 2, { expectedVersion: 1 })
    expect(conflict(late)).toEqual(told('expectedVersion', 'the current version is 2, not 1'))
    const again = await publishAs('expected', 2, { expectedVersion: 0 })
    expect(conflict(again)).toEqual(told('expectedVersion', 'the current version is 2, not none'))
    expect((await versions('expected')).data.scenarioVersions.edges).toHaveLength(2)
    // A retry after a lost answer succeeds: the text is current already, so the expected version does not matter.
    const { data } = await publishAs('expected', 1, { expectedVersion: 1 })
    expect(data.publishScenario).toEqual({ scenario: { version: 2 }, auditEntry: null })
  })

  it('takes the text of `definitionText` as it is, with integers beyond 2^53', async () => {
    const text = print(season({ levels: [0, 9007199254740993n, 9223372036854775807n] }))
    const publish = (definition: string) =>
      game.graphql(
        game.platformKey,
        'mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) { scenario { version definition definitionText } auditEntry { id } } }',
        { input: { environment: production, scenarioId: 'exact', definition, reason: 'as it is' } },
      )
    const { scenario } = (await publish(text)).data.publishScenario
    expect(scenario.definitionText).toBe(text)
    const { data } = await game.graphql(
      game.platformKey,
      `{ scenario(environment: "${production}", scenarioId: "exact") { definition definitionText } }`,
    )
    expect(JSON.stringify(data.scenario.definition)).toContain('"9007199254740993"')
    const again = (await publish(data.scenario.definitionText)).data.publishScenario
    expect(again).toMatchObject({ scenario: { version: 1, definitionText: text }, auditEntry: null })
    // The values are to be read: an integer that became a text is no amount of xp.
    expect(codeOf(await publish(JSON.stringify(data.scenario.definition)))).toBe('INVALID_REQUEST')
  })

  it('succeeds once when twelve edits expect the same version', async () => {
    await publishAs('rivals', 0)
    const answers = await Promise.all(
      times(12, (index) =>
        publish('rivals', season({ levels: [0, 100 + index] }), { expectedVersion: 1, reason: 'race' }),
      ),
    )
    expect(answers.filter(({ errors }) => !errors)).toHaveLength(1)
    for (const answer of answers)
      if (answer.errors) expect(conflict(answer)).toEqual(told('expectedVersion', 'the current version is 2, not 1'))
    expect(await auditOf('rivals')).toHaveLength(2)
  })

  it('with cloneScenario compares the expected version with the target scenario', async () => {
    await publishAs('cloned', 0)
    await publishAs('cloned', 1)
    const to = { environment: production, scenarioId: 'cloned', toEnvironment: 'staging', toScenarioId: 'cloned' }
    expect((await clone({ ...to, expectedVersion: 0 })).errors).toBeUndefined()
    const late = await clone({ ...to, version: 1, expectedVersion: 2 })
    expect(conflict(late)).toEqual(told('expectedVersion', 'the current version is 1, not 2'))
  })

  it('over REST takes the expected version from If-Match and If-None-Match, and answers with an ETag', async () => {
    const refusal = ({ status, body }: Awaited<ReturnType<typeof put>>) => [status, body.code, body.details]
    const [missing, first] = [await put('tags', 0, { 'if-match': '*' }), await put('tags', 0, { 'if-none-match': '*' })]
    expect(refusal(missing)).toEqual([
      412,
      'version_conflict',
      [{ path: 'If-Match', message: 'the scenario has no version' }],
    ])
    expect([first.status, first.headers.get('etag')]).toEqual([200, '"1"'])
    const second = await put('tags', 1, { 'if-match': '"1"' })
    expect([second.status, second.headers.get('etag')]).toEqual([200, '"2"'])
    expect(refusal(await put('tags', 2, { 'if-match': '"1"' }))).toEqual([
      412,
      'version_conflict',
      [{ path: 'If-Match', message: 'the current version is 2, not 1' }],
    ])
    expect(refusal(await put('tags', 2, { 'if-none-match': '*' }))).toEqual([
      412,
      'version_conflict',
      [{ path: 'If-None-Match', message: 'the current version is 2, not none' }],
    ])
    // The weak form, as a proxy makes it that compresses: tags are compared strongly.
    expect(refusal(await put('tags', 1, { 'if-match': 'W/"2"' }))).toEqual([
      412,
      'version_conflict',
      [{ path: 'If-Match', message: 'a weak tag never matches: send "2", without W/' }],
    ])
    expect((await put('tags', 1, { 'if-match': '"2"' })).status).toBe(200)
    expect((await put('tags', 2, { 'if-match': '*' }, '&reason=by%20hand')).status).toBe(200)
    expect((await auditOf('tags')).map(({ reason }) => reason)).toEqual([null, null, 'by hand'])
    const read = await game.request(
      'GET',
      `/platform/v1/projects/${game.projectId}/scenarios/tags?environment=${production}&version=2`,
      { headers: { authorization: `Bearer ${game.platformKey}` } },
    )
    expect(read.headers.get('etag')).toBe('"2"')
    const wrong = await put('tags', 3, { 'if-match': '"0"', 'if-none-match': '"1"' }, `&reason=${'x'.repeat(501)}`)
    expect([wrong.status, wrong.body.details.map(({ path }: { path: string }) => path).sort()]).toEqual([
      400,
      ['If-None-Match', 'If-None-Match', 'reason'],
    ])
  })

  it('answers with a notice when a level node replaces the rewards of its tier (contract 12)', async () => {
    const data = { levelNumber: 2, passNodeId: 'pass', rewards: { free: [] } }
    const nodes = [passNode('pass', { more: LIMITED }), { id: 'two', type: 'battle-pass-level', data }]
    const answer = await game.graphql(
      game.platformKey,
      'mutation ($input: PublishScenarioInput!) { publishScenario(input: $input) { notices { path message } } }',
      {
        input: {
          environment: production,
          scenarioId: 'noticed',
          definition: print(scenario(nodes, [])),
          reason: 'test',
        },
      },
    )
    expect(answer.data.publishScenario.notices).toEqual([
      { path: 'nodes[2].data.rewards.free', message: 'replaces what the pass lists for the free tier of level 2' },
    ])
  })

  it('answers with the audit entry, and requires a reason', async () => {
    const { data } = await publishAs('told', 0)
    const { auditEntry } = data.publishScenario
    expect(auditEntry).toMatchObject({ action: 'scenario.publish', reason: 'an edit' })
    expect(JSON.parse(auditEntry.afterText).version).toBe(1)
    const unreasoned = await publishAs('told', 1, { reason: null })
    expect(unreasoned.errors?.[0]?.message).toContain('reason')
    expect((await versions('told')).data.scenarioVersions.edges).toHaveLength(1)
  })
})

describe('the audit log of publishing', () => {
  it('has the actor, the action, the reason, and the version and hash before and after', async () => {
    const [one, two] = [print(season({ levels: [0, 1] })), print(season({ levels: [0, 2] }))]
    await publish('audited', one, { reason: 'a new season' })
    await publish('audited', two)
    await clone({
      environment: production,
      scenarioId: 'audited',
      version: 1,
      toEnvironment: 'staging',
      toScenarioId: 'audited',
      reason: 'to try it',
    })
    const admin = await game.app.pool.query('SELECT id FROM platform_keys WHERE role = $1 AND project_id = $2', [
      'admin',
      game.projectId,
    ])
    const actor = `platform_key:${admin.rows[0].id}`
    const first = { version: 1, sha256: sha256(one) }
    const second = { version: 2, sha256: sha256(two) }
    expect(await auditOf('audited')).toEqual([
      {
        environment_id: game.environmentId,
        actor,
        action: 'scenario.publish',
        before: null,
        after: first,
        reason: 'a new season',
      },
      {
        environment_id: game.environmentId,
        actor,
        action: 'scenario.publish',
        before: first,
        after: second,
        reason: 'test',
      },
      {
        environment_id: game.stagingId,
        actor,
        action: 'scenario.clone',
        before: null,
        after: { ...first, source: { environment: production, scenarioId: 'audited', version: 1 } },
        reason: 'to try it',
      },
    ])
  })

  it('has an entry for a version that is published over REST', async () => {
    await game.publish('by rest', season())
    expect(await auditOf('by rest')).toMatchObject([
      { action: 'scenario.publish', before: null, after: { version: 1 } },
    ])
  })

  it('has no entry for a repeat or a faulty definition', async () => {
    await publish('once', season())
    await publish('once', season(), { reason: 'again' })
    await game.publish('once', season())
    await publish('once', { ...(season() as object), start: 'nowhere' })
    expect((await auditOf('once')).map(({ action }) => action)).toEqual(['scenario.publish'])
  })

  it('has one entry for each version when twelve calls race', async () => {
    await Promise.all(
      times(12, (at) =>
        at % 2 === 0
          ? publish('raced', season({ levels: [0, at + 1] }))
          : game.publish('raced', season({ levels: [0, at + 1] })),
      ),
    )
    const rows = await auditOf('raced')
    expect(rows.map(({ after }) => after.version)).toEqual(times(12, (at) => at + 1))
    expect(rows.map(({ before }) => before?.version ?? null)).toEqual([null, ...times(11, (at) => at + 1)])
  })

  it('accepts a reason of 500 characters, and refuses one that is empty, longer or contains NUL', async () => {
    expect((await publish('reasoned', season(), { reason: 'x'.repeat(500) })).errors).toBeUndefined()
    for (const reason of ['', 'x'.repeat(501), '\0']) {
      const answer = await publish('reasoned', season({ levels: [0] }), { reason })
      expect([codeOf(answer), (detailsOf(answer) as { path: string }[])[0]?.path]).toEqual([
        'INVALID_REQUEST',
        'reason',
      ])
    }
  })
})
