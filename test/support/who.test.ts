import { once } from 'node:events'
import { isEnumType } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { createProject } from '../../src/callers/projects.ts'
import type { Role } from '../../src/callers/roles.ts'
import { schema } from '../../src/schema.ts'
import { season } from '../harness/definitions.ts'
import { type Game, startGame, type TestPlayer } from '../harness/game.ts'
import { startOperator } from '../harness/operator.ts'
import { inputTypeOf } from '../serve/graphql/documents.ts'
import { type Input, type Mutation, newOperator, type Operator } from './desk.ts'

// Each entry of the audit log has the platform key with its label, and the operator: the person behind the call.

const ORIGIN = 'https://dashboard.example.com'
const WHO = 'id actor actorLabel operator operatorIsClaimed action target reason'

let game: Game
let desk: Operator
let player: TestPlayer
let runId: string

beforeAll(async () => {
  game = await startGame({ ALLOWED_ORIGINS: ORIGIN })
  desk = await newOperator(game.app.pool, game.projectId)
  await game.publish('season', season())
  player = await game.player()
  runId = await player.start('season')
})
afterAll(() => game?.stop())

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const named = (key: string, operator: string) => ({ ...bearer(key), 'x-operator': operator })
/** A name as a terminal sends it: UTF-8 bytes, each as one character of the string for `fetch`. */
const utf8 = (name: string) => Buffer.from(name).toString('latin1')

function nameOf(role: Role): string {
  const type = schema.getType('Role')
  return (isEnumType(type) && type.getValues().find(({ value }) => value === role)?.name) || ''
}

/** The answer of an operator's mutation, or its error. */
async function act(
  credentials: string | Record<string, string>,
  mutation: string,
  input: Input,
  selection = `auditEntry { ${WHO} }`,
) {
  const document = `mutation ($input: ${inputTypeOf(mutation)}!) { ${mutation}(input: $input) { ${selection} } }`
  const { data, errors } = await game.graphql(credentials, document, { input: { reason: 'test', ...input } })
  return { answer: data?.[mutation], error: errors?.[0]?.extensions }
}

const unban = (credentials: string | Record<string, string>) =>
  act(credentials, 'unbanPlayer', { playerId: player.playerId })

