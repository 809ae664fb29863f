import { globalId } from '../declare/global-id.ts'
import { builder } from '../declare/graphql/builder.ts'
import { connectionOf } from '../declare/graphql/connections.ts'
import type { Context } from '../declare/graphql/context.ts'
import { needs } from '../declare/graphql/field-marks.ts'
import { NodeType } from '../declare/graphql/node.ts'
import { pageOf } from '../declare/graphql/page.ts'
import { jsonOrNull } from '../declare/graphql/scalars.ts'
import { type Audited, requireReaderOfActions } from './audit-log.ts'

/** The prefix of a platform key's id in the log's `actor`. */
const KEY_ACTOR = 'platform_key:'

/** The label of the platform key that acted. Null for a key without one, for one of another project, and for players. */
export async function keyLabelOf(
  prisma: Context['prisma'],
  { projectId, actor }: { readonly projectId: string; readonly actor: string },
): Promise<string | null> {
  const keyId = actor.startsWith(KEY_ACTOR) ? actor.slice(KEY_ACTOR.length) : null
  if (keyId === null) return null
  const key = await prisma.platformKey.findUnique({ where: { id: keyId } })
  return key?.projectId === projectId ? key.label : null
}

builder.prismaObject('AuditLogEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('AuditLogEntry', id) }),
    occurredAt: t.expose('createdAt', {
      description: 'The time of the change, or of the first refused attempt.',
      type: 'DateTime',
    }),
    actor: t.exposeString('actor', {
      description:
        '`platform_key:` and its id. For a refused attempt also `player:` and its id, or `player:*` for a flood of attempts.',
    }),
    actorLabel: t.string({
      nullable: true,
      description: 'The label of the platform key; null for a key without a label, and for players.',
      select: { projectId: true, actor: true },
      // Prisma loads all of a page at once.
      resolve: (entry, _args, { prisma }) => keyLabelOf(prisma, entry),
    }),
    operator: t.exposeString('operator', {
      nullable: true,
      description:
        'The person who acted: the `actor` of an operator token, or the `X-Operator` of a call with a platform key. Null without one, and when several people made the same refused attempt with one key within a minute.',
    }),
    operatorIsClaimed: t.exposeBoolean('operatorIsClaimed', {
      description:
        'True when the call itself named the `operator`. False for an operator token, for which a holder of the key vouched, and without an operator.',
    }),
    action: t.exposeString('action', {
      description: 'Such as `player.ban`; a refused attempt ends with `.denied`. docs/access.md lists all actions.',
    }),
    environment: t.string({
      nullable: true,
      description:
        'The environment of the change. Null for changes of the whole project, and for refused attempts of operators.',
      select: { environmentId: true },
      // Prisma loads all of a page at once.
      resolve: async ({ environmentId }, _args, { prisma }) => {
        if (environmentId === null) return null
        return (await prisma.environment.findUnique({ where: { id: environmentId } }))?.name ?? null
      },
    }),
    target: t.exposeString('target', {
      description:
        'The object of the change, such as the id of a player, a key or a scenario. Empty for floods of refused attempts.',
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value before the change; null for none.',
      select: { before: true },
      resolve: ({ before }) => jsonOrNull(before),
    }),
    beforeText: t.exposeString('before', { nullable: true, description: 'The same as JSON text, byte for byte.' }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description: 'The value after the change; null for none.',
      select: { after: true },
      resolve: ({ after }) => jsonOrNull(after),
    }),
    afterText: t.exposeString('after', { nullable: true, description: 'The same as JSON text, byte for byte.' }),
    reason: t.exposeString('reason', {
      description: "The operator's reason; null for refused attempts.",
      nullable: true,
    }),
    undoes: t.id({
      nullable: true,
      description: 'The `id` of the entry whose action this one undoes. Null for an action that undoes none.',
      select: { undoes: true },
      resolve: ({ undoes }) => undoes && globalId('AuditLogEntry', undoes),
    }),
    attempts: t.expose('attempts', {
      type: 'Count',
      description: 'The number of refused attempts within a minute; otherwise 1.',
    }),
  }),
})

builder.prismaObjectField('Player', 'auditLog', (t) =>
  t.prismaConnection(
    {
      nullable: true,
      extensions: needs('act'),
      type: 'AuditLogEntry',
      cursor: 'projectId_id',
      description:
        "Changes and refused attempts of operators, the latest first: as `Query.auditLog` with the player's id as `target`. For platform keys with the role operator or admin.",
      resolve: async (query, { id: target }, _args, context) => {
        const { projectId } = await requireReaderOfActions(context, target)
        const { page, beyond } = pageOf(query, { scope: { projectId }, order: 'desc' })
        return context.prisma.auditLogEntry.findMany({ ...page, where: { projectId, target, ...beyond } })
      },
    },
    connectionOf('AuditLogEntry'),
  ),
)

type Payload<T> = ReturnType<ReturnType<typeof builder.objectRef<T>>['implement']>

export function addAuditEntry<T extends Audited>(payload: Payload<T>, description: string): void {
  builder.objectField(payload as unknown as Payload<Audited>, 'auditEntry', (t) =>
    t.prismaField({
      type: 'AuditLogEntry',
      nullable: true,
      description: `The entry of the audit log. ${description}`,
      resolve: (query, { audit }, _args, { prisma }) =>
        audit && prisma.auditLogEntry.findUnique({ ...query, where: { projectId_id: audit } }),
    }),
  )
}
