import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { bareId, globalId } from '../graphql/global-id.ts'
import { NodeType, nodesOf } from '../graphql/node.ts'
import { namesOf, pageOf } from '../graphql/page.ts'
import { argsOf, enumType, inputOf, type Sent } from '../graphql/shapes.ts'
import { findEnvironment } from '../projects/projects.ts'
import { environment, keyLabel, operatorName, playerId, providerName, reason } from '../request/common.ts'
import { MAX_OPERATOR_TOKEN_SECONDS, MAX_SUBJECT } from '../request/limits.ts'
import { described, int32, mapped, oneOf, optional, shape, text, uuid } from '../request/shape.ts'
import { findTarget, forbid, requireLink, requirePlatform } from './access.ts'
import { ROLES, type Role, roleIncludes } from './callers.ts'
import { linkCustom, loginCustom } from './custom-login.ts'
import type { IdentityRef } from './identities.ts'
import { type NewKey, SHOWN_CHARACTERS } from './keys.ts'
import { LOGIN_OPERATIONS, LOGIN_OUTCOMES, type LoginAttempt, type LoginOutcome } from './login-log.ts'
import { issueOperatorToken, issuePlatformKey, issueSdkKey, type KeyKind, revokeKey } from './manage-keys.ts'
import type { IssuedOperatorToken } from './operator-tokens.ts'
import { endSession } from './refresh-tokens.ts'
import { linkCustomRequest, loginCustomRequest, refreshRequest } from './requests.ts'
import { refreshTokens, type TokenPair } from './token-pair.ts'
import { ATTEMPT_ERRORS, type WebhookAttempt } from './webhook.ts'
import { LOGIN_NOTES, type LoginNote } from './webhook-answer.ts'

const TokenPairType = builder.objectRef<TokenPair>('TokenPairPayload').implement({
  description: 'The tokens of a login (spec 4.2).',
  fields: (t) => ({
    accessToken: t.exposeString('accessToken', {
      description: 'Valid 24 hours, or until two seconds after its login has ended.',
    }),
    refreshToken: t.exposeString('refreshToken', { description: 'Valid 7 days, and used up by its first use.' }),
  }),
})

const LinkedIdentity = builder.objectRef<IdentityRef>('LinkedIdentity').implement({
  description: 'A linked identity.',
  fields: (t) => ({
    provider: t.exposeString('provider', { description: '`custom`, or `custom:` and the name of another provider.' }),
    subject: t.exposeString('subject'),
  }),
})

const LinkCustomPayload = builder.objectRef<{ identity: IdentityRef }>('LinkCustomPayload').implement({
  fields: (t) => ({ identity: t.field({ type: LinkedIdentity, resolve: ({ identity }) => identity }) }),
})

const LogoutPayload = builder.objectRef<{ done: boolean }>('LogoutPayload').implement({
  fields: (t) => ({ done: t.exposeBoolean('done', { description: 'Always true.' }) }),
})

const WebhookErrorType = enumType('WebhookError', ATTEMPT_ERRORS, {
  description: 'The class of a failure between the service and a webhook.',
  values: {
    timeout: 'No whole answer came within 3 seconds, from looking up the name to the last byte.',
    dns: 'The name has no address, or its name servers do not answer.',
    private_address: 'The address is not a public one, and `WEBHOOK_PRIVATE_ADDRESSES` is not `allow`.',
    refused: 'Nothing listens at the port.',
    reset: 'The connection was closed before the answer was whole.',
    tls: 'The certificate is expired, unknown or of another name, or the port speaks no TLS.',
    protocol: 'The answer is not HTTP/1.1, or its headers are over 16 KiB.',
    bad_status: 'The status is outside of 200 to 599.',
    too_large: 'The answer is over 16 MiB.',
    encoding: 'The answer is not UTF-8, or is compressed in another way than its headers say.',
    overloaded: 'Too many calls of the provider were under way, or their answers were too long together.',
    network: 'Any other failure of the network.',
  },
})

