import { MAX_ACTION, MAX_ACTOR, MAX_OPERATOR, MAX_TARGET } from '../base/limits.ts'
import { idsAround } from '../db/ids.ts'
import { checkSpan, environment, span } from '../declare/common.ts'
import { operatorList } from '../declare/operator-read.ts'
import { described, flag, optional, shape, text } from '../declare/shape.ts'
import { ACTIONS } from './actions.ts'

/** The prefix of actions whose target is a player. */
const OF_PLAYER = 'player.'

const auditLogRequest = shape({
  environment: optional(described(environment, 'Only this environment.')),
  action: optional(text('Only this action, such as `player.ban`.', { max: MAX_ACTION })),
  target: optional(text('Only this target, such as the id of a player, a key or a scenario.', { max: MAX_TARGET })),
  actor: optional(text('Only this actor, such as `platform_key:` and its id.', { max: MAX_ACTOR })),
  isAboutPlayer: optional(
    flag(
      'True: only changes of one player, such as a ban. False: only others, such as publications, keys and settings.',
    ),
  ),
  operator: optional(text('Only this person, named by the call or by an operator token.', { max: MAX_OPERATOR })),
  ...span,
})

export const auditReads = [
  operatorList({
    name: 'auditLog',
    summary: "Changes and refused attempts of operators in the key's project, the latest first.",
    request: auditLogRequest,
    check: checkSpan,
    right: 'manage',
    denied: { action: ACTIONS.readAuditLog, target: 'audit_log' },
    rows: 'AuditLogEntry',
    nodesIn: (projectId) => ({ projectId }),
    pagedBy: 'projectId_id',
    where({ caller: { projectId } }, { environmentId, action, target, actor, operator, isAboutPlayer, ...asked }) {
      const from = asked.from && sinceThe1970s(asked.from)
      const to = asked.to && sinceThe1970s(asked.to)
      return {
        projectId,
        ...(environmentId !== null && { environmentId }),
        action: {
          ...(action !== null && { equals: action }),
          ...(isAboutPlayer === true && { startsWith: OF_PLAYER }),
          ...(isAboutPlayer === false && { not: { startsWith: OF_PLAYER } }),
        },
        ...(target !== null && { target }),
        ...(actor !== null && { actor }),
        ...(operator !== null && { operator }),
        ...((from || to) && {
          createdAt: { ...(from && { gte: from }), ...(to && { lt: to }) },
          AND: between(idsAround(from, to)),
        }),
      }
    },
  }),
]

/** At least 1970: no entry is older, and Prisma can write earlier years in a form that Postgres rejects. */
const sinceThe1970s = (moment: Date): Date => (moment.getTime() < 0 ? new Date(0) : moment)

const between = ({ first, last }: ReturnType<typeof idsAround>) => ({
  id: { ...(first && { gte: first }), ...(last && { lt: last }) },
})
