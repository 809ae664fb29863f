import { type ExecutionArgs, getOperationAST } from 'graphql'
import { traceHeadersOf, tracing } from '../../base/tracing.ts'

/** Codes of errors that are the service's fault, as answers of 5xx are. */
const FAULTS: ReadonlySet<unknown> = new Set(['INTERNAL_ERROR', 'UNAVAILABLE'])

/**
 * Runs an operation of a socket in a span of its own, which ends with its answer, or once a subscription has begun. The
 * message has the caller's `traceparent` and `tracestate` in `extensions`.
 */
export function inSpan<T>({ document, operationName }: ExecutionArgs, extensions: unknown, work: () => T): T {
  const traces = tracing()
  if (traces === null) return work()
  return traces.call('WebSocket /graphql', traceHeadersOf(extensions), async (span) => {
    const operation = getOperationAST(document, operationName)
    span.set('graphql.operation.type', operation?.operation ?? 'query')
    if (operation?.name) span.set('graphql.operation.name', operation.name.value)
    try {
      const result = await work()
      span.end(faultOf(result))
      return result
    } catch (error) {
      span.end('INTERNAL_ERROR')
      throw error
    }
  }) as T
}

function faultOf(result: unknown): string | undefined {
  const { errors } = result as { readonly errors?: readonly { readonly extensions: { readonly code?: unknown } }[] }
  const found = errors?.find(({ extensions }) => FAULTS.has(extensions.code))
  return found && String(found.extensions.code)
}
