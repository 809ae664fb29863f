import { maxAliasesPlugin } from '@escape.tech/graphql-armor-max-aliases'
import { maxDepthPlugin } from '@escape.tech/graphql-armor-max-depth'
import { maxDirectivesPlugin } from '@escape.tech/graphql-armor-max-directives'
import { maxTokensPlugin } from '@escape.tech/graphql-armor-max-tokens'
import { NoSchemaIntrospectionCustomRule } from 'graphql'
import type { Plugin } from 'graphql-yoga'

/** What a document may ask for. Every limit holds over HTTP and over WebSocket alike, for persisted operations too. */
const MAX_DEPTH = 10
const MAX_ALIASES = 15
const MAX_TOKENS = 1_000
const MAX_DIRECTIVES = 50

export function documentLimits({ introspection }: { introspection: boolean }): Plugin[] {
  return [
    maxDepthPlugin({ n: MAX_DEPTH, exposeLimits: true }),
    maxAliasesPlugin({ n: MAX_ALIASES }),
    maxTokensPlugin({ n: MAX_TOKENS }),
    maxDirectivesPlugin({ n: MAX_DIRECTIVES }),
    ...(introspection ? [] : [noIntrospection()]),
  ]
}

/** Yoga's own plugin for this knows HTTP only: over a WebSocket it lets introspection through. */
function noIntrospection(): Plugin {
  return { onValidate: ({ addValidationRule }) => addValidationRule(NoSchemaIntrospectionCustomRule) }
}
