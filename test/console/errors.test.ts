import { CombinedError } from '@urql/core'
import { expect, it } from 'vitest'
import { isOutcomeOpen, textOf } from '../../console/src/ui/errors.ts'

const answered = (status: number, headers: Record<string, string> = {}) =>
  new CombinedError({ networkError: new Error('no JSON'), response: new Response('', { status, headers }) })

it.each([
  ['no answer at all', new CombinedError({ networkError: new TypeError('Failed to fetch') }), /cannot be reached/],
  [
    'no answer in time',
    new CombinedError({ networkError: new DOMException('signal timed out', 'TimeoutError') as Error }),
    /has not answered in time/,
  ],
  ['a failure of the service', answered(500, { 'x-request-id': 'r-1' }), /failed with status 500.* under r-1\./],
  ['a failure of a proxy', answered(502), /such as a proxy, answered with status 502/],
  ['a refusal of a proxy', answered(403), /such as a proxy, answered with status 403/],
])('of %s the console says what it was, and that a change may have taken effect', (_what, error, text) => {
  expect(textOf(error)).toMatch(text)
  expect(isOutcomeOpen(error)).toBe(true)
})
