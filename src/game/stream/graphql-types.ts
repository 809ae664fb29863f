import { RawJson } from '../../base/json.ts'
import { IDENTITY_PROVIDER } from '../../declare/common.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType } from '../../declare/graphql/node.ts'
import { enumType, fieldsOf } from '../../declare/graphql/shapes.ts'
import { JsonSource } from '../../declare/source.ts'
import {
  EVENT_MEMBERS,
  EVENT_TYPES,
  type EventType,
  JOB_STATES,
  type JobState,
  type SeasonEventType,
  type StreamEvent,
} from '../../events/catalogue.ts'
import { cursorOf } from '../../events/cursor.ts'
import { GrantedTierType } from '../battlepass/graphql.ts'
import { RunCauseEnum } from '../battlepass/graphql-runs.ts'
import { assetsOf, boostsOf, type ClaimTrack, granted } from '../definition/definition.ts'
import { PhaseEnum } from '../definition/graphql.ts'
import type { Phase } from '../definition/season.ts'
import { MessageKindEnum } from '../inbox/graphql.ts'
import { type MessageKind, readRewards } from '../inbox/messages.ts'
import type { RunCause } from '../runs/runs.ts'
import { PriceType, RewardOrBoostType } from '../wallet/graphql.ts'

enumType('EventType', EVENT_TYPES, {
  description: 'The kind of an event.',
  values: {
    crossing: 'A handle of a node was crossed.',
    'inbox.received': 'A message arrived in the inbox of a player.',
    'player.created': 'A player was created by a login, or logged in for the first time after an import.',
    'run.cancelled': 'A run was cancelled.',
    'season.settled':
      'Tiers that a player had earned and not claimed were granted at the end of the season, or currencies ended.',
    'tiers.claimed': 'A pass with `autoClaim` claimed tiers for a player.',
    'season.announced': 'A season was announced.',
    'season.started': 'A season started.',
    'season.ending': 'A season is about to end.',
    'season.ended': 'A season ended: xp no longer counts, and premium is no longer sold.',
    'season.closed': 'A season closed: its tiers can no longer be claimed.',
    'grant_job.changed': 'The state of a grant job changed, or it made progress.',
    'xp.limited': 'A limit held xp of a source back, for the first time in a day of the game.',
  },
})

const { data, ...members } = EVENT_MEMBERS

/** The player of an event that is not a season's. */
function playerOf({ type, playerId }: StreamEvent): string {
  if (playerId === null) throw new Error(`an event of the type ${type} has no player`)
  return playerId
}
const player = { description: "A player's id.", resolve: playerOf } as const

export const EventInterface = builder.interfaceRef<StreamEvent>('Event').implement({
  interfaces: [NodeType],
  description: "An event of an environment's stream. Subscribe with `after` and its cursor to continue from there.",
  fields: (t) => ({
    id: t.id({ resolve: (event) => globalId('Event', cursorOf(event)) }),
    cursor: t.string({ resolve: cursorOf }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
    ...fieldsOf(t, members),
    data: t.field({
      type: 'JSON',
      description: data.description,
      // A text value cannot contain this member: its quotation marks would be escaped.
      resolve: (event) => new RawJson(event.data.replace(/"(xp|amount|limit|asked|granted)":(\d+)/g, '"$1":"$2"')),
    }),
  }),
  resolveType: (event) => typeNameOf(event),
})

// An event's data is JSON text; its integers are read exactly.
const dataOf = (event: StreamEvent): JsonSource => new JsonSource(event.data)
const readInt64 = (data: JsonSource, name: string): bigint => data.integer(name) ?? 0n
const readInt32 = (data: JsonSource, name: string): number => Number(readInt64(data, name))
const readText = (data: JsonSource, name: string): string => textOf(data, name) ?? ''
const textOf = (data: JsonSource, name: string) => data.value(name) as string | undefined

export const LevelUpEvent = builder.objectRef<StreamEvent>('LevelUpEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A pass reached a higher level.',
  fields: (t) => ({
    playerId: t.id(player),
    fromLevel: t.int({
      description:
        'The highest level that the player had gained before, also when an edit has lowered its level since.',
      resolve: (event) => readInt32(dataOf(event), 'fromLevel'),
    }),
    toLevel: t.int({ description: 'The level after.', resolve: (event) => readInt32(dataOf(event), 'toLevel') }),
    xp: t.field({ type: 'Int64', resolve: (event) => readInt64(dataOf(event), 'xp') }),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
  }),
})

export const MaxLevelEvent = builder.objectRef<StreamEvent>('MaxLevelEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A pass reached its top level, once per player and node.',
  fields: (t) => ({
    playerId: t.id(player),
    level: t.int({ resolve: (event) => readInt32(dataOf(event), 'level') }),
    xp: t.field({ type: 'Int64', resolve: (event) => readInt64(dataOf(event), 'xp') }),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
  }),
})

