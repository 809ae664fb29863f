import SchemaBuilder, {
  BasePlugin,
  type PothosInputFieldConfig,
  type PothosOutputFieldConfig,
  type PothosTypeConfig,
  type SchemaTypes,
} from '@pothos/core'
import { ARGUMENT_DESCRIPTIONS, CONNECTION_DESCRIPTIONS, DESCRIPTIONS } from './descriptions.ts'

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      descriptions: DescriptionsPlugin<Types>
    }
  }
}

/** Describes what has no description of its own: the parts of connections, and words that mean the same everywhere. */
class DescriptionsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onTypeConfig(config: PothosTypeConfig): PothosTypeConfig {
    return { ...config, description: config.description ?? describeType(config.name) }
  }

  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    const shared = PAGED.test(config.parentType) ? CONNECTION_DESCRIPTIONS : DESCRIPTIONS
    return { ...config, description: config.description ?? shared[config.name] }
  }

  override onInputFieldConfig(config: PothosInputFieldConfig<Types>): PothosInputFieldConfig<Types> {
    const shared =
      config.kind === 'Arg' && !config.type.required ? { ...DESCRIPTIONS, ...ARGUMENT_DESCRIPTIONS } : DESCRIPTIONS
    return { ...config, description: config.description ?? shared[config.name] }
  }
}

SchemaBuilder.registerPlugin('descriptions', DescriptionsPlugin)

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
