import type { Fields } from '../fields.ts'
import { isCleanText, members } from '../json.ts'
import type { StorageValues } from './storage.ts'

/** More keys than a player has are not asked for. */
const MAX_KEYS_ASKED = 1000

/** `values`: an object whose members' names are keys, and whose members' texts are values. */
export function readStorageValues(fields: Fields): StorageValues {
  const values = members(fields.object('values'))
  // Such a key could not be stored at all; what is merely too long is for the limits.
  if ([...values.keys()].every(isCleanText)) return values
  return fields.fault('values', 'keys must not contain NUL or a lone surrogate', new Map())
}

export const readOptionalKeys = (fields: Fields): readonly string[] | null =>
  fields.optionalTexts('keys', { max: MAX_KEYS_ASKED })

export const readKeys = (fields: Fields): readonly string[] => fields.texts('keys', { max: MAX_KEYS_ASKED })
