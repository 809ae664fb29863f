import { describeEvent } from '../events/describe.ts'
import type { ResultOf } from '../graphql.ts'
import { rewardText } from '../scenario/read-definition.ts'
import { words } from '../ui/words.ts'
import { messageTitle } from './message-words.ts'
import type { timelineQuery } from './operations.ts'

type Player = NonNullable<ResultOf<typeof timelineQuery>['player']>

export type TimelineEntry = NonNullable<Player['timeline']>['nodes'][number]

/** The kinds of entries, each with its name as a filter, and the role that it needs if that is not viewer. */
export const KINDS = [
  { kind: 'LOGIN', name: 'Logins', one: 'login' },
  { kind: 'LEVEL', name: 'Levels', one: 'level' },
  { kind: 'CLAIM', name: 'Claims', one: 'claim' },
  { kind: 'PURCHASE', name: 'Purchases', one: 'purchase' },
  { kind: 'SUPPORT', name: 'Support', one: 'support' },
  { kind: 'MAIL', name: 'Mail', one: 'mail' },
  { kind: 'NOTE', name: 'Notes', one: 'note' },
] as const
export type Kind = (typeof KINDS)[number]['kind']

export const nameOfKind = (kind: Kind): string => KINDS.find((one) => one.kind === kind)?.one ?? ''

/** The kinds of a filter in an address, such as `login,note`. None of them: all. */
export const kindsOf = (filter: string): readonly Kind[] => {
  const asked = filter.toUpperCase().split(',')
  return KINDS.map(({ kind }) => kind).filter((kind) => asked.includes(kind))
}

/** The filter with a kind added, or removed. */
export function toggled(filter: string, kind: Kind): string {
  const before = kindsOf(filter)
  const after = before.includes(kind) ? before.filter((one) => one !== kind) : [...before, kind]
  return after.map((one) => one.toLowerCase()).join()
}

/** An identity of an entry, which has none of its own. */
export const keyOfEntry = ({
  kind,
  login,
  event,
  claim,
  auditEntry,
  message,
  note,
  occurredAt,
}: TimelineEntry): string =>
  [
    kind,
    login?.id ?? event?.cursor ?? auditEntry?.id ?? message?.id ?? note?.id ?? occurredAt,
    claim && `${claim.scenarioId} ${claim.nodeId} ${claim.track} ${claim.level}`,
  ].join(' ')

const GONE = 'No longer there'

/** What happened, in words. Actions of support have words of their own. */
export function describeEntry({ login, event, claim, message, note }: TimelineEntry): string {
  if (login) return describeLogin(login)
  if (event) return event.scenarioId === null ? describeEvent(event) : `${describeEvent(event)}, ${event.scenarioId}`
  if (claim) return describeClaim(claim)
  if (message) return describeMessage(message)
  return note?.text ?? GONE
}

function describeLogin({ operation, outcome, provider }: NonNullable<TimelineEntry['login']>): string {
  const what = `${capital(words(operation))} by ${provider}`
  return outcome === 'OK' ? what : `${what}: ${words(outcome)}`
}

function describeClaim({ scenarioId, nodeId, level, track, granted }: NonNullable<TimelineEntry['claim']>): string {
  const tier = track === 'BONUS' ? `Bonus tier ${level}` : `${capital(words(track))} tier ${level}`
  const rewards = granted.map(rewardText).join(', ')
  return `${tier} of ${scenarioId} / ${nodeId}${rewards === '' ? '' : `: ${rewards}`}`
}

function describeMessage(message: NonNullable<TimelineEntry['message']>): string {
  const rewards = message.rewards.map(rewardText).join(', ')
  const state = message.claimedAt !== null ? ', claimed' : message.readAt !== null ? ', read' : ''
  return `${capital(messageTitle(message))}${rewards === '' ? '' : ` with ${rewards}`}${state}`
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
