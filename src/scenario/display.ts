import { isLanguageTag } from '../base/languages.ts'
import { MAX_DESCRIPTION, MAX_IMAGE, MAX_LANGUAGES, MAX_NAME, MAX_TAG } from '../base/limits.ts'
import { type RawValue, type Reader, readLate } from './definition-reader.ts'

// What a game shows of a scenario, a pass, a level, a tier or a reward: the members `text` and `image`. Pure.

export interface Wording {
  readonly name: string
  readonly description: string | null
}

export interface Display {
  /** By the tag of the language, in the order of the definition. Empty for none. */
  readonly text: ReadonlyMap<string, Wording>
  /** A URL, or a key of the game's own assets. */
  readonly image: string | null
}

/** Something that may be shown. */
export interface Displayed {
  /** Absent without `text` and `image`. */
  readonly display?: Display
}

export const DISPLAY_MEMBERS = ['text', 'image'] as const

const NO_TEXT: Display['text'] = new Map()

/** Reads `text` and `image` of an object. Stored ones may be the game's own, and then do not count. */
export function readDisplay(reader: Reader, member: (name: string) => RawValue): Displayed {
  const text = readLate(reader, (own) => readTexts(own, member('text')), NO_TEXT)
  const image = readLate(reader, (own) => readImage(own, member('image')), null)
  return text.size === 0 && image === null ? {} : { display: { text, image } }
}

function readTexts(reader: Reader, source: RawValue): Display['text'] {
  if (source.raw === undefined) return NO_TEXT
  const texts = new Map<string, Wording>()
  const tags = new Set<string>()
  const found = reader.faults.length
  for (const entry of reader.entries(source, { max: MAX_LANGUAGES, maxName: MAX_TAG })) {
    const { path, name: tag } = entry
    if (!isLanguageTag(tag)) reader.fault(path, 'must be named by the tag of a language, such as pt-BR')
    if (tags.has(tag.toLowerCase())) reader.fault(path, 'repeats a language in another letter case')
    tags.add(tag.toLowerCase())
    const member = reader.object(entry, ['name', 'description'])
    const name = reader.text(member('name'), MAX_NAME)
    const description = member('description')
    texts.set(tag, {
      name,
      description: description.raw === undefined ? null : reader.text(description, MAX_DESCRIPTION),
    })
  }
  const isRead = reader.faults.length === found
  if (isRead && texts.size === 0) reader.fault(source.path, 'needs at least one language')
  if (isRead) reader.texts.push({ path: source.path, tags: [...tags] })
  return texts
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** What is wrong with the characters of an image. */
export const imageFault = (image: string): string | undefined =>
  CONTROL.test(image) ? 'must not contain control characters' : undefined

export function readImage(reader: Reader, source: RawValue): string | null {
  if (source.raw === undefined) return null
  const found = reader.faults.length
  const image = reader.text(source, MAX_IMAGE)
  const fault = imageFault(image)
  if (reader.faults.length === found && fault) reader.fault(source.path, fault)
  return image
}

/** More languages than this are no translation. */
const MAX_COMPARED = 100

/** Notices about languages that only some of the texts have: one for each language, at the first text without it. */
export function noticeLanguages(reader: Reader): void {
  const { texts } = reader
  const compared = [...new Set(texts.flatMap(({ tags }) => tags))].slice(0, MAX_COMPARED)
  for (const tag of compared) {
    const without = texts.filter(({ tags }) => !tags.includes(tag))
    const [first] = without
    if (first)
      reader.notice(
        first.path,
        `has no ${tag}, as ${without.length} of ${texts.length} texts: players read another one`,
      )
  }
}
