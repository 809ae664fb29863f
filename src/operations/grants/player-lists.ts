import Papa from 'papaparse'
import type { ClientBase, Pool } from 'pg'
import { ACTIONS } from '../../audit/actions.ts'
import { writeAudit } from '../../audit/audit-log.ts'
import { type Fault, invalidRequest } from '../../base/errors.ts'
import { isCleanText, MAX_INT64, readInt } from '../../base/json.ts'
import { LIST_DAYS, MAX_LIST_ROWS } from '../../base/limits.ts'
import type { PlatformCaller } from '../../callers/callers.ts'
import { newId } from '../../db/ids.ts'
import { inTransaction } from '../../db/transaction.ts'
import { isUuid } from '../../declare/shape.ts'
import { findTargets, type PlayerTarget } from '../../players/player-target.ts'

// Lists of players, whose rows never change: a CSV that was uploaded, or the players that a request names.

/** Maximum number of faulty rows reported. */
const MAX_FAULTY_ROWS = 100
/** Rows that the answer to an upload shows with their players. */
const FIRST_ROWS = 10
/** Players that are looked up, and rows that are written, with one statement. */
const AT_A_TIME = 5_000

export interface ListedPlayer {
  readonly playerId: string
  readonly amount: bigint | null
}

interface Row {
  /** The number of its line, from 1. */
  readonly line: number
  readonly target: PlayerTarget
  readonly amount: bigint | null
}

const COLUMNS = ['playerId', 'provider', 'subject', 'amount'] as const
type Column = (typeof COLUMNS)[number]
/** Spreadsheets save a comma or a semicolon by the language of the computer, and copy tabs. */
const SEPARATORS = [',', ';', '\t']

/** A row of a list and the player that it names. */
export interface FirstRow {
  readonly row: number
  readonly playerId: string
  readonly provider: string | null
  readonly subject: string | null
  readonly amount: bigint | null
}

export interface ReadList {
  readonly players: readonly ListedPlayer[]
  readonly first: readonly FirstRow[]
}

/** The players of a CSV. Refuses it with the faults of all rows, each with its line. */
export async function readCsv(pool: Pool, environmentId: string, text: string): Promise<ReadList> {
  const faults = new RowFaults()
  const rows = parseRows(text, faults)
  const players: ListedPlayer[] = []
  const firstRows: FirstRow[] = []
  const lineOf = new Map<string, number>()
  for (let from = 0; from < rows.length; from += AT_A_TIME) {
    const some = rows.slice(from, from + AT_A_TIME)
    const found = await findTargets(
      pool,
      environmentId,
      some.map(({ target }) => target),
    )
    for (const [index, { line, amount, target }] of some.entries()) {
      const playerId = found[index]?.playerId
      const first = playerId === undefined ? undefined : lineOf.get(playerId)
      if (playerId === undefined) faults.add(line, `is no player of this environment${shortened(target)}`)
      else if (first !== undefined) faults.add(line, `has the player of row ${first} again`)
      else {
        lineOf.set(playerId, line)
        players.push({ playerId, amount })
        const { provider, subject } = target
        if (firstRows.length < FIRST_ROWS) firstRows.push({ row: line, playerId, provider, subject, amount })
      }
    }
  }
  faults.refuse()
  return { players, first: firstRows }
}

/** What a spreadsheet makes of a long id, such as `1.23457E+15`. */
const shortened = ({ subject }: PlayerTarget): string =>
  subject !== null && /^\d([.,]\d+)?e\+\d+$/i.test(subject)
    ? ': a spreadsheet has rounded the id, so its column must be formatted as text before ids are entered'
    : ''

class RowFaults {
  private readonly faults: { readonly line: number; readonly message: string }[] = []

  add(line: number, message: string): void {
    this.faults.push({ line, message })
  }

  refuse(): void {
    if (this.faults.length === 0) return
    this.faults.sort((a, b) => a.line - b.line)
    const shown: Fault[] = this.faults
      .slice(0, MAX_FAULTY_ROWS)
      .map(({ line, message }) => ({ path: `row ${line}`, message }))
    if (this.faults.length > MAX_FAULTY_ROWS)
      shown.push({
        path: '',
        message: `${this.faults.length} rows have faults: the first ${MAX_FAULTY_ROWS} are listed`,
      })
    throw invalidRequest(...shown)
  }
}

const bodyFault = (message: string) => invalidRequest({ path: '', message })

function parseRows(text: string, faults: RowFaults): Row[] {
  const clean = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
  const [head = ''] = clean.split('\n', 1)
  const delimiter = SEPARATORS.find((one) => head.includes(one)) ?? ','
  const { data, errors } = Papa.parse<string[]>(clean, { delimiter, newline: '\n' })
  const isOpen = new Set(errors.map(({ row }) => row))
  const [header = [], ...rest] = data
  const columns = header.map((name) => COLUMNS.find((known) => known.toLowerCase() === name.trim().toLowerCase()))
  const isComplete = columns.includes('playerId') !== (columns.includes('provider') && columns.includes('subject'))
  if (columns.includes(undefined) || new Set(columns).size < columns.length || !isComplete)
    throw bodyFault(
      'the first row must name the columns: playerId, or provider and subject; and amount, if rows have one',
    )
  const rows: Row[] = []
  let isEmpty = true
  let line = 1 + linesOf(header)
  for (const [index, values] of rest.entries()) {
    const number = line
    line += linesOf(values)
    if (values.length === 1 && values[0]?.trim() === '') continue
    isEmpty = false
    if (isOpen.has(index + 1)) faults.add(number, 'has an open quotation mark')
    else if (values.length !== columns.length)
      faults.add(number, `has ${values.length} values for ${columns.length} columns`)
    else {
      const row = readRow(new Map(columns.map((name, at) => [name as Column, (values[at] ?? '').trim()])))
      if (typeof row === 'string') faults.add(number, row)
      else rows.push({ line: number, ...row })
    }
    if (rows.length > MAX_LIST_ROWS) throw bodyFault(`the list must have at most ${MAX_LIST_ROWS} players`)
  }
  if (isEmpty) throw bodyFault('the list must have a player')
  return rows
}

