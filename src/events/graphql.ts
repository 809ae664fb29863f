import { requirePlatform } from '../auth/access.ts'
import { type Fault, Refusal, refuseFaults } from '../errors.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { globalId } from '../graphql/global-id.ts'
import { NodeType, nodesOf } from '../graphql/node.ts'
import { namesOf, type PageArgs, readPage } from '../graphql/page.ts'
import { argsOf, enumType } from '../graphql/shapes.ts'
import { RawJson } from '../json.ts'
import { admitPlayer } from '../players/player-status.ts'
import { findEnvironment } from '../projects/projects.ts'
import { checkSpan, environment, nodeId, playerId, scenarioId, span } from '../request/common.ts'
import { described, mapped, optional, type RequestOf, shape, someOf, text, texts } from '../request/shape.ts'
import { JsonSource } from '../request/source.ts'
import { RunCauseEnum } from '../scenario/graphql-runs.ts'
import type { RunCause } from '../scenario/runs.ts'
import { PriceType } from '../wallet/graphql.ts'
import { EVENT_TYPES, type StreamEvent } from './catalogue.ts'
import { printCursor, readCursor, readEnvironmentId } from './cursor.ts'
import { type HistoryFilter, readEvent, readEvents } from './history.ts'

const MAX_NAMES = 100
const MAX_CURSOR = 256

const EventTypeEnum = enumType('EventType', EVENT_TYPES, {
  description: 'The kind of an event.',
  values: {
    crossing: 'A handle of a node was crossed.',
    'player.created': 'A player was created by a login.',
    'run.cancelled': 'A run was cancelled.',
  },
})

const cursorOf = ({ environmentId, position }: StreamEvent): string => printCursor(environmentId, position)

