import { readFileSync } from 'node:fs'
import { buildSchema, type GraphQLField } from 'graphql'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPlatformKey, createSdkKey } from '../../src/callers/keys.ts'
import { createProject } from '../../src/callers/projects.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { createGroupCommit } from '../../src/transactions/group-commit.ts'
import { season } from '../harness/definitions.ts'
import { type Operator, startOperator } from '../harness/operator.ts'
import { withoutRedis } from '../harness/redis.ts'
import { post, type Service, type WorldPlayer } from '../harness/service.ts'
import { settled } from '../harness/settled.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'
import { cursorAt, positionOf } from './cursors.ts'
import {
  type Ask,
  climb,
  createFleet,
  type Fleet,
  graphql,
  type Listener,
  listen,
  type SocketListener,
  stream,
} from './fleet.ts'

const FORBIDDEN = 4403
/** Two seconds are promised; the rest is for a busy machine. */
const WITHIN_MS = 6_000

// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every shape.
type Event = any

describe.skipIf(withoutRedis !== '')(`${withoutRedis}access to events, on two instances`, () => {
  let fleet: Fleet
  let a: Service
  let b: Service

  beforeAll(async () => {
    fleet = await createFleet()
    ;[a, b] = await Promise.all([fleet.start(), fleet.start()])
    await fleet.world.publish('season', season())
    await fleet.world.publish('secret', season())
  })
  afterAll(() => fleet?.close())

  describe('subscriptions and the history (contract 14)', () => {
    const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'))
    const subscriptions = Object.values(schema.getSubscriptionType()?.getFields() ?? {})
    const histories = Object.values(schema.getQueryType()?.getFields() ?? {}).filter(({ name }) => name === 'events')

    /** Causes events of every kind, in two scenarios. */
    async function play(player: WorldPlayer): Promise<void> {
      for (const scenarioId of ['season', 'secret']) {
        const { body } = await post(a, '/sdk/v1/scenarios/start', player.token, { scenarioId })
        const at = { scenarioId, nodeId: 'pass', runId: body.runId }
        const answers = [
          await post(a, '/sdk/v1/battlepass/premium', player.token, { ...at, idempotencyKey: scenarioId }),
          await post(a, '/sdk/v1/battlepass/xp', player.token, { ...at, amount: 150, source: 'quest' }),
          await post(a, '/sdk/v1/battlepass/xp', player.token, { ...at, amount: 900, source: 'quest' }),
        ]
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
        const claim = 'mutation ($input: ClaimAllInput!) { claimAll(input: $input) { claimed { level } } }'
        expect((await graphql(a, player.token, claim, { input: at })).errors).toBeUndefined()
      }
    }

    interface Row {
      readonly environmentId: string
      readonly position: number
      readonly type: string
      readonly handle: string | null
      readonly playerId: string
      readonly scenarioId: string | null
      readonly nodeId: string | null
    }

    async function readRows(): Promise<Row[]> {
      await settled(fleet.world.pool)
      const { rows } = await fleet.world.pool.query<Row>(
        `SELECT environment_id AS "environmentId", position::int, upper(replace(type, '.', '_')) AS type,
           handle, player_id AS "playerId", scenario_id AS "scenarioId", node_id AS "nodeId"
         FROM events ORDER BY position`,
      )
      return rows
    }

    /** The values to try for each argument. The first is its default while another argument is varied. */
    type Bait = Readonly<Record<string, readonly unknown[]>>

    /** Varies one argument at a time: every value of every argument of these fields. */
    function* questions(fields: readonly GraphQLField<unknown, unknown>[], bait: Bait) {
      const valuesOf = (name: string): readonly unknown[] => {
        const values = bait[name]
        if (!values) throw new Error(`the argument ${name} is new: say here what may be tried with it`)
        return values
      }
      for (const field of fields) {
        const plain = Object.fromEntries(field.args.map(({ name }) => [name, valuesOf(name)[0]]))
        const declared = field.args.map(({ name, type }) => `$${name}: ${type}`).join(', ')
        const passed = field.args.map(({ name }) => `${name}: $${name}`).join(', ')
        for (const { name } of field.args) {
          for (const value of valuesOf(name)) {
            yield {
              field: field.name,
              declared,
              passed,
              variables: { ...plain, [name]: value } as Record<string, unknown>,
            }
          }
        }
      }
    }

    const DETAILS = 'cursor type handle playerId scenarioId nodeId'
    const REFUSALS = ['FORBIDDEN', 'ENVIRONMENT_NOT_FOUND', 'INVALID_REQUEST', 'CURSOR_EXPIRED']

    /**
     * Opens every subscription on both instances, and then causes events with `meanwhile`. Each subscription must be
     * refused, or receive exactly the caller's own rows that match it. Returns all events that the caller saw, those of
     * the history included.
     */
    async function walk(
      token: string,
      bait: Bait,
      isOwn: (row: Row, variables: Record<string, unknown>) => boolean,
      meanwhile: () => Promise<void>,
    ): Promise<Event[]> {
      const heard: Event[] = []
      const asked: { field: string; variables: Record<string, unknown>; listener: SocketListener }[] = []
      for (const { field, declared, passed, variables } of questions(subscriptions, bait)) {
        const query = `subscription (${declared}) { ${field}(${passed}) { ${DETAILS} } }`
        const ask: Ask = { token, query, variables, onEvent: (event) => heard.push(event) }
        const listeners = [a, b].map((instance) => listen(instance, ask))
        asked.push(...listeners.map((listener) => ({ field, variables, listener })))
        // One after the other: a socket that waits too long for its turn is closed.
        await until('they are connected', () => listeners.every((one) => one.acknowledged || one.closed !== undefined))
      }
      await meanwhile()

      const rows = await readRows()
      for (const { field, variables, listener } of asked) {
        const own = rows.filter((row) => isOwn(row, variables) && isAskedFor(row, field, variables))
        const isAnswered = () => listener.errors.length > 0 || listener.positions.length >= own.length
        await until('it is answered', () => isAnswered() || listener.closed !== undefined)
        if (listener.errors.length > 0) expect(REFUSALS).toContain(listener.errors[0].extensions.code)
        const expected = listener.errors.length > 0 ? [] : own.map(({ position }) => position)
        expect([field, variables, listener.positions, listener.closed]).toEqual([field, variables, expected, undefined])
        listener.terminate()
      }

      for (const { field, declared, passed, variables } of questions(histories, bait)) {
        const query = `query (${declared}) { ${field}(${passed}) { edges { node { ${DETAILS} } } } }`
        for (const instance of [a, b]) {
          const { data, errors } = await graphql(instance, token, query, variables)
          if (errors) expect(REFUSALS).toContain(errors[0]?.extensions.code)
          const nodes = (data?.events?.edges ?? []).map(({ node }: Event) => node)
          heard.push(...nodes)
        }
      }
      return heard
    }

    function isAskedFor(row: Row, field: string, variables: Record<string, unknown>): boolean {
      const { after, playerId, scenarioId, nodeId, types, handles } = variables
      const position = positionOf(String(after))
      return (
        row.position > position &&
        (['events', 'onEvent'].includes(field) ||
          row.handle === field ||
          row.type === (['playerCreated', 'onPlayerCreated'].includes(field) ? 'PLAYER_CREATED' : field)) &&
        (typeof playerId !== 'string' || row.playerId === playerId.toLowerCase()) &&
        (typeof scenarioId !== 'string' || row.scenarioId === scenarioId) &&
        (typeof nodeId !== 'string' || row.nodeId === nodeId) &&
        (!Array.isArray(types) || types.includes(row.type)) &&
        (!Array.isArray(handles) || handles.includes(row.handle))
      )
    }

    const ids = (events: readonly Event[]) => new Set(events.map(({ playerId }) => playerId))
    const times = { from: [null, '2000-01-01T00:00:00Z'], to: [null, '2100-01-01T00:00:00Z'] }
    const pages = { first: [null, 100], last: [null, 100] }

    it('never show a player the events of another player, whatever the arguments', async () => {
      const [own, other] = [
        await fleet.world.player('climb', { gems: 5_000n }),
        await fleet.world.player('climb', { gems: 5_000n }),
      ]
      await play(other)
      await play(own)
      const bait: Bait = {
        ...times,
        ...pages,
        environment: [null, 'production', 'staging', fleet.environmentId, '*', ''],
        playerId: [
          null,
          own.playerId,
          own.playerId.toUpperCase(),
          other.playerId,
          other.playerId.toUpperCase(),
          '*',
          '',
        ],
        scenarioId: [null, 'secret', 'climb', '*', '%'],
        nodeId: [null, 'pass', 'start', '*', '%'],
        types: [null, ['CROSSING'], ['PLAYER_CREATED'], ['CROSSING', 'PLAYER_CREATED'], []],
        handles: [null, ['onLevelUp', 'onStart'], ['*'], []],
        // Cursors of the player's own stream are positions only: they reveal nothing about other players.
        after: [fleet.cursorAt(0), fleet.cursorAt(await fleet.end()), cursorAt(other.playerId, 0n)],
        before: [null, fleet.cursorAt(await fleet.end())],
      }
      const heard = await walk(
        own.token,
        bait,
        ({ playerId }) => playerId === own.playerId,
        async () => {
          for (const player of [other, own, other, own]) await climb(b, player)
        },
      )
      expect(ids(heard)).toEqual(new Set([own.playerId]))
      // Both players caused events of every kind.
      const handles = new Set(heard.map(({ handle }) => handle))
      expect(handles).toEqual(new Set(['onStart', 'onLevelUp', 'onMaxLevel', 'onComplete', 'onPremiumPurchase', null]))
    })

    it('never show an operator the events of another project, whatever the arguments', async () => {
      const { pool } = fleet.world
      const foreign = await createProject(pool, { name: 'Foreign', environments: ['production', 'elsewhere'] })
      const { key } = await createPlatformKey(pool, foreign.projectId, 'admin')
      const [production = '', elsewhere = ''] = foreign.environments.values()
      const writes = createGroupCommit({ pool })
      const [first, second] = [
        await writes.run(createPlayer(production, null)),
        await writes.run(createPlayer(elsewhere, null)),
      ]
      const victim = await fleet.world.player('climb', { gems: 5_000n })
      await play(victim)
      const bait: Bait = {
        ...times,
        ...pages,
        environment: ['production', 'elsewhere', fleet.environmentId, fleet.projectId, '*', null],
        playerId: [null, victim.playerId, first.playerId, '*'],
        scenarioId: [null, 'climb', '*'],
        nodeId: [null, 'pass', '*'],
        types: [null, ['CROSSING'], ['PLAYER_CREATED']],
        handles: [null, ['onStart', 'onLevelUp']],
        after: [cursorAt(production, 0n), fleet.cursorAt(0), fleet.cursorAt(await fleet.end())],
        before: [null, fleet.cursorAt(await fleet.end())],
      }
      const heard = await walk(
        key,
        bait,
        ({ environmentId }, { environment }) => environmentId === foreign.environments.get(String(environment)),
        async () => {
          await climb(a, victim)
          await writes.run(createPlayer(production, 'Ada'))
          await climb(b, victim)
          await writes.run(createPlayer(production, 'Grace'))
          await writes.close()
        },
      )
      const { rows } = await pool.query('SELECT id FROM players WHERE environment_id = ANY($1)', [
        [production, elsewhere],
      ])
      const own = new Set(rows.map(({ id }) => id))
      expect([...ids(heard)].filter((id) => !own.has(id))).toEqual([])
      expect(ids(heard).has(first.playerId)).toBe(true)
      expect(own.has(second.playerId)).toBe(true)
    })

    it('refuse a Last-Event-ID of another stream with CURSOR_EXPIRED', async () => {
      const player = await fleet.climber()
      const foreign = cursorAt(player.playerId, 0n)
      for (const instance of [a, b]) {
        const listener = stream(instance, { token: player.token, lastEventId: foreign })
        await until('it is refused', () => listener.errors.length > 0)
        expect(listener.errors[0].extensions.code).toBe('CURSOR_EXPIRED')
        expect(listener.positions).toEqual([])
      }
    })
  })

  // Each test waits a second or two for the periodic check of open connections. So they run concurrently.
  describe.concurrent('open sockets and streams of a caller (contract 5)', () => {
    let operator: Operator
    let sdkKey: string
    let others: Listener[]

    beforeAll(async () => {
      operator = await startOperator()
      sdkKey = (await createSdkKey(fleet.world.pool, fleet.environmentId)).key
      const { url, secret } = operator
      const response = await fetch(`${a.baseUrl}/platform/v1/projects/${fleet.projectId}/auth-providers`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${fleet.platformKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          environment: 'production',
          authProviders: { custom: { default: { enabled: true, url, secret } } },
        }),
      })
      expect(response.status).toBe(200)
      others = (
        await Promise.all([open(await login('somebody else')), open({ token: fleet.platformKey }), open({ sdkKey })])
      ).flat()
    })
    afterAll(async () => {
      for (const other of others) other.terminate()
      await operator?.close()
    })

    const client = (path: string, body: object) =>
      fetch(`${b.baseUrl}/sdk/v1/authorization/${path}`, {
        method: 'POST',
        headers: { 'x-sdk-key': sdkKey, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })

    async function login(player: string): Promise<{ token: string; refreshToken: string; playerId: string }> {
      const response = await client('custom', { customData: { player } })
      const { accessToken: token, refreshToken } = (await response.json()) as Event
      return { token, refreshToken, playerId: (await fleet.tokens.verifyAccessToken(token)).playerId }
    }

    interface Caller {
      readonly token?: string
      readonly sdkKey?: string
    }

    /** Opens on both instances: a socket without an operation and, with a token, a subscription over each protocol. */
    async function open(caller: Caller): Promise<Listener[]> {
      const ask = { ...caller, variables: { environment: 'production', after: fleet.cursorAt(0) } }
      const followers =
        caller.token === undefined ? [] : [listen(a, ask), listen(b, ask), stream(a, ask), stream(b, ask)]
      // Replayed events show that they are open.
      await Promise.all(followers.map((follower) => follower.heard(1)))
      return [...followers, await connect(a, caller), await connect(b, caller)]
    }

    async function connect(instance: Service, caller: Caller): Promise<SocketListener> {
      const socket = listen(instance, { ...caller, query: null })
      await until('it is let in', () => socket.acknowledged)
      return socket
    }

    const stillOpen = (listeners: readonly Listener[]) => listeners.filter(({ closed }) => closed === undefined).length

    /** Expects these listeners to end in time, those of others to stay open, and a new connection to be refused. */
    async function expectEnd(caller: Caller, listeners: readonly Listener[], reason: string): Promise<void> {
      const elapsed = startStopwatch()
      await until('all have ended', () => stillOpen(listeners) === 0)
      const took = elapsed()
      console.log(`${reason}: ${listeners.length} sockets and streams ended within ${took.toFixed(0)} ms`)
      expect(took).toBeLessThan(WITHIN_MS)
      for (const { closed } of listeners) {
        expect([
          { code: FORBIDDEN, reason },
          { code: 0, reason: '' },
        ]).toContainEqual(closed)
      }
      expect(stillOpen(others)).toBe(others.length)
      for (const instance of [a, b]) {
        const again = listen(instance, {
          ...caller,
          variables: { environment: 'production', after: fleet.cursorAt(0) },
        })
        await until('it is refused', () => again.closed !== undefined)
        expect([again.closed?.code, again.positions]).toEqual([FORBIDDEN, []])
        if (caller.sdkKey !== undefined) continue
        const ask = { ...caller, variables: { environment: 'production' } }
        let last = stream(instance, ask)
        await until('its stream is refused', () => {
          // A check of open connections can see the end of a login before the instance has read it. Until then, at most
          // a second, a stream is still accepted, and ends without an error.
          if (last.closed !== undefined && last.errors.length === 0) last = stream(instance, ask)
          return last.errors.length > 0
        })
        const [{ extensions }] = last.errors
        expect([extensions.code, last.positions]).toEqual([
          expect.stringMatching(/^(PLAYER_BANNED|PLAYER_DELETED|INVALID_TOKEN)$/),
          [],
        ])
      }
    }

    const act = async (field: string, playerId: string) => {
      const query = `mutation ($playerId: ID!) { ${field}(input: { playerId: $playerId, reason: "test" }) { player { id } } }`
      expect((await graphql(a, fleet.platformKey, query, { playerId })).errors).toBeUndefined()
    }

    it.each([
      ['a ban', 'banPlayer', 'player banned'],
      ['a deletion', 'deletePlayer', 'player deleted'],
      ['the end of all logins', 'endSessions', 'logged out'],
    ])('end within two seconds of %s, on every instance', async (what, field, reason) => {
      const player = await login(what)
      const listeners = await open(player)
      await act(field, player.playerId)
      await expectEnd(player, listeners, reason)
    })

    it('end within two seconds of a logout, while those of another login of the player stay open', async () => {
      const [gone, kept] = [await login('twice'), await login('twice')]
      expect(kept.playerId).toBe(gone.playerId)
      const [listeners, staying] = [await open(gone), await open(kept)]
      expect((await client('logout', { refreshToken: gone.refreshToken })).status).toBe(204)
      await expectEnd(gone, listeners, 'logged out')
      expect(stillOpen(staying)).toBe(staying.length)
      for (const listener of staying) listener.terminate()
    })

    it('end within two seconds of the revocation of their platform key, on every instance', async () => {
      const { id, key } = await createPlatformKey(fleet.world.pool, fleet.projectId, 'viewer')
      const listeners = await open({ token: key })
      await fleet.world.pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [id])
      await expectEnd({ token: key }, listeners, 'key revoked')
    })

    it('end within two seconds of the revocation of their SDK key, also when they have a valid token', async () => {
      const { id, key } = await createSdkKey(fleet.world.pool, fleet.environmentId)
      const { token } = await login('with a key')
      const alone = await open({ sdkKey: key })
      const both = [await connect(a, { sdkKey: key, token }), await connect(b, { sdkKey: key, token })]
      await fleet.world.pool.query('UPDATE sdk_keys SET revoked_at = now() WHERE id = $1', [id])
      await expectEnd({ sdkKey: key, token }, [...alone, ...both], 'key revoked')
    })
  })
})
