import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addXp } from '../../src/game/battlepass/add-xp.ts'
import { claimTier } from '../../src/game/battlepass/claim-tier.ts'
import { purchasePremium } from '../../src/game/battlepass/purchase-premium.ts'
import type { Path } from '../../src/transactions/group.ts'
import type { PlayerRef } from '../../src/transactions/player.ts'
import { gold, season, tier } from '../harness/definitions.ts'
import { type Engines, startEngines, type TwoInstances } from '../harness/engines.ts'
import { times } from '../harness/game.ts'
import type { World } from '../harness/service.ts'

// A group that uses remembered rows assumes that a key is new, and proves it when it writes: the same key takes effect
// once (contract 11).

type Subject = PlayerRef & { readonly runId: string }

let instances: TwoInstances
let world: World
let here: Engines
let there: Engines

const PASS = { scenarioId: 'season', nodeId: 'pass' }
const reused = { kind: 'idempotencyKeyReused' }

beforeAll(async () => {
  instances = await startEngines()
  world = instances.world
  here = instances.here
  there = instances.there
  await world.publish('season', season({ levels: [0, 100, 200], tiers: [tier(2, 'free', [gold(5)])] }))
})
afterAll(() => instances?.stop())

const give = ({ writes }: Engines, { runId, ...player }: Subject, amount: number, idempotencyKey?: string) =>
  writes.run(addXp(player, { ...PASS, runId, amount: BigInt(amount), source: 'match', idempotencyKey }))
const claim = ({ writes }: Engines, { runId, ...player }: Subject, idempotencyKey?: string) =>
  writes.run(claimTier(player, { ...PASS, runId, level: 2, track: 'free', idempotencyKey }))
const buy = ({ writes }: Engines, { runId, ...player }: Subject, idempotencyKey: string) =>
  writes.run(purchasePremium(player, { ...PASS, runId, idempotencyKey }))

/** A player whose rows the given instances remember. */
async function remembered(...engines: Engines[]): Promise<Subject> {
  const player = await world.player('season', { gems: 5_000n })
  // The claim is refused, so that the rows are remembered and unchanged.
  for (const instance of engines) expect((await claim(instance, player)).success).toBe(false)
  return player
}

/** The paths of the groups that an instance runs during `act`. */
async function pathsOf({ paths }: Engines, act: () => Promise<unknown>): Promise<Path[]> {
  const before = paths.length
  await act()
  return paths.slice(before)
}

