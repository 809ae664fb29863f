import type { Fault } from '../../base/errors.ts'
import { requirePlatform } from '../../callers/access.ts'
import { findEnvironment } from '../../callers/projects.ts'
import { answer, out } from '../../declare/answer.ts'
import { builder } from '../../declare/graphql/builder.ts'
import { answerType } from '../../declare/graphql/shapes.ts'
import {
  type AuthProvidersView,
  type CustomProviderView,
  customProvider,
  deviceProvider,
  rotation,
} from './auth-providers.ts'
import { providerKey } from './custom-provider.ts'
import { missingIn, type OidcProviderView, oidcProvider } from './issuers.ts'
import { PLATFORM_KINDS } from './provider-ref.ts'
import { WITHHELD } from './redaction.ts'

export const NoticeType = builder.objectRef<Fault>('Notice').implement({
  description: 'A note about a request or an answer that was accepted, with its place.',
  fields: (t) => ({
    path: t.exposeString('path', { description: 'Its place, such as `authProviders.custom.default.enbaled`.' }),
    message: t.exposeString('message', { description: 'The text of the notice.' }),
  }),
})

const CustomProviderType = answerType<CustomProviderView & { readonly name: string }>(
  'CustomProvider',
  answer(customProvider.description, {
    name: out.text('The name that logins use, such as `default`.'),
    ...customProvider.members,
    ...rotation,
  }),
)

const OidcProviderType = answerType<OidcProviderView & { readonly name: string }>(
  'OidcProvider',
  answer(oidcProvider.description, {
    name: out.text('The name that logins use, such as `studio`.'),
    ...oidcProvider.members,
  }),
)
const DeviceProviderType = answerType('DeviceProvider', deviceProvider)

builder.objectRef<AuthProvidersView>('AuthProviders').implement({
  description: 'The login providers of an environment.',
  fields: (t) => ({
    environment: t.exposeString('environment'),
    version: t.exposeString('version', {
      description: 'Names this state of the settings: it is another after each change. For `expectedVersion`.',
    }),
    custom: t.field({
      description: 'The custom providers, by name.',
      type: [CustomProviderType],
      resolve: ({ authProviders }) =>
        Object.entries(authProviders.custom).map(([name, provider]) => ({ name, ...provider })),
    }),
    openBreakers: t.stringList({
      description:
        'The custom providers whose webhook keeps failing, so that this instance makes no calls of players but for a probe.',
      resolve: async ({ environment, authProviders }, _args, context) => {
        const { projectId } = await requirePlatform(context, 'read')
        const { pool, webhook } = context.service
        const environmentId = await findEnvironment(pool, projectId, environment)
        return Object.entries(authProviders.custom).flatMap(([name, { enabled, ...settings }]) => {
          const endpoint = { projectId, key: providerKey(environmentId, name), ...settings }
          return enabled && webhook.breakerState(endpoint) !== 'closed' ? [name] : []
        })
      },
    }),
    oidc: t.field({
      description: 'The issuers of ID tokens, by name.',
      type: [OidcProviderType],
      resolve: ({ authProviders }) =>
        Object.entries(authProviders.oidc ?? {}).map(([name, provider]) => ({ name, ...provider })),
    }),
    device: t.field({
      description: 'Logins of guests. Null until they were set once.',
      type: DeviceProviderType,
      nullable: true,
      resolve: ({ authProviders }) => authProviders.device,
    }),
    missing: t.field({
      description: 'What the stored blocks of `google` and `apple` lack: no login uses a block with an entry.',
      type: [NoticeType],
      resolve: ({ authProviders }) =>
        PLATFORM_KINDS.flatMap((kind) => {
          const faults = missingIn(authProviders[kind]?.text ?? null)
          return faults.map(({ path, message }) => ({ path: `authProviders.${kind}.${path}`, message }))
        }),
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
