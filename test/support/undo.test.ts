import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { debitWallet } from '../../src/operations/support/support-wallet.ts'
import { CLAIM, PREMIUM, PROGRESS } from '../battlepass/pass-game.ts'
import { times } from '../harness/game.ts'
import { codeOf, type Input, type Mutation, payload, support } from './desk.ts'
import {
  act,
  closeDesk,
  fresh,
  game,
  openDesk,
  operator,
  other,
  pass,
  type Seasoned,
  seasoned,
} from './support-desk.ts'

// Actions of support that undo an entry of the audit log.

beforeAll(openDesk)
afterAll(closeDesk)

const ENTRIES = `query E($id: ID!) { player(id: $id) {
  wallet { currency balance } auditLog(first: 50) { nodes { id action undoes } } inbox { nodes { messageId } }
  boosts { boostId } notes { nodes { noteId } } } }`

async function read({ playerId }: Seasoned) {
  const { data } = await game.graphql(operator.key, ENTRIES, { id: playerId })
  return data.player
}

const latest = async (player: Seasoned): Promise<{ id: string; action: string; undoes: string | null }> =>
  (await read(player)).auditLog.nodes[0]

/** What a player has, and what it has claimed. */
async function standing(player: Seasoned) {
  const { premiumOwned, claimedTiers } = (await player.post(PROGRESS, pass)).body
  const { wallet } = await read(player)
  return { premiumOwned, claimedTiers, wallet }
}

const keyed = (input: Input): Input => ({ ...input, idempotencyKey: fresh('key') })
const gems = { currency: 'gems', amount: 5 }
const boost = { percent: 10, minutes: 5 }

type Step = readonly [Mutation, (player: Seasoned) => Input | Promise<Input>]

/** An action with the one that undoes it. */
const PAIRS: readonly (readonly [Step, Step])[] = [
  [
    ['creditWallet', () => gems],
    ['debitWallet', () => gems],
  ],
  [
    ['debitWallet', () => gems],
    ['creditWallet', () => gems],
  ],
  [
    ['banPlayer', () => ({})],
    ['unbanPlayer', () => ({})],
  ],
  [
    ['unbanPlayer', () => ({})],
    ['banPlayer', () => ({ publicReason: 'Bots' })],
  ],
  [
    ['grantTier', () => ({ ...pass, level: 5, track: 'free' })],
    ['resetTier', () => ({ ...pass, level: 5, track: 'free' })],
  ],
  [
    ['resetTier', () => ({ ...pass, level: 1, track: 'free' })],
    ['grantTier', () => ({ ...pass, level: 1, track: 'free' })],
  ],
  [
    ['revokePremium', () => pass],
    ['grantPremium', () => pass],
  ],
  [
    ['grantPremium', () => pass],
    ['revokePremium', () => ({ ...pass, withTiers: true })],
  ],
  [
    ['grantPlayerBoost', () => boost],
    ['endPlayerBoost', async (player) => ({ boostId: (await read(player)).boosts[0].boostId })],
  ],
  [
    ['sendMessage', () => ({ rewards: [{ itemId: 'hat', amount: 1 }] })],
    ['cancelMessage', async (player) => ({ messageId: (await read(player)).inbox.nodes[0].messageId })],
  ],
  [
    ['addPlayerNote', () => ({ text: 'a note' })],
    ['deletePlayerNote', async (player) => ({ noteId: (await read(player)).notes.nodes[0].noteId })],
  ],
]

