import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRefusedWrites } from '../src/app/refused-writes.ts'
import { createServerKey } from '../src/callers/keys.ts'
import { FOLDING_LOCK } from '../src/operations/figures/fold.ts'
import { setOnDatabase } from './harness/database.ts'
import { passNode, scenario, season } from './harness/definitions.ts'
import { type Game, generateKeys, startGame, startInstance, times } from './harness/game.ts'
import { approve, type Operator, startOperator } from './harness/operator.ts'
import { until } from './harness/until.ts'

let game: Game
let webhook: Operator

beforeAll(async () => {
  webhook = await startOperator(approve({ subject: 'acct_1' }))
  game = await startGame()
  await game.setProviders({ default: { enabled: true, url: webhook.url, secret: webhook.secret } })
})
afterAll(async () => {
  await game?.stop()
  await webhook?.close()
})

/** The sum of a metric over all labels that are not given. */
async function readingOf(name: string, labels: Readonly<Record<string, string>> = {}, of = game.app): Promise<number> {
  const metric = await of.metrics.registry.getSingleMetric(name)?.get()
  return (metric?.values ?? [])
    .filter((value) => Object.entries(labels).every(([label, is]) => value.labels[label] === is))
    .reduce((sum, { value }) => sum + value, 0)
}

/** How much a metric grows. */
async function growthOf(name: string, labels: Readonly<Record<string, string>>, work: () => Promise<unknown>) {
  const before = await readingOf(name, labels)
  await work()
  return (await readingOf(name, labels)) - before
}

