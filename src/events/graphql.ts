import { requirePlatform } from '../auth/access.ts'
import { invalidRequest, Refusal } from '../errors.ts'
import { Fields } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { type PageArgs, readPage } from '../graphql/page.ts'
import { MAX_INT64, MIN_INT64, members, RawJson } from '../json.ts'
import { admitPlayer } from '../players/standing.ts'
import { findEnvironment } from '../projects/projects.ts'
import { PriceType } from '../wallet/graphql.ts'
import type { StreamEvent } from './catalogue.ts'
import { printCursor, readCursor } from './cursor.ts'
import { type EventFilter, readEvents } from './history.ts'

const MAX_NAMES = 100
const MAX_CURSOR = 256

const EventTypeEnum = builder.enumType('EventType', {
  description: 'What an event tells.',
  values: {
    crossing: { value: 'crossing', description: 'A handle of a node was crossed.' },
    playerCreated: { value: 'player.created', description: 'A player was created by a login.' },
  } as const,
})

const EventInterface = builder.interfaceRef<StreamEvent>('Event').implement({
  description:
    "An event of an environment's stream. Its cursor names its place: subscribe with `after` to go on from there.",
  fields: (t) => ({
    cursor: t.string({ resolve: (event) => printCursor(event.environmentId, event.position) }),
    type: t.expose('type', { description: 'What it tells.', type: EventTypeEnum }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
    playerId: t.exposeID('playerId'),
    scenarioId: t.exposeString('scenarioId', {
      description: 'Where it was crossed; null for events that are no crossing.',
      nullable: true,
    }),
    nodeId: t.exposeString('nodeId', {
      description: 'The node whose handle was crossed; null for events that are no crossing.',
      nullable: true,
    }),
    runId: t.exposeString('runId', {
      description: 'The run in which it was crossed; null for events that are no crossing.',
      nullable: true,
    }),
    handle: t.exposeString('handle', {
      nullable: true,
      description: 'The crossed handle; null for events that are no crossing.',
    }),
    data: t.field({
      type: 'JSON',
      description: "The event's own members.",
      resolve: (event) => new RawJson(event.data),
    }),
  }),
  resolveType: (event) => typeNameOf(event),
})

// An event's data is JSON text; its integers are read exactly.
const dataOf = (event: StreamEvent): Fields => Fields.ofJson(event.data)
const readInt64 = (fields: Fields, name: string): bigint =>
  fields.optionalInt64(name, { min: MIN_INT64, max: MAX_INT64 }) ?? 0n
const readInt32 = (fields: Fields, name: string): number => fields.optionalInt32(name, { min: 0 }) ?? 0
const readText = (fields: Fields, name: string): string => fields.optionalText(name, { min: 0, max: 128 }) ?? ''

const LevelUpEvent = builder.objectRef<StreamEvent>('LevelUpEvent').implement({
  interfaces: [EventInterface],
  description: 'A pass reached a higher level.',
  fields: (t) => ({
    fromLevel: t.int({ description: 'The level before.', resolve: (event) => readInt32(dataOf(event), 'fromLevel') }),
    toLevel: t.int({ description: 'The level after.', resolve: (event) => readInt32(dataOf(event), 'toLevel') }),
    xp: t.field({ type: 'Int64', resolve: (event) => readInt64(dataOf(event), 'xp') }),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
  }),
})

const MaxLevelEvent = builder.objectRef<StreamEvent>('MaxLevelEvent').implement({
  interfaces: [EventInterface],
  description: 'A pass reached its top level, once per player and node.',
  fields: (t) => ({
    level: t.int({ resolve: (event) => readInt32(dataOf(event), 'level') }),
    xp: t.field({ type: 'Int64', resolve: (event) => readInt64(dataOf(event), 'xp') }),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
  }),
})

const CompleteEvent = builder.objectRef<StreamEvent>('CompleteEvent').implement({
  interfaces: [EventInterface],
  description: 'A node crossed `onComplete`.',
})

const PremiumPurchaseEvent = builder.objectRef<StreamEvent>('PremiumPurchaseEvent').implement({
  interfaces: [EventInterface],
  description: 'Premium was bought for a pass.',
  fields: (t) => ({
    price: t.field({
      description: 'What was paid.',
      type: PriceType,
      resolve: ({ data }) => {
        const price = Fields.ofJson(members(data).get('price') ?? '{}')
        return { currency: readText(price, 'currency'), amount: readInt64(price, 'amount') }
      },
    }),
  }),
})

builder.objectRef<StreamEvent>('HandleCrossedEvent').implement({
  interfaces: [EventInterface],
  description: 'Any other handle of a node was crossed.',
})

const PlayerCreatedEvent = builder.objectRef<StreamEvent>('PlayerCreatedEvent').implement({
  interfaces: [EventInterface],
  description: 'A player was created.',
  fields: (t) => ({
    nickname: t.string({ nullable: true, resolve: (event) => dataOf(event).optionalText('nickname', { max: 128 }) }),
    provider: t.string({
      nullable: true,
      description: 'Of its first identity: `custom`, or `custom:` and the name of another provider.',
      resolve: (event) => dataOf(event).optionalText('provider', { max: 64 }),
    }),
  }),
})

function typeNameOf({ type, handle }: StreamEvent): string {
  if (type === 'player.created') return 'PlayerCreatedEvent'
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

const setOf = (names: readonly string[] | null): ReadonlySet<string> | null => names && new Set(names)

interface EventArgs {
  readonly environment?: string | null
  readonly scenarioId?: string | null
  readonly nodeId?: string | null
  readonly playerId?: string | null
  readonly after?: string | null
  readonly types?: readonly string[] | null
  readonly handles?: readonly string[] | null
}

/** Whose events are asked for, of which place and kind. */
async function readFilter(context: Context, args: EventArgs) {
  const { environment, ...filter } = Fields.ofInput(args).read((fields) => ({
    environment: fields.optionalText('environment', { max: 32 }),
    scenarioId: fields.optionalText('scenarioId', { max: 128 }),
    nodeId: fields.optionalText('nodeId', { max: 128 }),
    playerId: fields.optionalId('playerId')?.toLowerCase() ?? null,
    ...readKinds(fields),
  }))
  return { ...filter, ...(await readScope(context, { environment, playerId: filter.playerId })) }
}

const readKinds = (fields: Fields) => ({
  types: setOf(fields.optionalTexts('types', { max: MAX_NAMES })),
  handles: setOf(fields.optionalTexts('handles', { max: MAX_NAMES })),
})

/**
 * The events that a caller may see, narrowed by its arguments: a player sees its own, a platform key its project's.
 * A player that asks for another's events is refused, not shown nothing.
 */
async function follow(context: Context, args: EventArgs) {
  const cursor = Fields.ofInput(args).read((fields) => fields.optionalText('after', { max: MAX_CURSOR }))
  const { environmentId, playerId, scenarioId, nodeId, types, handles } = await readFilter(context, args)
  // A stream of server-sent events comes back with the address that it began with: what it has heard is the later word.
  const after = context.lastEventId ?? cursor
  return context.feeds.follow({
    environmentId,
    after: after === null ? null : readCursor(environmentId, after),
    playerId,
    matches: (event) =>
      (playerId === null || event.playerId === playerId) &&
      (scenarioId === null || event.scenarioId === scenarioId) &&
      (nodeId === null || event.nodeId === nodeId) &&
      (types === null || types.has(event.type)) &&
      (handles === null || (event.handle !== null && handles.has(event.handle))),
  })
}

async function readScope(
  context: Context,
  { environment, playerId }: { environment: string | null; playerId: string | null },
) {
  const caller = await context.caller()
  if (caller.kind === 'player') {
    await context.service.run(admitPlayer(caller))
    if (playerId !== null && playerId !== caller.playerId) throw new Refusal('forbidden')
    // A player has one environment, whatever its name: it need not be given, and no other can be.
    if (
      environment !== null &&
      (await findEnvironment(context.service.pool, caller.projectId, readName(environment))) !== caller.environmentId
    ) {
      throw new Refusal('forbidden')
    }
    return { environmentId: caller.environmentId, playerId: caller.playerId }
  }
  return {
    environmentId: await findEnvironment(context.service.pool, caller.projectId, readName(environment)),
    playerId,
  }
}

const readName = (environment: string | null): string =>
  Fields.ofInput({ environment }).read((fields) => fields.text('environment', { max: 32 }))

builder.subscriptionFields((t) => {
  const scope = {
    environment: t.arg.string({ description: 'Required for a platform key; a player has its own.' }),
    after: t.arg.string({ description: 'A cursor: events after it are replayed, then joined to the live ones.' }),
  }
  const place = { ...scope, scenarioId: t.arg.string(), nodeId: t.arg.string(), playerId: t.arg.string() }
  const crossings = (type: typeof LevelUpEvent, handle: string, description: string) =>
    t.field({
      type,
      description,
      args: place,
      subscribe: (_root, args, context) => follow(context, { ...args, handles: [handle] }),
      resolve: (event: StreamEvent) => event,
    })
  return {
    onLevelUp: crossings(LevelUpEvent, 'onLevelUp', 'Passes that reach a higher level.'),
    onMaxLevel: crossings(MaxLevelEvent, 'onMaxLevel', 'Passes that reach their top level, once each.'),
    onComplete: crossings(CompleteEvent, 'onComplete', 'Nodes that cross `onComplete`.'),
    onPremiumPurchase: crossings(PremiumPurchaseEvent, 'onPremiumPurchase', 'Premium that is bought.'),
    playerCreated: t.field({
      type: PlayerCreatedEvent,
      description: 'Players that are created.',
      args: scope,
      subscribe: (_root, args, context) => follow(context, { ...args, types: ['player.created'] }),
      resolve: (event: StreamEvent) => event,
    }),
    events: t.field({
      type: EventInterface,
      description: 'All events, in the order of the stream.',
      args: { ...place, types: t.arg({ type: [EventTypeEnum] }), handles: t.arg.stringList() },
      subscribe: (_root, args, context) => follow(context, args),
      resolve: (event: StreamEvent) => event,
    }),
  }
})

builder.queryField('streamCursor', (t) =>
  t.string({
    description: "The present end of an environment's stream: subscribe with `after` to hear all that follows.",
    args: { environment: t.arg.string({ description: 'Required for a platform key; a player has its own.' }) },
    resolve: async (_root, { environment }, context) => {
      const caller = await context.caller()
      if (caller.kind === 'platform') await requirePlatform(context, 'viewer')
      const { environmentId } = await readScope(context, { environment: environment ?? null, playerId: null })
      return printCursor(environmentId, await context.feeds.end(environmentId))
    },
  }),
)

builder.queryField('events', (t) =>
  t.connection({
    type: EventInterface,
    description:
      'The history of a stream, in its order. Cursors are the stream’s own: subscribe with `after: pageInfo.endCursor` to go on live. `last` gives the latest.',
    args: {
      environment: t.arg.string({ description: 'Required for a platform key; a player has its own.' }),
      types: t.arg({ type: [EventTypeEnum] }),
      handles: t.arg.stringList(),
      scenarioId: t.arg.string(),
      nodeId: t.arg.string(),
      playerId: t.arg.string(),
      from: t.arg({ type: 'DateTime', description: 'The first moment that counts.' }),
      to: t.arg({ type: 'DateTime', description: 'The first moment that does not count any more.' }),
    },
    resolve: async (_root, args, context) => {
      const { from = null, to = null } = args
      if (from && to && from >= to) throw invalidRequest({ path: 'to', message: 'must be after from' })
      const page = readEventPage(args)
      return readHistory(context, { ...(await readFilter(context, args)), from, to }, page)
    },
  }),
)

builder.prismaObjectField('Player', 'events', (t) =>
  t.connection({
    type: EventInterface,
    description:
      'Its events in the order of the stream, as `Query.events` has them with its `playerId`: the same cursors, and `last` gives the latest.',
    args: { types: t.arg({ type: [EventTypeEnum] }), handles: t.arg.stringList() },
    resolve: ({ environmentId, id: playerId }, args, context) => {
      const page = readEventPage(args)
      const { types, handles } = Fields.ofInput(args).read(readKinds)
      const anywhere = { scenarioId: null, nodeId: null, from: null, to: null }
      return readHistory(context, { ...anywhere, environmentId, playerId, types, handles }, page)
    },
  }),
)

type AskedPage = PageArgs & ReturnType<typeof readPage>

const readEventPage = (args: PageArgs): AskedPage => ({
  ...args,
  ...Fields.ofInput({ ...args }).read((fields) => readPage(fields, args)),
})

/** A page of a stream. Its cursors are the stream's own. */
async function readHistory(context: Context, filter: EventFilter, { size, backwards, after, before }: AskedPage) {
  const { environmentId } = filter
  const cursorOf = (position: bigint) => printCursor(environmentId, position)
  const positionOf = (path: 'after' | 'before', cursor: string | null = null) =>
    cursor === null ? null : readCursor(environmentId, cursor, path)
  const page = { after: positionOf('after', after), before: positionOf('before', before), limit: size + 1, backwards }
  const { events, end } = await readEvents(context.service.operatorPool, filter, page)

  const edges = events.slice(0, size).map((node) => ({ cursor: cursorOf(node.position), node }))
  if (backwards) edges.reverse()
  const hasMore = events.length > size
  // Without any, whoever goes on from here misses nothing.
  const here = after ?? before ?? cursorOf(end)
  return {
    edges,
    pageInfo: {
      startCursor: edges[0]?.cursor ?? here,
      endCursor: edges.at(-1)?.cursor ?? here,
      hasPreviousPage: backwards ? hasMore : page.after !== null,
      hasNextPage: backwards ? page.before !== null : hasMore,
    },
  }
}