describe('an undo', () => {
  it.each(PAIRS.map(([[done, input], [undo, inputOfUndo]]) => [done, undo, input, inputOfUndo] as const))(
    'of %s by %s names its entry, and is refused a second time',
    async (done, undo, input, inputOfUndo) => {
      const player = await seasoned()
      payload(await act(done, player, keyed(await input(player))))
      const { id, undoes: none } = await latest(player)
      expect(none).toBeNull()
      const sent = { ...(await inputOfUndo(player)), undoes: id }
      payload(await act(undo, player, keyed(sent)))
      expect(await latest(player)).toMatchObject({ undoes: id })
      const count = (await read(player)).auditLog.nodes.length
      expect(codeOf(await act(undo, player, keyed(sent)))).toBe('ALREADY_UNDONE')
      expect((await read(player)).auditLog.nodes).toHaveLength(count)
    },
  )

  it('of premium that was revoked with its tiers restores their claims, which pay nothing again', async () => {
    const player = await seasoned()
    const { runId } = player
    const claim = (level: number) => player.post(CLAIM, { ...pass, runId, level, track: 'premium' })
    const first = [(await claim(1)).body, (await claim(3)).body]
    const before = await standing(player)
    payload(await act('revokePremium', player, { ...pass, withTiers: true }))
    payload(await act('grantPremium', player, { ...pass, undoes: (await latest(player)).id }))
    expect(await standing(player)).toEqual(before)
    for (const [n, level] of [1, 3].entries())
      expect((await claim(level)).body).toEqual({ ...first[n], alreadyClaimed: true })
    expect(await standing(player)).toEqual(before)
  })

  it('of a reset tier restores the claim, and pays nothing', async () => {
    const player = await seasoned()
    const tier = { ...pass, level: 1, track: 'free' }
    const before = await standing(player)
    payload(await act('resetTier', player, tier))
    payload(await act('grantTier', player, keyed({ ...tier, undoes: (await latest(player)).id })))
    expect(await standing(player)).toEqual(before)
  })

  it.each<[string, Step, Step, string]>([
    ['more than was credited', ['creditWallet', () => gems], ['debitWallet', () => ({ ...gems, amount: 6 })], 'amount'],
    ['more than was debited', ['debitWallet', () => gems], ['creditWallet', () => ({ ...gems, amount: 6 })], 'amount'],
    [
      'another currency',
      ['debitWallet', () => gems],
      ['creditWallet', () => ({ currency: 'gold', amount: 5, allowNew: true })],
      'currency',
    ],
    [
      'another tier than the one that was granted',
      ['grantTier', () => ({ ...pass, level: 5, track: 'free' })],
      ['resetTier', () => ({ ...pass, level: 1, track: 'free' })],
      'level',
    ],
    [
      'another tier than the one that was reset',
      ['resetTier', () => ({ ...pass, level: 1, track: 'free' })],
      ['grantTier', () => ({ ...pass, level: 5, track: 'free' })],
      'level',
    ],
    [
      'a tier that was not claimed when it was reset',
      ['resetTier', () => ({ ...pass, level: 5, track: 'free' })],
      ['grantTier', () => ({ ...pass, level: 5, track: 'free' })],
      'undoes',
    ],
  ])('of %s is refused, and changes nothing', async (_what, [done, input], [undo, inputOfUndo], path) => {
    const player = await seasoned()
    payload(await act(done, player, keyed(await input(player))))
    const { id: undoes } = await latest(player)
    const before = await standing(player)
    const refused = await act(undo, player, keyed({ ...(await inputOfUndo(player)), undoes }))
    expect(refused).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path }] })
    expect(await standing(player)).toEqual(before)
    expect((await latest(player)).id).toBe(undoes)
  })

  it('of granted premium leaves premium that the player has bought since', async () => {
    const player = await seasoned()
    payload(await act('revokePremium', player, pass))
    payload(await act('grantPremium', player, pass))
    const { id: undoes } = await latest(player)
    payload(await act('revokePremium', player, pass))
    payload(await act('creditWallet', player, keyed({ currency: 'gems', amount: 950 })))
    const { runId } = player
    expect((await player.post(PREMIUM, { ...pass, runId })).body).toMatchObject({ success: true })
    const before = await standing(player)
    expect(payload(await act('revokePremium', player, { ...pass, undoes }))).toMatchObject({ changed: false })
    expect(await standing(player)).toEqual(before)
  })

  it('of a boost takes what is left of it, and nothing of others with its percentage', async () => {
    const player = await seasoned()
    const gift = async (minutes: number) => {
      payload(await act('grantPlayerBoost', player, keyed({ percent: 50, minutes })))
      return (await latest(player)).id
    }
    const [first, second] = [await gift(60), await gift(30)]
    const minutes = async () => {
      const { rows } = await game.app.pool.query<{ minutes: number }>(
        'SELECT round(extract(epoch FROM ends_at - starts_at) / 60)::int AS minutes FROM player_boosts WHERE player_id = $1',
        [player.playerId],
      )
      return rows.map((row) => row.minutes)
    }
    const { boostId } = (await read(player)).boosts[0]
    const end = async (undoes: string) => payload(await act('endPlayerBoost', player, { boostId, undoes })).changed
    expect(await minutes()).toEqual([90])
    const passed = async (by: number) =>
      game.app.pool.query(
        `UPDATE player_boosts SET starts_at = starts_at - $2 * interval '1 minute', ends_at = ends_at - $2 * interval '1 minute'
         WHERE player_id = $1`,
        [player.playerId, by],
      )
    const third = await gift(10)
    expect([await end(second), await minutes()]).toEqual([true, [70]])
    await passed(61)
    expect([await end(first), await minutes()]).toEqual([false, [70]])
    expect([await end(third), await minutes()]).toEqual([true, []])
  })

  it('takes effect once when twelve operators undo at once, on two instances', async () => {
    const player = await seasoned()
    payload(await act('creditWallet', player, keyed(gems)))
    const [, undoes = ''] = (await latest(player)).id.split(':')
    const { caller } = operator
    const outcomes = await Promise.all(
      times(12, (index) => {
        const call = { caller, player, reason: 'x', idempotencyKey: fresh('key'), undoes }
        const { service } = (index % 2 === 0 ? game : other).app
        return service.run(debitWallet(call, { currency: 'gems', amount: 5n })).then(
          () => 'done',
          (error) => String(error.message),
        )
      }),
    )
    expect(outcomes.sort()).toEqual([...times(11, () => 'already undone'), 'done'])
    expect((await read(player)).wallet).toContainEqual({ currency: 'gems', balance: '50' })
  })

  it('that is repeated with its key answers the same', async () => {
    const player = await seasoned()
    payload(await act('creditWallet', player, keyed(gems)))
    const undo = keyed({ ...gems, undoes: (await latest(player)).id })
    const first = await act('debitWallet', player, undo)
    expect(payload(first).balance).toBe('50')
    expect(await act('debitWallet', player, undo)).toEqual(first)
    expect(await act('debitWallet', player, { ...undo, undoes: null })).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
  })

  it('can itself be undone', async () => {
    const player = await seasoned()
    payload(await act('creditWallet', player, keyed(gems)))
    payload(await act('debitWallet', player, keyed({ ...gems, undoes: (await latest(player)).id })))
    payload(await act('creditWallet', player, keyed({ ...gems, undoes: (await latest(player)).id })))
    expect((await latest(player)).action).toBe('player.credit_wallet')
  })

  it('refuses the entry of another player, of another action, of a refused attempt and of none, and then can still be made', async () => {
    const [player, other] = [await seasoned(), await seasoned()]
    payload(await act('creditWallet', player, keyed(gems)))
    const { id } = await latest(player)
    payload(await act('creditWallet', other, keyed(gems)))
    const { id: ofOther } = await latest(other)
    payload(await act('banPlayer', player))
    const { id: ofBan } = await latest(player)
    payload(await act('unbanPlayer', player))
    for (const undoes of [ofOther, ofBan, 'AuditLogEntry:01900000-0000-7000-8000-000000000000'])
      expect(await support(game, operator.key, 'debitWallet', input(player, undoes))).toMatchObject({
        code: 'INVALID_REQUEST',
        details: [{ path: 'undoes', message: 'must be an entry of the player that this action undoes' }],
      })
    expect(await support(game, operator.key, 'debitWallet', input(player, 'nothing'))).toMatchObject({
      details: [{ path: 'undoes', message: 'must be an id' }],
    })
    payload(
      await support(
        game,
        operator.key,
        'debitWallet',
        input(player, id.toUpperCase().replace('AUDITLOGENTRY', 'AuditLogEntry')),
      ),
    )
  })
})

const input = ({ playerId }: Seasoned, undoes: string): Input => ({ playerId, reason: 'x', ...keyed(gems), undoes })
