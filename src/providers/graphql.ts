import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../auth/access.ts'
import { type Rehearsal, rehearseLogin } from '../auth/custom-login.ts'
import {
  LOGIN_NOTES_DESCRIPTION,
  LoginNoteType,
  LoginOutcomeType,
  WebhookAttemptType,
} from '../auth/graphql-login-log.ts'
import { requireKey } from '../auth/keys.ts'
import { credentials } from '../auth/requests.ts'
import type { WebhookAnswer } from '../auth/webhook-answer.ts'
import { builder } from '../graphql/builder.ts'
import { jsonOrNull } from '../graphql/scalars.ts'
import { argsOf, inputOf } from '../graphql/shapes.ts'
import { objectText } from '../json.ts'
import { findEnvironment } from '../projects/projects.ts'
import { environment, providerName, reason } from '../request/common.ts'
import { MAX_OVERLAP_SECONDS, MAX_SECRET } from '../request/limits.ts'
import { InputSource, int32, optional, shape, text } from '../request/shape.ts'
import { type AuthProvidersView, type CustomProviderView, readAuthProviders } from './auth-providers.ts'
import { WITHHELD } from './redaction.ts'
import { DEFAULT_OVERLAP_SECONDS, type RotatedSecret, rotateProviderSecret } from './rotate-secret.ts'
import { authProvidersQuery, authProvidersRequest, readSettings, setAuthProviders } from './settings.ts'

const CustomProviderType = builder.objectRef<CustomProviderView & { name: string }>('CustomProvider').implement({
  description: "A login provider that calls a studio's webhook.",
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The name that logins use, such as `default`.' }),
    enabled: t.exposeBoolean('enabled'),
    url: t.exposeString('url', { description: 'The address of the webhook.' }),
    hasSecret: t.exposeBoolean('hasSecret', {
      description: 'True when a secret is stored. The secret itself is never returned.',
    }),
    updatedAt: t.field({ type: 'DateTime', resolve: ({ updatedAt }) => new Date(updatedAt) }),
    replacedSecretsExpireAt: t.field({
      type: ['DateTime'],
      description: 'The times at which secrets replaced by `rotateProviderSecret` stop signing, the earliest first.',
      resolve: ({ replacedSecretsExpireAt }) => replacedSecretsExpireAt.map((at) => new Date(at)),
    }),
  }),
})

const AuthProvidersType = builder.objectRef<AuthProvidersView>('AuthProviders').implement({
  description: 'The login providers of an environment.',
  fields: (t) => ({
    environment: t.exposeString('environment'),
    custom: t.field({
      description: 'The custom providers, by name.',
      type: [CustomProviderType],
      resolve: ({ authProviders }) =>
        Object.entries(authProviders.custom).map(([name, provider]) => ({ name, ...provider })),
    }),
    google: t.field({
      type: 'JSON',
      nullable: true,
      description: WITHHELD,
      resolve: ({ authProviders }) => authProviders.google,
    }),
    apple: t.field({
      type: 'JSON',
      nullable: true,
      description: WITHHELD,
      resolve: ({ authProviders }) => authProviders.apple,
    }),
  }),
})

builder.queryField('authProviders', (t) =>
  t.field({
    type: [AuthProvidersType],
    description: "The login providers of the key's project, by environment: of one environment, or of all.",
    args: argsOf(authProvidersQuery),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment } = authProvidersQuery.readInput(args)
      return readAuthProviders(context.service.operatorPool, projectId, environment)
    },
  }),
)

const setAuthProvidersRequest = shape({ ...authProvidersRequest.fields, reason })

const SetAuthProvidersPayload = builder
  .objectRef<Audited & { readonly authProviders: AuthProvidersView }>('SetAuthProvidersPayload')
  .implement({
    fields: (t) => ({
      authProviders: t.field({
        description: 'The providers of the environment after the change.',
        type: AuthProvidersType,
        resolve: (payload) => payload.authProviders,
      }),
    }),
  })

addAuditEntry(SetAuthProvidersPayload, 'Null when nothing changed.')

const rotateSecretRequest = shape({
  environment,
  name: providerName,
  secret: optional(text('The new secret. Default: a generated one.', { max: MAX_SECRET })),
  overlapSeconds: optional(
    int32(
      `How long the replaced secret still signs, in seconds: 0 to ${MAX_OVERLAP_SECONDS}. Default: ${DEFAULT_OVERLAP_SECONDS}. With 0, this secret and all earlier ones stop signing at once.`,
      { min: 0, max: MAX_OVERLAP_SECONDS },
    ),
    DEFAULT_OVERLAP_SECONDS,
  ),
  reason,
})

