import { type GameClock, gameTimeAt } from '../../base/game-clock.ts'
import { databaseNow } from '../../db/ids.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { CLOCK_FIELDS, clockOf } from './game-clock.ts'

// The clock of an environment for tests.

const ClockType = builder.objectRef<GameClock>('EnvironmentClock').implement({
  description:
    'The clock of an environment for tests. Seasons, boosts, limits by the day and planned publications follow it. Keys, tokens, bans, ledgers and the times of events keep the real time.',
  fields: (t) => ({
    now: t.field({
      type: 'DateTime',
      description: "The game's time now.",
      resolve: (clock) => new Date(gameTimeAt(clock, databaseNow())),
    }),
    rate: t.exposeInt('rate', { description: "How many times as fast as the real time the game's time runs." }),
    aheadSeconds: t.field({
      type: 'Int64',
      description: "By how many seconds the game's time is ahead of the real time now. Negative when it is behind.",
      resolve: (clock) => {
        const real = databaseNow()
        return BigInt(Math.round((gameTimeAt(clock, real) - real) / 1000))
      },
    }),
    setAt: t.field({
      type: 'DateTime',
      description: 'The real time at which the clock was set.',
      resolve: ({ setAt }) => new Date(setAt),
    }),
  }),
})

builder.prismaObjectField('Environment', 'clock', (t) =>
  t.field({
    type: ClockType,
    nullable: true,
    description: "The clock that was set. Null when the game's time is the real one, as it always is in production.",
    select: CLOCK_FIELDS,
    resolve: clockOf,
  }),
)
