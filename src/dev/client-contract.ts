import type { Int64Fields } from '../client/json.ts'
import { REFUSALS, Refusal, type RefusalKind } from '../errors.ts'
import { openapi } from '../openapi/document.ts'
import type { Schema } from '../request/shape.ts'

// The types of the client library, made from the same declarations as `/openapi.json`. The library imports nothing of
// the service.

/** The schemas that game clients use. Schemas that these refer to are written, too. */
const ROOTS = [
  'ProgressResponse',
  'AddXpResponse',
  'ClaimResponse',
  'PremiumResponse',
  'StartRunResponse',
  'CrossResponse',
  'RunResponse',
  'CustomLoginRequest',
  'CustomLinkRequest',
  'TokenPair',
  'Player',
  'StorageListRequest',
  'StorageKeys',
]

const schemas: Record<string, Schema> = openapi.components.schemas

const nameOf = ({ $ref }: Schema): string | undefined => ($ref as string | undefined)?.split('/').at(-1)
const isInt64 = ({ format }: Schema): boolean => format === 'int64'
const alternatives = ({ anyOf }: Schema): readonly Schema[] | undefined => anyOf as Schema[] | undefined
const membersOf = ({ properties }: Schema) => properties as Readonly<Record<string, Schema>> | undefined

function typeOf(schema: Schema, isAnswer: boolean, indent = ''): string {
  const name = nameOf(schema)
  if (name !== undefined) return name
  const choices = alternatives(schema)
  if (choices) return choices.map((choice) => typeOf(choice, isAnswer, indent)).join(' | ')
  const { type, enum: values } = schema as { type?: string | string[]; enum?: readonly (string | null)[] }
  if (values) return values.map((value) => (value === null ? 'null' : `'${value}'`)).join(' | ')
  if (Array.isArray(type)) return type.map((one) => typeOf({ ...schema, type: one }, isAnswer, indent)).join(' | ')
  switch (type) {
    case 'integer':
      if (isInt64(schema)) return isAnswer ? 'bigint' : 'bigint | number'
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'array': {
      const item = typeOf(schema.items as Schema, isAnswer, indent)
      return `readonly ${item.includes(' ') && !item.startsWith('{') ? `(${item})` : item}[]`
    }
    case 'object':
      return membersOf(schema)
        ? `{\n${printMembers(schema, isAnswer, `${indent}  `)}${indent}}`
        : 'Readonly<Record<string, unknown>>'
    default:
      throw new Error(`the type of ${JSON.stringify(schema)} is unknown`)
  }
}

function printMembers(schema: Schema, isAnswer: boolean, indent: string): string {
  const required = (schema.required ?? []) as readonly string[]
  return Object.entries(membersOf(schema) ?? {})
    .map(([name, member]) => {
      const description = descriptionOf(member)
      const comment = description ? `${indent}/** ${description} */\n` : ''
      return `${comment}${indent}readonly ${name}${required.includes(name) ? '' : '?'}: ${typeOf(member, isAnswer, indent)}\n`
    })
    .join('')
}

function descriptionOf(schema: Schema): string | undefined {
  const { description } = schema as { description?: string }
  // Sections of the contract mean nothing to users of the library.
  if (description !== undefined) return description.startsWith('Spec ') ? undefined : description
  return alternatives(schema)?.map(descriptionOf).find(Boolean)
}

function int64FieldsOf(schema: Schema): Int64Fields | undefined {
  const name = nameOf(schema)
  if (name !== undefined) return int64FieldsOf(schemas[name] as Schema)
  if (isInt64(schema)) return 1
  const [first] = (alternatives(schema) ?? []).map(int64FieldsOf).filter((fields) => fields !== undefined)
  if (first !== undefined) return first
  if (schema.type === 'array') {
    const item = int64FieldsOf(schema.items as Schema)
    return item && [item]
  }
  const members = Object.entries(membersOf(schema) ?? {}).flatMap(([member, value]) => {
    const fields = int64FieldsOf(value)
    return fields === undefined ? [] : [[member, fields] as const]
  })
  return members.length > 0 ? Object.fromEntries(members) : undefined
}

/** The names of these schemas and of all schemas that they refer to, in the order of the document. */
function reached(roots: readonly string[]): string[] {
  const found = new Set<string>()
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    const name = nameOf(schema as Schema)
    if (name !== undefined && !found.has(name)) {
      found.add(name)
      visit(schemas[name])
    }
    for (const member of Object.values(schema)) visit(member)
  }
  for (const root of roots) visit({ $ref: root })
  return Object.keys(schemas).filter((name) => found.has(name))
}

/** The text of `client/contract.ts`, not yet formatted. */
export function printContract(): string {
  const interfaces = reached(ROOTS).map((name) => {
    const schema = schemas[name] as Schema
    const description = descriptionOf(schema)
    const comment = description ? `/** ${description} */\n` : ''
    return `${comment}export interface ${name} {\n${printMembers(schema, !name.endsWith('Request'), '  ')}}\n`
  })
  const codes = Object.keys(REFUSALS).map((kind) => `  | '${new Refusal(kind as RefusalKind).code}'\n`)
  const fields = ROOTS.flatMap((name) => {
    const found = name.endsWith('Request') ? undefined : int64FieldsOf({ $ref: name })
    return found === undefined ? [] : [`export const ${constantName(name)} = ${printFields(found)} as const\n`]
  })
  return [
    '// Written by `npm run schema` from the declarations of the service. Change those instead.\n',
    ...interfaces,
    `/** The code of an answer with a status of 400 or more. */\nexport type RefusalCode =\n${codes.join('')}`,
    '// The places of 64-bit integers in answers.\n',
    ...fields,
  ].join('\n')
}

const constantName = (name: string): string => `${name.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()}_INT64`

function printFields(fields: Int64Fields): string {
  if (fields === 1) return '1'
  if (Array.isArray(fields)) return `[${printFields(fields[0])}]`
  return `{ ${Object.entries(fields)
    .map(([member, value]) => `${member}: ${printFields(value)}`)
    .join(', ')} }`
}
