import { invalidRequest, Refusal } from '../base/errors.ts'
import { createSemaphore, type Semaphore } from '../base/semaphore.ts'
import { DEADLINE_MS, type GroupCommit } from '../transactions/group-commit.ts'
import type { PlayerRef } from './player-status.ts'
import { bytesOfStored, MAX_READ_BYTES, readStorage, type StorageEntry, TOO_MUCH } from './storage.ts'

/** The most answers with storage that one caller can have under way. The next answer waits until one was sent. */
const MAX_ANSWERS = 2

/** One answer with storage: for one player over REST, for several in GraphQL. */
export interface StorageAnswer {
  /** Reads values one after another, up to the limit of an answer. */
  read(
    player: PlayerRef,
    keys: readonly string[] | null,
    options?: { byOperator?: boolean },
  ): Promise<ReadonlyMap<string, StorageEntry>>
}

/** Begins an answer to a caller. `closed` aborts when the answer was sent or the client is gone. */
export type BeginStorageAnswer = (caller: string, closed: () => AbortSignal) => StorageAnswer

/** Limits the answers of each caller: they are long, and a client may request many without reading them. */
export function createStorageAnswers(run: GroupCommit['run']): BeginStorageAnswer {
  const callers = new Map<string, { readonly turns: Semaphore; answers: number }>()

  async function enter(caller: string, closed: AbortSignal): Promise<void> {
    const own = callers.get(caller) ?? { turns: createSemaphore(MAX_ANSWERS), answers: 0 }
    callers.set(caller, own)
    own.answers += 1
    const end = () => {
      own.answers -= 1
      if (own.answers === 0) callers.delete(caller)
    }
    // Not `AbortSignal.any`: Node can free a timeout in it before it fires (nodejs/node#57736), and the call would hang.
    const waiting = new AbortController()
    const stopWaiting = () => waiting.abort()
    const timer = setTimeout(stopWaiting, DEADLINE_MS)
    if (closed.aborted) stopWaiting()
    else closed.addEventListener('abort', stopWaiting)
    try {
      const leave = await own.turns.acquire(waiting.signal)
      const leaveAndEnd = () => {
        leave()
        end()
      }
      if (closed.aborted) leaveAndEnd()
      else closed.addEventListener('abort', leaveAndEnd)
    } catch {
      end()
      if (closed.aborted) throw invalidRequest({ path: '', message: 'the caller has gone' })
      throw new Refusal('unavailable', { cause: new Error('the client does not read its answers with storage') })
    } finally {
      clearTimeout(timer)
      closed.removeEventListener('abort', stopWaiting)
    }
  }

  return (caller, closed) => {
    let entered: Promise<void> | undefined
    let last: Promise<unknown> = Promise.resolve()
    let bytes = 0

    async function readNext(...[player, keys, options]: Parameters<StorageAnswer['read']>) {
      entered ??= enter(caller, closed())
      await entered
      if (bytes <= MAX_READ_BYTES) {
        const stored = await run(readStorage(player, keys, options))
        bytes += bytesOfStored(stored)
        if (bytes <= MAX_READ_BYTES) return stored
      }
      throw new Refusal('storageLimitExceeded', { faults: [TOO_MUCH] })
    }

    return {
      read(...asked) {
        const reading = last.then(() => readNext(...asked))
        last = reading.catch(() => undefined)
        return reading
      },
    }
  }
}
