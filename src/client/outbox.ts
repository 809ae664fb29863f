import { parsed, readAs } from './answers.ts'
import { ADD_XP_RESPONSE, type AddXpResponse } from './contract.ts'
import { invalidRequest, TierwayError } from './error.ts'
import { printExact } from './json.ts'
import { Listeners } from './listeners.ts'
import type { BattlePassSession, ScenarioSession } from './scenario.ts'
import type { ShapeOf } from './shape.ts'
import { patient, type Storage } from './storage.ts'
import type { Tierway } from './tierway.ts'
import { backoff, listenOnline, newKey } from './transport.ts'

/** Xp that waits to be sent. */
export interface QueuedXp {
  /** Its idempotency key. */
  readonly key: string
  readonly scenarioId: string
  readonly nodeId: string
  readonly runId: string
  readonly amount: bigint
  readonly source: string
}

export interface OutboxEvents {
  /** Xp was added. */
  readonly sent: { readonly xp: QueuedXp; readonly answer: AddXpResponse }
  /** Xp cannot be added: the run or the season is over, or it has waited too long. It is removed from the storage. */
  readonly refused: { readonly xp: QueuedXp; readonly error: TierwayError }
  /**
   * The storage has something else in the place of xp. It stays there, and other xp is sent. Reported once for each
   * key.
   */
  readonly unreadable: { readonly storageKey: string; readonly text: string }
}

/** The stored form. */
interface Entry extends QueuedXp {
  readonly playerId: string
  /** When it was first sent, by the service's clock, in milliseconds since 1970; null before. */
  readonly triedAt: number | null
}

const ENTRY: ShapeOf<Entry> = {
  members: {
    key: 'string',
    scenarioId: 'string',
    nodeId: 'string',
    runId: 'string',
    amount: 'int64',
    source: 'string',
    playerId: 'string',
    triedAt: { orNull: 'integer' },
  },
}

/**
 * The service knows keys for seven days. Xp that was sent may have been counted, so after six days it is not sent
 * again.
 */
const LONGEST_WAIT_MS = 6 * 86_400_000
/**
 * The longest pause between two attempts. It limits the time for which xp waits when the network is back: browsers may
 * not notice, and other platforms have no such event.
 */
const LONGEST_PAUSE_MS = 10_000
const NUMBER_DIGITS = 16

/**
 * Sends the xp that a player earns, even if it was earned offline. Xp is kept in the client's storage with its
 * idempotency key before it is sent, and it is sent in order. Each grant counts once, even if the page was closed or
 * several tabs send it. The storage must list its keys: `localStorage()` and `memoryStorage()` do.
 */
export class Outbox {
  readonly #tierway: Tierway
  readonly #storage: Storage & Pick<Required<Storage>, 'keys'>
  readonly #prefix: string
  readonly #listeners = new Listeners<OutboxEvents>()
  /** Sessions of this page. They take in the answers. */
  readonly #sessions = new Map<string, ScenarioSession>()
  readonly #stopHearing: () => void
  /** The number of the last place. */
  #last: Promise<number> | undefined
  #sending: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #failed = 0
  #isClosed = false
  /** Xp was stored, or a player has signed in, since sending began. */
  #isAsked = false
  readonly #unreadable = new Set<string>()

