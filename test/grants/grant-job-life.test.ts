import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runJobs } from '../../src/operations/grants/run-jobs.ts'
import { enter, game, startPassGame, stopPassGame, supported } from '../battlepass/pass-game.ts'
import { type TestPlayer, times } from '../harness/game.ts'
import { until } from '../harness/until.ts'
import { newOperator } from '../support/desk.ts'
import { Desk, death, holdingsOf, newKey, runner } from './jobs.ts'

// A grant job while other things happen: it pauses, is cancelled, undone, exported, and its instances die.

let desk: Desk

beforeAll(async () => {
  await startPassGame()
  desk = new Desk(game)
})
afterAll(stopPassGame)

const AT = { scenarioId: 'season', nodeId: 'pass' }
const gold = (amount: number) => ({ currency: 'gold', amount })
const idsOf = (players: readonly { readonly playerId: string }[]) => players.map(({ playerId }) => playerId)
const crowd = (size: number) => Promise.all(times(size, () => game.player()))

/** Runs a job that is held, and calls this in the midst of its players. */
async function interrupted(jobId: string, after: number, act: () => Promise<unknown>): Promise<void> {
  let acted: Promise<unknown> | undefined
  let count = 0
  await runJobs(
    runner(game, (command, ...more) => {
      count += 1
      if (count === after) acted = act()
      return game.app.service.run(command, ...more)
    }),
  )
  expect([jobId, acted]).toEqual([jobId, expect.any(Promise)])
  await acted
}

const grantedOf = async (jobId: string) =>
  Number(
    (
      await game.app.pool.query(`SELECT count(*) FROM wallet_ledger WHERE reference = $1 AND amount > 0`, [
        `grant-job/${jobId}`,
      ])
    ).rows[0].count,
  )

describe('a job', () => {
  it('gives nothing once its pause is answered, goes on when it is resumed, and its cancellation is final', async () => {
    const players = await crowd(200)
    const input = { to: { playerIds: idsOf(players) }, give: { rewards: [gold(10)] } }
    const jobId = await desk.held(() => desk.create(input))
    await interrupted(jobId, 70, () => desk.must('pauseGrantJob', { jobId }))
    const before = await grantedOf(jobId)
    expect(before).toBeGreaterThan(0)
    expect(before).toBeLessThan(200)
    await runJobs(runner(game))
    expect(await grantedOf(jobId)).toBe(before)
    await until('the instance has let go', async () => (await desk.read(jobId)).granted === before)
    expect((await desk.must('pauseGrantJob', { jobId })).auditEntry).toBeNull()

    await desk.resume(jobId)
    await interrupted(jobId, 70, () => desk.must('cancelGrantJob', { jobId }))
    const given = await grantedOf(jobId)
    await runJobs(runner(game))
    expect(await grantedOf(jobId)).toBe(given)
    await until('it is counted', async () => (await desk.read(jobId)).granted === given)
    expect(await desk.refused('resumeGrantJob', { jobId })).toEqual([
      'jobId: is of a job that is cancelled: it must be one that is paused',
    ])
    const { rows } = await game.app.pool.query('SELECT max(balance) FROM wallets WHERE player_id = ANY ($1)', [
      idsOf(players),
    ])
    expect(rows[0].max).toBe('10')
  })

  it('goes on when the key that speaks for it is revoked, which shows it before', async () => {
    const operator = await newOperator(game.app.pool, game.projectId)
    const players = await crowd(2)
    const input = { to: { playerIds: idsOf(players) }, give: { rewards: [gold(10)] } }
    const planned = await desk.of(operator.key).create({ ...input, startsAt: '2099-01-01T00:00:00Z' })
    const { data } = await game.graphql(
      game.platformKey,
      '{ platformKeys(first: 50) { nodes { keyId openGrantJobs { jobId } } } }',
    )
    const own = data.platformKeys.nodes.find(({ keyId }: { keyId: string }) => keyId === operator.caller.keyId)
    expect(own.openGrantJobs).toEqual([{ jobId: planned }])
    await game.app.pool.query('UPDATE platform_keys SET revoked_at = now() WHERE id = $1', [operator.caller.keyId])
    await game.app.pool.query(`UPDATE grant_jobs SET starts_at = now() WHERE id = $1`, [planned])
    await desk.reaches(planned, 'DONE')
  })

  it('tells its states to platform keys, live', async () => {
    const feed = game.subscribe(
      game.platformKey,
      `subscription { onGrantJob(environment: "production") { jobId state players granted failed playerId } }`,
    )
    // The subscription is in place once it has told of a job.
    const waiting = feed.next()
    await until('a job is told', async () => {
      await desk.give({ to: { playerIds: idsOf(await crowd(1)) }, give: { rewards: [gold(1)] } })
      return Promise.race([waiting.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))])
    })
    const jobId = await desk.create({ to: { playerIds: idsOf(await crowd(1)) }, give: { rewards: [gold(1)] } })
    await desk.reaches(jobId, 'DONE')
    const states: string[] = []
    while (states.at(-1) !== 'DONE') {
      const event = await feed.next()
      if (event.jobId === jobId) states.push(event.state)
    }
    expect([...new Set(states)]).toEqual(['COLLECTING', 'RUNNING', 'DONE'])
    await feed.close()
  })

  it('is exported as CSV with the outcome of each player', async () => {
    const [ada, gone] = await crowd(2)
    await supported('deletePlayer', { playerId: gone?.playerId })
    const { jobId } = await desk.give({
      to: { playerIds: idsOf([ada as never, gone as never]) },
      give: { rewards: [gold(10)] },
    })
    const path = `/platform/v1/projects/${game.projectId}/grant-jobs/${jobId}/players.csv`
    const headers = { authorization: `Bearer ${game.platformKey}` }
    const { status, text } = await game.request('GET', path, { headers })
    const [header, ...lines] = text.trim().split('\n')
    expect([status, header]).toEqual([200, 'playerId,outcome,cause,amount,granted,messageId,actedAt'])
    const of = (playerId: string | undefined) => lines.find((line) => line.startsWith(String(playerId)))
    expect(lines).toHaveLength(2)
    expect(of(ada?.playerId)).toContain(',granted,,,"[{""amount"":10,""currency"":""gold"",""itemId"":null}]",,20')
    expect(of(gone?.playerId)).toContain(',failed,player deleted,,,,20')
    expect((await game.request('GET', path.replace(jobId, 'x'), { headers })).status).toBe(404)
  })
})

