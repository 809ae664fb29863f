import type { Rehearsal } from '../auth/custom-login.ts'
import { WebhookAttemptType } from '../auth/graphql.ts'
import { readCredentials } from '../auth/wire.ts'
import { Fields } from '../fields.ts'
import { builder } from '../graphql/builder.ts'
import { requireActor, requirePlatform } from '../graphql/context.ts'
import { print, RawJson } from '../json.ts'
import { type AuthProvidersView, type CustomProviderView, readSettings } from './settings.ts'

const MAX_REASON = 500

const CustomProviderType = builder.objectRef<CustomProviderView & { name: string }>('CustomProvider').implement({
  description: "A login provider that asks a studio's webhook (spec 2.3).",
  fields: (t) => ({
    name: t.exposeString('name'),
    enabled: t.exposeBoolean('enabled'),
    url: t.exposeString('url'),
    hasSecret: t.exposeBoolean('hasSecret', { description: 'A secret is stored. It never comes back.' }),
    updatedAt: t.field({ type: 'DateTime', resolve: ({ updatedAt }) => new Date(updatedAt) }),
  }),
})

const withheld = 'As given, without what is named like a secret or a key.'

const AuthProvidersType = builder.objectRef<AuthProvidersView>('AuthProviders').implement({
  description: 'The login providers of an environment (spec 4.3).',
  fields: (t) => ({
    environment: t.exposeString('environment'),
    custom: t.field({
      type: [CustomProviderType],
      resolve: ({ authProviders }) =>
        Object.entries(authProviders.custom).map(([name, provider]) => ({ name, ...provider })),
    }),
    google: t.field({
      type: 'JSON',
      nullable: true,
      description: withheld,
      resolve: ({ authProviders }) => authProviders.google,
    }),
    apple: t.field({
      type: 'JSON',
      nullable: true,
      description: withheld,
      resolve: ({ authProviders }) => authProviders.apple,
    }),
  }),
})

builder.queryField('authProviders', (t) =>
  t.field({
    type: [AuthProvidersType],
    description: "The login providers of the key's project, by environment: of one, or of all.",
    args: { environment: t.arg.string() },
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const environment = Fields.ofInput(args).read((fields) => fields.optionalText('environment', { max: 32 }))
      return context.operations.readAuthProviders(projectId, environment)
    },
  }),
)

const SetAuthProvidersInput = builder.inputType('SetAuthProvidersInput', {
  fields: (t) => ({
    environment: t.string({ required: true }),
    authProviders: t.field({
      type: 'JSONObject',
      required: true,
      description: 'As over REST: `{custom: {<name>: {enabled, url, secret}}, google, apple}`; what is absent stays.',
    }),
    reason: t.string({ required: true }),
  }),
})

const SetAuthProvidersPayload = builder
  .objectRef<{ authProviders: AuthProvidersView }>('SetAuthProvidersPayload')
  .implement({
    fields: (t) => ({
      authProviders: t.field({ type: AuthProvidersType, resolve: (payload) => payload.authProviders }),
    }),
  })

const TestAuthProviderInput = builder.inputType('TestAuthProviderInput', {
  fields: (t) => ({
    environment: t.string({ required: true }),
    provider: t.string({ description: '`default` unless given.' }),
    customData: t.field({ type: 'JSONObject', required: true, description: 'What a client would send.' }),
  }),
})

const TestAuthProviderPayload = builder.objectRef<Rehearsal>('TestAuthProviderPayload').implement({
  description: 'What a login would come to.',
  fields: (t) => ({
    status: t.exposeInt('status', { description: 'The status that a client would get over REST.' }),
    error: t.exposeString('error', { nullable: true, description: 'The text that it would get; null for a login.' }),
    subject: t.exposeString('subject', { nullable: true, description: 'The subject that the webhook named.' }),
    attempts: t.field({
      type: [WebhookAttemptType],
      resolve: ({ attempts }) =>
        attempts.map(({ status, milliseconds, error }) => Fields.ofJson(print({ status, milliseconds, error }))),
    }),
  }),
})

builder.mutationFields((t) => ({
  setAuthProviders: t.field({
    type: SetAuthProvidersPayload,
    description: 'Sets login providers. It counts for the very next login, on every instance.',
    args: { input: t.arg({ type: SetAuthProvidersInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const caller = await requireActor(context, 'admin', { action: 'auth_providers.set', target: 'providers' })
      const { environment, authProviders, reason } = Fields.ofInput(input).read((fields) => ({
        environment: fields.text('environment', { max: 32 }),
        authProviders: fields.object('authProviders'),
        reason: fields.text('reason', { max: MAX_REASON }),
      }))
      const settings = readSettings(print({ environment, authProviders: new RawJson(authProviders) }))
      return { authProviders: await context.operations.setAuthProviders(caller, settings, reason) }
    },
  }),
  testAuthProvider: t.field({
    type: TestAuthProviderPayload,
    description: 'Asks a webhook as a login would, and tells how it went. No player is made, found or logged in.',
    args: { input: t.arg({ type: TestAuthProviderInput, required: true }) },
    resolve: async (_root, { input }, context) => {
      const { projectId } = await requireActor(context, 'admin', { action: 'auth_providers.test', target: 'providers' })
      const environment = Fields.ofInput(input).read((fields) => fields.text('environment', { max: 32 }))
      const environmentId = await context.operations.findEnvironment(projectId, environment)
      return context.operations.rehearseLogin({ projectId, environmentId }, Fields.ofInput(input).read(readCredentials))
    },
  }),
}))
