import { requirePlatform } from '../../callers/access.ts'
import { ROLES, type Role } from '../../callers/roles.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType, nodesOf } from '../../declare/graphql/node.ts'
import { RoleType } from './graphql-keys.ts'

builder.prismaObject('Environment', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('Environment', id) }),
    name: t.exposeString('name', { description: 'The name, such as `production`.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    sdkKeys: t.field({
      type: 'Count',
      description: 'The number of valid SDK keys.',
      select: { _count: { select: { sdkKeys: { where: { revokedAt: null } } } } },
      resolve: ({ _count }) => _count.sdkKeys,
    }),
    serverKeys: t.field({
      type: 'Count',
      description: 'The number of valid server keys.',
      select: { _count: { select: { serverKeys: { where: { revokedAt: null } } } } },
      resolve: ({ _count }) => _count.serverKeys,
    }),
  }),
})

const RoleKeys = builder.objectRef<{ role: Role; keys: number }>('RoleKeys').implement({
  description: 'The number of valid platform keys of a role.',
  fields: (t) => ({
    role: t.expose('role', { type: RoleType }),
    keys: t.expose('keys', { type: 'Count', description: 'The number of valid keys.' }),
  }),
})

builder.prismaObject('Project', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('Project', id) }),
    projectId: t.exposeID('id', { description: 'The id, as in paths of the platform API.' }),
    name: t.exposeString('name', { description: "The project's name." }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    environments: t.relation('environments', {
      description: 'The environments, by name.',
      query: { orderBy: { name: 'asc' } },
    }),
    platformKeys: t.field({
      type: [RoleKeys],
      description: 'Platform keys by role, each role once. Admins list them with `Query.platformKeys`.',
      resolve: async ({ id: projectId }, _args, { prisma }) => {
        const counted = await prisma.platformKey.groupBy({
          by: ['role'],
          where: { projectId, revokedAt: null },
          _count: true,
        })
        return ROLES.map((role) => ({ role, keys: counted.find((row) => row.role === role)?._count ?? 0 }))
      },
    }),
  }),
})

nodesOf('Project', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requirePlatform(context, 'read')
  return id.toLowerCase() === projectId ? context.prisma.project.findUnique({ where: { id } }) : null
})
