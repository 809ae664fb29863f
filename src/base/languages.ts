import { MAX_TAG } from './limits.ts'

// Tags of languages, such as `pt-BR` (BCP 47), and which of several texts a player reads.

/** A title and the text below it, which may be empty. */
export interface MessageText {
  readonly title: string
  readonly body: string
}

/** The text of a message by tags of languages. The first one is for players of every other language. */
export type MessageTexts = Readonly<Record<string, MessageText>>

/** Whether a text is a tag of a language by its form. */
export function isLanguageTag(text: string): boolean {
  if (text.length > MAX_TAG) return false
  try {
    return Intl.getCanonicalLocales(text).length === 1
  } catch {
    return false
  }
}

/**
 * The tag of these that fits the wanted one best, in any letter case: the same one, otherwise the nearest that is more
 * general (`zh-Hant` for `zh-Hant-TW`), otherwise the first of the same language (`pt-BR` for `pt-PT`), otherwise the
 * first of all. Undefined when there are none.
 */
export function bestTag(tags: readonly string[], wanted: string | null): string | undefined {
  const find = (isFit: (tag: string) => boolean) => tags.find((tag) => isFit(tag.toLowerCase()))
  const parts = (wanted ?? '').toLowerCase().split('-')
  for (let length = parts.length; length > 0; length -= 1) {
    const general = parts.slice(0, length).join('-')
    const tag = find((one) => one === general)
    if (tag !== undefined) return tag
  }
  return find((tag) => tag.split('-', 1)[0] === parts[0]) ?? tags[0]
}
