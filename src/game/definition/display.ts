import { isLanguageTag } from '../../base/languages.ts'
import { MAX_DESCRIPTION, MAX_IMAGE, MAX_LANGUAGES, MAX_NAME, MAX_TAG } from '../../base/limits.ts'
import {
  late,
  type Members,
  named,
  names,
  object,
  optional,
  type Part,
  text,
  type ValuesOf,
  withKeywords,
} from '../../declare/document/parts.ts'
import type { Reader } from '../../declare/document/reader.ts'

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

/** The form of a tag, roughly: only the reader checks the order of what follows the language. */
const LANGUAGE = '^([A-Za-z]{2,3}|[A-Za-z]{5,8})(-[A-Za-z0-9]{1,8})*$'

/** Texts by the tags of their languages. */
export const byLanguage = <T>(of: Part<T>, description: string): Part<ReadonlyMap<string, T>> =>
  names(of, { max: MAX_LANGUAGES, maxName: MAX_TAG, check: checkTag }, description)

function checkTag(reader: Reader, tag: string, path: string, before: ReadonlySet<string>): void {
  if (!isLanguageTag(tag)) reader.fault(path, 'must be named by the tag of a language, such as pt-BR')
  if (before.has(tag.toLowerCase())) reader.fault(path, 'repeats a language in another letter case')
}

const wording = named(
  'wording',
  object(
    'What players read, in one language.',
    {
      name: text(MAX_NAME, 'What it is called.'),
      description: optional(text(MAX_DESCRIPTION, 'A description.'), 'Default: none.'),
    },
    (given): Wording => ({ name: given.read('name'), description: given.read('description') }),
  ),
)

const wordings = byLanguage(wording, `1 to ${MAX_LANGUAGES} languages.`)
const tagName = text(
  MAX_TAG,
  'The tag of a language (BCP 47), such as pt-BR. No two are the same in another letter case.',
)

const texts: Part<Display['text']> = named('texts', {
  ...withKeywords(wordings, { propertyNames: { ...tagName.schema, pattern: LANGUAGE } }),
  read(reader, place) {
    const found = reader.faults.length
    const read = wordings.read(reader, place)
    if (reader.faults.length > found) return read
    if (read.size === 0) reader.fault(place.path, 'needs at least one language')
    reader.texts.push({ path: place.path, tags: [...read.keys()].map((tag) => tag.toLowerCase()) })
    return read
  },
})

const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** What is wrong with the characters of an image. */
export const imageFault = (image: string): string | undefined =>
  CONTROL.test(image) ? 'must not contain control characters' : undefined

const imageText = text(MAX_IMAGE, "A URL, or a key of the game's own assets.")

export const image: Part<string> = named('image', {
  ...withKeywords(imageText, { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$' }),
  read(reader, place) {
    const found = reader.faults.length
    const image = imageText.read(reader, place)
    const fault = imageFault(image)
    if (reader.faults.length === found && fault) reader.fault(place.path, fault)
    return image
  },
})

const NO_TEXT: Display['text'] = new Map()

/** The members of an object that may be shown. Stored ones may be the game's own, and then do not count. */
export const displayParts = {
  text: late(optional(texts, 'What players read, by language. Default: nothing.', NO_TEXT), NO_TEXT),
  image: late(optional(image, 'The picture. Default: none.'), null),
}

export function readDisplay(given: Members<ValuesOf<typeof displayParts>>): Displayed {
  const text = given.read('text')
  const image = given.read('image')
  return text.size === 0 && image === null ? {} : { display: { text, image } }
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
