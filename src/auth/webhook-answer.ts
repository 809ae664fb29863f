import { Refusal } from '../errors.ts'
import { Fields } from '../fields.ts'
import { isJson, kindOf, members } from '../json.ts'
import { MAX_KEYS, storageFaults } from '../players/storage.ts'

/** What a studio's endpoint says of a player (spec 2.3). Null where a field is to be left alone. */
export interface WebhookAnswer {
  readonly subject: string
  readonly nickname: string | null
  readonly avatarUrl: string | null
  /** Storage keys and the raw text of their values. */
  readonly data: ReadonlyMap<string, string>
}

const MAX_SUBJECT = 255
const MAX_NICKNAME = 128
const MAX_AVATAR_URL = 2048

const FIELDS = ['subject', 'nickname', 'avatarUrl', 'data']

/** Reads the body of a 200; refuses with `custom auth invalid response` what is not such an answer (spec 2.3). */
export function readWebhookAnswer(body: string): WebhookAnswer {
  const text = body.trim()
  if (kindOf(text) !== 'object' || !isJson(body)) throw new Refusal('customAuthInvalidResponse')
  try {
    // Of what may be a million members these alone are looked at.
    const { data, ...answer } = Fields.ofJson(text, FIELDS).read((fields) => ({
      subject: fields.text('subject', { max: MAX_SUBJECT }),
      // An empty text leaves the field alone (spec 2.3).
      nickname: fields.optionalText('nickname', { min: 0, max: MAX_NICKNAME }) || null,
      avatarUrl: fields.optionalText('avatarUrl', { min: 0, max: MAX_AVATAR_URL }) || null,
      data: fields.optionalObject('data') ?? '{}',
    }))
    return { ...answer, data: members(data, { max: MAX_KEYS }) }
  } catch (cause) {
    if (cause instanceof Refusal) throw new Refusal('customAuthInvalidResponse', { cause })
    throw cause
  }
}

/** Refuses with `custom auth invalid data` what breaks a limit of spec 8 by itself. */
export function requireStorable({ data }: WebhookAnswer): void {
  if (storageFaults(data).length > 0) throw new Refusal('customAuthInvalidData')
}
