import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Game, startGame, times } from '../../harness/game.ts'

// The names of operations in the metrics. Each test starts an instance of its own: names are never forgotten.

const NAMES = 200
const NAMES_OF_ONE = 50

let game: Game
beforeAll(async () => {
  game = await startGame()
})
afterAll(() => game?.stop())

const send = (credentials: string | null | Record<string, string>, name: string, selection = '__typename') =>
  game.graphql(credentials, `query ${name} { ${selection} }`)

async function countedNames(): Promise<string[]> {
  const text = await game.app.metrics.registry.getSingleMetricAsString('tierway_graphql_operations_total')
  return [...new Set([...text.matchAll(/operation="([^"]+)"/g)].map(([, name = '']) => name))]
}

describe('the names of operations in the metrics', () => {
  it('come from valid callers only, and nobody can use all of them up', async () => {
    await Promise.all(times(NAMES + 10, (index) => send(null, `Nobody${index}`)))
    await send('not a token', 'Faulty')
    await send({ 'x-sdk-key': game.sdkKey }, 'NoKeyAsked')
    expect(await countedNames()).toEqual(['other'])

    // A player may be anybody, too.
    const player = await game.player()
    for (const index of times(NAMES, Number)) await send(player.token, `Player${index}`)
    expect(await countedNames()).toHaveLength(NAMES_OF_ONE + 1)

    await send((await game.player()).token, 'Honest', 'me { playerId }')
    for (const index of times(NAMES, Number)) await send(game.platformKey, `Dashboard${index}`)
    const names = await countedNames()
    expect(names).toHaveLength(NAMES + 1)
    expect(names).toEqual(expect.arrayContaining(['Player0', 'Honest', 'Dashboard0']))

    // All names are used up, and those that are known still count.
    await send(player.token, 'Late')
    await send(null, 'Honest')
    const after = await countedNames()
    expect(after.sort()).toEqual(names.sort())
  })
})
