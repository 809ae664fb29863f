import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPartitions, type PartitionsConfig } from '../../src/app/partitions.ts'
import { firstIdAt, newId } from '../../src/db/ids.ts'
import {
  dropPartitions,
  endOfPeriod,
  listPartitions,
  lookAtPartitions,
  makePartitions,
  type PartitionedTable,
} from '../../src/db/partitions.ts'
import { targetOf } from '../../src/db/pool.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { times } from '../harness/game.ts'
import { openPool } from '../harness/sql.ts'
import { until } from '../harness/until.ts'

const LEDGER: PartitionedTable = { name: 'xp_ledger', key: 'id', every: 'month' }
const EVENTS: PartitionedTable = { name: 'events', key: 'occurred_at', every: 'week' }
const TABLES = ['xp_ledger', 'wallet_ledger', 'login_log', 'events']
const ENVIRONMENT = '00000000-0000-7000-8000-000000000002'
const ROLE = `archivist_${process.pid}`
const PLAYER = '00000000-0000-7000-8000-000000000003'
const DAY_MS = 86_400_000
const CONFIG: PartitionsConfig = { eventRetentionDays: 30, ledgerRetentionMonths: null, archiveDir: null }

let database: TestDatabase
let pool: pg.Pool
beforeEach(async () => {
  database = await createDatabase()
  // An archive opens a connection like those of its pool, with the settings of the service.
  pool = openPool(database.url, targetOf({ url: database.url }))
})
afterEach(async () => {
  await pool?.end()
  await database?.drop()
})

const later = (from: Date, days: number): Date => new Date(from.getTime() + days * DAY_MS)
const idAt = (at: Date): string => firstIdAt(at.getTime()).slice(0, 14) + newId().slice(14)
const sqlOfGrant = `INSERT INTO xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source)
  VALUES ('${ENVIRONMENT}', '${PLAYER}', $1, 'season', 'pass', '${PLAYER}', $2, 'match')`
const grant = (id: string, amount: bigint | number = 1) => pool.query(sqlOfGrant, [id, amount])

async function amounts(table = 'xp_ledger'): Promise<number[]> {
  const { rows } = await pool.query(`SELECT amount FROM ${table} ORDER BY amount`)
  return rows.map(({ amount }) => Number(amount))
}

async function firstEnd(table = LEDGER): Promise<Date> {
  const [first] = await listPartitions(pool, table)
  if (!first) throw new Error(`${table.name} has no partition`)
  return first.to
}

/** As if a table had been partitioned at an earlier time: its first partition ends then. */
async function endFirst({ name, key }: PartitionedTable, end: Date): Promise<void> {
  const bound = key === 'id' ? firstIdAt(end.getTime()) : end.toISOString()
  await pool.query(`ALTER TABLE ${name} DETACH PARTITION ${name}_first;
    ALTER TABLE ${name} ATTACH PARTITION ${name}_first FOR VALUES FROM (MINVALUE) TO ('${bound}')`)
}

const tend = async (config: Partial<PartitionsConfig> = {}): Promise<unknown[]> => {
  const errors: unknown[] = []
  const partitions = createPartitions({
    pool,
    config: { ...CONFIG, ...config },
    log: pino({ level: 'silent' }),
    onError: (error) => errors.push(error),
  })
  await partitions.tend()
  return errors
}

/** A moment of the month before, in which a live game has rows. */
const lastMonth = (): Date => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 0))
}

const namesOf = async (table: PartitionedTable) => (await listPartitions(pool, table)).map(({ name }) => name)

