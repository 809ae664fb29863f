import { randomUUID } from 'node:crypto'
import { PothosValidationError } from '@pothos/core'
import { type ExecutionResult, GraphQLError, Kind, parse, type Source, visit } from 'graphql'
import { createGraphQLError, type Plugin } from 'graphql-yoga'
import { invalidRequest, Refusal } from '../../base/errors.ts'
import { type Logger, refusalWarnings } from '../../base/log.ts'
import { toRefusal } from '../../db/failures.ts'
import { isUnreadableArgument } from '../../db/prisma.ts'
import type { ServerContext } from '../../declare/graphql/context.ts'
import type { CountRefused } from './operation-metrics.ts'

/**
 * A refusal keeps its text and code, a fault of the document is the caller's, and any other error is a bug whose text
 * is hidden. Logged errors have the same id in the log and in the answer.
 */
export function createMask(log: Logger): Mask {
  const warnRefused = refusalWarnings(log)
  return (error, requestId = randomUUID()) => mask(error, requestId, log, warnRefused)
}

function mask(
  error: unknown,
  requestId: string,
  log: Logger,
  warnRefused: ReturnType<typeof refusalWarnings>,
): GraphQLError {
  const original = error instanceof GraphQLError ? (error.originalError ?? error) : error
  if (original instanceof GraphQLError) return ofVariable(error, original)
  const refusal = toRefusal(original) ?? badPage(original) ?? new Refusal('internalError')
  const masked = refusalError(refusal, error)
  if (refusal.status !== 500 && !refusal.isWarned) return masked
  masked.extensions.requestId = requestId
  const call = { path: `/graphql ${masked.path?.join('.') ?? ''}`.trim(), requestId }
  if (refusal.status === 500) log.error({ ...call, err: original }, refusal.message)
  else warnRefused(refusal, call)
  return masked
}

export type Mask = (error: unknown, requestId?: string) => GraphQLError

/** A result with masked errors, under the id of its request. An event of a subscription has none. */
export function maskedResult(result: ExecutionResult, mask: Mask, requestId?: string): ExecutionResult {
  if (!result.errors) return result
  return { ...result, errors: result.errors.map((error) => mask(error, requestId)) }
}

/**
 * A fault of a variable's value, at its place in the input, regardless of the variable's name. graphql-js puts the
 * whole value into its message, which may be long or secret, so only the place is kept.
 */
function ofVariable(error: unknown, fault: GraphQLError): GraphQLError {
  const tail = `; ${fault.message}`
  const report =
    error instanceof GraphQLError && error.message.endsWith(tail) ? error.message.slice(0, -tail.length) : ''
  const [, variable] = /^Variable "\$(\w+)" got invalid value /.exec(report) ?? []
  if (variable === undefined) return fault
  // In two steps: each reads a character once, so that a long value does not take long.
  const [, place = variable] = / at "(\w[\w.[\]]*)"$/.exec(report) ?? []
  const below = place.replace(/^\w+/, '')
  const message = withoutSuggestion(fault.message)
  // A member that is missing or unknown, which graphql-js reports at the object around it.
  const [, member] = /^Field "(\w+)" /.exec(message) ?? []
  const outer = `${placeOf(variable, (error as GraphQLError).source)}${below}`
  const path = withoutInput(member === undefined ? outer : `${outer}.${member}`)
  return createGraphQLError(`"${path}": ${fault.message}`, {
    extensions: { code: 'INVALID_REQUEST', details: [{ path, message }] },
  })
}

/** A path as faults of an input have it, which does not begin with `input`. */
const withoutInput = (path: string): string => path.replace(/^input\./, '')

/** The first use of a variable in a document: the argument, and the fields of the input below it. */
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
      // The definition of a variable is not a use.
      if (names.length > 0) place = names.join('.')
    },
  })
  return place ?? variable
}

/** A refusal in its GraphQL form, with its place in the document, if known. */
export function refusalError(refusal: Refusal, at?: unknown): GraphQLError {
  const { details } = refusal
  return createGraphQLError(refusal.message, {
    ...(at instanceof GraphQLError && { nodes: at.nodes, source: at.source, positions: at.positions, path: at.path }),
    extensions: {
      code: refusal.code.toUpperCase(),
      ...(details !== undefined && { details }),
      ...(refusal.waitSeconds !== undefined && { retryAfter: refusal.waitSeconds }),
    },
  })
}

/** Arguments of a connection that Prisma cannot read. Only cursors reach Prisma unchecked. */
function badPage(error: unknown): Refusal | undefined {
  if (error instanceof PothosValidationError) return invalidRequest({ path: '', message: error.message })
  return isUnreadableArgument(error)
    ? invalidRequest({ path: '', message: 'the cursor is none that this service gave' })
    : undefined
}

/** Yoga's codes for a faulty request. Ours is a single code, as on REST. */
const FOREIGN_CODES: ReadonlySet<unknown> = new Set([
  undefined,
  'BAD_REQUEST',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'OPERATION_RESOLUTION_FAILURE',
])

/** Not a pattern: on a long value that repeats the text, a pattern would scan the rest each time. */
function withoutSuggestion(message: string): string {
  const at = message.indexOf(' Did you mean ')
  return at >= 0 && message.endsWith('?') ? message.slice(0, at) : message
}

/** The member of the request with a fault that graphql-js or Yoga found. */
function memberOf({ message, source, locations, extensions: { code } }: GraphQLError): string {
  const [, variable] = /^Variable "\$(\w+)" of /.exec(message) ?? []
  if (variable !== undefined) return withoutInput(placeOf(variable, source))
  if (code === 'OPERATION_RESOLUTION_FAILURE' || /^(Must provide|Unknown) operation/.test(message))
    return 'operationName'
  return source || locations || /^(Must provide query|Can only perform a mutation)/.test(message) ? 'query' : ''
}

export type TidyErrors = (errors: readonly GraphQLError[]) => readonly GraphQLError[]

/**
 * Faults that graphql-js finds (syntax, unknown fields, wrong types) get a code, too. They suggest names of the schema
 * only where introspection is allowed.
 */
export function createTidyErrors({ suggest }: { suggest: boolean }): TidyErrors {
  return (errors) => {
    for (const error of errors) {
      const { extensions } = error
      if (!suggest) error.message = withoutSuggestion(error.message)
      if (FOREIGN_CODES.has(extensions.code)) {
        const { http } = extensions as { readonly http?: { readonly status?: number } }
        const code = http?.status === 405 ? 'METHOD_NOT_ALLOWED' : 'INVALID_REQUEST'
        extensions.details ??= [{ path: memberOf(error), message: error.message }]
        extensions.code = code
      }
    }
    return errors
  }
}

/** Tidies the answers that Yoga sends over HTTP, and counts those to requests that were refused before they ran. */
export function tidyResults(tidy: TidyErrors, countRefused: CountRefused): Plugin<object, ServerContext> {
  return {
    onResultProcess({ result }) {
      for (const one of Array.isArray(result) ? result : [result]) {
        if (one && 'errors' in one && one.errors) countRefused(tidy(one.errors))
      }
    },
  }
}
