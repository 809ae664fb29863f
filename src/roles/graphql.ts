import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { requirePlatform } from '../callers/access.ts'
import { builder } from '../declare/graphql/builder.ts'
import { enumType, inputOf } from '../declare/graphql/shapes.ts'
import { findEnvironment } from '../projects/projects.ts'
import { checkLimits, limitsRequest } from './requests.ts'
import { LIMITED_ROLES, listLimits, type RoleLimits, setLimits } from './role-limits.ts'

const LimitedRoleType = enumType('LimitedRole', LIMITED_ROLES, {
  description: 'A role that changes something and is not an admin.',
  values: { designer: 'Changes the game.', support: 'Acts on players one by one.', operator: 'Acts on players.' },
})

const RoleLimitsType = builder.objectRef<RoleLimits>('RoleLimits').implement({
  description: 'What a role may do less of in an environment. Admins have no limits.',
  fields: (t) => ({
    role: t.expose('role', { type: LimitedRoleType, description: 'The role that the limits are of.' }),
    readsOnly: t.exposeBoolean('readsOnly', { description: 'True when the role changes nothing in the environment.' }),
    maxCredit: t.expose('maxCredit', {
      ...{ type: 'Int64', nullable: true },
      description:
        'The largest amount of a currency or of an item that it gives a player at once. Premium counts by its price. The credit limit of the currency holds, too. Null without a limit.',
    }),
    maxXp: t.expose('maxXp', {
      ...{ type: 'Int64', nullable: true },
      description: 'The most xp that it gives a player at once. Null without a limit.',
    }),
    maxGiftsPerDay: t.exposeInt('maxGiftsPerDay', {
      nullable: true,
      description:
        'How often a person gives something in a UTC day: credits, xp, tiers, premium, boosts, messages with rewards, crossed handles, resets, grant jobs. Null without a limit.',
    }),
    maxJobPlayers: t.exposeInt('maxJobPlayers', {
      nullable: true,
      description: 'The largest `limit` of a grant job that it makes. Null without a limit.',
    }),
  }),
})

builder.prismaObjectField('Environment', 'roleLimits', (t) =>
  t.field({
    type: [RoleLimitsType],
    description: 'The limits of each role that changes something and is not an admin.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => listLimits(service.operatorPool, id),
  }),
)

const Payload = builder.objectRef<Audited & { readonly limits: RoleLimits }>('SetRoleLimitsPayload').implement({
  fields: (t) => ({
    limits: t.field({
      type: RoleLimitsType,
      description: 'The limits after the change.',
      resolve: ({ limits }) => limits,
    }),
  }),
})
addAuditEntry(Payload, 'Null when nothing changed.')

builder.mutationField('setRoleLimits', (t) =>
  t.field({
    type: Payload,
    description:
      'Sets what a role may do less of in an environment. A limit that is absent is removed. Applies to the next call.',
    args: inputOf('SetRoleLimitsInput', limitsRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.setRoleLimits, target: input.environment }
      const caller = await requirePlatform(context, 'manage', attempt)
      const { environment, role, reason, ...limits } = limitsRequest.readInput(input, checkLimits)
      const { service } = context
      const environmentId = await findEnvironment(service.pool, caller.projectId, environment)
      const change = { environmentId, environment, role, limits, reason }
      const auditId = await setLimits(service.operatorPool, caller, change)
      return { limits: { role, ...limits }, audit: auditRef(caller, auditId) }
    },
  }),
)
