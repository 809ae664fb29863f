import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'

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
}

SchemaBuilder.registerPlugin('roots', RootsPlugin)
