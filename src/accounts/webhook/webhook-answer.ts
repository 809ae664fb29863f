import { type Fault, Refusal } from '../../base/errors.ts'
import {
  isCleanText,
  type JsonKind,
  kindOf,
  type MemberSpan,
  objectText,
  syntaxFault,
  trimJson,
  walkMembers,
} from '../../base/json.ts'
import { MAX_AVATAR_URL, MAX_CLAIMS_BYTES, MAX_NICKNAME, MAX_STORAGE_KEYS, MAX_SUBJECT } from '../../base/limits.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { blankNotice, REPEATED } from '../../declare/blanks.ts'
import { unknownMember } from '../../declare/nearest.ts'
import { anyText, lengthOf, object, optional, shape, text } from '../../declare/shape.ts'
import { JsonSource } from '../../declare/source.ts'
import { storageFaults, TOO_MANY_KEYS } from '../../players/storage.ts'
import { claimFaults } from './claims.ts'

/** Notes of the login log about ignored parts of an approval, for the studio. */
export const LOGIN_NOTES = ['nickname ignored', 'avatar ignored', 'claims ignored'] as const
export type LoginNote = (typeof LOGIN_NOTES)[number]

/** A studio's answer about a player (contract 2.3). A null field stays as it is. */
export interface WebhookAnswer {
  readonly subject: string
  readonly nickname: string | null
  readonly avatarUrl: string | null
  /** Storage keys and the raw text of their values. */
  readonly data: ReadonlyMap<string, string>
  /** The text of an object that the access tokens of the login carry. Null unless claims were asked for. */
  readonly claims: string | null
  readonly notes: readonly LoginNote[]
  /** Peculiarities that do not prevent a login, for the engineers of the webhook. */
  readonly notices: readonly Fault[]
  /** Why `data` exceeds a limit of contract 8 by itself; null when it does not. */
  readonly overLimits: string | null
}

/**
 * The answer of a webhook (contract 2.3). An empty text leaves its field as it is, and so does a text that cannot be
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
      `Only of a provider with \`"claims": true\`: carried by the access tokens of the login, as the claim \`claims\`, for game servers. Ignored beyond ${MAX_CLAIMS_BYTES} bytes of JSON, and by a link.`,
    ),
  ),
})

const { claims: _, ...always } = webhookAnswer.fields
/** The members that count for every provider. */
const FIELDS = Object.keys(always)
const FIELDS_WITH_CLAIMS = [...FIELDS, 'claims']
/** The longest JSON text of a field's name: in quotes, with each character as an escape of six characters. */
const LONGEST_NAME = 2 + 6 * Math.max(...FIELDS.map((name) => name.length))

/** The most members of an answer and of its objects, known or not. A repeated one counts each time. */
const MAX_MEMBERS = 1_000_000

export interface AnswerRules {
  /** Whether the provider's claims count. Otherwise `claims` is a member like any that no rule knows. */
  readonly claims: boolean
}

/**
 * Reads the body of a 200. Refuses any other content with `custom auth invalid response` (contract 2.3), with every fault
 * and its place as the cause, for the log. Walks through the text once. An answer with too many
 * members is refused, too: with `custom auth invalid data` if its `data` is over a limit as far as it was read.
 */
export function readWebhookAnswer(text: string, { claims: hasClaims }: AnswerRules): WebhookAnswer {
  const trimmed = trimJson(text)
  if (trimmed === '') throw invalid('the answer is empty: it must be a JSON object with a subject')
  const fields = hasClaims ? FIELDS_WITH_CLAIMS : FIELDS
  const found = new Map<string, string>()
  const unknown = new Set<string>()
  const repeated = new Set<string>()
  const data = new DataReader(text)
  let count = 0

  const isJson = walkMembers(text, 2, (member) => {
    count += 1
    if (member.depth === 2) data.take(member)
    else {
      const name = nameOf(text, member, fields)
      if (name !== undefined) {
        if (found.has(name)) repeated.add(name)
        found.set(name, text.slice(member.valueFrom, member.valueTo))
        if (name === 'data') data.end(member)
      } else if (unknown.size < MAX_UNKNOWN && member.keyTo - member.keyFrom <= LONGEST_NAME) {
        unknown.add(keyOf(text, member))
      }
    }
    return count <= MAX_MEMBERS
  })
  const { values } = data
  const overLimits = data.overLimits()
  if (count > MAX_MEMBERS) {
    if (overLimits !== null) throw new Refusal('customAuthInvalidData', { cause: overLimits })
    throw invalid(`the answer has more than ${MAX_MEMBERS} members`)
  }
  if (!isJson) throw invalid(`the answer must be JSON: ${syntaxFault(text)}`)
  const kind = kindOf(trimmed)
  if (kind !== 'object') throw invalid(`the answer must be a JSON object, was ${A[kind]}`)

  const kinds = new Map([...found].map(([name, raw]) => [name, kindOf(raw)]))
  const claims = readClaims(found.get('claims'))
  found.delete('claims')
  // The `DataReader` already has the members of `data`.
  if (kinds.get('data') === 'object') found.delete('data')
  const faults: Fault[] = []
  const { subject, nickname, avatarUrl } = webhookAnswer.gather(new JsonSource(objectText(found)), faults)
  if (faults.length > 0) throw invalid(faults.map((fault) => wordsFor(fault, kinds, unknown)).join('; '))
  const notes: LoginNote[] = []
  const unlessIgnored = (said: string | null, max: number, note: LoginNote): string | null => {
    if (said === null || (lengthOf(said, max) <= max && isCleanText(said))) return said || null
    notes.push(note)
    return null
  }
  const profile = {
    nickname: unlessIgnored(nickname, MAX_NICKNAME, 'nickname ignored'),
    avatarUrl: unlessIgnored(avatarUrl, MAX_AVATAR_URL, 'avatar ignored'),
  }
  if (claims.faults.length > 0) notes.push('claims ignored')
  const notices = [...noticesOf(subject, fields, unknown, repeated), ...claims.faults]
  return { subject, ...profile, data: values, claims: claims.text, notes, notices, overLimits }
}

