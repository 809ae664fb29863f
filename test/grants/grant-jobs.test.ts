import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { missingXp } from '../../src/operations/grants/give.ts'
import { runJobs } from '../../src/operations/grants/run-jobs.ts'
import { enter, game, MAX_INT64, startPassGame, stopPassGame, supported } from '../battlepass/pass-game.ts'
import { season } from '../harness/definitions.ts'
import { times } from '../harness/game.ts'
import { auditRows, newOperator } from '../support/desk.ts'
import { Desk, holdingsOf, newKey, runner } from './jobs.ts'

// Grants to many players: what each of them gets, once, whatever happens meanwhile.

let desk: Desk

beforeAll(async () => {
  await startPassGame()
  desk = new Desk(game)
})
afterAll(stopPassGame)

const AT = { scenarioId: 'season', nodeId: 'pass' }
const gold = (amount: number | bigint | null = 100) => ({ currency: 'gold', amount })
const TEXT = [{ language: 'en', title: 'Sorry', body: 'For the outage.' }]
const to = (...players: readonly { readonly playerId: string }[]) => ({
  playerIds: players.map(({ playerId }) => playerId),
})
const crowd = (size: number) => Promise.all(times(size, () => game.player()))

describe('a gift', () => {
  it('of rewards reaches each player once, with the job in the ledger; a player who fails holds nobody up', async () => {
    const [ada, rich, gone, banned] = await Promise.all([
      game.player(),
      game.player({ wallet: { gold: MAX_INT64 - 5n } }),
      game.player(),
      game.player(),
    ])
    await supported('banPlayer', { playerId: banned.playerId })
    const jobId = await desk.create({
      to: to(ada, rich, gone, banned),
      give: { rewards: [gold(), { itemId: 'hat', amount: 2 }] },
    })
    // Between the request and the run.
    await supported('deletePlayer', { playerId: gone.playerId })
    const job = await desk.reaches(jobId, 'DONE')
    expect(job).toMatchObject({ state: 'DONE', players: 4, granted: 2, failed: 2 })
    expect(job.total).toEqual([
      { currency: 'gold', itemId: null, amount: '400' },
      { currency: null, itemId: 'hat', amount: '8' },
    ])
    expect(job.failedByCause.map(({ cause }: { cause: string }) => cause).sort()).toEqual([
      'BALANCE_LIMIT_EXCEEDED',
      'PLAYER_DELETED',
    ])
    for (const player of [ada, banned]) expect(await holdingsOf(game, player)).toEqual({ gold: '100', hat: '2' })
    expect(await holdingsOf(game, rich)).toEqual({ gold: String(MAX_INT64 - 5n) })
    const { rows } = await game.app.pool.query('SELECT reason, reference FROM wallet_ledger WHERE player_id = $1', [
      ada.playerId,
    ])
    expect(rows).toEqual([{ reason: 'grant_job', reference: `grant-job/${jobId}` }])
  })

  it('of rewards with a message lies in the inbox, and is claimed there', async () => {
    const ada = await game.player()
    const message = { message: TEXT, image: 'ui/sorry', expiresInDays: 3 }
    const job = await desk.give({ to: to(ada), give: { rewards: [gold()] }, ...message })
    expect(await desk.read(job.jobId, 'image expiresInDays')).toEqual({ image: 'ui/sorry', expiresInDays: 3 })
    const [row] = await desk.players(job.jobId)
    expect(row).toMatchObject({ outcome: 'GRANTED', granted: [{ currency: 'gold', amount: '100' }] })
    expect(await holdingsOf(game, ada)).toEqual({})
    const { rows } = await game.app.pool.query(
      `SELECT reference, image, rewards, extract(day FROM expires_at - sent_at)::int AS days FROM inbox_messages WHERE id = $1`,
      [row.messageId],
    )
    expect(rows).toMatchObject([{ reference: `grant-job/${job.jobId}`, image: 'ui/sorry', days: 3 }])
  })

  it('of xp and of levels follows the rules of operators in the active run, and needs one', async () => {
    const [some, top, idle] = [await enter('season'), await enter('season'), await game.player()]
    await some.xp(50)
    await top.xp(400)
    const xp = await desk.give({ to: to(some.player, idle), give: { xp: { ...AT, amount: 30 } } })
    expect(xp).toMatchObject({ granted: 1, totalXp: '60', failedByCause: [{ cause: 'RUN_NOT_ACTIVE', players: 1 }] })
    expect((await some.progress()).xp).toBe(80)
    const levels = await desk.give({ to: to(some.player, top.player), give: { levels: { ...AT, levels: 2 } } })
    expect(levels).toMatchObject({ granted: 1, failedByCause: [{ cause: 'TOP_LEVEL_REACHED' }] })
    expect(await some.progress()).toMatchObject({ xp: 200, level: 3 })
    const rows = await desk.players(levels.jobId)
    expect(rows.find(({ playerId }: { playerId: string }) => playerId === some.player.playerId).amount).toBe('120')
  })

  it('of premium is for those who do not own it', async () => {
    const [owner, other] = [await enter('season', { wallet: { gems: 950n } }), await enter('season')]
    await owner.premium()
    const job = await desk.give({ to: to(owner.player, other.player), give: { premium: AT }, message: TEXT })
    expect(job).toMatchObject({ granted: 1, failedByCause: [{ cause: 'PREMIUM_OWNED', players: 1 }] })
    expect((await other.progress()).premiumOwned).toBe(true)
  })

  it('may be a message alone', async () => {
    const ada = await game.player()
    expect(await desk.give({ to: to(ada), message: TEXT })).toMatchObject({ granted: 1, total: [] })
  })

  it.each([
    [[0, 100, 200], 0, 1, 100],
    [[0, 100, 200], 50, 1, 50],
    [[0, 100, 200], 50, 9, 150],
    [[0, 100, 200], 200, 1, 0],
    [[50, 100], 0, 1, 50],
  ])('of levels: with levels at %j and %i xp, %i more take %i xp', (levels, xp, more, missing) => {
    const node = { levels: levels.map((at, index) => ({ level: index + 1, xp: BigInt(at) })) }
    expect(missingXp(node, BigInt(xp), more)).toBe(BigInt(missing))
  })
})

