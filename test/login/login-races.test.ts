import { decodeJwt } from 'jose'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Json, print } from '../../src/base/json.ts'
import { auditBooks } from '../harness/audit.ts'
import { times } from '../harness/game.ts'
import { atScale } from '../harness/scale.ts'
import { until } from '../harness/until.ts'
import {
  by,
  countGame,
  created,
  during,
  game,
  INVALID_DATA,
  keys,
  LOGIN,
  loginAt,
  newSubject,
  other,
  ownersOf,
  playerOf,
  postTo,
  profileOf,
  query,
  refusalOf,
  startLogins,
  stopLogins,
  storageOf,
} from './logins.ts'

beforeAll(startLogins)
afterAll(stopLogins)

/** How often two players link one subject. */
const ROUNDS = atScale(100, 25)
const LINKED = [409, 'identity already linked', 'identity_already_linked']

const linkAt = ({ baseUrl }: { baseUrl: string }, token: string, customData: Json) =>
  postTo(
    baseUrl,
    `${LOGIN}/link`,
    { 'x-sdk-key': game.sdkKey, authorization: `Bearer ${token}` },
    print({ customData }),
  )

const tokensOf = async (playerId: string): Promise<number> =>
  Number((await query('SELECT count(*) FROM refresh_tokens WHERE player_id = $1', [playerId]))[0].count)

