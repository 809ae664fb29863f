import { requirePlatform } from '../auth/access.ts'
import type { PlatformCaller } from '../auth/callers.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { globalId } from '../graphql/global-id.ts'
import { NodeType, nodesOf } from '../graphql/node.ts'
import { namesOf, pageOf } from '../graphql/page.ts'
import { jsonOrNull } from '../graphql/scalars.ts'
import { argsOf } from '../graphql/shapes.ts'
import { idsAround } from '../ids.ts'
import { MAX_OPERATOR } from '../limits.ts'
import { findEnvironment } from '../projects/projects.ts'
import { checkSpan, environment, span } from '../request/common.ts'
import { described, optional, shape, text } from '../request/shape.ts'
import { ACTIONS } from './actions.ts'

/** How the log names a platform key, before its id. */
const KEY_ACTOR = 'platform_key:'

const AuditLogEntryType = builder.prismaObject('AuditLogEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('AuditLogEntry', id) }),
    occurredAt: t.expose('createdAt', {
      description: 'When it was done; for what was denied, when it was tried first.',
      type: 'DateTime',
    }),
    actor: t.exposeString('actor', {
      description:
        '`platform_key:` and its id; for what was denied also `player:` and its id, and `player:*` for those of a flood.',
    }),
    actorLabel: t.string({
      nullable: true,
      description: 'The label of the platform key; null for one without, and for players.',
      select: { projectId: true, actor: true },
      // Prisma loads all of a page at once.
      resolve: async ({ projectId, actor }, _args, { prisma }) => {
        const keyId = actor.startsWith(KEY_ACTOR) ? actor.slice(KEY_ACTOR.length) : null
        if (keyId === null) return null
        const key = await prisma.platformKey.findUnique({ where: { id: keyId } })
        return key?.projectId === projectId ? key.label : null
      },
    }),
    operator: t.exposeString('operator', {
      nullable: true,
      description:
        'The person who acted: of an operator token its `actor`, of a platform key what the call said as `X-Operator`. Null when it said nothing, and where several people were denied the same by one key within a minute.',
    }),
    operatorIsClaimed: t.exposeBoolean('operatorIsClaimed', {
      description:
        '`operator` is what the call said of itself. False for that of an operator token, for which a holder of the key has vouched, and without one.',
    }),
    action: t.exposeString('action', {
      description: 'Such as `player.ban`; `.denied` behind what was refused. docs/access.md has them all.',
    }),
    environment: t.string({
      nullable: true,
      description:
        'The environment in which it was done. Null for what concerns the whole project, and for what an operator was denied.',
      select: { environmentId: true },
      // Prisma loads all of a page at once.
      resolve: async ({ environmentId }, _args, { prisma }) => {
        if (environmentId === null) return null
        return (await prisma.environment.findUnique({ where: { id: environmentId } }))?.name ?? null
      },
    }),
    target: t.exposeString('target', {
      description:
        'What it was done to, such as the id of a player, a key or a scenario. Empty for what was denied in a flood.',
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value that was there; null where nothing was.',
      select: { before: true },
      resolve: ({ before }) => jsonOrNull(before),
    }),
    beforeText: t.exposeString('before', { nullable: true, description: 'The same as JSON text, to the byte.' }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value that is there now; null where nothing is.',
      select: { after: true },
      resolve: ({ after }) => jsonOrNull(after),
    }),
    afterText: t.exposeString('after', { nullable: true, description: 'The same as JSON text, to the byte.' }),
    reason: t.exposeString('reason', {
      description: 'Why, in the words of the operator; null for what was denied.',
      nullable: true,
    }),
    attempts: t.expose('attempts', {
      type: 'Count',
      description: 'How often it was tried within a minute, for what was denied; else 1.',
    }),
  }),
})

const [connection, edge] = namesOf('AuditLogEntry')
const AuditLogConnection = builder.connectionObject({ type: AuditLogEntryType, ...connection }, edge)

const requireAuditor = (context: Context) =>
  requirePlatform(context, 'admin', { action: ACTIONS.readAuditLog, target: 'audit_log' })

