import { readFileSync } from 'node:fs'
import { getOperationAST, isInterfaceType, isObjectType, parse } from 'graphql'
import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../src/base/config.ts'
import { SIZE_ARGUMENTS, WEIGHTS } from '../../../src/declare/graphql/cost-weights.ts'
import { schema } from '../../../src/schema.ts'
import { costOf } from '../../../src/serve/graphql/operation-cost.ts'

function costs(text: string, variables: Readonly<Record<string, unknown>> = {}): number {
  const document = parse(text)
  const operation = getOperationAST(document)
  if (!operation) throw new Error('the document has no single operation')
  return costOf(operation, { schema, document, variables })
}

describe('the cost of an operation', () => {
  it.each([
    ['an object is 1, and its plain fields are free', '{ me { id nickname status } }', 1],
    ['an operation is at least 1', '{ __typename }', 1],
    ['a mutation is 10', 'mutation { renameProject(input: { name: "a", reason: "b" }) { auditEntry { id } } }', 11],
    [
      'a login is 50, since it calls a webhook',
      'mutation { loginCustom(input: { customData: {} }) { accessToken } }',
      50,
    ],
    ['a subscription is 10', 'subscription { events { cursor } }', 10],
    ['a connection without a size has 20 entries', '{ scenarios(environment: "a") { nodes { id } } }', 21],
    ['the size of a connection is `first`', '{ scenarios(environment: "a", first: 7) { nodes { id } } }', 8],
    ['the size of a connection is `last`', '{ auditLog(last: 7) { nodes { id } } }', 8],
    ['a refused size counts as the greatest', '{ auditLog(first: 2000000000) { nodes { id } } }', 201],
    ['a negative size counts as one', '{ auditLog(first: -9) { nodes { id } } }', 2],
    ['an edge and its node are one entry', '{ auditLog(first: 7) { edges { cursor node { id } } } }', 8],
    ['edges beside nodes count, too', '{ auditLog(first: 7) { edges { node { id } } nodes { id } } }', 15],
    [
      'totalCount is 10, pageInfo is free',
      '{ items(environment: "a", first: 1) { totalCount pageInfo { endCursor } } }',
      11,
    ],
    [
      'a list below a list multiplies',
      '{ players(environment: "a", first: 3) { nodes { runs(first: 5) { nodes { id } } } } }',
      22,
    ],
    ['a plain list has an assumed size', '{ me { wallet { id } passes { id } } }', 16],
    ['a list of plain values is free', '{ currencies(environment: "a", first: 2) { nodes { scenarioIds } } }', 3],
    ['a list of named keys has one entry per key', '{ me { storage(keys: ["a", "b", "c"]) { value } } }', 4],
    ['a list of ids has one entry per id', '{ nodes(ids: ["a", "b"]) { id ... on Player { wallet { id } } } }', 22],
    [
      'fields with an alias count each',
      '{ a: auditLog(first: 2) { nodes { id } } b: auditLog(first: 2) { nodes { id } } }',
      6,
    ],
    [
      'a fragment counts where it is spread',
      '{ a: me { ...W } b: me { ...W } } fragment W on Player { wallet { id } }',
      22,
    ],
    [
      'a fragment counts inside a connection',
      '{ auditLog(first: 2) { ...P } } fragment P on AuditLogEntryConnection { nodes { id } }',
      3,
    ],
    ['skipped fields count, too', '{ me { wallet @skip(if: true) { id } } }', 11],
    ['introspection is 100', '{ __schema { types { name fields { name } } } }', 100],
  ])('%s', (_rule, text, cost) => {
    expect(costs(text)).toBe(cost)
  })

  it('takes sizes from the variables of each request and their defaults', () => {
    const text = `query Q($players: Int!, $runs: Int = 4) {
      players(environment: "a", first: $players) { nodes { runs(first: $runs) { nodes { id } } } }
    }`
    const document = parse(text)
    const operation = getOperationAST(document)
    if (!operation) throw new Error('the document has no operation')
    const of = (variables: object) => costOf(operation, { schema, document, variables: { ...variables } })
    expect(of({ players: 2, runs: 3 })).toBe(1 + 2 * (1 + 1 + 3))
    expect(of({ players: 2 })).toBe(1 + 2 * (1 + 1 + 4))
    expect(of({ players: 200, runs: 200 })).toBe(1 + 200 * 202)
    expect(of({ players: 'all', runs: null })).toBe(1 + 20 * (1 + 1 + 20))
  })

  it('has weights and sizes only for fields that are in the schema', () => {
    for (const name of Object.keys({ ...WEIGHTS, ...SIZE_ARGUMENTS })) {
      const [typeName = '', fieldName = ''] = name.split('.')
      const type = schema.getType(typeName)
      const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[fieldName] : undefined
      expect(field, name).toBeDefined()
      const argument = SIZE_ARGUMENTS[name]
      if (argument !== undefined) expect(field?.args.map((arg) => arg.name)).toContain(argument)
    }
  })

  it('is 50 or more for each query that computes from many rows: figures, previews, what-ifs and checks', () => {
    const queries = Object.values(schema.getQueryType()?.getFields() ?? {})
    const computing = queries.filter(({ name }) => /^(preview|replay|validate)|(Statistics|Insight|Diff)$/.test(name))
    expect(computing.length).toBeGreaterThan(9)
    const costs = new Map(computing.map(({ name, extensions }) => [name, extensions.cost ?? WEIGHTS[`Query.${name}`]]))
    expect([...costs].filter(([, cost]) => typeof cost !== 'number' || cost < 50)).toEqual([])
    expect(costs.get('replaySeason')).toBe(100)
    expect(costs.get('battlePassStatistics')).toBe(50)
  })

  it('of each operation of docs/graphql.md is below a third of the default limit, with pages of 50', () => {
    const page = readFileSync(new URL('../../../docs/graphql.md', import.meta.url), 'utf8')
    const texts = [...page.matchAll(/^```graphql\n([\s\S]*?)\n```$/gm)].map(([, text = '']) => text)
    expect(texts.length).toBeGreaterThan(15)
    const { graphqlMaxCost } = readConfig({})
    for (const text of texts) {
      for (const { kind } of parse(text).definitions) expect(kind).toBe('OperationDefinition')
      expect(costs(text, { first: 50 }), text).toBeLessThan(graphqlMaxCost / 3)
    }
  })
})
