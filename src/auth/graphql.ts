import { ACTIONS } from '../audit/actions.ts'
import { Fields } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import type { Context } from '../graphql/context.ts'
import { pageOf } from '../graphql/page.ts'
import { elements } from '../json.ts'
import { findEnvironment } from '../projects/projects.ts'
import { findTarget, requireLink, requirePlatform } from './access.ts'
import type { Role } from './callers.ts'
import { linkCustom, loginCustom } from './custom-login.ts'
import type { IdentityRef } from './identities.ts'
import { type NewKey, SHOWN_CHARACTERS } from './keys.ts'
import { issuePlatformKey, issueSdkKey, type KeyKind, revokeKey } from './manage-keys.ts'
import { endSession } from './refresh-tokens.ts'
import { refreshTokens, type TokenPair } from './token-pair.ts'
import { readCredentials, readLogin, readRefreshToken } from './wire.ts'

const MAX_REASON = 500

const TokenPairType = builder.objectRef<TokenPair>('TokenPair').implement({
  description: 'What a login answers (spec 4.2).',
  fields: (t) => ({
    accessToken: t.exposeString('accessToken', { description: 'Valid 24 hours.' }),
    refreshToken: t.exposeString('refreshToken', { description: 'Valid 7 days, and used up by its first use.' }),
  }),
})

const LinkedIdentity = builder.objectRef<IdentityRef>('LinkedIdentity').implement({
  description: 'An identity that the player holds now.',
  fields: (t) => ({
    provider: t.exposeString('provider', { description: '`custom`, or `custom:` and the name of another provider.' }),
    subject: t.exposeString('subject'),
  }),
})

const LinkCustomResult = builder.objectRef<{ identity: IdentityRef }>('LinkCustomResult').implement({
  fields: (t) => ({ identity: t.field({ type: LinkedIdentity, resolve: ({ identity }) => identity }) }),
})

const LogoutResult = builder.objectRef<{ done: boolean }>('LogoutResult').implement({
  fields: (t) => ({ done: t.exposeBoolean('done', { description: 'Always true.' }) }),
})

export const WebhookAttemptType = builder.objectRef<Fields>('WebhookAttempt').implement({
  description: "One call of the studio's webhook.",
  fields: (t) => ({
    status: t.int({
      nullable: true,
      description: 'Null when no answer came.',
      resolve: (attempt) => attempt.optionalInt32('status', { min: 0 }),
    }),
    milliseconds: t.int({ resolve: (attempt) => attempt.optionalInt32('milliseconds', { min: 0 }) ?? 0 }),
    error: t.string({
      nullable: true,
      description: 'A word for what went wrong on the way, such as `timeout`, `dns` or `refused`.',
      resolve: (attempt) => attempt.optionalText('error', { max: 64 }),
    }),
  }),
})

builder.prismaObject('LoginLogEntry', {
  fields: (t) => ({
    id: t.exposeID('id'),
    at: t.expose('createdAt', { description: 'When it was answered.', type: 'DateTime' }),
    operation: t.exposeString('operation', { description: '`login` or `link`.' }),
    provider: t.exposeString('provider', { description: "The provider's name, such as `default`." }),
    subject: t.exposeString('subject', { nullable: true, description: 'Null when the webhook named none.' }),
    playerId: t.exposeID('playerId', {
      nullable: true,
      description: 'The player that was found or created; null for none.',
    }),
    outcome: t.exposeString('outcome', { description: '`ok`, or the code that the client received.' }),
    milliseconds: t.exposeInt('milliseconds', { description: 'All attempts together, in milliseconds.' }),
    attempts: t.field({
      description: 'Each call of the webhook, in order.',
      type: [WebhookAttemptType],
      resolve: ({ attempts }) => elements(attempts).map((raw) => Fields.ofJson(raw)),
    }),
  }),
})

builder.queryField('loginLog', (t) =>
  t.prismaConnection({
    type: 'LoginLogEntry',
    cursor: 'environmentId_id',
    description: 'Logins and links of the last 30 days that asked a webhook, the latest first.',
    args: {
      environment: t.arg.string({ required: true }),
      provider: t.arg.string(),
      subject: t.arg.string(),
      playerId: t.arg.id(),
    },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, provider, subject, playerId } = Fields.ofInput(args).read((fields) => ({
        environment: fields.text('environment', { max: 32 }),
        provider: fields.optionalText('provider', { max: 32 }),
        subject: fields.optionalText('subject', { max: 255 }),
        playerId: fields.optionalId('playerId'),
      }))
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
  }),
)

builder.prismaObjectField('Player', 'loginLog', (t) =>
  t.prismaConnection({
    type: 'LoginLogEntry',
    cursor: 'environmentId_id',
    description: 'Its logins and links of the last 30 days, the latest first. For platform keys.',
    resolve: async (query, { environmentId, id: playerId }, _args, context) => {
      await requirePlatform(context, 'viewer')
      const { page, beyond } = pageOf(query, { scope: { environmentId }, order: 'desc' })
      return context.prisma.loginLogEntry.findMany({ ...page, where: { environmentId, playerId, ...beyond } })
    },
  }),
)

