import { UUID } from 'uuidv7'
import { expect, it } from 'vitest'
import { databaseNow, newId } from '../../src/db/ids.ts'
import { times } from '../harness/game.ts'

it('ids are texts of UUIDs of version 7, in the order in which they were made, with the time of their making', () => {
  // Services that other files ran in this process may have set the clock of ids.
  const before = Math.floor(databaseNow())
  const ids = times(20_000, newId)
  const after = Math.ceil(databaseNow())
  expect(new Set(ids).size).toBe(ids.length)
  expect([...ids].sort()).toEqual(ids)
  for (const id of ids) {
    const uuid = UUID.parse(id)
    expect([uuid.toString(), uuid.getVersion()]).toEqual([id, 7])
  }
  const timeOf = (id = '') => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  expect(timeOf(ids[0])).toBeGreaterThanOrEqual(before)
  expect(timeOf(ids.at(-1))).toBeLessThanOrEqual(after)
})
