import fc from 'fast-check'
import { buildSchema, type ExecutionResult, execute, GraphQLError, parse, validate } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import { describe, expect, it } from 'vitest'
import { type Execute, executePrepared } from '../../src/graphql/prepared.ts'
import { RawJson } from '../../src/json.ts'
import { schema } from '../../src/schema.ts'

// An operation that prepared functions run differs from one that the executor runs only in its cost.

let executed = 0
const executor = createYoga({ schema, logging: false, maskedErrors: false }).getEnveloped()
const counted: Plugin = {
  onExecute({ executeFn, setExecuteFn }) {
    setExecuteFn((args) => {
      executed += 1
      return executeFn(args)
    })
  },
}
const preparing: Plugin = {
  onExecute({ executeFn, setExecuteFn }) {
    setExecuteFn((args) => executePrepared(args, executeFn as Execute))
  },
}
const prepared = createYoga({
  schema,
  logging: false,
  maskedErrors: false,
  plugins: [counted, preparing],
}).getEnveloped()

const ids = { scenarioId: 's', nodeId: 'n', runId: 'r' }
const input = { ...ids, amount: '5', source: 'quest' }
const result = { level: 3, xp: 2n ** 60n, leveledUp: true, maxLevel: false, plan: null as unknown }
const plan = {
  runId: 'r',
  status: 'active',
  crossed: [{ nodeId: 'n', handle: 'h' }],
  entered: [{ nodeId: 'n', type: 't', data: new RawJson('{"a":[9007199254740993]}') }],
  granted: [{ amount: 1n, currency: 'gold', itemId: null }],
}
const ALL = `level xp leveledUp maxLevel plan { runId status crossed { nodeId handle } entered { nodeId type data }
  granted { amount currency itemId } }`
const addXp = (selection: string) => `mutation ($input: AddXpInput!) { addXp(input: $input) { ${selection} } }`

/** The answer, and how often the operation itself ran: once, or not at all. */
async function run(execute: typeof executor.execute, query: string, variableValues: unknown, come: () => unknown) {
  let runs = 0
  const service = {
    runAs() {
      runs += 1
      return come()
    },
    tokens: { requireValid: () => undefined },
    rateLimits: { countPlayer: () => undefined },
    countCall: () => undefined,
  }
  const contextValue = { service, caller: async () => ({ kind: 'player' }) }
  const answer = (await execute({
    schema,
    document: parse(query),
    contextValue,
    variableValues,
  } as never)) as ExecutionResult
  const errors = answer.errors?.map((error) => [error.toJSON(), String(error.originalError)])
  return { runs, members: Object.keys(answer), text: JSON.stringify(answer.data), errors }
}

/** Not every selection awaits this promise. Then its rejection must not count as unhandled. */
function late(): Promise<never> {
  const rejected = Promise.reject(new Error('late'))
  rejected.catch(() => undefined)
  return rejected
}

/** Runs an operation both ways. Returns whether the executor was needed. */
async function compare(query: string, variables: unknown, come: () => unknown): Promise<boolean> {
  expect(validate(schema, parse(query))).toEqual([])
  const expected = await run(executor.execute, query, variables, come)
  executed = 0
  expect([query, variables, await run(prepared.execute, query, variables, come)]).toEqual([query, variables, expected])
  return executed > 0
}

