import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { times } from '../harness/game.ts'
import { settled } from '../harness/settled.ts'
import { ADD_XP, outcomeOfGraphql } from '../harness/surfaces.ts'
import { until } from '../harness/until.ts'
import { codeOf, type LoggedIn, logIn, payload, tablesOfPlayers } from './desk.ts'
import {
  act,
  bonus,
  CLAIM,
  closeDesk,
  everything,
  fresh,
  game,
  key,
  openDesk,
  operator,
  other,
  PREMIUM,
  PROGRESS,
  pass,
  rowsOf,
  type Seasoned,
  seasoned,
  viewer,
  webhook,
  XP,
} from './support-desk.ts'

beforeAll(openDesk)
afterAll(closeDesk)

const REFRESH = '/sdk/v1/authorization/refresh'

/** Every endpoint that takes a player's token, with a valid body. */
function callsOf({ runId }: Seasoned): Record<string, Json> {
  return {
    [PROGRESS]: pass,
    [XP]: { ...pass, runId, amount: 1, source: 'match' },
    [CLAIM]: { ...pass, runId, level: 1, track: 'free' },
    [PREMIUM]: { ...bonus, runId },
    '/sdk/v1/battlepass/season': pass,
    '/sdk/v1/seasons/list': {},
    '/sdk/v1/player/get': {},
    '/sdk/v1/player/update': { nickname: 'Ada' },
    '/sdk/v1/identities/list': {},
    '/sdk/v1/identities/unlink': { provider: 'custom', subject: 'none' },
    '/sdk/v1/sessions/list': {},
    '/sdk/v1/sessions/end': { session: 'others' },
    '/sdk/v1/player/export': {},
    '/sdk/v1/storage/get': {},
    '/sdk/v1/storage/set': { values: { a: 1 } },
    '/sdk/v1/storage/delete': { keys: ['a'] },
    '/sdk/v1/scenarios/start': { scenarioId: 'season' },
    '/sdk/v1/scenarios/cross': { scenarioId: 'season', nodeId: 'pass', runId, handle: 'onClick' },
    '/sdk/v1/scenarios/run': { runId },
    // Last, since it ends the login.
    '/sdk/v1/player/delete': {},
  }
}

const refresh = ({ refreshToken }: LoggedIn) =>
  game.request('POST', REFRESH, { body: print({ refreshToken }), headers: { 'x-sdk-key': game.sdkKey } })

describe('a ban', () => {
  it('refuses the next call over REST and GraphQL, login, link and refresh, and on another instance', async () => {
    const player = await seasoned()
    payload(await act('banPlayer', player))
    for (const [path, body] of Object.entries(callsOf(player))) {
      const { status, body: answered } = await player.post(path, body)
      expect([path, status, answered.error]).toEqual([path, 403, 'player banned'])
    }
    expect(codeOf(outcomeOfGraphql(await player.graphql('{ me { id } }')))).toBe('PLAYER_BANNED')
    const input = { ...pass, runId: player.runId, amount: '1', source: 'x' }
    expect(codeOf(outcomeOfGraphql(await player.graphql(ADD_XP, { input })))).toBe('PLAYER_BANNED')
    const elsewhere = await fetch(`${other.baseUrl}${PROGRESS}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${player.token}` },
      body: print(pass),
    })
    expect(elsewhere.status).toBe(403)
    const customData = { player: player.subject }
    for (const { status, body } of [
      await game.login(customData),
      await game.link(player.token, { player: fresh('subject') }),
      await refresh(player),
    ])
      expect([status, body.error]).toEqual([403, 'player banned'])
  })

  it('ends with unbanPlayer: the next call succeeds with the same tokens', async () => {
    const player = await seasoned()
    payload(await act('banPlayer', player))
    payload(await act('unbanPlayer', player))
    await game.setAccountPolicy({ clientProfile: 'ALLOW' })
    for (const [path, body] of Object.entries(callsOf(player))) {
      if (!/\/(cross|unlink|player\/delete)$/.test(path))
        expect((await player.post(path, body)).status).toBeLessThan(300)
    }
    expect((await refresh(player)).status).toBe(200)
    expect((await game.login({ player: player.subject })).status).toBe(200)
  })

  it('changes only the status of the player, and ends its access', async () => {
    const player = await seasoned()
    const before = await everything(player)
    payload(await act('banPlayer', player))
    const { status, ended_access, ...after } = await everything(player)
    expect([status, before.ended_access]).toEqual(['banned', null])
    expect(ended_access).toHaveLength(1)
    expect({ ...after, status: 'active', ended_access: null }).toEqual(before)
  })

  it('can be repeated, and is in the audit log each time', async () => {
    const player = await seasoned()
    for (const mutation of ['banPlayer', 'banPlayer', 'unbanPlayer', 'unbanPlayer'] as const)
      payload(await act(mutation, player))
    expect((await rowsOf(player)).map(({ before, after }) => [before.status, after.status])).toEqual([
      ['active', 'banned'],
      ['banned', 'banned'],
      ['banned', 'active'],
      ['active', 'active'],
    ])
  })

  it('lets support change the wallet, storage, premium, tiers and run of the player', async () => {
    const player = await seasoned()
    payload(await act('banPlayer', player))
    payload(await act('creditWallet', player, { currency: 'gems', amount: 1, idempotencyKey: key() }))
    payload(await act('setPlayerStorage', player, { values: '{"a":1}' }))
    payload(await act('grantPremium', player, bonus))
    payload(await act('resetTier', player, { ...pass, level: 1, track: 'free' }))
    payload(await act('cancelRun', player, { runId: player.runId }))
  })
})

