import { type ExecutionArgs, type ExecutionResult, getOperationAST, Kind, parse } from 'graphql'
import { handleStreamOrSingleExecutionResult, type Plugin } from 'graphql-yoga'
import type { Metrics } from '../app/metrics.ts'
import { tracing } from '../request/tracing.ts'

/** Names of operations come from clients. Further ones are counted as `other`. */
const MAX_NAMES = 200
const MAX_NAME = 64
const ANONYMOUS = 'anonymous'
const OTHER = 'other'
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

/** Counts operations by name, over HTTP, server-sent events and WebSockets. */
export function createOperationMetrics(metrics: Metrics, persisted: Iterable<string>) {
  const known = new Set<string>([ANONYMOUS, OTHER, ...namesOf(persisted)])
  const room = known.size + MAX_NAMES

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
    for (const { extensions } of errors ?? []) {
      metrics.operationErrors.inc({ operation: name, code: String(extensions.code ?? 'INVALID_REQUEST') })
    }
  }

  const plugin: Plugin = {
    onExecute({ args }) {
      const started = performance.now()
      return {
        onExecuteDone: (done) =>
          handleStreamOrSingleExecutionResult(done, ({ result }) => count(args, started, result.errors)),
      }
    },
  }
  return { count, plugin }
}

/** The names of the operations of documents. */
function* namesOf(documents: Iterable<string>): Iterable<string> {
  for (const text of documents)
    for (const definition of parse(text).definitions)
      if (definition.kind === Kind.OPERATION_DEFINITION && definition.name) yield definition.name.value
}
