import { print } from '../../base/json.ts'
import type { Schema } from '../../declare/document/parts.ts'
import { scenarioData } from './parse.ts'

// A scenario's definition as JSON Schema, for editors and build pipelines. It checks each place by itself. Only
// `parseDefinition` checks places against each other (an edge's nodes, a tier's level, the order of dates), and time
// zones against their database. Tests keep the two in agreement.

export const definitionSchema: Schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:tierway:scenario',
  title: 'Scenario',
  ...scenarioData.schema,
  $defs: scenarioData.named,
}

/** The schema as text, with exact integers. */
export const definitionSchemaText = print(definitionSchema)
