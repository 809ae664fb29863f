import { requirePlatform } from '../../callers/access.ts'
import { hasRight } from '../../callers/roles.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { enumType } from '../../declare/graphql/shapes.ts'
import { CONSOLE_PAGES, type ConsolePage, READS } from './pages.ts'

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
