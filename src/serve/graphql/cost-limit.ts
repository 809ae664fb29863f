import { type ExecutionArgs, type ExecutionResult, type GraphQLError, getOperationAST } from 'graphql'
import { isPromise } from 'graphql-yoga'
import { Refusal } from '../../base/errors.ts'
import type { Metrics } from '../../base/metrics.ts'
import { idOfCaller } from '../../callers/access.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { retryHeaders } from '../../declare/respond.ts'
import { refusalError } from './failures.ts'
import { costOf } from './operation-cost.ts'

/** The answer to an operation that must not run; undefined when it may run. */
export type RefuseCost = (args: ExecutionArgs) => ExecutionResult | undefined | Promise<ExecutionResult | undefined>

export interface CostLimitOptions {
  readonly maxCost: number
  readonly metrics: Metrics
}

/** Refuses an operation before it runs when it costs too much, or when its caller has spent its share of cost. */
export function createCostLimit({ maxCost, metrics }: CostLimitOptions): RefuseCost {
  return (args) => {
    const cost = costOfArgs(args)
    if (cost === undefined) return undefined
    metrics.operationCost.observe(cost)
    const context = args.contextValue as Context
    if (cost > maxCost) {
      const message = `costs ${cost}, and an operation may cost at most ${maxCost}`
      return answerOf(new Refusal('costLimitExceeded', { faults: [{ path: 'query', message }] }), context)
    }
    const charge = (key: string): ExecutionResult | undefined => {
      try {
        context.service.rateLimits.countCost(key, cost)
        return undefined
      } catch (error) {
        if (error instanceof Refusal) return answerOf(error, context)
        throw error
      }
    }
    const key = payerOf(context)
    return isPromise(key) ? key.then(charge) : charge(key)
  }
}

/** Characters of a document that are read and validated for a cost of 1. */
const CHARACTERS = 100

/** What it costs to read and validate a document that is not known to be valid, whether it is then refused or not. */
export const costOfText = ({ length }: string): number => 1 + Math.floor(length / CHARACTERS)

/** Undefined for a request that names no operation of its document: execution refuses it. */
function costOfArgs({ schema, document, operationName, variableValues }: ExecutionArgs): number | undefined {
  const operation = getOperationAST(document, operationName)
  if (!operation) return undefined
  return costOf(operation, { schema, document, variables: variableValues ?? {} })
}

/** The caller that the cost is charged to; the client's address without a valid caller, which resolvers refuse. */
function payerOf({ caller, address }: Context): string | Promise<string> {
  try {
    const found = caller()
    return found instanceof Promise ? found.then(idOfCaller, address) : idOfCaller(found)
  } catch {
    return address()
  }
}

/** The refusal of a whole operation, with the headers of REST over HTTP. */
function answerOf(refusal: Refusal, { requestId }: Context): ExecutionResult {
  // A WebSocket has no request id, and no headers.
  return { errors: [requestId === undefined ? refusalError(refusal) : errorWithHeaders(refusal)] }
}

/** A refusal with the headers that REST sends with it. */
export function errorWithHeaders(refusal: Refusal): GraphQLError {
  const error = refusalError(refusal)
  const headers: Record<string, string> = {}
  const sent = retryHeaders(refusal)
  for (let at = 0; at < sent.length; at += 2) headers[sent[at] ?? ''] = sent[at + 1] ?? ''
  error.extensions.http = { headers }
  return error
}
