import { GraphQLError } from 'graphql'
import { createGraphQLError, type Plugin } from 'graphql-yoga'
import { toRefusal } from '../db/failures.ts'
import { Refusal } from '../errors.ts'
import type { Logger } from '../log.ts'

/** A refusal keeps its text and code; a fault of the document is the caller's; anything else is a bug and says nothing. */
export function mask(error: unknown, log: Logger): Error {
  const original = error instanceof GraphQLError ? (error.originalError ?? error) : error
  if (original instanceof GraphQLError) return original
  const refusal = toRefusal(original) ?? new Refusal('internalError')
  if (refusal.kind === 'internalError') log.error({ err: original }, 'internal error')
  const details = refusal.faults.map(({ path, message }) => ({ path, message }))
  return createGraphQLError(refusal.message, {
    ...(error instanceof GraphQLError && {
      nodes: error.nodes,
      source: error.source,
      positions: error.positions,
      path: error.path,
    }),
    extensions: { code: refusal.code.toUpperCase(), ...(refusal.status === 400 && { details }) },
  })
}

/** Faults that GraphQL itself finds (syntax, unknown fields, wrong types) carry a code too. */
export function codedErrors(): Plugin {
  return {
    onResultProcess({ result }) {
      for (const one of Array.isArray(result) ? result : [result]) {
        if (one && 'errors' in one && one.errors) withCodes(one.errors)
      }
    },
  }
}

export function withCodes(errors: readonly GraphQLError[]): readonly GraphQLError[] {
  for (const error of errors) error.extensions.code ??= 'INVALID_REQUEST'
  return errors
}
