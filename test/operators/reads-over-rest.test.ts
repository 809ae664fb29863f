import { type GraphQLOutputType, getNamedType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { print } from '../../src/base/json.ts'
import { createProject } from '../../src/callers/projects.ts'
import { hasRight, ROLES, type Role } from '../../src/callers/roles.ts'
import type { OperatorRead } from '../../src/declare/operator-read.ts'
import { operatorReads } from '../../src/operator-calls.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame } from '../harness/game.ts'
import { type Operator as Studio, startOperator } from '../harness/operator.ts'
import { documentOf, rootFields, type Values } from '../serve/graphql/documents.ts'
import { newOperator, type Operator } from '../support/desk.ts'
import { beyond } from './beyond.ts'
import { pathOf, post } from './over-rest.ts'

// Operators' queries over REST, by their declarations. The harness compares each answer with openapi.json.

let game: Game
let operators: Readonly<Record<Role, Operator>>
let stranger: Operator
let studio: Studio
/** Values of a request that succeeds, by the query's name and then by the field's. */
let valid: Readonly<Record<string, Values>>

const reads = operatorReads.filter(({ hasOwnRoute }) => !hasOwnRoute)
const named = (list: readonly OperatorRead[]) => list.map((read) => [read.name, read] as const)
const environment = 'production'
const reason = 'because'
const definition = print(season())

beforeAll(async () => {
  game = await startGame()
  studio = await startOperator()
  const { pool } = game.app
  const made = ROLES.map(async (role) => [role, await newOperator(pool, game.projectId, role)] as const)
  operators = Object.fromEntries(await Promise.all(made)) as Record<Role, Operator>
  const other = await createProject(pool, { name: 'Other', environments: [] })
  stranger = await newOperator(pool, other.projectId, 'admin')
  valid = await fill()
})
afterAll(async () => {
  await game?.stop()
  await studio?.close()
})

/** Makes something for each query to read. */
async function fill(): Promise<Readonly<Record<string, Values>>> {
  const must = async (name: string, body: Values) => {
    const answer = await post(game, operators.admin.key, name, { environment, ...body })
    expect([name, answer.status, answer.text]).toEqual([name, 200, expect.any(String)])
    return answer.body
  }
  await game.publish('season-1', season())
  await game.publish('season-1', season({ levels: [0, 100] }))
  const { playerId } = await game.player()
  for (const name of ['one', 'two', 'three']) {
    const hook = { format: 'standard', url: 'https://bell.example', kinds: ['logins fail'] }
    await must('createAlertWebhook', { name, ...hook, reason })
    await must('createSegment', { name, filter: { region: 'eu' }, reason })
    await must('createBoost', {
      name,
      reason,
      percent: 50,
      startsAt: `2030-01-0${name.length}T00:00:00Z`,
      endsAt: '2030-02-01T00:00:00Z',
    })
    await must('createServerKey', { reason })
  }
  const { job } = await must('createGrantJob', {
    ...{
      to: { playerIds: [playerId] },
      give: { rewards: [{ currency: 'gems', amount: 5 }] },
      reason,
      idempotencyKey: 'job',
    },
  })
  const { draft } = await must('createScenarioDraft', {
    scenarioId: 'season-1',
    name: 'next',
    definition,
    baseVersion: 2,
  })
  await must('schedulePublication', { scenarioId: 'season-1', definition, publishAt: '2030-01-01T00:00:00Z', reason })
  const view = await post(game, operators.admin.key, 'shareView', { page: 'players', name: 'mine', query: 'a=b' })
  expect(view.status).toBe(200)
  await game.setProviders({ default: { enabled: true, url: studio.url, secret: studio.secret } })
  expect((await game.login({ player: 'ada' })).status).toBe(200)
  const range = { from: '2030-01-01T00:00:00Z', to: '2030-01-02T00:00:00Z' }
  return {
    battlePassInsight: { scenarioId: 'season-1', nodeId: 'pass', ...range },
    battlePassStatistics: { by: 'hour', ...range },
    callStatistics: range,
    loginStatistics: range,
    calendar: range,
    grantJob: { jobId: job.jobId },
    previewBoost: { percent: 50, scenarios: ['season-1'] },
    previewGrantJob: { to: { playerIds: [playerId] }, give: { rewards: [{ currency: 'gems', amount: 5 }] } },
    previewGrantUndo: { jobId: job.jobId },
    previewScenario: { scenarioId: 'season-1', definition },
    replaySeason: { definition, nodeId: 'pass', ofScenarioId: 'season-1', ofNodeId: 'pass' },
    scenario: { scenarioId: 'season-1', version: 1 },
    scenarioDiff: { scenarioId: 'season-1', from: 1, to: 2 },
    scenarioDraft: { draftId: draft.draftId },
    sharedViews: { page: 'players' },
    validateScenario: { definition },
  }
}

const valuesOf = ({ name, request }: OperatorRead): Values => ({
  ...(request.fields.environment?.isRequired && { environment }),
  ...valid[name],
})

/** The query with these values: in the body where it has an input, and in the URL otherwise. */
function ask(key: string | null, read: OperatorRead, values: Values, of = game) {
  if (read.hasInput) return post(of, key, read.name, values)
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    Array.isArray(value) ? value.map((one) => [name, String(one)]) : [[name, String(value)]],
  )
  const path = `${pathOf(of, read.name)}?${new URLSearchParams(pairs)}`
  return game.request('GET', path, key === null ? {} : { headers: { authorization: `Bearer ${key}` } })
}

