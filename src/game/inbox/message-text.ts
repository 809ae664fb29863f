import type { Fault } from '../../base/errors.ts'
import { bestTag, isLanguageTag, type MessageText, type MessageTexts } from '../../base/languages.ts'
import {
  MAX_IMAGE,
  MAX_LANGUAGES,
  MAX_MESSAGE_BODY,
  MAX_MESSAGE_TEXT_BYTES,
  MAX_MESSAGE_TITLE,
  MAX_TAG,
} from '../../base/limits.ts'
import { checked, type Field, listOf, mapped, optional, shape, text } from '../../declare/shape.ts'
import { imageFault } from '../definition/display.ts'

/** What is wrong with the text of a message as a whole. */
export function faultsOfTexts(texts: readonly { readonly language: string }[], bytes: number): Fault[] {
  const seen = new Set<string>()
  const faults: Fault[] = []
  for (const [index, { language }] of texts.entries()) {
    const tag = language.toLowerCase()
    if (seen.has(tag)) faults.push({ path: `[${index}].language`, message: 'is there twice, in any letter case' })
    seen.add(tag)
  }
  if (bytes > MAX_MESSAGE_TEXT_BYTES)
    faults.push({ path: '', message: `must have at most ${MAX_MESSAGE_TEXT_BYTES} bytes in all languages` })
  return faults
}

const translation = shape({
  language: text('A tag of a language (BCP 47), such as `pt-BR`.', {
    max: MAX_TAG,
    check: (tag) => (isLanguageTag(tag) ? undefined : 'must be a tag of a language, such as pt-BR'),
  }),
  title: text(`The title: 1 to ${MAX_MESSAGE_TITLE} characters.`, { max: MAX_MESSAGE_TITLE }),
  body: optional(
    text(`The text below the title: up to ${MAX_MESSAGE_BODY} characters. Default: none.`, {
      max: MAX_MESSAGE_BODY,
      min: 0,
    }),
    '',
  ),
})

type Translation = MessageText & { readonly language: string }

const textsOf = (list: readonly Translation[]): MessageTexts =>
  Object.fromEntries(list.map(({ language, title, body }) => [language, { title, body }]))

/** The text of a message in a request. In GraphQL it is a list of `MessageTextInput`. */
export const messageText: Field<MessageTexts> = mapped(
  checked(
    listOf(
      `The text: 1 to ${MAX_LANGUAGES} languages, in all at most ${MAX_MESSAGE_TEXT_BYTES} bytes. The first language is for players of every other one.`,
      translation,
      { max: MAX_LANGUAGES, input: 'MessageTextInput' },
    ),
    (list) => faultsOfTexts(list, Buffer.byteLength(JSON.stringify(textsOf(list)))),
  ),
  textsOf,
)

/** The picture of a message in a request. */
export const messageImage: Field<string | null> = optional(
  text("The picture of the message: a URL, or a key of the game's own assets. Default: none.", {
    max: MAX_IMAGE,
    check: imageFault,
  }),
)

/** The text that a player reads, with its language. Null for a message without a text. */
export function textFor(texts: MessageTexts | null, wanted: string | null): Translation | null {
  if (texts === null) return null
  const language = bestTag(Object.keys(texts), wanted)
  const found = language === undefined ? undefined : texts[language]
  return language === undefined || found === undefined ? null : { language, ...found }
}
