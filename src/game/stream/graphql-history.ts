import type { Fault } from '../../base/errors.ts'
import { requireReader } from '../../callers/access.ts'
import { checkSpan, span } from '../../declare/common.ts'
import { builder } from '../../declare/graphql/builder.ts'
import type { Context } from '../../declare/graphql/context.ts'
import { nodesOf } from '../../declare/graphql/node.ts'
import { namesOf, type PageArgs, readPage } from '../../declare/graphql/page.ts'
import { argsOf } from '../../declare/graphql/shapes.ts'
import { refuseFaults, shape } from '../../declare/shape.ts'
import type { StreamEvent } from '../../events/catalogue.ts'
import { cursorOf, printCursor, readCursor, readEnvironmentId } from '../../events/cursor.ts'
import { type HistoryFilter, readEvent, readEvents } from '../../events/history.ts'
import { admitPlayer } from '../../players/player-status.ts'
import { kinds, kindsRequest, place, readFilter, scope } from './graphql.ts'
import { EventInterface, typeNameOf } from './graphql-types.ts'

const historyRequest = shape({
  ...scope,
  ...kinds,
  ...place,
  ...span,
})

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
        const caller = await requireReader(context)
        const { from, to, ...request } = historyRequest.readInput(args, checkSpan)
        const page = readEventPage(args)
        return readHistory(context, { ...(await readFilter(context, caller, request)), from, to }, page)
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
  const positionOf = (path: 'after' | 'before', cursor: string | null = null) =>
    cursor === null ? null : readCursor(environmentId, cursor, path)
  const page = { after: positionOf('after', after), before: positionOf('before', before), limit: size + 1, backwards }
  await context.service.settleEvents(environmentId)
  const { events, end } = await readEvents(context.service.operatorPool, filter, page)

  const edges = events.slice(0, size).map((node) => ({ cursor: cursorOf(node), node }))
  if (backwards) edges.reverse()
  const hasMore = events.length > size
  // For an empty page: a subscription from here misses nothing.
  const here = after ?? before ?? printCursor(environmentId, end)
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

nodesOf('Event', ['name'], loadEvent, { typeOf: typeNameOf })

async function loadEvent(context: Context, [cursor = '']: readonly string[]): Promise<StreamEvent | null> {
  const caller = await requireReader(context)
  const environmentId = readEnvironmentId(cursor)
  const own = caller.kind === 'player' ? caller.playerId : null
  if (caller.kind === 'player') {
    await context.service.runAs(caller, admitPlayer(caller))
    if (caller.environmentId !== environmentId) return null
  } else {
    if (environmentId === null) return null
    if (!(await context.prisma.environment.findFirst({ where: { id: environmentId, projectId: caller.projectId } })))
      return null
  }
  const event = await readEvent(context.service.operatorPool, environmentId, readCursor(environmentId, cursor))
  return event && (own === null || own === event.playerId) ? event : null
}