export const LoginOutcomeType = enumType('LoginOutcome', LOGIN_OUTCOMES, {
  description: 'The result of a login or link: `OK`, or the code that the client received.',
  values: {
    ok: 'The player was logged in, or the identity linked.',
    custom_auth_disabled: 'The provider is disabled or not configured.',
    custom_auth_rejected: 'The webhook refused.',
    custom_auth_invalid_response: "The webhook's answer is invalid.",
    custom_auth_unavailable: 'The webhook could not be reached, or failed, at every attempt.',
    custom_auth_invalid_data: "The webhook's `data` is over the limits of storage.",
    player_banned: 'The player is banned.',
    player_deleted: 'The player is deleted.',
    identity_already_linked: 'Another player has the identity.',
  },
})

const LoginOperationType = enumType('LoginOperation', LOGIN_OPERATIONS, {
  description: 'The purpose of a webhook call.',
  values: { login: 'A custom login.', link: 'The linking of an identity to a player.' },
})

export const WebhookAttemptType = builder.objectRef<WebhookAttempt>('WebhookAttempt').implement({
  description: "One call of the studio's webhook.",
  fields: (t) => ({
    status: t.exposeInt('status', { nullable: true, description: 'Null when no answer came.' }),
    milliseconds: t.exposeInt('milliseconds'),
    error: t.expose('error', {
      type: WebhookErrorType,
      nullable: true,
      description: 'The class of the failure. Null when an answer was read.',
    }),
    excerpt: t.string({
      nullable: true,
      description:
        'The first 200 characters of a refusing answer (4xx) with text. Repeated secrets and parts of `customData` are replaced by `…`, and control characters by spaces. Null for any other answer.',
      // Attempts that were logged by an earlier version have none.
      resolve: ({ excerpt }) => excerpt ?? null,
    }),
    hint: t.string({
      nullable: true,
      description: 'A hint for 401 and 403: the receiver may refuse the signature. Null for any other status.',
      resolve: ({ status }) => (status === 401 || status === 403 ? 'signature refused by the receiver?' : null),
    }),
  }),
})

export const LoginNoteType = enumType('LoginNote', LOGIN_NOTES, {
  description: "A part of the webhook's answer that was not stored. The player keeps what it has.",
  values: {
    'nickname ignored': 'The nickname is too long or cannot be stored.',
    'avatar ignored': 'The address of the avatar is too long or cannot be stored.',
  },
})
export const LOGIN_NOTES_DESCRIPTION = "The parts of the webhook's answer that were not stored."

const LoginLogEntryType = builder.prismaObject('LoginLogEntry', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environmentId, id }) => globalId('LoginLogEntry', environmentId, id) }),
    occurredAt: t.expose('createdAt', { description: 'The time of the answer.', type: 'DateTime' }),
    operation: t.field({
      type: LoginOperationType,
      description: 'A login, or the linking of an identity.',
      select: { operation: true },
      resolve: ({ operation }) => operation as LoginAttempt['operation'],
    }),
    provider: t.exposeString('provider', { description: "The provider's name, such as `default`." }),
    subject: t.exposeString('subject', { nullable: true, description: 'Null when the webhook gave none.' }),
    playerId: t.exposeID('playerId', {
      nullable: true,
      description: 'The player that was found or created; null without one.',
    }),
    outcome: t.field({
      type: LoginOutcomeType,
      select: { outcome: true },
      resolve: ({ outcome }) => outcome as LoginOutcome,
    }),
    milliseconds: t.exposeInt('milliseconds', { description: 'The time of all attempts together, in milliseconds.' }),
    attempts: t.field({
      description: 'Each call of the webhook, in order.',
      type: [WebhookAttemptType],
      resolve: ({ attempts }) => JSON.parse(attempts) as WebhookAttempt[],
    }),
    notes: t.field({
      type: [LoginNoteType],
      description: LOGIN_NOTES_DESCRIPTION,
      resolve: ({ notes }) => JSON.parse(notes) as LoginNote[],
    }),
  }),
})

