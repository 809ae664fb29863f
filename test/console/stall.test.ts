import { expect, it } from 'vitest'
import { findStall } from '../../console/src/battlepass/stall.ts'

/** Levels from 1 on, by the players who have reached each. */
const levels = (...reached: number[]) => reached.map((count, index) => ({ level: index + 1, reached: count }))

it.each([
  ['is where the largest share has not gone on', levels(1_000, 900, 450, 440), { level: 2, players: 450, share: 0.5 }],
  ['is not the last level', levels(100, 100, 100), undefined],
  ['is not where only a few have stopped, whatever their share', levels(10, 10, 8, 8), undefined],
  ['is not where only a small share has stopped', levels(1_000, 960, 930), undefined],
  ['is not a level that few have reached', levels(1_000, 1_000, 40, 10), { level: 2, players: 960, share: 0.96 }],
])('the level where players stop most %s', (_what, given, stall) => {
  expect(findStall(given)).toEqual(stall)
})
