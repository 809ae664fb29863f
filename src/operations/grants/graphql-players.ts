import { requireReader } from '../../callers/access.ts'
import { printCursor, readCursor } from '../../declare/cursor.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { ON_REQUEST } from '../../declare/graphql/field-marks.ts'
import { forwardPage, namesOf, readList } from '../../declare/graphql/page.ts'
import { argsOf, enumType } from '../../declare/graphql/shapes.ts'
import { someOf } from '../../declare/list-fields.ts'
import { isUuid, optional, shape } from '../../declare/shape.ts'
import { granted } from '../../game/definition/definition.ts'
import { readStored } from '../../game/inbox/messages.ts'
import { RewardOrBoostType } from '../../game/wallet/graphql.ts'
import { CAUSES, OUTCOMES } from './outcomes.ts'
import { type CauseCount, countFailures, type JobPlayer, readJobPlayers, readLargest } from './read-players.ts'

// The players of a grant job, and what became of them.

const OutcomeType = enumType('GrantOutcome', OUTCOMES, {
  description: 'What became of a player of a grant job.',
  values: {
    granted: 'The player received it. Of a job that undoes another: what the player still had was taken back.',
    failed: 'Nothing changed, as `cause` says.',
  },
})
const CauseType = enumType('GrantFailure', CAUSES, {
  description: 'Why nothing changed for a player of a grant job.',
  values: {
    'player not found': 'The player is gone.',
    'player banned': 'The player is banned, and gets no xp.',
    'player deleted': 'The player is deleted.',
    'scenario not found': 'The scenario is gone.',
    'node not found': 'The current version of the scenario has no such node.',
    'run not active': 'The player has no active run of the scenario.',
    'season closed': 'Xp can be added from `startsAt` to `endsAt`.',
    'xp limit exceeded': 'The xp would pass the largest 64-bit integer.',
    'balance limit exceeded': 'A balance or an amount would pass the largest 64-bit integer.',
    'premium not available': 'The pass sells no premium.',
    'premium tiers claimed': 'Premium cannot be revoked, since premium tiers are claimed.',
    'top level reached': 'The player is at the top level.',
    'premium owned': 'The player owns premium already.',
    'premium not owned': 'The player no longer owns premium.',
    'inbox full': 'The inbox holds as many messages as it can.',
    'nothing left': 'The player has spent all of it, or the message is gone.',
  },
})

const JobPlayerType = builder.objectRef<JobPlayer>('GrantJobPlayer').implement({
  description: 'A player of a grant job.',
  fields: (t) => ({
    playerId: t.exposeID('playerId', { description: "The player's id." }),
    player: t.prismaField({
      type: 'Player',
      nullable: true,
      description: 'The player.',
      resolve: (query, { environmentId, playerId: id }, _args, { prisma }) =>
        prisma.player.findUnique({ ...query, where: { environmentId_id: { environmentId, id } } }),
    }),
    outcome: t.expose('outcome', {
      type: OutcomeType,
      nullable: true,
      description: 'What became of the player. Null while it waits.',
    }),
    cause: t.expose('cause', { type: CauseType, nullable: true, description: 'Why it failed. Null otherwise.' }),
    amount: t.field({
      type: 'Int64',
      nullable: true,
      description: "The player's amount of the list, or the xp that it got. Null otherwise.",
      resolve: ({ amount }) => (amount === null ? null : BigInt(amount)),
    }),
    granted: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'The rewards that it got, or that were taken back. Empty without any.',
      resolve: ({ given }) => (given === null ? [] : readStored(given).map(granted)),
    }),
    messageId: t.exposeID('messageId', { nullable: true, description: 'The message in its inbox. Null without one.' }),
    actedAt: t.expose('actedAt', { type: 'DateTime', nullable: true, description: 'The time of the outcome.' }),
  }),
})

export const CauseCountType = builder.objectRef<CauseCount>('GrantFailureCount').implement({
  description: 'A number of players for whom nothing changed, by the cause.',
  fields: (t) => ({
    cause: t.expose('cause', { type: CauseType, description: 'The cause.' }),
    players: t.field({ type: 'Count', description: 'Their number.', resolve: ({ players }) => BigInt(players) }),
  }),
})

const outcomesRequest = shape({
  outcomes: optional(someOf('Only players with one of these outcomes. Default: all, also those who wait.', OUTCOMES)),
})
const PLAYERS_CURSOR = 'grant-player'
const readPlace = (cursor: string): string | undefined => {
  const id = readCursor(PLAYERS_CURSOR, cursor)
  return id !== undefined && isUuid(id) ? id : undefined
}

builder.prismaObjectFields('GrantJob', (t) => ({
  failedByCause: t.field({
    extensions: { ...ON_REQUEST, size: 3 },
    type: [CauseCountType],
    description: 'The players for whom nothing changed, by the cause, the most first.',
    resolve: ({ id }, _args, { service }) => countFailures(service.operatorPool, id),
  }),
  largest: t.field({
    extensions: { ...ON_REQUEST, size: 10 },
    type: [JobPlayerType],
    description: 'The ten players with the largest amounts of the list. Empty without a list with amounts.',
    select: { amount: true },
    resolve: async ({ id, amount }, _args, context) => {
      await requireReader({ ...context, isCounted: true })
      return amount.isZero() ? [] : readLargest(context.service.operatorPool, id)
    },
  }),
  jobPlayers: t.connection(
    {
      type: JobPlayerType,
      description: 'Its players, by their ids. They are kept for 400 days after its end.',
      args: argsOf(outcomesRequest),
      resolve: async ({ id }, args, context) => {
        await requireReader({ ...context, isCounted: true })
        const { service } = context
        const { size, after, outcomes } = readList(outcomesRequest, args, readPlace)
        const found = await readJobPlayers(service.operatorPool, id, { outcomes, after, most: size + 1 })
        return forwardPage(found, { size, after }, ({ playerId }) => printCursor(PLAYERS_CURSOR, playerId))
      },
    },
    ...namesOf('GrantJobPlayer'),
  ),
}))
