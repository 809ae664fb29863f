import type { MessageText, MessageTexts } from '../../base/languages.ts'
import { MAX_MESSAGE_BODY, MAX_MESSAGE_DAYS, MAX_MESSAGE_TEXT_BYTES, MAX_MESSAGE_TITLE } from '../../base/limits.ts'
import { integer, named, object, optional, orEmpty, type Part, text } from '../../declare/document/parts.ts'
import { byLanguage, image } from './display.ts'

// The message with what a player had earned and not claimed in a season: `data.mail` of its pass. Pure.

export interface SeasonMail {
  /** Null for a message for which the game has words of its own. */
  readonly text: MessageTexts | null
  /** A URL, or a key of the game's own assets. */
  readonly image: string | null
  /** Days until it expires. */
  readonly days: number
}

export const PLAIN_MAIL: SeasonMail = { text: null, image: null, days: 30 }

const wording = object(
  'The text in one language.',
  {
    title: text(MAX_MESSAGE_TITLE, 'The title.'),
    body: optional(orEmpty(text(MAX_MESSAGE_BODY, 'The text below the title.')), 'Default: none.', ''),
  },
  (given): MessageText => ({ title: given.read('title'), body: given.read('body') }),
)

const wordings = byLanguage(
  wording,
  `The text by tags of languages, such as \`pt-BR\`: in all at most ${MAX_MESSAGE_TEXT_BYTES} bytes. The first language is for players of every other one.`,
)

const texts: Part<MessageTexts | null> = {
  ...wordings,
  read(reader, place) {
    const texts = Object.fromEntries(wordings.read(reader, place))
    if (Object.keys(texts).length === 0) return null
    if (Buffer.byteLength(JSON.stringify(texts)) > MAX_MESSAGE_TEXT_BYTES)
      reader.fault(place.path, `is longer than ${MAX_MESSAGE_TEXT_BYTES} bytes in all languages`)
    return texts
  },
}

export const mail = named(
  'mail',
  object(
    'The message with the tiers that a player earned and did not claim.',
    {
      text: optional(texts, 'Default: none, for a game with words of its own.'),
      image: optional(image, 'The picture of the message. Default: none.'),
      days: optional(
        integer(1, MAX_MESSAGE_DAYS, 'A number of days.'),
        `Days until the message expires. Default: ${PLAIN_MAIL.days}.`,
      ),
    },
    (given): SeasonMail => ({
      text: given.read('text'),
      image: given.read('image'),
      days: Number(given.read('days') ?? PLAIN_MAIL.days),
    }),
  ),
)
