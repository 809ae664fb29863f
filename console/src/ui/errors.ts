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
  return code === undefined || code === 'UNAVAILABLE' || code === 'INTERNAL_ERROR'
}

export function textOf(error: CombinedError): string {
  if (error.networkError) return 'The service cannot be reached. It may be restarting: try again in a moment.'
  const [first] = error.graphQLErrors
  switch (codeOf(error)) {
    case 'FORBIDDEN':
      return 'Your role does not allow this.'
    case 'RATE_LIMITED':
      return `Too many requests. Try again in ${first?.extensions.retryAfter ?? 'a few'} seconds.`
    case 'UNAVAILABLE':
      return 'The service could not finish. Try again: an action is never carried out twice.'
    case 'INTERNAL_ERROR':
      return `The service failed. Its log has the cause under ${first?.extensions.requestId ?? 'the request id'}.`
    default:
      return sentence(first?.message ?? error.message)
  }
}

export const sentence = (text: string): string =>
  text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
