import { createServer } from 'node:net'
import pg, { type Pool } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { causeOf, Refusal } from '../../src/base/errors.ts'
import { createPool } from '../../src/db/pool.ts'
import { settleAll } from '../../src/players/batch.ts'
import type { Command } from '../../src/transactions/command.ts'
import type { Extension, Group } from '../../src/transactions/group.ts'
import { createGroupCommit, type GroupCommit, type GroupCommitOptions } from '../../src/transactions/group-commit.ts'
import type { Row, Statement } from '../../src/transactions/statement.ts'
import { createDatabase, type TestDatabase } from '../harness/database.ts'
import { times } from '../harness/game.ts'
import { type PostgresProxy, startProxy } from '../harness/proxy.ts'
import { startStopwatch } from '../harness/stopwatch.ts'
import { until } from '../harness/until.ts'

let database: TestDatabase
let proxy: PostgresProxy
/** Another client of the same database, past the proxy. */
let observer: pg.Client
const opened: { engine: GroupCommit; pool: Pool }[] = []

beforeAll(async () => {
  database = await createDatabase()
  proxy = await startProxy(database.url)
  observer = new pg.Client({ connectionString: database.url })
  await observer.connect()
  await observer.query('CREATE TABLE counters (name text PRIMARY KEY, value int NOT NULL CHECK (value < 1000))')
  await observer.query('CREATE TABLE attempts (name text)')
})
beforeEach(() => observer.query('TRUNCATE counters, attempts'))
afterEach(async () => {
  proxy.resume()
  proxy.restore()
  for (const { engine, pool } of opened.splice(0)) {
    await engine.close()
    await pool.end()
  }
})
afterAll(async () => {
  await observer.end()
  await proxy.close()
  await database.drop()
})

/** Named numbers: a minimal extension that loads under a lock, decides and saves. */
class Counters implements Extension {
  static readonly stage = 'locks'
  readonly values = new Map<string, number>()
  private readonly group: Group
  private readonly changed = new Set<string>()
  private wanted: string[] = []
  private unsendable = false

  constructor(group: Group) {
    this.group = group
  }

  want(name: string): void {
    if (this.values.has(name)) return
    this.group.misses = true
    if (!this.wanted.includes(name)) this.wanted.push(name)
  }

  add(name: string, amount: number): number {
    this.group.note()
    const value = (this.values.get(name) ?? 0) + amount
    this.values.set(name, value)
    this.changed.add(name)
    return value
  }

  spoil(): void {
    this.unsendable = true
  }

  load(): Statement[] {
    if (this.wanted.length === 0) return []
    const names = this.wanted.splice(0)
    for (const name of names) this.values.set(name, 0)
    return [
      {
        name: 'counters-load',
        text: 'SELECT name, value FROM counters WHERE name = ANY($1::text[]) ORDER BY name FOR UPDATE',
        values: [names],
        take: (rows: Row[]) => {
          for (const [name, value] of rows) this.values.set(name, value)
        },
      },
    ]
  }

  save(): Statement[] {
    if (this.changed.size === 0) return []
    const names = [...this.changed]
    const save = {
      name: 'counters-save',
      text: `INSERT INTO counters SELECT * FROM unnest($1::text[], $2::int[])
        ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      values: [names, names.map((name) => this.values.get(name))],
    }
    if (!this.unsendable) return [save]
    // JSON.stringify throws on circular values.
    const circular: { self?: unknown } = {}
    circular.self = circular
    return [save, { text: 'SELECT $1::json', values: [circular] }]
  }
}

const add = (name: string, amount = 1, ...others: string[]): Command<number> => ({
  *decide(group) {
    yield* group.rows(() => {
      for (const wanted of [name, ...others]) group.of(Counters).want(wanted)
    })
    return group.of(Counters).add(name, amount)
  },
})

/** Changes a row, then runs the given function. */
const addThen = (name: string, then: (group: Group) => void): Command<number> => ({
  *decide(group) {
    yield* group.rows(() => group.of(Counters).want(name))
    const value = group.of(Counters).add(name, 1)
    then(group)
    return value
  },
})

function start(options: Partial<GroupCommitOptions> & { url?: string } = {}): GroupCommit {
  const pool = createPool({ url: options.url ?? proxy.url, connections: 4, onError: () => undefined })
  const engine = createGroupCommit({ pool, ...options })
  opened.push({ engine, pool })
  return engine
}

/** Holds the only connection until it is released, so that all commands in between form one group. */
async function gather(engine: GroupCommit) {
  await observer.query(`INSERT INTO counters VALUES ('gate', 0) ON CONFLICT DO NOTHING`)
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  await holder.query(`BEGIN; SELECT FROM counters WHERE name = 'gate' FOR UPDATE`)
  const first = engine.run(add('gate', 0)).catch((error) => expect(error).toMatchObject(unavailable))
  await until('the first group waits for the gate', async () => {
    const { rows } = await observer.query(
      `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    )
    return rows.length > 0
  })
  return async () => {
    await holder.query('COMMIT')
    await holder.end()
    await first
  }
}

