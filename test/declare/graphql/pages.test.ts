import { type GraphQLNamedType, type GraphQLOutputType, getNamedType, isObjectType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey } from '../../../src/callers/keys.ts'
import { createProject } from '../../../src/callers/projects.ts'
import { adjustWallet } from '../../../src/dev/adjust-wallet.ts'
import { schema } from '../../../src/schema.ts'
import { season } from '../../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, type TestPlayer, times } from '../../harness/game.ts'
import { type Operator, startOperator } from '../../harness/operator.ts'
import { until } from '../../harness/until.ts'
import { logIn, obey } from '../../support/desk.ts'

const PASS = { scenarioId: 'season', nodeId: 'pass' }

const connections = Object.values(schema.getTypeMap())
  .filter((type) => isObjectType(type))
  .flatMap((type) => Object.values(type.getFields()).map((field) => ({ parent: type.name, name: field.name, field })))
  .filter(({ field }) => getNamedType(field.type).name.endsWith('Connection'))
  .map(({ parent, name }) => ({ parent, name, path: `${parent}.${name}` }))

const FORWARD = [
  'Query.currencies',
  'Query.items',
  'Query.players',
  'Query.scenarioVersions',
  'Player.storageKeys',
  'GrantJob.jobPlayers',
]

let game: Game
let webhook: Operator
let player: TestPlayer
/** A grant job for three players. */
let jobId: string
/** An admin of another project, which has an environment of the same name. */
let stranger: string

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(obey)
  const { url, secret } = webhook
  expect((await game.setProviders({ default: { enabled: true, url, secret } })).status).toBe(200)
  const { projectId } = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
  stranger = (await createPlatformKey(game.app.pool, projectId, 'admin')).key
  for (const levels of [
    [0, 100],
    [0, 50],
    [0, 25],
  ])
    await game.publish('season', season({ levels }))
  for (const name of ['another', 'third']) await game.publish(name, season())
  for (const _ of times(3, () => 0)) player = await logIn(game, 'zero')
  for (const amount of [1n, 2n, 3n, 4n])
    await game.app.service.run(adjustWallet(player, { currency: 'gems', amount, reference: 'test' }))
  const runId = await player.start('season')
  for (const amount of [1, 2, 3])
    await player.post('/sdk/v1/battlepass/xp', { ...PASS, runId, amount, source: 'match' })
  for (const scenarioId of ['another', 'third']) await player.start(scenarioId)
  await player.post('/sdk/v1/storage/set', { values: { one: 1, two: 2, three: 3 } })
  for (const subject of ['one', 'two', 'three']) await logIn(game, subject)
  for (const _ of times(3, () => 0)) await game.key('viewer')
  for (const reason of ['one', 'two', 'three'])
    await ask(
      game.platformKey,
      `mutation { unbanPlayer(input: { playerId: "${player.playerId}", reason: "${reason}" }) { player { id } } }`,
    )
  await ask(
    game.platformKey,
    'mutation { addCurrency(input: { environment: "production", currency: "coins", reason: "x" }) { auditEntry { id } } }',
  )
  for (const name of ['one', 'two', 'three'])
    await ask(
      game.platformKey,
      `mutation { createBoost(input: { environment: "production", name: "${name}", percent: 1, reason: "x",
        startsAt: "2098-01-01T00:00:00Z", endsAt: "2099-01-01T00:00:00Z" }) { boost { id } } }`,
    )
  const { rows } = await game.app.pool.query('SELECT id FROM players LIMIT 3')
  const playerIds = JSON.stringify(rows.map(({ id }) => id))
  for (const key of ['one', 'two', 'three']) {
    const { data } = await ask(
      game.platformKey,
      `mutation { createGrantJob(input: { environment: "production", reason: "x", idempotencyKey: "${key}",
        to: { playerIds: ${playerIds} }, message: { language: "en", title: "x" } }) { job { jobId } } }`,
    )
    jobId = data.createGrantJob.job.jobId
  }
  await until('its players are collected', async () => {
    const { data } = await ask(game.platformKey, `{ grantJob(environment: "production", jobId: "${jobId}") { state } }`)
    return data.grantJob.state === 'DONE'
  })
  for (const name of ['one', 'two', 'three'])
    await ask(
      game.platformKey,
      `mutation { sendMessage(input: { playerId: "${player.playerId}", reason: "x", idempotencyKey: "${name}",
        rewards: [{ itemId: "hat", amount: 1 }] }) { messageId }
        addPlayerNote(input: { playerId: "${player.playerId}", reason: "x", idempotencyKey: "${name}", text: "x" }) {
          note { id } } }`,
    )
  for (const name of ['one', 'two', 'three'])
    for (const kind of ['Sdk', 'Server'])
      await ask(
        game.platformKey,
        `mutation { create${kind}Key(input: { environment: "production", reason: "${name}" }) { key } }`,
      )
})
afterAll(async () => {
  await webhook.close()
  await game.stop()
})

