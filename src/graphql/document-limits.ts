import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import {
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** Limits of a document. Each holds over HTTP and WebSocket, and for persisted operations. */
const MAX_DEPTH = 10
const MAX_ALIASES = 15
const MAX_TOKENS = 1_000
/**
 * The same as for a message over a WebSocket. Longer values go into variables: to report the place of a fault, the
 * lines of the document are counted.
 */
const MAX_LENGTH = 64 * 1024
const MAX_DIRECTIVES = 50
/** Counted with each fragment written out wherever it is spread: a short document can spread billions of times. */
const MAX_SELECTIONS = 5_000

export function documentLimits({ introspection }: { introspection: boolean }): Plugin[] {
  return [
    { onParse: ({ params: { source } }) => checkLength(typeof source === 'string' ? source : source.body) },
    maxDepthPlugin({ n: MAX_DEPTH, exposeLimits: true }),
    maxAliasesPlugin({ n: MAX_ALIASES }),
    maxTokensPlugin({ n: MAX_TOKENS }),
    maxDirectivesPlugin({ n: MAX_DIRECTIVES }),
    withRule(selectionsRule),
    withRule(subscribedFieldRule),
    ...(introspection ? [] : [withRule(NoSchemaIntrospectionCustomRule)]),
  ]
}

function checkLength({ length }: string): void {
  if (length > MAX_LENGTH) throw new GraphQLError(`Syntax Error: Length limit of ${MAX_LENGTH} exceeded.`)
}

/** Unlike Yoga's own plugins for rules, it also applies over WebSocket. */
function withRule(rule: ValidationRule): Plugin {
  return { onValidate: ({ addValidationRule }) => addValidationRule(rule) }
}

/** Walks through each fragment only once, even when it is spread many times. */
function selectionsRule(context: ValidationContext) {
  const counted = new Map<string, number>()

  function count({ selections }: SelectionSetNode): number {
    let sum = selections.length
    for (const selection of selections) {
      if (selection.kind === Kind.FRAGMENT_SPREAD) sum += countFragment(selection.name.value)
      else if (selection.selectionSet) sum += count(selection.selectionSet)
    }
    return sum
  }

  function countFragment(name: string): number {
    const known = counted.get(name)
    if (known !== undefined) return known
    // Another rule refuses a fragment that spreads itself.
    counted.set(name, 0)
    const fragment = context.getFragment(name)
    const sum = fragment ? count(fragment.selectionSet) : 0
    counted.set(name, sum)
    return sum
  }

  return {
    OperationDefinition({ selectionSet }: { readonly selectionSet: SelectionSetNode }) {
      if (count(selectionSet) <= MAX_SELECTIONS) return
      context.reportError(new GraphQLError(`Syntax Error: Selections limit of ${MAX_SELECTIONS} exceeded.`))
    },
  }
}

const CONDITIONS = ['skip', 'include']

/**
 * A subscription must not skip its root field. The specification says so since 2025; graphql 16 fails on such a
 * document.
 */
function subscribedFieldRule(context: ValidationContext) {
  const seen = new Set<string>()

  function check({ selections }: SelectionSetNode): void {
    for (const selection of selections) {
      const condition = selection.directives?.find(({ name }) => CONDITIONS.includes(name.value))
      if (condition) {
        context.reportError(new GraphQLError('A subscription must not skip its field.', { nodes: condition }))
      }
      if (selection.kind === Kind.INLINE_FRAGMENT) check(selection.selectionSet)
      if (selection.kind !== Kind.FRAGMENT_SPREAD || seen.has(selection.name.value)) continue
      seen.add(selection.name.value)
      const fragment = context.getFragment(selection.name.value)
      if (fragment) check(fragment.selectionSet)
    }
  }

  return {
    OperationDefinition({ operation, selectionSet }: OperationDefinitionNode) {
      if (operation === OperationTypeNode.SUBSCRIPTION) check(selectionSet)
    },
  }
}
