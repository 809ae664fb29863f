import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import {
  type DirectiveNode,
  type DocumentNode,
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
  type ValidationRule,
  validate,
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
/** Faults that one answer reports, with the last one saying that there are more. */
const MAX_FAULTS = 10
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
    subscribedField,
    boundedFaults(introspection),
    ...(introspection ? [] : [withRule(NoSchemaIntrospectionCustomRule)]),
  ]
}

function checkLength({ length }: string): void {
  if (length > MAX_LENGTH) throw new GraphQLError(`Syntax Error: Length limit of ${MAX_LENGTH} exceeded.`)
}

/** A document with many unknown names would cost much: each is compared with every name of the schema to suggest some. */
function boundedFaults(suggest: boolean): Plugin {
  const options = { maxErrors: MAX_FAULTS - 1, hideSuggestions: !suggest }
  return {
    onValidate: ({ setValidationFn }) =>
      setValidationFn((schema, document, rules) => validate(schema, document, rules, options)),
  }
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
 * A subscription must not skip its root field. The specification says so since 2025. Found before the rules of graphql
 * 16, which would read the condition without its variables, and say that they were not given.
 */
const subscribedField: Plugin = {
  onParse:
    () =>
    ({ result, replaceParseResult }) => {
      const condition = result && 'definitions' in result ? conditionIn(result) : undefined
      if (condition)
        replaceParseResult(new GraphQLError('A subscription must not skip its field.', { nodes: condition }))
    },
}

function conditionIn({ definitions }: DocumentNode): DirectiveNode | undefined {
  const seen = new Set<string>()

  function find({ selections }: SelectionSetNode): DirectiveNode | undefined {
    for (const selection of selections) {
      const condition =
        selection.directives?.find(({ name }) => CONDITIONS.includes(name.value)) ?? findBelow(selection)
      if (condition) return condition
    }
    return undefined
  }

  function findBelow(selection: SelectionNode): DirectiveNode | undefined {
    if (selection.kind === Kind.INLINE_FRAGMENT) return find(selection.selectionSet)
    if (selection.kind !== Kind.FRAGMENT_SPREAD || seen.has(selection.name.value)) return undefined
    seen.add(selection.name.value)
    for (const fragment of definitions)
      if (fragment.kind === Kind.FRAGMENT_DEFINITION && fragment.name.value === selection.name.value)
        return find(fragment.selectionSet)
    return undefined
  }

  for (const definition of definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION || definition.operation !== OperationTypeNode.SUBSCRIPTION)
      continue
    const condition = find(definition.selectionSet)
    if (condition) return condition
  }
  return undefined
}
