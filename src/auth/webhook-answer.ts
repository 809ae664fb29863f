import { Refusal } from '../errors.ts'
import { isCleanText, kindOf, type MemberSpan, objectText, walkMembers } from '../json.ts'
import { storageFaults } from '../players/storage.ts'
import { MAX_AVATAR_URL, MAX_NICKNAME, MAX_STORAGE_KEYS, MAX_SUBJECT } from '../request/limits.ts'
import { anyText, JsonSource, lengthOf, object, optional, shape, text } from '../request/shape.ts'

/** Notes of the login log about ignored parts of an approval, for the studio. */
export const LOGIN_NOTES = ['nickname ignored', 'avatar ignored'] as const
export type LoginNote = (typeof LOGIN_NOTES)[number]

/** A studio's answer about a player (spec 2.3). A null field stays as it is. */
export interface WebhookAnswer {
  readonly subject: string
  readonly nickname: string | null
  readonly avatarUrl: string | null
  /** Storage keys and the raw text of their values. */
  readonly data: ReadonlyMap<string, string>
  readonly notes: readonly LoginNote[]
  /** Whether `data` exceeds a limit of spec 8 by itself. If so, it was read only up to that member. */
  readonly isOverLimits: boolean
}

/**
 * The answer of a webhook (spec 2.3). An empty text leaves its field as it is, and so does a text that cannot be
 * stored: a nickname or an avatar never prevents a login.
 */
export const webhookAnswer = shape({
  subject: text("The studio's own id of the player: stable, unique, never reused.", { max: MAX_SUBJECT }),
  nickname: optional(
    anyText(
      `The player's name. Ignored when it is empty or longer than ${MAX_NICKNAME} characters. Updated with every login.`,
    ),
  ),
  avatarUrl: optional(
    anyText(
      `The URL of the player's picture. Ignored when it is empty or longer than ${MAX_AVATAR_URL} characters. Updated with every login.`,
    ),
  ),
  data: optional(object("Merged into the player's storage at every login and link.")),
})

const FIELDS = Object.keys(webhookAnswer.fields)
/** The longest JSON text of a field's name: in quotes, with each character as an escape of six characters. */
const LONGEST_NAME = 2 + 6 * Math.max(...FIELDS.map((name) => name.length))
/** The most members of an answer, known or not, and of its `data`. A repeated key counts each time. */
const MAX_MEMBERS = 10 * MAX_STORAGE_KEYS

/**
 * Reads the body of a 200. Refuses any other content with `custom auth invalid response` (spec 2.3). Walks through the
 * text once, up to the first limit that it exceeds; the rest is neither kept nor checked.
 */
export function readWebhookAnswer(text: string): WebhookAnswer {
  if (kindOf(text.trimStart()) !== 'object') throw new Refusal('customAuthInvalidResponse')
  const found = new Map<string, string>()
  const data = new DataReader(text)
  let count = 0

  const isJson = walkMembers(text, 2, (member) => {
    if (member.depth === 2) return data.take(member)
    count += 1
    if (count > MAX_MEMBERS) throw new Refusal('customAuthInvalidResponse')
    const name = nameOf(text, member)
    if (name !== undefined) found.set(name, text.slice(member.valueFrom, member.valueTo))
    if (name === 'data') data.end(member)
    return true
  })
  if (!isJson) throw new Refusal('customAuthInvalidResponse')
  const { values, isOverLimits } = data
  if (isOverLimits && !found.has('subject')) throw new Refusal('customAuthInvalidData')

  // The `DataReader` already has the members of `data`.
  if (kindOf(found.get('data') ?? '') === 'object') found.delete('data')
  try {
    const { subject, nickname, avatarUrl } = webhookAnswer.read(new JsonSource(objectText(found)))
    const notes: LoginNote[] = []
    const unlessIgnored = (said: string | null, max: number, note: LoginNote): string | null => {
      if (said === null || (lengthOf(said, max) <= max && isCleanText(said))) return said || null
      notes.push(note)
      return null
    }
    return {
      subject,
      nickname: unlessIgnored(nickname, MAX_NICKNAME, 'nickname ignored'),
      avatarUrl: unlessIgnored(avatarUrl, MAX_AVATAR_URL, 'avatar ignored'),
      notes,
      data: values,
      isOverLimits,
    }
  } catch (cause) {
    if (cause instanceof Refusal) throw new Refusal('customAuthInvalidResponse', { cause })
    throw cause
  }
}

/** Refuses `data` that exceeds a limit of spec 8 by itself, with `custom auth invalid data`. */
export function requireStorable({ isOverLimits }: WebhookAnswer): void {
  if (isOverLimits) throw new Refusal('customAuthInvalidData')
}

/** Gathers the members of `data` until one breaks a limit. An answer can repeat `data`: the last one counts. */
class DataReader {
  values = new Map<string, string>()
  isOverLimits = false
  private readonly text: string
  /** The member whose own members follow. */
  private span: MemberSpan | undefined
  private isData = false
  private count = 0

  constructor(text: string) {
    this.text = text
  }

  /** Takes a member of a member. Returns whether more may follow. */
  take(member: MemberSpan): boolean {
    if (member.parent !== this.span) this.begin(member.parent)
    if (!this.isData) return true
    const key = keyOf(this.text, member)
    const value = this.text.slice(member.valueFrom, member.valueTo)
    this.values.set(key, value)
    this.count += 1
    this.isOverLimits =
      this.count > MAX_MEMBERS ||
      this.values.size > MAX_STORAGE_KEYS ||
      storageFaults(new Map([[key, value]])).length > 0
    return !this.isOverLimits
  }

  /** Called at the end of each `data`. For an empty `data`, `take` was not called. */
  end(span: MemberSpan): void {
    if (span !== this.span) this.begin(span)
  }

  private begin(span: MemberSpan | undefined): void {
    this.span = span
    this.isData = span !== undefined && nameOf(this.text, span) === 'data'
    if (!this.isData) return
    this.values = new Map()
    this.count = 0
  }
}

/** The field of a member; undefined for an unknown one. */
function nameOf(text: string, member: MemberSpan): string | undefined {
  if (member.keyTo - member.keyFrom > LONGEST_NAME) return undefined
  const key = keyOf(text, member)
  return FIELDS.includes(key) ? key : undefined
}

function keyOf(text: string, { keyFrom, keyTo }: MemberSpan): string {
  const raw = text.slice(keyFrom, keyTo)
  return raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1)
}
