import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Json } from '../../src/base/json.ts'
import { createProject } from '../../src/callers/projects.ts'
import { createPlayer } from '../../src/players/create-player.ts'
import { auditBooks, auditSupport } from '../harness/audit.ts'
import { passNode, scenario } from '../harness/definitions.ts'
import { type Game, type GraphqlAnswer, startGame, times } from '../harness/game.ts'
import { startOperator, type Operator as Webhook } from '../harness/operator.ts'
import { settled } from '../harness/settled.ts'
import { type LoggedIn, logIn, newOperator, type Operator, obey, payload, support } from './desk.ts'

const NOBODY = '01900000-0000-7000-8000-000000000000'
const XP = '/sdk/v1/battlepass/xp'
const CLAIM = '/sdk/v1/battlepass/claim'
const PREMIUM = '/sdk/v1/battlepass/premium'

let game: Game
let webhook: Webhook
let operator: Operator
let viewer: Operator
/** A player of another project. */
let strangePlayerId: string

beforeAll(async () => {
  game = await startGame()
  webhook = await startOperator(obey)
  const { pool } = game.app
  const project = await createProject(pool, { name: 'Other', environments: ['production', 'elsewhere'] })
  ;[operator, viewer] = await Promise.all([
    newOperator(pool, game.projectId),
    newOperator(pool, game.projectId, 'viewer'),
  ])
  const elsewhere = project.environments.get('elsewhere') ?? ''
  strangePlayerId = (await game.app.service.run(createPlayer(elsewhere, 'Eve'))).playerId
  const { url, secret } = webhook
  const provider = { enabled: true, url, secret }
  expect((await game.setProviders({ default: provider, steam: provider })).status).toBe(200)
  const nodes = [passNode('pass'), passNode('bonus')]
  const edges = nodes.map((node) => ({ from: 'start', handle: 'onStart', to: (node as { id: string }).id }))
  for (const scenarioId of ['season', 'second'])
    expect((await game.publish(scenarioId, scenario(nodes, edges))).status).toBe(200)
})
afterAll(async () => {
  await auditBooks(game.app.pool)
  await auditSupport(game.app.pool)
  await webhook.close()
  await game.stop()
})

const PLAYERS = `query ($environment: String!, $search: String, $provider: String, $status: PlayerStatus, $first: Int, $after: String, $last: Int, $before: String) {
  players(environment: $environment, search: $search, provider: $provider, filter: { status: $status }, first: $first, after: $after, last: $last, before: $before) {
    edges { cursor node { playerId nickname status } }
    pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }`

type Asked = Record<string, unknown>

const list = (asked: Asked = {}, by: string | null = viewer.key): Promise<GraphqlAnswer> =>
  game.graphql(by, PLAYERS, { environment: 'production', ...asked })

interface Page {
  readonly edges: { cursor: string; node: { playerId: string; nickname: string | null; status: string } }[]
  readonly pageInfo: {
    startCursor: string | null
    endCursor: string | null
    hasNextPage: boolean
    hasPreviousPage: boolean
  }
}

async function page(asked: Asked = {}, by?: string): Promise<Page> {
  const { data, errors } = await list(asked, by)
  expect(errors).toBeUndefined()
  return data.players
}

/** The ids that a search finds. */
const found = async (asked: Asked): Promise<string[]> =>
  (await page({ first: 200, ...asked })).edges.map(({ node }) => node.playerId)

function refusal({ errors }: GraphqlAnswer) {
  const [error] = errors ?? []
  return error && [error.extensions.code, error.extensions.details ?? error.message]
}

let count = 0
/** A name that is not in use yet. */
const fresh = (what: string): string => {
  count += 1
  return `${what} ${count}`
}

const create = async (nickname: string | null, environmentId = game.environmentId): Promise<string> =>
  (await game.app.service.run(createPlayer(environmentId, nickname))).playerId

