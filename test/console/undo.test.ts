import { describe, expect, it } from 'vitest'
import { type UndoableEntry, type UndoPlayer, undoOf } from '../../console/src/players/actions/undo.ts'

// Which action undoes an entry of the audit log, and what is said where none does.

const NOW = Date.parse('2026-12-01T12:00:00Z')
const PASS = { scenarioId: 'season', nodeId: 'pass' }
const player: UndoPlayer = {
  status: 'ACTIVE',
  wallet: [{ currency: 'gems', balance: '9007199254740993' }],
  passes: [PASS],
}

const entry = (action: string, before: string | null, after: string | null): UndoableEntry => ({
  ...{ id: 'AuditLogEntry:1', action: `player.${action}`, occurredAt: '2026-12-01T11:00:00Z', reason: 'ticket 5' },
  ...{ beforeText: before, afterText: after },
})

type State = object | string | null

function undo(action: string, before: State, after: State, of: Partial<UndoPlayer> = {}) {
  const text = (state: State) => (typeof state === 'string' || state === null ? state : JSON.stringify(state))
  return undoOf(entry(action, text(before), text(after)), { ...player, ...of }, NOW)
}

const tier = { ...PASS, level: 3, track: 'free' }

describe('the undo of an entry', () => {
  it.each([
    [
      'credit_wallet',
      '{"currency":"gems","balance":9007199254740900}',
      '{"currency":"gems","balance":9007199254740993}',
      { by: 'debit', currency: 'gems', amount: '93' },
    ],
    [
      'debit_wallet',
      { currency: 'gold', balance: 7 },
      { currency: 'gold', balance: 2 },
      { by: 'credit', currency: 'gold', amount: '5' },
    ],
    ['grant_tier', { ...tier, claimed: false }, tier, { by: 'reset tier', at: PASS, level: 3, track: 'FREE' }],
    ['reset_tier', { ...tier, claimed: true }, tier, { by: 'restore tier', at: PASS, level: 3, track: 'FREE' }],
    ['grant_premium', { ...PASS, premiumOwned: false }, PASS, { by: 'revoke premium', at: PASS }],
    ['revoke_premium', { ...PASS, premiumOwned: true }, PASS, { by: 'grant premium', at: PASS }],
    ['grant_boost', null, { boostId: 'b', percent: 50 }, { by: 'end boost', boostId: 'b', percent: 50 }],
    [
      'end_boost',
      { boostId: 'b', percent: 50, endsAt: '2026-12-01T11:20:00Z' },
      null,
      { by: 'grant boost', percent: 50, minutes: 20 },
    ],
    ['send_message', null, { messageId: 'm' }, { by: 'cancel message', messageId: 'm' }],
    [
      'unban',
      { status: 'banned' },
      { status: 'active' },
      { by: 'ban', kind: 'EVERYTHING', publicReason: '', until: undefined },
    ],
    [
      'unban',
      { status: 'banned', kind: 'login', until: '2026-12-05T00:00:00Z', publicReason: 'Bots' },
      null,
      { by: 'ban', kind: 'LOGIN', publicReason: 'Bots', until: '2026-12-05T00:00:00Z' },
    ],
  ] as const)('of %s is the opposite action, filled in', (action, before, after, expected) => {
    expect(undo(action, before, after)).toEqual(expected)
  })

  it('of a ban lifts the present one', () => {
    expect(undo('ban', { status: 'active' }, { status: 'banned' }, { status: 'BANNED' })).toEqual({ by: 'unban' })
    expect(undo('ban', { status: 'active' }, { status: 'banned' })).toBe('The player is not banned any more.')
  })

  it.each([
    [
      'credit_wallet',
      { currency: 'gold', balance: 0 },
      { currency: 'gold', balance: 5 },
      'The player has no gold left.',
    ],
    ['grant_xp', null, { xp: 5 }, /^Xp cannot be taken back alone/],
    ['grant_tier', { ...tier, claimed: true }, tier, /^The tier was claimed before/],
    ['grant_premium', { ...PASS, premiumOwned: true }, PASS, 'The player had premium before.'],
    ['grant_premium', { ...PASS, premiumOwned: false }, { ...PASS, nodeId: 'gone' }, 'The player has no such pass.'],
    ['unban', { status: 'banned', until: '2026-12-01T11:30:00Z' }, null, 'The ban would have ended by now.'],
    ['delete_storage', null, null, 'This cannot be undone.'],
  ] as const)('of %s is refused with the reason where there is none', (action, before, after, said) => {
    expect(undo(action, before, after)).toEqual(expect.stringMatching(said))
  })

  it('is not offered for attempts that were denied', () => {
    expect(undo('ban.denied', null, null)).toBeUndefined()
  })
})