const RotateProviderSecretPayload = builder
  .objectRef<Audited & RotatedSecret>('RotateProviderSecretPayload')
  .implement({
    fields: (t) => ({
      provider: t.field({
        type: CustomProviderType,
        description: 'The provider after the change.',
        resolve: ({ name, provider }) => ({ name, ...provider }),
      }),
      secret: t.exposeString('secret', {
        nullable: true,
        description: 'The generated secret, shown in this answer only. Null when the request gave one.',
      }),
    }),
  })

addAuditEntry(RotateProviderSecretPayload, 'Null when nothing changed.')

const testProviderRequest = shape({ environment, ...credentials })

const dataText = (answer: WebhookAnswer | null): string | null =>
  answer === null || answer.data.size === 0 ? null : objectText(answer.data)

const TestAuthProviderPayload = builder.objectRef<Rehearsal>('TestAuthProviderPayload').implement({
  description: 'The result of a rehearsed login.',
  fields: (t) => ({
    status: t.exposeInt('status', { description: 'The status that a client would get over REST.' }),
    outcome: t.expose('outcome', { type: LoginOutcomeType }),
    subject: t.string({
      nullable: true,
      description: 'The subject that the webhook named. Null when the login would fail.',
      resolve: ({ answer }) => answer?.subject,
    }),
    nickname: t.string({
      nullable: true,
      description: 'The nickname that the login would store. Null when it would leave the nickname as it is.',
      resolve: ({ answer }) => answer?.nickname,
    }),
    avatarUrl: t.string({
      nullable: true,
      description: 'The avatar that the login would store. Null when it would leave the avatar as it is.',
      resolve: ({ answer }) => answer?.avatarUrl,
    }),
    data: t.field({
      type: 'JSON',
      nullable: true,
      description: "The values that the login would write into the player's storage. Null when it would write nothing.",
      resolve: ({ answer }) => jsonOrNull(dataText(answer)),
    }),
    dataText: t.string({
      nullable: true,
      description: 'The same as JSON text, each value byte for byte.',
      resolve: ({ answer }) => dataText(answer),
    }),
    attempts: t.field({
      description: 'Each call of the webhook, in order.',
      type: [WebhookAttemptType],
      resolve: ({ attempts }) => [...attempts],
    }),
    notes: t.field({
      type: [LoginNoteType],
      description: LOGIN_NOTES_DESCRIPTION,
      resolve: ({ notes }) => [...notes],
    }),
  }),
})

builder.mutationFields((t) => ({
  setAuthProviders: t.field({
    type: SetAuthProvidersPayload,
    description: 'Sets login providers. The change counts for the next login, on every instance.',
    args: inputOf('SetAuthProvidersInput', setAuthProvidersRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requirePlatform(context, 'admin', { action: ACTIONS.setProviders, target: 'providers' })
      const { reason } = setAuthProvidersRequest.readInput(input)
      const settings = readSettings(new InputSource(input))
      const { view, auditId } = await setAuthProviders(context.service, caller, settings, reason)
      return { authProviders: view, audit: auditRef(caller, auditId) }
    },
  }),
  rotateProviderSecret: t.field({
    type: RotateProviderSecretPayload,
    description:
      'Replaces the secret of a custom provider from the next login on. During the overlap the old secret signs, too: `X-Signature` uses the new one, and `webhook-signature` has a signature by each.',
    args: inputOf('RotateProviderSecretInput', rotateSecretRequest),
    resolve: async (_root, { input }, context) => {
      const action = ACTIONS.rotateSecret
      const caller = await requirePlatform(context, 'admin', { action, target: input.name })
      const rotation = rotateSecretRequest.readInput(input)
      const rotated = await rotateProviderSecret(context.service, caller, rotation)
      return { ...rotated, audit: auditRef(caller, rotated.auditId) }
    },
  }),
  testAuthProvider: t.field({
    type: TestAuthProviderPayload,
    description:
      'Calls a webhook as a login would, and returns the result. No player is created, looked up or logged in.',
    args: inputOf('TestAuthProviderInput', testProviderRequest),
    resolve: async (_root, { input }, context) => {
      const caller = await requirePlatform(context, 'admin', { action: ACTIONS.testProvider, target: 'providers' })
      const { projectId } = caller
      const { environment, ...credentials } = testProviderRequest.readInput(input)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const rehearsal = await rehearseLogin(context.service, { projectId, environmentId }, credentials)
      // The webhook can take ten seconds.
      await requireKey(context.service.pool, caller)
      return rehearsal
    },
  }),
}))