describe('a prepared operation', () => {
  it('runs once when its answer cannot be completed, whatever wraps its resolver', async () => {
    const other = buildSchema('type Query { a: Int } type Mutation { count: Int! }')
    let runs = 0
    const { count } = other.getMutationType()?.getFields() ?? {}
    if (!count) throw new Error('no field')
    count.resolve = () => {
      runs += 1
      return 'no number'
    }
    const args = { schema: other, document: parse('mutation { count }'), contextValue: {} }
    const answer = await executePrepared(args, execute as Execute)
    expect([runs, answer.errors?.length]).toEqual([1, 1])
  })

  it('answers as the executor does, without it, when the variables and the result are valid', async () => {
    for (const [query, variables, value] of [
      [addXp(ALL), { input }, result],
      [addXp(ALL), { input }, { ...result, plan }],
      [
        addXp('__typename a: level b: level plan { __typename granted { __typename } }'),
        { input },
        { ...result, plan },
      ],
      [
        'mutation { addXp(input: {scenarioId: "s", nodeId: "n", runId: "r", amount: 5, source: ""}) { xp } }',
        {},
        result,
      ],
      [
        'query Q($id: String = "s") { battlePass(scenarioId: $id, nodeId: "n") { level claimedTiers { level track } } }',
        {},
        { level: 1, claimedTiers: [{ level: 1, track: 'free' }] },
      ],
    ] as const)
      expect([query, await compare(query, variables, async () => value)]).toEqual([query, false])
  })

  it('is left to the executor when its variables are invalid or its document is unusual', async () => {
    const bad: [query: string, variables: unknown, come: () => unknown][] = [
      [addXp(ALL), {}, () => result],
      [addXp(ALL), { input: null }, () => result],
      [addXp(ALL), { input: { ...input, amount: '1.0' } }, () => result],
      [addXp(ALL), { input: { ...input, amuont: 1 } }, () => result],
      [
        'mutation ($i: String) { addXp(input: {scenarioId: $i, nodeId: "n", runId: "r", amount: 5, source: ""}) { xp } }',
        {},
        () => result,
      ],
      [addXp('... on AddXpResult { level }'), { input }, () => result],
      [addXp('level level'), { input }, () => result],
      [addXp('level @skip(if: true) xp'), { input }, () => result],
      [
        'mutation ($input: AddXpInput!) { a: addXp(input: $input) { xp } b: addXp(input: $input) { xp } }',
        { input },
        () => result,
      ],
    ].filter(([query]) => validate(schema, parse(query as string)).length === 0) as never
    for (const [query, variables, come] of bad)
      expect([query, await compare(query, variables, come)]).toEqual([query, true])
  })

  it('answers as the executor does, whatever the resolver returns or throws', async () => {
    const odd = fc.constantFrom<() => unknown>(
      () => null,
      () => undefined,
      () => 7,
      () => 1n,
      () => 'active',
      () => 2 ** 40,
      () => [],
      () => ({}),
      () => new Error('given'),
      () => () => 7,
      () => Promise.resolve(7),
      () => late(),
      () => new Set([plan]),
      () => new RawJson('[1]'),
    )
    const fault = fc.constantFrom<unknown>(
      new Error('bug'),
      new GraphQLError('told', { extensions: { code: 'X' } }),
      new AggregateError([new Error('a'), new Error('b')]),
      'text',
      null,
    )
    const places = [
      '',
      'level',
      'xp',
      'plan',
      'plan.status',
      'plan.crossed',
      'plan.entered',
      'plan.entered.0',
      'plan.granted.0.amount',
    ]
    const selection = fc.constantFrom(
      ALL,
      'xp',
      'xp plan { runId crossed { nodeId } }',
      'plan { entered { data } granted { currency } }',
    )
    const put = (place: string, value: unknown): unknown => {
      if (place === '') return value
      const root: Record<string, unknown> = {
        ...result,
        plan: { ...plan, entered: [...plan.entered], granted: [{ ...plan.granted[0] }] },
      }
      const path = place.split('.')
      const last = path.pop() ?? ''
      // biome-ignore lint/suspicious/noExplicitAny: any part of a result is replaced.
      const parent = path.reduce((at: any, key) => at[key], root)
      parent[last] = value
      return root
    }
    await fc.assert(
      fc.asyncProperty(selection, fc.constantFrom(...places), odd, async (fields, place, make) => {
        await compare(addXp(fields), { input }, () => put(place, make()))
      }),
      { numRuns: 400 },
    )
    await fc.assert(
      fc.asyncProperty(fault, fc.boolean(), async (error, isLate) => {
        const come = () => {
          if (isLate) return Promise.reject(error)
          throw error
        }
        expect(await compare(addXp(ALL), { input }, come)).toBe(true)
      }),
    )
  })
})
