import { openapi } from '../../src/serve/openapi/document.ts'
import type { Values } from '../serve/graphql/documents.ts'

// REST requests that are made from the OpenAPI document, so that a test of every route covers new routes, too.

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
}

interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

export interface SampleRequest {
  readonly path: string
  readonly body?: unknown
}

/** A request for a route by its description. The names of parameters and members select the values. */
export function requestOf(method: string, path: string, values: Values): SampleRequest {
  const described = path.replaceAll(/:(\w+)/g, '{$1}')
  const paths = openapi.paths as unknown as Record<string, Record<string, Operation>>
  const operation = paths[described]?.[method.toLowerCase()]
  if (!operation) throw new Error(`${method} ${path} is not in the OpenAPI document`)
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    if (!(name in values)) throw new Error(`give ${name} of ${path} a value in \`values\` of test/faults/walkers.ts`)
    return String(values[name])
  })
  const needsEnvironment = operation.parameters?.some(
    ({ in: where, name }) => where === 'query' && name === 'environment',
  )
  const schema = operation.requestBody?.content['application/json']?.schema
  return {
    path: `${filled}${needsEnvironment ? `?environment=${values.environment}` : ''}`,
    body: schema && sampleOf(schema, '', values),
  }
}

function sampleOf(schema: Schema, name: string, values: Values): unknown {
  if (schema.$ref) {
    const schemas = openapi.components.schemas as unknown as Record<string, Schema>
    const { [schema.$ref.split('/').at(-1) ?? '']: found } = schemas
    if (!found) throw new Error(`${schema.$ref} is not in the OpenAPI document`)
    return sampleOf(found, name, values)
  }
  const isText = schema.type === 'string'
  if (!isText && ['definition', 'values', 'customData'].includes(name)) return JSON.parse(String(values[name]))
  if (schema.enum) return schema.enum[0]
  if (schema.const !== undefined) return schema.const
  const [choice] = schema.oneOf ?? schema.anyOf ?? []
  if (choice) return sampleOf(choice, name, values)
  const [type] = [schema.type].flat()
  if (type === 'object') {
    // A player is named by its id or by an identity, not by both.
    const isTarget = ['playerId', 'provider', 'subject'].every((member) => member in (schema.properties ?? {}))
    const properties = Object.entries(schema.properties ?? {}).filter(([member]) => !isTarget || member !== 'playerId')
    return Object.fromEntries(properties.map(([member, inner]) => [member, sampleOf(inner, member, values)]))
  }
  if (type === 'array') return [sampleOf(schema.items ?? {}, name, values)]
  if (type === 'integer' || type === 'number') return 1
  return type === 'boolean' ? true : (values[name] ?? 'x')
}