const loginLogRequest = shape({
  environment,
  provider: optional(described(providerName, 'Only this provider, such as `default`.')),
  subject: optional(text('Only this subject.', { max: MAX_SUBJECT })),
  playerId: optional(described(playerId, 'Only this player.')),
})

const [connection, edge] = namesOf('LoginLogEntry')
const LoginLogConnection = builder.connectionObject({ type: LoginLogEntryType, ...connection }, edge)

builder.queryField('loginLog', (t) =>
  t.prismaConnection(
    {
      type: 'LoginLogEntry',
      cursor: 'environmentId_id',
      description: 'Logins and links of the last 30 days that called a webhook, the latest first.',
      args: argsOf(loginLogRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requirePlatform(context, 'viewer')
        const { environment, provider, subject, playerId } = loginLogRequest.readInput(args)
        const environmentId = await findEnvironment(context.service.pool, projectId, environment)
        const where = {
          environmentId,
          ...(provider !== null && { provider }),
          ...(subject !== null && { subject }),
          ...(playerId !== null && { playerId }),
        }
        const { page, beyond } = pageOf(query, { scope: { environmentId }, order: 'desc' })
        return context.prisma.loginLogEntry.findMany({ ...page, where: { ...where, ...beyond } })
      },
    },
    LoginLogConnection,
  ),
)

builder.prismaObjectField('Player', 'loginLog', (t) =>
  t.prismaConnection(
    {
      type: 'LoginLogEntry',
      cursor: 'environmentId_id',
      description: "The player's logins and links of the last 30 days, the latest first. For platform keys.",
      resolve: async (query, { environmentId, id: playerId }, _args, context) => {
        await requirePlatform(context, 'viewer')
        const { page, beyond } = pageOf(query, { scope: { environmentId }, order: 'desc' })
        return context.prisma.loginLogEntry.findMany({ ...page, where: { environmentId, playerId, ...beyond } })
      },
    },
    LoginLogConnection,
  ),
)

const keyLabelDescription = 'The purpose of the key, from its creator. Null for a key without a label.'
const keyActor = '`platform_key:` and its id; null for the command line.'

builder.prismaObject('SdkKey', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('SdkKey', id) }),
    keyId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    prefix: t.exposeString('prefix', { description: 'The beginning of the key, to tell it from others.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: (key) => key.environment.name,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: keyActor }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'Null for a valid key.' }),
    revokedBy: t.exposeString('revokedBy', { nullable: true, description: keyActor }),
    label: t.exposeString('label', { nullable: true, description: keyLabelDescription }),
  }),
})

export const RoleType = enumType('Role', ROLES, {
  description: 'The rights of a platform key.',
  values: {
    viewer: 'Reads.',
    operator: 'The rights of a viewer. Also acts on players, and reads the audit log of each.',
    admin:
      'The rights of an operator. Also changes scenarios, providers, environments and keys, and reads the audit log.',
  },
})

builder.prismaObject('PlatformKey', {
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('PlatformKey', id) }),
    keyId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    prefix: t.exposeString('prefix', { description: 'The beginning of the key, to tell it from others.' }),
    role: t.field({ type: RoleType, select: { role: true }, resolve: ({ role }) => role as Role }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: keyActor }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'Null for a valid key.' }),
    revokedBy: t.exposeString('revokedBy', { nullable: true, description: keyActor }),
    label: t.exposeString('label', { nullable: true, description: keyLabelDescription }),
  }),
})