export const CompleteEvent = builder.objectRef<StreamEvent>('CompleteEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A node crossed `onComplete`.',
  fields: (t) => ({ playerId: t.id(player) }),
})

export const PremiumPurchaseEvent = builder.objectRef<StreamEvent>('PremiumPurchaseEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'Premium was bought for a pass.',
  fields: (t) => ({
    playerId: t.id(player),
    price: t.field({
      description: 'The paid price.',
      type: PriceType,
      resolve: (event) => {
        const price = new JsonSource(dataOf(event).objectText('price') ?? '{}')
        return { currency: readText(price, 'currency'), amount: readInt64(price, 'amount') }
      },
    }),
  }),
})

builder.objectRef<StreamEvent>('HandleCrossedEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'Any other handle of a node was crossed, or a client crossed one.',
  fields: (t) => ({ playerId: t.id(player) }),
})

export const PlayerCreatedEvent = builder.objectRef<StreamEvent>('PlayerCreatedEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A player was created.',
  fields: (t) => ({
    playerId: t.id(player),
    nickname: t.string({ nullable: true, resolve: (event) => textOf(dataOf(event), 'nickname') }),
    provider: t.string({
      nullable: true,
      description: `The provider of its first identity: ${IDENTITY_PROVIDER}`,
      resolve: (event) => textOf(dataOf(event), 'provider'),
    }),
  }),
})

export const InboxReceivedEvent = builder.objectRef<StreamEvent>('InboxReceivedEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A message arrived in the inbox of a player.',
  fields: (t) => ({
    playerId: t.id(player),
    messageId: t.id({ description: 'The message.', resolve: (event) => readText(dataOf(event), 'messageId') }),
    kind: t.field({
      type: MessageKindEnum,
      description: 'What the message is.',
      resolve: (event) => readText(dataOf(event), 'kind') as MessageKind,
    }),
    rewards: t.field({
      extensions: { size: 2 },
      type: [RewardOrBoostType],
      description: 'What can be claimed with it.',
      resolve: (event) => readRewards(dataOf(event)).map(granted),
    }),
    expiresAt: t.field({
      type: 'DateTime',
      description: 'The first time at which it is no longer there.',
      resolve: (event) => new Date(readText(dataOf(event), 'expiresAt')),
    }),
  }),
})

builder.objectRef<StreamEvent>('RunCancelledEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A run was cancelled.',
  fields: (t) => ({
    playerId: t.id(player),
    cause: t.field({
      description: 'The cause of the cancellation.',
      type: RunCauseEnum,
      resolve: (event) => readText(dataOf(event), 'cause') as RunCause,
    }),
  }),
})

builder.objectRef<StreamEvent>('SeasonSettledEvent').implement({
  interfaces: [NodeType, EventInterface],
  description:
    'The season ended for a player, once claims had closed: tiers that it had earned and not claimed were granted, and currencies ended. `data` has the rewards in all as `granted`, and the currencies that ended as `ended`.',
  fields: (t) => ({
    playerId: t.id(player),
    tiers: t.int({ description: 'The granted tiers.', resolve: (event) => readInt32(dataOf(event), 'tiers') }),
    failed: t.int({
      description:
        'The tiers, the currencies and the crossing of `onSeasonEnd` whose rewards did not fit: a balance or an amount would have passed its limit.',
      resolve: (event) => readInt32(dataOf(event), 'failed'),
    }),
  }),
})

builder.objectRef<StreamEvent>('TiersClaimedEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A pass with `autoClaim` claimed tiers for a player: once for each call that brought some.',
  fields: (t) => ({
    playerId: t.id(player),
    claimed: t.field({
      extensions: { size: 2 },
      type: [GrantedTierType],
      description: 'The claimed tiers, by level.',
      resolve: (event) =>
        (dataOf(event).objects('claimed') ?? []).map((tier) => {
          const all = tier ? readRewards(tier, 'granted').map(granted) : []
          const [level, track] = [Number(tier?.integer('level')), tier?.value('track') as ClaimTrack]
          return { level, track, granted: assetsOf(all), boosts: boostsOf(all) }
        }),
    }),
  }),
})