describe('an undo', () => {
  const previewOf = async (jobId: string) => {
    const document = `query ($jobId: ID!) { previewGrantUndo(environment: "production", jobId: $jobId) {
      players isExact given { currency itemId amount } taken { currency itemId amount } unclaimedMessages premium } }`
    const { data, errors } = await game.graphql(game.platformKey, document, { jobId })
    expect(errors).toBeUndefined()
    return data.previewGrantUndo
  }
  const undo = async (jobId: string) => {
    const made = await Promise.all(times(2, () => desk.must('undoGrantJob', { jobId, idempotencyKey: newKey() })))
    const [undoId, ...others] = new Set(made.map(({ job }) => job.jobId))
    expect(others).toEqual([])
    return desk.reaches(undoId, 'DONE')
  }

  it('takes back what is left, once, and tells before what was spent', async () => {
    const [ada, spent, broke] = await crowd(3)
    const rewards = [gold(10), { itemId: 'hat', amount: 1 }]
    const { jobId } = await desk.give({ to: { playerIds: idsOf([ada, spent] as never) }, give: { rewards } })
    expect(await desk.refused('undoGrantJob', { jobId: newUuid(), idempotencyKey: newKey() })).toEqual(['NOT_FOUND'])
    await supported('debitWallet', {
      playerId: spent?.playerId,
      currency: 'gold',
      amount: 7n,
      idempotencyKey: newKey(),
    })
    expect(await previewOf(jobId)).toEqual({
      ...{ players: 2, isExact: true, unclaimedMessages: 0, premium: 0 },
      given: [
        { currency: 'gold', itemId: null, amount: '20' },
        { currency: null, itemId: 'hat', amount: '2' },
      ],
      taken: [
        { currency: 'gold', itemId: null, amount: '13' },
        { currency: null, itemId: 'hat', amount: '2' },
      ],
    })
    const done = await undo(jobId)
    expect(done).toMatchObject({ players: 2, granted: 2, undoOf: { jobId } })
    expect(await holdingsOf(game, ada as never)).toEqual({ gold: '0', hat: '0' })
    expect(await holdingsOf(game, spent as never)).toEqual({ gold: '0', hat: '0' })
    expect(await holdingsOf(game, broke as never)).toEqual({})
    expect((await desk.read(jobId)).undos).toEqual([{ jobId: done.jobId, state: 'DONE' }])
    const again = await desk.must('undoGrantJob', { jobId, idempotencyKey: newKey() })
    expect([again.job.jobId, again.auditEntry]).toEqual([done.jobId, null])
    expect(await desk.refused('undoGrantJob', { jobId: done.jobId, idempotencyKey: newKey() })).toEqual([
      'jobId: is of a job that undoes another one',
    ])
  })

  it('withdraws messages that nobody has claimed, and takes back from those who have', async () => {
    const [ada, claimed] = await crowd(2)
    const message = [{ language: 'en', title: 'Sorry' }]
    const { jobId } = await desk.give({
      to: { playerIds: idsOf([ada, claimed] as never) },
      give: { rewards: [gold(10)] },
      message,
    })
    const row = (await desk.players(jobId)).find((one: { playerId: string }) => one.playerId === claimed?.playerId)
    const { body } = await (claimed as TestPlayer).post('/sdk/v1/inbox/claim', { messageId: row.messageId })
    expect(body.success).toBe(true)
    await supported('debitWallet', {
      ...{ playerId: claimed?.playerId, currency: 'gold', amount: 6n, idempotencyKey: newKey() },
    })
    expect(await previewOf(jobId)).toMatchObject({ unclaimedMessages: 1, taken: [{ amount: '14' }] })
    expect(await undo(jobId)).toMatchObject({ granted: 2 })
    const { rows } = await game.app.pool.query('SELECT player_id FROM inbox_messages WHERE player_id = ANY ($1)', [
      idsOf([ada, claimed] as never),
    ])
    expect(rows).toEqual([{ player_id: claimed?.playerId }])
    expect(await holdingsOf(game, claimed as never)).toEqual({ gold: '0' })
  })

  it('makes boosts shorter by what it gave, also those of claimed messages', async () => {
    const [ada, kept] = await crowd(2)
    const rewards = [{ boost: { percent: 50, minutes: 60 } }]
    const { jobId } = await desk.give({ to: { playerIds: idsOf([ada, kept] as never) }, give: { rewards } })
    const mailed = {
      to: { playerIds: idsOf([kept] as never) },
      give: { rewards },
      message: [{ language: 'en', title: 'More' }],
    }
    const [row] = await desk.players((await desk.give(mailed)).jobId)
    const { body } = await (kept as TestPlayer).post('/sdk/v1/inbox/claim', { messageId: row.messageId })
    expect(body).toMatchObject({ granted: [], boosts: [{ percent: 50, minutes: 60 }] })
    const minutesOf = async () => {
      const { rows } = await game.app.pool.query(
        `SELECT player_id, percent, round(extract(epoch FROM ends_at - starts_at) / 60)::int AS minutes
         FROM player_boosts WHERE player_id = ANY ($1)`,
        [idsOf([ada, kept] as never)],
      )
      return Object.fromEntries(rows.map(({ player_id: id, percent, minutes }) => [id, [percent, minutes]]))
    }
    expect(await minutesOf()).toEqual({ [String(ada?.playerId)]: [50, 60], [String(kept?.playerId)]: [50, 120] })
    const sums = [{ currency: null, itemId: null, amount: '2' }]
    expect(await previewOf(jobId)).toMatchObject({ given: sums, taken: sums })
    expect(await undo(jobId)).toMatchObject({ granted: 2 })
    expect(await minutesOf()).toEqual({ [String(kept?.playerId)]: [50, 60] })
  })

  it('takes nothing of a boost that has used up what the job gave, nor premium that was bought since', async () => {
    const one = await enter('season', { wallet: { gems: 10_000n } })
    const { playerId } = one.player
    const to = { playerIds: [playerId] }
    const boost = await desk.give({ to, give: { rewards: [{ boost: { percent: 50, minutes: 1 } }] } })
    const premium = await desk.give({ to, give: { premium: AT } })
    await game.app.pool.query(
      `UPDATE player_boosts SET starts_at = starts_at - interval '2 minutes', ends_at = ends_at + interval '1 hour'
       WHERE player_id = $1`,
      [playerId],
    )
    await supported('revokePremium', { playerId, ...AT })
    expect((await one.premium()).body).toMatchObject({ success: true })
    expect(await previewOf(premium.jobId)).toMatchObject({ players: 1, premium: 0 })
    for (const { jobId } of [boost, premium])
      expect(await undo(jobId)).toMatchObject({ granted: 0, failedByCause: [{ cause: 'NOTHING_LEFT' }] })
    expect((await one.progress()).premiumOwned).toBe(true)
  })

  it('revokes premium where no premium tier is claimed, and refuses xp', async () => {
    const [some, other] = [await enter('season'), await enter('season')]
    const players = idsOf([some.player, other.player])
    const { jobId } = await desk.give({ to: { playerIds: players }, give: { premium: AT } })
    await some.claim(1, 'premium')
    expect(await previewOf(jobId)).toMatchObject({ players: 2, premium: 1 })
    expect(await undo(jobId)).toMatchObject({ granted: 1, failedByCause: [{ cause: 'PREMIUM_TIERS_CLAIMED' }] })
    expect((await other.progress()).premiumOwned).toBe(false)
    const xp = await desk.give({ to: { playerIds: players }, give: { xp: { ...AT, amount: 5 } } })
    expect(await desk.refused('undoGrantJob', { jobId: xp.jobId, idempotencyKey: newKey() })).toEqual([
      'jobId: is of a job that gave xp, which is not taken back',
    ])
  })

  it('is refused for a job that goes on, and is made again after one that was cancelled, for the players who are left', async () => {
    const players = await crowd(150)
    const jobId = await desk.create({ to: { playerIds: idsOf(players) }, give: { rewards: [gold(10)] } })
    expect(await desk.refused('undoGrantJob', { jobId, idempotencyKey: newKey() })).toEqual([
      'jobId: is of a job that has not ended: cancel it first',
    ])
    await desk.reaches(jobId, 'DONE')
    const first = await desk.held(
      async () => (await desk.must('undoGrantJob', { jobId, idempotencyKey: newKey() })).job.jobId,
    )
    await interrupted(first, 70, () => desk.must('cancelGrantJob', { jobId: first }))
    const second = await undo(jobId)
    const taken = await desk.read(first)
    expect(taken.granted + second.granted).toBe(150)
    const { rows } = await game.app.pool.query('SELECT sum(balance) FROM wallets WHERE player_id = ANY ($1)', [
      idsOf(players),
    ])
    expect(rows[0].sum).toBe('0')
  })
})

