import { join } from 'node:path'
import type { Pool } from 'pg'
import { LOGIN_LOG_DAYS } from '../accounts/login/log/login-log.ts'
import type { Config } from '../base/config.ts'
import type { Logger } from '../base/log.ts'
import { withArchive, writeArchive } from '../db/archive.ts'
import { databaseNow } from '../db/ids.ts'
import {
  dropPartitions,
  listPartitions,
  lookAtPartitions,
  makePartitions,
  type PartitionedTable,
  type PartitionsState,
  type Period,
  trustedNow,
} from '../db/partitions.ts'

export type PartitionsConfig = Pick<Config, 'eventRetentionDays' | 'ledgerRetentionMonths' | 'archiveDir'>

interface Kept extends PartitionedTable {
  /** Rows of before this moment are no longer needed. Null keeps all rows. */
  readonly keptSince: (now: Date) => Date | null
  readonly isArchived: boolean
  /** Whether rows stay where the clock may run ahead, and so longer where nothing happens. */
  readonly isGuarded: boolean
}

export interface PartitionsOptions {
  readonly pool: Pool
  readonly config: PartitionsConfig
  readonly log: Logger
  readonly onError: (error: unknown, message: string) => void
}

/** A lock that was not available in time. */
const LOCK_NOT_AVAILABLE = '55P03'

const daysBefore = (now: Date, days: number): Date => new Date(now.getTime() - days * 86_400_000)

function monthsBefore(now: Date, months: number): Date {
  const before = new Date(now)
  before.setUTCMonth(before.getUTCMonth() - months)
  // The 31st of a month that has none is its last day, not one of the next month.
  if (before.getUTCDate() !== now.getUTCDate()) before.setUTCDate(0)
  return before
}

/** Partitions of a fifth to a whole of the retention: more of them make reads slower, longer ones keep rows longer. */
const periodOf = (days: number): Period => (days <= 7 ? 'day' : days <= 90 ? 'week' : 'month')

function tablesOf({ eventRetentionDays, ledgerRetentionMonths }: PartitionsConfig): Kept[] {
  const ledger = {
    key: 'id',
    every: 'month',
    isArchived: true,
    isGuarded: true,
    keptSince: (now: Date) => (ledgerRetentionMonths === null ? null : monthsBefore(now, ledgerRetentionMonths)),
  } as const
  return [
    { ...ledger, name: 'xp_ledger' },
    { ...ledger, name: 'wallet_ledger' },
    {
      name: 'events',
      key: 'occurred_at',
      every: periodOf(eventRetentionDays),
      isArchived: true,
      isGuarded: false,
      keptSince: (now) => daysBefore(now, eventRetentionDays),
    },
    {
      name: 'login_log',
      key: 'id',
      every: periodOf(LOGIN_LOG_DAYS),
      // It is personal, and has a limit for that reason.
      isArchived: false,
      isGuarded: false,
      keptSince: (now) => daysBefore(now, LOGIN_LOG_DAYS),
    },
  ]
}

/** Makes the partitions of coming weeks, and drops those past retention, after their archive. */
export function createPartitions({ pool, config, log, onError }: PartitionsOptions) {
  const tables = tablesOf(config)
  const states = new Map<string, PartitionsState & { readonly at: number }>()
  const warned = new Map<string, string>()

  async function tend(table: Kept): Promise<void> {
    const now = new Date(databaseNow())
    for (const name of await makePartitions(pool, table, now)) log.info(`the partition ${name} was made`)
  }

  async function drop(table: Kept): Promise<void> {
    const now = new Date(databaseNow())
    if (table.keptSince(now) === null) return
    const trusted = table.isGuarded ? await trustedNow(pool, table, now) : now
    const since = trusted && table.keptSince(trusted)
    if (trusted !== now) await warn(table, now, since)
    if (since === null) return
    const { archiveDir } = config
    if (archiveDir === null || !table.isArchived) {
      logDropped(await dropPartitions(pool, table, since))
      return
    }
    await withArchive(pool, table.name, async (client) => {
      const dropped = await dropPartitions(pool, table, since, async ({ name }) => {
        const rows = await writeArchive(client, name, join(archiveDir, table.name))
        if (rows > 0) log.info(`${rows} rows of the partition ${name} were archived`)
      })
      logDropped(dropped)
    })
  }

  /** Once for each end, since a game can be silent for months. */
  async function warn(table: Kept, now: Date, since: Date | null): Promise<void> {
    const late = (await listPartitions(pool, table)).filter(({ to }) => to <= (table.keptSince(now) ?? to))
    const kept = late.filter(({ to }) => since === null || to > since).at(-1)
    if (kept === undefined || warned.get(table.name) === kept.name) return
    warned.set(table.name, kept.name)
    log.warn(
      `the partitions of ${table.name} up to ${kept.name} stay past their retention: there are no rows of the last month, so the clock of Postgres may run ahead`,
    )
  }

  function logDropped(names: readonly string[]): void {
    for (const name of names) log.info(`the partition ${name} was dropped: its rows are past their retention`)
  }

  async function attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isLocked = (error as { code?: unknown }).code === LOCK_NOT_AVAILABLE
      if (isLocked) log.info(`${what} later: another session, such as a backup, holds the table`)
      else onError(error, `${what} failed; the next round tries again`)
    }
  }

  async function look(table: Kept): Promise<void> {
    const at = databaseNow()
    const state = await lookAtPartitions(pool, table, new Date(at))
    if (state) states.set(table.name, { ...state, at })
  }

  return {
    /** One round. It throws nothing: what fails is reported, and tried again by the next round. */
    async tend(signal?: AbortSignal): Promise<void> {
      for (const table of tables) {
        for (const [what, work] of [
          [`making partitions of ${table.name}`, () => tend(table)],
          [`dropping partitions of ${table.name}`, () => drop(table)],
          [`looking at partitions of ${table.name}`, () => look(table)],
        ] as const) {
          if (signal?.aborted) return
          await attempt(what, work)
        }
      }
    },
    /** For each table, as far as it was seen: how long its partitions last, in seconds, and whether rows have none. */
    states: () =>
      [...states].map(([table, { aheadMs, hasOthers, at }]) => ({
        table,
        aheadSeconds: (aheadMs - (databaseNow() - at)) / 1000,
        hasOthers,
      })),
  }
}

export type Partitions = ReturnType<typeof createPartitions>