describe('concurrent logins and links (contract 2.3: one subject is one player)', () => {
  it.each([
    ['one service', () => [game, game]],
    ['two services on one database', () => [game, other]],
  ] as const)('all succeed and make one player when fifty share a new subject, on %s', async (_, instances) => {
    const subject = newSubject()
    const before = await countGame()
    const answers = await Promise.all(
      times(50, (index) =>
        loginAt(
          instances()[index % 2] ?? game,
          by(subject, { nickname: `name ${index}`, data: { [`key ${index}`]: index, last: index } }),
        ),
      ),
    )
    const players = new Set(answers.map(playerOf))
    expect(players.size).toBe(1)
    const [playerId = ''] = players
    expect(await ownersOf(subject)).toEqual([playerId])
    expect(await created(playerId)).toHaveLength(1)
    expect(new Set(answers.map(({ body }) => body.refreshToken)).size).toBe(50)
    expect(new Set(answers.map(({ body }) => decodeJwt(body.accessToken).jti)).size).toBe(50)
    const after = await countGame()
    const added = Object.keys(after).map((table) => [table, Number(after[table]) - Number(before[table])])
    expect(Object.fromEntries(added)).toEqual({
      players: 1,
      identities: 1,
      player_storage: 51,
      events: 1,
      refresh_tokens: 50,
    })
    // The same login is the last one in every table.
    const { last } = await storageOf(playerId)
    expect((await profileOf(playerId)).nickname).toBe(`name ${last}`)
  })

  it(`bind a subject to one of two players and refuse the other, in ${ROUNDS} rounds (contract 7.1)`, async () => {
    for (const round of times(ROUNDS, (index) => index)) {
      const subject = newSubject()
      const [one, two] = await Promise.all([game.player(), game.player()])
      const customData = by(subject, { data: { round } })
      const answers = await Promise.all([
        linkAt(game, one.token, customData),
        linkAt(round % 2 === 0 ? other : game, two.token, customData),
      ])
      expect(answers.map(({ status: answered }) => answered).sort()).toEqual([204, 409])
      const [winner, loser] = answers[0]?.status === 204 ? [one, two] : [two, one]
      expect(refusalOf(answers.find(({ status: answered }) => answered !== 204) ?? expect.fail())).toEqual(LINKED)
      expect(await ownersOf(subject)).toEqual([winner.playerId])
      expect(await storageOf(winner.playerId)).toEqual({ round: String(round) })
      expect(await storageOf(loser.playerId)).toEqual({})
      expect(playerOf(await game.login(by(subject)))).toBe(winner.playerId)
    }
  })

  it('give a subject one owner when a link races a first login, in twenty rounds', async () => {
    for (const round of times(20, (index) => index)) {
      const subject = newSubject()
      const player = await game.player()
      const before = await countGame()
      const link = () => linkAt(round % 2 === 0 ? game : other, player.token, by(subject))
      const login = () => loginAt(game, by(subject))
      const linkFirst = round % 4 < 2
      const calls = linkFirst ? [link(), login()] : [login(), link()]
      const [first, second] = await Promise.all(calls)
      const [linked, loggedIn] = linkFirst ? [first, second] : [second, first]
      const owner = playerOf(loggedIn ?? expect.fail())
      expect(await ownersOf(subject)).toEqual([owner])
      const after = await countGame()
      if (linked?.status === 204) {
        expect(owner).toBe(player.playerId)
        expect(after.players).toBe(before.players)
      } else {
        expect(refusalOf(linked ?? expect.fail())).toEqual(LINKED)
        expect(owner).not.toBe(player.playerId)
        expect(Number(after.players)).toBe(Number(before.players) + 1)
        expect(await created(owner)).toHaveLength(1)
      }
    }
  })

  it('accept one of twenty logins that each add ten keys to 990 and write nothing of the others (contract 8)', async () => {
    const subject = newSubject()
    const playerId = playerOf(await game.login(by(subject, { nickname: 'before', data: keys(0, 990) })))
    const answers = await Promise.all(
      times(20, (index) =>
        loginAt(
          index % 2 === 0 ? game : other,
          by(subject, {
            nickname: `name ${index}`,
            avatarUrl: `https://cdn.example/${index}`,
            data: { 'key 0': `changed by ${index}`, ...keys(1000 + index * 10, 1010 + index * 10, index) },
          }),
        ),
      ),
    )
    expect(answers.filter(({ status: answered }) => answered === 200)).toHaveLength(1)
    for (const answer of answers)
      if (answer.status !== 200)
        expect([...refusalOf(answer), answer.body.accessToken]).toEqual([...INVALID_DATA, undefined])
    const winner = answers.findIndex(({ status: answered }) => answered === 200)
    const stored = await storageOf(playerId)
    expect(Object.keys(stored)).toHaveLength(1000)
    const expected = {
      ...keys(0, 990),
      'key 0': `changed by ${winner}`,
      ...keys(1000 + winner * 10, 1010 + winner * 10, winner),
    }
    expect(stored).toEqual(Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, print(value)])))
    expect(await profileOf(playerId)).toMatchObject({
      nickname: `name ${winner}`,
      avatar_url: `https://cdn.example/${winner}`,
    })
    expect(await tokensOf(playerId)).toBe(2)
  })

  it('never mix the data of a login with a storage write of the client, and never exceed 1,000 keys', async () => {
    const names = times(20, (index) => `shared ${index}`)
    const valued = (value: string) => Object.fromEntries(names.map((name) => [name, value]))
    for (const round of times(12, (index) => index)) {
      const subject = newSubject()
      const first = await game.login(by(subject, { data: keys(0, round % 2 === 0 ? 10 : 975) }))
      const playerId = playerOf(first)
      const set = (values: Json) =>
        postTo(
          round % 3 === 0 ? other.baseUrl : game.baseUrl,
          '/sdk/v1/storage/set',
          { authorization: `Bearer ${first.body.accessToken}` },
          print({ values }),
        )
      // Each fits alone. Both fit together only in every other round, when they write the same names and no others.
      const own = (name: string) => (round % 2 === 0 ? {} : Object.fromEntries(times(4, (n) => [`${name} ${n}`, n])))
      const [login, write] = await Promise.all([
        loginAt(game, by(subject, { data: { ...valued('webhook'), ...own('webhook') } })),
        set({ ...valued('client'), ...own('client') }),
      ])
      const stored = await storageOf(playerId)
      const values = new Set(names.map((name) => stored[name]))
      expect(values.size).toBe(1)
      expect(Object.keys(stored).length).toBeLessThanOrEqual(1000)
      if (round % 2 === 0) {
        expect([login.status, write.status]).toEqual([200, 204])
      } else {
        const loginWon = login.status === 200
        expect([login.status, write.status]).toEqual(loginWon ? [200, 400] : [401, 204])
        expect(refusalOf(loginWon ? write : login)).toEqual(
          loginWon ? [400, 'storage limit exceeded', 'storage_limit_exceeded'] : INVALID_DATA,
        )
        expect([...values]).toEqual([loginWon ? '"webhook"' : '"client"'])
        expect(Object.keys(stored)).toHaveLength(999)
      }
    }
  })

  it('have only documented outcomes and one owner per subject in a storm of calls on two services', async () => {
    const subjects = times(6, newSubject)
    const loginAll = () =>
      Promise.all(subjects.map((subject) => game.login(by(subject, { data: keys(0, 900) })).then(({ body }) => body)))
    const tokens = (await loginAll()).map(({ accessToken }) => accessToken)
    // These are of other logins: late reuse of a refresh token ends its login, with its access tokens.
    const refreshTokens = (await loginAll()).map(({ refreshToken }) => refreshToken)
    const free = times(6, newSubject)
    const sdkKey = { 'x-sdk-key': game.sdkKey }
    const call = (n: number) => {
      const instance = n % 2 === 0 ? game : other
      const token = tokens[n % 5]
      const refreshToken = refreshTokens[n % 5]
      const said = { nickname: `name ${n}`, data: { ...keys(n, n + 30, n), [`storm ${n}`]: n } }
      const bearer = { authorization: `Bearer ${token}` }
      switch (n % 7) {
        case 0:
        case 1:
          return loginAt(instance, by(subjects[n % 6] ?? '', said))
        case 2:
          return loginAt(instance, by(free[n % 6] ?? '', said))
        case 3:
          return linkAt(instance, token, by(free[(n * 5) % 6] ?? '', said))
        case 4:
          return postTo(instance.baseUrl, '/sdk/v1/storage/set', bearer, print({ values: keys(n, n + 40, n) }))
        case 5:
          return postTo(instance.baseUrl, '/sdk/v1/authorization/refresh', sdkKey, print({ refreshToken }))
        default:
          return postTo(
            instance.baseUrl,
            '/sdk/v1/storage/delete',
            bearer,
            print({ keys: Object.keys(keys(n, n + 40)) }),
          )
      }
    }
    const described = [200, 204, 'custom_auth_invalid_data', 'identity_already_linked', 'storage_limit_exceeded']
    for (const wave of times(4, (index) => index * 70)) {
      const answers = await Promise.all(times(70, (index) => call(wave + index)))
      for (const [index, { status: answered, body }] of answers.entries()) {
        const expected = index % 7 === 5 ? [200, 'invalid_token'] : described
        expect(expected).toContain(body?.code ?? answered)
      }
    }
    for (const subject of [...subjects, ...free]) expect(await ownersOf(subject)).toHaveLength(1)
    const [{ most }] = await query(
      'SELECT max(count) AS most FROM (SELECT count(*) FROM player_storage GROUP BY player_id) counts',
    )
    expect(Number(most)).toBeLessThanOrEqual(1000)
    await auditBooks(game.app.pool)
    // A deadlock lasts a second until Postgres ends it.
    const [{ deadlocks }] = await query('SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()')
    expect(Number(deadlocks)).toBe(0)
  })

  it('make a hundred players of a hundred new subjects, in a stream without gaps (contract 6)', async () => {
    const subjects = times(100, newSubject)
    const players: string[] = []
    // Twenty at once: a busy machine would answer the last of a hundred webhook calls too late.
    while (players.length < subjects.length) {
      const some = subjects.slice(players.length, players.length + 20)
      const answers = await Promise.all(
        some.map((subject, index) =>
          loginAt(index % 2 === 0 ? game : other, by(subject, { nickname: subject, data: { subject } })),
        ),
      )
      players.push(...answers.map(playerOf))
    }
    expect(new Set(players).size).toBe(100)
    const rows = await query(
      `SELECT i.subject, p.id, p.nickname, s.value FROM identities i JOIN players p ON p.id = i.player_id
       JOIN player_storage s ON s.player_id = p.id WHERE i.subject = ANY ($1)`,
      [subjects],
    )
    expect(rows).toHaveLength(100)
    for (const { subject, id, nickname, value } of rows) {
      expect([id, nickname, value]).toEqual([players[subjects.indexOf(subject)], subject, JSON.stringify(subject)])
    }
    for (const playerId of players) expect(await created(playerId)).toHaveLength(1)
    await auditBooks(game.app.pool)
  })
})

