import { Writable } from 'node:stream'
import { expect, it } from 'vitest'
import { Refusal } from '../../src/base/errors.ts'
import { createLog, type Logger, rateLimited, refusalWarnings } from '../../src/base/log.ts'
import { startGame, times } from '../harness/game.ts'
import { execute } from '../harness/sql.ts'
import { until } from '../harness/until.ts'

interface Line {
  readonly err: string
  readonly msg: string
}

function listen(): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  return { log: createLog('info', destination), lines }
}

it('a warning that repeats is logged once a minute for each cause', () => {
  const { log, lines } = listen()
  let now = 0
  const warn = rateLimited(log, () => now)
  const refused = new Error('connect ECONNREFUSED 127.0.0.1:6379')
  const password = new Error('WRONGPASS')
  for (now = 0; now < 59_000; now += 1_000) warn(refused, 'Redis cannot be used')
  warn(password, 'Redis cannot be used')
  warn(refused, 'the stream could not be read')
  expect(lines.map(({ err, msg }) => [err, msg])).toEqual([
    ['Error: connect ECONNREFUSED 127.0.0.1:6379', 'Redis cannot be used'],
    ['Error: WRONGPASS', 'Redis cannot be used'],
    ['Error: connect ECONNREFUSED 127.0.0.1:6379', 'the stream could not be read'],
  ])
  now = 60_000
  warn(refused, 'Redis cannot be used')
  warn(password, 'Redis cannot be used')
  expect(lines).toHaveLength(4)
})

it('warnings whose cause differs each time are logged ten times a minute at most', () => {
  const { log, lines } = listen()
  let now = 0
  const warn = rateLimited(log, () => now)
  for (const attempt of times(1_000, String)) warn(new Error(`attempt ${attempt}`), 'Redis cannot be used')
  expect(lines).toHaveLength(10)
  now = 60_000
  warn(new Error('attempt 1000'), 'Redis cannot be used')
  expect(lines).toHaveLength(11)
})

it('refused calls are logged once a minute for each cause, with the first call that met it', () => {
  const { log, lines } = listen()
  let now = 0
  const warn = refusalWarnings(log, () => now)
  const unavailable = (cause: string) => new Refusal('unavailable', { cause: new Error(cause) })
  for (const [index, requestId] of times(100, String).entries())
    warn(unavailable(index < 50 ? 'ECONNREFUSED' : 'timeout'), { path: '/sdk/v1/battlepass/xp', requestId })
  expect(lines).toEqual([
    expect.objectContaining({ msg: 'unavailable', cause: 'ECONNREFUSED', requestId: '0' }),
    expect.objectContaining({ msg: 'unavailable', cause: 'timeout', requestId: '50' }),
  ])
  now = 60_000
  warn(unavailable('timeout'), { path: '/graphql', requestId: 'later' })
  expect(lines).toHaveLength(3)
})

it('connections to Postgres that are lost together for one cause are logged in one line', async () => {
  const { log, lines } = listen()
  const game = await startGame({ DATABASE_CONNECTIONS: '20' }, log)
  try {
    const { pool } = game.app
    let lost = 0
    pool.on('error', () => {
      lost += 1
    })
    // Tasks of the service may hold some connections at this moment: only those that nobody uses count.
    await until('several connections are lost', async () => {
      const clients = await Promise.all(times(4, () => pool.connect()))
      for (const client of clients) client.release()
      await execute(
        game.databaseUrl,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      )
      return lost > 1
    })
    const causes = lines.filter(({ msg }) => msg === 'a database connection was lost').map(({ err }) => err)
    expect(causes.length).toBeGreaterThan(0)
    expect(causes).toEqual([...new Set(causes)])
  } finally {
    await game.stop()
  }
})
