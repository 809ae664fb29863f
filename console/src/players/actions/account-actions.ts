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
  nickname ?? playerId

export const banAction = (player: PlayerData): SupportAction => ({
  title: 'Ban the player',
  fields: [],
  effect: () =>
    `Every call of ${nameOf(player)} is refused from the next one on, and its open connections close. Nothing is lost: it can be unbanned.`,
  confirm: 'Ban',
  tone: 'danger',
  mutation: banPlayerMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId }),
  done: () => `${nameOf(player)} is banned.`,
})

export const unbanAction = (player: PlayerData): SupportAction => ({
  title: 'Unban the player',
  fields: [],
  effect: () => `${nameOf(player)} can play again.`,
  confirm: 'Unban',
  mutation: unbanPlayerMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId }),
  done: () => `${nameOf(player)} can play again.`,
})

export const endSessionsAction = (player: PlayerData): SupportAction => ({
  title: 'End all logins',
  fields: [],
  effect: () => 'The player is logged out everywhere within two seconds. It can log in again.',
  confirm: 'End all logins',
  tone: 'danger',
  mutation: endSessionsMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId }),
  done: () => 'All logins have ended.',
})

export const unlinkAction = (player: PlayerData, provider: string, subject: string): SupportAction => ({
  title: 'Unlink the identity',
  fields: [],
  effect: () =>
    `${provider} ${subject} no longer leads to this player. All its logins end. The next login with this identity makes a new player${player.identities.length === 1 ? ', and nobody can log in to this one any more: it is the last identity' : ''}.`,
  confirm: 'Unlink',
  tone: 'danger',
  mutation: unlinkIdentityMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId, provider, subject }),
  done: () => 'The identity is unlinked.',
})

export const deleteAction = (player: PlayerData): SupportAction => ({
  title: 'Delete the player',
  fields: [],
  effect: () =>
    'Profile, storage, login log and sessions are erased for good. Ledgers, claims and identities stay. This cannot be undone.',
  confirm: 'Delete for good',
  tone: 'danger',
  typed: nameOf(player),
  mutation: deletePlayerMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId }),
  done: () => 'The player is deleted.',
})

/** The text of the value is sent as it is: no number is rounded. */
export const setStorageAction = (player: PlayerData, key = '', value = ''): SupportAction => ({
  title: key === '' ? 'Add a key' : `Change ${key}`,
  fields: [
    ...(key === '' ? [{ name: 'key', label: 'Key', kind: 'text', hint: '1 to 128 characters.' } as const] : []),
    { name: 'value', label: 'Value (JSON)', kind: 'json' },
  ],
  initial: { key, value },
  effect: ({ key, value = '' }) =>
    `${key} becomes ${value.length > 80 ? `${value.slice(0, 80)}…` : value}. Other keys stay.`,
  confirm: 'Save',
  mutation: setPlayerStorageMutation as SupportAction['mutation'],
  input: ({ key = '', value }) => ({ playerId: player.playerId, values: `{${JSON.stringify(key)}:${value}}` }),
  done: ({ key }) => `${key} is saved.`,
})

export const deleteStorageAction = (player: PlayerData, key: string): SupportAction => ({
  title: `Remove ${key}`,
  fields: [],
  effect: () => `The value of ${key} is lost.`,
  confirm: 'Remove',
  tone: 'danger',
  mutation: deletePlayerStorageMutation as SupportAction['mutation'],
  input: () => ({ playerId: player.playerId, keys: [key] }),
  done: () => `${key} is removed.`,
})
