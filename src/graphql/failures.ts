import { randomUUID } from 'node:crypto'
import { PothosValidationError } from '@pothos/core'
import { type ExecutionResult, GraphQLError, Kind, parse, type Source, visit } from 'graphql'
import { createGraphQLError, handleStreamOrSingleExecutionResult, type Plugin } from 'graphql-yoga'
import { toRefusal } from '../db/failures.ts'
import { isUnreadableArgument } from '../db/prisma.ts'
import { causeOf, invalidRequest, Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { Context, ServerContext } from './context.ts'

/**
 * A refusal keeps its text and code; a fault of the document is the caller's; anything else is a bug and says nothing.
 * What the log tells of has an id there and in the answer.
 */
export function mask(error: unknown, log: Logger, requestId: string = randomUUID()): GraphQLError {
  const original = error instanceof GraphQLError ? (error.originalError ?? error) : error
  if (original instanceof GraphQLError) return ofVariable(error, original)
  const refusal = toRefusal(original) ?? badPage(original) ?? new Refusal('internalError')
  const masked = refusalError(refusal, error)
  if (refusal.status !== 500 && !refusal.isWarned) return masked
  masked.extensions.requestId = requestId
  const told = { path: `/graphql ${masked.path?.join('.') ?? ''}`.trim(), requestId }
  if (refusal.status === 500) log.error({ ...told, err: original }, refusal.message)
  else log.warn({ ...told, ...refusal.about, cause: causeOf(refusal) }, refusal.message)
  return masked
}

/** Masks what goes wrong while an operation runs, under the id of its request. Yoga masks the rest, with no request. */
export function maskedExecution(log: Logger): Plugin<Partial<Context>> {
  const masking =
    ({ requestId }: Partial<Context>) =>
    ({ result, setResult }: { result: ExecutionResult; setResult: (result: ExecutionResult) => void }) => {
      if (result.errors) setResult({ ...result, errors: result.errors.map((error) => mask(error, log, requestId)) })
    }
  return {
    onExecute: ({ args }) => ({
      onExecuteDone: (done) => handleStreamOrSingleExecutionResult(done, masking(args.contextValue)),
    }),
  }
}

/**
 * A value of a variable that cannot be read, by its place in the input, whatever the variable is called. GraphQL tells
 * that in front of the whole value, which may be long or a secret, so that only the place is kept.
 */
function ofVariable(error: unknown, fault: GraphQLError): GraphQLError {
  const tail = `; ${fault.message}`
  const told = error instanceof GraphQLError && error.message.endsWith(tail) ? error.message.slice(0, -tail.length) : ''
  const [, variable] = /^Variable "\$(\w+)" got invalid value /.exec(told) ?? []
  if (variable === undefined) return fault
  // In two steps, each of which looks at a character once, however long the value is.
  const [, place = variable] = / at "(\w[\w.[\]]*)"$/.exec(told) ?? []
  const below = place.replace(/^\w+/, '')
  const message = withoutSuggestion(fault.message)
  // As in the faults of an input, which do not name the input itself.
  const path = `${placeOf(variable, (error as GraphQLError).source)}${below}`.replace(/^input\./, '')
  return createGraphQLError(`"${path}": ${fault.message}`, {
    extensions: { code: 'INVALID_REQUEST', details: [{ path, message }] },
  })
}

/** Where a document uses a variable first: the argument, and the fields of the input below it. */
function placeOf(variable: string, source: Source | undefined): string {
  if (!source) return variable
  let place: string | undefined
  visit(parse(source), {
    Variable(node, _key, parent, _path, ancestors) {
      if (node.name.value !== variable || place !== undefined) return
      const names = [...ancestors, parent].flatMap((ancestor) =>
        ancestor && 'kind' in ancestor && (ancestor.kind === Kind.ARGUMENT || ancestor.kind === Kind.OBJECT_FIELD)
          ? ancestor.name.value
          : [],
      )
      // Its definition is no use of it.
      if (names.length > 0) place = names.join('.')
    },
  })
  return place ?? variable
}

/** A refusal in its GraphQL form, at the place where it was met, if that is known. */
export function refusalError(refusal: Refusal, at?: unknown): GraphQLError {
  const details = refusal.faults.map(({ path, message }) => ({ path, message }))
  return createGraphQLError(refusal.message, {
    ...(at instanceof GraphQLError && { nodes: at.nodes, source: at.source, positions: at.positions, path: at.path }),
    extensions: { code: refusal.code.toUpperCase(), ...(refusal.hasDetails && { details }) },
  })
}

/** Arguments of a connection that make no sense. Only its cursors carry values to Prisma that nobody has checked. */
function badPage(error: unknown): Refusal | undefined {
  if (error instanceof PothosValidationError) return invalidRequest({ path: '', message: error.message })
  return isUnreadableArgument(error)
    ? invalidRequest({ path: '', message: 'the cursor is none that this service gave' })
    : undefined
}

/** How Yoga names what is wrong with a request. Ours is one name for all of it, as on REST. */
const FOREIGN_CODES: ReadonlySet<unknown> = new Set([
  undefined,
  'BAD_REQUEST',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
])

/** Not by a pattern: of a long value that says it again and again, one would look at all the rest each time. */
function withoutSuggestion(message: string): string {
  const at = message.indexOf(' Did you mean ')
  return at >= 0 && message.endsWith('?') ? message.slice(0, at) : message
}

export type TidyErrors = (errors: readonly GraphQLError[]) => readonly GraphQLError[]

/**
 * The faults that GraphQL itself finds (syntax, unknown fields, wrong types) carry a code too, and
 * suggest names of the schema only where it may be seen.
 */
export function createTidyErrors({ suggest }: { suggest: boolean }): TidyErrors {
  return (errors) => {
    for (const error of errors) {
      if (FOREIGN_CODES.has(error.extensions.code)) error.extensions.code = 'INVALID_REQUEST'
      if (!suggest) error.message = withoutSuggestion(error.message)
    }
    return errors
  }
}

/** Tidies what leaves over HTTP by Yoga. */
export function tidyResults(tidy: TidyErrors): Plugin<object, ServerContext> {
  return {
    onResultProcess({ result }) {
      for (const one of Array.isArray(result) ? result : [result]) {
        if (one && 'errors' in one && one.errors) tidy(one.errors)
      }
    },
  }
}