export const XpLimitedEvent = builder.objectRef<StreamEvent>('XpLimitedEvent').implement({
  interfaces: [NodeType, EventInterface],
  description:
    'A limit of a pass held xp back. It comes once for each player, pass, source and day of the game. Sources that the pass does not list count as one.',
  fields: (t) => ({
    playerId: t.id(player),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
    limitedBy: t.string({
      description: 'The limit: of the `source` or of the `pass`, such as `source.perDay`.',
      resolve: (event) => readText(dataOf(event), 'limitedBy'),
    }),
    limit: t.field({
      type: 'Int64',
      description: 'The amount that the limit allows.',
      resolve: (event) => readInt64(dataOf(event), 'limit'),
    }),
    asked: t.field({
      type: 'Int64',
      description: 'The amount that the call sent.',
      resolve: (event) => readInt64(dataOf(event), 'asked'),
    }),
    granted: t.field({
      type: 'Int64',
      description: 'The amount that was granted, without a bonus of premium and boosts.',
      resolve: (event) => readInt64(dataOf(event), 'granted'),
    }),
    day: t.string({
      description: 'The day of the game, such as `2026-11-25`.',
      resolve: (event) => readText(dataOf(event), 'day'),
    }),
  }),
})

export const SeasonEvent = builder.objectRef<StreamEvent>('SeasonEvent').implement({
  interfaces: [NodeType, EventInterface],
  description:
    'A phase of a season began. It comes once for each season and phase, within some two seconds, and only to platform keys.',
  fields: (t) => ({
    phase: t.field({
      type: PhaseEnum,
      description: 'The phase: `RUNNING` for `SEASON_STARTED`.',
      resolve: ({ type }) => PHASE_OF[type as SeasonEventType],
    }),
    at: t.field({
      type: 'DateTime',
      description: 'The time at which the phase began by the dates of the season.',
      resolve: (event) => new Date(readText(dataOf(event), 'at')),
    }),
  }),
})

export const JobStateType = enumType('GrantJobState', JOB_STATES, {
  description: 'Where a grant job stands.',
  values: {
    planned: 'It starts later, at `startsAt`.',
    collecting: 'Its players are looked up and frozen. Nobody has received anything.',
    'awaiting approval': 'Its players are frozen, and a second person must approve it.',
    running: 'Rewards are given to its players.',
    paused: 'Nobody receives anything until it is resumed.',
    done: 'Each of its players has received the rewards, or failed.',
    cancelled: 'It was cancelled. What was given stays given.',
    failed: 'It gave nothing, as `note` says.',
  },
})

export const GrantJobEvent = builder.objectRef<StreamEvent>('GrantJobEvent').implement({
  interfaces: [NodeType, EventInterface],
  description:
    'The state of a grant job changed, or it made progress. Progress is reported at most once a second. Only platform keys receive this event.',
  fields: (t) => ({
    jobId: t.id({ description: 'The job.', resolve: (event) => readText(dataOf(event), 'jobId') }),
    state: t.field({
      type: JobStateType,
      description: 'Where the job stands.',
      resolve: (event) => readText(dataOf(event), 'state') as JobState,
    }),
    players: t.int({ description: 'Its players.', resolve: (event) => readInt32(dataOf(event), 'players') }),
    granted: t.int({ description: 'The players who got it.', resolve: (event) => readInt32(dataOf(event), 'granted') }),
    failed: t.int({
      description: 'The players for whom nothing changed.',
      resolve: (event) => readInt32(dataOf(event), 'failed'),
    }),
  }),
})

const PHASE_OF: Readonly<Record<SeasonEventType, Phase>> = {
  'season.announced': 'announced',
  'season.started': 'running',
  'season.ending': 'ending',
  'season.ended': 'ended',
  'season.closed': 'closed',
}

/** The GraphQL types of events that are not crossings. */
const TYPES: Readonly<Record<Exclude<EventType, 'crossing'>, string>> = {
  'inbox.received': 'InboxReceivedEvent',
  'player.created': 'PlayerCreatedEvent',
  'run.cancelled': 'RunCancelledEvent',
  'season.settled': 'SeasonSettledEvent',
  'tiers.claimed': 'TiersClaimedEvent',
  'season.announced': 'SeasonEvent',
  'season.started': 'SeasonEvent',
  'season.ending': 'SeasonEvent',
  'season.ended': 'SeasonEvent',
  'season.closed': 'SeasonEvent',
  'xp.limited': 'XpLimitedEvent',
  'grant_job.changed': 'GrantJobEvent',
}

export function typeNameOf({ type, handle, byClient }: StreamEvent): string {
  if (type !== 'crossing') return TYPES[type]
  if (byClient) return 'HandleCrossedEvent'
  switch (handle) {
    case 'onLevelUp':
      return 'LevelUpEvent'
    case 'onMaxLevel':
      return 'MaxLevelEvent'
    case 'onComplete':
      return 'CompleteEvent'
    case 'onPremiumPurchase':
      return 'PremiumPurchaseEvent'
    default:
      return 'HandleCrossedEvent'
  }
}
