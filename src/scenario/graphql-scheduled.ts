import { ACTIONS } from '../audit/actions.ts'
import { type Audited, addAuditEntry, auditRef } from '../audit/graphql.ts'
import type { Fault } from '../base/errors.ts'
import { MAX_PLANNED } from '../base/limits.ts'
import { requirePlatform } from '../callers/access.ts'
import { builder } from '../declare/graphql/builder.ts'
import { globalId } from '../declare/graphql/global-id.ts'
import { NodeType, nodesOf, orNull } from '../declare/graphql/node.ts'
import { argsOf, enumType, inputOf } from '../declare/graphql/shapes.ts'
import { findOwnEnvironment } from '../players/graphql-readable.ts'
import { findEnvironment } from '../projects/projects.ts'
import { findChangeable } from '../roles/role-limits.ts'
import { diffScenarios } from './diff.ts'
import { FaultType, findChangedScenario } from './graphql.ts'
import { DiffType } from './graphql-diff.ts'
import { readScenario } from './publish.ts'
import { cancelRequest, plannedRequest, scheduleRequest } from './requests.ts'
import {
  cancelPublication,
  listPublications,
  MOST_LISTED,
  type PlannedPublication,
  PUBLICATION_STATES,
  plannedBy,
  readPublication,
  schedulePublication,
} from './scheduled.ts'

const StateType = enumType('PublicationState', PUBLICATION_STATES, {
  description: 'The state of a planned publication.',
  values: {
    planned: 'Its time is to come.',
    published: 'It was published.',
    failed: 'It was refused when its time came. `failure` gives the reason.',
    cancelled: 'It was cancelled before its time.',
  },
})

interface Planned extends PlannedPublication {
  readonly environment: string
  readonly environmentId: string
}

export const PublicationType = builder.objectRef<Planned>('ScheduledPublication').implement({
  description: 'A publication of a scenario at a later time.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({ resolve: ({ environment, id }) => globalId('ScheduledPublication', environment, id) }),
    publicationId: t.exposeString('id', { description: 'The id, for `cancelPublication`.' }),
    environment: t.exposeString('environment'),
    scenarioId: t.exposeString('scenarioId'),
    publishAt: t.expose('publishAt', { type: 'DateTime', description: 'The time of the publication.' }),
    state: t.field({ type: StateType, description: 'Its state.', resolve: ({ state }) => state }),
    expectedVersion: t.exposeInt('expectedVersion', {
      nullable: true,
      description: 'The version that must be current then. Null for any.',
    }),
    version: t.exposeInt('version', {
      nullable: true,
      description: 'The version that it became. Null unless it was published.',
    }),
    failure: t.exposeString('failure', { nullable: true, description: 'Why it failed. Null unless it did.' }),
    operator: t.exposeString('operator', {
      nullable: true,
      description: 'The person who planned it. Null when the key names none.',
    }),
    reason: t.exposeString('reason', { description: 'Why it was planned, in the words of the operator.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'The time at which it was planned.' }),
    endedAt: t.expose('endedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'The time at which it was published, failed or was cancelled. Null until then.',
    }),
    definitionText: t.exposeString('definition', { description: 'The definition as JSON text, byte for byte.' }),
    diff: t.field({
      type: DiffType,
      nullable: true,
      description:
        'What it would change as of now: the difference to the current version. Null once it has ended, and for a scenario without a version.',
      resolve: async ({ environmentId, scenarioId, state, definition }, _args, { service }) => {
        if (state !== 'planned') return null
        const ref = { environmentId, scenarioId }
        const current = await orNull(readScenario(service.operatorPool, ref, null), 'scenarioNotFound')
        const versions = current && { from: current.version, to: current.version + 1 }
        return current && versions && { ...versions, ...diffScenarios(current.definition.text, definition) }
      },
    }),
  }),
})