describe('logins and links that are committed together', () => {
  /**
   * Two calls whose webhook answers arrive in this order while no database connection is free, so that one transaction
   * handles both in this order.
   */
  async function inOneGroup<T>(first: (gate: string) => Promise<T>, second: (gate: string) => Promise<T>) {
    const { groupPool: pool } = game.app
    const opens: (() => void)[] = []
    const gate = (index: number) =>
      during(
        () =>
          new Promise<void>((resolve) => {
            opens[index] = resolve
          }),
      )
    const calls = [first(gate(0)), second(gate(1))]
    await until('both webhooks are asked', () => opens.filter(Boolean).length === 2)
    const held: PoolClient[] = []
    while (held.length < (pool.options.max ?? 0)) held.push(await pool.connect())
    try {
      for (const open of opens) {
        const waiting = pool.waitingCount
        open()
        await until('it waits for a connection', () => pool.waitingCount > waiting)
      }
    } finally {
      for (const client of held) client.release()
    }
    return Promise.all(calls)
  }

  it('make one player of two first logins, and the second one updates it', async () => {
    const subject = newSubject()
    const [one, two] = await inOneGroup(
      (gate) => game.login(by(subject, { nickname: 'one', avatarUrl: 'https://one', data: { a: 1, b: 1 } }, gate)),
      (gate) => game.login(by(subject, { nickname: 'two', data: { b: 2, c: 2 } }, gate)),
    )
    const playerId = playerOf(one ?? expect.fail())
    expect(playerOf(two ?? expect.fail())).toBe(playerId)
    expect(await profileOf(playerId)).toMatchObject({ nickname: 'two', avatar_url: 'https://one' })
    expect(await storageOf(playerId)).toEqual({ a: '1', b: '2', c: '2' })
    const [{ data }] = await created(playerId)
    expect(JSON.parse(data).nickname).toBe('one')
  })

  it('refuse the second of two first logins whose keys exceed the limit together (contract 8)', async () => {
    const subject = newSubject()
    const [one, two] = await inOneGroup(
      (gate) => game.login(by(subject, { nickname: 'one', data: keys(0, 600) }, gate)),
      (gate) => game.login(by(subject, { nickname: 'two', data: keys(500, 1001, 2) }, gate)),
    )
    const playerId = playerOf(one ?? expect.fail())
    expect(refusalOf(two ?? expect.fail())).toEqual(INVALID_DATA)
    expect((await profileOf(playerId)).nickname).toBe('one')
    const stored = await storageOf(playerId)
    expect(Object.keys(stored)).toHaveLength(600)
    expect(new Set(Object.values(stored))).toEqual(new Set(['1']))
    expect(await tokensOf(playerId)).toBe(1)
  })

  it('refuse a link of another player after a first login', async () => {
    const subject = newSubject()
    const player = await game.player()
    const [login, link] = await inOneGroup(
      (gate) => game.login(by(subject, {}, gate)),
      (gate) => game.link(player.token, by(subject, { data: { a: 1 } }, gate)),
    )
    const owner = playerOf(login ?? expect.fail())
    expect(refusalOf(link ?? expect.fail())).toEqual(LINKED)
    expect(await ownersOf(subject)).toEqual([owner])
    expect(await storageOf(player.playerId)).toEqual({})
  })

  it('log in the player whose link came before the first login', async () => {
    const subject = newSubject()
    const player = await game.player()
    const before = await countGame()
    const [link, login] = await inOneGroup(
      (gate) => game.link(player.token, by(subject, { nickname: 'link', data: { a: 1, b: 1 } }, gate)),
      (gate) => game.login(by(subject, { nickname: 'login', data: { b: 2 } }, gate)),
    )
    expect(link?.status).toBe(204)
    expect(playerOf(login ?? expect.fail())).toBe(player.playerId)
    expect((await profileOf(player.playerId)).nickname).toBe('login')
    expect(await storageOf(player.playerId)).toEqual({ a: '1', b: '2' })
    expect((await countGame()).players).toBe(before.players)
  })

  it("count a player's earlier keys when a login follows its link (contract 8)", async () => {
    const subject = newSubject()
    const player = await game.player()
    expect((await player.post('/sdk/v1/storage/set', { values: keys(0, 995) })).status).toBe(204)
    const [link, login] = await inOneGroup(
      (gate) => game.link(player.token, by(subject, {}, gate)),
      (gate) => game.login(by(subject, { nickname: 'login', data: keys(2000, 2010) }, gate)),
    )
    expect(link?.status).toBe(204)
    expect(refusalOf(login ?? expect.fail())).toEqual(INVALID_DATA)
    expect(Object.keys(await storageOf(player.playerId))).toHaveLength(995)
    expect(await profileOf(player.playerId)).toMatchObject({ nickname: null })
  })
})
