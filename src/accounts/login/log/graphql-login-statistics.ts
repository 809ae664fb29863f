import { MAX_LOGIN_DAYS_BY_HOUR } from '../../../base/limits.ts'
import type { Reader } from '../../../db/replica.ts'
import { builder } from '../../../declare/graphql/builder.ts'
import { StepType } from '../../../declare/graphql/range.ts'
import { HOURS_KEPT_DAYS, stepFaults } from '../../../declare/range.ts'
import { refuseFaults } from '../../../declare/shape.ts'
import { LoginOutcomeType } from './graphql-login-log.ts'
import type { LoginOutcome } from './login-log.ts'
import {
  type Latency,
  type LoginFigures,
  type LoginStatistics,
  type LoginStatisticsRef,
  type LoginTime,
  readLoginTimes,
} from './login-statistics.ts'

const OutcomeFiguresType = builder
  .objectRef<{ outcome: string; logins: number; rate: number }>('LoginOutcomeFigures')
  .implement({
    description: 'Logins of one outcome.',
    fields: (t) => ({
      outcome: t.field({ type: LoginOutcomeType, resolve: ({ outcome }) => outcome as LoginOutcome }),
      logins: t.expose('logins', { type: 'Count' }),
      rate: t.exposeFloat('rate', { description: 'The share of all logins, 0 to 1.' }),
    }),
  })

const LoginAttemptsType = builder.objectRef<LoginFigures['attempts'][number]>('LoginAttempts').implement({
  description: 'Logins by the number of webhook calls.',
  fields: (t) => ({
    attempts: t.exposeInt('attempts', { description: 'The number of webhook calls, from 1.' }),
    logins: t.expose('logins', { type: 'Count' }),
  }),
})

const LoginLatencyType = builder.objectRef<Latency>('LoginLatency').implement({
  description:
    'The time of the webhook in milliseconds: all attempts of a login together, without the pauses between them. The mean is exact. Percentiles are exact below 40 ms and within 5 % above.',
  fields: (t) => ({
    mean: t.exposeInt('mean', { description: 'The mean, in milliseconds.' }),
    p50: t.exposeInt('p50', { description: 'Half of the logins took no longer, in milliseconds.' }),
    p90: t.exposeInt('p90', { description: '90 % of the logins took no longer, in milliseconds.' }),
    p95: t.exposeInt('p95', { description: '95 % of the logins took no longer, in milliseconds.' }),
    p99: t.exposeInt('p99', { description: '99 % of the logins took no longer, in milliseconds.' }),
  }),
})

const LoginFiguresType = builder.objectRef<LoginFigures>('LoginFigures').implement({
  description:
    'Custom logins that called a webhook, including refused ones. Links, and logins with an unknown provider, do not count.',
  fields: (t) => ({
    logins: t.expose('logins', { type: 'Count' }),
    outcomes: t.field({
      type: [OutcomeFiguresType],
      description: 'The most frequent first.',
      resolve: ({ logins, outcomes }) => outcomes.map((each) => ({ ...each, rate: each.logins / logins })),
    }),
    attempts: t.field({
      description: 'Logins by the number of webhook calls.',
      type: [LoginAttemptsType],
      resolve: ({ attempts }) => [...attempts],
    }),
    attemptsPerLogin: t.float({
      nullable: true,
      description: 'The mean. Null without logins.',
      resolve: ({ logins, attempts }) =>
        logins === 0 ? null : attempts.reduce((sum, each) => sum + each.attempts * each.logins, 0) / logins,
    }),
    latency: t.field({
      type: LoginLatencyType,
      nullable: true,
      description: 'Null without logins.',
      resolve: ({ latency }) => latency,
    }),
  }),
})

const ProviderLoginsType = builder.objectRef<LoginStatistics['providers'][number]>('ProviderLogins').implement({
  description: 'Figures of the logins through one provider.',
  fields: (t) => ({
    provider: t.exposeString('provider', { description: "The provider's name, such as `default`." }),
    figures: t.field({ type: LoginFiguresType, resolve: ({ figures }) => figures }),
  }),
})

const LoginTimeType = builder.objectRef<LoginTime>('LoginTime').implement({
  description: 'An hour, or the part of a day that is in the range.',
  fields: (t) => ({
    startsAt: t.field({
      type: 'DateTime',
      description: 'The start of the hour or day.',
      resolve: ({ at }) => at,
    }),
    figures: t.field({ type: LoginFiguresType, resolve: ({ figures }) => figures }),
  }),
})

builder
  .objectRef<LoginStatistics & { readonly ref: LoginStatisticsRef; readonly reader: Reader }>('LoginStatistics')
  .implement({
    description: `Figures of logins. Hours are in UTC, and count as a whole when the range touches them; more than ${HOURS_KEPT_DAYS} days ago, only whole days are known.`,
    fields: (t) => ({
      from: t.field({
        description: 'The start of the range, included.',
        type: 'DateTime',
        resolve: ({ from }) => from,
      }),
      to: t.field({ type: 'DateTime', description: 'The end of the range, not included.', resolve: ({ to }) => to }),
      asOf: t.field({ type: 'DateTime', resolve: ({ reader }) => reader.asOf }),
      total: t.field({
        description: 'All providers together.',
        type: LoginFiguresType,
        resolve: ({ total }) => total,
      }),
      providers: t.field({
        type: [ProviderLoginsType],
        description: 'Each provider with logins, by name, including removed ones.',
        resolve: ({ providers }) => [...providers],
      }),
      times: t.field({
        extensions: { size: 100 },
        type: [LoginTimeType],
        description: `Every hour or day of the range, in order. Hours are available for the last ${HOURS_KEPT_DAYS} days, up to ${MAX_LOGIN_DAYS_BY_HOUR} days at a time.`,
        args: {
          by: t.arg({ type: StepType, defaultValue: 'hour', required: true, description: 'By hour or by day.' }),
        },
        resolve: ({ ref, reader }, { by }) => {
          refuseFaults(stepFaults(by, ref, MAX_LOGIN_DAYS_BY_HOUR))
          return reader.read(({ pool }) => readLoginTimes(pool, ref, by))
        },
      }),
    }),
  })
