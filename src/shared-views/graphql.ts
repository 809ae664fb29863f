import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../callers/access.ts'
import { hasRight } from '../callers/roles.ts'
import { builder } from '../declare/graphql/builder.ts'
import { globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { argsOf, enumType, inputOf } from '../declare/graphql/shapes.ts'
import { CONSOLE_PAGES, type ConsolePage, READS, SHARES } from './pages.ts'
import { removeSharedViewRequest, sharedViewsRequest, shareViewRequest } from './requests.ts'
import { findPage, removeSharedView, shareView } from './shared-views.ts'

const ConsolePageType = enumType('ConsolePage', CONSOLE_PAGES, {
  description: 'A page of the console that has views.',
  values: {
    players: 'The players of an environment.',
    live: 'The events of an environment, as they happen.',
    audit_log: 'The audit log of the project.',
  },
})

builder.prismaObject('SharedView', {
  description: 'Filters of a page of the console with a name, which everyone in the project has who reads the page.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('SharedView', id) }),
    sharedViewId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    page: t.field({
      type: ConsolePageType,
      description: 'The page that it is of.',
      resolve: ({ page }) => page as ConsolePage,
    }),
    name: t.exposeString('name', { description: 'The name, of which a page has one shared view.' }),
    query: t.exposeString('query', {
      description: "The query of the page's address, without `?`: its filters and their order.",
    }),
    sharedBy: t.exposeString('sharedBy', {
      description: 'Who shared it as it is now: the person, or `platform_key:` and its id where the call named none.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime', description: 'The time of the last change.' }),
  }),
})

nodesOf('SharedView', ['uuid'], async (context, [id = '']) => {
  const { projectId, role } = await requirePlatform(context, 'players')
  const found = await context.prisma.sharedView.findFirst({ where: { id, projectId } })
  return found && hasRight(role, READS[found.page as ConsolePage]) ? found : null
})

builder.queryField('sharedViews', (t) =>
  t.prismaField({
    type: ['SharedView'],
    description:
      'The views of a page that are shared in the project, by their names. Those of `AUDIT_LOG` are for admins.',
    args: argsOf(sharedViewsRequest),
    resolve: async (query, _root, args, context) => {
      const { page } = sharedViewsRequest.readInput(args)
      const { projectId } = await requirePlatform(context, READS[page])
      return context.prisma.sharedView.findMany({ ...query, where: { projectId, page }, orderBy: { name: 'asc' } })
    },
  }),
)

const SharedViewPayload = builder
  .objectRef<Audited & { readonly sharedViewId: string }>('SharedViewPayload')
  .implement({
    fields: (t) => ({
      sharedView: t.prismaField({
        type: 'SharedView',
        nullable: true,
        description: 'The view after the change. Null for one that was removed.',
        resolve: (query, { sharedViewId: id }, _args, { prisma }) =>
          prisma.sharedView.findUnique({ ...query, where: { id } }),
      }),
    }),
  })
addAuditEntry(SharedViewPayload, 'Null when nothing changed.')

builder.mutationFields((t) => ({
  shareView: t.field({
    type: SharedViewPayload,
    description:
      'Shares a view of a page with everyone in the project. The shared view that has the name already gets the query. A call that is repeated changes nothing. Views of `AUDIT_LOG` are for admins.',
    args: inputOf('ShareViewInput', shareViewRequest),
    resolve: async (_root, { input }, context) => {
      // GraphQL has read the enum: the page is one of those that are there.
      const page = input.page as ConsolePage
      const caller = await requirePlatform(context, SHARES[page], { action: ACTIONS.shareView, target: page })
      const asked = shareViewRequest.readInput(input)
      const { sharedViewId, auditId } = await shareView(context.service.operatorPool, caller, asked)
      return { sharedViewId, audit: auditRef(caller, auditId) }
    },
  }),
  removeSharedView: t.field({
    type: SharedViewPayload,
    description: 'Removes a shared view for everyone. Views of `AUDIT_LOG` are for admins.',
    args: inputOf('RemoveSharedViewInput', removeSharedViewRequest),
    resolve: async (_root, { input }, context) => {
      const { operatorPool } = context.service
      const attempt = { action: ACTIONS.removeSharedView, target: input.sharedViewId }
      // Each role that may share on some page has this right. The page of the view says what else it takes.
      const caller = await requirePlatform(context, 'act', attempt)
      const asked = removeSharedViewRequest.readInput(input)
      const page = await findPage(operatorPool, caller.projectId, asked.sharedViewId)
      await requirePlatform({ ...context, isCounted: true }, SHARES[page], attempt)
      const { sharedViewId, auditId } = await removeSharedView(operatorPool, caller, asked)
      return { sharedViewId, audit: auditRef(caller, auditId) }
    },
  }),
}))