describe('a search for players', () => {
  it('finds a player by id in any letter case, in the environment of the player only', async () => {
    const [id, staged] = [await create(null), await create(null, game.stagingId)]
    expect(await found({ search: id })).toEqual([id])
    expect(await found({ search: id.toUpperCase() })).toEqual([id])
    expect(await found({ search: staged })).toEqual([])
    expect(await found({ search: staged, environment: 'staging' })).toEqual([staged])
    for (const search of [strangePlayerId, NOBODY, id.slice(0, 35)]) expect(await found({ search })).toEqual([])
  })

  const NICKNAMES = [
    'Ada',
    'adam',
    'ADAMANT',
    'Bad Adam',
    '100% real',
    '100x real',
    'under_score',
    'underXscore',
    'back\\slash',
    "O'Brien",
    '"quoted"',
    '😀 smile',
    '😀😀',
    '😁 grin',
    ' space',
    '*star',
    'z'.repeat(128),
    '\u{10ffff}last',
    'tab\there',
    'a',
    'א',
  ]
  const SEARCHES = [
    ...NICKNAMES,
    ...NICKNAMES.map((nickname) => nickname.slice(0, 3)),
    ...NICKNAMES.map((nickname) => nickname.toUpperCase()),
    '%',
    '_',
    '100%',
    'under_',
    '\\',
    "'; DROP TABLE players; --",
    '\u{10ffff}',
    '\u{10ffff}'.repeat(255),
    'zz',
    'z'.repeat(129),
    'z'.repeat(255),
    '[a-z]',
    '.*',
    'NULL',
  ]

  it('finds by any part of a nickname, or by its start for less than three letters, in any case and without wildcards', async () => {
    const ids = new Map<string, string>()
    for (const nickname of NICKNAMES) ids.set(await create(nickname), nickname)
    await create(null)
    await create('Ada', game.stagingId)
    // A slice that ends within an emoji is not well formed, and is skipped.
    for (const search of SEARCHES.filter((text) => text.isWellFormed())) {
      const hasPiece = /[\p{L}\p{N}]{3}/u.test(search)
      const expected = [...ids].filter(([, nickname]) => {
        const at = nickname.toLowerCase().indexOf(search.toLowerCase())
        return hasPiece ? at >= 0 : at === 0
      })
      expect([search, await found({ search })]).toEqual([search, expected.map(([id]) => id).reverse()])
    }
  })

  it('finds nicknames beyond ASCII as they are written', async () => {
    const nicknames = ['Ünïcøde', 'Жанна', 'ŻÓŁĆ', 'İstanbul', 'ßtraße', '東京', 'éclair']
    for (const nickname of nicknames) {
      const id = await create(nickname)
      for (const search of [nickname, nickname.slice(0, 2)])
        expect([search, await found({ search })]).toEqual([search, [id]])
    }
  })

  it('finds nicknames beyond ASCII in any letter case and any Unicode composition', async () => {
    const alike = [
      ['Éva', 'ÉVA', 'éva', 'e\u0301va', 'E\u0301V', 'ÉV'],
      ['ŁUKASZ', 'łukasz', 'Łuk'],
      ['Марина', 'МАРИНА', 'марина', 'МАР'],
      ['Ὀδυσσεύς', 'ὈΔΥΣΣΕΎΣ', 'ὀδυς', 'ὀδυσ', 'ὈΔΥΣ'],
      ['Çelik', 'çelik', 'ÇEL'],
      ['Արամ', 'ԱՐԱՄ', 'արամ'],
      ['\u{10400}\u{10401}', '\u{10428}\u{10429}', '\u{10428}'],
    ]
    for (const [nickname = '', ...searches] of alike) {
      const id = await create(nickname)
      for (const search of [nickname, ...searches]) expect([search, await found({ search })]).toEqual([search, [id]])
      const other = await create('e\u0301toile'.toUpperCase())
      expect(await found({ search: 'étoile' })).toContain(other)
    }
    expect(await found({ search: 'eva' })).toHaveLength(1)
    expect(await found({ search: 'ev' })).toEqual([])
  })

  it('finds by a whole subject of any provider', async () => {
    const subject = fresh('subject')
    const [one, two] = [await logIn(game, subject), await logIn(game, subject, {}, { provider: 'steam' })]
    expect(await found({ search: subject })).toEqual([two.playerId, one.playerId])
    for (const search of [subject.slice(0, -1), subject.toUpperCase(), `${subject} `])
      expect(await found({ search })).toEqual([])
    expect(await found({ search: subject, environment: 'staging' })).toEqual([])
  })

  it('with a provider finds by subjects of that provider only, and requires a search text', async () => {
    const subject = fresh('subject')
    const [one, two] = [await logIn(game, subject), await logIn(game, subject, {}, { provider: 'steam' })]
    await logIn(game, fresh('namesake'), { nickname: subject })
    expect(await found({ search: subject, provider: 'custom' })).toEqual([one.playerId])
    expect(await found({ search: subject, provider: 'custom:steam' })).toEqual([two.playerId])
    expect(await found({ search: subject, provider: 'custom:steam', status: 'BANNED' })).toEqual([])
    expect(await found({ search: subject, provider: 'steam' })).toEqual([])
    expect(await found({ search: one.playerId, provider: 'custom' })).toEqual([])
    expect(refusal(await list({ provider: 'custom' }))).toEqual([
      'INVALID_REQUEST',
      [{ path: 'provider', message: 'must be given with search' }],
    ])
  })

  it('finds by a subject that has the form of an id', async () => {
    const subject = '6f1c0f3e-8f0b-4c57-9a55-0d4c2b0e7a11'
    const { playerId } = await logIn(game, subject)
    expect(await found({ search: subject })).toEqual([playerId])
  })

  it('lists a player once when subject and nickname both match', async () => {
    const name = fresh('name')
    const { playerId } = await logIn(game, name, { nickname: name })
    await logIn(game, fresh('subject'), { nickname: `${name} too` })
    expect((await found({ search: name })).filter((id) => id === playerId)).toHaveLength(1)
    expect(await found({ search: name })).toHaveLength(2)
  })

  it('finds by the current nickname, and not by a replaced or erased one', async () => {
    const [before, after, subject] = [fresh('before'), fresh('after'), fresh('subject')]
    const { playerId } = await logIn(game, subject, { nickname: before })
    await logIn(game, subject, { nickname: after })
    expect([await found({ search: before }), await found({ search: after })]).toEqual([[], [playerId]])
    payload(await support(game, operator.key, 'deletePlayer', { playerId, reason: 'asked for' }))
    expect(await found({ search: after })).toEqual([])
    expect(await found({ search: subject })).toEqual([playerId])
    expect(await found({ search: playerId })).toEqual([playerId])
  })

  it('is refused for text that is empty, too long or contains NUL or a lone surrogate', async () => {
    for (const search of ['', 'x'.repeat(256), 'a\0b', '\ud83d'])
      expect(refusal(await list({ search }))).toEqual([
        'INVALID_REQUEST',
        [{ path: 'search', message: expect.any(String) }],
      ])
  })

  it('can be limited to a status', async () => {
    const name = fresh('standing')
    const ids = await Promise.all(times(3, () => create(name)))
    const [active, banned, deleted] = ids.sort()
    payload(await support(game, operator.key, 'banPlayer', { playerId: banned, reason: 'x' }))
    payload(await support(game, operator.key, 'deletePlayer', { playerId: deleted, reason: 'x' }))
    expect(await found({ search: name, status: 'ACTIVE' })).toEqual([active])
    expect(await found({ search: name, status: 'BANNED' })).toEqual([banned])
    expect(await found({ search: name })).toEqual([banned, active])
    expect(await found({ search: deleted, status: 'DELETED' })).toEqual([deleted])
    expect(await found({ search: deleted, status: 'ACTIVE' })).toEqual([])
    for (const status of ['ACTIVE', 'BANNED', 'DELETED']) {
      const { edges } = await page({ status, first: 200 })
      expect(new Set(edges.map(({ node }) => node.status))).toEqual(new Set([status]))
    }
    expect(refusal(await list({ status: 'gone' }))?.[0]).toBe('INVALID_REQUEST')
  })
})

