import { MAX_MESSAGE_BODY, MAX_MESSAGE_DAYS, MAX_MESSAGE_TITLE } from '../../../../src/base/limits.ts'
import { REWARDS_HINT, readRewards } from '../../designer/model/rewards.ts'
import { number } from '../../ui/words.ts'
import { cancelMessageMutation, sendMessageMutation } from './operations.ts'
import type { SupportAction } from './support-action.ts'

const DAYS = '30'

/** A message in one language. Other languages are sent through the API. */
export const sendMessageAction = (language: string | null): SupportAction => ({
  title: 'Send a message',
  fields: [
    {
      name: 'title',
      label: 'Title',
      kind: 'text',
      isOptional: true,
      hint: `Up to ${MAX_MESSAGE_TITLE} characters. Empty: rewards alone, with the words of the game.`,
    },
    {
      name: 'body',
      label: 'Text',
      kind: 'text',
      isOptional: true,
      hint: `Below the title: up to ${number(MAX_MESSAGE_BODY)} characters.`,
    },
    { name: 'language', label: 'Language of the text', kind: 'text', hint: 'A tag such as pt-BR.' },
    {
      name: 'image',
      label: 'Picture',
      kind: 'text',
      isOptional: true,
      hint: "A URL, or a key of the game's own assets.",
    },
    { name: 'rewards', label: 'Rewards', kind: 'text', isOptional: true, hint: `${REWARDS_HINT}.` },
    { name: 'days', label: 'Days until it expires', kind: 'amount', hint: `1 to ${MAX_MESSAGE_DAYS}.` },
    { name: 'allowNew', label: 'Send currencies even if no scenario names them', kind: 'check' },
  ],
  initial: { title: '', body: '', language: language ?? 'en', image: '', rewards: '', days: DAYS, allowNew: '' },
  effect: ({ rewards = '', days = DAYS }) => {
    const read = readRewards(rewards)
    if (rewards.trim() !== '' && read === undefined) return 'Write rewards as 50 gold, 1 item:sword.'
    const what = rewards.trim() === '' ? 'a message without rewards' : `a message, with ${rewards.trim()} to claim`
    return `The player gets ${what}. It expires after ${number(days)} ${days === '1' ? 'day' : 'days'}.`
  },
  confirm: 'Send',
  mutation: sendMessageMutation,
  input: ({ title = '', body = '', language: tag = '', image = '', rewards = '', days = DAYS, allowNew }) => ({
    ...(title.trim() !== '' && { text: [{ language: tag.trim(), title: title.trim(), body }] }),
    image: image.trim() || null,
    rewards: (readRewards(rewards) ?? []).map(({ kind, name, amount }) => ({
      ...(kind === 'item' ? { itemId: name } : { currency: name }),
      amount,
    })),
    expiresInDays: Number(days),
    allowNew: allowNew === 'true',
  }),
  done: () => 'The message is sent.',
})

export const cancelMessageAction = (messageId: string, title: string): SupportAction => ({
  title: 'Cancel the message',
  effect: () => `${title} leaves the inbox, with what could be claimed. A message that was claimed stays.`,
  confirm: 'Cancel the message',
  tone: 'danger',
  mutation: cancelMessageMutation,
  input: () => ({ messageId }),
  done: (_values, { changed }) =>
    changed ? 'The message is cancelled.' : 'Nothing changed: the message was claimed, or is no longer there.',
})
