import { pruneSchema } from '@graphql-tools/utils'
import {
  buildSchema,
  DEFAULT_DEPRECATION_REASON,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema as served } from '../src/schema.ts'

// The conventions of GraphQL and of Relay's connections that generators of code and normalized caches rely on.

const PASCAL = /^[A-Z][A-Za-z0-9]*$/
const CAMEL = /^[a-z][A-Za-z0-9]*$/
const UPPER = /^[A-Z][A-Z0-9_]*$/

/** What breaks a convention, each in a sentence. */
function faultsOf(schema: GraphQLSchema): string[] {
  const faults: string[] = []
  const demand = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault)
  }
  const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'))
  const reached = pruneSchema(schema).getTypeMap()
  for (const type of types) {
    const { name } = type
    demand(PASCAL.test(name), `the type ${name} is not in PascalCase`)
    demand(name in reached || isLeafType(type), `nothing leads to ${name}`)
    if (isEnumType(type))
      for (const value of type.getValues()) {
        demand(UPPER.test(value.name), `${name}.${value.name} is not in upper case`)
        demand(
          value.deprecationReason !== DEFAULT_DEPRECATION_REASON,
          `${name}.${value.name} is deprecated without a reason`,
        )
      }
    if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) continue
    for (const field of Object.values(type.getFields())) {
      const members = [field, ...('args' in field ? field.args : [])]
      for (const member of members) {
        const place = member === field ? `${name}.${field.name}` : `${name}.${field.name}(${member.name})`
        demand(CAMEL.test(member.name), `${place} is not in camelCase`)
        demand(member.deprecationReason !== DEFAULT_DEPRECATION_REASON, `${place} is deprecated without a reason`)
      }
    }
    if (isObjectType(type)) pagesOf(type, demand)
  }
  for (const { name, type } of Object.values(schema.getMutationType()?.getFields() ?? {}))
    demand(isObjectType(getNamedType(type)), `the mutation ${name} answers no object`)
  return faults
}

type Demand = (holds: boolean, fault: string) => void

/** Relay's rules for connections, their edges, and the fields that answer them. */
function pagesOf(type: GraphQLObjectType, demand: Demand): void {
  const { name } = type
  const fields = type.getFields()
  if (name.endsWith('Connection')) {
    demand(isListType(required(fields.edges)), `${name}.edges is not a list that is always there`)
    demand(String(fields.pageInfo?.type) === 'PageInfo!', `${name}.pageInfo is not a PageInfo!`)
    const edge = fields.edges && getNamedType(fields.edges.type)
    const own = isObjectType(edge) ? edge.getFields() : {}
    demand(edge?.name.endsWith('Edge') === true, `${name}.edges has no edges`)
    demand(own.node !== undefined && !isListType(nullable(own.node.type)), `${edge?.name}.node is not one object`)
    demand(isNonNullType(own.cursor?.type), `${edge?.name}.cursor may be absent`)
  }
  for (const field of Object.values(fields)) {
    if (!getNamedType(field.type).name.endsWith('Connection')) continue
    const args = Object.fromEntries(field.args.map((arg) => [arg.name, String(arg.type)]))
    const isPaged = (size: string, cursor: string) => args[size] === 'Int' && args[cursor] === 'String'
    demand(isPaged('first', 'after') || isPaged('last', 'before'), `${name}.${field.name} takes no page`)
  }
  if (name === 'PageInfo')
    for (const [member, of] of Object.entries(PAGE_INFO))
      demand(String(fields[member]?.type) === of, `PageInfo.${member} is not ${of}`)
}

const PAGE_INFO = { hasNextPage: 'Boolean!', hasPreviousPage: 'Boolean!', startCursor: 'String', endCursor: 'String' }
const nullable = (type: GraphQLOutputType) => (isNonNullType(type) ? type.ofType : type)
const required = (field: GraphQLField<unknown, unknown> | undefined) =>
  field && isNonNullType(field.type) ? field.type.ofType : undefined

describe('the schema follows the conventions of GraphQL and of Relay', () => {
  it('everywhere', () => expect(faultsOf(served)).toEqual([]))

  const PAGE = `type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }`
  const CONNECTION = 'type AConnection { edges: [AEdge!]! pageInfo: PageInfo! } type AEdge { node: A cursor: String! }'
  const QUERY = 'type Query { all(first: Int, after: String): AConnection! } type A { a: Int }'
  it.each([
    ['type Query { a: b } type b { c: Int }', 'the type b is not in PascalCase'],
    ['type Query { a_b: Int }', 'Query.a_b is not in camelCase'],
    ['type Query { a(B: Int): Int }', 'Query.a(B) is not in camelCase'],
    ['type Query { a: E } enum E { one }', 'E.one is not in upper case'],
    ['type Query { a: Int @deprecated }', 'Query.a is deprecated without a reason'],
    ['type Query { a: Int } type Lost { b: Int }', 'nothing leads to Lost'],
    ['type Query { a: Int } type Mutation { do: Int }', 'the mutation do answers no object'],
    [`${QUERY.replace('first: Int, ', '')} ${CONNECTION} ${PAGE}`, 'Query.all takes no page'],
    [
      `${QUERY} ${CONNECTION.replace('[AEdge!]!', '[AEdge!]')} ${PAGE}`,
      'AConnection.edges is not a list that is always there',
    ],
    [`${QUERY} ${CONNECTION.replace('PageInfo!', 'PageInfo')} ${PAGE}`, 'AConnection.pageInfo is not a PageInfo!'],
    [`${QUERY} ${CONNECTION.replaceAll('AEdge', 'ALink')} ${PAGE}`, 'AConnection.edges has no edges'],
    [`${QUERY} ${CONNECTION.replace('node: A', 'node: [A]')} ${PAGE}`, 'AEdge.node is not one object'],
    [`${QUERY} ${CONNECTION.replace('cursor: String!', 'cursor: String')} ${PAGE}`, 'AEdge.cursor may be absent'],
    [
      `${QUERY} ${CONNECTION} ${PAGE.replace('endCursor: String', 'endCursor: Int')}`,
      'PageInfo.endCursor is not String',
    ],
  ])('so that %j is refused', (text, fault) => expect(faultsOf(buildSchema(text))).toEqual([fault]))

  it('and a schema of pages like this one is not', () =>
    expect(faultsOf(buildSchema(`${QUERY} ${CONNECTION} ${PAGE}`))).toEqual([]))
})
