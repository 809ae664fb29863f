import { type ExecutionArgs, type ExecutionResult, type GraphQLError, getOperationAST, Kind, parse } from 'graphql'
import type { Metrics } from '../app/metrics.ts'
import { tracing } from '../request/tracing.ts'

/** Names of operations come from clients. Names beyond this number are counted as `other`. */
const MAX_NAMES = 200
const MAX_NAME = 64
const ANONYMOUS = 'anonymous'
const OTHER = 'other'
/** Instead of a name, for requests that were refused before an operation ran. No operation can have it as its name. */
const NOT_RUN = 'not run'
/** Errors of callers without access. Their operations cannot add names. */
const DENIED: ReadonlySet<unknown> = new Set([
  'INVALID_TOKEN',
  'INVALID_SDK_KEY',
  'FORBIDDEN',
  'RATE_LIMITED',
  'COST_LIMIT_EXCEEDED',
])

/** Counts an operation that has an answer. A subscription counts when it begins. */
export type CountOperation = (args: ExecutionArgs, startedMs: number, errors: ExecutionResult['errors']) => void

/** Counts the errors of a request that was refused before an operation ran. */
export type CountRefused = (errors: readonly Pick<GraphQLError, 'extensions'>[]) => void

/** Counts operations by name, over HTTP, server-sent events and WebSockets. */
export function createOperationMetrics(metrics: Metrics, persisted: Iterable<string>) {
  const known = new Set<string>([ANONYMOUS, OTHER, ...namesOf(persisted)])
  const room = known.size + MAX_NAMES
  /** Errors that are counted already: Yoga reports them again. A document's errors are cached, and count each time. */
  const counted = new WeakSet<object>()

  function nameOf(sent: string | undefined, errors: ExecutionResult['errors']): string {
    if (sent === undefined) return ANONYMOUS
    if (known.has(sent)) return sent
    const isDenied = errors?.some(({ extensions }) => DENIED.has(extensions.code))
    if (isDenied || known.size >= room || sent.length > MAX_NAME) return OTHER
    known.add(sent)
    return sent
  }

  const count: CountOperation = ({ document, operationName }, startedMs, errors) => {
    const operation = getOperationAST(document, operationName)
    const name = nameOf(operation?.name?.value, errors)
    const span = tracing()?.active()
    span?.set('graphql.operation.name', name)
    span?.set('graphql.operation.type', operation?.operation ?? 'query')
    metrics.countOperation(name, operation?.operation ?? 'query', performance.now() - startedMs)
    for (const error of errors ?? []) {
      counted.add(error)
      countError(name, error)
    }
  }

  const countRefused: CountRefused = (errors) => {
    for (const error of errors) if (!counted.has(error)) countError(NOT_RUN, error)
  }

  function countError(operation: string, error: Pick<GraphQLError, 'extensions'>): void {
    metrics.operationErrors.inc({ operation, code: String(error.extensions.code ?? 'INVALID_REQUEST') })
  }

  return { count, countRefused }
}

/** The names of the operations of documents. */
function* namesOf(documents: Iterable<string>): Iterable<string> {
  for (const text of documents)
    for (const definition of parse(text).definitions)
      if (definition.kind === Kind.OPERATION_DEFINITION && definition.name) yield definition.name.value
}
