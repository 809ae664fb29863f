import { ROLES, type Role } from '../../callers/roles.ts'
import { answer, out } from '../../declare/answer.ts'
import { globalId } from '../../declare/global-id.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { NodeType } from '../../declare/graphql/node.ts'
import { enumType, fieldsOf } from '../../declare/graphql/shapes.ts'

const keyActor = 'The actor: `platform_key:` and its id; null for the command line.'
/** What a list shows of a key of any kind. */
const { members: keyMembers } = answer('A key.', {
  prefix: out.text('The beginning of the key, to distinguish it from others.'),
  createdAt: out.moment(),
  createdBy: out.orNull(out.text(keyActor)),
  revokedAt: out.orNull(out.moment('Null for a valid key.')),
  revokedBy: out.orNull(out.text(keyActor)),
  label: out.orNull(out.text('The purpose of the key, from its creator. Null for a key without a label.')),
})

builder.prismaObject('SdkKey', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('SdkKey', id) }),
    keyId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: (key) => key.environment.name,
    }),
    ...fieldsOf(t, keyMembers),
  }),
})

builder.prismaObject('ServerKey', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('ServerKey', id) }),
    keyId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: (key) => key.environment.name,
    }),
    ...fieldsOf(t, keyMembers),
  }),
})

export const RoleType = enumType('Role', ROLES, {
  description: 'The rights of a platform key.',
  values: {
    analyst: 'Reads scenarios, seasons, figures and settings, and no data of players.',
    designer: 'The rights of an analyst. Also changes scenarios, boosts and currencies.',
    viewer: 'The rights of an analyst. Also reads the data of players.',
    support: 'The rights of a viewer. Also acts on players one by one, and reads the audit log of each.',
    operator: 'The rights of support. Also acts on many players at once: grant jobs, segments, exports.',
    admin: 'All rights. Also changes providers, environments, keys and limits, and reads the audit log.',
  },
})

builder.prismaObject('PlatformKey', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('PlatformKey', id) }),
    keyId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    role: t.field({ type: RoleType, select: { role: true }, resolve: ({ role }) => role as Role }),
    ...fieldsOf(t, keyMembers),
  }),
})