describe('partitions that are made', () => {
  it.each([
    ['day', '2026-11-26T10:00:00Z', '2026-11-27'],
    ['week', '2026-11-26T10:00:00Z', '2026-11-30'],
    ['week', '2026-11-30T00:00:00Z', '2026-12-07'],
    ['week', '2026-11-29T23:59:59Z', '2026-11-30'],
    ['month', '2026-12-31T23:59:59Z', '2027-01-01'],
  ] as const)('end with the %s of %s: %s', (every, at, end) => {
    expect(endOfPeriod(new Date(at), every)).toEqual(new Date(`${end}T00:00:00Z`))
  })

  it('cover the next four weeks, each once and without a gap, however many instances make them at once', {
    repeats: 4,
  }, async () => {
    for (const table of [LEDGER, EVENTS]) {
      const now = later(await firstEnd(table), 10)
      const made = await Promise.all(times(8, () => makePartitions(pool, table, now)))
      const partitions = await listPartitions(pool, table)
      expect(made.flat().sort()).toEqual(partitions.slice(1).map(({ name }) => name))
      for (const [index, { from }] of partitions.entries()) expect(from).toEqual(partitions[index - 1]?.to ?? null)
      expect(partitions.at(-1)?.to.getTime()).toBeGreaterThanOrEqual(later(now, 28).getTime())
      expect(await makePartitions(pool, table, now)).toEqual([])
    }
  })

  it('take the rows of their time, with the keys and checks of the table', async () => {
    const end = await firstEnd()
    await makePartitions(pool, LEDGER, end)
    const id = idAt(later(end, 3))
    await grant(id)
    const { rows } = await pool.query('SELECT tableoid::regclass::text AS name FROM xp_ledger')
    expect(rows).toEqual([{ name: (await namesOf(LEDGER))[1] }])
    await expect(grant(id)).rejects.toMatchObject({ code: '23505' })
    await expect(grant(idAt(later(end, 3)), 0)).rejects.toMatchObject({ code: '23514' })

    const at = await firstEnd(EVENTS)
    await makePartitions(pool, EVENTS, at)
    const append = () =>
      pool.query(`INSERT INTO events (environment_id, position, type, player_id, data, occurred_at)
        VALUES ('${ENVIRONMENT}', 1, 'crossing', '${PLAYER}', '{}', '${later(at, 1).toISOString()}')`)
    await append()
    await expect(append()).rejects.toMatchObject({ code: '23505' })
  })

  it('take the rows that came before them, which nobody had refused', async () => {
    const end = await firstEnd()
    await grant(newId(), 1)
    await grant(idAt(later(end, 1)), 2)
    await grant(idAt(later(end, 40)), 3)
    expect(await lookAtPartitions(pool, LEDGER, end)).toEqual({ aheadMs: 0, hasOthers: true })
    await makePartitions(pool, LEDGER, later(end, 40))
    expect(await amounts()).toEqual([1, 2, 3])
    expect((await lookAtPartitions(pool, LEDGER, end))?.hasOthers).toBe(false)
  })

  it('do not wait for a long reader, and later ones are made when one cannot be made', async () => {
    const end = await firstEnd()
    await grant(idAt(later(end, 1)), 2)
    // A reader of the default partition, as a backup is one.
    const reader = await pool.connect()
    await reader.query('BEGIN; SELECT FROM xp_ledger_default')
    expect(await tend()).toEqual([])
    await expect(makePartitions(pool, LEDGER, end)).rejects.toMatchObject({ code: '55P03' })
    await grant(idAt(later(end, 2)), 3)
    await reader.query('COMMIT')
    reader.release()

    await pool.query(`CREATE TABLE xp_ledger_${end.toISOString().slice(0, 10).replaceAll('-', '')} ()`)
    await expect(makePartitions(pool, LEDGER, later(end, 40))).rejects.toMatchObject({ code: '42P07' })
    expect((await listPartitions(pool, LEDGER)).at(-1)?.to.getTime()).toBeGreaterThan(later(end, 60).getTime())
    await grant(idAt(later(end, 3)), 4)
    expect(await amounts()).toEqual([2, 3, 4])
  })

  it('are not needed at the start of a new service', async () => {
    expect(await tend()).toEqual([])
    for (const name of TABLES) {
      const { rows } = await pool.query(
        'SELECT count(*)::int AS count FROM pg_inherits WHERE inhparent = $1::regclass',
        [name],
      )
      expect([name, rows[0].count]).toEqual([name, 2])
    }
  })
})