describe('once per player', () => {
  it('whatever dies at whatever step, on two instances, beside a player who spends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(death, { minLength: 2, maxLength: 6 }), fc.boolean(), async (deaths, isUndone) => {
        const players = await crowd(100)
        const ids = idsOf(players)
        let jobId = await desk.create({ to: { playerIds: ids }, give: { rewards: [gold(10)] } })
        const spends = ids
          .slice(0, 5)
          .map((playerId) => ({ playerId, currency: 'gold', amount: 3n, idempotencyKey: newKey() }))
        const survive = () => desk.survives(jobId, deaths)
        expect(await survive()).toMatchObject({ players: 100, granted: 100, failed: 0 })
        const sum = async () =>
          (
            await game.app.pool.query(
              'SELECT sum(balance), max(balance), count(*) FROM wallets WHERE player_id = ANY ($1)',
              [ids],
            )
          ).rows[0]
        expect(await sum()).toEqual({ sum: '1000', max: '10', count: '100' })
        if (!isUndone) return
        jobId = (await desk.must('undoGrantJob', { jobId, idempotencyKey: newKey() })).job.jobId
        const [job] = await Promise.all([survive(), ...spends.map((spend) => spent(spend))])
        expect(job).toMatchObject({ players: 100, failed: 0, granted: 100 })
        expect((await sum()).sum).toBe('0')
      }),
      { numRuns: 4 },
    )
  })

  /** A debit that may come too late. */
  const spent = (input: { playerId: string; currency: string; amount: bigint; idempotencyKey: string }) =>
    supported('debitWallet', input).catch(() => undefined)
})

const newUuid = () => '00000000-0000-7000-8000-0000000000ff'