/** The claims of an answer. Those with a fault are left out: they never prevent a login. */
function readClaims(raw: string | undefined): { readonly text: string | null; readonly faults: readonly Fault[] } {
  if (raw === undefined || raw === 'null') return { text: null, faults: [] }
  const kind = kindOf(raw)
  const faults =
    kind === 'object' ? claimFaults(raw) : [{ path: 'claims', message: `must be an object, was ${A[kind]}` }]
  return { text: faults.length === 0 ? raw : null, faults }
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
  const wanted = path === 'data' ? 'object' : 'string'
  if (kind !== undefined && kind !== wanted) return `${path}: must be ${A[wanted]}, was ${A[kind]}`
  const alike = kind === undefined && [...unknown].find((name) => nearestName(name, FIELDS) === path)
  return `${path}: ${message}${alike ? `; the answer has ${JSON.stringify(alike)}, and names are case-sensitive` : ''}`
}

function noticesOf(
  subject: string,
  fields: readonly string[],
  unknown: ReadonlySet<string>,
  repeated: ReadonlySet<string>,
): Fault[] {
  const notices: Fault[] = []
  const blank = blankNotice(subject)
  if (blank !== undefined) notices.push({ path: 'subject', message: blank })
  for (const path of repeated) notices.push({ path, message: REPEATED })
  for (const path of unknown) {
    const meant = nearestName(path, fields)
    // Other members may be for other readers of the answer.
    if (meant !== undefined) notices.push({ path, message: unknownMember(path, fields) })
  }
  return notices
}

/** Refuses `data` that exceeds a limit of contract 8 by itself, with `custom auth invalid data`. */
export function requireStorable({ overLimits }: WebhookAnswer): void {
  if (overLimits !== null) throw new Refusal('customAuthInvalidData', { cause: overLimits })
}

/** Gathers the members of `data`. An answer can repeat `data` and its keys: the last one counts. */
class DataReader {
  values = new Map<string, string>()
  private readonly text: string
  /** The member whose own members follow. */
  private span: MemberSpan | undefined
  private isData = false

  constructor(text: string) {
    this.text = text
  }

  take(member: MemberSpan): void {
    if (member.parent !== this.span) this.begin(member.parent)
    // With one key more, what follows makes no difference.
    if (!this.isData || this.values.size > MAX_STORAGE_KEYS) return
    this.values.set(keyOf(this.text, member), this.text.slice(member.valueFrom, member.valueTo))
  }

  /** Called at the end of each `data`. For an empty `data`, `take` was not called. */
  end(span: MemberSpan): void {
    if (span !== this.span) this.begin(span)
  }

  /** Why the members exceed a limit of contract 8; null when they do not. */
  overLimits(): string | null {
    const [fault] = storageFaults(this.values)
    if (!fault) return null
    return `data${fault === TOO_MANY_KEYS ? '' : fault.path.slice('values'.length)}: ${fault.message}`
  }

  private begin(span: MemberSpan | undefined): void {
    this.span = span
    this.isData = span !== undefined && nameOf(this.text, span, FIELDS) === 'data'
    if (this.isData) this.values = new Map()
  }
}

/** The field of a member; undefined for an unknown one. */
function nameOf(text: string, member: MemberSpan, fields: readonly string[]): string | undefined {
  if (member.keyTo - member.keyFrom > LONGEST_NAME) return undefined
  const key = keyOf(text, member)
  return fields.includes(key) ? key : undefined
}

function keyOf(text: string, { keyFrom, keyTo }: MemberSpan): string {
  const raw = text.slice(keyFrom, keyTo)
  return raw.includes('\\') ? JSON.parse(raw) : raw.slice(1, -1)
}