async function counters(): Promise<Record<string, number>> {
  const { rows } = await observer.query(`SELECT name, value FROM counters WHERE name <> 'gate' ORDER BY name`)
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
}

const unavailable = { name: 'Refusal', kind: 'unavailable' }
const reasonOf = (result: PromiseSettledResult<unknown> | undefined) =>
  result?.status === 'rejected' ? result.reason : undefined

describe('the size of a group', () => {
  it('is bounded by the bytes of its commands, and a larger command has a group to itself', async () => {
    const sizes: number[] = []
    const engine = start({ connections: 1, observe: ({ size }) => sizes.push(size) })
    const release = await gather(engine)
    const heavy = (bytes: number) => engine.run({ ...add('heavy'), bytes })
    const outcomes = [heavy(3e6), heavy(3e6), heavy(3e6), heavy(50e6), heavy(1), heavy(1)]
    await release()
    expect((await Promise.all(outcomes)).at(-1)).toBe(6)
    await engine.close()
    expect(sizes).toEqual([1, 2, 1, 1, 2])
  })
})

describe('a group of commands (one bad command never fails its neighbours)', () => {
  const poisons: [string, Command<number>, Record<string, unknown>][] = [
    ['whose statement fails', add('poison', 5000), { code: '23514' }],
    ['whose text Postgres refuses', add('nul \0'), { code: '22021' }],
    [
      'whose decision throws after a change',
      addThen('poison', () => {
        throw new TypeError('a bug')
      }),
      { name: 'TypeError', message: 'a bug' },
    ],
    [
      'whose decision throws at once',
      {
        decide: () => {
          throw new TypeError('a bug')
        },
      },
      { name: 'TypeError', message: 'a bug' },
    ],
    [
      'that is refused after a change',
      addThen('poison', () => {
        throw new Refusal('seasonClosed')
      }),
      { message: 'a command was refused after it had changed rows' },
    ],
    [
      'that changes a row before it has all that it asked for',
      {
        *decide(group) {
          yield* group.rows(() => {
            group.of(Counters).want('poison')
            group.of(Counters).add('other', 1)
          })
          return 1
        },
      },
      { message: 'a command changed rows before it had all that it asked for' },
    ],
    [
      'that decides while the group waits',
      {
        // biome-ignore lint/correctness/useYield: that is its bug.
        *decide(group) {
          group.of(Counters).want('poison')
          return 1
        },
      },
      { message: 'a command must yield while its group waits for rows, and only then' },
    ],
    [
      'that yields without having asked',
      {
        *decide() {
          for (;;) yield
        },
      },
      { message: 'a command must yield while its group waits for rows, and only then' },
    ],
    [
      'that is refused while the group waits',
      {
        // biome-ignore lint/correctness/useYield: that is its bug.
        *decide(group) {
          group.of(Counters).want('poison')
          throw new Refusal('seasonClosed')
        },
      },
      { message: 'a command was refused on rows that the group does not hold yet' },
    ],
    [
      'whose values cannot be sent',
      addThen('poison', (group) => group.of(Counters).spoil()),
      { name: 'TypeError', message: expect.stringMatching(/circular/i) },
    ],
  ]

  for (const [kind, poison, error] of poisons) {
    it(`gives a command ${kind} its own error and commits the rest`, async () => {
      const engine = start({ connections: 1 })
      const open = await gather(engine)
      const group = [add('a'), add('b'), poison, add('b'), add('c')].map((command) => engine.run(command))
      const settled = Promise.allSettled(group)
      await open()
      const results = await settled
      expect(reasonOf(results[2])).toMatchObject(error)
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
      expect(await counters()).toEqual({ a: 1, b: 2, c: 1 })
    })
  }

  it('refuses one command and commits the rest in the same transaction', async () => {
    const sizes: number[] = []
    const engine = start({ connections: 1, observe: ({ size }) => sizes.push(size) })
    const open = await gather(engine)
    const refused: Command<number> = {
      *decide(group) {
        yield* group.rows(() => group.of(Counters).want('a'))
        throw new Refusal('seasonClosed')
      },
    }
    const settled = Promise.allSettled([engine.run(add('a')), engine.run(refused), engine.run(add('b'))])
    await open()
    const results = await settled
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(reasonOf(results[1])).toMatchObject({ kind: 'seasonClosed' })
    expect(await counters()).toEqual({ a: 1, b: 1 })
    await until('the second group is told of', () => sizes.length === 2)
    expect(sizes).toEqual([1, 3])
  })

  it('decides several commands on one row in their order', async () => {
    const engine = start({ connections: 1 })
    expect(await Promise.all(times(50, () => engine.run(add('row'))))).toEqual(times(50, (index) => index + 1))
    expect(await counters()).toEqual({ row: 50 })
  })

  it('answers every command when the connection breaks while they run one by one', async () => {
    const engine = start({ connections: 1 })
    const open = await gather(engine)
    let broken = false
    const breaker: Command<number> = {
      *decide(group) {
        yield* group.rows(() => group.of(Counters).want('breaker'))
        // The first run alone: the group has failed because of the poison.
        if (!broken && group.of(Counters).values.size === 1) {
          broken = true
          proxy.cut()
        }
        return group.of(Counters).add('breaker', 1)
      },
    }
    const settled = Promise.allSettled([breaker, add('poison', 5000), add('a'), add('b')].map((c) => engine.run(c)))
    await open()
    const results = await settled
    expect(broken).toBe(true)
    expect(results.slice(2).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled'])
    expect(reasonOf(results[1])).toMatchObject({ code: '23514' })
    // The COMMIT of the breaker may have arrived or not: it takes effect at most once.
    const { breaker: value = 0, ...others } = await counters()
    expect(others).toEqual({ a: 1, b: 1 })
    expect(value).toBeLessThanOrEqual(1)
  })

  it('never repeats committed commands when an exception follows COMMIT', async () => {
    let calls = 0
    const engine = start({
      connections: 1,
      committed: () => {
        calls += 1
        if (calls === 1) throw new Error('a bug after COMMIT')
      },
    })
    const results = await Promise.allSettled([engine.run(add('a')), engine.run(add('b'))])
    for (const result of results) expect(reasonOf(result)).toMatchObject({ message: 'a bug after COMMIT' })
    expect(await engine.run(add('a'))).toBe(2)
    expect(await counters()).toEqual({ a: 2, b: 1 })
  })
})

describe('group commit with conflicting transactions (deadlock and serialization errors are retried whole)', () => {
  for (const code of ['40001', '40P01']) {
    it(`retries a group that ends with ${code} until it commits, once`, async () => {
      await observer.query(`
        CREATE SEQUENCE tries;
        CREATE FUNCTION fail_thrice() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('tries') <= 3 THEN RAISE EXCEPTION 'try again' USING errcode = '${code}'; END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER fail_thrice BEFORE INSERT ON counters FOR EACH STATEMENT EXECUTE FUNCTION fail_thrice()`)
      try {
        const engine = start({ connections: 1 })
        expect(await Promise.all([engine.run(add('a')), engine.run(add('b'))])).toEqual([1, 1])
        expect(await counters()).toEqual({ a: 1, b: 1 })
        const { rows } = await observer.query('SELECT last_value::int AS tries FROM tries')
        expect(rows[0].tries).toBeGreaterThan(3)
      } finally {
        await observer.query('DROP TRIGGER fail_thrice ON counters; DROP FUNCTION fail_thrice; DROP SEQUENCE tries')
      }
    })
  }

  it('survives a real deadlock with another client', async () => {
    await observer.query(`INSERT INTO counters VALUES ('a', 0), ('b', 0)`)
    const engine = start({ connections: 1 })
    const rival = new pg.Client({ connectionString: database.url })
    await rival.connect()
    try {
      await rival.query(`SET deadlock_timeout = '30s'; BEGIN; UPDATE counters SET value = value + 10 WHERE name = 'b'`)
      const sum = engine.run(add('a', 1, 'b'))
      await until('the group waits for the rival', async () => {
        const { rows } = await observer.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
        return rows.length > 0
      })
      // Locks b, wants a; the group holds a and wants b. Postgres ends the group's transaction.
      await rival.query(`UPDATE counters SET value = value + 10 WHERE name = 'a'; COMMIT`)
      expect(await sum).toBe(11)
      expect(await counters()).toEqual({ a: 11, b: 10 })
    } finally {
      await rival.end()
    }
  })

  it('answers unavailable when the conflict does not end', async () => {
    await observer.query(`
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'try again' USING errcode = '40001'; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON counters FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
    try {
      await expect(start().run(add('a'))).rejects.toMatchObject(unavailable)
    } finally {
      await observer.query('DROP TRIGGER fail ON counters; DROP FUNCTION fail')
    }
    expect(await counters()).toEqual({})
  })
})

describe('group commit and its answers (contract 7: an answer tells what is committed)', () => {
  it('answers only when another session sees the row', async () => {
    const engine = start()
    for (const name of times(30, (index) => `row ${index}`)) {
      await engine.run(add(name))
      expect(await counters()).toHaveProperty([name], 1)
    }
  })

  it('makes one transaction for each maxBatch commands when more wait', async () => {
    const sizes: number[] = []
    const engine = start({ connections: 1, maxBatch: 16, observe: ({ size }) => sizes.push(size) })
    const open = await gather(engine)
    const sums = Promise.all(times(100, () => engine.run(add('row'))))
    await open()
    expect(await sums).toEqual(times(100, (index) => index + 1))
    await until('the last group is told of', () => sizes.length === 8)
    expect(sizes).toEqual([1, 16, 16, 16, 16, 16, 16, 4])
  })

  it('answers unavailable when the answer to COMMIT is lost, and commits only once', async () => {
    const engine = start({ connections: 1 })
    for (const round of times(10, (index) => index + 1)) {
      proxy.swallowCommits(1)
      const before = proxy.swallowed
      const results = await Promise.allSettled([engine.run(add('a')), engine.run(add('b'))])
      expect(proxy.swallowed).toBe(before + 1)
      expect(results.some(({ status }) => status === 'rejected')).toBe(true)
      for (const result of results) if (result.status === 'rejected') expect(result.reason).toMatchObject(unavailable)
      await until('both are committed', async () => Object.values(await counters()).join() === `${round},${round}`)
    }
    expect(await engine.run(add('a'))).toBe(11)
  })

  it('repeats commands silently when the connection breaks before COMMIT is sent', async () => {
    const engine = start({ connections: 1 })
    const open = await gather(engine)
    const sums = Promise.all([engine.run(add('a')), engine.run(add('b')), engine.run(add('a'))])
    proxy.cut()
    await open()
    expect((await sums).sort()).toEqual([1, 1, 2])
    expect(await counters()).toEqual({ a: 2, b: 1 })
  })

  it('repeats commands silently when the process was paused until the server ended their idle transaction', async () => {
    const idleMs = 100
    let decisions = 0
    let isPausing = false
    const pool = createPool({ url: database.url, connections: 1, onError: () => undefined })
    // A session's statements wait for those before them: it must be ready when the group begins.
    await pool.query(`SET idle_in_transaction_session_timeout = ${idleMs}`)
    const engine = createGroupCommit({ pool })
    opened.push({ engine, pool })
    const command = add('a')
    const paused = {
      *decide(group: Group) {
        decisions += 1
        // Blocks the process once the statement that reads has been sent. Its answer and the end of the session arrive
        // together.
        if (isPausing) setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10 * idleMs))
        isPausing = false
        return yield* command.decide(group)
      },
    }
    // On a busy machine the answer may come before the pause: then nothing is repeated, and there is another round.
    let rounds = 0
    while (decisions === rounds) {
      rounds += 1
      isPausing = true
      expect(await engine.run(paused)).toBe(rounds)
      expect(await counters()).toEqual({ a: rounds })
    }
    expect(decisions).toBe(rounds + 1)
  })
})

describe('group commit with a busy or unreachable database (unavailable within the deadline, never a hang)', () => {
  it('refuses a command at once when the queue is full', async () => {
    const engine = start({ connections: 1, maxQueue: 3 })
    const open = await gather(engine)
    const waiting = times(3, () => engine.run(add('a')))
    expect(engine.queued).toBe(3)
    const refused = await engine.run(add('a')).catch((error) => error)
    expect([refused, causeOf(refused), refused.details]).toMatchObject([
      unavailable,
      'too many calls wait for Postgres',
      [{ path: '', message: 'nothing was done: too many calls wait for Postgres' }],
    ])
    // A call of several commands cannot say so: the others take effect.
    const together = settleAll([...waiting, engine.run(add('a'))]).catch((error) => error)
    await open()
    const part = await together
    expect([part, causeOf(part), part.details]).toMatchObject([
      unavailable,
      'too many calls wait for Postgres',
      undefined,
    ])
    expect(await Promise.all(waiting)).toEqual([1, 2, 3])
    expect(await engine.run(add('a'))).toBe(4)
  })

  it('refuses a command at once when queued ones have waited for four fifths of their deadline, and answers those', async () => {
    const pool = createPool({ url: database.url, connections: 1, onError: () => undefined })
    const engine = createGroupCommit({ pool, connections: 1, maxBatch: 2, deadlineMs: 4_000 })
    opened.push({ engine, pool })
    await observer.query(`INSERT INTO counters VALUES ('gate', 0)`)
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query(`BEGIN; SELECT FROM counters WHERE name = 'gate' FOR UPDATE`)
    const used = await pool.connect()
    const started = performance.now()
    // A long queue alone is no reason to refuse.
    const waiting = Promise.allSettled(
      [add('gate', 0), ...times(4, () => add('a'))].map((command) => engine.run(command)),
    )
    try {
      await until('they have waited', () => performance.now() - started > 3_250)
      used.release()
      await until('the first group waits for the gate', async () => {
        const { rows } = await observer.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
        return rows.length > 0
      })
      expect(engine.queued).toBe(3)
      await expect(engine.run(add('b'))).rejects.toMatchObject(unavailable)
      expect(engine.queued).toBe(3)
    } finally {
      await holder.query('COMMIT')
      await holder.end()
    }
    expect((await waiting).map((result) => ('value' in result ? result.value : result.reason))).toEqual([0, 1, 2, 3, 4])
    expect(await engine.run(add('b'))).toBe(1)
  })

  it('refuses nothing when the clock of the machine jumps ahead', async () => {
    const engine = start({ connections: 1 })
    const open = await gather(engine)
    const waiting = times(3, () => engine.run(add('a')))
    const now = Date.now
    Date.now = () => now() + 3_600_000
    try {
      const elapsed = startStopwatch()
      await until('the engine has looked at its deadlines', () => elapsed() > 500)
    } finally {
      Date.now = now
    }
    await open()
    expect(await Promise.all(waiting)).toEqual([1, 2, 3])
  })

  it('answers unavailable when no server listens', async () => {
    const engine = start({ url: `postgres://nobody@127.0.0.1:${await closedPort()}/none`, deadlineMs: 300 })
    const results = await Promise.allSettled(times(20, () => engine.run(add('a'))))
    for (const result of results) {
      const refused = reasonOf(result)
      expect(refused).toMatchObject({
        ...unavailable,
        details: [{ message: expect.stringMatching(/^nothing was done: /) }],
      })
      // The log has the cause, and the answer has none of it.
      expect(causeOf(refused)).toContain('ECONNREFUSED')
      expect(JSON.stringify(refused.details)).not.toContain('ECONNREFUSED')
    }
    expect(engine.queued).toBe(0)
  })

  it('answers unavailable by the deadline while the server is frozen, and works again when it is back', async () => {
    const engine = start({ deadlineMs: 2_000 })
    expect(await engine.run(add('a'))).toBe(1)
    proxy.pause()
    const results = await Promise.allSettled(times(20, () => engine.run(add('b'))))
    for (const result of results) {
      expect(reasonOf(result)).toMatchObject(unavailable)
      expect(causeOf(reasonOf(result))).toMatch(/^Postgres took too long|^Connection terminated|ECONNRESET/)
    }
    proxy.resume()
    expect(await eventually(engine, add('a'))).toBe(2)
    // The server froze before the group was loaded, so nothing is written, also not later.
    expect(await counters()).toEqual({ a: 2 })
  })

  it('keeps every acknowledged command when the server is unreachable several times', async () => {
    const engine = start({ deadlineMs: 1_000 })
    let acknowledged = 0
    let unknown = 0
    let running = true
    const load = Promise.all(
      times(20, async () => {
        while (running) {
          await engine.run(add('a', 1)).then(
            () => {
              acknowledged += 1
            },
            (error) => {
              expect(error).toMatchObject(unavailable)
              unknown += 1
            },
          )
          // The row must stay below 1,000.
          if (acknowledged + unknown > 800) running = false
        }
      }),
    )
    for (const goal of [50, 150, 250]) {
      await until('the load has gone on', async () => acknowledged >= goal || !running)
      proxy.cut({ refuse: true })
      await until('new connections are refused', async () => {
        const probe = new pg.Client({ connectionString: proxy.url })
        return probe.connect().then(
          () => probe.end().then(() => false),
          () => true,
        )
      })
      proxy.restore()
    }
    await until('the load has gone on', async () => acknowledged >= 350 || !running)
    running = false
    await load
    const { a = 0 } = await counters()
    expect(a).toBeGreaterThanOrEqual(acknowledged)
    expect(a).toBeLessThanOrEqual(acknowledged + unknown)
  })

  it('gives its connection to another query while commands are queued', async () => {
    const pool = createPool({ url: database.url, connections: 1, onError: () => undefined })
    const engine = createGroupCommit({ pool, connections: 1, maxBatch: 4 })
    opened.push({ engine, pool })
    let done = false
    const load = times(20, async () => {
      while (!done) await engine.run(add('a', 0))
    })
    await until('there is much to commit', () => engine.queued > 10)
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    done = true
    await Promise.all(load)
  })

  it('answers unavailable when groups are put back until the deadline', async () => {
    const engine = start({ connections: 2, deadlineMs: 2_000 })
    const open = await gather(engine)
    const results = Promise.allSettled(times(10, () => engine.run(add('a'))))
    proxy.cut({ refuse: true })
    for (const result of await results) expect(reasonOf(result)).toMatchObject(unavailable)
    proxy.restore()
    await open()
    expect(await eventually(engine, add('a'))).toBe(1)
  })

  it('keeps the process alive when a connection in use breaks', async () => {
    const pool = createPool({ url: proxy.url, connections: 1, onError: () => undefined })
    const client = await pool.connect()
    proxy.cut()
    await until('the connection is known to be broken', () =>
      client.query('SELECT 1').then(
        () => false,
        () => true,
      ),
    )
    client.release(true)
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })
})

describe('closing group commit', () => {
  it('answers waiting commands before it ends, and refuses later ones', async () => {
    const engine = start({ connections: 1 })
    const open = await gather(engine)
    const sums = Promise.all(times(20, () => engine.run(add('a'))))
    let closed = false
    const closing = engine.close().then(() => {
      closed = true
    })
    await expect(engine.run(add('a'))).rejects.toMatchObject(unavailable)
    expect(closed).toBe(false)
    await open()
    expect(await sums).toEqual(times(20, (index) => index + 1))
    await closing
    expect(await counters()).toEqual({ a: 20 })
  })

  it('ends when the database is unreachable', async () => {
    const engine = start({ url: `postgres://nobody@127.0.0.1:${await closedPort()}/none`, deadlineMs: 200 })
    const refused = expect(engine.run(add('a'))).rejects.toMatchObject(unavailable)
    await engine.close()
    await refused
  })
})

/** Reads counters, each in a statement of its own. The first read is followed by a wait for an advisory lock. */
class Readings implements Extension {
  static readonly stage = 'locks'
  readonly values = new Map<string, number>()
  private readonly group: Group
  private isFirst = true
  private wanted: string[] = []

  constructor(group: Group) {
    this.group = group
  }

  want(name: string): void {
    if (this.values.has(name)) return
    this.group.misses = true
    this.wanted.push(name)
  }

  load(): Statement[] {
    const reads = this.wanted.splice(0).map(
      (name): Statement => ({
        text: 'SELECT value FROM counters WHERE name = $1',
        values: [name],
        take: ([row]: Row[]) => void this.values.set(name, row?.[0]),
      }),
    )
    if (!this.isFirst || reads.length === 0) return reads
    this.isFirst = false
    return [...reads, { text: `SELECT pg_advisory_xact_lock_shared(${READERS_WAIT})` }]
  }
}

const READERS_WAIT = 4711

describe('reads', () => {
  it('see one snapshot in a group of several commands and statements', async () => {
    await observer.query(`INSERT INTO counters VALUES ('a', 1), ('b', 1), ('c', 1)`)
    const sizes: number[] = []
    const engine = start({ connections: 1, readOnly: true, observe: ({ size }) => sizes.push(size) })
    /** Reads one counter after another. */
    const read = (...names: string[]): Command<(number | undefined)[]> => ({
      *decide(group) {
        const readings = group.of(Readings)
        for (const name of names) yield* group.rows(() => readings.want(name))
        return names.map((name) => readings.values.get(name))
      },
    })
    await observer.query(`SELECT pg_advisory_lock(${READERS_WAIT})`)
    const values = Promise.all([engine.run(read('a', 'b')), engine.run(read('c'))])
    try {
      await until('the group has read the first counter', async () => {
        const { rows } = await observer.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
        )
        return rows.length > 0
      })
      await observer.query('UPDATE counters SET value = 2')
    } finally {
      await observer.query(`SELECT pg_advisory_unlock(${READERS_WAIT})`)
    }
    expect(await values).toEqual([[1, 1], [1]])
    await until('the group is told of', () => sizes.length === 1)
    expect(sizes).toEqual([2])
    // The next group reads the new values.
    expect(await engine.run(read('a', 'b', 'c'))).toEqual([2, 2, 2])
  })

  it('refuse locks and write nothing', async () => {
    await observer.query(`INSERT INTO counters VALUES ('a', 7)`)
    const engine = start({ readOnly: true })
    await expect(engine.run(add('a'))).rejects.toMatchObject({ cause: { code: '25006' } })
    expect(await counters()).toEqual({ a: 7 })
  })
})

describe('locks of players', () => {
  const [environmentId, first, second] = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`) as [
    string,
    string,
    string,
  ]

  beforeAll(async () => {
    await observer.query(`INSERT INTO projects (id, name) VALUES ($1, 'locks')`, [environmentId])
    await observer.query(`INSERT INTO environments (id, project_id, name) VALUES ($1, $1, 'production')`, [
      environmentId,
    ])
    await observer.query('INSERT INTO players (environment_id, id) SELECT $1, unnest($2::uuid[])', [
      environmentId,
      [first, second],
    ])
  })

  /** Asks for players one after another. */
  const visit = (...playerIds: string[]): Command<number> => ({
    *decide(group) {
      for (const playerId of playerIds) yield* group.rows(() => group.player({ environmentId, playerId }))
      return playerIds.length
    },
  })

  /** Locks a player as another instance does, until the returned function is called. */
  async function holdPlayer(playerId: string): Promise<() => Promise<void>> {
    const holder = new pg.Client({ connectionString: database.url })
    await holder.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM player_versions WHERE player_id = $1 FOR UPDATE NOWAIT', [playerId])
    return async () => {
      await holder.query('COMMIT')
      await holder.end()
    }
  }

  it('are taken in one order: a group that waits for a player holds no later one', async () => {
    const engine = start({ connections: 1 })
    const release = await holdPlayer(first)
    const visited = engine.run(visit(second, first))
    await until('the command waits', async () => {
      const { rows } = await observer.query(
        `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      )
      return rows.length > 0
    })
    // With both locked here, the group would wait for this session and this session for the group.
    await (await holdPlayer(second))()
    await release()
    expect(await visited).toBe(2)
  })

  it('are asked for together by all commands of a group, also those that others lead to', async () => {
    await observer.query('TRUNCATE attempts')
    await observer.query(`INSERT INTO counters VALUES ('lead', 0)`)
    const engine = start({ connections: 1 })
    const open = await gather(engine)
    const rounds: number[] = []
    const led = (playerId: string): Command<string> => ({
      *decide(group) {
        const player = yield* group.rowsFrom(
          () => group.of(Counters).want('lead'),
          () => group.player({ environmentId, playerId }),
        )
        rounds.push([...group.held()].length)
        return player.playerId
      },
    })
    const all = Promise.all([engine.run(led(second)), engine.run(led(first)), engine.run(led(second))])
    await open()
    expect(await all).toEqual([second, first, second])
    // Each command was decided once, when both players were held.
    expect(rounds).toEqual([2, 2, 2])
  })
})

/** Repeats a command while it is `unavailable`, and returns the first value. */
async function eventually(engine: GroupCommit, command: Command<number>): Promise<number> {
  let value: number | undefined
  await until('the engine works again', async () => {
    value = await engine.run(command).catch((error) => {
      expect(error).toMatchObject(unavailable)
      return undefined
    })
    return value !== undefined
  })
  return value as number
}

function closedPort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
