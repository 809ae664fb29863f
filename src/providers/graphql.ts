import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../auth/access.ts'
import { type Rehearsal, rehearseLogin } from '../auth/custom-login.ts'
import { LOGIN_NOTES_DESCRIPTION, LoginNoteType, LoginOutcomeType, WebhookAttemptType } from '../auth/graphql.ts'
import type { LoginOutcome } from '../auth/login-log.ts'
import {
  type Latency,
  type LoginFigures,
  type LoginStatistics,
  type LoginStatisticsRef,
  type LoginTime,
  readLoginStatistics,
  readLoginTimes,
} from '../auth/login-statistics.ts'
import { credentials } from '../auth/requests.ts'
import { refuseFaults } from '../errors.ts'
import { builder } from '../graphql/builder.ts'
import { argsOf, inputOf } from '../graphql/shapes.ts'
import { StepType } from '../insight/graphql.ts'
import { HOURS_KEPT_DAYS, readRanged, stepFaults } from '../insight/range.ts'
import { MAX_SECRET } from '../limits.ts'
import { findEnvironment } from '../projects/projects.ts'
import { environment, providerName, reason } from '../request/common.ts'
import { described, int32, moment, optional, shape, text } from '../request/shape.ts'
import { InputSource } from '../request/source.ts'
import { type AuthProvidersView, type CustomProviderView, readAuthProviders } from './auth-providers.ts'
import {
  DEFAULT_OVERLAP_SECONDS,
  MAX_OVERLAP_SECONDS,
  type RotatedSecret,
  rotateProviderSecret,
} from './rotate-secret.ts'
import { authProvidersQuery, authProvidersRequest, readSettings, setAuthProviders } from './settings.ts'
import { WITHHELD } from './write-only.ts'

const CustomProviderType = builder.objectRef<CustomProviderView & { name: string }>('CustomProvider').implement({
  description: "A login provider that asks a studio's webhook (spec 2.3).",
  fields: (t) => ({
    name: t.exposeString('name', { description: 'By which logins name it, such as `default`.' }),
    enabled: t.exposeBoolean('enabled'),
    url: t.exposeString('url', { description: 'The address of the webhook.' }),
    hasSecret: t.exposeBoolean('hasSecret', { description: 'A secret is stored. It never comes back.' }),
    updatedAt: t.field({ type: 'DateTime', resolve: ({ updatedAt }) => new Date(updatedAt) }),
    replacedSecretsExpireAt: t.field({
      type: ['DateTime'],
      description: 'When each secret that `rotateProviderSecret` replaced stops to sign, the first to go first.',
      resolve: ({ replacedSecretsExpireAt }) => replacedSecretsExpireAt.map((at) => new Date(at)),
    }),
  }),
})

const AuthProvidersType = builder.objectRef<AuthProvidersView>('AuthProviders').implement({
  description: 'The login providers of an environment (spec 4.3).',
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
    description: "The login providers of the key's project, by environment: of one, or of all.",
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
        description: 'The providers of the environment, as they are afterwards.',
        type: AuthProvidersType,
        resolve: (payload) => payload.authProviders,
      }),
    }),
  })

addAuditEntry(SetAuthProvidersPayload, 'Null when nothing changed.')

const rotateSecretRequest = shape({
  environment,
  name: providerName,
  secret: optional(text('The new secret, when your endpoint knows it already; else one is made.', { max: MAX_SECRET })),
  overlapSeconds: optional(
    int32(
      `How long the secret of before still signs: 0 to ${MAX_OVERLAP_SECONDS}, ${DEFAULT_OVERLAP_SECONDS} unless given. 0 ends it at once, and every earlier one.`,
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
        description: 'The provider, as it is afterwards.',
        resolve: ({ name, provider }) => ({ name, ...provider }),
      }),
      secret: t.exposeString('secret', {
        nullable: true,
        description: 'The secret that was made: the only time that it is seen. Null when you gave one.',
      }),
    }),
  })

