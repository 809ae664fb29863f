import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFleet, type Fleet, graphql } from '../events/fleet.ts'
import { times } from '../harness/game.ts'
import { withoutRedis } from '../harness/redis.ts'
import { post, type Service } from '../harness/service.ts'

const HOUR_MS = 3_600_000
const CALLS = 12
const SHIFT = new URL('../harness/shifted-clock.mjs', import.meta.url).href

const XP_LEDGER = `query ($playerId: ID!, $after: String) {
  player(id: $playerId) { passes { xpLedger(first: 5, after: $after) {
    nodes { amount occurredAt } pageInfo { endCursor hasNextPage } } } } }`
const WALLET_LEDGER = `query ($playerId: ID!, $after: String) {
  player(id: $playerId) { walletLedger(first: 5, after: $after) {
    nodes { amount occurredAt } pageInfo { endCursor hasNextPage } } } }`

describe.skipIf(withoutRedis !== '')(`${withoutRedis}an instance whose clock is wrong`, () => {
  let fleet: Fleet
  let right: Service
  beforeAll(async () => {
    fleet = await createFleet()
    right = await fleet.start()
  })
  afterAll(() => fleet?.close())

  for (const [way, shiftMs] of [
    ['an hour behind', -HOUR_MS],
    ['an hour ahead', HOUR_MS],
  ] as const) {
    it(`keeps the ledgers of xp and wallets in the order of the calls, page by page: ${way}`, async () => {
      const wrong = await fleet.start({ NODE_OPTIONS: `--import ${SHIFT}`, CLOCK_SHIFT_MS: String(shiftMs) })
      const [{ time }] = wrong.output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      expect(Math.abs(new Date(time).getTime() - Date.now() - shiftMs)).toBeLessThan(HOUR_MS / 2)
      const player = await fleet.climber()
      const { playerId } = player
      for (const index of times(CALLS, (at) => at)) {
        const service = index % 2 === 0 ? right : wrong
        const call = { scenarioId: 'climb', nodeId: 'pass', runId: player.runId, amount: index + 1, source: 'clock' }
        expect((await post(service, '/sdk/v1/battlepass/xp', player.token, call)).status).toBe(200)
        const input = {
          ...{ playerId, currency: 'gold', allowNew: true },
          ...{ amount: String(index + 1), reason: 'clock', idempotencyKey: `${way}-${index}` },
        }
        const { errors } = await graphql(
          service,
          fleet.platformKey,
          'mutation ($input: CreditWalletInput!) { creditWallet(input: $input) { __typename } }',
          { input },
        )
        expect(errors).toBeUndefined()
      }
      const expected = times(CALLS, (index) => String(CALLS - index))
      for (const service of [right, wrong]) {
        const xp = await readAll(service, XP_LEDGER, playerId, (data) => data.player.passes[0].xpLedger)
        expect(xp).toEqual(expected)
        const wallet = await readAll(service, WALLET_LEDGER, playerId, (data) => data.player.walletLedger)
        expect(wallet).toEqual(expected)
      }
    })
  }

  // biome-ignore lint/suspicious/noExplicitAny: the shape is that of the query.
  async function readAll(service: Service, query: string, playerId: string, listOf: (data: any) => any) {
    const amounts: string[] = []
    for (let after: string | null = null; ; ) {
      const { data, errors } = await graphql(service, fleet.platformKey, query, { playerId, after })
      expect(errors).toBeUndefined()
      const { nodes, pageInfo } = listOf(data)
      for (const { amount, occurredAt } of nodes) {
        amounts.push(amount)
        expect(Math.abs(Date.parse(occurredAt) - Date.now())).toBeLessThan(HOUR_MS / 2)
      }
      if (!pageInfo.hasNextPage) return amounts
      after = pageInfo.endCursor
    }
  }
})
