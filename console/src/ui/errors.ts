import type { CombinedError } from 'urql'

/** One fault of a request: the path of the member, such as `input.reason`, and the text. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** The code of an error, such as `FORBIDDEN`. Undefined for a request that had no answer. */
export function codeOf(error: CombinedError | undefined): string | undefined {
  const code = error?.graphQLErrors[0]?.extensions.code
  return typeof code === 'string' ? code : undefined
}

/** Every fault of a refused request, for the fields of a form. */
export function faultsOf(error: CombinedError | undefined): readonly Fault[] {
  const details = error?.graphQLErrors[0]?.extensions.details
  return Array.isArray(details) ? details : []
}

/** Whether a change that ended with this error may have taken effect nevertheless. */
export function isOutcomeOpen(error: CombinedError | undefined): boolean {
  if (error === undefined) return false
  const code = codeOf(error)
  // A call that did not begin says so.
  const isOpen = code === 'UNAVAILABLE' && faultsOf(error).length === 0
  return code === undefined || isOpen || code === 'INTERNAL_ERROR'
}

export function textOf(error: CombinedError): string {
  if (error.networkError) return unansweredText(error)
  const [first] = error.graphQLErrors
  switch (codeOf(error)) {
    case 'FORBIDDEN':
      return 'Your role does not allow this.'
    case 'RATE_LIMITED':
      return `Too many requests. Try again in ${first?.extensions.retryAfter ?? 'a few'} seconds.`
    case 'UNAVAILABLE':
      if (faultsOf(error).length > 0)
        return `The service is busy. Try again in ${first?.extensions.retryAfter ?? 'a few'} seconds.`
      return 'The service could not finish. Try again: an action is never carried out twice.'
    case 'INTERNAL_ERROR':
      return `The service failed. Its log has the cause under ${first?.extensions.requestId ?? 'the request id'}.`
    default:
      return sentence(first?.message ?? error.message)
  }
}

/** A request without an answer of GraphQL: none in time, one of a proxy, a failure of the service, or none at all. */
function unansweredText({ networkError, response }: CombinedError): string {
  if (networkError?.name === 'TimeoutError')
    return 'The service has not answered in time. It may have done what was asked: try again, which never does it twice.'
  const { status = 0, headers } = (response ?? {}) as Partial<Response>
  const requestId = headers?.get('x-request-id')
  if (status >= 500 && requestId)
    return `The service failed with status ${status}. Its log has the cause under ${requestId}.`
  if (status >= 400)
    return `Something before the service, such as a proxy, answered with status ${status}. Try again in a moment.`
  return 'The service cannot be reached. It may be restarting: try again in a moment.'
}

/**
 * Names of members that messages of the service have, in the words of the pages. A form uses the labels of its fields
 * first.
 */
const WORDS: Readonly<Record<string, string>> = {
  allowNew: 'Credit it even if no scenario names this currency',
  announcedAt: 'Announced',
  claimUntil: 'Claims until',
  createdFrom: 'Created from',
  createdTo: 'Created until',
  endingHours: 'Hours in which it is about to end',
  endsAt: 'Ends',
  levelFrom: 'From level',
  levelNumber: 'Level',
  levelTo: 'To level',
  nodeId: 'Pass',
  passNodeId: 'Pass',
  playerId: 'Player',
  publishAt: 'Publish at',
  scenarioId: 'Scenario',
  search: 'Find',
  startsAt: 'Starts',
}

export type Labels = Readonly<Record<string, string>>

/** A message of the service, with the labels of fields in place of the names of members: `must be after “Starts”`. */
export const inWords = (message: string, labels: Labels = {}): string =>
  message.replaceAll(/`?\b([a-z]+(?:[A-Z][a-z]*)+)\b`?/g, (all, name: string) => {
    const label = labels[name] ?? WORDS[name]
    return label === undefined ? all : `“${label}”`
  })

/** A fault that no field shows: its place and what is wrong there. */
export function faultText(fault: Fault, labels: Labels = {}): string {
  const place = placeOf(fault, labels)
  const text = sentence(inWords(fault.message, labels))
  return place === '' ? text : `${place}: ${text}`
}

/** The place of a fault in words: `Ends`, `Rewards 2, item id`. */
function placeOf({ path }: Fault, labels: Labels): string {
  const words = path
    .replace(/^input\./, '')
    .split('.')
    .map((part) => {
      const [, name = '', index] = /^([^[]*)(?:\[(\d+)\])?/.exec(part) ?? []
      const known = labels[name] ?? WORDS[name] ?? name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
      return index === undefined ? known : `${known} ${Number(index) + 1}`
    })
    .join(', ')
  return words === '' ? '' : `${words[0]?.toUpperCase()}${words.slice(1)}`
}

export const sentence = (text: string): string =>
  text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
