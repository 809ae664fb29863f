import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { MAX_OPERATOR_TOKEN_SECONDS } from '../base/limits.ts'
import { findTarget, forbid, requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { type NewKey, SHOWN_CHARACTERS } from '../callers/keys.ts'
import type { IssuedOperatorToken } from '../callers/operator-tokens.ts'
import { ROLES, type Role, roleIncludes } from '../callers/roles.ts'
import { answer, out } from '../declare/answer.ts'
import { allowLast, environment, keyLabel, operatorName, reason } from '../declare/common.ts'
import { builder } from '../declare/graphql/builder.ts'
import type { Context } from '../declare/graphql/context.ts'
import { bareId, globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { namesOf, pageOf } from '../declare/graphql/page.ts'
import { argsOf, enumType, fieldsOf, inputOf, type Sent } from '../declare/graphql/shapes.ts'
import { described, int32, mapped, oneOf, optional, shape, text, uuid } from '../declare/shape.ts'
import { issueEnvironmentKey, issueOperatorToken, issuePlatformKey, type KeyKind, revokeKey } from './manage-keys.ts'
import { findEnvironment } from './projects.ts'

const keyActor = 'The actor: `platform_key:` and its id; null for the command line.'
/** What a list shows of a key of any kind. */
const { members: keyMembers } = answer('A key.', {
  prefix: out.text('The beginning of the key, to tell it from others.'),
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

/** Keys by their beginning. Prisma appends a `%` and does not escape wildcards in the text. */
const prefix = mapped(
  optional(text('The beginning of the key, as far as it is shown.', { max: SHOWN_CHARACTERS })),
  (beginning) => (beginning === null ? {} : { prefix: { startsWith: beginning.replace(/[\\%_]/g, '\\$&') } }),
)
const environmentKeysRequest = shape({
  environment: optional(described(environment, 'Only this environment.')),
  prefix,
})
const platformKeysRequest = shape({ role: optional(oneOf('Only this role.', ROLES)), prefix })

const scopeOf = async ({ service }: Context, projectId: string, environment: string | null) =>
  environment === null
    ? { environment: { projectId } }
    : { environmentId: await findEnvironment(service.pool, projectId, environment) }

builder.queryFields((t) => ({
  sdkKeys: t.prismaConnection(
    {
      type: 'SdkKey',
      cursor: 'id',
      description: "The SDK keys of the key's project, the latest first.",
      args: argsOf(environmentKeysRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requireKeeper(context, ACTIONS.readSdkKeys)
        const { environment, prefix } = environmentKeysRequest.readInput(args)
        const scope = await scopeOf(context, projectId, environment)
        const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
        return context.prisma.sdkKey.findMany({ ...page, where: { ...scope, ...prefix, ...beyond } })
      },
    },
    ...namesOf('SdkKey'),
  ),
  serverKeys: t.prismaConnection(
    {
      type: 'ServerKey',
      cursor: 'id',
      description: "The server keys of the key's project, the latest first.",
      args: argsOf(environmentKeysRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requireKeeper(context, ACTIONS.readServerKeys)
        const { environment, prefix } = environmentKeysRequest.readInput(args)
        const scope = await scopeOf(context, projectId, environment)
        const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
        return context.prisma.serverKey.findMany({ ...page, where: { ...scope, ...prefix, ...beyond } })
      },
    },
    ...namesOf('ServerKey'),
  ),
  platformKeys: t.prismaConnection(
    {
      type: 'PlatformKey',
      cursor: 'id',
      description: "The platform keys of the key's project, the latest first.",
      args: argsOf(platformKeysRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requireKeeper(context, ACTIONS.readPlatformKeys)
        const { role, prefix } = platformKeysRequest.readInput(args)
        const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
        const where = { projectId, ...(role && { role }), ...prefix, ...beyond }
        return context.prisma.platformKey.findMany({ ...page, where })
      },
    },
    ...namesOf('PlatformKey'),
  ),
}))

const KEY = 'The key itself. It is shown in this answer only.'

const CreateSdkKeyPayload = builder.objectRef<NewKey & Audited>('CreateSdkKeyPayload').implement({
  fields: (t) => ({
    key: t.exposeString('key', { description: KEY }),
    sdkKey: t.prismaField({
      type: 'SdkKey',
      description: 'The key as in lists.',
      resolve: (query, { id }, _args, { prisma }) => prisma.sdkKey.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})
addAuditEntry(CreateSdkKeyPayload, 'Never null.')

const CreateServerKeyPayload = builder.objectRef<NewKey & Audited>('CreateServerKeyPayload').implement({
  fields: (t) => ({
    key: t.exposeString('key', { description: KEY }),
    serverKey: t.prismaField({
      type: 'ServerKey',
      description: 'The key as in lists.',
      resolve: (query, { id }, _args, { prisma }) => prisma.serverKey.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})
addAuditEntry(CreateServerKeyPayload, 'Never null.')

const CreatePlatformKeyPayload = builder.objectRef<NewKey & Audited>('CreatePlatformKeyPayload').implement({
  fields: (t) => ({
    key: t.exposeString('key', { description: KEY }),
    platformKey: t.prismaField({
      type: 'PlatformKey',
      description: 'The key as in lists.',
      resolve: (query, { id }, _args, { prisma }) => prisma.platformKey.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})

const RevokeSdkKeyPayload = builder.objectRef<Audited & { readonly id: string }>('RevokeSdkKeyPayload').implement({
  fields: (t) => ({
    sdkKey: t.prismaField({
      type: 'SdkKey',
      description: 'The revoked key.',
      resolve: (query, { id }, _args, { prisma }) => prisma.sdkKey.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})

const RevokeServerKeyPayload = builder
  .objectRef<Audited & { readonly id: string }>('RevokeServerKeyPayload')
  .implement({
    fields: (t) => ({
      serverKey: t.prismaField({
        type: 'ServerKey',
        description: 'The revoked key.',
        resolve: (query, { id }, _args, { prisma }) => prisma.serverKey.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  })

const RevokePlatformKeyPayload = builder
  .objectRef<Audited & { readonly id: string }>('RevokePlatformKeyPayload')
  .implement({
    fields: (t) => ({
      platformKey: t.prismaField({
        type: 'PlatformKey',
        description: 'The revoked key.',
        resolve: (query, { id }, _args, { prisma }) =>
          prisma.platformKey.findUniqueOrThrow({ ...query, where: { id } }),
      }),
    }),
  })
for (const payload of [CreatePlatformKeyPayload, RevokePlatformKeyPayload]) addAuditEntry(payload, 'Never null.')
addAuditEntry(RevokeSdkKeyPayload, 'Never null.')
addAuditEntry(RevokeServerKeyPayload, 'Never null.')

const createEnvironmentKeyRequest = shape({ environment, label: keyLabel, reason })
const createPlatformKeyRequest = shape({ role: oneOf('The role of the key.', ROLES), label: keyLabel, reason })
const KEY_TYPES = { sdk: 'SdkKey', server: 'ServerKey', platform: 'PlatformKey' } as const satisfies Record<
  KeyKind,
  string
>
const revokeRequest = (kind: KeyKind) =>
  shape({ id: uuid("The key's id: its `keyId`, or its `id`.", KEY_TYPES[kind]), reason })
const revokeRequests = {
  sdk: revokeRequest('sdk'),
  server: revokeRequest('server'),
  platform: shape({ ...revokeRequest('platform').fields, allowLast }),
}

async function revoke(
  context: Context,
  kind: KeyKind,
  sent: Sent<typeof revokeRequests.sdk.fields>,
): Promise<Audited & { id: string }> {
  const attempt = { action: `${kind}_key.revoke`, target: bareId(KEY_TYPES[kind], sent.id) }
  const caller = await requirePlatform(context, 'manage', attempt)
  const asked: { readonly id: string; readonly reason: string; readonly allowLast?: boolean } =
    revokeRequests[kind].readInput(sent)
  const { id: keyId, reason, allowLast = false } = asked
  const revoking = { kind, keyId, reason, allowLast }
  const revoked = () => revokeKey(context.service.operatorPool, caller, revoking)
  return { id: keyId, audit: auditRef(caller, await findTarget(context, caller, attempt, revoked)) }
}

const requireKeeper = (context: Context, action: string) =>
  requirePlatform(context, 'manage', { action, target: 'keys' })

const DEFAULT_OPERATOR_TOKEN_SECONDS = 3_600

const createOperatorTokenRequest = shape({
  role: optional(oneOf("The role of the token: at most the key's own. Default: that of the key.", ROLES)),
  expiresInSeconds: optional(
    int32(`The lifetime in seconds: 1 to ${MAX_OPERATOR_TOKEN_SECONDS}. Default: ${DEFAULT_OPERATOR_TOKEN_SECONDS}.`, {
      min: 1,
      max: MAX_OPERATOR_TOKEN_SECONDS,
    }),
    DEFAULT_OPERATOR_TOKEN_SECONDS,
  ),
  actor: operatorName,
  reason,
})

type NewOperatorToken = Audited & IssuedOperatorToken & { readonly role: Role; readonly actor: string }

const CreateOperatorTokenPayload = builder.objectRef<NewOperatorToken>('CreateOperatorTokenPayload').implement({
  fields: (t) => ({
    token: t.exposeString('token', { description: 'Sent as `Authorization: Bearer …`, like a platform key.' }),
    role: t.expose('role', { type: RoleType, description: 'The role of the token.' }),
    actor: t.exposeString('actor', { description: 'The person whom the audit log names.' }),
    expiresAt: t.expose('expiresAt', {
      type: 'DateTime',
      description: 'The first moment at which the token is refused.',
    }),
  }),
})
addAuditEntry(CreateOperatorTokenPayload, 'Never null.')

builder.mutationField('createOperatorToken', (t) =>
  t.field({
    type: CreateOperatorTokenPayload,
    description:
      'Makes a short-lived token for a person, for pages in browsers, which cannot keep a key. It ends with its lifetime or with the key. Requires a platform key: a token cannot make tokens.',
    args: inputOf('CreateOperatorTokenInput', createOperatorTokenRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.createOperatorToken, target: 'keys' }
      const caller = await requirePlatform(context, 'read', attempt)
      if (caller.expiresAt !== undefined) return forbid(context.service, caller, attempt, BY_TOKEN)
      const { role: asked, expiresInSeconds: seconds, actor, reason } = createOperatorTokenRequest.readInput(input)
      const role = asked ?? caller.role
      if (!roleIncludes(caller.role, role)) {
        const message = `must be at most the key's own, ${caller.role}`
        return forbid(context.service, caller, attempt, { path: 'role', message })
      }
      const made = await issueOperatorToken(context.service, caller, { role, seconds, actor, reason })
      return { role, actor, ...made, audit: auditRef(caller, made.auditId) }
    },
  }),
)

const BY_TOKEN = {
  path: 'authorization',
  message:
    'must be a platform key: an operator token makes neither tokens, platform keys, server keys nor single sign-on',
}

/** The admin that makes a secret key, or another access that would outlive an operator token. */
export async function requireMaker(context: Context, action: string): Promise<PlatformCaller> {
  const caller = await requireKeeper(context, action)
  return caller.expiresAt === undefined ? caller : forbid(context.service, caller, { action, target: 'keys' }, BY_TOKEN)
}

async function createOfEnvironment(
  context: Context,
  caller: PlatformCaller,
  kind: 'sdk' | 'server',
  sent: Sent<typeof createEnvironmentKeyRequest.fields>,
): Promise<NewKey & Audited> {
  const { environment, label, reason } = createEnvironmentKeyRequest.readInput(sent)
  const { pool, operatorPool } = context.service
  const environmentId = await findEnvironment(pool, caller.projectId, environment)
  const made = await issueEnvironmentKey(operatorPool, caller, kind, { environmentId, label, reason })
  return { ...made, audit: auditRef(caller, made.auditId) }
}

builder.mutationFields((t) => ({
  createSdkKey: t.field({
    type: CreateSdkKeyPayload,
    description: 'Makes a key for the game clients of an environment.',
    args: inputOf('CreateSdkKeyInput', createEnvironmentKeyRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requireKeeper(context, ACTIONS.createSdkKey)
      return createOfEnvironment(context, caller, 'sdk', input)
    },
  }),
  createServerKey: t.field({
    type: CreateServerKeyPayload,
    description:
      "Makes a key of an environment for the game's own servers. Requires a platform key: a new key would outlive an operator token.",
    args: inputOf('CreateServerKeyInput', createEnvironmentKeyRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requireMaker(context, ACTIONS.createServerKey)
      return createOfEnvironment(context, caller, 'server', input)
    },
  }),
  createPlatformKey: t.field({
    type: CreatePlatformKeyPayload,
    description:
      'Makes a key of this project for operators, dashboards and tools. Requires a platform key: a new key would outlive an operator token.',
    args: inputOf('CreatePlatformKeyInput', createPlatformKeyRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requireMaker(context, ACTIONS.createPlatformKey)
      const asked = createPlatformKeyRequest.readInput(input)
      const made = await issuePlatformKey(context.service.operatorPool, caller, asked)
      return { ...made, audit: auditRef(caller, made.auditId) }
    },
  }),
  revokeSdkKey: t.field({
    type: RevokeSdkKeyPayload,
    description: 'Revokes a key: its next call is refused, and its open sockets and streams close.',
    args: inputOf('RevokeSdkKeyInput', revokeRequests.sdk),
    resolve: (_root, { input }, context) => revoke(context, 'sdk', input),
  }),
  revokeServerKey: t.field({
    type: RevokeServerKeyPayload,
    description: 'Revokes a key: its next call is refused.',
    args: inputOf('RevokeServerKeyInput', revokeRequests.server),
    resolve: (_root, { input }, context) => revoke(context, 'server', input),
  }),
  revokePlatformKey: t.field({
    type: RevokePlatformKeyPayload,
    description:
      'Revokes a key: its next call is refused, and its open sockets and streams close. What was planned with it goes on: see `plannedPublications` and `openGrantJobs`.',
    args: inputOf('RevokePlatformKeyInput', revokeRequests.platform),
    resolve: (_root, { input }, context) => revoke(context, 'platform', input),
  }),
}))

nodesOf('SdkKey', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requireKeeper(context, ACTIONS.readSdkKeys)
  return context.prisma.sdkKey.findFirst({ where: { id, environment: { projectId } } })
})

nodesOf('ServerKey', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requireKeeper(context, ACTIONS.readServerKeys)
  return context.prisma.serverKey.findFirst({ where: { id, environment: { projectId } } })
})

nodesOf('PlatformKey', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requireKeeper(context, ACTIONS.readPlatformKeys)
  return context.prisma.platformKey.findFirst({ where: { id, projectId } })
})