builder.prismaObjectField('PlatformKey', 'plannedPublications', (t) =>
  t.field({
    type: [PublicationType],
    description:
      'The publications that were planned with it, by their time. They go on when it is revoked: cancel those that must not.',
    select: { id: true },
    resolve: ({ id }, _args, { service }) => plannedBy(service.operatorPool, id),
  }),
)

builder.queryField('scheduledPublications', (t) =>
  t.field({
    type: [PublicationType],
    description: `The publications of an environment at later times: planned ones by their time, then the last ${MOST_LISTED} that have ended, the latest first.`,
    args: argsOf(plannedRequest),
    resolve: async (_root, args, context) => {
      const { projectId } = await requirePlatform(context, 'read')
      const { environment, scenarioId } = plannedRequest.readInput(args)
      const environmentId = await findEnvironment(context.service.pool, projectId, environment)
      const found = await listPublications(context.service.operatorPool, environmentId, scenarioId)
      return found.map((one) => ({ ...one, environment, environmentId }))
    },
  }),
)

interface Payload extends Audited {
  readonly publication: Planned
  readonly notices: readonly Fault[]
}

const SchedulePayload = builder.objectRef<Payload>('SchedulePublicationPayload').implement({
  fields: (t) => ({
    publication: t.field({
      type: PublicationType,
      description: 'The planned publication.',
      resolve: ({ publication }) => publication,
    }),
    notices: t.field({
      type: [FaultType],
      description: 'Notes for the designer. The same as in `validateScenario`.',
      resolve: ({ notices }) => [...notices],
    }),
  }),
})
addAuditEntry(SchedulePayload, 'Never null.')
const CancelPayload = builder.objectRef<Payload>('CancelPublicationPayload').implement({
  fields: (t) => ({
    publication: t.field({
      type: PublicationType,
      description: 'The publication after the call.',
      resolve: ({ publication }) => publication,
    }),
  }),
})
addAuditEntry(CancelPayload, 'Null when it had ended already, so that nothing changed.')

builder.mutationFields((t) => ({
  schedulePublication: t.field({
    type: SchedulePayload,
    description: `Plans the publication of a definition at a later time, in the name of the calling key. An environment has up to ${MAX_PLANNED} planned publications. Every fault is named at once, and then nothing is planned.`,
    args: inputOf('SchedulePublicationInput', scheduleRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.schedulePublication, target: input.scenarioId }
      const caller = await requirePlatform(context, 'design', attempt)
      const { environment, scenarioId, ...plan } = scheduleRequest.readInput(input)
      const ref = await findChangedScenario(context, caller, attempt, { environment, scenarioId })
      const done = await schedulePublication(context.service.operatorPool, caller, ref, plan)
      const publication = { ...done.publication, environment, environmentId: ref.environmentId }
      return { publication, audit: auditRef(caller, done.auditId), notices: done.notices }
    },
  }),
  cancelPublication: t.field({
    type: CancelPayload,
    description: 'Cancels a planned publication. One that has ended stays as it is.',
    args: inputOf('CancelPublicationInput', cancelRequest),
    resolve: async (_root, { input }, context) => {
      const attempt = { action: ACTIONS.cancelPublication, target: input.publicationId }
      const caller = await requirePlatform(context, 'design', attempt)
      const { environment, publicationId: id, reason } = cancelRequest.readInput(input)
      const environmentId = await findChangeable(context.service, caller, attempt, environment)
      const done = await cancelPublication(context.service.operatorPool, caller, environmentId, { id, reason })
      const publication = { ...done.publication, environment, environmentId }
      return { publication, audit: auditRef(caller, done.auditId), notices: [] }
    },
  }),
}))

nodesOf('ScheduledPublication', ['name', 'uuid'], async (context, [environment = '', id = '']) => {
  const environmentId = await findOwnEnvironment(context, environment)
  if (environmentId === null) return null
  const found = await readPublication(context.service.operatorPool, environmentId, id)
  return found && { ...found, environment, environmentId }
})
