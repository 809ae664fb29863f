import { MAX_STORAGE_KEY } from '../../../../src/base/limits.ts'
import { number, plainName } from '../../ui/words.ts'
import { indentedJson } from '../indented-json.ts'
import { BAN_FIELDS, BAN_INITIAL, banEffect, banInput } from './ban-fields.ts'
import {
  banPlayerMutation,
  deletePlayerMutation,
  deletePlayerStorageMutation,
  endSessionsMutation,
  setPlayerStorageMutation,
  unbanPlayerMutation,
  unlinkIdentityMutation,
} from './operations.ts'
import type { PlayerData, SupportAction } from './support-action.ts'

export const nameOf = ({ nickname, playerId }: Pick<PlayerData, 'nickname' | 'playerId'>): string =>
  nickname === null ? playerId : plainName(nickname)

export const banAction = (player: PlayerData, now = Date.now()): SupportAction => ({
  title: 'Ban the player',
  fields: BAN_FIELDS,
  initial: BAN_INITIAL,
  effect: (values) => banEffect(nameOf(player), values),
  confirm: 'Ban',
  tone: 'danger',
  mutation: banPlayerMutation,
  input: (values) => banInput(values, now),
  done: () => `${nameOf(player)} is banned.`,
})

export const unbanAction = (player: PlayerData): SupportAction => ({
  title: 'Unban the player',
  effect: () => `${nameOf(player)} can log in and play again.`,
  confirm: 'Unban',
  mutation: unbanPlayerMutation,
  done: () => `${nameOf(player)} can play again.`,
})

export const endSessionsAction: SupportAction = {
  title: 'End all logins',
  effect: () => 'The player is logged out everywhere within two seconds. It can log in again.',
  confirm: 'End all logins',
  tone: 'danger',
  mutation: endSessionsMutation,
  done: () => 'All logins have ended.',
}

export const unlinkAction = (player: PlayerData, provider: string, subject: string): SupportAction => ({
  title: 'Unlink the identity',
  effect: () =>
    `${provider} ${subject} no longer leads to this player. All its logins end. The next login with this identity makes a new player${player.identities.length === 1 ? ', and this player can no longer log in: it is the last identity' : ''}.`,
  confirm: 'Unlink',
  tone: 'danger',
  mutation: unlinkIdentityMutation,
  input: () => ({ provider, subject, allowLast: player.identities.length === 1 }),
  done: () => 'The identity is unlinked.',
})

export const deleteAction = (player: PlayerData): SupportAction => ({
  title: 'Delete the player',
  effect: () =>
    'Profile, storage, inbox, login log and sessions are erased for good. Ledgers, claims and identities stay. This cannot be undone.',
  confirm: 'Delete for good',
  tone: 'danger',
  typed: nameOf(player),
  mutation: deletePlayerMutation,
  done: () => 'The player is deleted.',
})

/** The text of the value is sent as it is: no number is rounded. `stored` is the text before. */
export const setStorageAction = (key = '', stored?: string): SupportAction => ({
  title: stored === undefined ? 'Add a key' : `Change ${key}`,
  fields: [
    ...(stored === undefined
      ? [{ name: 'key', label: 'Key', kind: 'text', hint: `1 to ${MAX_STORAGE_KEY} characters.` } as const]
      : []),
    { name: 'values', label: 'Value (JSON)', kind: 'json' },
  ],
  initial: { key, values: stored === undefined ? '' : indentedJson(stored) },
  effect: ({ key, values = '' }) => {
    const size = `${number(bytesOf(values))} bytes`
    return stored === undefined
      ? `${key} gets a value of ${size}. An existing value of this key is replaced. Other keys stay.`
      : `${key}: ${number(bytesOf(stored))} → ${size}. Other keys stay. What the game wrote to ${key} meanwhile is replaced.`
  },
  confirm: 'Save',
  mutation: setPlayerStorageMutation,
  input: ({ key = '', values }) => ({ values: `{${JSON.stringify(key)}:${values}}` }),
  done: ({ key }) => `${key} is saved.`,
})

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

export const deleteStorageAction = (keys: readonly string[]): SupportAction => ({
  title: keys.length === 1 ? `Remove ${keys[0]}` : `Remove ${keys.length} keys`,
  effect: () =>
    `The values of ${keys.slice(0, 8).join(', ')}${keys.length > 8 ? ` and ${keys.length - 8} more` : ''} are lost. Other keys stay.`,
  confirm: 'Remove',
  tone: 'danger',
  mutation: deletePlayerStorageMutation,
  input: () => ({ keys }),
  done: () => (keys.length === 1 ? `${keys[0]} is removed.` : `${keys.length} keys are removed.`),
})
