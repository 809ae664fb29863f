import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { readBody } from '../../../src/declare/request.ts'
import { times } from '../../harness/game.ts'

it('long bodies that arrive together are handed over one per turn of the event loop', async () => {
  let turn = 0
  const count = () => {
    turn += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const bodies = times(10, async () => {
    const request = Object.assign(Readable.from([Buffer.alloc(100_000)]), { headers: {} })
    await readBody(request as unknown as IncomingMessage, 200_000)
    return turn
  })
  const turns = await Promise.all(bodies)
  clearImmediate(counting)
  expect(new Set(turns).size).toBe(turns.length)
})