/** Keys by their beginning. What Prisma puts before a `%` may hold wildcards of its own. */
const prefix = mapped(
  optional(text('The beginning of the key, as far as it is shown.', { max: SHOWN_CHARACTERS })),
  (beginning) => (beginning === null ? {} : { prefix: { startsWith: beginning.replace(/[\\%_]/g, '\\$&') } }),
)
const sdkKeysRequest = shape({ environment: optional(described(environment, 'Only this environment.')), prefix })
const platformKeysRequest = shape({ role: optional(oneOf('Only this role.', ROLES)), prefix })

builder.queryFields((t) => ({
  sdkKeys: t.prismaConnection(
    {
      type: 'SdkKey',
      cursor: 'id',
      description: "The SDK keys of the key's project, the latest first.",
      args: argsOf(sdkKeysRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requireKeeper(context, ACTIONS.readSdkKeys)
        const { environment, prefix } = sdkKeysRequest.readInput(args)
        const place =
          environment === null
            ? { environment: { projectId } }
            : { environmentId: await findEnvironment(context.service.pool, projectId, environment) }
        const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
        return context.prisma.sdkKey.findMany({ ...page, where: { ...place, ...prefix, ...beyond } })
      },
    },
    ...namesOf('SdkKey'),
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

const createSdkKeyRequest = shape({ environment, label: keyLabel, reason })
const createPlatformKeyRequest = shape({ role: oneOf('The role of the key.', ROLES), label: keyLabel, reason })
const KEY_TYPES = { sdk: 'SdkKey', platform: 'PlatformKey' } as const satisfies Record<KeyKind, string>
const revokeRequest = (kind: KeyKind) =>
  shape({ id: uuid("The key's id: its `keyId`, or its `id`.", KEY_TYPES[kind]), reason })
const revokeRequests = { sdk: revokeRequest('sdk'), platform: revokeRequest('platform') }

async function revoke(
  context: Context,
  kind: KeyKind,
  sent: Sent<typeof revokeRequests.sdk.fields>,
): Promise<Audited & { id: string }> {
  const attempt = { action: `${kind}_key.revoke`, target: bareId(KEY_TYPES[kind], sent.id) }
  const caller = await requirePlatform(context, 'admin', attempt)
  const { id: keyId, reason } = revokeRequests[kind].readInput(sent)
  const revoking = { kind, keyId, reason }
  const revoked = () => revokeKey(context.service.operatorPool, caller, revoking)
  return { id: keyId, audit: auditRef(caller, await findTarget(context, caller, attempt, revoked)) }
}

const requireKeeper = (context: Context, action: string) =>
  requirePlatform(context, 'admin', { action, target: 'keys' })

const DEFAULT_OPERATOR_TOKEN_SECONDS = 3_600

const createOperatorTokenRequest = shape({
  role: oneOf("The role of the token: at most the key's own.", ROLES),
  expiresInSeconds: optional(
    int32(`Its lifetime in seconds: 1 to ${MAX_OPERATOR_TOKEN_SECONDS}. Default: ${DEFAULT_OPERATOR_TOKEN_SECONDS}.`, {
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
    role: t.expose('role', { type: RoleType, description: 'Its role.' }),
    actor: t.exposeString('actor', { description: 'The person whom the audit log names for it.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'The first moment at which it is refused.' }),
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
      const caller = await requirePlatform(context, 'viewer', attempt)
      if (caller.expiresAt !== undefined) return forbid(context, caller, attempt, BY_TOKEN)
      const { role, expiresInSeconds: seconds, actor, reason } = createOperatorTokenRequest.readInput(input)
      if (!roleIncludes(caller.role, role)) {
        const message = `must be at most the key's own, ${caller.role}`
        return forbid(context, caller, attempt, { path: 'role', message })
      }
      const made = await issueOperatorToken(context.service, caller, { role, seconds, actor, reason })
      return { role, actor, ...made, audit: auditRef(caller, made.auditId) }
    },
  }),
)

const BY_TOKEN = {
  path: 'authorization',
  message: 'must be a platform key: an operator token makes neither tokens nor platform keys',
}

builder.mutationFields((t) => ({
  createSdkKey: t.field({
    type: CreateSdkKeyPayload,
    description: 'Makes a key for the game clients of an environment.',
    args: inputOf('CreateSdkKeyInput', createSdkKeyRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requireKeeper(context, ACTIONS.createSdkKey)
      const { environment, label, reason } = createSdkKeyRequest.readInput(input)
      const environmentId = await findEnvironment(context.service.pool, caller.projectId, environment)
      const made = await issueSdkKey(context.service.operatorPool, caller, { environmentId, label, reason })
      return { ...made, audit: auditRef(caller, made.auditId) }
    },
  }),
  createPlatformKey: t.field({
    type: CreatePlatformKeyPayload,
    description:
      'Makes a key of this project for operators, dashboards and tools. Requires a platform key: a new key would outlive an operator token.',
    args: inputOf('CreatePlatformKeyInput', createPlatformKeyRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requireKeeper(context, ACTIONS.createPlatformKey)
      // The key would outlive the token.
      const attempt = { action: ACTIONS.createPlatformKey, target: 'keys' }
      if (caller.expiresAt !== undefined) return forbid(context, caller, attempt, BY_TOKEN)
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
  revokePlatformKey: t.field({
    type: RevokePlatformKeyPayload,
    description: 'Revokes a key: its next call is refused, and its open sockets and streams close.',
    args: inputOf('RevokePlatformKeyInput', revokeRequests.platform),
    resolve: (_root, { input }, context) => revoke(context, 'platform', input),
  }),
}))

builder.mutationFields((t) => ({
  loginCustom: t.field({
    type: TokenPairType,
    description: "Logs in through the studio's webhook. Requires the SDK key.",
    args: inputOf('LoginCustomInput', loginCustomRequest),
    resolve: async (_root, { input }, context) =>
      loginCustom(context.service, await context.client(), loginCustomRequest.readInput(input)),
  }),
  linkCustom: t.field({
    type: LinkCustomPayload,
    description: 'Links the subject that the webhook names to the calling player. Requires the SDK key, too.',
    args: inputOf('LinkCustomInput', linkCustomRequest),
    resolve: async (_root, { input }, context) => {
      const { client, player } = await requireLink(context, ACTIONS.linkIdentity)
      const credentials = linkCustomRequest.readInput(input)
      return { identity: await linkCustom(context.service, client, player, credentials) }
    },
  }),
  refreshTokens: t.field({
    type: TokenPairType,
    description: 'Exchanges a refresh token for a new pair. Requires the SDK key.',
    args: inputOf('RefreshTokensInput', refreshRequest),
    resolve: async (_root, { input }, context) =>
      refreshTokens(context.service, await context.client(), refreshRequest.readInput(input).refreshToken),
  }),
  logout: t.field({
    type: LogoutPayload,
    description: 'Ends the login that a refresh token came from. Requires the SDK key.',
    args: inputOf('LogoutInput', refreshRequest),
    resolve: async (_root, { input }, context) => {
      const { environmentId } = await context.client()
      await context.service.run(endSession(environmentId, refreshRequest.readInput(input).refreshToken))
      return { done: true }
    },
  }),
}))

nodesOf('LoginLogEntry', ['uuid', 'uuid'], async (context, [environmentId = '', id = '']) => {
  const { projectId } = await requirePlatform(context, 'viewer')
  const isOwn = await context.prisma.environment.findFirst({ where: { id: environmentId, projectId } })
  return isOwn && context.prisma.loginLogEntry.findUnique({ where: { environmentId_id: { environmentId, id } } })
})

nodesOf('SdkKey', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requireKeeper(context, ACTIONS.readSdkKeys)
  return context.prisma.sdkKey.findFirst({ where: { id, environment: { projectId } } })
})

nodesOf('PlatformKey', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requireKeeper(context, ACTIONS.readPlatformKeys)
  return context.prisma.platformKey.findFirst({ where: { id, projectId } })
})
