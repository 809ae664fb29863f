import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, times } from '../support/game.ts'

// Any caller, before its credentials are known: the CPU time of one request delays all others.

/** Far more than any takes, and far less than what grows with the square of its length. */
const MOST_CPU_MS = 1_500

let game: Game

beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

/** The milliseconds of the processor that this process, and so the service, has taken for some work. */
async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The bytes of what this process, and so the service, has kept. */
function kept(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed
}

const STORE = 'mutation ($values: JSONObject!) { setStorage(input: {values: $values}) { storage { key } } }'
const PLAYERS = 'query ($first: Int) { players(environment: "production", first: $first) { edges { cursor } } }'

/** Each fault of a document is told with its line. */
const FAULTS = times(300, (index) => `field${index}`).join(' ')

describe('a request without credentials is read in no time', () => {
  const long: Record<string, [query: string, variables: Record<string, unknown>, code: string]> = {
    'white space inside an object': [STORE, { values: `{"a":${' '.repeat(200_000)}1}` }, 'INVALID_TOKEN'],
    'lines of a document': [`{ ${'\n'.repeat(520_000)} ${FAULTS} }`, {}, 'INVALID_REQUEST'],
    'a value that suggests again and again': [PLAYERS, { first: ' Did you mean '.repeat(40_000) }, 'INVALID_REQUEST'],
    'a value that begins to name a place': [
      PLAYERS,
      { first: { [` at "${'a'.repeat(200_000)}`]: 1 } },
      'INVALID_REQUEST',
    ],
  }
  for (const [what, [query, variables, code]] of Object.entries(long)) {
    it(`however long it is in one place: ${what}`, async () => {
      const cpu = await cpuOf(async () => {
        const { errors } = await game.graphql(null, query, variables)
        expect(errors?.[0]?.extensions.code).toBe(code)
      })
      expect(cpu).toBeLessThan(MOST_CPU_MS)
    })
  }
})

describe('documents that nobody has asked for before', () => {
  it('are not kept for long, however many come', async () => {
    const ask = (index: number) => game.graphql(null, `{ ${'__typename '.repeat(980)}} # ${index}`)
    for (const index of times(10, Number)) await ask(index)
    const before = kept()
    for (const index of times(400, Number)) {
      expect((await ask(10 + index)).errors?.[0]?.extensions.code).toBe('INVALID_REQUEST')
    }
    expect(kept() - before).toBeLessThan(100 * 2 ** 20)
  })
})