describe('a request', () => {
  it('is refused with every fault at once', async () => {
    const { playerId } = await game.player()
    const unknown = '00000000-0000-7000-8000-0000000000ff'
    expect(
      await desk.refused('createGrantJob', {
        to: { playerIds: [playerId, unknown, playerId] },
        give: { xp: { scenarioId: 'nowhere', nodeId: 'pass' } },
        idempotencyKey: newKey(),
      }),
    ).toEqual([
      'to.playerIds[1]: is no player of this environment',
      'to.playerIds[2]: is there twice',
      'give.xp.amount: is required',
      'give.xp.scenarioId: is no scenario of this environment',
    ])
  })

  it.each([
    [
      'two kinds of players',
      { to: { playerIds: [], segment: 'x' }, give: { rewards: [gold()] } },
      /^to: must have exactly one of/,
    ],
    ['nothing to give', { to: { filter: {} } }, /^give: is required without a message/],
    ['a picture alone', { to: { filter: {} }, give: { rewards: [gold()] }, image: 'x' }, /^image: needs a message$/],
    [
      'two gifts',
      { to: { filter: {} }, give: { premium: AT, levels: { ...AT, levels: 1 } } },
      /^give: must have exactly one/,
    ],
    [
      'both kinds of a reward',
      { to: { filter: {} }, give: { rewards: [{ ...gold(), itemId: 'a' }] } },
      /^give.rewards\[0\]: /,
    ],
    ['an unknown segment', { to: { segment: 'nobody' }, give: { rewards: [gold()] } }, /^to.segment: is no segment/],
    [
      'a pass without premium',
      { to: { filter: {} }, give: { premium: { ...AT, nodeId: 'start' } } },
      /^give.premium.nodeId: /,
    ],
    [
      'an unknown list',
      { to: { listId: '00000000-0000-7000-8000-0000000000ff' }, give: { rewards: [gold()] } },
      /^to.listId: /,
    ],
    ['an unknown currency', { to: { filter: {} }, give: { rewards: [{ currency: 'gould', amount: 1 }] } }, /gould/],
  ])('is refused with %s', async (_what, input, fault) => {
    expect((await desk.refused('createGrantJob', { idempotencyKey: newKey(), ...input })).join()).toMatch(fault)
  })

  it('makes one job for one key, and is refused with the key of another', async () => {
    const ada = await game.player()
    const input = { to: to(ada), give: { rewards: [gold()] }, idempotencyKey: newKey() }
    const made = await Promise.all(times(4, () => desk.must('createGrantJob', input)))
    const [jobId, ...others] = new Set(made.map(({ job }) => job.jobId))
    expect(others).toEqual([])
    expect(await desk.refused('createGrantJob', { ...input, reason: 'another' })).toEqual(['IDEMPOTENCY_KEY_REUSED'])
    await desk.reaches(jobId, 'DONE')
    expect((await desk.must('createGrantJob', input)).auditEntry).toBeNull()
    expect(await holdingsOf(game, ada)).toEqual({ gold: '100' })
  })

  it('above the credit limit is for admins', async () => {
    const operator = desk.of((await newOperator(game.app.pool, game.projectId)).key)
    const limit = { currency: 'gold', limit: 50, reason: 'test', environment: 'production' }
    await desk.must('setCreditLimit', limit, 'currency { name }')
    const input = { to: to(await game.player()), give: { rewards: [gold()] } }
    expect(await operator.refused('createGrantJob', { ...input, idempotencyKey: newKey() })).toEqual([
      expect.stringContaining('above 50'),
    ])
    expect((await desk.give(input)).granted).toBe(1)
    await desk.must('setCreditLimit', { ...limit, limit: null }, 'currency { name }')
  })
})