describe('the list of players', () => {
  /** Follows the pages to the end, and calls `between` after each. */
  async function follow(asked: Asked, between: () => Promise<unknown> = async () => undefined): Promise<string[][]> {
    const pages: string[][] = []
    let after: string | null = null
    do {
      const { edges, pageInfo }: Page = await page({ ...asked, after })
      expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([
        edges[0]?.cursor ?? null,
        edges.at(-1)?.cursor ?? null,
      ])
      expect(pageInfo.hasPreviousPage).toBe(after !== null)
      pages.push(edges.map(({ node }) => node.playerId))
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null
      await between()
    } while (after !== null)
    return pages
  }

  it('shows 250 players on pages without a gap or a duplicate while others are created and banned', async () => {
    const known = await Promise.all(times(250, (index) => create(`paged ${index}`, game.stagingId)))
    for (const first of [200, 33, 7]) {
      // Players that are created meanwhile are newer than the first page.
      const expected = [...known].sort().reverse()
      const between = async () => {
        known.push(await create(`paged ${known.length}`, game.stagingId))
        await support(game, operator.key, 'banPlayer', { playerId: known[known.length % 250], reason: 'x' })
      }
      const pages = await follow({ environment: 'staging', first, search: 'paged' }, between)
      expect(pages.flat()).toEqual(expected)
      expect(pages.slice(0, -1).every(({ length }) => length === first)).toBe(true)
    }
    const { rows } = await game.app.pool.query<{ id: string }>(
      'SELECT id FROM players WHERE environment_id = $1 ORDER BY id DESC',
      [game.stagingId],
    )
    expect((await follow({ environment: 'staging', first: 100 })).flat()).toEqual(rows.map(({ id }) => id))
  })

  it('has twenty players per page by default, newest first, and says whether more follow', async () => {
    const name = fresh('twenty')
    const ids = await Promise.all(times(21, () => create(name)))
    const first = await page({ search: name })
    expect(first.edges.map(({ node }) => node.playerId)).toEqual(ids.sort().reverse().slice(0, 20))
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false })
    const exact = await page({ search: name, first: 21 })
    expect([exact.edges.length, exact.pageInfo.hasNextPage]).toEqual([21, false])
    const none = await page({ search: fresh('nobody') })
    expect(none).toEqual({
      edges: [],
      pageInfo: { startCursor: null, endCursor: null, hasNextPage: false, hasPreviousPage: false },
    })
  })

  it('continues after a player that no longer matches the search', async () => {
    const name = fresh('place')
    const [oldest, middle, newest] = (await Promise.all(times(3, () => create(name)))).sort()
    const { pageInfo } = await page({ search: name, first: 2 })
    payload(await support(game, operator.key, 'deletePlayer', { playerId: middle, reason: 'x' }))
    expect((await page({ search: name, after: pageInfo.endCursor })).edges.map(({ node }) => node.playerId)).toEqual([
      oldest,
    ])
    expect(await found({ search: name })).toEqual([newest, oldest])
  })
})

