import { REFUSALS, Refusal, type RefusalKind } from '../base/errors.ts'
import type { Schema } from '../declare/shape.ts'
import { clientEvent } from '../events/client-event.ts'
import { PASSED_TYPES } from '../game/definition/handles.ts'
import { openapi } from '../serve/openapi/document.ts'

// The types and shapes of the libraries for game clients and game servers, made from the same declarations as
// `/openapi.json`. The libraries import nothing of the service.

/** The schemas that game clients use. Schemas that these refer to are written, too. */
const CLIENT_ROOTS = [
  'ProgressResponse',
  'SeasonResponse',
  'SeasonsResponse',
  'ScenarioView',
  'AddXpResponse',
  'ClaimResponse',
  'PremiumResponse',
  'StartRunResponse',
  'CrossResponse',
  'RunResponse',
  'InboxRequest',
  'InboxResponse',
  'InboxClaimResponse',
  'InboxClaimAllResponse',
  'InboxReadResponse',
  'CustomLoginRequest',
  'CustomLinkRequest',
  'IdTokenLoginRequest',
  'IdTokenLinkRequest',
  'OidcLoginRequest',
  'OidcLinkRequest',
  'DeviceLoginRequest',
  'SwitchRequest',
  'PlayerUpdateRequest',
  'OwnIdentities',
  'OwnSessions',
  'EndedSessions',
  'PlannedDeletion',
  'IdentityUnlinkRequest',
  'TokenPair',
  'Player',
  'StorageValues',
  'StorageListRequest',
  'StorageKeys',
  'EventFields',
]
const SERVER_ROOTS = [
  'FindPlayerRequest',
  'PlayersProgressRequest',
  'PlayersProgressResponse',
  'GrantXpRequest',
  'GrantXpResponse',
  'WalletGrantRequest',
  'WalletSpendRequest',
  'WalletResponse',
  'ServerCrossRequest',
  'EndedLogins',
]

/** Those of REST, and the fields of an event, which the library reads over GraphQL. */
const schemas: Record<string, Schema> = { ...openapi.components.schemas, EventFields: clientEvent.schema }

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
  if (description !== undefined) return description
  return alternatives(schema)?.map(descriptionOf).find(Boolean)
}

/**
 * What the library checks in an answer, as source. Values of closed sets are not checked: a later service may have
 * more of them.
 */
function shapeOf(schema: Schema): string {
  const name = nameOf(schema)
  if (name !== undefined) return constantName(name)
  const choices = alternatives(schema)
  const { type } = schema as { type?: string | string[] }
  const other = choices ? choices.filter((choice) => choice.type !== 'null') : []
  if (choices?.length === 2 && other.length === 1) return `{ orNull: ${shapeOf(other[0] as Schema)} }`
  if (Array.isArray(type) && type.length === 2 && type[1] === 'null')
    return `{ orNull: ${shapeOf({ ...schema, type: type[0] as string })} }`
  switch (type) {
    case 'integer':
      return isInt64(schema) ? `'int64'` : `'integer'`
    case 'string':
    case 'boolean':
      return `'${type}'`
    case 'array':
      return `{ list: ${shapeOf(schema.items as Schema)} }`
    case 'object':
      return membersOf(schema) ? printShape(schema) : `'object'`
    default:
      throw new Error(`the shape of ${JSON.stringify(schema)} is unknown`)
  }
}

function printShape(schema: Schema): string {
  const required = (schema.required ?? []) as readonly string[]
  const members = Object.entries(membersOf(schema) ?? {}).map(([name, member]) => {
    const shape = shapeOf(member)
    return `${name}: ${required.includes(name) ? shape : `{ ifPresent: ${shape} }`}`
  })
  return `{ members: { ${members.join(', ')} } }`
}

/** The names of these schemas and of all schemas that they refer to, each after those that it refers to. */
function reached(roots: readonly string[]): string[] {
  const found = new Set<string>()
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    const name = nameOf(schema as Schema)
    if (name !== undefined) visit(schemas[name])
    for (const member of Object.values(schema)) visit(member)
    if (name !== undefined) found.add(name)
  }
  for (const root of roots) visit({ $ref: root })
  return [...found]
}

/** The declarations of these schemas: types, and the shapes of answers. */
function declarationsOf(names: readonly string[]): { readonly types: string[]; readonly shapes: string[] } {
  const inOrder = Object.keys(schemas).filter((name) => names.includes(name))
  const types = inOrder.map((name) => {
    const schema = schemas[name] as Schema
    const description = descriptionOf(schema)
    const comment = description ? `/** ${description} */\n` : ''
    return `${comment}export interface ${name} {\n${printMembers(schema, !isRequest(name), '  ')}}\n`
  })
  const shapes = names
    .filter((name) => !isRequest(name))
    .map((name) => `export const ${constantName(name)}: ShapeOf<${name}> = ${printShape(schemas[name] as Schema)}\n`)
  return { types, shapes }
}

const isRequest = (name: string): boolean => name.endsWith('Request')

const HEAD = '// Written by `npm run schema` from the declarations of the service. Change those instead.\n'

const PASSED = 'Types of nodes that the service leaves at once, so that they are never active'

/** The text of `client/contract.ts`, not yet formatted. */
export function printContract(): string {
  const { types, shapes } = declarationsOf(reached(CLIENT_ROOTS))
  const codes = Object.keys(REFUSALS).map((kind) => `  | '${new Refusal(kind as RefusalKind).code}'\n`)
  return [
    HEAD,
    'import type { ShapeOf } from "./shape.ts"\n',
    ...types,
    `/** The code of an answer with a status of 400 or more. */\nexport type RefusalCode =\n${codes.join('')}`,
    `/** ${PASSED}. */\nexport const PASSED_TYPES: readonly string[] = ${JSON.stringify(PASSED_TYPES)}\n`,
    '// The shapes of answers.\n',
    ...shapes,
  ].join('\n')
}

/** What the client for Unity has of it. Its models are written by hand. */
export function printUnityContract(): string {
  const types = PASSED_TYPES.map((type) => JSON.stringify(type)).join(', ')
  return `${HEAD}
namespace Tierway
{
    internal static class Contract
    {
        /// <summary>${PASSED}.</summary>
        internal static readonly string[] PassedTypes = { ${types} };
    }
}
`
}

/** The text of `sdk/server-contract.ts`, not yet formatted. It has what game clients do not need. */
export function printServerContract(): string {
  const ofClients = reached(CLIENT_ROOTS)
  const { types, shapes } = declarationsOf(reached(SERVER_ROOTS).filter((name) => !ofClients.includes(name)))
  const body = [...types, '// The shapes of answers.\n', ...shapes].join('\n')
  const used = ofClients.flatMap((name) => [`type ${name}`, constantName(name)]).filter((name) => isUsed(body, name))
  return [
    HEAD,
    `import { ${used.join(', ')} } from "../client/contract.ts"`,
    'import type { ShapeOf } from "../client/shape.ts"\n',
    body,
  ].join('\n')
}

const isUsed = (text: string, name: string): boolean => new RegExp(`\\b${name.replace('type ', '')}\\b`).test(text)

const constantName = (name: string): string => name.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
