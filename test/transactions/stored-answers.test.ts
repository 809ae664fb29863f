import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { passNode, scenario } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { documentOf, rootFields } from '../serve/graphql/documents.ts'

// Answers that are stored under idempotency keys live for seven days, so those of the release before are answered by this
// one. Each must still be an answer of its call: with every member that REST and GraphQL promise.

/** Answers of games that ask for nothing beyond the contract, as they are stored: with `$int` for integers of 64 bits, and `$raw` for JSON as it was published. */
const STORED = {
  start:
    '{"runId":"RUN","resumed":false,"plan":{"runId":"RUN","status":"active","crossed":[{"nodeId":"start","handle":"onStart"}],"entered":[{"nodeId":"start","type":"start","data":{"$raw":"{}"}}],"granted":[{"amount":{"$int":"1000"},"currency":"gems","itemId":null}]}}',
  xp: '{"level":2,"xp":{"$int":"100"},"leveledUp":true,"maxLevel":false,"plan":{"runId":"RUN","status":"active","crossed":[{"nodeId":"pass","handle":"onLevelUp"}],"entered":[],"granted":[{"amount":{"$int":"1"},"currency":null,"itemId":"card"}]}}',
  claim:
    '{"success":true,"alreadyClaimed":false,"error":null,"granted":[{"amount":{"$int":"20"},"currency":"gold","itemId":null}]}',
  premium:
    '{"success":true,"error":null,"plan":{"runId":"RUN","status":"active","crossed":[{"nodeId":"pass","handle":"onPremiumPurchase"}],"entered":[],"granted":[]}}',
  cross:
    '{"plan":{"runId":"RUN","status":"active","crossed":[{"nodeId":"shop","handle":"onBought"}],"entered":[],"granted":[]}}',
} as const
type Operation = keyof typeof STORED

const place = { scenarioId: 'season', nodeId: 'pass' }
const CALLS: Readonly<Record<Operation, { path: string; mutation: string; body: Record<string, unknown> }>> = {
  start: { path: 'scenarios/start', mutation: 'startRun', body: { scenarioId: 'season' } },
  xp: { path: 'battlepass/xp', mutation: 'addXp', body: { ...place, amount: 100, source: 'match' } },
  claim: { path: 'battlepass/claim', mutation: 'claimTier', body: { ...place, level: 1, track: 'free' } },
  premium: { path: 'battlepass/premium', mutation: 'purchasePremium', body: place },
  cross: { path: 'scenarios/cross', mutation: 'crossHandle', body: { ...place, nodeId: 'shop', handle: 'onBought' } },
}

let game: Game

beforeAll(async () => {
  game = await startGame()
  const shop = { id: 'shop', type: 'shop', data: {} }
  const edges = ['pass', 'shop'].map((to) => ({ from: 'start', handle: 'onStart', to }))
  const after = { from: 'shop', handle: 'onBought', to: 'end' }
  await game.publish('season', scenario([passNode(), shop, { id: 'end', type: 'shop', data: {} }], [...edges, after]))
})
afterAll(() => game.stop())

/** Makes a call with a key, and puts such an answer into the place of its own. */
async function storedEarlier(operation: Operation, player: TestPlayer): Promise<{ runId: string; body: object }> {
  const { path, body: own } = CALLS[operation]
  const runId = operation === 'start' ? undefined : await player.start('season')
  const body = { ...own, ...(runId !== undefined && { runId }), idempotencyKey: 'k' }
  const first = await player.post(`/sdk/v1/${path}`, body)
  expect(first.status).toBe(200)
  const { rowCount } = await game.app.pool.query(
    'UPDATE idempotency_keys SET response = $2 WHERE player_id = $1 AND key = $3',
    [player.playerId, STORED[operation].replaceAll('RUN', runId ?? first.body.runId), 'k'],
  )
  expect(rowCount).toBe(1)
  return { runId: runId ?? first.body.runId, body }
}

describe('an answer that is stored under an idempotency key with the members of the contract alone', () => {
  it.each(Object.keys(STORED) as Operation[])(
    'is an answer of the call over REST and GraphQL: %s',
    async (operation) => {
      const player = await game.player({ wallet: { gems: 1_000n } })
      const { runId, body } = await storedEarlier(operation, player)
      const { path, mutation } = CALLS[operation]
      // The harness compares the answer with its schema in openapi.json.
      const repeated = await player.post(`/sdk/v1/${path}`, body)
      const stored = STORED[operation].replaceAll('RUN', runId).replaceAll(/\{"\$(?:int|raw)":"([^"]+)"\}/g, '$1')
      expect([repeated.status, repeated.body]).toEqual([200, expect.objectContaining(JSON.parse(stored))])

      const field = rootFields('Mutation').find(({ name }) => name === mutation)
      if (!field) throw new Error(`there is no mutation ${mutation}`)
      const names = { ...body, track: 'FREE' }
      const { query, variables } = documentOf('Mutation', field, names, 5)
      const { data, errors } = await player.graphql(query, variables)
      expect([errors, data]).toEqual([undefined, { [mutation]: expect.any(Object) }])
    },
  )
})
