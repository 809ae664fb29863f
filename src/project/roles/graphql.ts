import { builder } from '../../declare/graphql/builder.ts'
import { answerType, enumType } from '../../declare/graphql/shapes.ts'
import { LIMITED_ROLES, listLimits, roleLimits } from '../../operations/calls/role-limits.ts'

enumType('LimitedRole', LIMITED_ROLES, {
  description: 'A role that changes something and is not an admin.',
  values: { designer: 'Changes the game.', support: 'Acts on players one by one.', operator: 'Acts on players.' },
})

const RoleLimitsType = answerType('RoleLimits', roleLimits)

builder.prismaObjectField('Environment', 'roleLimits', (t) =>
  t.field({
    type: [RoleLimitsType],
    description: 'The limits of each role that changes something and is not an admin.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => listLimits(service.operatorPool, id),
  }),
)