describe('endSessions', () => {
  it('ends every refresh and access token of the player, who can log in again (contract 5)', async () => {
    const player = await seasoned()
    const second = await logIn(game, player.subject)
    const bystander = await seasoned()
    payload(await act('endSessions', player))
    for (const login of [player, second]) {
      const { status, body } = await refresh(login)
      expect([status, body.error]).toEqual([401, 'invalid token'])
      await until('its access token ends', async () => (await login.post(PROGRESS, pass)).status === 401)
    }
    const third = await logIn(game, player.subject)
    expect(third.playerId).toBe(player.playerId)
    expect((await refresh(third)).status).toBe(200)
    expect((await refresh(bystander)).status).toBe(200)
  })

  it('ends all tokens of a login or none when it races twenty refreshes and twenty logins', async () => {
    const player = await seasoned()
    const logins = await Promise.all(times(20, () => logIn(game, player.subject)))
    const [, ...answers] = await Promise.all([
      act('endSessions', player),
      ...logins.map((login) => refresh(login)),
      ...times(20, () => game.login({ player: player.subject })),
    ])
    for (const { status } of answers) expect([200, 401]).toContain(status)
    // Each login is either before the action or after it.
    const { rows } = await game.app.pool.query<{ tokens: string; ended: string }>(
      `SELECT count(*) AS tokens, count(revoked_at) AS ended FROM refresh_tokens WHERE player_id = $1 GROUP BY family_id`,
      [player.playerId],
    )
    expect(rows.filter(({ tokens, ended }) => ended !== '0' && ended !== tokens)).toEqual([])
    expect(rows.filter(({ ended }) => ended !== '0').length).toBeGreaterThanOrEqual(21)
  })
})

