import { useState } from 'react'
import { type Client, type CombinedError, type OperationContext, type TypedDocumentNode, useClient } from 'urql'
import { ActionKey } from './action-key.ts'
import { codeOf, isOutcomeOpen } from './errors.ts'

const TOOK_EFFECT =
  'Your first press took effect, with the fields as they were then, although its answer was lost. Nothing was done now. Look at what it did before you act again.'

/** The value of the one field of a mutation. */
export type AnswerOf<Data> = NonNullable<Data[keyof Data]>

/** One change, without its reason. */
export interface Call<Data, Input> {
  readonly mutation: TypedDocumentNode<Data, { readonly input: Input }>
  /** The input of the mutation besides its reason and its idempotency key. */
  readonly input: Omit<Input, 'reason' | 'idempotencyKey'>
  /** Set where the input has an idempotency key. */
  readonly isOnce?: boolean
  readonly context?: Partial<OperationContext>
  /** Default: the client of the session. */
  readonly client?: Client
}

interface Sent<Data> {
  readonly answer?: AnswerOf<Data>
  /** A request that was refused, or had no answer. */
  readonly error?: CombinedError | undefined
  /** Set when an earlier press took effect, and this one did nothing. */
  readonly refusal?: string
}

/**
 * Sends the changes of one form. It throws when an answer has neither a result nor an error, which does not say how the
 * change ended.
 */
export function useSend() {
  const session = useClient()
  const [key] = useState(() => new ActionKey())
  return async <Data extends object, Input>(call: Call<Data, Input>, reason?: string): Promise<Sent<Data>> => {
    const fields = JSON.stringify(call.input)
    const input = {
      ...call.input,
      ...(reason !== undefined && { reason }),
      ...(call.isOnce && { idempotencyKey: key.keyOf(fields) }),
    }
    const { data, error } = await (call.client ?? session).mutation(
      call.mutation,
      { input: input as Input },
      call.context,
    )
    const [answer] = Object.values(data ?? {}) as (AnswerOf<Data> | null | undefined)[]
    if (answer) {
      if (isRefused(answer)) key.onAnswer(fields)
      else key.onDone()
      return { answer }
    }
    if (!error || isOutcomeOpen(error)) key.onLost()
    if (!error) throw new Error('the answer has no result')
    if (codeOf(error) === 'IDEMPOTENCY_KEY_REUSED') {
      key.onAnswer(fields)
      return { refusal: TOOK_EFFECT }
    }
    if (!isOutcomeOpen(error)) key.onRefusal(fields)
    return { error }
  }
}

/** Whether an action of support was refused, which its answer says. */
const isRefused = (answer: object): boolean => 'error' in answer && answer.error !== null
