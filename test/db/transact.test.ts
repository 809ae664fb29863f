import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createProject } from '../../src/callers/projects.ts'
import { toRefusal } from '../../src/db/failures.ts'
import { newId } from '../../src/db/ids.ts'
import { createPool } from '../../src/db/pool.ts'
import { type Db, isUnreadableArgument, openPrisma, type Transact } from '../../src/db/prisma.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { times } from '../harness/game.ts'
import { type PostgresProxy, startProxy } from '../harness/proxy.ts'

const CONNECTIONS = 2

let database: TestDatabase
let proxy: PostgresProxy
/** Reaches Postgres without the proxy. */
let direct: pg.Pool
let pool: pg.Pool
let transact: Transact
let projectId: string
beforeEach(async () => {
  database = await createDatabase()
  direct = createPool({ url: database.url, connections: 2, onError: () => undefined })
  projectId = (await createProject(direct, { name: 'One', environments: ['production'] })).projectId
  proxy = await startProxy(database.url)
  pool = createPool({ url: proxy.url, connections: CONNECTIONS, onError: () => undefined })
  transact = openPrisma(pool).transact
})
afterEach(async () => {
  await proxy.close()
  await pool.end()
  await direct.end()
  await database.drop()
})

const share = (db: Db, name: string) =>
  db.sharedView.create({ data: { id: newId(), projectId, page: 'players', name, query: '', sharedBy: 'Ada' } })
const shareAlone = (name: string) => transact(({ db }) => share(db, name))
async function names(): Promise<string[]> {
  const { rows } = await direct.query<{ name: string }>('SELECT name FROM shared_views ORDER BY name')
  return rows.map(({ name }) => name)
}
const failure = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => expect.fail('it succeeded'),
    (error) => error,
  )
const refusalOf = async (call: Promise<unknown>) => toRefusal(await failure(call))?.kind

describe('a transaction with statements of Prisma', () => {
  it('has statements of SQL, too, and is written as a whole or not at all', async () => {
    const mine = new Error('mine')
    const undone = transact(async ({ db, client }) => {
      await share(db, 'undone')
      const { rows } = await client.query('SELECT name FROM shared_views')
      expect(rows).toEqual([{ name: 'undone' }])
      throw mine
    })
    expect(await failure(undone)).toBe(mine)
    await transact(async ({ db, client }) => {
      await client.query("UPDATE projects SET name = 'Two' WHERE id = $1", [projectId])
      expect(await db.project.findUnique({ where: { id: projectId }, select: { name: true } })).toEqual({ name: 'Two' })
      await share(db, 'done')
    })
    expect(await names()).toEqual(['done'])
  })

  it('has its own connection, also when many start at once, before Prisma has connected', async () => {
    const seen = await Promise.all(
      times(10 * CONNECTIONS, (number) =>
        transact(async ({ db, client }) => {
          const [ours] = await db.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
          const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
          await share(db, String(number))
          return [ours?.pid, rows[0]?.pid]
        }),
      ),
    )
    for (const [ours, theirs] of seen) expect(ours).toBe(theirs)
    expect(await names()).toHaveLength(10 * CONNECTIONS)
    expect(pool.idleCount).toBe(pool.totalCount)
  })

  it('stores the time of the database, not of the process', async () => {
    await transact(async ({ db, client }) => {
      const { id } = await share(db, 'timed')
      const { rows } = await client.query('SELECT created_at = now() AS "isNow" FROM shared_views WHERE id = $1', [id])
      expect(rows).toEqual([{ isNow: true }])
    })
  })

  it('keeps its connection while Prisma begins transactions of its own for reads', async () => {
    const { prisma, transact } = openPrisma(pool)
    // Reads of one kind with other conditions within are one batch, for which Prisma begins a transaction.
    const readProject = (take: number) =>
      prisma.project.findUnique({
        where: { id: projectId },
        select: { environments: { take, select: { name: true } } },
      })
    const change = (number: number) =>
      transact(async ({ db, client }) => {
        const [ours] = await db.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
        const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
        await share(db, String(number))
        return ours?.pid === rows[0]?.pid
      })
    const calls = times(20, (number) => [readProject(number + 1), change(number)] as const)
    const read = await Promise.all(calls.map(([reading]) => reading))
    expect(read).toEqual(times(20, () => ({ environments: [{ name: 'production' }] })))
    expect(await Promise.all(calls.map(([, changing]) => changing))).toEqual(times(20, () => true))
    expect(await names()).toHaveLength(20)
    expect(pool.idleCount).toBe(pool.totalCount)
  })

  it('is unavailable when the answer to COMMIT is lost, and what it wrote is there', async () => {
    await shareAlone('before')
    proxy.swallowWrites(1)
    expect(await refusalOf(shareAlone('lost'))).toBe('unavailable')
    expect(proxy.swallowed).toBe(1)
    expect(await names()).toEqual(['before', 'lost'])
    await shareAlone('on')
  })

  it.each(['at COMMIT', 'at a statement'])('gives its connection up when Postgres is frozen %s', async (moment) => {
    await shareAlone('before')
    const frozen = transact(async ({ db }) => {
      await share(db, 'frozen')
      proxy.pause()
      if (moment === 'at a statement') await share(db, 'second')
    })
    expect(await refusalOf(frozen)).toBe('unavailable')
    expect(pool.totalCount).toBe(0)
    proxy.resume()
    await shareAlone('on')
    expect(await names()).toEqual(['before', 'on'])
  })

  it('is unavailable when Postgres ends its session, is away, or has no free connection', async () => {
    const ended = transact(async ({ db, client }) => {
      await share(db, 'ended')
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await direct.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
      await share(db, 'second')
    })
    expect(await refusalOf(ended)).toBe('unavailable')
    proxy.cut({ refuse: true })
    expect(await refusalOf(shareAlone('away'))).toBe('unavailable')
    proxy.restore()
    const held = await Promise.all(times(CONNECTIONS, () => pool.connect()))
    expect(await refusalOf(shareAlone('waiting'))).toBe('unavailable')
    for (const client of held) client.release()
    await shareAlone('on')
    expect(await names()).toEqual(['on'])
  })

  it('ends a statement at its time limit, and says nothing of values or sources', async () => {
    const slow = transact(({ db }) => db.$queryRaw`SELECT pg_sleep(60)::text`)
    expect(await refusalOf(slow)).toBe('unavailable')
    const twice = transact(async ({ db }) => {
      await share(db, 'a secret name')
      await share(db, 'a secret name')
    })
    const error = await failure(twice)
    expect(error).toMatchObject({ code: 'P2002' })
    expect(String((error as Error).message)).not.toMatch(/secret|transact\.test/)
    expect(await names()).toEqual([])
  })

  it('does not take a bug of a change for a faulty cursor', async () => {
    const faulty = await failure(transact(({ db }) => db.sharedView.findUnique({ where: { id: 'no id' } })))
    expect(isUnreadableArgument(faulty)).toBe(false)
    expect(toRefusal(faulty)).toBeUndefined()
    expect(isUnreadableArgument((faulty as Error).cause)).toBe(true)
  })

  it('takes its time when Postgres does, and leaves no statement behind', async () => {
    // Prisma would end its own transaction after five seconds.
    await transact(async ({ db }) => {
      await share(db, 'slow')
      await db.$queryRaw`SELECT pg_sleep(3)::text`
      await db.$queryRaw`SELECT pg_sleep(3)::text`
    })
    expect(await names()).toEqual(['slow'])
  })
})
