import type { Fault } from '../base/errors.ts'
import { isCleanText, members } from '../base/json.ts'
import {
  MAX_NAME,
  MAX_STORAGE_KEY,
  MAX_STORAGE_KEYS,
  MAX_STORAGE_PAGE,
  MAX_STORAGE_VALUE_BYTES,
  MAX_TAG,
} from '../base/limits.ts'
import { texts } from '../declare/list-fields.ts'
import { described, type Field, int32, object, optional, shape, text } from '../declare/shape.ts'
import type { Source } from '../declare/source.ts'

/** Keys of a player's storage root, with the raw JSON text of their values. */
export type StorageValues = ReadonlyMap<string, string>

/** Values by key, each as the text that the client sent. */
export const storageValues: Field<StorageValues> = {
  ...object(
    `Values by key; other keys stay. Keys have 1 to ${MAX_STORAGE_KEY} characters, values up to ${MAX_STORAGE_VALUE_BYTES} bytes. Values are stored byte for byte.`,
  ),
  read(source: Source, name: string, faults: Fault[]) {
    const values = members(object('').read(source, name, faults))
    // NUL and lone surrogates cannot be stored in a key. Keys that are too long are refused elsewhere, by the limits.
    if ([...values.keys()].every(isCleanText)) return values
    faults.push({ path: name, message: 'keys must not contain NUL or a lone surrogate' })
    return new Map()
  },
}
export const storageKeys = texts(`Keys of the storage: up to ${MAX_STORAGE_KEYS}.`, { max: MAX_STORAGE_KEYS })

export const EXAMPLE_VALUES = { settings: { music: 0.5, language: 'en' } }

export const playerRequest = shape({}, { name: 'PlayerRequest', example: {} })
/** A field that is absent or null stays as it is. */
export const playerUpdateRequest = shape(
  {
    nickname: optional(text('The new name.', { max: MAX_NAME })),
    region: optional(text('The new region, such as `eu-west`.', { max: MAX_TAG })),
    language: optional(text('The new language, such as `pt-BR`.', { max: MAX_TAG })),
  },
  { name: 'PlayerUpdateRequest', example: { nickname: 'Ada', language: 'pt-BR' } },
)
export const storageGetRequest = shape(
  {
    keys: optional(described(storageKeys, `Keys to read: up to ${MAX_STORAGE_KEYS}. Default: all.`)),
  },
  { name: 'StorageGetRequest', example: { keys: ['settings'] } },
)
export const storageSetRequest = shape(
  { values: storageValues },
  { name: 'StorageSetRequest', example: { values: EXAMPLE_VALUES } },
)
export const storageDeleteRequest = shape(
  { keys: storageKeys },
  { name: 'StorageDeleteRequest', example: { keys: ['settings'] } },
)
/** A loop over pages may start with an empty `after`: no key sorts before it. */
export const storageListRequest = shape(
  {
    after: optional(
      text('The `next` of the previous answer. Default: from the first key.', {
        max: MAX_STORAGE_KEY,
        min: 0,
      }),
      '',
    ),
    first: optional(
      int32(`The number of keys: 1 to ${MAX_STORAGE_PAGE}. Default: ${MAX_STORAGE_PAGE}.`, {
        min: 1,
        max: MAX_STORAGE_PAGE,
      }),
      MAX_STORAGE_PAGE,
    ),
  },
  { name: 'StorageListRequest', example: { after: 'inventory-7', first: 2 } },
)