describe('a list of players', () => {
  it('gives each player its own amount, by ids or by identities', async () => {
    const [ada, bob] = await crowd(2)
    const { status, body } = await desk.list(`amount,playerId\r\n7,${ada?.playerId}\r\n"5","${bob?.playerId}"\n\n`)
    const first = [
      { row: 2, playerId: ada?.playerId, provider: null, subject: null, amount: 7 },
      { row: 3, playerId: bob?.playerId, provider: null, subject: null, amount: 5 },
    ]
    expect([status, body]).toEqual([200, { listId: expect.any(String), players: 2, total: 12, first }])
    const input = { to: { listId: body.listId }, give: { rewards: [gold(null)] } }
    expect(await desk.preview(input)).toMatchObject({
      ...{ players: 2, isExact: true, total: [{ currency: 'gold', amount: '12' }], failing: [] },
      largest: [
        { playerId: ada?.playerId, amount: '7' },
        { playerId: bob?.playerId, amount: '5' },
      ],
    })
    const job = await desk.give(input)
    expect(job).toMatchObject({ granted: 2, total: [{ currency: 'gold', amount: '12' }] })
    expect([await holdingsOf(game, ada as never), await holdingsOf(game, bob as never)]).toEqual([
      { gold: '7' },
      { gold: '5' },
    ])
    // The amounts are of one reward, and of the list alone.
    for (const give of [{ rewards: [gold(3)] }, { premium: AT }, { rewards: [gold(null), gold(null)] }])
      expect((await desk.refused('createGrantJob', { ...input, give, idempotencyKey: newKey() })).length).toBe(1)
  })

  it.each([
    ['semicolons', ';'],
    ['tabs', '\t'],
    ['commas', ','],
  ])('is read with %s, with its columns in any letter case, and shows its first rows', async (_name, mark) => {
    const players = await crowd(11)
    const lines = players.map(({ playerId }, at) => `"${playerId}"${mark}${at + 1}`)
    const { body } = await desk.list(`\ufeffPLAYERID${mark}Amount\r\n${lines.join('\r\n')}`)
    expect(body).toMatchObject({ players: 11, total: 66 })
    expect(body.first.map(({ row, playerId }: { row: number; playerId: string }) => [row, playerId])).toEqual(
      players.slice(0, 10).map(({ playerId }, at) => [at + 2, playerId]),
    )
  })

  it('is refused with the faults of all rows, of which 100 are told, and stores nothing', async () => {
    const { playerId } = (await game.player()) as { playerId: string }
    const rows = [playerId, 'x', playerId, '00000000-0000-7000-8000-0000000000ff', `${playerId},1`, '"open']
    const before = await game.app.pool.query('SELECT count(*) FROM player_lists')
    const few = await desk.list(`playerId\n${rows.join('\n')}`)
    expect(few.status).toBe(400)
    expect(few.body.details).toEqual([
      { path: 'row 3', message: 'has a playerId that is no id' },
      { path: 'row 4', message: 'has the player of row 2 again' },
      { path: 'row 5', message: 'is no player of this environment' },
      { path: 'row 6', message: 'has 2 values for 1 columns' },
      { path: 'row 7', message: 'has an open quotation mark' },
    ])
    // A value in quotation marks may have line ends, which count.
    const broken = await desk.list('provider,subject\ncustom,"a\r\nb"\ncustom\n"custom"x,c\n')
    expect(broken.body.details).toEqual([
      { path: 'row 2', message: 'is no player of this environment' },
      { path: 'row 4', message: 'has 1 values for 2 columns' },
      { path: 'row 5', message: 'has an open quotation mark' },
    ])
    const many = await desk.list(`provider,subject,amount\n${times(300, (n) => `custom,nobody-${n},${n}\n`).join('')}`)
    expect(many.body.details).toHaveLength(101)
    expect(many.body.details.at(-1).message).toMatch(/^300 rows/)
    const rounded = await desk.list('provider,subject\ncustom,"1,23457E+15"')
    expect(rounded.body.details[0].message).toMatch(/^is no player of this environment: a spreadsheet has rounded/)
    const withNul = await desk.list('provider,subject\ncustom,a\0b')
    expect(withNul.body.details).toEqual([{ path: 'row 2', message: 'has a NUL character' }])
    for (const header of ['', 'playerId,provider,subject', 'provider', 'player', 'playerId,playerId'])
      expect((await desk.list(`${header}\n${playerId}`)).body.details[0].message).toMatch(/^the first row/)
    expect((await game.app.pool.query('SELECT count(*) FROM player_lists')).rows).toEqual(before.rows)
  })
})