describe('partitions past retention', () => {
  it('are dropped whole, the earliest first, and ledgers only when LEDGER_RETENTION_MONTHS says so', async () => {
    const ago = new Date(Date.now() - 200 * DAY_MS)
    await endFirst(LEDGER, ago)
    await grant(idAt(later(ago, -1)), 1)
    await makePartitions(pool, LEDGER, later(ago, 40))
    await grant(idAt(later(ago, 40)), 2)
    await tend()
    await grant(idAt(lastMonth()), 3)
    await grant(newId(), 4)
    const all = await namesOf(LEDGER)
    expect(await amounts()).toEqual([1, 2, 3, 4])

    expect(await tend({ ledgerRetentionMonths: 2 })).toEqual([])
    expect(await amounts()).toEqual([3, 4])
    const kept = await namesOf(LEDGER)
    expect(all.slice(-kept.length)).toEqual(kept)
    const [oldest] = await listPartitions(pool, LEDGER)
    expect(oldest?.to.getTime()).toBeGreaterThan(Date.now() - 62 * DAY_MS)
    expect(oldest?.from?.getTime()).toBeLessThan(Date.now() - 55 * DAY_MS)
  })

  it('stay where the clock is months ahead of the newest rows, also once rows are written by that clock', async () => {
    // As it looks to a server whose clock is four months ahead: nothing but these rows, which are a year to a day old.
    await endFirst(LEDGER, later(new Date(), -365 - 120))
    await tend()
    const days = [360, 240, 150, 122]
    for (const ago of days) await grant(idAt(later(new Date(), -ago)), ago)
    await grant(newId(), 1)
    expect(await tend({ ledgerRetentionMonths: 3 })).toEqual([])
    // All that is less than three months older than the newest row of before.
    expect(await amounts()).toEqual(expect.arrayContaining([1, 122, 150]))
    expect(await amounts()).not.toContain(360)

    // Once the months go on, the clock is believed.
    await grant(idAt(lastMonth()), 2)
    expect(await tend({ ledgerRetentionMonths: 3 })).toEqual([])
    expect(await amounts()).toEqual([1, 2])
  })

  it('stay while another session reads the table, and writes wait for a third of a second at most', async () => {
    const end = await firstEnd()
    await makePartitions(pool, LEDGER, end)
    const reader = await pool.connect()
    await reader.query('BEGIN; SELECT FROM xp_ledger LIMIT 1')
    const writer = openPool(database.url, { options: '-c lock_timeout=2000' })
    let isOver = false
    const writing = (async () => {
      for (let amount = 1; !isOver || amount < 5; amount += 1) await writer.query(sqlOfGrant, [newId(), amount])
    })()
    await expect(dropPartitions(pool, LEDGER, end)).rejects.toMatchObject({ code: '55P03' })
    isOver = true
    await writing
    await writer.end()
    expect((await amounts()).length).toBeGreaterThanOrEqual(4)
    await reader.query('COMMIT')
    reader.release()
    expect(await dropPartitions(pool, LEDGER, end)).toEqual(['xp_ledger_first'])
  })

  it('are dropped once by several instances at once', async () => {
    const end = await firstEnd()
    await makePartitions(pool, LEDGER, end)
    const dropped = await Promise.all([1, 2, 3].map(() => dropPartitions(pool, LEDGER, end)))
    expect(new Set(dropped.flat())).toEqual(new Set(['xp_ledger_first']))
    await grant(idAt(later(end, 1)))
  })
})

