import { Refusal } from '../../base/errors.ts'
import { HANDLE, MAX_HANDLE, MAX_HANDLES, MAX_STREAM_CURSOR } from '../../base/limits.ts'
import { type Caller, requirePlatform, requireReader } from '../../callers/access.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { environment, nodeId, playerId, scenarioId } from '../../declare/common.ts'
import { builder } from '../../declare/graphql/builder.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { argsOf } from '../../declare/graphql/shapes.ts'
import { someOf, texts } from '../../declare/list-fields.ts'
import { described, mapped, optional, type RequestOf, shape, text } from '../../declare/shape.ts'
import { EVENT_TYPES, JOB_EVENT_TYPE, SEASON_EVENT_TYPES, type StreamEvent } from '../../events/catalogue.ts'
import { printCursor, readCursor } from '../../events/cursor.ts'
import { admitPlayer } from '../../players/player-status.ts'
import {
  CompleteEvent,
  EventInterface,
  GrantJobEvent,
  InboxReceivedEvent,
  LevelUpEvent,
  MaxLevelEvent,
  PlayerCreatedEvent,
  PremiumPurchaseEvent,
  SeasonEvent,
} from './graphql-types.ts'

const HANDLE_FORM = {
  pattern: HANDLE,
  maxLength: MAX_HANDLE,
  message: `must be a handle: a letter, then letters, digits, \`_\`, \`.\` and \`-\`, ${MAX_HANDLE} characters in all`,
}

const setOf = (names: readonly string[] | null): ReadonlySet<string> | null => names && new Set(names)

export const kinds = {
  types: mapped(optional(someOf('Only these kinds.', EVENT_TYPES)), setOf),
  handles: mapped(
    optional(
      texts(
        `Only these handles, such as \`onLevelUp\`: 1 to ${MAX_HANDLES}. One that nothing crosses yet is no fault: a later version of a scenario may cross it.`,
        { min: 1, max: MAX_HANDLES, form: HANDLE_FORM },
      ),
    ),
    setOf,
  ),
}
export const scope = {
  environment: optional(described(environment, 'Required for a platform key. A player has its own environment.')),
}
export const place = {
  scenarioId: optional(described(scenarioId, 'Only this scenario. One that does not exist yet is no fault.')),
  nodeId: optional(described(nodeId, 'Only this node. One that no scenario has yet is no fault.')),
  playerId: mapped(
    optional(described(playerId, 'Only this player. An unknown one is no fault, and has no events.')),
    (id) => id?.toLowerCase() ?? null,
  ),
}
const after = optional(
  text('A cursor. The events after it are replayed, and live ones follow.', { max: MAX_STREAM_CURSOR }),
)
const followed = { ...scope, after }
const scopeRequest = shape(scope)
export const kindsRequest = shape(kinds)
const environmentsRequest = shape(followed)
const crossingsRequest = shape({ ...followed, ...place })
const inboxRequest = shape({ ...followed, playerId: place.playerId })
const { playerId: _player, ...pass } = place
/** Those of operators alone. */
const seasonsRequest = shape({ environment, after, ...pass })
const jobsRequest = shape({ environment, after })
const followRequest = shape({ ...crossingsRequest.fields, ...kinds })

export async function readFilter(
  context: Context,
  caller: Caller,
  request: Omit<RequestOf<typeof followRequest>, 'after'>,
) {
  const { environment, scenarioId, nodeId, playerId, types, handles } = request
  const scope = await readScope(context, caller, { environment, playerId })
  return { scenarioId, nodeId, types, handles, byClient: null, ...scope }
}

/**
 * The events that a caller may see, narrowed by the arguments: a player's own, or those of a platform key's project. A
 * player that asks for another player's events is refused.
 */
async function follow(context: Context, args: object, byClient: boolean | null = null) {
  return followAs(context, await requireReader(context), args, byClient)
}

async function followAs(context: Context, caller: Caller, args: object, byClient: boolean | null = null) {
  const { after: cursor, ...request } = followRequest.readInput(args)
  const { environmentId, ...filter } = await readFilter(context, caller, request)
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
  caller: Caller,
  { environment, playerId }: { environment: string | null; playerId: string | null },
) {
  if (caller.kind === 'player') {
    await context.service.runAs(caller, admitPlayer(caller))
    if (playerId !== null && playerId !== caller.playerId) throw new Refusal('forbidden')
    // A player belongs to one environment. It can leave the name out, and must not name another.
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
    onInboxMessage: t.field({
      type: InboxReceivedEvent,
      description: 'Messages that arrive in inboxes, live.',
      args: argsOf(inboxRequest),
      subscribe: (_root, args, context) => follow(context, { ...args, types: ['inbox.received'] }),
      resolve: (event: StreamEvent) => event,
    }),
    onPlayerCreated: t.field({
      type: PlayerCreatedEvent,
      description: 'New players, live.',
      extensions: { alsoNamed: 'playerCreated' },
      args: argsOf(environmentsRequest),
      subscribe: (_root, args, context) => follow(context, { ...args, types: ['player.created'] }),
      resolve: (event: StreamEvent) => event,
    }),
    onSeasonPhase: t.field({
      type: SeasonEvent,
      description: 'Phases of seasons that begin, once each, live. For platform keys.',
      args: argsOf(seasonsRequest),
      subscribe: async (_root, args, context) => {
        const caller = await requirePlatform(context, 'read')
        return followAs(context, caller, { ...args, types: SEASON_EVENT_TYPES })
      },
      resolve: (event: StreamEvent) => event,
    }),
    onGrantJob: t.field({
      type: GrantJobEvent,
      description: 'Grant jobs that begin another state or make progress, live. For platform keys.',
      args: argsOf(jobsRequest),
      subscribe: async (_root, args, context) => {
        const caller = await requirePlatform(context, 'players')
        return followAs(context, caller, { ...args, types: [JOB_EVENT_TYPE] })
      },
      resolve: (event: StreamEvent) => event,
    }),
    onEvent: t.field({
      type: EventInterface,
      description: 'All events, in the order of the stream.',
      extensions: { alsoNamed: 'events' },
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
      const caller = await requireReader(context)
      const { environment } = scopeRequest.readInput(args)
      const { environmentId } = await readScope(context, caller, { environment, playerId: null })
      return printCursor(environmentId, await context.subscriptions.end(environmentId))
    },
  }),
)