describe('the players of a filter', () => {
  it('are those of a segment as it was when the job was made, without deleted ones', async () => {
    const [ada, gone] = await crowd(2)
    await supported('deletePlayer', { playerId: gone?.playerId })
    const update = 'UPDATE players SET region = $2 WHERE id = ANY ($1)'
    await game.app.pool.query(update, [[ada?.playerId, gone?.playerId], 'frozen'])
    const { segment } = await desk.must(
      'createSegment',
      { name: 'frozen', filter: { region: 'frozen' } },
      'segment { segmentId playerCount playerCountIsExact filter { region status } }',
    )
    expect(segment).toMatchObject({
      playerCount: 1,
      playerCountIsExact: true,
      filter: { region: 'frozen', status: null },
    })
    const jobId = await desk.create({ to: { segment: 'frozen' }, give: { rewards: [gold()] } })
    await desk.must('deleteSegment', { segmentId: segment.segmentId }, 'segment { name }')
    expect(await desk.reaches(jobId, 'DONE')).toMatchObject({ players: 1, granted: 1 })
    expect(await desk.read(jobId, 'target { kind segment filter { region } }')).toEqual({
      target: { kind: 'FILTER', segment: 'frozen', filter: { region: 'frozen' } },
    })
    expect(await holdingsOf(game, ada as never)).toEqual({ gold: '100' })
  })

  it('of a planned job are those when it starts; until then it may be cancelled, and a boost runs from its start', async () => {
    const [ada, eve] = await crowd(2)
    const update = 'UPDATE players SET region = $2 WHERE id = $1'
    await game.app.pool.query(update, [ada?.playerId, 'planned'])
    const input = {
      ...{ to: { filter: { region: 'planned' } }, give: { rewards: [{ boost: { percent: 50, minutes: 60 } }] } },
      startsAt: '2090-01-01T00:00:00Z',
    }
    const jobId = await desk.create(input)
    const cancelled = await desk.create(input)
    await runJobs(runner(game))
    const selection = `state players startsAt startedAt give { rewards { currency boost { percent minutes } } }`
    expect(await desk.read(jobId, selection)).toEqual({
      ...{ state: 'PLANNED', players: 0, startsAt: '2090-01-01T00:00:00.000Z', startedAt: null },
      give: { rewards: [{ currency: null, boost: { percent: 50, minutes: 60 } }] },
    })
    expect((await desk.must('cancelGrantJob', { jobId: cancelled })).job).toMatchObject({ state: 'CANCELLED' })
    expect(await desk.refused('pauseGrantJob', { jobId })).toEqual([
      'jobId: is of a job that is planned: it must be one that is running',
    ])
    await game.app.pool.query(update, [eve?.playerId, 'planned'])
    await game.app.pool.query(`UPDATE grant_jobs SET starts_at = now() WHERE starts_at > now()`)
    expect(await desk.reaches(jobId, 'DONE')).toMatchObject({ players: 2, granted: 2 })
    expect(await desk.read(cancelled)).toMatchObject({ state: 'CANCELLED', players: 0 })
    const { rows } = await game.app.pool.query(
      'SELECT percent, ends_at > now() AS runs FROM player_boosts WHERE player_id = ANY ($1)',
      [[ada?.playerId, eve?.playerId]],
    )
    expect(rows).toEqual(Array(2).fill({ percent: 50, runs: true }))
    const past = await desk.create({ ...input, startsAt: '2020-01-01T00:00:00Z' })
    expect(await desk.reaches(past, 'DONE')).toMatchObject({ players: 2, granted: 2 })
    expect(await desk.read(past, 'startsAt')).toEqual({ startsAt: null })
  })

  it('are more than the limit: nobody gets anything', async () => {
    const players = await crowd(3)
    await game.app.pool.query('UPDATE players SET language = $2 WHERE id = ANY ($1)', [
      players.map(({ playerId }) => playerId),
      'xx',
    ])
    const input = { to: { filter: { language: 'xx' } }, give: { rewards: [gold()] }, limit: 2 }
    expect((await desk.preview(input)).players).toBe(3)
    expect(await desk.give(input)).toMatchObject({ state: 'FAILED', note: 'more than 2 players match', granted: 0 })
    expect(await holdingsOf(game, players[0] as never)).toEqual({})
    expect(await desk.give({ ...input, to: { filter: { language: 'nobody' } } })).toMatchObject({
      state: 'DONE',
      players: 0,
    })
  })

  it('fail in the preview for the causes that are known before', async () => {
    const [entered, idle, gone] = [await enter('season'), await game.player(), await game.player()]
    await supported('grantPremium', { ...AT, playerId: entered.player.playerId })
    const players = to(entered.player, idle, gone)
    await supported('deletePlayer', { playerId: gone.playerId })
    expect((await desk.preview({ to: players, give: { xp: { ...AT, amount: 5 } } })).failing).toEqual([
      { cause: 'PLAYER_DELETED', players: 1 },
      { cause: 'RUN_NOT_ACTIVE', players: 1 },
    ])
    expect((await desk.preview({ to: players, give: { premium: AT } })).failing).toHaveLength(2)
  })

  it.each<[cause: string, input: object, prepare: (playerId: string) => unknown]>([
    [
      'TOP_LEVEL_REACHED',
      { give: { levels: { ...AT, levels: 1 } } },
      (playerId) => supported('grantXp', { ...AT, playerId, amount: '400', source: 'test', idempotencyKey: newKey() }),
    ],
    [
      'XP_LIMIT_EXCEEDED',
      { give: { xp: { ...AT, amount: 5 } } },
      (playerId) =>
        supported('grantXp', { ...AT, playerId, amount: MAX_INT64, source: 'test', idempotencyKey: newKey() }),
    ],
    [
      'BALANCE_LIMIT_EXCEEDED',
      { give: { rewards: [{ itemId: 'hat', amount: 1 }, gold(5), gold(6)] } },
      (playerId) =>
        supported('creditWallet', { playerId, currency: 'gold', amount: MAX_INT64 - 10n, idempotencyKey: newKey() }),
    ],
    [
      'INBOX_FULL',
      { give: { rewards: [gold()] }, message: TEXT },
      (playerId) =>
        game.app.pool.query(
          `INSERT INTO inbox_messages (environment_id, player_id, id, kind, reference, expires_at)
           SELECT $1, $2, gen_random_uuid(), 'message', 'test', '2090-01-01' FROM generate_series(1, 500)`,
          [game.environmentId, playerId],
        ),
    ],
    ['SEASON_CLOSED', { give: { xp: { scenarioId: 'over', nodeId: 'pass', amount: 5 } } }, () => undefined],
  ])('fail in the preview as in the job: %s', async (cause, input, prepare) => {
    const closed = { startsAt: '2020-01-01T00:00:00Z', endsAt: '2021-01-01T00:00:00Z' }
    await game.publish('over', season({ more: closed as never }))
    const scenarioId = cause === 'SEASON_CLOSED' ? 'over' : 'season'
    const [one, other] = [await enter(scenarioId), await enter(scenarioId)]
    await prepare(one.player.playerId)
    const asked = { ...input, to: to(one.player, other.player) }
    const { failing } = await desk.preview(asked)
    expect(failing).toEqual([{ cause, players: cause === 'SEASON_CLOSED' ? 2 : 1 }])
    expect((await desk.give(asked)).failedByCause).toEqual(failing)
  })

  it('are not given more than a 64-bit integer holds in all: the preview refuses it, and the job fails', async () => {
    const players = await crowd(2)
    const asked = { to: to(...players), give: { rewards: [gold(MAX_INT64)] } }
    const { errors } = await game.graphql(
      game.platformKey,
      'query ($input: PreviewGrantJobInput!) { previewGrantJob(input: $input) { players } }',
      { input: { environment: 'production', ...asked, give: { rewards: [gold(String(MAX_INT64) as never)] } } },
    )
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: 'give' }] })
    expect(await desk.give(asked)).toMatchObject({ state: 'FAILED', granted: 0 })
  })
})