addAuditEntry(RotateProviderSecretPayload, 'Null when nothing changed.')

const testProviderRequest = shape({ environment, ...credentials })

const TestAuthProviderPayload = builder.objectRef<Rehearsal>('TestAuthProviderPayload').implement({
  description: 'What a login would come to.',
  fields: (t) => ({
    status: t.exposeInt('status', { description: 'The status that a client would get over REST.' }),
    outcome: t.expose('outcome', { type: LoginOutcomeType }),
    subject: t.exposeString('subject', { nullable: true, description: 'The subject that the webhook named.' }),
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
    description: 'Sets login providers. It counts for the very next login, on every instance.',
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
      'Replaces the secret of a custom provider, from the very next login on. For an overlap the secret of before signs, too: `X-Signature` is made with the new one, `webhook-signature` has a signature with each.',
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
    description: 'Asks a webhook as a login would, and tells how it went. No player is made, found or logged in.',
    args: inputOf('TestAuthProviderInput', testProviderRequest),
    resolve: async (_root, { input }, context) => {
      const { projectId } = await requirePlatform(context, 'admin', {
        action: ACTIONS.testProvider,
        target: 'providers',
      })
      const { environment, ...credentials } = testProviderRequest.readInput(input)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      return rehearseLogin(context.service, { projectId, environmentId }, credentials)
    },
  }),
}))

const DEFAULT_DAYS = 1
const MAX_DAYS = 31
/** Latencies by hour for more days are too many rows for an interactive answer. */
const MAX_DAYS_BY_HOUR = 7

const OutcomeFiguresType = builder
  .objectRef<{ outcome: string; logins: number; rate: number }>('LoginOutcomeFigures')
  .implement({
    description: 'Logins of one outcome.',
    fields: (t) => ({
      outcome: t.field({ type: LoginOutcomeType, resolve: ({ outcome }) => outcome as LoginOutcome }),
      logins: t.expose('logins', { type: 'Count' }),
      rate: t.exposeFloat('rate', { description: 'Their share of all, 0 to 1.' }),
    }),
  })

const LoginAttemptsType = builder.objectRef<LoginFigures['attempts'][number]>('LoginAttempts').implement({
  description: 'Logins by how many times the webhook was asked.',
  fields: (t) => ({
    attempts: t.exposeInt('attempts', { description: 'How many times the webhook was asked, from 1 on.' }),
    logins: t.expose('logins', { type: 'Count' }),
  }),
})

const LoginLatencyType = builder.objectRef<Latency>('LoginLatency').implement({
  description:
    'What the webhook took in milliseconds, all attempts of a login together, without the pauses between them. The mean is exact; percentiles are counted in fixed steps, single milliseconds below 40 and steps of 5 % from there: they are exact below 40 and at most 5 % off above.',
  fields: (t) => ({
    mean: t.exposeInt('mean', { description: 'On average, in milliseconds.' }),
    p50: t.exposeInt('p50', { description: 'Half of the logins took no longer, in milliseconds.' }),
    p90: t.exposeInt('p90', { description: '90 % of the logins took no longer, in milliseconds.' }),
    p95: t.exposeInt('p95', { description: '95 % of the logins took no longer, in milliseconds.' }),
    p99: t.exposeInt('p99', { description: '99 % of the logins took no longer, in milliseconds.' }),
  }),
})

