import { type ExecutionArgs, type ExecutionResult, type GraphQLError, getOperationAST, Kind, parse } from 'graphql'
import type { Metrics } from '../../base/metrics.ts'
import { tracing } from '../../base/tracing.ts'
import type { Access } from '../../callers/access.ts'
import type { KeptDocuments } from './documents.ts'

/** Names of operations come from clients. Names beyond this number are counted as `other`. */
const MAX_NAMES = 200
/** A player or an SDK key cannot add more names than this: every client can become a player. */
const MAX_NAMES_OF_ONE = 50
const MAX_NAME = 64
const ANONYMOUS = 'anonymous'
const OTHER = 'other'
/** Instead of a name, for requests that were refused before an operation ran. No operation can have it as its name. */
const NOT_RUN = 'not run'
/** Errors of callers without access to what they asked for. Their operations cannot add names. */
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

const isDenied = (errors: ExecutionResult['errors']): boolean =>
  errors?.some(({ extensions }) => DENIED.has(extensions.code)) ?? false

/** Counts operations by name, over HTTP, server-sent events and WebSockets. */
export function createOperationMetrics(metrics: Metrics, persisted: Iterable<string>, documents: KeptDocuments) {
  const known = new Set<string>([ANONYMOUS, OTHER, ...namesOf(persisted)])
  const room = known.size + MAX_NAMES
  /** How many names a player or an SDK key has added, by its id. No more entries than names. */
  const added = new Map<string, number>()
  /** Errors that are counted already: Yoga reports them again. A document's errors are cached, and count each time. */
  const counted = new WeakSet<object>()

  function nameOf(sent: string | undefined, access: Access, errors: ExecutionResult['errors']): string {
    if (sent === undefined) return ANONYMOUS
    if (known.has(sent)) return sent
    if (isDenied(errors) || known.size >= room || sent.length > MAX_NAME || !mayAdd(access)) return OTHER
    known.add(sent)
    return sent
  }

  /** Counts one name of the caller. False without a valid caller, and for one that has added enough names. */
  function mayAdd(access: Access): boolean {
    const caller = access.found()
    if (!caller) return false
    if ('kind' in caller && caller.kind === 'platform') return true
    const id = 'playerId' in caller ? caller.playerId : caller.keyId
    const names = added.get(id) ?? 0
    if (names < MAX_NAMES_OF_ONE) added.set(id, names + 1)
    return names < MAX_NAMES_OF_ONE
  }

  const count: CountOperation = ({ document, operationName, contextValue }, startedMs, errors) => {
    const operation = getOperationAST(document, operationName)
    const name = nameOf(operation?.name?.value, contextValue as Access, errors)
    const span = tracing()?.active()
    span?.set('graphql.operation.name', name)
    span?.set('graphql.operation.type', operation?.operation ?? 'query')
    metrics.countOperation(name, operation?.operation ?? 'query', performance.now() - startedMs)
    const deprecated = documents.deprecatedIn(document)
    if (deprecated && operation && !isDenied(errors))
      for (const field of deprecated.get(operation) ?? []) metrics.deprecatedFields.inc({ field })
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

function* namesOf(documents: Iterable<string>): Iterable<string> {
  for (const text of documents)
    for (const definition of parse(text).definitions)
      if (definition.kind === Kind.OPERATION_DEFINITION && definition.name) yield definition.name.value
}