nodesOf('AuditLogEntry', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requireAuditor(context)
  return context.prisma.auditLogEntry.findUnique({ where: { projectId_id: { projectId, id } } })
})

const auditLogRequest = shape({
  environment: optional(described(environment, 'Of this environment alone.')),
  action: optional(text('Of this action alone, to the letter, such as `player.ban`.', { max: 128 })),
  target: optional(text('About this target alone, such as the id of a player, a key or a scenario.', { max: 255 })),
  actor: optional(text('By this actor alone, such as `platform_key:` and its id.', { max: 128 })),
  operator: optional(text('By this person alone, to the letter, as claimed or by a token.', { max: MAX_OPERATOR })),
  ...span,
})

builder.queryField('auditLog', (t) =>
  t.prismaConnection(
    {
      type: 'AuditLogEntry',
      cursor: 'projectId_id',
      description: "What operators changed, or tried to, in the key's project: the latest first.",
      args: argsOf(auditLogRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requireAuditor(context)
        const { environment, action, target, actor, operator, ...asked } = auditLogRequest.readInput(args, checkSpan)
        const environmentId =
          environment === null ? null : await findEnvironment(context.service.pool, projectId, environment)
        const from = asked.from && sinceThe1970s(asked.from)
        const to = asked.to && sinceThe1970s(asked.to)
        const { page, beyond } = pageOf(query, { scope: { projectId }, order: 'desc' })
        const where = {
          projectId,
          ...beyond,
          ...(environmentId !== null && { environmentId }),
          ...(action !== null && { action }),
          ...(target !== null && { target }),
          ...(actor !== null && { actor }),
          ...(operator !== null && { operator }),
          ...((from || to) && {
            createdAt: { ...(from && { gte: from }), ...(to && { lt: to }) },
            AND: between(idsAround(from, to)),
          }),
        }
        return context.prisma.auditLogEntry.findMany({ ...page, where })
      },
    },
    AuditLogConnection,
  ),
)

builder.prismaObjectField('Player', 'auditLog', (t) =>
  t.prismaConnection(
    {
      type: 'AuditLogEntry',
      cursor: 'projectId_id',
      description:
        'What operators did to it, or tried to, the latest first: as `Query.auditLog` with its id as `target`. For platform keys, from the role operator on.',
      resolve: async (query, { id: target }, _args, context) => {
        const { projectId } = await requirePlatform(context, 'operator', { action: ACTIONS.readAuditLog, target })
        const { page, beyond } = pageOf(query, { scope: { projectId }, order: 'desc' })
        return context.prisma.auditLogEntry.findMany({ ...page, where: { projectId, target, ...beyond } })
      },
    },
    AuditLogConnection,
  ),
)

/** The audit entry of a change; null when nothing was written. */
export interface Audited {
  readonly audit: { readonly projectId: string; readonly id: string } | null
}

/** The entry with this id, in the log of the caller's project. */
export const auditRef = ({ projectId }: PlatformCaller, auditId: string | null | undefined): Audited['audit'] =>
  typeof auditId === 'string' ? { projectId, id: auditId } : null

type Payload<T> = ReturnType<ReturnType<typeof builder.objectRef<T>>['implement']>

/** Gives a payload the field `auditEntry`. */
export function addAuditEntry<T extends Audited>(payload: Payload<T>, description: string): void {
  builder.objectField(payload as unknown as Payload<Audited>, 'auditEntry', (t) =>
    t.prismaField({
      type: 'AuditLogEntry',
      nullable: true,
      description: `What the audit log has of it. ${description}`,
      resolve: (query, { audit }, _args, { prisma }) =>
        audit && prisma.auditLogEntry.findUnique({ ...query, where: { projectId_id: audit } }),
    }),
  )
}

/** No entry is older, and Prisma writes years that Postgres does not have. */
const sinceThe1970s = (moment: Date): Date => (moment.getTime() < 0 ? new Date(0) : moment)

const between = ({ first, last }: ReturnType<typeof idsAround>) => ({
  id: { ...(first && { gte: first }), ...(last && { lt: last }) },
})