describe('the archive of a partition', () => {
  let archiveDir: string
  beforeEach(async () => {
    archiveDir = await mkdtemp(join(tmpdir(), 'tierway-archive-'))
  })
  afterEach(() => rm(archiveDir, { recursive: true }))

  /** What a row has that is not past its retention. */
  const KEPT = 7
  const HUGE = 9_223_372_036_854_775_807n
  const files = () => readdir(join(archiveDir, 'xp_ledger'))
  /** The lines of the archive of a partition. */
  const read = async (partition: string) => {
    const name = (await files()).find((file) => file.startsWith(`${partition}.`)) ?? partition
    return gunzipSync(await readFile(join(archiveDir, 'xp_ledger', name)))
      .toString()
      .trimEnd()
      .split('\n')
  }

  async function fill(): Promise<Date> {
    const ago = new Date(Date.now() - 200 * DAY_MS)
    await endFirst(LEDGER, ago)
    await grant(idAt(later(ago, -2)), HUGE)
    await pool.query(
      `INSERT INTO xp_ledger (environment_id, player_id, id, scenario_id, node_id, run_id, amount, source)
       SELECT '${ENVIRONMENT}', gen_random_uuid(), $1, 'season', 'pass', '${PLAYER}', n, 'line' || chr(10) || '"end"'
       FROM generate_series(1, 5000) AS n`,
      [idAt(later(ago, -1))],
    )
    await tend()
    await grant(idAt(lastMonth()), KEPT)
    return ago
  }

  it('has every row, with integers as they are, before the rows are dropped', async () => {
    await fill()
    expect(await tend({ ledgerRetentionMonths: 2, archiveDir })).toEqual([])
    expect(await amounts()).toEqual([KEPT])
    const lines = await read('xp_ledger_first')
    expect(lines).toHaveLength(5_001)
    expect(lines[0]).toContain(`"amount":${HUGE},`)
    expect(JSON.parse(lines[5_000] ?? '')).toMatchObject({ amount: 5_000, source: 'line\n"end"', asked: null })
    // The partitions of the months since then had no rows.
    expect(await files()).toEqual([expect.stringMatching(/^xp_ledger_first\.[0-9a-f]{8}\.ndjson\.gz$/)])

    // The page says how to read it back.
    await pool.query('CREATE TABLE restored (line json)')
    for (const line of lines.slice(0, 2)) await pool.query('INSERT INTO restored VALUES ($1)', [line])
    await pool.query('CREATE TABLE again AS SELECT r.* FROM restored, json_populate_record(null::xp_ledger, line) AS r')
    const { rows } = await pool.query('SELECT amount, source FROM again ORDER BY amount DESC')
    expect(rows).toEqual([
      { amount: String(HUGE), source: 'match' },
      { amount: '1', source: 'line\n"end"' },
    ])
  })

  it('that was cut off is written again: nothing is dropped before its file is complete', async () => {
    await fill()
    const url = new URL(database.url)
    url.searchParams.set('application_name', 'archiving')
    const own = openPool(url.href, targetOf({ url: url.href }))
    // The reader of the archive waits behind this lock, and its connection breaks there.
    const holder = await pool.connect()
    await holder.query('BEGIN; LOCK TABLE ONLY xp_ledger_first')
    const errors: unknown[] = []
    const partitions = createPartitions({
      pool: own,
      config: { ...CONFIG, ledgerRetentionMonths: 2, archiveDir },
      log: pino({ level: 'silent' }),
      onError: (error) => errors.push(error),
    })
    const tended = partitions.tend()
    await until('the archive waits', async () => {
      const { rows } = await pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE application_name = 'archiving' AND query LIKE 'DECLARE%' AND wait_event_type = 'Lock'`,
      )
      return rows.length > 0
    })
    await tended
    await own.end()
    await holder.query('ROLLBACK')
    holder.release()
    expect(errors).toHaveLength(1)
    expect(await files()).toEqual([])
    expect(await amounts()).toHaveLength(5_002)

    expect(await tend({ ledgerRetentionMonths: 2, archiveDir })).toEqual([])
    expect(await read('xp_ledger_first')).toHaveLength(5_001)
    expect(await amounts()).toEqual([KEPT])
  })

  it('is written by one instance at a time, and no instance drops what another one is writing', async () => {
    await fill()
    const archiving = new pg.Client({ connectionString: database.url })
    await archiving.connect()
    await archiving.query("SELECT pg_advisory_lock(hashtextextended('archive of xp_ledger', 0))")
    expect(await tend({ ledgerRetentionMonths: 2, archiveDir })).toEqual([])
    expect(await amounts()).toHaveLength(5_002)
    await archiving.end()
    await until('the lock is free', async () => {
      await tend({ ledgerRetentionMonths: 2, archiveDir })
      return (await amounts()).length === 1
    })
  })

  it('stands beside those of other databases in the same folder, and leaves nothing of a killed instance there', async () => {
    await fill()
    // The role of a service has no special rights.
    await pool.query(`CREATE ROLE ${ROLE}; GRANT USAGE ON SCHEMA public TO ${ROLE}`)
    const asRole = await pool.connect()
    await asRole.query(`SET ROLE ${ROLE}`)
    expect((await asRole.query('SELECT FROM pg_control_system()')).rowCount).toBe(1)
    asRole.release(true)
    await pool.query(`DROP OWNED BY ${ROLE}; DROP ROLE ${ROLE}`)

    expect(await tend({ ledgerRetentionMonths: 2, archiveDir })).toEqual([])
    const [mine = ''] = await files()
    const other = 'xp_ledger_first.0123abcd.ndjson.gz'
    const killed = `${mine}.5f4d.partial`
    await writeFile(join(archiveDir, 'xp_ledger', killed), 'half')
    await writeFile(join(archiveDir, 'xp_ledger', `${other}.77.partial`), 'of another service, which writes it')
    await writeFile(join(archiveDir, 'xp_ledger', other), 'complete')
    // The same partition again, as after a crash between the archive and the drop.
    const first = `FROM (MINVALUE) TO ('${firstIdAt(later(new Date(), -200).getTime())}')`
    await pool.query(`CREATE TABLE xp_ledger_first PARTITION OF xp_ledger FOR VALUES ${first}`).catch(() => undefined)
    await grant(idAt(later(new Date(), -205)), 5)
    expect(await tend({ ledgerRetentionMonths: 2, archiveDir })).toEqual([])
    expect((await files()).sort()).toEqual([mine, other, `${other}.77.partial`].sort())
    expect(await read(mine)).toHaveLength(1)
    expect(await readFile(join(archiveDir, 'xp_ledger', other), 'utf8')).toBe('complete')
  })
})