const ask = (key: string, query: string) => game.graphql(key, query)

/** The arguments that a field of the schema requires. */
function requiredOf(name: string): string[] {
  const args = schema.getQueryType()?.getFields()[name]?.args ?? []
  const environment = args.some((arg) => arg.name === 'environment') ? ['environment: "production"'] : []
  return name === 'scenarioVersions' ? [...environment, 'scenarioId: "season"'] : environment
}

const SELECTED = '{ edges { cursor } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } }'

/** A document that asks a connection for a page. Throws for an unknown parent type: add the type to this function. */
function documentOf({ parent, name }: { parent: string; name: string }, page: string, selected = SELECTED): string {
  const args = [...(parent === 'Query' ? requiredOf(name) : []), page].filter((arg) => arg !== '')
  const field = `${name} ${args.length > 0 ? `(${args.join(', ')})` : ''} ${selected}`
  if (parent === 'Query') return `{ ${field} }`
  const ofPlayer = (inner: string) => `{ player(id: "${player.playerId}") { ${inner} } }`
  if (parent === 'Player') return ofPlayer(field)
  if (parent === 'BattlePass') return ofPlayer(`passes { ${field} }`)
  if (parent === 'GrantJob') return `{ grantJob(environment: "production", jobId: "${jobId}") { ${field} } }`
  throw new Error(`no document for ${parent}.${name}`)
}

type Page = { edges: { cursor: string }[]; pageInfo: { endCursor: string; hasNextPage: boolean } }

function pageOf({ parent, name }: { parent: string; name: string }, { data, errors }: GraphqlAnswer): Page {
  expect(errors).toBeUndefined()
  if (parent === 'Query') return data[name]
  if (parent === 'GrantJob') return data.grantJob[name]
  return parent === 'Player' ? data.player[name] : data.player.passes[0][name]
}

