import { answer, out } from '../../declare/answer.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { fieldsOf } from '../../declare/graphql/shapes.ts'
import { FaultType } from '../definition/graphql.ts'
import { RewardOrBoostType } from '../wallet/graphql.ts'
import { TrackType } from './graphql.ts'
import type { ReplayedLevel, ReplayedTrack, SeasonReplay } from './replay-season.ts'

const LevelType = builder.objectRef<ReplayedLevel>('ReplayedLevel').implement({
  description: 'A level of the draft, and how many of the repeated players would have reached it.',
  fields: (t) => ({
    level: t.exposeInt('level'),
    players: t.expose('players', { type: 'Count', description: 'Players who would have reached it.' }),
    playersThen: t.expose('playersThen', {
      type: 'Count',
      description: 'Players who did reach the level of this number.',
    }),
    medianDays: t.exposeFloat('medianDays', {
      nullable: true,
      description:
        "The median of the days from a player's first xp to this level. Null when nobody would have reached it.",
    }),
    medianStepDays: t.exposeFloat('medianStepDays', {
      nullable: true,
      description: 'The median of the days from the level before to this one. Null for the first level, too.',
    }),
  }),
})

const TrackRewardsType = builder.objectRef<ReplayedTrack>('ReplayedTrack').implement({
  description: 'What the tiers of a track would have given the repeated players in all, without choices.',
  fields: (t) => ({
    track: t.expose('track', { type: TrackType }),
    rewards: t.field({ type: [RewardOrBoostType], resolve: ({ rewards }) => [...rewards] }),
  }),
})

const { members } = answer('The xp of a replay.', {
  sent: out.int64('The xp that the players sent in the season.'),
  granted: out.int64('What the draft would grant of it, with the bonus of its premium.'),
})

builder.objectRef<SeasonReplay>('SeasonReplay').implement({
  description: 'How far the players of a season would have come with a draft.',
  fields: (t) => ({
    asOf: t.expose('asOf', { type: 'DateTime' }),
    faults: t.field({
      type: [FaultType],
      description: 'The faults of the definition. With faults, nothing is repeated.',
      resolve: ({ faults }) => [...faults],
    }),
    playersInAll: t.expose('playersInAll', {
      type: 'Count',
      description: 'The players of the season. Deleted players do not count.',
    }),
    players: t.expose('players', {
      type: 'Count',
      description: 'Those who were repeated: always the same ones of a season, so that drafts can be compared.',
    }),
    owners: t.expose('owners', { type: 'Count', description: 'Those of them who own premium.' }),
    isComplete: t.exposeBoolean('isComplete', {
      description: 'False when the ledger has not all of their xp any more, so that they come less far.',
    }),
    ...fieldsOf(t, members),
    levels: t.field({
      extensions: { size: 100 },
      type: [LevelType],
      description: 'The levels of the draft, rising.',
      resolve: ({ levels }) => [...levels],
    }),
    tracks: t.field({
      type: [TrackRewardsType],
      description: 'The free track for all of them, premium for those who own it.',
      resolve: ({ tracks }) => [...tracks],
    }),
  }),
})
