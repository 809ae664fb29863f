import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  executeSync,
  Kind,
  visit,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { Metrics } from '../../base/metrics.ts'
import type { Context } from '../../declare/graphql/context.ts'
import type { StreamEvent } from '../../events/catalogue.ts'
import { cursorOf } from '../../events/cursor.ts'
import { type Sink, Subscription } from '../../events/subscription.ts'
import type { ExecuteOptions } from '../graphql/execute.ts'
import { maskedResult, type TidyErrors } from '../graphql/failures.ts'

// Live results: an event is resolved and printed once for all subscribers with the same selections.

export interface LiveOptions extends ExecuteOptions {
  readonly metrics: Metrics
  readonly tidy: TidyErrors
}

/** The result of an event for all subscribers with the same document. */
export class SharedResult implements ExecutionResult {
  readonly data: ExecutionResult['data']
  readonly errors?: ExecutionResult['errors']
  // Private, so that the JSON does not contain them.
  readonly #event: StreamEvent
  #json: Buffer | undefined

  constructor(event: StreamEvent, { data, errors }: ExecutionResult) {
    this.#event = event
    this.data = data
    if (errors) this.errors = errors
  }

  /** The result as JSON, printed once for all subscribers. */
  get json(): Buffer {
    this.#json ??= Buffer.from(JSON.stringify(this))
    return this.#json
  }

  get cursor(): string {
    return cursorOf(this.#event)
  }
}

/** The receiver of frames: a WebSocket, or a stream of server-sent events. */
export interface FrameSink {
  /** Sinks of a view with the same key get the same bytes. */
  readonly key: string
  /** A result as it is sent. */
  frame(result: SharedResult): Buffer
  /** False asks for a pause until `resume()` of the results is called. */
  take(frames: Buffer): boolean
  end(error?: unknown): void
}

/** Frames of a batch that are cached, by the key of their sinks. */
const KEPT_FRAMES = 16

/**
 * The selections of a document on events, for all subscribers with this document and the same variables in its
 * selections.
 */
class View {
  readonly key: string
  users = 0
  private readonly resolve: (event: StreamEvent) => ExecutionResult
  /** By event: subscribers of all topics receive the same event objects. */
  private readonly results = new WeakMap<StreamEvent, SharedResult>()
  /** By batch, then by key: subscribers of a topic receive the same batch objects. */
  private readonly frames = new WeakMap<readonly StreamEvent[], Map<string, Buffer>>()

  constructor(key: string, resolve: (event: StreamEvent) => ExecutionResult) {
    this.key = key
    this.resolve = resolve
  }

  private resultOf(event: StreamEvent): SharedResult {
    const known = this.results.get(event)
    if (known) return known
    const result = new SharedResult(event, this.resolve(event))
    this.results.set(event, result)
    return result
  }

  framesOf(events: readonly StreamEvent[], sink: FrameSink): Buffer {
    let known = this.frames.get(events)
    if (!known) {
      known = new Map()
      this.frames.set(events, known)
    }
    const shared = known.get(sink.key)
    if (shared) return shared
    const frames = events.map((event) => sink.frame(this.resultOf(event)))
    const bytes = frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames)
    if (known.size < KEPT_FRAMES) known.set(sink.key, bytes)
    return bytes
  }
}

/** The results of one subscription, which flow into a sink as frames. */
export class LiveResults implements Sink {
  private readonly source: Subscription
  private readonly view: View
  private readonly metrics: Metrics
  private sink: FrameSink | undefined

  constructor(source: Subscription, view: View, metrics: Metrics) {
    this.source = source
    this.view = view
    this.metrics = metrics
  }

  /** Lets the results flow. Call it once. */
  flow(sink: FrameSink): void {
    this.sink = sink
    this.source.flow(this)
  }

  resume(): void {
    this.source.resume()
  }

  take(events: readonly StreamEvent[]): boolean {
    this.metrics.eventsSent.inc(events.length)
    return this.sink?.take(this.view.framesOf(events, this.sink)) ?? false
  }

  end(error?: unknown): void {
    this.sink?.end(error)
  }

  close(): void {
    this.source.end()
  }
}

/** Subscribes; the result has errors when the subscription is refused. */
export type Subscribe = (args: ExecutionArgs) => Promise<ExecutionResult | LiveResults>

/**
 * The resolver that subscribes decides what a caller may see. The fields of an event are resolved without a context and
 * synchronously (`executeSync` throws otherwise), so that every caller gets the same result.
 */
export function createLive({ metrics, count, mask, tidy, refuseCost }: LiveOptions) {
  const views = new Map<string, View>()

  function enter(args: ExecutionArgs): View {
    const key = keyOf(args)
    const view = views.get(key) ?? new View(key, resolverOf(args))
    view.users += 1
    views.set(key, view)
    return view
  }

  function leave(view: View): void {
    view.users -= 1
    if (view.users === 0) views.delete(view.key)
  }

  /** Keeps only the arguments that resolving needs: all of them belong to the first subscriber. */
  function resolverOf({ schema, document, operationName, variableValues }: ExecutionArgs) {
    return (event: StreamEvent): ExecutionResult => {
      metrics.eventsResolved.inc()
      const result = executeSync({ schema, document, operationName, variableValues, rootValue: event })
      return tidied(maskedResult(result, mask))
    }
  }

  function tidied(result: ExecutionResult): ExecutionResult {
    if (result.errors) tidy(result.errors)
    return result
  }

  const subscribe: Subscribe = async (args) => {
    const started = performance.now()
    const refused = await refuseCost(args)
    if (refused) {
      count(args, started, refused.errors)
      return refused
    }
    const source = await createSourceEventStream(args)
    if (!(source instanceof Subscription)) {
      const { requestId } = args.contextValue as Context
      const failed = tidied(maskedResult(source as ExecutionResult, mask, requestId))
      count(args, started, failed.errors)
      return failed
    }
    count(args, started, undefined)
    const view = enter(args)
    source.onceEnded(() => leave(view))
    return new LiveResults(source, view, metrics)
  }

  const plugin: Plugin = { onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe) }
  return { subscribe, plugin }
}

function keyOf({ document, operationName, variableValues }: ExecutionArgs): string {
  const variables = tellingVariablesOf(document).map((name) => [name, variableValues?.[name] ?? null])
  return `${operationName ?? ''}\n${JSON.stringify(variables)}\n${document.loc?.source.body ?? JSON.stringify(document)}`
}

const tellingVariables = new WeakMap<DocumentNode, readonly string[]>()

/**
 * The variables that change the result of an event. Arguments of the subscription only choose events, so subscribers
 * with different cursors still share results.
 */
function tellingVariablesOf(document: DocumentNode): readonly string[] {
  const known = tellingVariables.get(document)
  if (known) return known
  const names = new Set<string>()
  const collect = { Variable: ({ name }: { name: { value: string } }) => void names.add(name.value) }
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) visit(definition, collect)
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue
    for (const selection of definition.selectionSet.selections) {
      visit(selection.kind === Kind.FIELD ? { ...selection, arguments: [] } : selection, collect)
    }
  }
  const found = [...names].sort()
  tellingVariables.set(document, found)
  return found
}