/** The query of GraphQL with these values, which selects what REST has answered. */
function documentFor({ name, hasInput, request }: OperatorRead, values: Values, result: unknown) {
  const field = rootFields('Query').find((one) => one.name === name)
  if (!field) throw new Error(`there is no query ${name}`)
  const isWord = (of: string) => Array.isArray(request.fields[of]?.type)
  const entries = Object.entries(values).map(([of, value]) => [of, isWord(of) ? inWords(value) : value])
  const sent: Values = Object.fromEntries(entries)
  const { query, variables } = documentOf('Query', field, sent, 0)
  return {
    query: query.replace(/(\{ __typename {2}\})? *\}$/, `${selectionOf(field.type, result)} }`),
    variables: hasInput ? { input: { ...(variables.input as Values), ...sent } } : { ...variables, ...sent },
  }
}

function selectionOf(type: GraphQLOutputType, value: unknown): string {
  const named = getNamedType(type)
  if (!isObjectType(named)) return ''
  const objects = [value].flat().filter((one) => one !== null) as Values[]
  const members = Object.entries(named.getFields()).filter(([name]) => objects.some((one) => name in one))
  const selected = members.map(
    ([name, field]) =>
      `${name} ${selectionOf(
        field.type,
        objects.flatMap((one) => one[name] as Values[]),
      )}`,
  )
  return `{ __typename ${selected.join(' ')} }`
}

/** A value in one form for both surfaces: GraphQL has enums in upper case, and large integers as strings. Moments
 * that a query takes itself are not compared. */
function inWords(value: unknown): unknown {
  if (value === null) return null
  if (Array.isArray(value)) return value.map(inWords)
  if (typeof value !== 'object') return String(value).toUpperCase().replaceAll(/[ .]/g, '_')
  const { __typename, asOf, from, ...members } = value as Values
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, inWords(member)]))
}

const pathsOf = (answer: { body: { details: { path: string }[] } }) => answer.body.details.map(({ path }) => path)

