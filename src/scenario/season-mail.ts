import { isLanguageTag, type MessageText, type MessageTexts } from '../base/languages.ts'
import {
  MAX_LANGUAGES,
  MAX_MESSAGE_BODY,
  MAX_MESSAGE_DAYS,
  MAX_MESSAGE_TEXT_BYTES,
  MAX_MESSAGE_TITLE,
  MAX_TAG,
} from '../base/limits.ts'
import { type RawValue, type Reader, stringOf } from './definition-reader.ts'
import { readImage } from './display.ts'

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

/** Reads `data.mail`; null when it is absent. */
export function readMail(reader: Reader, source: RawValue, isMailed: boolean): SeasonMail | null {
  if (source.raw === undefined) return null
  if (!isMailed) reader.fault(source.path, 'needs atEnd with the value mail')
  const mail = reader.object(source, ['text', 'image', 'days'])
  const days = mail('days').raw === undefined ? undefined : reader.integer(mail('days'), 1n, BigInt(MAX_MESSAGE_DAYS))
  return {
    text: readTexts(reader, mail('text')),
    image: readImage(reader, mail('image')),
    days: Number(days ?? PLAIN_MAIL.days),
  }
}

function readTexts(reader: Reader, source: RawValue): MessageTexts | null {
  if (source.raw === undefined) return null
  const texts: Record<string, MessageText> = {}
  const seen = new Set<string>()
  for (const place of reader.entries(source, { max: MAX_LANGUAGES, maxName: MAX_TAG })) {
    const { name, path } = place
    if (!isLanguageTag(name)) reader.fault(path, 'names no language: it must be a tag such as pt-BR')
    else if (seen.has(name.toLowerCase())) reader.fault(path, 'repeats a language in another letter case')
    seen.add(name.toLowerCase())
    const text = reader.object(place, ['title', 'body'])
    const title = reader.text(text('title'), MAX_MESSAGE_TITLE)
    const isEmpty = text('body').raw === undefined || stringOf(text('body')) === ''
    const body = isEmpty ? '' : reader.text(text('body'), MAX_MESSAGE_BODY)
    if (isLanguageTag(name)) texts[name] = { title, body }
  }
  if (seen.size === 0) return null
  if (Buffer.byteLength(JSON.stringify(texts)) > MAX_MESSAGE_TEXT_BYTES)
    reader.fault(source.path, `is longer than ${MAX_MESSAGE_TEXT_BYTES} bytes in all languages`)
  return texts
}