describe('the operator name of a call with a platform key', () => {
  it.each(['ada@studio.example', 'Zoë', '山田 太郎', 'x'.repeat(128), '語'.repeat(128)])(
    'is in the audit log as sent, and marked as claimed: %s',
    async (name) => {
      for (const sent of new Set([utf8(name), ...(/^[\u0000-\u00ff]*$/.test(name) ? [name] : [])])) {
        // The service runs a new document through other code than a known one.
        const selection = `auditEntry { ${WHO} } # ${JSON.stringify(sent)}\n`
        for (const _way of ['new', 'known']) {
          const input = { playerId: player.playerId }
          const { answer } = await act(named(desk.key, sent), 'unbanPlayer', input, selection)
          expect(answer.auditEntry).toMatchObject({ actor: desk.actor, operator: name, operatorIsClaimed: true })
        }
      }
    },
  )

  it('is null in the audit log when the call has none', async () => {
    const { answer } = await unban(desk.key)
    expect(answer.auditEntry).toMatchObject({ actor: desk.actor, operator: null, operatorIsClaimed: false })
  })

  it.each([
    ['', 'must be 1 to 128 characters'],
    ['x'.repeat(129), 'must be 1 to 128 characters'],
    ['a\tb', 'must not contain control characters'],
    [utf8('a\u202eb'), 'must not contain control characters'],
    [utf8('\u00a0b'), 'must not begin or end with a space'],
  ])('is refused over GraphQL and REST when it is not a valid name: %j', async (sent, message) => {
    const before = await entriesOf(player.playerId)
    const details = [{ path: 'X-Operator', message }]
    expect((await unban(named(desk.key, sent))).error).toMatchObject({ code: 'INVALID_REQUEST', details })
    const path = `/platform/v1/projects/${game.projectId}/auth-providers`
    const { status, body } = await game.request('GET', path, { headers: named(desk.key, sent) })
    expect([status, body.details]).toEqual([400, details])
    expect(await entriesOf(player.playerId)).toEqual(before)
  })

  it('is not checked in calls of players and with unknown keys', async () => {
    const headers = { ...bearer(player.token), 'x-operator': 'a\tb' }
    expect((await game.request('POST', '/sdk/v1/player/get', { headers, body: '{}' })).status).toBe(200)
    expect((await unban(named('twplat_nobody', 'a\tb'))).error).toMatchObject({ code: 'INVALID_TOKEN' })
  })

  it('is in the entries of REST calls and of denied calls', async () => {
    const path = `/platform/v1/projects/${game.projectId}/scenarios/by-rest?environment=production`
    const body = JSON.stringify(season())
    const put = (key: string, name: string) => game.request('PUT', path, { body, headers: named(key, name) })
    expect((await put(game.platformKey, 'Ada')).status).toBe(200)
    expect((await entriesOf('by-rest'))[0]).toMatchObject({ operator: 'Ada', operatorIsClaimed: true })
    const tried = async (name: string): Promise<Partial<Entry>> => {
      expect((await put(desk.key, name)).status).toBe(403)
      return (await entriesOf('by-rest'))[0] ?? {}
    }
    const denied = { action: 'scenario.publish.denied', operatorIsClaimed: true }
    expect(await tried('Ada')).toMatchObject({ ...denied, operator: 'Ada' })
    expect(await tried('Ada')).toMatchObject({ ...denied, operator: 'Ada' })
    // A row of several operators names none of them. Calls in different minutes have different rows.
    const { attempts = 0, ...latest } = await tried('Grace')
    if (attempts > 1) expect(latest).toMatchObject({ operator: null, operatorIsClaimed: false })
    else expect(latest).toMatchObject({ ...denied, operator: 'Grace' })
  })

  it('is an allowed header in the answer to a preflight', async () => {
    for (const path of ['/graphql', `/platform/v1/projects/${game.projectId}/auth-providers`]) {
      const { headers } = await fetch(`${game.baseUrl}${path}`, { method: 'OPTIONS', headers: { origin: ORIGIN } })
      expect(headers.get('access-control-allow-headers')?.split(', ')).toContain('x-operator')
    }
  })

  it('is taken from connection_init of a WebSocket, and closes it with 4400 when invalid', async () => {
    const document = `mutation ($playerId: ID!) {
      unbanPlayer(input: { playerId: $playerId, reason: "test" }) { auditEntry { operator operatorIsClaimed } } }`
    const open = async (operator: unknown) => {
      const socket = new WebSocket(`${game.baseUrl.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
      await once(socket, 'open')
      const next = async () => JSON.parse(String((await once(socket, 'message'))[0]))
      socket.send(JSON.stringify({ type: 'connection_init', payload: { ...bearer(desk.key), operator } }))
      return { socket, next }
    }
    const { socket, next } = await open('山田')
    expect(await next()).toEqual({ type: 'connection_ack' })
    const payload = { query: document, variables: { playerId: player.playerId } }
    socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload }))
    expect((await next()).payload.data.unbanPlayer.auditEntry).toEqual({ operator: '山田', operatorIsClaimed: true })
    socket.close()
    for (const wrong of ['', 7, 'a\nb']) {
      const { socket: refused } = await open(wrong)
      const [code, reason] = await once(refused, 'close')
      expect([wrong, code, String(reason)]).toEqual([wrong, 4400, expect.stringMatching(/^operator must/)])
    }
  })

  it('is the actor of an operator token, and no call with the token can name another', async () => {
    const { answer } = await act(desk.key, 'createOperatorToken', { role: nameOf('operator'), actor: 'Zoë' }, 'token')
    const entry = { operator: 'Zoë', operatorIsClaimed: false }
    expect((await unban(answer.token)).answer.auditEntry).toMatchObject(entry)
    expect((await unban(named(answer.token, 'Zoë'))).answer.auditEntry).toMatchObject(entry)
    expect((await unban(named(answer.token, 'Ada'))).error).toMatchObject({
      code: 'INVALID_REQUEST',
      details: [{ path: 'X-Operator', message: 'must be the actor of the token, or be left out' }],
    })
  })
})

interface Entry {
  readonly operator: string | null
  readonly attempts: number
}

/** The audit entries of a target, latest first. */
async function entriesOf(target: string, more = ''): Promise<Entry[]> {
  const { data, errors } = await game.graphql(
    game.platformKey,
    `query ($target: String) { auditLog(target: $target, first: 200 ${more}) { edges { node { ${WHO} attempts } } } }`,
    { target },
  )
  expect(errors).toBeUndefined()
  return data.auditLog.edges.map(({ node }: { node: Entry }) => node)
}

describe('the audit log', () => {
  it('is filtered by the exact name of the operator', async () => {
    const other = await game.player()
    for (const name of ['Ada', 'Grace', 'ada'])
      await act(named(desk.key, name), 'unbanPlayer', { playerId: other.playerId })
    expect(await entriesOf(other.playerId, 'operator: "Grace"')).toMatchObject([{ operator: 'Grace' }])
    expect(await entriesOf(other.playerId, 'operator: "nobody"')).toEqual([])
  })

  it('shows the labels of keys, also of revoked keys', async () => {
    const key = { role: nameOf('operator'), label: 'support desk in Kyōto' }
    const made = await act(
      game.platformKey,
      'createPlatformKey',
      key,
      `key platformKey { id keyId label } auditEntry { ${WHO} afterText }`,
    )
    const { platformKey, auditEntry } = made.answer
    const { id, keyId, label } = platformKey
    expect(label).toBe('support desk in Kyōto')
    expect(auditEntry).toMatchObject({ action: 'platform_key.create', target: keyId, actorLabel: null })
    expect(JSON.parse(auditEntry.afterText)).toMatchObject({ role: 'operator', label })
    await unban(made.answer.key)
    const revoked = await act(game.platformKey, 'revokePlatformKey', { id })
    expect(revoked.answer.auditEntry).toMatchObject({ action: 'platform_key.revoke', target: keyId })
    expect((await entriesOf(player.playerId))[0]).toMatchObject({ actor: `platform_key:${keyId}`, actorLabel: label })
    const { data } = await game.graphql(
      game.platformKey,
      '{ platformKeys(first: 200) { edges { node { id label } } } sdkKeys(first: 200) { edges { node { id label } } } }',
    )
    expect(data.platformKeys.edges).toContainEqual({ node: { id, label } })
    const sdk = await act(
      game.platformKey,
      'createSdkKey',
      { environment: 'production', label: 'iOS' },
      'sdkKey { keyId label } auditEntry { target }',
    )
    expect(sdk.answer).toMatchObject({ sdkKey: { label: 'iOS' }, auditEntry: { target: sdk.answer.sdkKey.keyId } })
    for (const wrong of ['', 'x'.repeat(65), 'a\nb', ' a']) {
      const { error } = await act(game.platformKey, 'createPlatformKey', { ...key, label: wrong }, 'key')
      expect([wrong, error]).toMatchObject([wrong, { code: 'INVALID_REQUEST', details: [{ path: 'label' }] }])
    }
  })

  it('of a player is readable page by page for operators, and not for viewers, players and other projects', async () => {
    const target = await game.player()
    for (const name of ['a', 'b', 'c']) await act(named(desk.key, name), 'unbanPlayer', { playerId: target.playerId })
    const document = `query ($id: ID!, $after: String) { player(id: $id) { auditLog(first: 2, after: $after) {
      edges { node { ${WHO} attempts } } pageInfo { hasNextPage endCursor } } } }`
    const read = (key: string, after: string | null = null) =>
      game.graphql(key, document, { id: target.playerId, after })
    const first = (await read(desk.key)).data.player.auditLog
    const { edges, pageInfo } = (await read(desk.key, first.pageInfo.endCursor)).data.player.auditLog
    expect([first.pageInfo.hasNextPage, pageInfo.hasNextPage]).toEqual([true, false])
    const nodes = [...first.edges, ...edges].map(({ node }: { node: Entry }) => node)
    expect(nodes).toEqual(await entriesOf(target.playerId))
    expect(nodes.map(({ operator }) => operator)).toEqual(['c', 'b', 'a'])

    const viewer = await newOperator(game.app.pool, game.projectId, 'viewer')
    expect((await read(viewer.key)).errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    const { errors } = await target.graphql('{ me { auditLog(first: 1) { pageInfo { hasNextPage } } } }')
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN')
    expect(await entriesOf(target.playerId)).toMatchObject([
      { action: 'audit_log.read.denied', actor: `player:${target.playerId}` },
      { action: 'audit_log.read.denied', actor: viewer.actor },
      ...nodes,
    ])
    const { projectId } = await createProject(game.app.pool, { name: 'Other', environments: ['production'] })
    const stranger = await newOperator(game.app.pool, projectId, 'admin')
    const strange = await read(stranger.key)
    expect(strange.data?.player ?? null).toBeNull()
  })
})

describe('an operator mutation', () => {
  it.each<[Mutation, () => Input]>([
    ['banPlayer', () => ({})],
    ['unbanPlayer', () => ({})],
    ['endSessions', () => ({})],
    ['creditWallet', () => ({ currency: 'gold', amount: '5', idempotencyKey: 'credit' })],
    ['debitWallet', () => ({ currency: 'gold', amount: '2', idempotencyKey: 'debit' })],
    ['grantXp', () => ({ scenarioId: 'season', nodeId: 'pass', amount: '1500', idempotencyKey: 'xp' })],
    ['resetPass', () => ({ scenarioId: 'season', nodeId: 'pass' })],
    ['setPlayerStorage', () => ({ values: { key: 1 } })],
    ['deletePlayerStorage', () => ({ keys: ['key'] })],
    ['cancelRun', () => ({ runId })],
  ])('answers with its audit entry: %s', async (mutation, input) => {
    const { answer, error } = await act(desk.key, mutation, { playerId: player.playerId, ...input() })
    expect(error).toBeUndefined()
    expect(answer.auditEntry).toEqual(omitAttempts((await entriesOf(player.playerId))[0]))
  })

  it('answers repeats of a key, also concurrent ones, with the same audit entry and ledger entry', async () => {
    const rich = await game.player()
    await rich.start('season')
    const select = (ledger: string) => `auditEntry { id } entry { id ${ledger} }`
    const whom = { playerId: rich.playerId }
    const money = { ...whom, currency: 'gems', amount: '7', idempotencyKey: 'once' }
    const xp = { ...whom, scenarioId: 'season', nodeId: 'pass', amount: '1500', idempotencyKey: 'once' }
    const twice = async (mutation: Mutation, input: Input, ledger: string) => {
      const both = await Promise.all([1, 2].map(() => act(desk.key, mutation, input, select(ledger))))
      both.push(await act(desk.key, mutation, input, select(ledger)))
      for (const { answer } of both) expect(answer).toEqual(both[0]?.answer)
      expect(both[0]?.answer.auditEntry.id).toBeDefined()
      return both[0]?.answer
    }
    const credit = await twice('creditWallet', money, 'currency amount balance cause reference')
    expect(credit.entry).toMatchObject({ currency: 'gems', amount: '7', balance: '7', cause: 'ADJUSTMENT' })
    expect(credit.entry.reference).toBe(credit.auditEntry.id.replace('AuditLogEntry:', 'support/'))
    const grant = await twice('grantXp', xp, 'amount source')
    expect(grant.entry).toMatchObject({ amount: '1500', source: 'support' })
    expect(await entriesOf(rich.playerId)).toHaveLength(2)
  })

  it('of settings answers with its audit entry, and with null when nothing changed', async () => {
    const { platformKey } = game
    const target = async (mutation: string, input: Input) =>
      (await act(platformKey, mutation, input, 'auditEntry { target }')).answer.auditEntry
    expect(await target('createEnvironment', { name: 'qa' })).toEqual({ target: 'qa' })
    expect(await target('renameProject', { name: 'Renamed' })).toEqual({ target: game.projectId })
    const { url, close } = await startOperator()
    const custom = { default: { enabled: true, url, secret: 'secret' } }
    const providers = { environment: 'qa', authProviders: { custom } }
    expect(await target('setAuthProviders', providers)).toEqual({ target: 'qa' })
    expect(await target('setAuthProviders', providers)).toBeNull()
    const rotation = { environment: 'qa', name: 'default', secret: 'another' }
    expect(await target('rotateProviderSecret', rotation)).toEqual({ target: 'default' })
    expect(await target('rotateProviderSecret', rotation)).toBeNull()
    await close()
  })
})

function omitAttempts(entry: Entry | undefined): object {
  const { attempts: _, ...rest } = entry ?? { attempts: 0 }
  return rest
}
