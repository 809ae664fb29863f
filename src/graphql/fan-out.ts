import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  Kind,
  visit,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import type { StreamEvent } from '../events/catalogue.ts'
import { printCursor } from '../events/cursor.ts'
import type { Metrics } from '../metrics.ts'
import { stream } from './stream.ts'

/** What an event is to all who asked for it in the same words. */
export class SharedResult implements ExecutionResult {
  readonly data: ExecutionResult['data']
  readonly errors?: ExecutionResult['errors']
  // Not members like the two above: a copy of a result, made when an error in it is masked, must not show them.
  readonly #event: StreamEvent
  #text: string | undefined

  constructor(event: StreamEvent, { data, errors }: ExecutionResult) {
    this.#event = event
    this.data = data
    if (errors) this.errors = errors
  }

  /** Names the event's place in its stream. */
  get cursor(): string {
    return printCursor(this.#event.environmentId, this.#event.position)
  }

  /** The result as JSON, printed once for all. */
  get text(): string {
    this.#text ??= JSON.stringify(this)
    return this.#text
  }
}

/** What is told of events in the same words: same document, same variables where they matter. */
interface View {
  readonly key: string
  followers: number
  /** By event. Followers near the end of a stream are given the very same events; a result goes with its event. */
  readonly results: WeakMap<StreamEvent, Promise<SharedResult>>
}

/**
 * Resolves and prints an event once for all who follow it in the same words, not once for each. What they may see is
 * decided before, in the resolver that subscribes; the fields of an event know no caller.
 */
export function fanOut(metrics: Metrics): Plugin {
  const views = new Map<string, View>()

  function enter(args: ExecutionArgs): View {
    const key = keyOf(args)
    const view = views.get(key) ?? { key, followers: 0, results: new WeakMap() }
    view.followers += 1
    views.set(key, view)
    return view
  }

  function leave(view: View): void {
    view.followers -= 1
    if (view.followers === 0) views.delete(view.key)
  }

  function resultOf(view: View, args: ExecutionArgs, event: StreamEvent): Promise<SharedResult> {
    const known = view.results.get(event)
    if (known) return known
    const result = resolve(args, event)
    view.results.set(event, result)
    return result
  }

  async function resolve(args: ExecutionArgs, event: StreamEvent): Promise<SharedResult> {
    metrics.eventsResolved.inc()
    // Without a context: it would be that of whoever came first.
    return new SharedResult(event, await execute({ ...args, rootValue: event, contextValue: undefined }))
  }

  async function subscribe(args: ExecutionArgs): Promise<ExecutionResult | AsyncGenerator<ExecutionResult>> {
    const source = await createSourceEventStream(args)
    if (!(Symbol.asyncIterator in source)) return source
    const events = source[Symbol.asyncIterator]() as AsyncIterator<StreamEvent, undefined>
    const view = enter(args)
    return stream<ExecutionResult>(
      async () => {
        const { done, value: event } = await events.next()
        if (done) return undefined
        metrics.eventsSent.inc()
        return resultOf(view, args, event)
      },
      () => {
        leave(view)
        return events.return?.()
      },
    )
  }

  return { onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe) }
}

function keyOf({ document, operationName, variableValues }: ExecutionArgs): string {
  const variables = telling(document).map((name) => [name, variableValues?.[name] ?? null])
  return `${operationName ?? ''}\n${JSON.stringify(variables)}\n${document.loc?.source.body ?? JSON.stringify(document)}`
}

const tellingVariables = new WeakMap<DocumentNode, readonly string[]>()

/**
 * The variables that change what is told of an event. The arguments of the subscription itself choose events and change
 * nothing in them: followers that come back with cursors of their own still share.
 */
function telling(document: DocumentNode): readonly string[] {
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
