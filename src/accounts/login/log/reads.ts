import { MAX_LOGIN_DAYS, MAX_SUBJECT } from '../../../base/limits.ts'
import type { Reader } from '../../../db/replica.ts'
import { out } from '../../../declare/answer.ts'
import { environment, playerId, providerName } from '../../../declare/common.ts'
import { operatorList, operatorRead } from '../../../declare/operator-read.ts'
import { type RangeLimits, rangeEnd, rangeFaults, rangeOf } from '../../../declare/range.ts'
import { described, moment, optional, shape, text } from '../../../declare/shape.ts'
import { isListed } from './login-log.ts'
import { type LoginStatistics, type LoginStatisticsRef, readLoginStatistics } from './login-statistics.ts'

const STATISTICS: RangeLimits = { days: 1, maxDays: MAX_LOGIN_DAYS }

const loginLogRequest = shape({
  environment,
  provider: optional(described(providerName, 'Only this provider, such as `default`.')),
  subject: optional(text('Only this subject.', { max: MAX_SUBJECT })),
  playerId: optional(described(playerId, 'Only this player.')),
})
const loginStatisticsRequest = shape({
  environment,
  provider: optional(described(providerName, 'Only this provider.')),
  from: optional(moment('Default: a day before the end.')),
  to: rangeEnd(`The end of the range, not included; at most ${MAX_LOGIN_DAYS} days after the start. Default: now.`),
})

export const loginReads = [
  operatorList({
    name: 'loginLog',
    summary: 'Logins and links of the last 30 days that called a webhook, the latest first.',
    request: loginLogRequest,
    right: 'players',
    rows: 'LoginLogEntry',
    pagedBy: 'environmentId_id',
    where: (_asking, { environmentId, provider, subject, playerId }) => ({
      environmentId,
      ...(provider !== null && { provider }),
      ...(subject !== null && { subject }),
      ...(playerId !== null && { playerId }),
      AND: isListed(),
    }),
  }),
  operatorRead({
    name: 'loginStatistics',
    summary:
      "Figures of an environment's logins: outcomes, attempts and latencies, in total, by provider, and by hour or day.",
    request: loginStatisticsRequest,
    check: (asked) => rangeFaults(asked, STATISTICS),
    right: 'read',
    cost: 50,
    answer: out.ofType<LoginStatistics & { readonly ref: LoginStatisticsRef; readonly reader: Reader }>(
      'LoginStatistics',
    ),
    async read({ caller, service }, { environmentId, provider, ...asked }) {
      const ref = { environmentId, provider, ...rangeOf(asked, STATISTICS) }
      const reader = service.reads.reader(caller.keyId)
      return { ref, reader, ...(await reader.read(({ pool }) => readLoginStatistics(pool, ref))) }
    },
  }),
]