const PLAYER = `query ($id: ID!) { player(id: $id) {
  id playerId status nickname avatarUrl region language createdAt
  identities { provider subject }
  wallet { currency balance }
  walletLedger(first: 200) { edges { node { id currency amount balance cause reference occurredAt } } }
  inventory { itemId amount }
  storage { key value updatedAt }
  environment
  loginLog(first: 200) { edges { node { id operation provider subject outcome occurredAt playerId } } }
  events(first: 200) { edges { node { type handle scenarioId nodeId runId occurredAt playerId } } }
  runs(first: 200) { edges { node { runId scenarioId status activeNodes startedAt endedAt } } }
  passes { scenarioId nodeId xp level premiumOwned completed
    claims { level track granted { amount currency itemId } runId claimedAt }
    xpLedger(first: 200) { edges { node { id amount source runId occurredAt } } } } } }`

const read = (id: string, by: string | null = viewer.key) => game.graphql(by, PLAYER, { id })

/** The expected player, as the tables have it. */
async function rowsOf(playerId: string): Promise<Record<string, unknown>> {
  const query = async (sql: string) => (await game.app.pool.query(sql, [playerId])).rows
  const nodes = (rows: unknown[]) => ({ edges: rows.map((node) => ({ node })) })
  const [player] = await query(
    `SELECT 'Player:' || id AS id, id AS "playerId", upper(status) AS status, nickname, avatar_url AS "avatarUrl", region, language, created_at AS "createdAt",
       'production' AS environment FROM players WHERE id = $1`,
  )
  const claims = await query(
    `SELECT scenario_id, node_id, level, upper(track) AS track, granted, run_id AS "runId", claimed_at AS "claimedAt"
     FROM tier_claims WHERE player_id = $1 ORDER BY level, track`,
  )
  const xp = await query(
    `SELECT scenario_id, node_id, 'XpEntry:' || player_id || '/' || id AS id, amount, source, run_id AS "runId",
       created_at AS "occurredAt"
     FROM xp_ledger WHERE player_id = $1 ORDER BY id DESC`,
  )
  const runs = await query(
    `SELECT id AS "runId", scenario_id AS "scenarioId", upper(status) AS status, active AS "activeNodes", started_at AS "startedAt",
       completed_at AS "endedAt" FROM runs WHERE player_id = $1 ORDER BY id DESC`,
  )
  const passes = await query(
    `SELECT scenario_id AS "scenarioId", node_id AS "nodeId", xp, level, premium_owned AS "premiumOwned", completed
     FROM passes WHERE player_id = $1 ORDER BY 1, 2`,
  )
  const ofPass = <T extends { scenario_id: string; node_id: string }>(rows: T[], scenarioId: string, nodeId: string) =>
    rows
      .filter(({ scenario_id, node_id }) => scenario_id === scenarioId && node_id === nodeId)
      .map(({ scenario_id: _, node_id: __, ...row }) => row)
  await settled(game.app.pool)
  // JSON turns dates into text. Bigints are text already.
  return JSON.parse(
    JSON.stringify({
      ...player,
      loginLog: nodes(
        await query(
          `SELECT 'LoginLogEntry:' || environment_id || '/' || id AS id, upper(operation) AS operation, provider, subject,
             upper(outcome) AS outcome, created_at AS "occurredAt", player_id AS "playerId"
           FROM login_log WHERE player_id = $1 ORDER BY id DESC`,
        ),
      ),
      events: nodes(
        await query(
          `SELECT upper(replace(type, '.', '_')) AS type, handle,
             scenario_id AS "scenarioId", node_id AS "nodeId", run_id AS "runId", occurred_at AS "occurredAt",
             player_id AS "playerId" FROM events WHERE player_id = $1 ORDER BY position`,
        ),
      ),
      identities: await query('SELECT provider, subject FROM identities WHERE player_id = $1 ORDER BY 1, 2'),
      wallet: await query('SELECT currency, balance FROM wallets WHERE player_id = $1 ORDER BY 1'),
      walletLedger: nodes(
        await query(
          `SELECT 'WalletEntry:' || player_id || '/' || id AS id, currency, amount, balance, upper(reason) AS cause,
             reference, created_at AS "occurredAt"
           FROM wallet_ledger WHERE player_id = $1 ORDER BY id DESC`,
        ),
      ),
      inventory: await query('SELECT item_id AS "itemId", amount FROM inventory WHERE player_id = $1 ORDER BY 1'),
      storage: await query(
        `SELECT key, value, updated_at AS "updatedAt" FROM player_storage WHERE player_id = $1 ORDER BY key COLLATE "C"`,
      ),
      runs: nodes(runs.map((run) => ({ ...run, activeNodes: JSON.parse(run.activeNodes) }))),
      passes: passes.map((each) => ({
        ...each,
        claims: ofPass(claims, each.scenarioId, each.nodeId).map((claim) => ({
          ...claim,
          granted: JSON.parse(claim.granted).map((reward: { amount: { $int: string } }) => ({
            ...reward,
            amount: reward.amount.$int,
          })),
        })),
        xpLedger: nodes(ofPass(xp, each.scenarioId, each.nodeId)),
      })),
    }),
  )
}

