import { type Fault, Refusal } from '../base/errors.ts'
import {
  isCleanText,
  type JsonKind,
  kindOf,
  type MemberSpan,
  objectText,
  syntaxFault,
  trimJson,
  walkMembers,
} from '../base/json.ts'
import { MAX_AVATAR_URL, MAX_CLAIMS_BYTES, MAX_NICKNAME, MAX_STORAGE_KEYS, MAX_SUBJECT } from '../base/limits.ts'
import { nearestName } from '../base/nearest-name.ts'
import { blankNotice, REPEATED } from '../declare/blanks.ts'
import { unknownMember } from '../declare/nearest.ts'
import { anyText, JsonSource, lengthOf, object, optional, shape, text } from '../declare/shape.ts'
import { storageFaults, TOO_MANY_KEYS } from '../players/storage.ts'
import { claimFaults } from './claims.ts'

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
  /** The text of an object that the access tokens of the login carry. */
  readonly claims: string | null
  readonly notes: readonly LoginNote[]
  /** Peculiarities that do not prevent a login, for the engineers of the webhook. */
  readonly notices: readonly Fault[]
  /** Why `data` exceeds a limit of spec 8 by itself; null when it does not. If so, it was read only up to that member. */
  readonly overLimits: string | null
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
  claims: optional(
    object(
      `Carried by the access tokens of the login, as the claim \`claims\`, for game servers: up to ${MAX_CLAIMS_BYTES} bytes of JSON. A link ignores them.`,
    ),
  ),
})

const FIELDS = Object.keys(webhookAnswer.fields)
/** The longest JSON text of a field's name: in quotes, with each character as an escape of six characters. */
const LONGEST_NAME = 2 + 6 * Math.max(...FIELDS.map((name) => name.length))
/** The most members of an answer, known or not, and of its `data`. A repeated key counts each time. */
const MAX_MEMBERS = 10 * MAX_STORAGE_KEYS

/**
 * Reads the body of a 200. Refuses any other content with `custom auth invalid response` (spec 2.3), with every fault
 * and its place as the cause, for the log. Walks through the text once, up to the first limit that it exceeds; the rest
 * is neither kept nor checked.
 */
export function readWebhookAnswer(text: string): WebhookAnswer {
  const trimmed = trimJson(text)
  if (trimmed === '') throw invalid('the answer is empty: it must be a JSON object with a subject')
  const found = new Map<string, string>()
  const unknown = new Set<string>()
  const repeated = new Set<string>()
  const data = new DataReader(text)
  let count = 0

  const isJson = walkMembers(text, 2, (member) => {
    if (member.depth === 2) return data.take(member)
    count += 1
    if (count > MAX_MEMBERS) throw invalid(`the answer has more than ${MAX_MEMBERS} members`)
    const name = nameOf(text, member)
    if (name === undefined) {
      if (unknown.size < MAX_UNKNOWN && member.keyTo - member.keyFrom <= LONGEST_NAME) unknown.add(keyOf(text, member))
      return true
    }
    if (found.has(name)) repeated.add(name)
    found.set(name, text.slice(member.valueFrom, member.valueTo))
    if (name === 'data') data.end(member)
    return true
  })
  if (!isJson) throw invalid(`the answer must be JSON: ${syntaxFault(text)}`)
  const kind = kindOf(trimmed)
  if (kind !== 'object') throw invalid(`the answer must be a JSON object, was ${A[kind]}`)
  const { values, overLimits } = data
  if (overLimits !== null && !found.has('subject')) throw new Refusal('customAuthInvalidData', { cause: overLimits })

  // The `DataReader` already has the members of `data`.
  const kinds = new Map([...found].map(([name, raw]) => [name, kindOf(raw)]))
  if (kinds.get('data') === 'object') found.delete('data')
  const faults: Fault[] = []
  const { subject, nickname, avatarUrl, claims } = webhookAnswer.gather(new JsonSource(objectText(found)), faults)
  if (claims !== null && kinds.get('claims') === 'object') faults.push(...claimFaults(claims))
  if (faults.length > 0) throw invalid(faults.map((fault) => wordsFor(fault, kinds, unknown)).join('; '))
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
    notices: noticesOf(subject, unknown, repeated),
    data: values,
    claims,
    overLimits,
  }
}

/** Members that no rule knows and that are compared with the fields. */
const MAX_UNKNOWN = 20

const A: Readonly<Record<JsonKind, string>> = {
  object: 'an object',
  array: 'an array',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
}

const invalid = (cause: string): Refusal => new Refusal('customAuthInvalidResponse', { cause })

/** A fault with what was sent instead: `subject: must be a string, was a number`. */
function wordsFor(
  { path, message }: Fault,
  kinds: ReadonlyMap<string, JsonKind>,
  unknown: ReadonlySet<string>,
): string {
  const kind = kinds.get(path)
  const wanted = path === 'data' || path === 'claims' ? 'object' : 'string'
  if (kind !== undefined && kind !== wanted) return `${path}: must be ${A[wanted]}, was ${A[kind]}`
  const alike = kind === undefined && [...unknown].find((name) => nearestName(name, FIELDS) === path)
  return `${path}: ${message}${alike ? `; the answer has ${JSON.stringify(alike)}, and names are case-sensitive` : ''}`
}

function noticesOf(subject: string, unknown: ReadonlySet<string>, repeated: ReadonlySet<string>): Fault[] {
  const notices: Fault[] = []
  const blank = blankNotice(subject)
  if (blank !== undefined) notices.push({ path: 'subject', message: blank })
  for (const path of repeated) notices.push({ path, message: REPEATED })
  for (const path of unknown) {
    const meant = nearestName(path, FIELDS)
    // Other members may be for other readers of the answer.
    if (meant !== undefined) notices.push({ path, message: unknownMember(path, FIELDS) })
  }
  return notices
}

/** Refuses `data` that exceeds a limit of spec 8 by itself, with `custom auth invalid data`. */
export function requireStorable({ overLimits }: WebhookAnswer): void {
  if (overLimits !== null) throw new Refusal('customAuthInvalidData', { cause: overLimits })
}

/** Gathers the members of `data` until one breaks a limit. An answer can repeat `data`: the last one counts. */
class DataReader {
  values = new Map<string, string>()
  overLimits: string | null = null
  private readonly text: string
  /** The member whose own members follow. */
  private span: MemberSpan | undefined
  private isData = false
  private count = 0

  constructor(text: string) {
    this.text = text
  }

  take(member: MemberSpan): boolean {
    if (member.parent !== this.span) this.begin(member.parent)
    if (!this.isData) return true
    const key = keyOf(this.text, member)
    const value = this.text.slice(member.valueFrom, member.valueTo)
    this.values.set(key, value)
    this.count += 1
    const [fault] = storageFaults(new Map([[key, value]]))
    if (fault) this.overLimits = `data${fault.path.slice('values'.length)}: ${fault.message}`
    else if (this.count > MAX_MEMBERS) this.overLimits = `data: must have at most ${MAX_MEMBERS} members`
    else if (this.values.size > MAX_STORAGE_KEYS) this.overLimits = `data: ${TOO_MANY_KEYS.message}`
    return this.overLimits === null
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