describe('a list of a segment', () => {
  const find = async (args: string) => {
    const { data, errors } = await game.graphql(
      game.platformKey,
      `{ players(environment: "production", segment: "new", filter: { ${args} }) { nodes { playerId } } }`,
    )
    return errors?.[0]?.extensions.details ?? data.players.nodes.map(({ playerId }: { playerId: string }) => playerId)
  }

  it('takes the values of the segment again, and ranges that narrow its own', async () => {
    const early = await game.player()
    const late = await game.player()
    const ids = [early.playerId, late.playerId]
    await game.app.pool.query(`UPDATE players SET region = 'range' WHERE id = ANY ($1)`, [ids])
    const filter = { region: 'range', createdFrom: '2020-01-01T00:00:00Z', createdTo: '2090-01-01T00:00:00Z' }
    await desk.must('createSegment', { name: 'new', filter }, 'segment { name }')
    // The first digits of an id are the milliseconds of the creation.
    const then = new Date(Number.parseInt(late.playerId.replace('-', '').slice(0, 12), 16)).toISOString()
    expect(await find('region: "range", createdFrom: "2020-01-01T00:00:00Z"')).toEqual([late.playerId, early.playerId])
    expect(await find(`createdFrom: "${then}"`)).toEqual([late.playerId])
    expect(await find(`createdFrom: "2010-01-01T00:00:00Z", createdTo: "${then}"`)).toEqual([early.playerId])
    expect(await find('region: "other"')).toEqual([
      { path: 'filter.region', message: 'is a filter of the segment already' },
    ])
    expect(await find('createdFrom: "2095-01-01T00:00:00Z"')).toMatchObject([{ path: 'filter.createdTo' }])
  })
})