describe('deletePlayer', () => {
  const MARKS = ['Zephyrine-Quill', 'zephyrine.example', 'zq-region', 'zq-tongue', 'zq-storage-value', 'zq-storage-key']

  /** Every table with a row that contains a text. */
  async function tablesWith(mark: string): Promise<string[]> {
    const { pool } = game.app
    const { rows } = await pool.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class
       WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition ORDER BY 1`,
    )
    const found = rows.map(async ({ name }) => {
      const hits = await pool.query(`SELECT 1 FROM "${name}" t WHERE position($1 in t::text) > 0 LIMIT 1`, [mark])
      return hits.rows.length > 0 ? [name] : []
    })
    return (await Promise.all(found)).flat()
  }

  async function marked(): Promise<LoggedIn> {
    const [nickname = '', avatar = '', region, language, value = '', storageKey = ''] = MARKS
    return logIn(
      game,
      fresh('marked'),
      { nickname, avatarUrl: `https://${avatar}/a.png`, data: { [storageKey]: value } },
      { region, language },
    )
  }

  it('erases nickname, avatar, region, language and storage from every table', async () => {
    const player = await marked()
    await player.post('/sdk/v1/storage/set', { values: { own: 'zq-storage-value' } })
    for (const mark of MARKS) expect([mark, await tablesWith(mark)]).not.toEqual([mark, []])
    expect(await tablesWith('Zephyrine-Quill')).toEqual(['events', 'players'])
    payload(await act('deletePlayer', player))
    for (const mark of MARKS) expect([mark, await tablesWith(mark)]).toEqual([mark, []])
  })

  it('erases the login log, and keeps the identity, whose next login is refused as player deleted (contract 7.1)', async () => {
    const player = await seasoned()
    const log = `{ loginLog(environment: "production", playerId: "${player.playerId}") { edges { node { outcome } } } }`
    expect((await game.graphql(viewer.key, log)).data.loginLog.edges).toHaveLength(1)
    payload(await act('deletePlayer', player))
    expect((await game.graphql(viewer.key, log)).data.loginLog.edges).toEqual([])
    for (const { status, body } of [await game.login({ player: player.subject }), await player.post(PROGRESS, pass)])
      expect([status, body.error]).toEqual([403, 'player deleted'])
    expect(codeOf(outcomeOfGraphql(await player.graphql('{ me { id } }')))).toBe('PLAYER_DELETED')
    const { status, body } = await game.link((await game.player()).token, { player: player.subject })
    expect([status, body.error]).toEqual([409, 'identity already linked'])
  })

  // A new table of player data must be in one of the two lists: decide whether a deletion erases it.
  const ERASED = [
    ...['inbox_messages', 'last_logins', 'login_log', 'planned_deletions', 'player_boosts', 'player_notes'],
    'player_storage',
  ]
  const KEPT = [
    ...['wallets', 'wallet_ledger', 'xp_ledger', 'passes', 'tier_claims', 'inventory', 'runs', 'identities'],
    // Ids and amounts of the game, and the nickname of `player.created`, which is removed.
    ...['events', 'unnumbered_events', 'reward_payments', 'season_steps'],
    // Ids, amounts and rewards of the game.
    ...['grant_job_players', 'player_list_rows', 'premium_gifts'],
    // Hashes, and times that end access.
    ...['ended_access', 'former_identities', 'idempotency_keys', 'refresh_tokens'],
  ]

  it('erases or keeps each table with rows of players, and keeps wallets, ledgers, inventory, passes, claims, runs and identities', async () => {
    expect([...ERASED, ...KEPT].sort()).toEqual(await tablesOfPlayers(game.app.pool))
    const player = await seasoned()
    expect((await player.post('/sdk/v1/storage/set', { values: { own: 1 } })).status).toBe(204)
    payload(await act('sendMessage', player, { rewards: [{ itemId: 'hat', amount: 1 }], idempotencyKey: key() }))
    await game.app.pool.query('INSERT INTO planned_deletions VALUES ($1, $2, now())', [
      player.environmentId,
      player.playerId,
    ])
    payload(await act('grantPlayerBoost', player, { percent: 1, minutes: 1, idempotencyKey: 'boost' }))
    payload(await act('addPlayerNote', player, { text: 'zq-note', idempotencyKey: 'note' }))
    const before = await everything(player)
    for (const table of ERASED) expect([table, before[table]]).not.toEqual([table, null])
    payload(await act('deletePlayer', player))
    const after = await everything(player)
    for (const table of ERASED) expect([table, after[table]]).toEqual([table, null])
    expect(await tablesWith('zq-note')).toEqual([])
    for (const table of KEPT.filter((kept) => !['ended_access', 'events', 'refresh_tokens'].includes(kept)))
      expect([table, after[table]]).toEqual([table, before[table]])
    const erased = { nickname: null, avatar_url: null, region: null, language: null }
    expect(after).toMatchObject({ status: 'deleted', ...erased, created_at: before.created_at })
  })

  it('keeps the subject of later logins out of the login log', async () => {
    const player = await seasoned()
    payload(await act('deletePlayer', player))
    const { status, body } = await game.login({ player: player.subject })
    expect([status, body.error]).toEqual([403, 'player deleted'])
    const document = `{ loginLog(environment: "production", playerId: "${player.playerId}") {
      edges { node { subject outcome attempts { status } } } } }`
    const { data } = await game.graphql(viewer.key, document)
    expect(data.loginLog.edges).toEqual([
      { node: { subject: null, outcome: 'PLAYER_DELETED', attempts: [{ status: 200 }] } },
    ])
    const tooLong = { ['k'.repeat(129)]: 1 }
    const invalid = await game.login({ player: player.subject, answer: { data: tooLong } })
    expect([invalid.status, invalid.body.error]).toEqual([401, 'custom auth invalid data'])
    const { rows } = await game.app.pool.query('SELECT count(*) FROM login_log WHERE subject = $1', [player.subject])
    expect(rows).toEqual([{ count: '0' }])
  })

  it('erases entries of the subject from the login log that do not name the player', async () => {
    const [player, other] = [await seasoned(), await game.player()]
    await game.login({ player: player.subject, answer: { data: { ['k'.repeat(129)]: 1 } } })
    expect((await game.link(other.token, { player: player.subject })).status).toBe(409)
    const bystander = await seasoned()
    await game.login({ player: bystander.subject, answer: { data: { ['k'.repeat(129)]: 1 } } })
    const count = async (subject: string) => {
      const { rows } = await game.app.pool.query('SELECT count(*) FROM login_log WHERE subject = $1', [subject])
      return Number(rows[0].count)
    }
    expect(await count(player.subject)).toBe(3)
    payload(await act('deletePlayer', player))
    expect([await count(player.subject), await count(bystander.subject)]).toEqual([0, 2])
  })

  it('removes the nickname from player.created, and leaves the positions of the stream unchanged', async () => {
    const player = await seasoned()
    const document = `query ($id: ID) { events(environment: "production", types: [PLAYER_CREATED], playerId: $id) {
      edges { node { playerId data } } } }`
    const read = async () => (await game.graphql(viewer.key, document, { id: player.playerId })).data.events.edges
    expect(await read()).toEqual([
      { node: { playerId: player.playerId, data: { nickname: 'Ada', provider: 'custom' } } },
    ])
    await settled(game.app.pool)
    const { rows: before } = await game.app.pool.query('SELECT environment_id, position FROM streams ORDER BY 1')
    payload(await act('deletePlayer', player))
    expect(await read()).toEqual([
      { node: { playerId: player.playerId, data: expect.objectContaining({ nickname: null }) } },
    ])
    await settled(game.app.pool)
    const { rows: after } = await game.app.pool.query('SELECT environment_id, position FROM streams ORDER BY 1')
    expect(after).toEqual(before)
  })

  it('leaves no personal data and no valid token when it races logins, storage writes and xp, in four rounds', async () => {
    for (const _ of times(4, () => 0)) {
      const player = await marked()
      const runId = await player.start('season')
      const customData = {
        player: player.subject,
        answer: { nickname: 'Zephyrine-Quill', data: { late: 'zq-storage-value' } },
      }
      const [done, ...answers] = await Promise.all([
        act('deletePlayer', player),
        ...times(5, () => game.login(customData)),
        ...times(5, () => player.post('/sdk/v1/storage/set', { values: { own: 'zq-storage-value' } })),
        ...times(5, () => player.post(XP, { ...pass, runId, amount: 1, source: 'match' })),
      ])
      payload(done)
      for (const { status } of answers) expect([200, 204, 403]).toContain(status)
      const after = await everything(player)
      expect(after).toMatchObject({ status: 'deleted', nickname: null, avatar_url: null, player_storage: null })
      const { rows } = await game.app.pool.query(
        'SELECT count(*) FROM refresh_tokens WHERE player_id = $1 AND revoked_at IS NULL',
        [player.playerId],
      )
      expect(rows).toEqual([{ count: '0' }])
    }
    for (const mark of ['Zephyrine-Quill', 'zq-storage-value']) expect(await tablesWith(mark)).toEqual([])
  })
})

