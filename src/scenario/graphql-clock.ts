import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { type GameClock, gameTimeAt } from '../base/game-clock.ts'
import { requirePlatform } from '../callers/access.ts'
import { databaseNow } from '../db/ids.ts'
import { builder } from '../declare/graphql/builder.ts'
import { inputOf } from '../declare/graphql/shapes.ts'
import { findEnvironment } from '../projects/projects.ts'
import { CLOCK_FIELDS, clockOf } from './game-clock.ts'
import { checkAt, setClock, setClockRequest } from './set-clock.ts'

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

const PayloadType = builder
  .objectRef<Audited & { readonly environmentId: string }>('SetEnvironmentClockPayload')
  .implement({
    fields: (t) => ({
      environment: t.prismaField({
        type: 'Environment',
        description: 'The environment with its clock.',
        resolve: (query, { environmentId: id }, _args, { prisma }) =>
          prisma.environment.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  })
addAuditEntry(PayloadType, 'Null when the clock was the real one and stays so.')

builder.mutationField('setEnvironmentClock', (t) =>
  t.field({
    type: PayloadType,
    description:
      'Sets the clock of an environment for tests: ahead, back, or faster. Without `at` and `rate` it is the real one again. Counts from the next call on. Refused for an environment of real players.',
    args: inputOf('SetEnvironmentClockInput', setClockRequest),
    resolve: async (_root, { input }, context) => {
      const { operatorPool, gameClocks, pool } = context.service
      const caller = await requirePlatform(context, 'manage', { action: ACTIONS.setClock, target: input.environment })
      const asked = setClockRequest.readInput(input, checkAt)
      const environmentId = await findEnvironment(pool, caller.projectId, asked.environment)
      const auditId = await setClock(operatorPool, caller, { ...asked, environmentId })
      await gameClocks.refresh()
      return { environmentId, audit: auditRef(caller, auditId) }
    },
  }),
)
