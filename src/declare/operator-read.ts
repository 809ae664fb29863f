import type { AttemptedAction } from '../callers/access.ts'
import type { Right } from '../callers/roles.ts'
import type { Model, WhereOf } from '../db/prisma.ts'
import type { Answer, Member } from './answer.ts'
import type { Asked, Asking } from './operator-call.ts'
import type { Check, Fields, RequestOf, Shape } from './shape.ts'
import type { Source } from './source.ts'

// Operators' queries, declared once. From a declaration follow the query with its arguments, who may call it, and the
// checks of the request. In a feature only `reads.ts` imports this file: it names the service, whose types come from
// features.

interface Read<F extends Fields> {
  /** The name of the query. */
  readonly name: string
  readonly summary: string
  readonly request: Shape<F>
  /** The query has one argument `input`, since its request is large. Otherwise each field is an argument. */
  readonly hasInput?: true
  /** Finds faults between fields. */
  readonly check?: Check<RequestOf<Shape<F>>>
  /** What the caller must have before anything is read. */
  readonly right: Right
  /** What this request needs, where it is more than `right`. Members of `sent` may have any type and value. */
  readonly rightFor?: (sent: Source) => Right
  /** The entry of a refused attempt in the audit log, for what only admins read. */
  readonly denied?: AttemptedAction
  /** REST has a route of its own for it, which is not made from this declaration. */
  readonly hasOwnRoute?: true
  /** Its weight in the cost of an operation, where it costs more than others. */
  readonly cost?: number
}

/** A query with one value: an answer, an object, or a list that is read as a whole. */
export interface ValueRead<F extends Fields, Value> extends Read<F> {
  readonly answer: Answer<Value> | Member<Value>
  readonly read: (asking: Asking, asked: Asked<F>) => Value | Promise<Value>
}

/** A list of rows. */
export interface ListRead<F extends Fields, M extends Model> extends Read<F> {
  readonly rows: M
  readonly where: (asking: Asking, asked: Asked<F>) => WhereOf<M> | Promise<WhereOf<M>>
  /**
   * The rows of a project that `Query.node` reads by their ids, with the right of the list. Without it, the feature says
   * who reads one.
   */
  readonly nodesIn?: (projectId: string) => WhereOf<M>
  /**
   * The key of the rows, for a list with pages: the last made first. Each column before the id has one value in `where`.
   * A list without pages is in the order of names.
   */
  readonly pagedBy?: 'id' | `${string}_id`
  /** The ids are names, and the list is in their order. */
  readonly hasNamesAsIds?: true
  /** The usual length of a list without pages. */
  readonly size?: number
}

/** A declared query, for lists of queries. */
export type OperatorRead = ValueRead<Fields, unknown> | ListRead<Fields, Model>

export const operatorRead = <F extends Fields, Value>(read: ValueRead<F, Value>): OperatorRead => read as never
export const operatorList = <F extends Fields, M extends Model>(list: ListRead<F, M>): OperatorRead => list as never