/** The code and the last part of each path that a refusal names. */
function refusal({ errors }: GraphqlAnswer): unknown {
  const [error] = errors ?? []
  const details = (error?.extensions.details ?? []) as { path: string }[]
  return [error?.extensions.code, details.map(({ path }) => path.split('.').at(-1))]
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const NOBODY = '01900000-0000-7000-8000-000000000000'
const FORGED = [
  '',
  'x',
  '💎',
  'a'.repeat(3_000),
  ...['GPC:S:x', 'GPC:J:{', 'GPC:J:[]', 'GPC:J:[1,2]', 'GPC:J:["x","y"]', 'GPC:D:x', 'GPC:I:1', 'GPC:', 'GPC:T:[]'].map(
    base64,
  ),
  ...[`GPC:J:["${NOBODY}","${NOBODY}"]`, `GPC:J:["${NOBODY}","${NOBODY}","${NOBODY}"]`].map(base64),
  ...['player:x', 'player:', `players:${NOBODY}`, 'version:0', 'version:x', 'version:1e3'].map(base64),
]

describe('every connection of the schema', () => {
  it('is found by this test, and is not reachable from a subscription', () => {
    expect(connections.length).toBeGreaterThanOrEqual(13)
    const seen = new Set<string>()
    const walk = (type: GraphQLNamedType): void => {
      if (seen.has(type.name) || !('getFields' in type)) return
      seen.add(type.name)
      for (const field of Object.values(type.getFields())) walk(getNamedType(field.type as GraphQLOutputType))
    }
    const subscription = schema.getSubscriptionType()
    if (subscription) walk(subscription)
    expect(seen).toContain('LevelUpEvent')
    expect([...seen].filter((name) => name.endsWith('Connection'))).toEqual([])
  })

  it.each(connections)(
    '$path accepts sizes of 1 to 200, and has a next page while there is more',
    async (connection) => {
      const one = pageOf(connection, await ask(game.platformKey, documentOf(connection, 'first: 1')))
      expect([one.edges.length, one.pageInfo.hasNextPage]).toEqual([1, true])
      const all = pageOf(connection, await ask(game.platformKey, documentOf(connection, 'first: 200')))
      expect(all.edges.length).toBeGreaterThanOrEqual(3)
      const rest = pageOf(
        connection,
        await ask(game.platformKey, documentOf(connection, `first: 200, after: "${one.pageInfo.endCursor}"`)),
      )
      expect([...one.edges, ...rest.edges].map(({ cursor }) => cursor)).toEqual(all.edges.map(({ cursor }) => cursor))
    },
  )

  it.each(connections)('$path returns its entries as `nodes`, with or without `edges`', async (connection) => {
    const shape = '{ __typename nodes { a: __typename } edges { __typename node { a: __typename } } }'
    const both = pageOf(connection, await ask(game.platformKey, documentOf(connection, 'first: 2', shape)))
    const { __typename: name, nodes, edges } = both as Page & { __typename: string; nodes: { a: string }[] }
    expect(nodes).toHaveLength(2)
    expect(edges).toEqual(nodes.map((node) => ({ __typename: name.replace(/Connection$/, 'Edge'), node })))
    const alone = pageOf(
      connection,
      await ask(game.platformKey, documentOf(connection, 'first: 2', '{ nodes { a: __typename } }')),
    )
    expect(alone).toEqual({ nodes })
  })

  it.each(connections)('$path refuses a size outside 1 to 200, and names the argument', async (connection) => {
    const isForward = FORWARD.includes(connection.path)
    for (const page of [
      'first: 0',
      'last: 0',
      'first: 201',
      'last: 201',
      `first: ${2 ** 31 - 1}`,
      `last: -${2 ** 31}`,
    ]) {
      expect([page, refusal(await ask(game.platformKey, documentOf(connection, page)))]).toEqual([
        page,
        ['INVALID_REQUEST', [page.split(':')[0]]],
      ])
    }
    const both = refusal(await ask(game.platformKey, documentOf(connection, 'first: 1, last: 1')))
    expect(both).toEqual(['INVALID_REQUEST', ['last']])
    if (isForward) {
      expect(refusal(await ask(game.platformKey, documentOf(connection, 'last: 1')))).toEqual([
        'INVALID_REQUEST',
        ['last'],
      ])
    }
  })

  it.each(connections)('$path refuses a cursor that it never issued, and names the argument', async (connection) => {
    // Half of them at each end, in turn for each connection.
    const turn = connections.indexOf(connection)
    for (const [index, cursor] of FORGED.entries()) {
      const [size, named] = (index + turn) % 2 === 0 ? ['first', 'after'] : ['last', 'before']
      const page = `${size}: 2, ${named}: ${JSON.stringify(cursor)}`
      const [code, paths] = refusal(await ask(game.platformKey, documentOf(connection, page))) as [string, string[]]
      expect([page, code]).toEqual([page, 'INVALID_REQUEST'])
      expect(paths).toContain(named)
    }
  })

  it.each(connections)(
    '$path shows nothing of this project to a key of another project, with or without a cursor',
    async (connection) => {
      const { pageInfo } = pageOf(connection, await ask(game.platformKey, documentOf(connection, 'first: 1')))
      const edgesOf = async (page: string): Promise<{ cursor: string }[]> => {
        const { data } = await ask(stranger, documentOf(connection, page))
        return (connection.parent === 'Query' ? data?.[connection.name] : data?.player)?.edges ?? []
      }
      const shown = await edgesOf(`first: 5, after: "${pageInfo.endCursor}"`)
      const own = await edgesOf('first: 200')
      const ours = pageOf(connection, await ask(game.platformKey, documentOf(connection, 'first: 200'))).edges
      expect(shown.filter(({ cursor }) => !own.some((edge) => edge.cursor === cursor))).toEqual([])
      expect(own.filter(({ cursor }) => ours.some((edge) => edge.cursor === cursor))).toEqual([])
    },
  )

  it('refuses a cursor with NUL or a lone surrogate', async () => {
    for (const name of ['a\0b', '\ud800']) {
      const after = base64(`GPC:J:${JSON.stringify([game.environmentId, name])}`)
      expect(
        refusal(await ask(game.platformKey, `{ scenarios(environment: "production", after: "${after}") ${SELECTED} }`)),
      ).toEqual(['INVALID_REQUEST', ['after']])
    }
  })

  it('refuses an invalid page size before a mutation changes anything', async () => {
    const ban = (runs: string) =>
      `mutation { banPlayer(input: { playerId: "${player.playerId}", reason: "x" }) { player { runs(${runs}) { edges { cursor } } } } }`
    expect(refusal(await ask(game.platformKey, ban('first: 0')))).toEqual(['INVALID_REQUEST', ['first']])
    const fragment = `mutation { banPlayer(input: { playerId: "${player.playerId}", reason: "x" }) { ...more } }
      fragment more on PlayerPayload { player { ... on Player { all: runs(last: 201) { edges { cursor } } } } }`
    const { errors } = await ask(game.platformKey, fragment)
    expect(errors?.[0]?.extensions.details).toEqual([{ path: 'player.all.last', message: 'must be 1 to 200' }])
    const { data } = await ask(game.platformKey, `{ player(id: "${player.playerId}") { status } }`)
    expect(data.player.status).toBe('ACTIVE')
  })

  it('refuses an invalid cursor, or one of another list, before a mutation changes anything', async () => {
    const end = async (playerId: string, list: string): Promise<string> => {
      const { data } = await ask(
        game.platformKey,
        `{ player(id: "${playerId}") { ${list}(first: 1) { pageInfo { endCursor } } } }`,
      )
      return data.player[list].pageInfo.endCursor
    }
    const another = await game.player({ wallet: { gems: 1n } })
    const ban = (page: string) =>
      ask(
        game.platformKey,
        `mutation { banPlayer(input: { playerId: "${player.playerId}", reason: "x" }) { player { ${page} } } }`,
      )
    const foreign = await end(another.playerId, 'walletLedger')
    for (const cursor of [...FORGED.slice(0, 5), foreign]) {
      const text = JSON.stringify(cursor)
      for (const [page, named] of [
        [`walletLedger(after: ${text}) { edges { cursor } }`, 'after'],
        [`runs(before: ${text}) { edges { cursor } }`, 'before'],
        [`passes { xpLedger(after: ${text}) { edges { cursor } } }`, 'after'],
        [`events(after: ${text}) { edges { cursor } }`, 'after'],
        [`loginLog(before: ${text}) { edges { cursor } }`, 'before'],
        [`storageKeys(after: ${text}) { edges { cursor } }`, 'after'],
      ] as const)
        expect([page, refusal(await ban(page))]).toEqual([page, ['INVALID_REQUEST', [named]]])
    }
    const own = await end(player.playerId, 'walletLedger')
    for (const [page, named] of [
      [`walletLedger(first: 1, before: "${own}") { edges { cursor } }`, 'before'],
      [`walletLedger(last: 1, after: "${own}") { edges { cursor } }`, 'after'],
      [`walletLedger(after: "${own}", before: "${own}") { edges { cursor } }`, 'before'],
    ] as const)
      expect([page, refusal(await ban(page))]).toEqual([page, ['INVALID_REQUEST', [named]]])
    const { data } = await ask(game.platformKey, `{ player(id: "${player.playerId}") { status } }`)
    expect(data.player.status).toBe('ACTIVE')

    const ended = await ask(
      game.platformKey,
      `mutation { endSessions(input: { playerId: "${player.playerId.toUpperCase()}", reason: "x" }) {
        player { walletLedger(first: 1, after: "${own}") { edges { cursor } } }
      } }`,
    )
    expect(ended.errors).toBeUndefined()
    expect(ended.data.endSessions.player.walletLedger.edges).toHaveLength(1)
  })

  it('refuses a caller without access with FORBIDDEN, even when the page arguments are invalid', async () => {
    const viewer = await game.key('viewer')
    for (const list of ['auditLog', 'sdkKeys', 'serverKeys', 'platformKeys']) {
      for (const asked of ['(first: 0) { edges { cursor } }', '(after: "x") { edges { cursor } }', '{ __typename }']) {
        const document = `{ ${list} ${asked} }`
        expect([document, refusal(await ask(viewer, document))]).toEqual([document, ['FORBIDDEN', []]])
      }
    }
    const shown = await ask(game.platformKey, '{ auditLog { __typename } }')
    expect(shown).toEqual({ data: { auditLog: { __typename: 'AuditLogEntryConnection' } } })
  })

  it('names all invalid arguments at once', async () => {
    const { errors } = await ask(game.platformKey, '{ auditLog(first: 0, action: "", actor: "") { edges { cursor } } }')
    const details = errors?.[0]?.extensions.details as { path: string }[]
    expect(details.map(({ path }) => path).sort()).toEqual(['action', 'actor', 'first'])
  })

  it('continues from an entry that was deleted meanwhile', async () => {
    const list = (page: string) => ask(game.platformKey, `{ loginLog(environment: "production", ${page}) ${SELECTED} }`)
    const three = (await list('first: 3')).data.loginLog
    const [, second, third] = three.edges
    await game.app.pool.query(
      'DELETE FROM login_log WHERE id = (SELECT id FROM login_log ORDER BY id DESC OFFSET 1 LIMIT 1)',
    )
    const next = (await list(`first: 1, after: "${second.cursor}"`)).data.loginLog
    expect(next.edges).toEqual([third])
    const back = (await list(`last: 1, before: "${second.cursor}"`)).data.loginLog
    expect(back.edges).toEqual([three.edges[0]])
  })

  it('refuses reversed and empty ranges, and names the argument', async () => {
    const at = (time: string) => `"2026-01-0${time}T00:00:00Z"`
    for (const [from, to] of [
      [at('2'), at('1')],
      [at('1'), at('1')],
    ]) {
      for (const list of [
        'auditLog(',
        'events(environment: "production", ',
        'loginStatistics(environment: "production", ',
      ]) {
        const selected = list.startsWith('login') ? '{ from }' : '{ edges { cursor } }'
        const [code, paths] = refusal(
          await ask(game.platformKey, `{ ${list}from: ${from}, to: ${to}) ${selected} }`),
        ) as [string, string[]]
        expect([list, code, paths.length, ['from', 'to'].includes(paths[0] ?? '')]).toEqual([
          list,
          'INVALID_REQUEST',
          1,
          true,
        ])
      }
    }
  })
})