describe('unlinkIdentity', () => {
  it('frees the subject: its next login creates a new player, and the old player keeps passes, runs and wallets', async () => {
    const player = await seasoned()
    const before = await everything(player)
    payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject, allowLast: true }))
    const next = await logIn(game, player.subject)
    expect(next.playerId).not.toBe(player.playerId)
    const { runs, passes, tier_claims, wallets } = before
    expect(await everything(player)).toMatchObject({ runs, passes, tier_claims, wallets, identities: null })
    const { rows } = await game.app.pool.query('SELECT player_id FROM identities WHERE subject = $1', [player.subject])
    expect(rows).toEqual([{ player_id: next.playerId }])
  })

  it('ends all logins of the player, who can log in again by a remaining identity', async () => {
    const player = await seasoned()
    const other = fresh('subject')
    expect((await game.link(player.token, { player: other })).status).toBe(204)
    const second = await logIn(game, other)
    const bystander = await logIn(game, fresh('subject'))
    payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject, allowLast: true }))
    for (const ended of [player, second]) {
      const { status, body } = await refresh(ended)
      expect([status, body.error]).toEqual([401, 'invalid token'])
    }
    expect((await refresh(bystander)).status).toBe(200)
    const again = await logIn(game, other)
    expect([again.playerId, (await refresh(again)).status]).toEqual([player.playerId, 200])
  })

  it('lets another player link the subject', async () => {
    const [player, heir] = [await seasoned(), await game.player()]
    payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject, allowLast: true }))
    expect((await game.link(heir.token, { player: player.subject })).status).toBe(204)
    expect((await logIn(game, player.subject)).playerId).toBe(heir.playerId)
  })

  it('refuses the only identity unless `allowLast` is true', async () => {
    const player = await seasoned()
    const only = { provider: 'custom', subject: player.subject }
    for (const more of [{}, { allowLast: false }])
      expect(await act('unlinkIdentity', player, { ...only, ...more })).toEqual({
        code: 'LAST_IDENTITY',
        message: 'last identity',
      })
    expect(await rowsOf(player)).toEqual([])
    expect([(await refresh(player)).status, (await logIn(game, player.subject)).playerId]).toEqual([
      200,
      player.playerId,
    ])
    payload(await act('unlinkIdentity', player, { ...only, allowLast: true }))
  })

  it('keeps one identity when the two of a player are unlinked at once, on one instance and on two', async () => {
    for (const round of times(4, (index) => index)) {
      const player = await logIn(game, fresh('subject'))
      const second = fresh('subject')
      expect((await game.link(player.token, { player: second })).status).toBe(204)
      const instances = round % 2 === 0 ? [game, game] : [game, other]
      const errors = await Promise.all(
        [player.subject, second].map(async (subject, index) => {
          const response = await fetch(`${instances[index]?.baseUrl}/graphql`, {
            method: 'POST',
            headers: { 'content-type': 'application/json', authorization: `Bearer ${operator.key}` },
            body: JSON.stringify({
              query: 'mutation ($input: UnlinkIdentityInput!) { unlinkIdentity(input: $input) { error } }',
              variables: {
                input: { playerId: player.playerId, reason: 'ticket', provider: 'custom', subject },
              },
            }),
          })
          return (await response.json()).data.unlinkIdentity.error
        }),
      )
      expect([...errors].sort()).toEqual(['LAST_IDENTITY', null])
      const { rows } = await game.app.pool.query('SELECT FROM identities WHERE player_id = $1', [player.playerId])
      expect(rows).toHaveLength(1)
    }
  })

  it('is NOT_FOUND for an identity that the player does not have, and unlinks nothing', async () => {
    const [player, bystander] = [await seasoned(), await seasoned()]
    const { subject } = bystander
    const refs = [
      { provider: 'custom', subject },
      { provider: 'custom:steam', subject: player.subject },
      { provider: 'custom:default', subject: player.subject },
      { provider: 'custom', subject: 'nobody' },
    ]
    for (const ref of refs) expect(codeOf(await act('unlinkIdentity', player, ref))).toBe('NOT_FOUND')
    expect(await rowsOf(player)).toEqual([])
    expect((await logIn(game, subject)).playerId).toBe(bystander.playerId)
    expect((await logIn(game, player.subject)).playerId).toBe(player.playerId)
  })

  it('gives twenty racing logins the old player or one new owner of the subject, in four rounds', async () => {
    for (const round of times(4, (index) => index)) {
      const player = await logIn(game, fresh('subject'))
      const asked = webhook.hits.length
      const logins = Promise.all(times(20, () => logIn(game, player.subject, { nickname: 'Bob', data: { round } })))
      // First logins of other subjects, which may share a transaction with the action.
      const others = Promise.all(times(10, () => logIn(game, fresh('subject'))))
      // The action starts while the logins are in progress: one webhook call later in each round.
      await until('webhooks are asked', () => webhook.hits.length >= asked + round)
      const done = await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject, allowLast: true })
      const [answers] = await Promise.all([logins, others])
      payload(done)
      const { rows } = await game.app.pool.query<{ player_id: string }>(
        'SELECT player_id FROM identities WHERE subject = $1',
        [player.subject],
      )
      const owner = rows[0]?.player_id ?? (await logIn(game, player.subject)).playerId
      expect([rows.length <= 1, owner === player.playerId]).toEqual([true, false])
      for (const { playerId } of answers) expect([player.playerId, owner]).toContain(playerId)
      // The action ends the logins before it and no later login, also within one group of transactions.
      for (const session of answers)
        expect((await refresh(session)).status).toBe(session.playerId === owner ? 200 : 401)
      expect((await logIn(game, player.subject)).playerId).toBe(owner)
    }
  })

  it('ends racing logins by a remaining identity exactly when they began before it, in four rounds', async () => {
    for (const round of times(4, (index) => index)) {
      const player = await logIn(game, fresh('subject'))
      const other = fresh('subject')
      expect((await game.link(player.token, { player: other })).status).toBe(204)
      const asked = webhook.hits.length
      const logins = Promise.all(times(20, () => logIn(game, other)))
      await until('webhooks are asked', () => webhook.hits.length >= asked + round)
      payload(await act('unlinkIdentity', player, { provider: 'custom', subject: player.subject, allowLast: true }))
      await logins
      // Ids are in the order in which the service decides, also within one transaction.
      const { rows } = await game.app.pool.query<{ began: string; revoked: boolean }>(
        `SELECT CASE WHEN t.family_id < a.id THEN 'before' ELSE 'after' END AS began, t.revoked_at IS NOT NULL AS revoked
         FROM audit_log a JOIN refresh_tokens t ON t.player_id::text = a.target
         WHERE a.target = $1 AND a.action = 'player.unlink_identity'`,
        [player.playerId],
      )
      expect(rows).toHaveLength(21)
      for (const { began, revoked } of rows) expect([began, revoked]).toEqual([began, began === 'before'])
    }
  })

  it('succeeds once when ten calls race', async () => {
    const player = await seasoned()
    const input = { provider: 'custom', subject: player.subject, allowLast: true }
    const outcomes = await Promise.all(times(10, () => act('unlinkIdentity', player, input)))
    expect(outcomes.map(codeOf).sort()).toEqual([...times(9, () => 'NOT_FOUND'), 'ok'])
    expect(await rowsOf(player)).toHaveLength(1)
  })
})

describe('a ban that races fifty xp calls', () => {
  it('leaves exactly the acknowledged xp, and refuses all other calls, in four rounds', async () => {
    for (const _ of times(4, () => 0)) {
      const player = await game.player()
      const runId = await player.start('season')
      const call = () => player.post(XP, { ...pass, runId, amount: 1, source: 'match' })
      const [done, ...answers] = await Promise.all([act('banPlayer', player), ...times(50, call)])
      payload(done)
      const counted = answers.filter(({ status }) => status === 200).length
      for (const { status, body } of answers)
        if (status !== 200) expect([status, body.error]).toEqual([403, 'player banned'])
      expect((await call()).status).toBe(403)
      const { rows } = await game.app.pool.query(
        'SELECT coalesce(sum(amount), 0) AS xp FROM xp_ledger WHERE player_id = $1',
        [player.playerId],
      )
      expect(rows).toEqual([{ xp: String(counted) }])
    }
  })
})