const EventInterface = builder.interfaceRef<StreamEvent>('Event').implement({
  interfaces: [NodeType],
  description: "An event of an environment's stream. Subscribe with `after` and its cursor to continue from there.",
  fields: (t) => ({
    id: t.id({ resolve: (event) => globalId('Event', cursorOf(event)) }),
    cursor: t.string({ resolve: cursorOf }),
    type: t.expose('type', { description: 'The kind of event.', type: EventTypeEnum }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
    playerId: t.exposeID('playerId'),
    scenarioId: t.exposeString('scenarioId', {
      description: 'The scenario of the run; null for `PLAYER_CREATED`.',
      nullable: true,
    }),
    nodeId: t.exposeString('nodeId', {
      description: 'The node of the crossed handle; null for an event that is no crossing.',
      nullable: true,
    }),
    runId: t.exposeString('runId', {
      description: 'The run; null for `PLAYER_CREATED`.',
      nullable: true,
    }),
    handle: t.exposeString('handle', {
      nullable: true,
      description: 'The crossed handle; null for an event that is no crossing.',
    }),
    byClient: t.exposeBoolean('byClient', {
      description:
        'True when a client crossed the handle of a node that the client runs: the service has not verified it.',
    }),
    data: t.field({
      type: 'JSON',
      description:
        "The event's data. Each type of event has it as fields, too. Xp and amounts are decimal strings, as Int64.",
      // A text value cannot contain this member: its quotation marks would be escaped.
      resolve: (event) => new RawJson(event.data.replace(/"(xp|amount)":(\d+)/g, '"$1":"$2"')),
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

const LevelUpEvent = builder.objectRef<StreamEvent>('LevelUpEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A pass reached a higher level.',
  fields: (t) => ({
    fromLevel: t.int({ description: 'The level before.', resolve: (event) => readInt32(dataOf(event), 'fromLevel') }),
    toLevel: t.int({ description: 'The level after.', resolve: (event) => readInt32(dataOf(event), 'toLevel') }),
    xp: t.field({ type: 'Int64', resolve: (event) => readInt64(dataOf(event), 'xp') }),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
  }),
})

const MaxLevelEvent = builder.objectRef<StreamEvent>('MaxLevelEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A pass reached its top level, once per player and node.',
  fields: (t) => ({
    level: t.int({ resolve: (event) => readInt32(dataOf(event), 'level') }),
    xp: t.field({ type: 'Int64', resolve: (event) => readInt64(dataOf(event), 'xp') }),
    source: t.string({ resolve: (event) => readText(dataOf(event), 'source') }),
  }),
})

const CompleteEvent = builder.objectRef<StreamEvent>('CompleteEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A node crossed `onComplete`.',
})

const PremiumPurchaseEvent = builder.objectRef<StreamEvent>('PremiumPurchaseEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'Premium was bought for a pass.',
  fields: (t) => ({
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
})

const PlayerCreatedEvent = builder.objectRef<StreamEvent>('PlayerCreatedEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A player was created.',
  fields: (t) => ({
    nickname: t.string({ nullable: true, resolve: (event) => textOf(dataOf(event), 'nickname') }),
    provider: t.string({
      nullable: true,
      description: 'The provider of its first identity: `custom`, or `custom:` and the name of another provider.',
      resolve: (event) => textOf(dataOf(event), 'provider'),
    }),
  }),
})

builder.objectRef<StreamEvent>('RunCancelledEvent').implement({
  interfaces: [NodeType, EventInterface],
  description: 'A run was cancelled.',
  fields: (t) => ({
    cause: t.field({
      description: 'The cause of the cancellation.',
      type: RunCauseEnum,
      resolve: (event) => readText(dataOf(event), 'cause') as RunCause,
    }),
  }),
})

function typeNameOf({ type, handle, byClient }: StreamEvent): string {
  if (type === 'player.created') return 'PlayerCreatedEvent'
  if (type === 'run.cancelled') return 'RunCancelledEvent'
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

const setOf = (names: readonly string[] | null): ReadonlySet<string> | null => names && new Set(names)

const kinds = {
  types: mapped(optional(someOf('Only these kinds.', EVENT_TYPES)), setOf),
  handles: mapped(optional(texts('Only these handles, such as `onLevelUp`: up to 100.', { max: MAX_NAMES })), setOf),
}
const scope = {
  environment: optional(described(environment, 'Required for a platform key. A player has its own environment.')),
}
const place = {
  scenarioId: optional(described(scenarioId, 'Only this scenario.')),
  nodeId: optional(described(nodeId, 'Only this node.')),
  playerId: mapped(
    optional({ ...described(playerId, 'Only this player.'), type: 'String' }),
    (id) => id?.toLowerCase() ?? null,
  ),
}
const followed = {
  ...scope,
  after: optional(text('A cursor. The events after it are replayed, and live ones follow.', { max: MAX_CURSOR })),
}
const scopeRequest = shape(scope)
const kindsRequest = shape(kinds)
const playersCreatedRequest = shape(followed)
const crossingsRequest = shape({ ...followed, ...place })
const followRequest = shape({ ...crossingsRequest.fields, ...kinds })
const historyRequest = shape({
  ...scope,
  ...kinds,
  ...place,
  ...span,
})

/** The filter of the requested events. */
async function readFilter(context: Context, request: Omit<RequestOf<typeof followRequest>, 'after'>) {
  const { environment, scenarioId, nodeId, playerId, types, handles } = request
  const scope = await readScope(context, { environment, playerId })
  return { scenarioId, nodeId, types, handles, byClient: null, ...scope }
}

/**
 * The events that a caller may see, narrowed by the arguments: a player's own, or those of a platform key's project. A
 * player that asks for another player's events is refused.
 */
async function follow(context: Context, args: object, byClient: boolean | null = null) {
  const { after: cursor, ...request } = followRequest.readInput(args)
  const { environmentId, ...filter } = await readFilter(context, request)
  // A reconnecting stream of server-sent events repeats its first URL: `Last-Event-ID` is newer than the cursor in it.
  const after = context.lastEventId ?? cursor
  return context.subscriptions.open({
    environmentId,
    after: after === null ? null : readCursor(environmentId, after),
    filter: { ...filter, byClient },
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
    // A player belongs to one environment. It need not name it, and must not name another.
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

const namedRequest = shape({ environment })
const readName = (name: string | null): string => namedRequest.readInput({ environment: name }).environment

builder.subscriptionFields((t) => {
  const crossings = (type: typeof LevelUpEvent, handle: string, description: string) =>
    t.field({
      type,
      description,
      args: argsOf(crossingsRequest),
      // A client can also cross `onComplete` of its own nodes.
      subscribe: (_root, args, context) => follow(context, { ...args, handles: [handle] }, false),
      resolve: (event: StreamEvent) => event,
    })
  return {
    onLevelUp: crossings(LevelUpEvent, 'onLevelUp', 'Passes that reach a higher level, live.'),
    onMaxLevel: crossings(MaxLevelEvent, 'onMaxLevel', 'Passes that reach their top level, once each, live.'),
    onComplete: crossings(CompleteEvent, 'onComplete', 'Crossings of `onComplete` by nodes that the service runs.'),
    onPremiumPurchase: crossings(PremiumPurchaseEvent, 'onPremiumPurchase', 'Purchases of premium, live.'),
    playerCreated: t.field({
      type: PlayerCreatedEvent,
      description: 'New players, live.',
      args: argsOf(playersCreatedRequest),
      subscribe: (_root, args, context) => follow(context, { ...args, types: ['player.created'] }),
      resolve: (event: StreamEvent) => event,
    }),
    events: t.field({
      type: EventInterface,
      description: 'All events, in the order of the stream.',
      args: argsOf(followRequest),
      subscribe: (_root, args, context) => follow(context, args),
      resolve: (event: StreamEvent) => event,
    }),
  }
})

builder.queryField('streamCursor', (t) =>
  t.string({
    description:
      "The present end of an environment's stream. Subscribe with it as `after` to receive everything that follows.",
    args: argsOf(scopeRequest),
    resolve: async (_root, args, context) => {
      const { environment } = scopeRequest.readInput(args)
      const caller = await context.caller()
      if (caller.kind === 'platform') await requirePlatform(context, 'viewer')
      const { environmentId } = await readScope(context, { environment, playerId: null })
      return printCursor(environmentId, await context.subscriptions.end(environmentId))
    },
  }),
)

const [connection, edge] = namesOf('Event')
const EventConnection = builder.connectionObject({ type: EventInterface, ...connection }, edge)

builder.queryField('events', (t) =>
  t.connection(
    {
      type: EventInterface,
      description:
        'The history of a stream, in its order. The cursors are those of the stream: subscribe with `after: pageInfo.endCursor` to continue live. `last` gives the latest.',
      args: argsOf(historyRequest),
      resolve: async (_root, args, context) => {
        const { from, to, ...request } = historyRequest.readInput(args, checkSpan)
        const page = readEventPage(args)
        return readHistory(context, { ...(await readFilter(context, request)), from, to }, page)
      },
    },
    EventConnection,
  ),
)

builder.prismaObjectField('Player', 'events', (t) =>
  t.connection(
    {
      type: EventInterface,
      description:
        "The player's events in the order of the stream: as `Query.events` with its `playerId`, and with the same cursors. `last` gives the latest.",
      args: argsOf(kindsRequest),
      resolve: ({ environmentId, id: playerId }, args, context) => {
        const page = readEventPage(args)
        const { types, handles } = kindsRequest.readInput(args)
        const anywhere = { scenarioId: null, nodeId: null, byClient: null, from: null, to: null }
        return readHistory(context, { ...anywhere, environmentId, playerId, types, handles }, page)
      },
    },
    EventConnection,
  ),
)

type AskedPage = PageArgs & ReturnType<typeof readPage>

function readEventPage(args: PageArgs): AskedPage {
  const faults: Fault[] = []
  const page = { ...args, ...readPage(args, faults) }
  refuseFaults(faults)
  return page
}

/** A page of a stream. Its cursors are those of the stream. */
async function readHistory(context: Context, filter: HistoryFilter, { size, backwards, after, before }: AskedPage) {
  const { environmentId } = filter
  const cursorOf = (position: bigint) => printCursor(environmentId, position)
  const positionOf = (path: 'after' | 'before', cursor: string | null = null) =>
    cursor === null ? null : readCursor(environmentId, cursor, path)
  const page = { after: positionOf('after', after), before: positionOf('before', before), limit: size + 1, backwards }
  const { events, end } = await readEvents(context.service.operatorPool, filter, page)

  const edges = events.slice(0, size).map((node) => ({ cursor: cursorOf(node.position), node }))
  if (backwards) edges.reverse()
  const hasMore = events.length > size
  // For an empty page: a subscription from here misses nothing.
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

nodesOf('Event', ['name'], loadEvent, typeNameOf)

async function loadEvent(context: Context, [cursor = '']: readonly string[]): Promise<StreamEvent | null> {
  const caller = await context.caller()
  const environmentId = readEnvironmentId(cursor)
  if (environmentId === null) return null
  const own = caller.kind === 'player' ? caller.playerId : null
  if (caller.kind === 'player') {
    await context.service.run(admitPlayer(caller))
    if (caller.environmentId !== environmentId) return null
  } else {
    const { projectId } = await requirePlatform(context, 'viewer')
    if (!(await context.prisma.environment.findFirst({ where: { id: environmentId, projectId } }))) return null
  }
  const event = await readEvent(context.service.operatorPool, environmentId, readCursor(environmentId, cursor))
  return event && (own === null || own === event.playerId) ? event : null
}
