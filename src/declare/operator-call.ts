import type { Service } from '../app/service.ts'
import type { RefusalKind } from '../base/errors.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import type { Right } from '../callers/roles.ts'
import type { Transaction } from '../db/prisma.ts'
import { type Answer, type AnswerOf, answer, type Member } from './answer.ts'
import type { Change } from './change.ts'
import type { Check, Field, Fields, RequestOf, Shape } from './shape.ts'
import type { Source } from './source.ts'

// Operators' calls, declared once. From a declaration follow the mutation with its input and payload, who may call it,
// the entry of the audit log, also that of a refused attempt, and the checks of the request.
// In a feature only `calls.ts` imports this file: it names the service, whose types come from features.

/** A request that was read. The environment that it names was found. */
export type Asked<F extends Fields> = RequestOf<Shape<F>> &
  (F extends { readonly environment: Field<infer Name> }
    ? { readonly environmentId: null extends Name ? string | null : string }
    : unknown)

export interface Asking {
  readonly caller: PlatformCaller
  readonly service: Service
}

/** In the transaction that writes the entry of the audit log, too. */
export interface Changing extends Asking, Transaction {}

/** The answer of a call that is in the audit log. In GraphQL it is a type with this name, which has the entry, too. */
export interface Payload<T> extends Answer<T> {
  readonly payload: string
  /** When there is no entry. Null for a call that never has one. */
  readonly withoutEntry: string | null
}

export function payload<M extends Readonly<Record<string, Member<unknown>>>>(
  name: string,
  members: M,
  withoutEntry: string | null = 'Null when nothing changed.',
  description = '',
): Payload<AnswerOf<ReturnType<typeof answer<M>>>> {
  return { ...answer(description, members), payload: name, withoutEntry }
}

interface Call<F extends Fields> {
  /** The name of the mutation. Its input is named after it, unless it has one that other calls have, too. */
  readonly name: string
  readonly input?: string
  /** The name that the mutation had in the release before. GraphQL has it for one more release, as deprecated. */
  readonly formerly?: string
  readonly summary: string
  readonly request: Shape<F>
  /** Finds faults between fields. */
  readonly check?: Check<RequestOf<Shape<F>>>
  /** Its name in the audit log, such as `boost.end`. */
  readonly action: string
  /** The action in words, for people who read the log. A call without one has the action of another call. */
  readonly title?: string
  /** The target of a refused attempt: a field of the request, or a word for calls without one. */
  readonly target: (keyof F & string) | { readonly word: string }
  /** What the caller must have before anything is read. */
  readonly right: Right
  /** What this request needs, where it is more than `right`. Members of `sent` may have any type and value. */
  readonly rightFor?: (sent: Source) => Right
  /** Refusals besides those of every call of an operator. */
  readonly refusals?: readonly RefusalKind[]
  /** Its weight in the cost of an operation, where it costs more than others. */
  readonly cost?: number
  /** The field that names the environment which is changed. Default: `environment`. */
  readonly changedIn?: keyof F & string
  /** Refuses operator tokens: what the call makes would outlive the caller's. */
  readonly keyOnly?: true
  /** An attempt on a target that is not there is in the audit log, too. */
  readonly unknownIsDenied?: true
  /** What the object itself demands besides, once it is known. */
  readonly alsoRight?: (asking: Asking, asked: Asked<F>) => Promise<Right>
}

/** A change in one transaction with its entry of the audit log: both are written, or none. */
export interface ChangeCall<F extends Fields, Outcome> extends Call<F> {
  readonly answer: Payload<Outcome>
  readonly change: (changing: Changing, asked: Asked<F>) => Promise<Change<Outcome>>
  /** Runs before the answer, also when nothing changed. */
  readonly afterCommit?: (asking: Asking) => Promise<void>
}

/** The outcome of a call that has a transaction of its own, or none. It has written its entry, if it has one. */
export interface Acted<Outcome> {
  readonly outcome: Outcome
  readonly auditId?: string | null
}

/**
 * A call whose transaction is its own, as when it asks a studio's endpoint before, for which no transaction may wait. A
 * refusal `forbidden` is noted in the audit log by the caller of `act`.
 */
export interface ActCall<F extends Fields, Outcome> extends Call<F> {
  /** An answer that is no payload has no entry. */
  readonly answer: Answer<Outcome> | Member<Outcome>
  readonly act: (asking: Asking, asked: Asked<F>) => Promise<Acted<Outcome>>
}

/** The same for a call that finds its environment by itself, since it reports its own faults before an unknown one. */
export interface LateCall<F extends Fields, Outcome> extends Omit<ActCall<F, Outcome>, 'act'> {
  readonly findsEnvironment: true
  readonly act: (asking: Asking, asked: RequestOf<Shape<F>>) => Promise<Acted<Outcome>>
}

/** A declared call, for lists of calls. */
export type OperatorCall = ChangeCall<Fields, object> | ActCall<Fields, object> | LateCall<Fields, object>

export const operatorChange = <F extends Fields, Outcome>(call: ChangeCall<F, Outcome>): OperatorCall => call as never

export function operatorAct<F extends Fields, Outcome>(call: LateCall<F, Outcome>): OperatorCall
export function operatorAct<F extends Fields, Outcome>(call: ActCall<F, Outcome>): OperatorCall
export function operatorAct(call: unknown): OperatorCall {
  return call as OperatorCall
}
