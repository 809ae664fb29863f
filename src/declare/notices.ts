import { answer, out } from './answer.ts'

const notice = answer(
  'A note about a request that was accepted.',
  { path: out.text('The place in the request.'), message: out.text('What is odd about it.') },
  { name: 'Notice' },
)

/** The notices of an answer, which is without this member when there are none. */
export const noticesOf = (description: string) => out.optional(out.list(notice, description))