  /** Begins to send the stored xp of the signed-in player. */
  constructor(tierway: Tierway) {
    const { storage, prefix } = tierway.keep
    if (!storage.keys) throw new TypeError('an outbox needs a storage that lists its keys')
    this.#tierway = tierway
    this.#storage = storage as Storage & Pick<Required<Storage>, 'keys'>
    this.#prefix = `${prefix}:xp:`
    listenOnline('addEventListener', this.#wake)
    this.#stopHearing = tierway.on('signedIn', this.#wake)
    this.#wake()
  }

  /** Stores xp, and sends it as soon as possible. Resolves when it is stored. */
  async addXp(
    pass: BattlePassSession,
    amount: bigint | number,
    { source = '' }: { readonly source?: string } = {},
  ): Promise<QueuedXp> {
    const { session, nodeId } = pass
    const { playerId } = this.#tierway
    if (playerId === null || !session.isFor(playerId)) throw new TierwayError({ code: 'signed_out', status: 401 })
    const { scenarioId, runId } = session
    const xp = { key: newKey(), scenarioId, nodeId, runId, amount: exactXp(amount), source }
    this.#sessions.set(runId, session)
    await this.#write(await this.#nextPlace(xp.key), { ...xp, playerId, triedAt: null })
    this.#wake()
    return xp
  }

  /** The number of stored grants of the signed-in player. */
  async size(): Promise<number> {
    await this.#tierway.restore()
    return (await this.#entries()).length
  }

  /**
   * Sends everything that is stored. Resolves when all is sent or refused. Rejects when sending is not possible now; it
   * continues later.
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#sending ??= this.#run()
    return this.#sending
  }

  /** Calls a function with each result. Returns a function that removes the listener. */
  on<Name extends keyof OutboxEvents>(name: Name, listener: (event: OutboxEvents[Name]) => unknown): () => void {
    return this.#listeners.on(name, listener)
  }

  /** Stops sending. Stored xp stays stored. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    listenOnline('removeEventListener', this.#wake)
    this.#stopHearing()
  }

  #wake = (): void => {
    if (this.#isClosed) return
    this.#isAsked = true
    this.flush().catch(() => undefined)
  }

  /** Sends what is stored, and continues later when that fails. Pauses grow with each failed attempt. */
  async #run(): Promise<void> {
    try {
      do {
        this.#isAsked = false
        await this.#sendAll()
      } while (this.#isAsked && !this.#isClosed)
      this.#failed = 0
    } catch (error) {
      if (!this.#isClosed) this.#timer = setTimeout(this.#wake, backoff(this.#failed, LONGEST_PAUSE_MS))
      this.#failed += 1
      throw error
    } finally {
      this.#sending = undefined
    }
  }

  async #sendAll(): Promise<void> {
    if (!(await this.#tierway.restore())) return
    for (let entries = await this.#entries(); entries.length > 0; entries = await this.#entries()) {
      for (const [place, entry] of entries) {
        if (this.#isClosed || entry.playerId !== this.#tierway.playerId) return
        await this.#send(place, entry)
      }
    }
  }

  /** Rejects with errors that may pass. This grant is then the next one to be sent. */
  async #send(place: string, { playerId, triedAt, ...xp }: Entry): Promise<void> {
    const { key, ...body } = xp
    try {
      const now = await this.#serviceTime()
      if (triedAt !== null && now - triedAt > LONGEST_WAIT_MS)
        throw new TierwayError({ code: 'timeout', message: 'it has waited too long', outcomeUnknown: true })
      if (triedAt === null) await this.#write(place, { ...xp, playerId, triedAt: now })
      const session = this.#sessions.get(xp.runId)
      const send = async () => {
        const options = { idempotencyKey: key, playerId }
        const answer = await this.#tierway.calls.change('/sdk/v1/battlepass/xp', body, ADD_XP_RESPONSE, options)
        await this.#remove(place)
        session?.take(answer, body, key)
        return answer
      }
      const answer = await (session ? session.during(send) : send())
      this.#listeners.emit('sent', { xp, answer })
    } catch (error) {
      const isFinal = TierwayError.is(error) && !error.retryable && !WAITING.includes(error.code)
      if (!isFinal) throw error
      await this.#remove(place)
      this.#listeners.emit('refused', { xp, error })
    }
  }

  /** The clock of the device may be set at any time. It is used where answers have no date. */
  async #serviceTime(): Promise<number> {
    const { transport } = this.#tierway.calls
    if (transport.serviceTime() === undefined) await this.#tierway.player()
    return Math.round(transport.serviceTime() ?? Date.now())
  }

  /** The stored grants of the player, in the order in which they were earned. */
  async #entries(): Promise<[place: string, entry: Entry][]> {
    const places = [...(await patient(() => this.#storage.keys(this.#prefix)))].sort()
    const found = await Promise.all(
      places.map(async (place): Promise<[string, Entry][]> => {
        const text = await patient(() => this.#storage.get(place))
        const entry = text === null ? undefined : this.#entryIn(place, text)
        return entry ? [[place, entry]] : []
      }),
    )
    return found.flat().filter(([, { playerId }]) => playerId === this.#tierway.playerId)
  }

  #entryIn(storageKey: string, text: string): Entry | undefined {
    try {
      return readAs(ENTRY, parsed(text))
    } catch {
      if (!this.#unreadable.has(storageKey)) this.#listeners.emit('unreadable', { storageKey, text })
      this.#unreadable.add(storageKey)
      return undefined
    }
  }

  /**
   * A key of its own for each grant, so that tabs do not overwrite each other. Later keys sort later, also when the clock
   * of the device was set back.
   */
  async #nextPlace(key: string): Promise<string> {
    this.#last ??= this.#lastPlace().catch(() => 0)
    this.#last = this.#last.then((last) => Math.max(last + 1, Date.now() * 1_000))
    return `${this.#prefix}${String(await this.#last).padStart(NUMBER_DIGITS, '0')}-${key}`
  }

  /** The number of the last stored grant. */
  async #lastPlace(): Promise<number> {
    const places = await patient(() => this.#storage.keys(this.#prefix))
    const numbers = places.map((place) => place.slice(this.#prefix.length).match(/^(\d{16})-/)?.[1])
    return Math.max(0, ...numbers.map((number) => Number(number ?? 0)))
  }

  async #write(place: string, entry: Entry): Promise<void> {
    await patient(() => this.#storage.set(place, printExact(entry)))
  }

  async #remove(place: string): Promise<void> {
    await patient(() => this.#storage.remove(place))
  }
}

/** These errors last until a login, an operator or a new version of the service ends them. The xp is kept meanwhile. */
const WAITING: readonly TierwayError['code'][] = [
  'signed_out',
  'invalid_token',
  'player_banned',
  'invalid_answer',
  'internal_error',
]

function exactXp(amount: bigint | number): bigint {
  if (typeof amount === 'bigint' || Number.isSafeInteger(amount)) return BigInt(amount)
  throw invalidRequest([{ path: 'amount', message: 'must be a bigint or a safe integer' }])
}
