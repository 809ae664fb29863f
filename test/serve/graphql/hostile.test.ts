import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, times } from '../../harness/game.ts'
import { collectGarbage } from '../../harness/garbage.ts'

// Any caller can send these, before its credentials are checked. The CPU time of one request delays all others.

/** Far more than any of these requests takes, and far less than an algorithm of quadratic time would. */
const MOST_CPU_MS = 1_500

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

/** The CPU time in milliseconds that this process, and so the service, uses for some work. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The bytes of the heap that this process, and so the service, has in use. */
function kept(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}

const STORE = 'mutation ($values: JSONObject!) { setStorage(input: {values: $values}) { storage { key } } }'
const PLAYERS = 'query ($first: Int) { players(environment: "production", first: $first) { edges { cursor } } }'

/** Each fault of a document is reported with its line. */
const FAULTS = times(300, (index) => `field${index}`).join(' ')

describe('a long request without credentials', () => {
  const long: Record<string, [query: string, variables: Record<string, unknown>, code: string]> = {
    'white space in an object': [STORE, { values: `{"a":${' '.repeat(200_000)}1}` }, 'INVALID_TOKEN'],
    'empty lines in a document': [`{ ${'\n'.repeat(520_000)} ${FAULTS} }`, {}, 'INVALID_REQUEST'],
    'a value that repeats "Did you mean"': [PLAYERS, { first: ' Did you mean '.repeat(40_000) }, 'INVALID_REQUEST'],
    'a value that looks like the path of a fault': [
      PLAYERS,
      { first: { [` at "${'a'.repeat(200_000)}`]: 1 } },
      'INVALID_REQUEST',
    ],
  }
  for (const [what, [query, variables, code]] of Object.entries(long)) {
    it(`takes little CPU time: ${what}`, async () => {
      const cpu = await cpuOf(async () => {
        const { errors } = await game.graphql(null, query, variables)
        expect(errors?.[0]?.extensions.code).toBe(code)
      })
      expect(cpu).toBeLessThan(MOST_CPU_MS)
    })
  }
})

describe('unknown documents', () => {
  it('take bounded memory, however many arrive', async () => {
    const ask = (index: number) => game.graphql(null, `{ ${'__typename '.repeat(980)}} # ${index}`)
    for (const index of times(10, Number)) await ask(index)
    const before = kept()
    for (const index of times(400, Number)) {
      expect((await ask(10 + index)).errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    }
    expect(kept() - before).toBeLessThan(100 * 2 ** 20)
  })
})