describe('a call with an idempotency key', () => {
  it('uses remembered rows', async () => {
    const player = await remembered(here)
    expect(await pathsOf(here, () => give(here, player, 100, 'xp'))).toEqual(['memory'])
    expect(await pathsOf(here, () => claim(here, player, 'claim'))).toEqual(['memory'])
    expect(await pathsOf(here, () => buy(here, player, 'premium'))).toEqual(['memory'])
  })

  it('takes effect once, with one answer, when fifty copies race on two instances', async () => {
    for (const round of times(10, (index) => `round ${index}`)) {
      const player = await remembered(here, there)
      const answers = await Promise.all(times(50, (index) => give(index % 2 === 0 ? here : there, player, 100, round)))
      expect(new Set(answers.map(({ xp }) => xp))).toEqual(new Set([100n]))
      const claims = await Promise.all(times(50, (index) => claim(index % 2 === 0 ? here : there, player, round)))
      for (const answer of claims) expect(answer).toEqual(claims[0])
      expect(claims[0]).toMatchObject({ success: true, alreadyClaimed: false })
      const purchases = await Promise.all(times(50, (index) => buy(index % 2 === 0 ? here : there, player, round)))
      for (const answer of purchases) expect(answer).toEqual(purchases[0])
      expect(purchases[0]?.success).toBe(true)
      expect((await give(there, player, 1)).xp).toBe(101n)
    }
  })

  it('gets its first answer from another instance that remembers older rows of the player', async () => {
    const player = await remembered(here, there)
    const answer = await give(there, player, 100, 'k')
    expect(await give(here, player, 100, 'k')).toEqual(answer)
    await give(there, player, 1)
    expect(await give(here, player, 100, 'k')).toEqual(answer)
    expect((await give(here, player, 1)).xp).toBe(102n)
  })

  it('gets its first answer from the same instance, which keeps the remembered rows', async () => {
    const player = await remembered(here)
    const answer = await give(here, player, 100, 'k')
    const paths = await pathsOf(here, async () => expect(await give(here, player, 100, 'k')).toEqual(answer))
    expect(paths).toEqual(['memory', 'transaction'])
    // Only the key was not new. The rows are still remembered.
    expect(await pathsOf(here, () => give(here, player, 1))).toEqual(['memory'])
    expect((await give(here, player, 1)).xp).toBe(102n)
  })

  it('gets its first answer when a new call would be refused', async () => {
    const player = await remembered(here)
    const answer = await buy(here, player, 'first')
    expect(answer.success).toBe(true)
    expect(await buy(here, player, 'second')).toMatchObject({ error: 'premium already owned' })
    expect(await buy(here, player, 'first')).toEqual(answer)
  })

  it('can be repeated after a refusal, and gets one answer once it succeeds', async () => {
    const player = await remembered(here)
    expect(await claim(here, player, 'k')).toMatchObject({ success: false })
    await give(here, player, 100)
    const answer = await claim(here, player, 'k')
    expect(answer).toMatchObject({ success: true, alreadyClaimed: false })
    expect(await claim(here, player, 'k')).toEqual(answer)

    const other = await remembered(here)
    const [first, , ...later] = await Promise.all([
      claim(here, other, 'k'),
      give(here, other, 100),
      claim(here, other, 'k'),
      claim(here, other, 'k'),
    ])
    expect(first).toMatchObject({ success: false })
    for (const outcome of later) expect(outcome).toEqual(answer)
  })

  it('is refused when its key has another request, in the same group and later', async () => {
    const player = await remembered(here)
    const [first, second] = await Promise.allSettled([give(here, player, 1, 'k'), give(here, player, 2, 'k')])
    expect(first).toMatchObject({ status: 'fulfilled', value: { xp: 1n } })
    expect(second).toMatchObject({ status: 'rejected', reason: reused })
    await expect(give(here, player, 2, 'k')).rejects.toMatchObject(reused)
    await buy(here, player, 'k')
    const { runId } = await world.player('season')
    expect(await buy(here, { ...player, runId }, 'k')).toMatchObject({ error: 'idempotency key reused' })
    expect((await give(here, player, 1)).xp).toBe(2n)
  })

  it('replaces an expired key', async () => {
    const player = await remembered(here)
    await give(here, player, 1, 'k')
    await world.pool.query(`UPDATE idempotency_keys SET created_at = now() - interval '8 days' WHERE player_id = $1`, [
      player.playerId,
    ])
    const paths = await pathsOf(here, async () => expect((await give(here, player, 2, 'k')).xp).toBe(3n))
    expect(paths).toEqual(['memory'])
    expect((await give(here, player, 2, 'k')).xp).toBe(3n)
  })

  it('needs only one more group when it is repeated among calls of other players', async () => {
    const players = await Promise.all(times(9, () => remembered(here)))
    const [again, ...others] = players as [Subject, ...Subject[]]
    const answer = await give(here, again, 1, 'k')
    const paths = await pathsOf(here, async () => {
      const answers = await Promise.all([
        give(here, again, 1, 'k'),
        ...others.map((player) => give(here, player, 1, 'k')),
        give(here, again, 1),
      ])
      expect(answers.slice(0, -1)).toEqual([answer, ...others.map(() => answer)])
      expect(answers.at(-1)?.xp).toBe(2n)
    })
    expect(paths).toEqual(['memory', 'transaction'])
  })
})