describe("an operators' query over REST", () => {
  it.each(named(reads))(
    'is for the roles with its right, which get all faults of their request at once: %s',
    async (_name, read) => {
      const entries = Object.entries(read.request.fields).map(([name, field]) => [name, beyond(field)] as const)
      const wrong: Values = Object.fromEntries(entries.filter(([, value]) => value !== undefined))
      const sent = { ...wrong, unheard: 'x' }
      expect((await ask(null, read, sent)).status).toBe(401)
      for (const role of ROLES) {
        const answer = await ask(operators[role].key, read, sent)
        const isAllowed = hasRight(role, read.right)
        expect([role, answer.status]).toEqual([role, isAllowed ? 400 : 403])
        if (isAllowed) expect(pathsOf(answer)).toEqual(expect.arrayContaining(Object.keys(sent)))
        else expect(answer.body.details).toBeUndefined()
      }
      const elsewhere = await ask(stranger.key, read, sent)
      expect([elsewhere.status, elsewhere.body.code]).toEqual([403, 'forbidden'])
    },
  )

  it.each(named(reads))('answers what GraphQL answers: %s', async (name, read) => {
    const values = valuesOf(read)
    const over = await ask(operators.admin.key, read, values)
    expect([over.status, over.text]).toEqual([200, expect.any(String)])
    const [result, isPaged] = [over.body[name], 'next' in over.body]
    if ('rows' in read) expect(result).not.toEqual([])
    const document = documentFor(read, values, isPaged ? { nodes: result } : result)
    const { data, errors } = await game.graphql(operators.admin.key, document.query, document.variables)
    expect(errors).toBeUndefined()
    // Each role with the right gets the whole answer.
    for (const role of ROLES.filter((one) => hasRight(one, read.right)))
      expect([role, (await ask(operators[role].key, read, values)).status]).toEqual([role, 200])
    expect(inWords(result)).toEqual(inWords(isPaged ? data[name].nodes : data[name]))
  })

  it.each(named(reads.filter(({ request: { fields } }) => fields.environment?.isRequired)))(
    "does not know another project's environment: %s",
    async (_name, read) => {
      const project = { ...game, projectId: stranger.caller.projectId }
      const answer = await ask(stranger.key, read, valuesOf(read), project)
      expect([answer.status, answer.body.code]).toEqual([404, 'environment_not_found'])
    },
  )

  it('has the objects of the calendar, and long texts in an answer about one object alone', async () => {
    const bodyOf = async (name: string) => {
      const read = reads.find((one) => one.name === name) as OperatorRead
      return (await ask(operators.admin.key, read, valuesOf(read))).body[name]
    }
    const { publications, boosts } = await bodyOf('calendar')
    expect([publications, boosts]).toMatchObject([[{ scenarioId: 'season-1' }], expect.any(Array)])
    for (const one of [
      ...publications,
      ...(await bodyOf('scenarioDrafts')),
      ...(await bodyOf('scheduledPublications')),
    ])
      expect(one).not.toHaveProperty('definitionText')
    expect(await bodyOf('scenarioDraft')).toMatchObject({ name: 'next', definitionText: definition })
  })

  it.each(named(reads.filter(({ hasInput }) => hasInput)))(
    'is refused first for who may not make it, whatever its body is: %s',
    async (name) => {
      for (const body of ['{', '[]', 'x'.repeat(2 ** 21)]) {
        const answer = await post(game, stranger.key, name, body)
        expect([answer.status, answer.body.code]).toEqual([403, 'forbidden'])
      }
    },
  )

  it.each(named(reads.filter((read) => 'pagedBy' in read)))('gives its list by pages: %s', async (name, read) => {
    const values = valuesOf(read)
    const page = async (more: Values) => (await ask(operators.admin.key, read, { ...values, ...more })).body
    const { [name]: whole, next: end } = await page({ first: 200 })
    expect(end).toBeNull()
    const found: unknown[] = []
    let after: string | null = ''
    while (after !== null) {
      const { [name]: entries, next } = await page({ first: 1, ...(after && { after }) })
      expect(entries).toHaveLength(1)
      found.push(...entries)
      after = next
    }
    expect(found).toEqual(whole)
    const faulty = await ask(operators.admin.key, read, { ...values, first: 201, after: 'x'.repeat(1_001) })
    expect([faulty.status, pathsOf(faulty)]).toEqual([400, ['after', 'first']])
    const foreign = await ask(operators.admin.key, read, { ...values, after: 'x' })
    expect([foreign.status, pathsOf(foreign)]).toEqual([400, ['after']])
  })
})