describe('the player that an operator reads', () => {
  let player: LoggedIn

  beforeAll(async () => {
    player = await logIn(
      game,
      fresh('subject'),
      { nickname: 'Ada', avatarUrl: 'https://cdn.example/a.png', data: { color: 'red', 'ключ 💎': [1, 2.5] } },
      { region: 'eu-west', language: 'pt-BR' },
    )
    expect((await game.link(player.token, { player: fresh('linked') }, { provider: 'steam' })).status).toBe(204)
    const by = (mutation: Parameters<typeof support>[2], input: { [key: string]: Json }) =>
      support(game, operator.key, mutation, { playerId: player.playerId, reason: 'x', ...input }).then(payload)
    await by('creditWallet', { currency: 'gems', amount: String(2n ** 62n), idempotencyKey: 'a' })
    for (const scenarioId of ['season', 'second']) {
      const runId = await player.start(scenarioId)
      for (const nodeId of ['bonus', 'pass']) {
        for (const amount of [120, 1, 400])
          await player.post(XP, { scenarioId, nodeId, runId, amount, source: `of ${nodeId}` })
        await player.post(PREMIUM, { scenarioId, nodeId, runId })
        for (const [level, track] of [
          [2, 'free'],
          [1, 'free'],
          [5, 'premium'],
        ]) {
          const { body } = await player.post(CLAIM, { scenarioId, nodeId, runId, level, track })
          expect(body.success).toBe(true)
        }
      }
    }
    await by('cancelRun', { runId: await player.start('second') })
    await player.start('second')
    await by('resetPass', { scenarioId: 'second', nodeId: 'pass' })
    await by('resetTier', { scenarioId: 'season', nodeId: 'pass', level: 2, track: 'free' })
    await by('setPlayerStorage', { values: '{"exact":1.0}' })
  })

  it('has the identities, wallet, inventory, storage, runs, passes, claims, ledgers, logins and events of the tables', async () => {
    const { data, errors } = await read(player.playerId)
    expect(errors).toBeUndefined()
    expect(data.player).toEqual(await rowsOf(player.playerId))
    const { identities, wallet, walletLedger, inventory, storage, runs, passes, loginLog, events } = data.player
    expect(events.edges.length).toBeGreaterThan(10)
    const sizes = [identities, wallet, walletLedger.edges, inventory, storage, runs.edges, passes, loginLog.edges].map(
      ({ length }) => length,
    )
    expect(sizes).toEqual([2, 2, 13, 1, 3, 3, 4, 2])
    expect(passes.map(({ xpLedger }: { xpLedger: { edges: unknown[] } }) => xpLedger.edges.length)).toEqual([
      3, 3, 3, 4,
    ])
  })

  it('is found by id in upper case, and refused by what is no id', async () => {
    expect((await read(player.playerId.toUpperCase())).data.player.playerId).toBe(player.playerId)
    for (const id of ['', 'x', `${NOBODY}0`, 'a\0b']) expect(refusal(await read(id))?.[0]).toBe('INVALID_REQUEST')
  })

  it('is complete while banned, and lacks only the erased fields once deleted', async () => {
    const input = { playerId: player.playerId, reason: 'x' }
    payload(await support(game, operator.key, 'banPlayer', input))
    const banned = (await read(player.playerId)).data.player
    expect(banned).toEqual(await rowsOf(player.playerId))
    expect([banned.status, banned.storage.length, banned.nickname]).toEqual(['BANNED', 3, 'Ada'])
    payload(await support(game, operator.key, 'deletePlayer', input))
    const deleted = (await read(player.playerId)).data.player
    expect(deleted).toEqual(await rowsOf(player.playerId))
    expect(deleted).toEqual({
      ...banned,
      status: 'DELETED',
      storage: [],
      nickname: null,
      avatarUrl: null,
      region: null,
      language: null,
      loginLog: { edges: [] },
    })
  })

  it('has the same fields in the list of players', async () => {
    const fields = PLAYER.slice(PLAYER.indexOf('{', PLAYER.indexOf('player(')))
    const document = `{ players(environment: "production", search: "${player.playerId}", first: 1) { edges { node ${fields.slice(0, -1)} } } }`
    const { data, errors } = await game.graphql(viewer.key, document)
    expect(errors).toBeUndefined()
    expect(data.players.edges).toEqual([{ node: (await read(player.playerId)).data.player }])
  })

  it('has events by type and handle, with cursors of the stream; the player reads the same, but not its login log', async () => {
    const itself = await logIn(game, fresh('itself'))
    await itself.start('season')
    const events = 'events(types: [CROSSING], handles: ["onStart"], last: 1) { edges { cursor node { handle } } }'
    const { data } = await game.graphql(viewer.key, `{ player(id: "${itself.playerId}") { ${events} } }`)
    expect(data.player.events.edges).toEqual([{ cursor: expect.any(String), node: { handle: 'onStart' } }])
    expect((await itself.graphql(`{ me { ${events} } }`)).data.me).toEqual(data.player)
    const [{ cursor }] = data.player.events.edges
    const next = `events(environment: "production", playerId: "${itself.playerId}", before: "${cursor}", last: 5)`
    const earlier = await game.graphql(viewer.key, `{ ${next} { edges { node { type } } } }`)
    expect(earlier.data.events.edges).toEqual([{ node: { type: 'PLAYER_CREATED' } }])
    const logins = (fields: string) => itself.graphql(`{ me { loginLog { ${fields} } } }`)
    for (const fields of ['edges { node { id } }', '__typename'])
      expect(refusal(await logins(fields))?.[0]).toBe('FORBIDDEN')
  })
})
