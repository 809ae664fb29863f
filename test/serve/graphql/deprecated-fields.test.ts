import { buildSchema, getOperationAST, parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deprecatedFieldsOf } from '../../../src/serve/graphql/deprecated-fields.ts'
import { type Game, startGame } from '../../harness/game.ts'

describe('the deprecated fields and arguments of a document', () => {
  const schema = buildSchema(`
    interface Named { name: String title: String @deprecated(reason: "Use name.") }
    type Game implements Named { name: String title: String @deprecated(reason: "Use name.") games: [Game!]! }
    type Query {
      game(id: Int, name: String @deprecated(reason: "Use id.")): Game named: Named old: Game @deprecated(reason: "Use game.")
    }`)
  const fieldsOf = (text: string, operation?: string) => {
    const document = parse(text)
    const found = deprecatedFieldsOf(schema, document)
    const definition = getOperationAST(document, operation)
    return [...((definition && found.get(definition)) ?? [])].sort()
  }

  it.each([
    ['{ game { name } }', []],
    ['{ old { __typename } }', ['Query.old']],
    ['{ game { a: title b: title } }', ['Game.title']],
    ['{ named { title ... on Game { games { title } } } }', ['Game.title', 'Named.title']],
    ['{ game { ...A } } fragment A on Game { games { ...B } } fragment B on Game { title }', ['Game.title']],
    ['{ game { ...A } } fragment A on Game { name }', []],
    ['{ game(id: 1) { name } }', []],
    ['query ($name: String) { game(id: 1, name: $name) { title } }', ['Game.title', 'Query.game(name)']],
    ['{ ...Q } fragment Q on Query { game(name: "a") { name } }', ['Query.game(name)']],
  ])('are those that it selects and gives, by itself or by fragments: %s', (text, fields) => {
    expect(fieldsOf(text)).toEqual(fields)
  })

  it('are those of the operation that runs', () => {
    const text = `query One { old { ...A } } query Two { game { ...B } } query Three { game { name } }
      fragment A on Game { title } fragment B on Game { games { name } }`
    expect(fieldsOf(text, 'One')).toEqual(['Game.title', 'Query.old'])
    expect(fieldsOf(text, 'Two')).toEqual([])
    expect(fieldsOf(text, 'Three')).toEqual([])
  })
})

describe('the metric of deprecated fields', () => {
  let game: Game
  beforeAll(async () => {
    game = await startGame()
  })
  afterAll(() => game?.stop())

  async function counted(): Promise<unknown> {
    const metric = await game.app.metrics.registry.getSingleMetric('tierway_graphql_deprecated_fields_total')?.get()
    return metric?.values.map(({ labels, value }) => [labels.field, value])
  }

  it('counts each operation that selects one, or gives a deprecated argument, once, and no other', async () => {
    const { token } = await game.player()
    const read = (field: string) =>
      game.graphql(
        token,
        `mutation { a: ${field}(input: {messageIds: []}) { unread } b: ${field}(input: {messageIds: []}) { unread } }`,
      )
    await read('markMessagesRead')
    expect(await counted()).toEqual([])
    for (const _time of [1, 2, 3]) await read('readMessages')
    expect(await counted()).toEqual([['Mutation.readMessages', 3]])
    await read('markMessagesRead')
    expect(await counted()).toEqual([['Mutation.readMessages', 3]])
    const list = (filter: string) =>
      game.graphql(game.platformKey, `{ players(environment: "production", ${filter}) { pageInfo { hasNextPage } } }`)
    await list('filter: { region: "eu" }')
    for (const _time of [1, 2]) expect((await list('region: "eu"')).errors).toBeUndefined()
    expect(await counted()).toEqual([
      ['Mutation.readMessages', 3],
      ['Query.players(region)', 2],
    ])
  })
})