const keyActor = '`platform_key:` and its id; null when it was done on the command line.'

builder.prismaObject('SdkKey', {
  fields: (t) => ({
    id: t.exposeID('id'),
    prefix: t.exposeString('prefix', { description: 'The beginning of the key: enough to tell it from others.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: (key) => key.environment.name,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: keyActor }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'Null while it is good.' }),
    revokedBy: t.exposeString('revokedBy', { nullable: true, description: keyActor }),
  }),
})

export const RoleType = builder.enumType('Role', {
  description: 'What a platform key may do.',
  values: {
    viewer: { value: 'viewer', description: 'Reads.' },
    operator: { value: 'operator', description: 'Does what a viewer may, and acts on players.' },
    admin: {
      value: 'admin',
      description:
        'Does what an operator may, and changes scenarios, providers, environments and keys; reads the audit log.',
    },
  } as const satisfies Record<Role, unknown>,
})

builder.prismaObject('PlatformKey', {
  fields: (t) => ({
    id: t.exposeID('id'),
    prefix: t.exposeString('prefix', { description: 'The beginning of the key: enough to tell it from others.' }),
    role: t.field({ type: RoleType, select: { role: true }, resolve: ({ role }) => role as Role }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    createdBy: t.exposeString('createdBy', { nullable: true, description: keyActor }),
    revokedAt: t.expose('revokedAt', { type: 'DateTime', nullable: true, description: 'Null while it is good.' }),
    revokedBy: t.exposeString('revokedBy', { nullable: true, description: keyActor }),
  }),
})

const beginning = 'The beginning of the key, as far as it is shown.'

/** Keys by their beginning. What Prisma puts before a `%` may hold wildcards of its own. */
function readPrefix(fields: Fields) {
  const prefix = fields.optionalText('prefix', { max: SHOWN_CHARACTERS })
  return prefix === null ? {} : { prefix: { startsWith: prefix.replace(/[\\%_]/g, '\\$&') } }
}

builder.queryFields((t) => ({
  sdkKeys: t.prismaConnection({
    type: 'SdkKey',
    cursor: 'id',
    description: "The SDK keys of the key's project, the latest first.",
    args: { environment: t.arg.string(), prefix: t.arg.string({ description: beginning }) },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requireKeeper(context, ACTIONS.readSdkKeys)
      const { environment, prefix } = Fields.ofInput(args).read((fields) => ({
        environment: fields.optionalText('environment', { max: 32 }),
        prefix: readPrefix(fields),
      }))
      const place =
        environment === null
          ? { environment: { projectId } }
          : { environmentId: await findEnvironment(context.service.pool, projectId, environment) }
      const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
      return context.prisma.sdkKey.findMany({ ...page, where: { ...place, ...prefix, ...beyond } })
    },
  }),
  platformKeys: t.prismaConnection({
    type: 'PlatformKey',
    cursor: 'id',
    description: "The platform keys of the key's project, the latest first.",
    args: { role: t.arg({ type: RoleType }), prefix: t.arg.string({ description: beginning }) },
    resolve: async (query, _root, args, context) => {
      const { projectId } = await requireKeeper(context, ACTIONS.readPlatformKeys)
      const prefix = Fields.ofInput(args).read(readPrefix)
      const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
      const where = { projectId, ...(args.role && { role: args.role }), ...prefix, ...beyond }
      return context.prisma.platformKey.findMany({ ...page, where })
    },
  }),
}))

const NewKeyType = builder.objectRef<NewKey>('NewKey').implement({
  description: 'A key just made: the only time that it is seen whole.',
  fields: (t) => ({
    id: t.exposeID('id'),
    key: t.exposeString('key', { description: 'The key itself.' }),
    prefix: t.exposeString('prefix', { description: 'The beginning of the key, by which lists show it.' }),
  }),
})

const RevokedKey = builder.objectRef<{ id: string }>('RevokedKey').implement({
  description: 'The key that was revoked.',
  fields: (t) => ({ id: t.exposeID('id') }),
})

const CreateSdkKeyInput = builder.inputType('CreateSdkKeyInput', {
  fields: (t) => ({ environment: t.string({ required: true }), reason: t.string({ required: true }) }),
})

const CreatePlatformKeyInput = builder.inputType('CreatePlatformKeyInput', {
  fields: (t) => ({ role: t.field({ type: RoleType, required: true }), reason: t.string({ required: true }) }),
})

const revokeInput = (name: string) =>
  builder.inputType(name, {
    fields: (t) => ({
      id: t.id({ required: true, description: 'The id of the key.' }),
      reason: t.string({ required: true }),
    }),
  })

const RevokeSdkKeyInput = revokeInput('RevokeSdkKeyInput')
const RevokePlatformKeyInput = revokeInput('RevokePlatformKeyInput')

const readReason = (fields: Fields): string => fields.text('reason', { max: MAX_REASON })
const readKeyId = (fields: Fields) => ({ keyId: fields.optionalId('id') ?? '', reason: readReason(fields) })

async function revoke(context: Context, kind: KeyKind, sent: { readonly id: string }): Promise<void> {
  const attempt = { action: `${kind}_key.revoke`, target: sent.id }
  const caller = await requirePlatform(context, 'admin', attempt)
  const input = Fields.ofInput(sent).read(readKeyId)
  await findTarget(context, caller, attempt, () => revokeKey(context.service.operatorPool, caller, { kind, ...input }))
}

const requireKeeper = (context: Context, action: string) =>
  requirePlatform(context, 'admin', { action, target: 'keys' })

builder.mutationFields((t) => ({
  createSdkKey: t.field({
    type: NewKeyType,
    description: 'Makes a key with which the game clients of an environment call.',
    args: { input: t.arg({ type: CreateSdkKeyInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const caller = await requireKeeper(context, ACTIONS.createSdkKey)
      const { environment, reason } = Fields.ofInput(input).read((fields) => ({
        environment: fields.text('environment', { max: 32 }),
        reason: readReason(fields),
      }))
      const environmentId = await findEnvironment(context.service.pool, caller.projectId, environment)
      return issueSdkKey(context.service.operatorPool, caller, { environmentId, reason })
    },
  }),
  createPlatformKey: t.field({
    type: NewKeyType,
    description: 'Makes a key of this project for operators, dashboards and tools.',
    args: { input: t.arg({ type: CreatePlatformKeyInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const caller = await requireKeeper(context, ACTIONS.createPlatformKey)
      return issuePlatformKey(context.service.operatorPool, caller, {
        role: input.role,
        reason: Fields.ofInput(input).read(readReason),
      })
    },
  }),
  revokeSdkKey: t.field({
    type: RevokedKey,
    description: 'Ends a key: its next call is refused, and what it has open closes.',
    args: { input: t.arg({ type: RevokeSdkKeyInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      await revoke(context, 'sdk', input)
      return { id: input.id }
    },
  }),
  revokePlatformKey: t.field({
    type: RevokedKey,
    description: 'Ends a key: its next call is refused, and what it has open closes.',
    args: { input: t.arg({ type: RevokePlatformKeyInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      await revoke(context, 'platform', input)
      return { id: input.id }
    },
  }),
}))

const customData = 'Passed on to the webhook: the text of a JSON object, to the byte, or an object.'
const provider = 'The name of a custom provider; `default` unless given.'

const LoginCustomInput = builder.inputType('LoginCustomInput', {
  fields: (t) => ({
    customData: t.field({ type: 'JSONObject', required: true, description: customData }),
    provider: t.string({ description: provider }),
    nickname: t.string({ description: 'What a new player is called unless the webhook says so.' }),
    region: t.string(),
    language: t.string(),
  }),
})

const LinkCustomInput = builder.inputType('LinkCustomInput', {
  fields: (t) => ({
    customData: t.field({ type: 'JSONObject', required: true, description: customData }),
    provider: t.string({ description: provider }),
  }),
})

const RefreshTokensInput = builder.inputType('RefreshTokensInput', {
  fields: (t) => ({ refreshToken: t.string({ required: true }) }),
})

const LogoutInput = builder.inputType('LogoutInput', {
  fields: (t) => ({ refreshToken: t.string({ required: true }) }),
})

builder.mutationFields((t) => ({
  loginCustom: t.field({
    type: TokenPairType,
    description: "Logs in through the studio's webhook. Takes the SDK key.",
    args: { input: t.arg({ type: LoginCustomInput, required: true }) },
    resolve: async (_root, { input }, context) =>
      loginCustom(context.service, await context.client(), Fields.ofInput(input).read(readLogin)),
  }),
  linkCustom: t.field({
    type: LinkCustomResult,
    description: 'Attaches the subject that the webhook names to the calling player. Takes the SDK key, too.',
    args: { input: t.arg({ type: LinkCustomInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { client, player } = await requireLink(context, ACTIONS.linkIdentity)
      const credentials = Fields.ofInput(input).read(readCredentials)
      return { identity: await linkCustom(context.service, client, player, credentials) }
    },
  }),
  refreshTokens: t.field({
    type: TokenPairType,
    description: 'Exchanges a refresh token for a new pair. Takes the SDK key.',
    args: { input: t.arg({ type: RefreshTokensInput, required: true }) },
    resolve: async (_root, { input }, context) =>
      refreshTokens(context.service, await context.client(), Fields.ofInput(input).read(readRefreshToken)),
  }),
  logout: t.field({
    type: LogoutResult,
    description: 'Ends the login that a refresh token came from. Takes the SDK key.',
    args: { input: t.arg({ type: LogoutInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { environmentId } = await context.client()
      await context.service.run(endSession(environmentId, Fields.ofInput(input).read(readRefreshToken)))
      return { done: true }
    },
  }),
}))
