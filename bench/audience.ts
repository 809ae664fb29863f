import type { ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import type { Answer, Asked, Count, Opening, Question } from './listeners.ts'
import { lossOf, startProcess } from './processes.ts'

// The benchmark's side of the process that holds the listeners.

const DEADLINE_MS = 120_000
const PROBE_MS = 250
/** After this long, all events have arrived. */
const QUIET_MS = 300

export class Audience {
  private readonly child: ChildProcess
  private readonly lost: Promise<never>
  private readonly asked = new Map<number, (answer: Answer) => void>()
  private questions = 0

  constructor() {
    this.child = startProcess('listeners.ts')
    this.lost = lossOf(this.child, 'the process of the listeners')
    this.child.on('message', (answer: Answer) => {
      this.asked.get(answer.id)?.(answer)
      this.asked.delete(answer.id)
    })
  }

  open(opening: Omit<Opening, 'ask'>): Promise<void> {
    return this.ask({ ask: 'open', ...opening })
  }

  /** The time at which the whole crowd had received `total` messages, by the clock that all processes share. */
  async reach(crowd: string, total: number): Promise<number> {
    const giveUp = new AbortController()
    const late = async () => {
      await pause(DEADLINE_MS, undefined, { signal: giveUp.signal })
      const count = await this.count(crowd)
      throw new Error(`${crowd}: ${count.total} of ${total} messages were received; ${JSON.stringify(count.sample)}`)
    }
    return Promise.race([this.ask<number>({ ask: 'reach', crowd, total }), late()]).finally(() => giveUp.abort())
  }

  count(crowd: string): Promise<Count> {
    return this.ask({ ask: 'count', crowd })
  }

  reset(crowd: string): Promise<void> {
    return this.ask({ ask: 'reset', crowd })
  }

  arrivals(crowd: string): Promise<(number | null)[]> {
    return this.ask({ ask: 'arrivals', crowd })
  }

  close(crowd: string): Promise<void> {
    return this.ask({ ask: 'close', crowd })
  }

  closeAll(): Promise<void> {
    return this.ask({ ask: 'closeAll' })
  }

  /** Repeats `happen` until each listener has received a message: nothing else shows that a subscription has begun. */
  async attend(crowd: string, happen: () => Promise<unknown>): Promise<void> {
    for (let attempt = 0; (await this.count(crowd)).least === 0; attempt += 1) {
      if (attempt * PROBE_MS > DEADLINE_MS) throw new Error(`${crowd}: not every listener has received a message`)
      await happen()
      await pause(PROBE_MS)
    }
    await this.settle(crowd)
  }

  /** Waits until no more messages arrive, and resets the counts. */
  async settle(crowd: string): Promise<void> {
    for (let before = -1, total = 0; before !== total; ) {
      before = total
      await pause(QUIET_MS)
      total = (await this.count(crowd)).total
    }
    await this.reset(crowd)
  }

  /**
   * Fails unless each listener received this number of messages and the same bytes. Returns these bytes and the texts.
   */
  async verify(
    crowd: string,
    messages: number,
  ): Promise<{ readonly bytes: number; readonly texts: readonly string[] }> {
    await pause(QUIET_MS)
    const count = await this.count(crowd)
    const { least, most, leastBytes, mostBytes, lost, firstLoss, texts, sample } = count
    if (lost > 0) throw new Error(`${crowd}: ${lost} sockets were closed: ${firstLoss}`)
    if (least !== messages || most !== messages) {
      throw new Error(`${crowd}: each must receive ${messages} messages, not ${least} to ${most}: ${sample}`)
    }
    if (leastBytes !== mostBytes) throw new Error(`${crowd}: they received ${leastBytes} to ${mostBytes} bytes`)
    if (new Set(texts).size !== messages) throw new Error(`${crowd}: the first listener received a message twice`)
    const wrong = texts.find((text) => text.includes('"errors"'))
    if (wrong) throw new Error(`${crowd}: ${wrong}`)
    return { bytes: mostBytes, texts }
  }

  private ask<Result>(asked: Asked): Promise<Result> {
    this.questions += 1
    const id = this.questions
    const answered = new Promise<Result>((resolve, reject) => {
      this.asked.set(id, ({ result, error }) =>
        error === undefined ? resolve(result as Result) : reject(new Error(error)),
      )
    })
    this.child.send({ id, ...asked } satisfies Question)
    return Promise.race([answered, this.lost])
  }
}
