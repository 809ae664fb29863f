import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { REFUSALS, Refusal, type RefusalKind } from '../src/errors.ts'

// What the pages promise of errors, beside what there is.

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')
const docs = readdirSync(new URL('../docs', import.meta.url))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
const pages = ['README.md', ...docs]

const refusals = Object.keys(REFUSALS).map((kind) => new Refusal(kind as RefusalKind))
const codes = refusals.map(({ code }) => code)

const found = (path: string, pattern: RegExp) => [...read(path).matchAll(pattern)].map(([, word = '']) => word)
/** Codes that are in no answer over REST, from the sources that make them. */
const others = [
  ...found('src/client/error.ts', /^ {2}\| '([a-z_]+)'$/gm),
  ...found('src/graphql/socket.ts', /code: '([A-Z_]+)'/g).map((code) => code.toLowerCase()),
]
/** What has the form of a code and is none. */
const words = [
  ...found('.env.example', /^#([A-Z_]+)=/gm),
  // The values of enums, such as why an attempt to ask a webhook failed.
  ...found('schema.graphql', /^ {2}([A-Z]+(?:_[A-Z]+)+)$/gm),
  // What the audit log has as a target, and the first message of a WebSocket.
  ...['audit_log', 'connection_init'],
  // A rate limit, and connection limits.
  ...['sdk_key', 'caller_sockets', 'caller_subscriptions'],
  // An extension of Postgres, its settings, views and columns, a table, and a setting of Docker.
  ...['pg_trgm', 'max_connections', 'archive_mode', 'pg_stat_activity', 'pg_locks', 'xact_start', 'insight_changes'],
  ...['stop_grace_period', 'default_transaction_read_only'],
  // Background tasks, as labels of metrics.
  ...['ended_logins', 'rate_limits'],
  // The variables of the example receiver.
  ...found('examples/receiver.mjs', /([A-Z]+_[A-Z_]+)/g),
]
const known = new Set([...codes, ...others].flatMap((code) => [code, code.toUpperCase()]).concat(words))

/** Several words; names of metrics, of OpenTelemetry's variables, of functions and of actions (`player.ban_denied`) are none. */
const CODE = /(?<![\w.:/-])(?!tierway_|OTEL_)(?:[a-z]+(?:_[a-z]+)+|[A-Z]+(?:_[A-Z]+)+)(?![\w.(=:/-])/g

/** All that a page names in the form of a code: marked as code, in upper case anywhere, and in the answers that it shows. */
function namedOn(page: string): string[] {
  const text = read(page)
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const marked = [...prose.matchAll(/`([^`\n]+)`/g)].flatMap(([, span = '']) => span.match(CODE) ?? [])
  const upper = (prose.match(CODE) ?? []).filter((word) => word === word.toUpperCase())
  const shown = [...text.matchAll(/"code": ?"(\w+)"/g)].map(([, code = '']) => code)
  return [...marked, ...upper, ...shown]
}

describe('the errors that the pages name', () => {
  test.each(pages)('%s names no code that does not exist', (page) => {
    expect(namedOn(page).filter((code) => !known.has(code))).toEqual([])
  })

  test.each(pages)('%s names no status with a text that it does not have', (page) => {
    const pairs = new Set(refusals.map(({ status, message }) => `${status} ${message}`))
    const named = [...read(page).matchAll(/\b([45]\d\d) `([a-z][a-z -]+)`/g)].map(
      ([, status, text]) => `${status} ${text}`,
    )
    expect(named.filter((pair) => !pairs.has(pair))).toEqual([])
  })

  test('docs name each code that there is', () => {
    const named = new Set(docs.flatMap(namedOn).map((code) => code.toLowerCase()))
    // Of one word, they are told from other words by their marks alone.
    for (const page of docs) for (const [, word = ''] of read(page).matchAll(/`(\w+)`/g)) named.add(word.toLowerCase())
    expect(codes.filter((code) => !named.has(code))).toEqual([])
  })

  test('docs/errors.md has each with its status, and no other', () => {
    const rows = [...read('docs/errors.md').matchAll(/^\| (\d+) \| `(\w+)` \|/gm)].map(([, status, code]) => [
      status,
      code,
    ])
    expect(rows).toEqual(refusals.map(({ status, code }) => [String(status), code]))
  })

  test('are found: a page with a code that does not exist would be told', () => {
    expect('the code `season_over`, or SEASON_OVER'.match(CODE)).toEqual(['season_over', 'SEASON_OVER'])
    expect(known.has('season_over')).toBe(false)
    expect(namedOn('docs/graphql.md')).toEqual(expect.arrayContaining(['INVALID_REQUEST', 'CURSOR_EXPIRED']))
    expect(namedOn('docs/errors.md').length).toBeGreaterThanOrEqual(codes.filter((code) => code.includes('_')).length)
  })
})
