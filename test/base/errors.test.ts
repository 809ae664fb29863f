import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { REFUSALS, Refusal, type RefusalKind } from '../../src/base/errors.ts'

// Compares the errors that the pages name with those of the service.

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const docs = readdirSync(new URL('../../docs', import.meta.url))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const pages = ['README.md', ...docs]

const refusals = Object.keys(REFUSALS).map((kind) => new Refusal(kind as RefusalKind))
const codes = refusals.map(({ code }) => code)

const found = (path: string, pattern: RegExp) => [...read(path).matchAll(pattern)].map(([, word = '']) => word)
/** Codes that no REST answer has, read from the sources that define them. */
const others = [
  ...found('src/client/error.ts', /^ {2}\| '([a-z_]+)'$/gm),
  ...found('src/sdk/token-verifier.ts', /^ {2}\| '([a-z_]+)'$/gm),
  ...found('src/serve/live/socket.ts', /code: '([A-Z_]+)'/g).map((code) => code.toLowerCase()),
]
/** Words that look like a code but are not one. */
const words = [
  ...found('.env.example', /^#([A-Z_]+)=/gm),
  // The values of enums, such as the reasons why an attempt of a webhook failed.
  ...found('schema.graphql', /^ {2}([A-Z]+(?:_[A-Z]+)+)$/gm),
  // A target of the audit log, and the first message of a WebSocket.
  ...['audit_log', 'connection_init'],
  // A rate limit, and connection limits.
  ...['sdk_key', 'caller_sockets', 'caller_subscriptions'],
  // A parameter of other clients of Postgres, a metric of every process, and a variable of Node.
  ...['connection_limit', 'process_max_fds', 'NODE_EXTRA_CA_CERTS'],
  // An extension of Postgres, its settings, views, functions and columns, tables, and a setting of Docker.
  ...['pg_trgm', 'max_connections', 'archive_mode', 'pg_stat_activity', 'pg_locks', 'xact_start', 'insight_changes'],
  ...['stop_grace_period', 'default_transaction_read_only', 'pg_blocking_pids', 'pg_terminate_backend'],
  ...['unnumbered_events', 'grant_job_players', 'player_list_rows'],
  ...['hot_standby', 'max_standby_streaming_delay', 'pg_stat_replication', 'replay_lag'],
  ...['synchronous_mode', 'synchronous_mode_strict', 'xp_ledger', 'xp_ledger_default', 'xp_ledger_first'],
  ...['wallet_ledger', 'login_log', 'created_at', 'occurred_at'],
  // Background tasks, as labels of metrics.
  ...['ended_logins', 'rate_limits', 'grant_jobs'],
  // What became of a call with too much xp, and why the primary served a read, as labels of metrics.
  ...['not_allowed', 'own_change'],
  // A kind of message in an inbox.
  'season_end',
  // A reason that a studio gives.
  'maintenance',
  // The variables of the example receiver.
  ...found('examples/receiver.mjs', /([A-Z]+_[A-Z_]+)/g),
]
const known = new Set([...codes, ...others].flatMap((code) => [code, code.toUpperCase()]).concat(words))

/** A code of several words; not a metric, an OpenTelemetry variable, a function or an action (`player.ban_denied`). */
const CODE = /(?<![\w.:/-])(?!tierway_|OTEL_)(?:[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+)(?![\w.(=:/-])/g

/** The codes on a page: those marked as code, those in upper case anywhere, and those in the answers that it shows. */
function namedOn(page: string): string[] {
  const text = read(page)
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const marked = [...prose.matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) => span.match(CODE) ?? [])
  const upper = (prose.match(CODE) ?? []).filter((word) => word === word.toUpperCase())
  const shown = [...text.matchAll(/"code": ?"(\w+)"/g)].map(([, code = '']) => code)
  return [...marked, ...upper, ...shown]
}

describe('the error codes on the pages', () => {
  test.each(pages)('%s names only codes that exist', (page) => {
    expect(namedOn(page).filter((code) => !known.has(code))).toEqual([])
  })

  test.each(pages)('%s pairs error texts only with their own status', (page) => {
    const pairs = new Set(refusals.map(({ status, message }) => `${status} ${message}`))
    const named = [...read(page).matchAll(/\b([45]\d\d) `([a-z][a-z -]+)`/g)].map(
      ([, status, text]) => `${status} ${text}`,
    )
    expect(named.filter((pair) => !pairs.has(pair))).toEqual([])
  })

  test('docs/ names every code', () => {
    const named = new Set(docs.flatMap(namedOn).map((code) => code.toLowerCase()))
    // A code of one word differs from other words only by its marks.
    for (const page of docs) for (const [, word = ''] of read(page).matchAll(/`(\w+)`/g)) named.add(word.toLowerCase())
    expect(codes.filter((code) => !named.has(code))).toEqual([])
  })

  test('docs/errors.md lists every code with its status, and no other code', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(([, status, code]) => [
      status,
      code,
    ])
    expect(rows).toEqual(refusals.map(({ status, code }) => [String(status), code]))
  })

  test('are found by the pattern, also when the code does not exist', () => {
    expect('the code `season_over`, or SEASON_OVER'.match(CODE)).toEqual(['season_over', 'SEASON_OVER'])
    expect(known.has('season_over')).toBe(false)
    expect(namedOn('docs/graphql.md')).toEqual(expect.arrayContaining(['INVALID_REQUEST', 'CURSOR_EXPIRED']))
    expect(namedOn('docs/errors.md').length).toBeGreaterThanOrEqual(codes.filter((code) => code.includes('_')).length)
  })
})

test('the error codes of the Unity client exist', () => {
  const [, ofService = ''] = read('sdk/unity/Runtime/TierwayException.cs').split('// Of the service.')
  const named = [...ofService.matchAll(/const string \w+ = "(\w+)"/g)].map(([, code = '']) => code)
  expect(named.length).toBeGreaterThan(25)
  expect(named.filter((code) => !codes.includes(code))).toEqual([])
})
