import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLObjectType, GraphQLSchema } from 'graphql'

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      roots: RootsPlugin<Types>
    }
  }
}

/** Rules of every root field, so that a new field cannot forget them. It must be the first plugin of the builder. */
class RootsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  /** A refused mutation is null by itself: the others of its operation took effect, and their payloads say so. */
  override onOutputFieldConfig(config: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    return config.kind === 'Mutation' ? { ...config, type: { ...config.type, nullable: true } } : config
  }

  override afterBuild(schema: GraphQLSchema): GraphQLSchema {
    for (const root of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()])
      if (root) addOtherNames(root)
    return schema
  }
}

/**
 * A field that has another name is there under that one, too: deprecated under a former name, and as it is under a name
 * that the contract promises.
 */
function addOtherNames(root: GraphQLObjectType): void {
  const fields = root.getFields()
  for (const field of Object.values(fields)) {
    const { formerly, alsoNamed } = field.extensions
    const name = formerly ?? alsoNamed
    if (typeof name !== 'string') continue
    if (fields[name]) throw new Error(`${root.name} has ${name} already, another name of ${field.name}`)
    fields[name] = {
      ...field,
      name,
      description: `The same as \`${field.name}\`.`,
      ...(formerly !== undefined && { deprecationReason: `Use ${field.name}.` }),
      extensions: { ...field.extensions, nameNow: field.name },
    }
  }
}

SchemaBuilder.registerPlugin('roots', RootsPlugin)
