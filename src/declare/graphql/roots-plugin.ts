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
      if (root) addFormerNames(root)
    return schema
  }
}

/** A field that was renamed is there under its former name, too: the same field, which is deprecated. */
function addFormerNames(root: GraphQLObjectType): void {
  const fields = root.getFields()
  for (const field of Object.values(fields)) {
    const { formerly } = field.extensions
    if (typeof formerly !== 'string') continue
    if (fields[formerly]) throw new Error(`${root.name} has ${formerly} already, the former name of ${field.name}`)
    const description = `The same as \`${field.name}\`.`
    const extensions = { ...field.extensions, nameNow: field.name }
    fields[formerly] = { ...field, name: formerly, description, deprecationReason: `Use ${field.name}.`, extensions }
  }
}

SchemaBuilder.registerPlugin('roots', RootsPlugin)
