import { describe, expect, it } from 'vitest'
import type { Command } from '../../src/transactions/command.ts'
import { Player } from '../../src/transactions/player.ts'
import { type Entry, Queue } from '../../src/transactions/queue.ts'
import { times } from '../harness/game.ts'
import { collectGarbage, collectYoungGarbage } from '../harness/garbage.ts'

const PLAYERS = 256
const CALL_BYTES = 16 * 1024

/** A call that holds some memory. */
function entryOf(player: Player): Entry {
  const decide = () => {
    throw new Error('no group decides it')
  }
  const command: Command<unknown> & { load: number[] } = { decide, load: new Array(CALL_BYTES / 8).fill(1) }
  const settled = { resolve: () => undefined, reject: () => undefined }
  return {
    command,
    player,
    ...settled,
    deadline: 1e9,
    isSettled: false,
    span: undefined,
    admit: undefined,
    isAlone: false,
    isFresh: true,
  }
}

describe('the queue of calls', () => {
  it('keeps no answered call in young memory, also after a full collection while calls waited', () => {
    const players = times(PLAYERS, (n) => new Player({ environmentId: 'e', playerId: `p${n}` }))
    const queue = new Queue({
      maxBatch: PLAYERS / 2,
      isExclusive: true,
      isRemembered: () => false,
      failure: () => undefined,
    })
    function answer(): void {
      const lines = queue.take('transaction')
      for (const entry of lines.flatMap(({ taken }) => taken)) entry.isSettled = true
      queue.putBack(lines)
    }
    let most = 0
    let before = 0
    for (let round = 0; round < 100; round += 1) {
      for (const player of players) queue.add(entryOf(player))
      if (round === 10) {
        collectGarbage()
        before = process.memoryUsage().heapUsed
      }
      while (queue.size > 0) answer()
      collectYoungGarbage()
      if (round > 10) most = Math.max(most, process.memoryUsage().heapUsed - before)
    }
    queue.close()
    // The calls of a few rounds are still young.
    expect(most).toBeLessThan(5 * PLAYERS * CALL_BYTES)
  })
})
