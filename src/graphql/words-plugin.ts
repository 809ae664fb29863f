import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  type SchemaTypes,
} from '@pothos/core'
import { ARGUMENT_WORDS, CONNECTION_WORDS, WORDS } from './words.ts'

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      words: WordsPlugin<Types>
    }
  }
}

/** Describes what has no description of its own: the parts of connections, and words that mean the same everywhere. */
class WordsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onTypeConfig(config: PothosTypeConfig): PothosTypeConfig {
    return { ...config, description: config.description ?? describeType(config.name) }
  }

  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const words = PAGED.test(config.parentType) ? CONNECTION_WORDS : WORDS
    return { ...config, description: config.description ?? words[config.name] }
  }

  override onInputFieldConfig(config: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const words = config.kind === 'Arg' && !config.type.required ? { ...WORDS, ...ARGUMENT_WORDS } : WORDS
    return { ...config, description: config.description ?? words[config.name] }
  }
}

SchemaBuilder.registerPlugin('words', WordsPlugin)

// ChangedEdge and DefinitionEdge are edges of a scenario's graph.
const PAGED = /^PageInfo$|Connection$|(?<!^Changed|^Definition)Edge$/

/** Inputs, results and payloads are named after their field. */
function describeType(name: string): string | undefined {
  if (name === 'PageInfo') return 'The place of a page in its list.'
  if (PAGED.test(name)) return name.endsWith('Edge') ? 'An entry of a page.' : 'A page of a list.'
  const [, first = '', rest = '', kind] = /^(.)(.*)(Input|Result|Payload)$/.exec(name) ?? []
  if (kind === undefined) return undefined
  return `What \`${first.toLowerCase()}${rest}\` ${kind === 'Input' ? 'takes' : 'answers'}.`
}