describe('metrics', () => {
  it('count each login and link once by its result, over REST and GraphQL', async () => {
    const logins = 'tierway_logins_total'
    expect(await growthOf(logins, { operation: 'login', result: 'ok' }, () => game.login({ customData: {} }))).toBe(1)
    const disabled = { operation: 'login', result: 'custom_auth_disabled' }
    expect(await growthOf(logins, disabled, () => game.login({}, { provider: 'nowhere' }))).toBe(1)
    const mutation = `mutation { loginCustom(input: { customData: {}, provider: "nowhere" }) { accessToken } }`
    const overGraphql = () =>
      fetch(`${game.baseUrl}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-sdk-key': game.sdkKey },
        body: JSON.stringify({ query: mutation }),
      })
    expect(await growthOf(logins, disabled, overGraphql)).toBe(1)
    const { token } = await game.player()
    const taken = { operation: 'link', result: 'identity_already_linked' }
    expect(await growthOf(logins, taken, () => game.link(token, { customData: {} }))).toBe(1)
  })

  it('count attempts without access by action, over REST and GraphQL', async () => {
    const viewer = await game.key('viewer')
    const denied = 'tierway_denied_total'
    const setProviders = () =>
      fetch(`${game.baseUrl}/platform/v1/projects/${game.projectId}/auth-providers`, {
        method: 'PUT',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${viewer}` },
        body: '{"environment":"production","authProviders":{"custom":{}}}',
      })
    const ban = () =>
      game.graphql(viewer, 'mutation { banPlayer(input: { playerId: "x", reason: "r" }) { player { id } } }')
    for (const [action, attempt] of [
      ['auth_providers.set', setProviders],
      ['player.ban', ban],
    ] as const) {
      const ofAction = () => growthOf(denied, { action }, attempt).then((count) => expect(count).toBe(1))
      expect(await growthOf(denied, {}, ofAction)).toBe(1)
    }
  })

  it('distinguish commands on remembered rows from those that read Postgres or ran again', async () => {
    await game.publish('climb', scenario([passNode('pass', { levels: times(50, (xp) => xp), tiers: [] })], []))
    const player = await game.player()
    const runId = await player.start('climb')
    const add = () =>
      player.post('/sdk/v1/battlepass/xp', { scenarioId: 'climb', nodeId: 'pass', runId, amount: 1, source: '' })
    await add()
    const bytes = await readingOf('tierway_remembered_bytes')
    expect(bytes).toBeGreaterThan(0)
    expect(await growthOf('tierway_commands_total', { kind: 'write', path: 'memory' }, add)).toBe(1)
    // A change that this instance did not make.
    await game.app.pool.query('UPDATE players SET status = status')
    const inTransaction = { kind: 'write', path: 'transaction' }
    const unproven = () =>
      growthOf('tierway_unproven_commands_total', { kind: 'write' }, add).then((count) => expect(count).toBe(1))
    expect(await growthOf('tierway_commands_total', inTransaction, unproven)).toBe(1)
  })

  describe('of xp over the rules of a pass', () => {
    const limited = 'tierway_xp_limited_total'
    let serverKey: string
    beforeAll(async () => {
      serverKey = (await createServerKey(game.app.pool, game.environmentId)).key
      const sources = { match: { from: 'server', max: 50 }, quest: { max: 50 } }
      for (const over of ['clip', 'refuse'])
        await game.publish(over, season({ more: { xp: { over, others: false, sources } } }))
    })

    /** A player in a run of the scenario, with a call of its client and one of a game server. */
    async function enter(scenarioId: string) {
      const player = await game.player()
      const runId = await player.start(scenarioId)
      const place = { scenarioId, nodeId: 'pass', runId }
      return {
        send: (source: string, amount: number, more = {}) =>
          player.post('/sdk/v1/battlepass/xp', { ...place, source, amount, ...more }),
        give: (source: string, amount: number, idempotencyKey: string) =>
          game.request('POST', '/server/v1/battlepass/xp', {
            headers: { authorization: `Bearer ${serverKey}` },
            body: JSON.stringify({
              grants: [{ player: { playerId: player.playerId }, ...place, source, amount }],
              idempotencyKey,
            }),
          }),
        grant: () =>
          game.graphql(
            game.platformKey,
            `mutation ($input: GrantXpInput!) { grantXp(input: $input) { entry { id } } }`,
            {
              input: {
                playerId: player.playerId,
                ...{ scenarioId, nodeId: 'pass', source: 'match', amount: 500, reason: 'r', idempotencyKey: 'grant' },
              },
            },
          ),
      }
    }

    it('count a call once by its environment, its origin and what became of it, and no repeated answer', async () => {
      const [clip, refuse] = [await enter('clip'), await enter('refuse')]
      const work = {
        'client clipped': () => clip.send('quest', 60, { idempotencyKey: 'one' }),
        'client refused': () => refuse.send('quest', 60, { idempotencyKey: 'one' }),
        'client not_allowed': () => clip.send('match', 10),
        'server clipped': () => clip.give('match', 60, 'one'),
        'server refused': () => refuse.give('match', 60, 'two'),
        'server not_allowed': () => clip.give('cheat', 10, 'three'),
      }
      for (const [labels, call] of Object.entries(work)) {
        const [origin = '', reason = ''] = labels.split(' ')
        const ofLabels = { environment: game.environmentId, origin, reason }
        const counted = () =>
          growthOf(limited, ofLabels, call).then((count) => expect([labels, count]).toEqual([labels, 1]))
        expect([labels, await growthOf(limited, {}, counted)]).toEqual([labels, 1])
      }
      const allowed = async () => {
        await clip.send('quest', 60, { idempotencyKey: 'one' })
        await clip.give('match', 60, 'one')
        await clip.send('quest', 50)
        await clip.give('match', 50, 'four')
        expect((await clip.grant()).errors).toBeUndefined()
      }
      expect(await growthOf(limited, {}, allowed)).toBe(0)
    })

    it.each([
      ['clip', 'quest', 200],
      ['refuse', 'quest', 409],
      ['clip', 'match', 403],
    ])('count a call once that is decided again: %s, %s', async (scenarioId, source, status) => {
      const { send } = await enter(scenarioId)
      expect((await send(source, 60)).status).toBe(status)
      // A change that this instance did not make.
      await game.app.pool.query('UPDATE players SET status = status')
      const again = async () => {
        const call = async () => expect((await send(source, 60)).status).toBe(status)
        expect(await growthOf('tierway_unproven_commands_total', { kind: 'write' }, call)).toBe(1)
      }
      expect(await growthOf(limited, {}, again)).toBe(1)
    })
  })

  it('show that figures grow old while another session holds the lock for folding them', async () => {
    const client = await game.app.pool.connect()
    try {
      await client.query(`SELECT pg_advisory_lock(${FOLDING_LOCK})`)
      await until('figures are old', async () => (await readingOf('tierway_figures_age_seconds')) > 4)
      await client.query(`SELECT pg_advisory_unlock(${FOLDING_LOCK})`)
    } finally {
      client.release(true)
    }
    await until('figures are current', async () => (await readingOf('tierway_figures_age_seconds')) < 4)
  })

  it('show that writes are refused on a full disk, as the text of /readyz does', async () => {
    const other = await startGame()
    const { token } = await other.player()
    const start = () =>
      other.request('POST', '/sdk/v1/scenarios/start', {
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ scenarioId: 'climb' }),
      })
    try {
      await other.publish('climb', scenario([passNode('pass', { levels: [0], tiers: [] })], []))
      expect((await other.request('GET', '/readyz')).body).toEqual({ status: 'ready' })
      // The disk of a test cannot be filled, so the table refuses as a full disk does.
      await other.app.pool.query(`CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`)
      await other.app.pool.query('CREATE TRIGGER full_disk BEFORE INSERT ON runs EXECUTE FUNCTION no_space()')
      expect((await start()).status).toBe(503)
      expect(await readingOf('tierway_writes_refused', {}, other.app)).toBe(1)
      const { status, body } = await other.request('GET', '/readyz')
      expect([status, body]).toEqual([
        200,
        { status: 'ready', writes: 'refused', reason: 'the disk of Postgres is full' },
      ])
      await other.app.pool.query('DROP TRIGGER full_disk ON runs')
      expect((await start()).status).toBe(200)
    } finally {
      await other.stop()
    }
  })

  it('forget a write that a full disk refused after 45 seconds, and a read-only server after two', () => {
    let now = 0
    const refused = createRefusedWrites(() => now)
    expect(refused.reason()).toBeUndefined()
    refused.note('25006')
    now = 1_900
    expect(refused.reason()).toBe('Postgres is read-only')
    now = 2_100
    expect(refused.reason()).toBeUndefined()
    refused.note('53100')
    now = 46_000
    expect(refused.reason()).toBe('the disk of Postgres is full')
    now = 48_000
    expect(refused.reason()).toBeUndefined()
  })

  it('show that the database refuses writes, and that background tasks fail', async () => {
    expect(await readingOf('tierway_writes_refused')).toBe(0)
    expect(await readingOf('tierway_task_failures_total')).toBe(0)
    const other = await startGame()
    await setOnDatabase(other.databaseUrl, 'default_transaction_read_only', 'on')
    const instance = await startInstance(other.databaseUrl, await generateKeys())
    try {
      const read = (name: string, labels = {}) => readingOf(name, labels, instance.app)
      expect([await read('tierway_ready'), await read('tierway_writes_refused')]).toEqual([1, 1])
      await until('folding fails', async () => (await read('tierway_task_failures_total', { task: 'figures' })) > 0)
    } finally {
      await instance.stop()
      await other.stop()
    }
  })
})
