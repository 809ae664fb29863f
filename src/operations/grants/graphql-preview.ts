import { builder } from '../../declare/graphql/builder.ts'
import { RewardOrBoostType } from '../../game/wallet/graphql.ts'
import { CauseCountType } from './graphql-players.ts'
import type { PreviewedJob, PreviewedUndo } from './preview.ts'

// What a grant job, or its undo, would do.

const LargestType = builder.objectRef<PreviewedJob['largest'][number]>('GrantLargest').implement({
  description: 'A player of a list with its amount.',
  fields: (t) => ({
    playerId: t.exposeID('playerId', { description: "The player's id." }),
    amount: t.expose('amount', { type: 'Int64', description: 'The amount.' }),
  }),
})

builder.objectRef<PreviewedJob>('PreviewGrantJobResult').implement({
  description: 'What a grant job would do now.',
  fields: (t) => ({
    players: t.field({
      type: 'Count',
      description: 'The players that it would reach. When `isExact` is false, there may be more.',
      resolve: ({ players }) => BigInt(players),
    }),
    isExact: t.exposeBoolean('isExact', {
      description: 'False when there may be more players than were looked at; the other figures are of those, too.',
    }),
    total: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What all players would get, each currency and item once.',
      resolve: ({ total }) => [...total.rewards],
    }),
    totalXp: t.field({
      type: 'Int64',
      description: 'The xp that all players would get. 0 for levels.',
      resolve: ({ total }) => total.xp,
    }),
    needsApproval: t.exposeBoolean('needsApproval', {
      description: 'Whether a second person would have to approve it.',
    }),
    largest: t.field({
      extensions: { size: 10 },
      type: [LargestType],
      description: 'The ten players with the largest amounts of the list. Empty without a list with amounts.',
      resolve: ({ largest }) => [...largest],
    }),
    failing: t.field({
      extensions: { size: 3 },
      type: [CauseCountType],
      description: 'The players who would get nothing now, by the cause, as far as it is known before.',
      resolve: ({ failing }) => [...failing],
    }),
  }),
})

builder.objectRef<PreviewedUndo>('PreviewGrantUndoResult').implement({
  description: 'What an undo of a grant job could take back now.',
  fields: (t) => ({
    players: t.field({
      type: 'Count',
      description: 'The players who got something. When `isExact` is false, there may be more.',
      resolve: ({ players }) => BigInt(players),
    }),
    isExact: t.exposeBoolean('isExact', { description: 'False when there may be more than was looked at.' }),
    given: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What they got in all.',
      resolve: ({ given }) => [...given],
    }),
    taken: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What could be taken back now. The rest is spent.',
      resolve: ({ taken }) => [...taken],
    }),
    unclaimedMessages: t.field({
      type: 'Count',
      description: 'Messages that would be cancelled, as nobody has claimed them.',
      resolve: ({ unclaimedMessages }) => BigInt(unclaimedMessages),
    }),
    premium: t.field({
      type: 'Count',
      description: 'The players from whom premium could be revoked: those who have claimed no premium tier.',
      resolve: ({ premium }) => BigInt(premium),
    }),
  }),
})
