import { requireReaderOfActions } from '../../audit/audit-log.ts'
import { invalidRequest } from '../../base/errors.ts'
import { requirePlatform } from '../../callers/access.ts'
import { hasRight } from '../../callers/roles.ts'
import { FOREIGN_CURSOR } from '../../declare/cursor.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { needs } from '../../declare/graphql/field-marks.ts'
import { forwardPage, namesOf, readList } from '../../declare/graphql/page.ts'
import { argsOf, enumType } from '../../declare/graphql/shapes.ts'
import { someOf } from '../../declare/list-fields.ts'
import { optional, shape } from '../../declare/shape.ts'
import type { StreamEvent } from '../../events/catalogue.ts'
import { readEventsAt } from '../../events/history.ts'
import { EventInterface } from '../../game/stream/graphql-types.ts'
import type { PlayerRef } from '../../players/player-status.ts'
import {
  areBoundsOf,
  claimAt,
  printTimelineCursor,
  readTimeline,
  readTimelineCursor,
  TIMELINE_KINDS,
  type TimelineEntry,
} from './timeline.ts'

interface Shown extends TimelineEntry {
  readonly player: PlayerRef & { readonly projectId: string }
  readonly event: StreamEvent | null
}

const TimelineKindType = enumType('TimelineKind', TIMELINE_KINDS, {
  description: 'What an entry of the timeline is, and which of its fields is set.',
  values: {
    login: 'A login or a link: `login`.',
    level: 'A higher level, or the last one: `event`.',
    claim: 'A claim of a tier, by the player or for it: `claim`.',
    purchase: 'A purchase of premium: `event`.',
    support: 'An action of an operator, or a refused attempt: `auditEntry`. For the role operator.',
    mail: 'A message in the inbox: `message`.',
    note: 'A note of an operator: `note`.',
  },
})

const SET_BY = 'Null for another kind, and for one that was removed meanwhile.'

const TimelineEntryType = builder.objectRef<Shown>('TimelineEntry').implement({
  description: 'One entry of the timeline of a player.',
  fields: (t) => ({
    kind: t.expose('kind', { type: TimelineKindType, description: 'What it is.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
    login: t.prismaField({
      type: 'LoginLogEntry',
      nullable: true,
      description: `The login of a \`LOGIN\`. ${SET_BY}`,
      resolve: (query, { kind, place: id, player: { environmentId } }, _args, { prisma }) =>
        kind === 'login'
          ? prisma.loginLogEntry.findUnique({ ...query, where: { environmentId_id: { environmentId, id } } })
          : null,
    }),
    event: t.expose('event', {
      type: EventInterface,
      nullable: true,
      description: `The event of a \`LEVEL\` or \`PURCHASE\`. ${SET_BY}`,
    }),
    claim: t.prismaField({
      type: 'TierClaim',
      nullable: true,
      description: `The claim of a \`CLAIM\`. ${SET_BY}`,
      resolve: (query, { kind, place, player: { environmentId, playerId } }, _args, { prisma }) => {
        if (kind !== 'claim') return null
        const where = { environmentId, playerId, ...claimAt(place) }
        return prisma.tierClaim.findUnique({
          ...query,
          where: { environmentId_playerId_scenarioId_nodeId_level_track: where },
        })
      },
    }),
    auditEntry: t.prismaField({
      type: 'AuditLogEntry',
      nullable: true,
      description: `The entry of the audit log of a \`SUPPORT\`. ${SET_BY}`,
      resolve: (query, { kind, place: id, player: { projectId } }, _args, { prisma }) =>
        kind === 'support'
          ? prisma.auditLogEntry.findUnique({ ...query, where: { projectId_id: { projectId, id } } })
          : null,
    }),
    message: t.prismaField({
      type: 'InboxMessage',
      nullable: true,
      description: `The message of a \`MAIL\`. ${SET_BY}`,
      resolve: (query, { kind, place: id, player }, _args, { prisma }) =>
        kind === 'mail' ? prisma.inboxMessage.findUnique({ ...query, where: ownedBy(player, id) }) : null,
    }),
    note: t.prismaField({
      type: 'PlayerNote',
      nullable: true,
      description: `The note of a \`NOTE\`. ${SET_BY}`,
      resolve: (query, { kind, place: id, player }, _args, { prisma }) =>
        kind === 'note' ? prisma.playerNote.findUnique({ ...query, where: ownedBy(player, id) }) : null,
    }),
  }),
})

const ownedBy = ({ environmentId, playerId }: PlayerRef, id: string) => ({
  environmentId_playerId_id: { environmentId, playerId, id },
})

const timelineRequest = shape({
  kinds: optional(someOf('Only these kinds. Default: all that the role may read.', TIMELINE_KINDS)),
})

builder.prismaObjectField('Player', 'timeline', (t) =>
  t.connection(
    {
      type: TimelineEntryType,
      nullable: true,
      extensions: needs('players'),
      description:
        'What happened to the player, the latest first: logins, levels, claims and purchases, actions of operators, messages and notes, as far back as each of them is kept. For platform keys.',
      args: argsOf(timelineRequest),
      resolve: async ({ environmentId, id: playerId }, args, context) => {
        const { projectId, role } = await requirePlatform(context, 'players')
        const player = { environmentId, playerId, projectId }
        const { size, after, ...asked } = readList(timelineRequest, args, (cursor) =>
          readTimelineCursor(player, cursor),
        )
        const canAct = hasRight(role, 'act')
        const kinds = new Set(
          TIMELINE_KINDS.filter((kind) => asked.kinds?.includes(kind) ?? (kind !== 'support' || canAct)),
        )
        if (kinds.has('support')) await requireReaderOfActions(context, playerId)
        if (after && !areBoundsOf(after, kinds)) throw invalidRequest({ path: 'after', message: FOREIGN_CURSOR })
        // What the player has just done may have no place in the stream yet.
        await context.service.settleEvents(environmentId)
        const found = await readTimeline(context.service.operatorPool, player, { kinds, after, limit: size + 1 })
        const positions = found.filter(isEvent).map(({ place }) => place)
        const events = await readEventsAt(context.service.operatorPool, environmentId, positions)
        const shown = found.map(
          (entry): Shown => ({ ...entry, player, event: (isEvent(entry) && events.get(entry.place)) || null }),
        )
        return forwardPage(shown, { size, after }, ({ bounds }) => printTimelineCursor(player, bounds))
      },
    },
    ...namesOf('TimelineEntry'),
  ),
)

const isEvent = ({ kind }: TimelineEntry): boolean => kind === 'level' || kind === 'purchase'