/** The lines that a row takes: a value in quotation marks may have line ends. */
const linesOf = (values: readonly string[]): number =>
  values.reduce((lines, value) => lines + value.split('\n').length - 1, 1)

/** A row, or its fault. */
function readRow(values: ReadonlyMap<Column, string>): Omit<Row, 'line'> | string {
  const { playerId = null, provider = null, subject = null, amount = null } = Object.fromEntries(values)
  if (playerId !== null && !isUuid(playerId)) return 'has a playerId that is no id'
  if (subject === '' || provider === '') return 'has an empty provider or subject'
  if (![subject, provider].every((value) => value === null || isCleanText(value))) return 'has a NUL character'
  const read = amount === null ? null : readInt(amount)
  if (read === undefined || (read !== null && (read < 1n || read > MAX_INT64)))
    return `has an amount that is not an integer from 1 to ${MAX_INT64}`
  return { target: { playerId, provider, subject }, amount: read }
}

export interface PlayerList {
  readonly listId: string
  readonly players: number
  /** The sum of the amounts; null without amounts. */
  readonly total: bigint | null
}

/** Stores a list within a transaction. */
export async function storeList(
  client: ClientBase,
  environmentId: string,
  players: readonly ListedPlayer[],
): Promise<PlayerList> {
  const listId = newId()
  const hasAmounts = players.some(({ amount }) => amount !== null)
  const total = hasAmounts ? players.reduce((sum, { amount }) => sum + (amount ?? 0n), 0n) : null
  await client.query(
    `INSERT INTO player_lists (id, environment_id, players, total, expires_at)
     VALUES ($1, $2, $3, $4, clock_timestamp() + interval '${LIST_DAYS} days')`,
    [listId, environmentId, players.length, total],
  )
  for (let from = 0; from < players.length; from += AT_A_TIME) {
    const some = players.slice(from, from + AT_A_TIME)
    await client.query(
      `INSERT INTO player_list_rows (list_id, player_id, amount)
       SELECT $1, r.player_id, r.amount FROM unnest($2::uuid[], $3::bigint[]) AS r (player_id, amount)`,
      [listId, some.map(({ playerId }) => playerId), some.map(({ amount }) => amount)],
    )
  }
  return { listId, players: players.length, total }
}

/** Stores a list that was uploaded. */
export const createList = (
  pool: Pool,
  caller: PlatformCaller,
  environmentId: string,
  { players, reason }: { readonly players: readonly ListedPlayer[]; readonly reason: string | null },
): Promise<PlayerList> =>
  inTransaction(pool, async (client) => {
    const list = await storeList(client, environmentId, players)
    const after = { players: list.players, ...(list.total !== null && { total: list.total }) }
    await writeAudit(client, caller, {
      environmentId,
      action: ACTIONS.createPlayerList,
      target: list.listId,
      before: null,
      after,
      reason,
    })
    return list
  })

/** A list that has not expired; null for any other one. */
export async function findList(pool: Pool, environmentId: string, listId: string) {
  const { rows } = await pool.query<{ players: number; total: string | null; largest: string | null }>(
    `SELECT l.players, l.total::text, (SELECT max(amount)::text FROM player_list_rows WHERE list_id = l.id) AS largest
     FROM player_lists l WHERE l.id = $2 AND l.environment_id = $1 AND l.expires_at > clock_timestamp()`,
    [environmentId, listId],
  )
  const [found] = rows
  return found
    ? { players: found.players, hasAmounts: found.total !== null, largest: BigInt(found.largest ?? 0) }
    : null
}

const ROWS = 5_000

/** Removes some rows of lists that have expired and that no job is to collect, and then the lists. Returns how many. */
export async function purgeLists(pool: Pool): Promise<number> {
  const old = `SELECT l.id FROM player_lists l WHERE l.expires_at < clock_timestamp() AND NOT EXISTS (
      SELECT FROM grant_jobs j WHERE j.list_id = l.id AND j.state IN ('planned', 'collecting'))`
  const { rowCount: rows } = await pool.query(
    `DELETE FROM player_list_rows WHERE ctid = ANY (ARRAY (
       SELECT r.ctid FROM player_list_rows r WHERE r.list_id IN (${old}) LIMIT ${ROWS}))`,
  )
  if (rows) return rows
  const { rowCount: lists } = await pool.query(
    `DELETE FROM player_lists l WHERE l.id IN (${old}) AND NOT EXISTS (
       SELECT FROM player_list_rows r WHERE r.list_id = l.id)`,
  )
  return lists ?? 0
}
