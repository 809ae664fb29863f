import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type PlayerSearch, searchPlayers } from '../../src/accounts/lists/search-players.ts'
import type { Status } from '../../src/players/player-status.ts'
import { type Game, startGame } from '../harness/game.ts'

/** More than are sorted as a whole. All are old: the newcomers are more than are examined for a page. */
const CROWD = 10_076
const NEWCOMERS = 20_100
const PIECE = 4_000

interface Known {
  readonly id: string
  readonly nickname: string
  readonly status: Status
}

let game: Game
/** The newest first. */
let known: Known[]

beforeAll(async () => {
  game = await startGame()
  // In batches, each within the statement timeout.
  const made: Known[] = []
  for (let from = 1; from <= CROWD + NEWCOMERS; from += PIECE) {
    const { rows } = await game.app.pool.query<Known>(
      `INSERT INTO players (environment_id, id, nickname, status)
       SELECT $1, (lpad(to_hex(n), 12, '0') || '7000a000000000000000')::uuid,
         CASE WHEN n > $4::int THEN 'Newcomer ' WHEN n % 400 = 0 THEN 'Single ' WHEN n % 2 = 0 THEN 'Crowd ' ELSE 'CROWD ' END || n,
         CASE WHEN n % 50 = 7 THEN 'banned' WHEN n % 5000 = 3 THEN 'deleted' ELSE 'active' END
       FROM generate_series($2::int, $3::int) AS n RETURNING id, nickname, status`,
      [game.environmentId, from, Math.min(from + PIECE - 1, CROWD + NEWCOMERS), CROWD],
    )
    made.push(...rows)
  }
  known = made.sort((a, b) => (a.id < b.id ? 1 : -1))
  // A player outside the crowd whose subject is the prefix of the crowd, and a player of another environment.
  await game.app.pool.query(
    `INSERT INTO identities (environment_id, provider, subject, player_id) VALUES ($1, 'custom', 'crowd', $2)`,
    [game.environmentId, known.find(({ nickname }) => nickname.startsWith('Single'))?.id],
  )
  await game.app.pool.query("INSERT INTO players (environment_id, id, nickname) VALUES ($1, $2, 'Crowd of staging')", [
    game.stagingId,
    known[0]?.id,
  ])
  await game.app.pool.query('ANALYZE players')
})
afterAll(() => game?.stop())

async function pages(search: Omit<PlayerSearch, 'environmentId'>, size: number, most: number): Promise<string[]> {
  const found: string[] = []
  for (let after: string | null = null; found.length < most; ) {
    const { positions, stoppedAt } = await searchPlayers(
      game.app.pool,
      { environmentId: game.environmentId, ...search },
      { after: after === null ? null : { id: after, at: null }, limit: size },
    )
    found.push(...positions.map(({ id }) => id))
    if (!stoppedAt && positions.length < size) break
    after = (stoppedAt ?? positions.at(-1))?.id ?? null
  }
  return found
}

describe('a search for players', () => {
  test.each([
    ['a prefix with more matches than are sorted', 'newcomer', null],
    ['a prefix with more matches than are sorted, all old', 'crowd', null],
    ['a prefix with more matches than are sorted, all old, active players only', 'crowd', 'active'],
    ['a prefix with many matches', 'crowd 1', null],
    ['a prefix with few matches', 'cRoWd 100', null],
    ['a prefix without matches', 'crowds', null],
    ['a prefix with many matches, banned players only', 'crowd', 'banned'],
    ['a prefix with more matches than are sorted, active players only', 'newcomer', 'active'],
    ['a prefix with many matches, deleted players only', 'crowd', 'deleted'],
    ['no text, banned players only', null, 'banned'],
    ['no text, deleted players only', null, 'deleted'],
    ['no text', null, null],
  ] as const)('finds exactly the matching players over all pages, newest first: %s', async (_what, text, status) => {
    const bySubject = known.find(({ nickname }) => nickname.startsWith('Single'))
    const expected = known.filter(
      (player) =>
        (text === null ||
          player.nickname.toLowerCase().startsWith(text.toLowerCase()) ||
          (text === 'crowd' && player === bySubject)) &&
        (status === null || player.status === status),
    )
    const found = await pages({ text, status }, 700, 2 * known.length)
    expect(found).toEqual(expected.map(({ id }) => id))
  })

  test('finds long nicknames by prefixes of any length and any Unicode composition', async () => {
    const add = async (nickname: string): Promise<string> => {
      const { rows } = await game.app.pool.query(
        'INSERT INTO players (environment_id, id, nickname) VALUES ($1, gen_random_uuid(), $2) RETURNING id',
        [game.environmentId, nickname],
      )
      return rows[0].id
    }
    const short = await add('Lo\u0301ng')
    const apart = await add('LO\u0301NG'.repeat(204))
    const composed = await add(`${'l\u00f3ng'.repeat(204)}!`)
    const vietnamese = await add('e\u0302\u0301'.repeat(341))
    const find = async (text: string) => (await pages({ text, status: null }, 10, 10)).sort()
    expect(await find('l\u00f3n')).toEqual([short, apart, composed].sort())
    for (const letters of [8, 24, 25, 60, 120, 128, 129, 255]) {
      const [one, other] = ['l\u00f3ng', 'Lo\u0301NG'].map((word) => word.repeat(64).slice(0, letters))
      for (const text of [one, other]) expect([text, await find(text ?? '')]).toEqual([text, [apart, composed].sort()])
    }
    expect(await find(`${'l\u00f3ng'.repeat(20)}x`)).toEqual([])
    expect(await find('\u1ebf'.repeat(200))).toEqual([vietnamese])
    expect(await find('e\u0302\u0301'.repeat(80))).toEqual([vietnamese])
  })

  test('finds a player by id when its status matches', async () => {
    const banned = known.find(({ status }) => status === 'banned')
    const search = (status: Status | null) => pages({ text: banned?.id ?? '', status }, 10, 10)
    expect(await search(null)).toEqual([banned?.id])
    expect(await search('banned')).toEqual([banned?.id])
    expect(await search('active')).toEqual([])
  })
})
