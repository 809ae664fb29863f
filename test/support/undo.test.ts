import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { debitWallet } from '../../src/support/support-wallet.ts'
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
    ['grantBoost', () => boost],
    ['endPlayerBoost', async (player) => ({ boostId: (await read(player)).boosts[0].boostId })],
  ],
  [
    ['sendMessage', () => ({ rewards: [{ itemId: 'hat', amount: 1 }] })],
    ['withdrawMessage', async (player) => ({ messageId: (await read(player)).inbox.nodes[0].messageId })],
  ],
  [
    ['addPlayerNote', () => ({ text: 'a note' })],
    ['removePlayerNote', async (player) => ({ noteId: (await read(player)).notes.nodes[0].noteId })],
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
