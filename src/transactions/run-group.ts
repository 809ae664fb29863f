import type { PoolClient } from 'pg'
import { Refusal } from '../base/errors.ts'
import { isRetryable, isTransient } from '../db/failures.ts'
import { type Common, executeGroup, type GroupResult } from './execute-group.ts'
import type { Path } from './group.ts'
import type { PlayerRef } from './player.ts'
import { type Entry, refuse } from './queue.ts'

// Attempts at the calls that a group has taken, until each has its answer or must go another way.

const MAX_RETRIES = 20

/**
 * Decides on rows in memory. Calls that need more, or whose players were not proven, need a transaction. Throws when the
 * connection can no longer be used.
 */
export async function runFromMemory(common: Common, client: PoolClient, entries: readonly Entry[]): Promise<void> {
  while (areOpen(entries)) {
    const result = await attempt(common, client, 'memory', entries)
    if (result.kind === 'bug') {
      refuse(result.entry, result.error)
      continue
    }
    if (result.kind === 'done') return
    for (const entry of entries) entry.isFresh = true
    if (result.kind === 'lost' || result.kind === 'unsendable') throw result.error
    // The cause is not known: each call gets a transaction of its own.
    if (!isRetryable(result.code)) for (const entry of entries) entry.isAlone = true
    return
  }
}

/** Answers all calls, or throws when the connection can no longer be used. */
export async function runInTransaction(common: Common, client: PoolClient, entries: readonly Entry[]): Promise<void> {
  for (let retries = 0; areOpen(entries); ) {
    const result = await attempt(common, client, 'transaction', entries)
    switch (result.kind) {
      case 'done':
        return
      case 'lost':
        throw result.error
      case 'unsendable':
        if (entries.length === 1) refuseAll(entries, result.error)
        throw result.error
      case 'bug':
        // The command caused the error. Its changes are forgotten, and the others start again without it.
        refuse(result.entry, result.error)
        break
      case 'failed':
        if (!isRetryable(result.code) || retries >= MAX_RETRIES) return await runApart(common, client, entries, result)
        retries += 1
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * retries))
    }
  }
}

/** One faulty command must not fail the others: each gets a transaction of its own. A lone one gets the error. */
async function runApart(
  common: Common,
  client: PoolClient,
  entries: readonly Entry[],
  { code, error }: Failed,
): Promise<void> {
  if (entries.length === 1) refuseAll(entries, isTransient(code) ? new Refusal('unavailable', { cause: error }) : error)
  else for (const entry of entries) await runInTransaction(common, client, [entry])
}

type Failed = Extract<GroupResult, { kind: 'failed' }>

/** Decides and commits the calls without an answer as one group. It starts again while locks would be out of order. */
async function attempt(
  { memory, clock, isReadOnly, committed }: Common,
  client: PoolClient,
  path: Path,
  entries: readonly Entry[],
): Promise<Exclude<GroupResult, { kind: 'restart' }>> {
  for (let needed: readonly PlayerRef[] = []; ; ) {
    const waiting = entries.filter((entry) => !entry.isSettled)
    const group = { client, memory, clock, path, isReadOnly, entries: waiting, needed, committed }
    const result = await executeGroup(group)
    if (result.kind !== 'restart') return result
    needed = result.needed
  }
}

const areOpen = (entries: readonly Entry[]): boolean => entries.some((entry) => !entry.isSettled)

function refuseAll(entries: readonly Entry[], error: unknown): void {
  for (const entry of entries) refuse(entry, error)
}
