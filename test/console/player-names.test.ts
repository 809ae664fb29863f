import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PlayerNames } from '../../console/src/players/names.ts'

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const idOf = (number: number): string => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`
const [ADA, BEA, NOBODY] = [idOf(1), idOf(2), idOf(3)] as const
const NICKNAMES: ReadonlyMap<string, string> = new Map([
  [ADA, 'Ada'],
  [BEA, 'Bea'],
])

let asked: (readonly string[])[] = []
let isAway = false
let names: PlayerNames

const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  vi.useFakeTimers()
  asked = []
  isAway = false
  names = new PlayerNames(async (ids) => {
    asked.push(ids)
    return isAway ? undefined : new Map(ids.map((id) => [id, NICKNAMES.get(id) ?? null]))
  })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('the nicknames of players', () => {
  it('of all places of a page are asked for in one request, each once, and told when they come', async () => {
    let told = 0
    names.listen(() => {
      told += 1
    })
    for (const id of [ADA, BEA, ADA, NOBODY, ADA]) names.want(id)
    expect(names.nameOf(ADA)).toBeUndefined()
    await passed(100)
    expect(asked).toEqual([[ADA, BEA, NOBODY]])
    expect(told).toBe(1)
    expect([ADA, BEA, NOBODY].map((id) => names.nameOf(id))).toEqual(['Ada', 'Bea', null])
  })

  it('are not asked for again for ten minutes, also of a player without one, and shown while they are', async () => {
    for (const id of [ADA, NOBODY]) names.want(id)
    await passed(1_000)
    for (const id of [ADA, NOBODY]) names.want(id)
    await passed(598_000)
    names.want(ADA)
    await passed(100)
    expect(asked).toHaveLength(1)
    await passed(2_000)
    names.want(ADA)
    expect(names.nameOf(ADA)).toBe('Ada')
    await passed(100)
    expect(asked).toEqual([[ADA, NOBODY], [ADA]])
  })

  it('are asked for 100 at a time, one request after another, twice a second at most', async () => {
    for (const number of times(250, (index) => index)) names.want(idOf(number))
    await passed(100)
    expect(asked.map((ids) => ids.length)).toEqual([100])
    await passed(500)
    expect(asked.map((ids) => ids.length)).toEqual([100, 100])
    await passed(10_000)
    expect(asked.map((ids) => ids.length)).toEqual([100, 100, 50])
    expect(new Set(asked.flat()).size).toBe(250)
  })

  it('are not asked for where a row is gone before the request', async () => {
    // A feed of 300 events a second, of which each is in the page for 20 ms.
    for (const number of times(300, (index) => index)) {
      const gone = names.want(idOf(number))
      await passed(3)
      if (number !== 299) gone()
    }
    await passed(1_000)
    expect(asked.length).toBeLessThanOrEqual(3)
    expect(asked.flat().length).toBeLessThan(5)
    expect(asked.flat()).toContain(idOf(299))
  })

  it('that cannot be read are unknown for half a minute, and a known one stays', async () => {
    names.want(ADA)
    await passed(1_000)
    await passed(600_000)
    isAway = true
    for (const id of [ADA, BEA]) names.want(id)
    await passed(1_000)
    expect([ADA, BEA].map((id) => names.nameOf(id))).toEqual(['Ada', null])
    names.want(BEA)
    await passed(1_000)
    expect(asked).toHaveLength(2)
    isAway = false
    await passed(30_000)
    names.want(BEA)
    await passed(100)
    expect(names.nameOf(BEA)).toBe('Bea')
  })

  it('are asked for by ids alone: any other text would refuse the ids beside it', async () => {
    for (const text of ['players', '', `Player:${ADA}`, ADA]) names.want(text)
    await passed(100)
    expect(asked).toEqual([[ADA]])
  })

  it('are kept for ten thousand players at most, the latest ones', async () => {
    for (const number of times(12_000, (index) => index)) names.want(idOf(number))
    await passed(120_000)
    expect(asked.flat()).toHaveLength(12_000)
    expect(names.nameOf(idOf(0))).toBeUndefined()
    expect(names.nameOf(idOf(11_999))).toBeNull()
  })
})