const LoginFiguresType = builder.objectRef<LoginFigures>('LoginFigures').implement({
  description:
    'Custom logins that asked a webhook, refused ones too; neither links nor logins with a provider that is none.',
  fields: (t) => ({
    logins: t.expose('logins', { type: 'Count' }),
    outcomes: t.field({
      type: [OutcomeFiguresType],
      description: 'The most frequent first.',
      resolve: ({ logins, outcomes }) => outcomes.map((each) => ({ ...each, rate: each.logins / logins })),
    }),
    attempts: t.field({
      description: 'By how many times the webhook was asked.',
      type: [LoginAttemptsType],
      resolve: ({ attempts }) => [...attempts],
    }),
    attemptsPerLogin: t.float({
      nullable: true,
      description: 'On average. Null of no logins.',
      resolve: ({ logins, attempts }) =>
        logins === 0 ? null : attempts.reduce((sum, each) => sum + each.attempts * each.logins, 0) / logins,
    }),
    latency: t.field({
      type: LoginLatencyType,
      nullable: true,
      description: 'Null of no logins.',
      resolve: ({ latency }) => latency,
    }),
  }),
})

const ProviderLoginsType = builder.objectRef<LoginStatistics['providers'][number]>('ProviderLogins').implement({
  description: 'How the logins by one provider went.',
  fields: (t) => ({
    provider: t.exposeString('provider', { description: "The provider's name, such as `default`." }),
    figures: t.field({ type: LoginFiguresType, resolve: ({ figures }) => figures }),
  }),
})

const LoginTimeType = builder.objectRef<LoginTime>('LoginTime').implement({
  description: 'An hour, or a day as far as it is in the range.',
  fields: (t) => ({
    startsAt: t.field({
      type: 'DateTime',
      description: 'The first moment of the hour or day.',
      resolve: ({ at }) => at,
    }),
    figures: t.field({ type: LoginFiguresType, resolve: ({ figures }) => figures }),
  }),
})

const LoginStatisticsType = builder
  .objectRef<LoginStatistics & { readonly ref: LoginStatisticsRef }>('LoginStatistics')
  .implement({
    description: `How logins went, up to the last commit. Hours are those of UTC, and count whole where the range touches them; of what is more than ${HOURS_KEPT_DAYS} days ago days do.`,
    fields: (t) => ({
      from: t.field({ description: 'The first moment of the range.', type: 'DateTime', resolve: ({ from }) => from }),
      to: t.field({ type: 'DateTime', description: 'Not itself in the range.', resolve: ({ to }) => to }),
      total: t.field({
        description: 'Of all providers together.',
        type: LoginFiguresType,
        resolve: ({ total }) => total,
      }),
      providers: t.field({
        type: [ProviderLoginsType],
        description: 'Each provider that had logins, by name; those that are removed since, too.',
        resolve: ({ providers }) => [...providers],
      }),
      times: t.field({
        type: [LoginTimeType],
        description: `Every hour or day of the range, in order: hours of up to ${MAX_DAYS_BY_HOUR} days, and of the last ${HOURS_KEPT_DAYS}.`,
        args: {
          by: t.arg({ type: StepType, defaultValue: 'hour', required: true, description: 'By hour or by day.' }),
        },
        resolve: ({ ref }, { by }, { service }) => {
          refuseFaults(stepFaults(by, ref, MAX_DAYS_BY_HOUR))
          return readLoginTimes(service.operatorPool, ref, by)
        },
      }),
    }),
  })

const loginStatisticsRequest = shape({
  environment,
  provider: optional(described(providerName, 'Of this provider alone.')),
  from: optional(moment('A day before the end unless given.')),
  to: optional(moment(`Now unless given; at most ${MAX_DAYS} days after the beginning.`)),
})

builder.queryField('loginStatistics', (t) =>
  t.field({
    type: LoginStatisticsType,
    description:
      'How the logins of an environment went: by outcome, with attempts and latencies, in all, by provider, and by hour or day.',
    args: argsOf(loginStatisticsRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'viewer')
      const { environment, provider, range } = readRanged(loginStatisticsRequest, args, {
        days: DEFAULT_DAYS,
        maxDays: MAX_DAYS,
      })
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const ref = { environmentId, provider, ...range }
      return { ref, ...(await readLoginStatistics(context.service.operatorPool, ref)) }
    },
  }),
)
