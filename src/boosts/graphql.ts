import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import { gameTimeAt } from '../base/game-clock.ts'
import { AudienceType } from '../battlepass/graphql-boosts.ts'
import { type AttemptedAction, requirePlatform } from '../callers/access.ts'
import type { PlatformCaller } from '../callers/callers.ts'
import { databaseNow } from '../db/ids.ts'
import { builder } from '../declare/graphql/builder.ts'
import type { Context } from '../declare/graphql/context.ts'
import { globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf } from '../declare/graphql/node.ts'
import { namesOf, pageOf } from '../declare/graphql/page.ts'
import { argsOf, enumType, inputOf } from '../declare/graphql/shapes.ts'
import { findEnvironment } from '../projects/projects.ts'
import { readChange } from '../roles/graphql-change.ts'
import type { Audience } from '../scenario/boosts.ts'
import { CLOCK_FIELDS, type ClockColumns, clockOf, readGameNow } from '../scenario/game-clock.ts'
import { type BoostChange, createBoost, endBoost, stateOf, updateBoost } from './manage-boosts.ts'
import {
  BOOST_STATES,
  type BoostState,
  boostsRequest,
  checkWindow,
  createBoostRequest,
  endBoostRequest,
  updateBoostRequest,
} from './requests.ts'

/** The game's time of an environment. */
const nowIn = (environment: ClockColumns): Date => new Date(gameTimeAt(clockOf(environment), databaseNow()))

const StateType = enumType('BoostState', BOOST_STATES, {
  description: 'Where a boost stands, by the clock of its environment.',
  values: {
    planned: 'It starts later.',
    running: 'It gives xp.',
    ended: 'Its time is over, or an operator has ended or cancelled it.',
  },
})

builder.prismaObject('Boost', {
  description: 'More xp for a time, in an environment.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => globalId('Boost', id) }),
    boostId: t.exposeID('id', { description: 'The id, as in the audit log.' }),
    environment: t.string({
      select: { environment: { select: { name: true } } },
      resolve: (boost) => boost.environment.name,
    }),
    name: t.exposeString('name', { description: 'The name, for operators.' }),
    state: t.field({
      type: StateType,
      description: 'Where it stands now.',
      select: { startsAt: true, endsAt: true, endedAt: true, environment: { select: CLOCK_FIELDS } },
      resolve: ({ environment, ...boost }) => stateOf(boost, nowIn(environment)),
    }),
    percent: t.exposeInt('percent', { description: 'So many percent more of each xp.' }),
    startsAt: t.expose('startsAt', { type: 'DateTime', description: 'When it starts.' }),
    endsAt: t.expose('endsAt', { type: 'DateTime', description: 'When it ends: the first time without it.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When an operator ended or cancelled it. Null otherwise.',
    }),
    scenarios: t.exposeStringList('scenarios', { description: 'The scenarios that it is for, by id. Empty for all.' }),
    sources: t.exposeStringList('sources', { description: 'The sources of xp that it is for. Empty for all.' }),
    audience: t.field({
      type: AudienceType,
      description: 'Who gets it.',
      resolve: ({ audience }) => audience as Audience,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

nodesOf('Boost', ['uuid'], async (context, [id = '']) => {
  const { projectId } = await requirePlatform(context, 'read')
  return context.prisma.boost.findFirst({ where: { id, environment: { projectId } } })
})

/** The rows in a state at a moment, for Prisma. */
const IN_STATE: Readonly<Record<BoostState, (at: Date) => object>> = {
  planned: (at) => ({ endedAt: null, startsAt: { gt: at } }),
  running: (at) => ({ endedAt: null, startsAt: { lte: at }, endsAt: { gt: at } }),
  ended: (at) => ({ OR: [{ endedAt: { not: null } }, { endsAt: { lte: at } }] }),
}

builder.queryField('boosts', (t) =>
  t.prismaConnection(
    {
      type: 'Boost',
      cursor: 'id',
      description: 'The boosts of an environment, past and to come: the last created first.',
      args: argsOf(boostsRequest),
      resolve: async (query, _root, args, context) => {
        const { projectId } = await requirePlatform(context, 'read')
        const { environment, states } = boostsRequest.readInput(args)
        const environmentId = await findEnvironment(context.service.pool, projectId, environment)
        const { page, beyond } = pageOf(query, { scope: {}, order: 'desc' })
        const at = await readGameNow(context.service.pool, environmentId)
        const inStates = states && { OR: states.map((state) => IN_STATE[state as BoostState](at)) }
        return context.prisma.boost.findMany({ ...page, where: { environmentId, ...beyond, ...inStates } })
      },
    },
    ...namesOf('Boost'),
  ),
)

const BoostPayload = builder.objectRef<Audited & { readonly boostId: string }>('BoostPayload').implement({
  fields: (t) => ({
    boost: t.prismaField({
      type: 'Boost',
      description: 'The boost after the change.',
      resolve: (query, { boostId: id }, _args, { prisma }) =>
        prisma.boost.findUniqueOrThrow({ ...query, where: { id } }),
    }),
  }),
})
addAuditEntry(BoostPayload, 'Null when nothing changed.')

/** Runs a change as a designer. A refused caller is in the audit log. */
async function change<Asked extends { readonly environment: string }>(
  context: Context,
  attempt: AttemptedAction,
  read: () => Asked,
  apply: (caller: PlatformCaller, asked: Asked & { readonly environmentId: string }) => Promise<BoostChange>,
) {
  const { caller, asked } = await readChange(context, 'design', attempt, read)
  const { boostId, auditId } = await apply(caller, asked)
  return { boostId, audit: auditRef(caller, auditId) }
}

builder.mutationFields((t) => ({
  createBoost: t.field({
    type: BoostPayload,
    description:
      'Makes a boost: more of each xp that a client or a server gives, for a time. Applies to the next call from its start on.',
    args: inputOf('CreateBoostInput', createBoostRequest),
    resolve: (_root, { input }, context) =>
      change(
        context,
        { action: ACTIONS.createBoost, target: input.environment },
        () => createBoostRequest.readInput(input, checkWindow),
        (caller, { environment: _, ...asked }) => createBoost(context.service.operatorPool, caller, asked),
      ),
  }),
  updateBoost: t.field({
    type: BoostPayload,
    description:
      'Changes a boost. Members that are absent stay as they are. One that has started can only change its name and its end.',
    args: inputOf('UpdateBoostInput', updateBoostRequest),
    resolve: (_root, { input }, context) =>
      change(
        context,
        { action: ACTIONS.updateBoost, target: input.boostId },
        () => updateBoostRequest.readInput(input),
        (caller, { environment: _, ...asked }) => updateBoost(context.service.operatorPool, caller, asked),
      ),
  }),
  endBoost: t.field({
    type: BoostPayload,
    description: 'Ends a boost at once, or cancels a planned one. Xp that it has given stays.',
    args: inputOf('EndBoostInput', endBoostRequest),
    resolve: (_root, { input }, context) =>
      change(
        context,
        { action: ACTIONS.endBoost, target: input.boostId },
        () => endBoostRequest.readInput(input),
        (caller, asked) => endBoost(context.service.operatorPool, caller, asked),
      ),
  }),
}))