describe('approval', () => {
  const policy = (input: object) =>
    desk.must('setGrantPolicy', input, 'policy { approvalAbovePlayers approvalAboveAmount } auditEntry { action }')

  it('is asked of a second person above the policy, once the players are frozen', async () => {
    expect((await policy({ approvalAbovePlayers: 1, approvalAboveAmount: 150 })).policy).toEqual({
      ...{ approvalAbovePlayers: 1, approvalAboveAmount: '150' },
    })
    const [ada, bob] = await crowd(2)
    const small = await desk.give({ to: to(ada as never), give: { rewards: [gold()] } })
    const amount = await desk.create({ to: to(ada as never), give: { rewards: [gold(151)] } })
    const many = await desk.create({ to: to(ada as never, bob as never), give: { rewards: [gold(1)] } })
    expect((await desk.preview({ to: to(ada as never), give: { rewards: [gold(151)] } })).needsApproval).toBe(true)
    for (const jobId of [amount, many])
      expect(await desk.reaches(jobId, 'AWAITING_APPROVAL')).toMatchObject({
        granted: 0,
        players: jobId === many ? 2 : 1,
      })
    // The entry of the refusal names the job itself, however the call did.
    expect(await desk.refused('approveGrantJob', { jobId: `GrantJob:${many}` })).toEqual([
      'jobId: is of a job that a second person must approve',
    ])
    const second = desk.of((await newOperator(game.app.pool, game.projectId)).key)
    await second.must('approveGrantJob', { jobId: many })
    expect((await second.must('approveGrantJob', { jobId: many })).auditEntry).toBeNull()
    expect(await desk.reaches(many, 'DONE')).toMatchObject({ granted: 2 })
    await desk.must('cancelGrantJob', { jobId: amount })
    expect(await second.refused('approveGrantJob', { jobId: amount })).toHaveLength(1)
    await policy({ approvalAbovePlayers: null, approvalAboveAmount: null })
    expect(await holdingsOf(game, ada as never)).toEqual({ gold: '101' })
    const actions = (await auditRows(game.app.pool, game.projectId, many)).map(({ action }) => action)
    expect([small.state, actions.sort()]).toEqual([
      'DONE',
      ['grant_job.approve', 'grant_job.approve.denied', 'grant_job.create'],
    ])
  })
})
