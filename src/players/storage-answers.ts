import { invalidRequest, Refusal } from '../base/errors.ts'
import { createSemaphore, type Semaphore } from '../base/semaphore.ts'
import { DEADLINE_MS, type GroupCommit } from '../transactions/group-commit.ts'
import type { PlayerRef } from './player-status.ts'
import { bytesOfStored, MAX_READ_BYTES, readStorage, type StorageEntry, TOO_MUCH } from './storage.ts'

/** The most answers with storage that one caller can have under way. The next answer waits until one was sent. */
const MAX_ANSWERS = 2
/** The bytes of values that all long answers together can have under way. A further one waits until others were sent. */
const MAX_UNDER_WAY = 64 * 2 ** 20
/** Values of an answer up to this many bytes wait for no other caller: the buffers of the network take them. */
const SHORT = 256 * 1024

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

/**
 * Limits the answers of each caller, and the bytes of those of all callers: they are long, and a client may request many
 * without reading them. An answer that waits too long is refused.
 */
export function createStorageAnswers(run: GroupCommit['run']): BeginStorageAnswer {
  const callers = new Map<string, { readonly turns: Semaphore; answers: number }>()
  const bytesUnderWay = createSemaphore(MAX_UNDER_WAY)

  function enter(caller: string, closed: AbortSignal): Promise<void> {
    const own = callers.get(caller) ?? { turns: createSemaphore(MAX_ANSWERS), answers: 0 }
    callers.set(caller, own)
    own.answers += 1
    const end = () => {
      own.answers -= 1
      if (own.answers === 0) callers.delete(caller)
    }
    const turn = (waiting: AbortSignal) => own.turns.acquire(waiting)
    return hold(turn, closed, 'the client does not read its answers with storage').then(
      () => whenClosed(closed, end),
      (refusal) => {
        end()
        throw refusal
      },
    )
  }

  return (caller, closed) => {
    let entered: Promise<void> | undefined
    let last: Promise<unknown> = Promise.resolve()
    let bytes = 0

    async function readNext(...[player, keys, options]: Parameters<StorageAnswer['read']>) {
      entered ??= enter(caller, closed())
      await entered
      for (let held = 0, room = SHORT; ; room = held) {
        const stored = await run(readStorage(player, keys, { room, ...options }))
        const size = typeof stored === 'number' ? stored : bytesOfStored(stored)
        if (bytes + size > MAX_READ_BYTES) throw new Refusal('storageLimitExceeded', { faults: [TOO_MUCH] })
        if (typeof stored !== 'number') {
          bytes += size
          return stored
        }
        // The values can have grown since their sizes were read.
        const more = size - held
        held = size
        const take = (waiting: AbortSignal) => bytesUnderWay.acquire(waiting, more)
        await hold(take, closed(), 'clients do not read their answers with storage, which are as many as memory holds')
      }
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

/** Takes a place until the answer is closed. Refuses when none is free before the deadline, for this reason. */
async function hold(
  take: (waiting: AbortSignal) => Promise<() => void>,
  closed: AbortSignal,
  reason: string,
): Promise<void> {
  // Not `AbortSignal.any`: Node can free a timeout in it before it fires (nodejs/node#57736), and the call would hang.
  const waiting = new AbortController()
  const stopWaiting = () => waiting.abort()
  const timer = setTimeout(stopWaiting, DEADLINE_MS)
  if (closed.aborted) stopWaiting()
  else closed.addEventListener('abort', stopWaiting)
  try {
    whenClosed(closed, await take(waiting.signal))
  } catch {
    if (closed.aborted) throw invalidRequest({ path: '', message: 'the caller has gone' })
    throw new Refusal('unavailable', { cause: new Error(reason) })
  } finally {
    clearTimeout(timer)
    closed.removeEventListener('abort', stopWaiting)
  }
}

function whenClosed(closed: AbortSignal, act: () => void): void {
  if (closed.aborted) act()
  else closed.addEventListener('abort', act)
}
